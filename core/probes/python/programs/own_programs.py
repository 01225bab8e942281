"""What the programs of the folder that a scan was started in use: which frameworks none of them names, and whether one starts workers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from core.common.late_pattern import late_pattern
from core.knowledge.contracts import variable_contracts
from core.knowledge.modules import module_of, module_table
from core.knowledge.tools import tool_table
from core.model.facts import Distribution, PythonEnvironment, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import all_requirements, required_name
from core.probes.python.installed.gone_files import every_distribution
from core.probes.python.programs.program_folder import LEFT_OUT, PROGRAMS, own_texts
from core.probes.python.text.package_contents import PackageContents
from core.probes.sysroot import Sysroot

_IMPORT = late_pattern(r"(?m)(?:^[ \t]*|\"[ \t]*)(?:import|from)[ \t]+([A-Za-z_]\w*)")
_WORKERS = late_pattern(r"\bnum_workers\b[\"']?[ \t]*[:=][ \t]*(?!0\b|=|None\b)\S|--num[-_]workers[ =]+[1-9]")


def idle_distributions(
    python: PythonEnvironment, request: ProbeRequest, where: Sysroot, failing: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the distributions of frameworks, those that fetch as a variable tells them, those that work by a program of the system's, and of
    those that are ``failing``, that nothing in the folder names, where a program there uses other packages of the environment.

    What uses a framework stands for it: who names faster-whisper uses CTranslate2. Nothing is said of a folder that was not read whole.
    """
    its = own_texts(request, where)
    if not its:
        return ()
    there = {name.partition(".")[0] for site in python.site_packages for name in where.names(site) or ()}
    imported = {top for path, text in its.items() if path.endswith(PROGRAMS) for top in _IMPORT.findall(text)}
    if imported.isdisjoint(there - LEFT_OUT):
        return ()
    fetching = {contract.readers for contract in variable_contracts() if contract.fetches and contract.readers}
    rows = [*(row.distributions for row in module_table().modules), *fetching]
    mine = [d.name for d in python.distributions if any(re.fullmatch(pattern, d.name) for pattern in rows)]
    idle = [name for name in mine if not _is_named(name, python.distributions, its)]
    run = [
        d.name
        for d in every_distribution(python, where)
        if any(re.fullmatch(p.reader, d.name) for p in tool_table().programs)
    ]
    if left := [
        name for name in dict.fromkeys((*failing, *run)) if name not in mine
    ]:  # what requires them need not be among the known ones
        everything = [d for site in python.site_packages for d in all_requirements(site, where)]
        for name in left:
            users = [d for d in everything if not _does_without(d, name, where)]
            idle += [name] if not _is_named(name, users, its) else []
    set_here = {n.upper() for n in request.env}
    parts = {c.part for c in variable_contracts() if c.part and c.variable in set_here}
    for part in sorted(parts):
        distribution, _dot, inner = part.partition(".")
        if any(d.name == distribution for d in python.distributions):
            idle += [part] if is_part_idle(inner, distribution, python, request, where) else []
    return tuple(dict.fromkeys(idle))


def is_part_idle(
    part: str, distribution: str, python: PythonEnvironment, request: ProbeRequest, where: Sysroot
) -> bool:
    """Whether no program in the folder names a part of a package, nor a package that uses the whole one, though it uses the environment."""
    its = own_texts(request, where)
    there = {name.partition(".")[0] for site in python.site_packages for name in where.names(site) or ()}
    programs = [text for path, text in (its or {}).items() if path.endswith(PROGRAMS)]
    if there.isdisjoint({top for text in programs for top in _IMPORT.findall(text)} - LEFT_OUT):
        return False
    everything = [d for site in python.site_packages for d in all_requirements(site, where)]
    users = with_users({distribution}, everything) - {distribution}
    return not any(
        re.search(rf"(?<![^\W_])(?:{part}|torchrun)", text) or is_spelt(users, text) for text in (its or {}).values()
    )


def _does_without(its: Distribution, wanted: str, where: Sysroot) -> bool:
    """Whether a package goes on without another one's library: each import stands in a ``try`` with a handler, as MediaPipe's of sounddevice."""
    if wanted not in map(required_name, (*its.requires, *its.pins)):
        return False
    folder = where.join(its.location, module_of(its.name))
    return _goes_on_without(wanted, [t for t in PackageContents(where).of((folder,)) if isinstance(t, str)])


def _goes_on_without(wanted: str, texts: Iterable[str]) -> bool:
    """Whether texts import a package, each time in a ``try`` with a handler of what it raises where its library does not load."""
    name = re.escape(module_of(wanted))
    errors = next((row.raises for row in module_table().opened if re.fullmatch(row.distributions, wanted)), "OSError")
    asks = re.compile(rf"(?m)^[ \t]*(?:import|from)[ \t]+{name}\b")
    tried = re.compile(
        rf"(?m)^([ \t]*)try:[ \t]*\n\1[ \t]+(?:import|from)[ \t]+{name}\b[^\n]*\n\1except(?:[ \t][^\n:]*\b(?:{errors}|Exception)\b[^\n:]*)?:"
    )
    found = [(len(asks.findall(text)), len(tried.findall(text))) for text in texts]
    return any(asked for asked, _tried in found) and all(asked == tried for asked, tried in found)


def starts_workers(request: ProbeRequest, where: Sysroot) -> str:
    """Return the program, or settings, of the folder that ask a DataLoader for processes of its own; empty for none."""
    its = own_texts(request, where) or {}
    return next((path_text(path) for path, text in its.items() if _WORKERS.search(text)), "")


def _is_named(distribution: str, installed: Sequence[Distribution], texts: dict[str, str]) -> bool:
    users = with_users({distribution}, installed) - {distribution}
    return any(
        is_spelt(users, text) or (is_spelt({distribution}, text) and not _goes_on_without(distribution, (text,)))
        for text in texts.values()
    )


def with_users(names: set[str], installed: Sequence[Distribution]) -> set[str]:
    """Return distributions with those that require them, over three steps."""
    found = set(names)
    for _depth in range(3):
        found |= {d.name for d in installed if any(required_name(w) in found for w in (*d.requires, *d.pins))}
    return found


def is_spelt(distributions: Iterable[str], text: str) -> bool:
    """Whether a text names one of these distributions, or its module."""
    spelt = sorted({s for name in distributions for s in (name, name.replace("-", "_"), module_of(name))})
    return bool(spelt) and bool(
        re.search(rf"(?<![\w-])(?:{'|'.join(map(re.escape, spelt))})(?![\w-])", text, re.IGNORECASE)
    )
