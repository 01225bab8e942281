"""Which packages use a framework, what somebody asked for, and what all of them need: in the order in which their imports are followed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.knowledge.modules import KnownModule, module_of, module_table
from core.model.facts import Distribution, Frozen
from core.probes.python.following.import_hints import is_unmet
from core.probes.python.installed.distributions import all_requirements, recorded_module, required_name
from core.probes.python.search.modules import ModuleSearch
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record

MOST_USERS = 150
"""Number of packages followed besides frameworks."""

INSTALLERS = frozenset(("pip", "uv", "setuptools", "wheel"))
"""Packages that no program asks for by itself."""

SMALL_RECORD = 8 << 10
"""Bytes of the list of files of a package that is followed although nothing makes it doubtful: some 90 files with their byte code."""

MOST_FILES_OF_ONE, FIRST_BYTES = 60, 16 << 10
"""Modules of a package that are searched for a framework's name, and bytes read of each."""


class FrameworkUsers(Frozen, frozen=True):
    """The packages that use a framework."""

    every: tuple[Distribution, ...]
    """All distributions with all their requirements."""
    modules: tuple[str, ...]
    """The module to import of each package: extensions of a framework first, then packages in doubt, then the smallest."""
    whole: tuple[str, ...]
    """Modules of which every statement is read: what uses a framework, and what somebody asked for. Of what these need,
    only the statements at the left margin are read.
    """
    in_doubt: bool
    """The requirements of one that uses a framework are not met."""


def framework_users(
    starts: list[tuple[KnownModule, Distribution]],
    search: ModuleSearch,
    distributions: tuple[Distribution, ...],
    where: Sysroot,
) -> FrameworkUsers:
    """Return the packages that use a framework, or another package that does; behind these what somebody asked for, and what all of them need."""
    every = _every(search, distributions, where)
    rows = module_table().modules
    wanted = {d.name: {required_name(wish) for wish in d.pins} for d in every}
    using = {d.name for _row, d in starts}
    using |= {d.name for d in every if any(required_name(wish) in using for wish in d.requires)}
    asked_for = frozenset().union(*wanted.values())
    frameworks = "|".join(re.escape(row.module) for row, _d in starts)
    line = re.compile(rf"(?m)^[ \t]*(?:import|from)[ \t]+(?:{frameworks})\b")
    using |= {d.name for d in every if d.name not in asked_for and has_line(d, line, where)}
    for _depth in range(6):
        using |= {name for name, names in wanted.items() if names & using}
    requested = {d.name for d in every if _is_requested(d, where)}
    if len(requested) == len({d.name for d in every}):
        requested = set()  # uv marks whatever it installs: nothing is known of who asked for it
    asked = ({d.name for d in every if d.name not in asked_for} | requested) - INSTALLERS
    needed = (using | asked) - {d.name for _row, d in starts}
    needed |= _with_required(needed, wanted)
    installed = {d.name: d.version for d in every}
    required = _below({d.name for _row, d in starts}, wanted)
    below = {d.name for d in every if d.name in required and is_unmet(d, installed)}
    needed |= below
    needed |= {d.name for d in every if d.name in required - needed and len(read_record(d, where)) <= SMALL_RECORD}
    users = [
        d
        for d in every
        if d.name in needed
        and not d.name.startswith("nvidia-")
        and not any(r.follow and re.fullmatch(r.distributions, d.name) for r in rows)
    ]
    unmet = {d.name for d in users if is_unmet(d, installed)}
    size = {d.name: len(read_record(d, where)) for d in users}
    users.sort(
        key=lambda d: (
            d.name not in unmet,
            size[d.name] > SMALL_RECORD or d.name not in required,
            d.name not in using,
            d.name not in asked,
            size[d.name],
        )
    )
    modules = {u.name: _own_module(u, search, where) for u in users[:MOST_USERS]}
    whole = tuple(m.partition(".")[0] for name, m in modules.items() if name in using | asked | below)
    extensions = [row.module for row, _d in starts if row.extends]
    every_module = dict.fromkeys((*extensions, *filter(None, modules.values())))
    return FrameworkUsers(every, tuple(every_module), (*extensions, *whole), not unmet.isdisjoint(using))


def _below(frameworks: set[str], wanted: Mapping[str, set[str]]) -> set[str]:
    """Return what the frameworks require, at any depth: a framework may import it only when it is used, as torch.compile imports
    SymPy, which needs mpmath, and chat templates Jinja2, which needs MarkupSafe.
    """
    return _with_required(frameworks, wanted) - frameworks


def _with_required(names: set[str], wanted: Mapping[str, set[str]]) -> set[str]:
    found = set(names)
    for _depth in range(6):
        found |= frozenset().union(*(wanted[name] for name in found if name in wanted))
    return found


def _every(search: ModuleSearch, distributions: tuple[Distribution, ...], where: Sysroot) -> tuple[Distribution, ...]:
    """Return all distributions in the folders of packages with all that they require, the first of each name."""
    found = {d.name: d for folder in reversed(search.search.packages) for d in all_requirements(folder, where)}
    return tuple({**{d.name: d for d in reversed(distributions)}, **found}.values())


def _is_requested(its: Distribution, where: Sysroot) -> bool:
    """Whether somebody asked an installer for this very package (PEP 376)."""
    info = f"{its.name.replace('-', '_')}-{its.version}.dist-info"
    return where.is_file(where.join(its.location, info, "REQUESTED"))


def has_line(its: Distribution, line: re.Pattern[str], where: Sysroot) -> bool:
    """Whether one of the first modules of a distribution has such a line: some use a framework without requiring it."""
    if its.name.startswith("nvidia-"):
        return False
    rows = re.findall(r"(?m)^((?!(?:[^,\n]*/)?tests?/)\w[\w/]*\.py),", read_record(its, where))[:MOST_FILES_OF_ONE]
    texts = (where.text(where.join(its.location, *row.split("/")), FIRST_BYTES) or "" for row in rows)
    return any(line.search(text) for text in texts)


def _own_module(user: Distribution, search: ModuleSearch, where: Sysroot) -> str:
    """Return the module that a distribution is imported by: that of its name as Python finds it, which an editable installation
    does not record, else the recorded one.
    """
    module = module_of(user.name)
    if "." not in module and search.find(module).kind in ("package", "module"):
        return module
    return recorded_module(user, where)
