"""Whether following imports is worth the time: requirements that are not met, and what stands before the packages."""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.common.requirements import is_in_specifier, parse_requirement
from core.knowledge.modules import module_of
from core.model.facts import Distribution, SearchEntry
from core.model.facts.imports import BEFORE_THE_PACKAGES
from core.probes.python.installed.distributions import normalise_name
from core.probes.python.search.modules import ModuleSearch
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record


def is_unmet(its: Distribution, installed: Mapping[str, str]) -> bool:
    """Whether something that a distribution requires everywhere is not there, or in another release."""
    for wish in (w for w in its.pins if ";" not in w):
        asked, name = parse_requirement(wish), _name_of(wish)
        if name not in installed or (asked and is_in_specifier(asked.specifier, installed[name]) is False):
            return True
    return False


def hints_at_a_fault(
    search: ModuleSearch, distributions: tuple[Distribution, ...], starts: list[Distribution], where: Sysroot
) -> bool:
    """Whether what the frameworks require is not met or not there, or something stands before the packages that they have."""
    installed = {d.name: d.version for d in reversed(distributions)}
    for wish in (w for d in starts for w in d.pins if "extra" not in w.partition(";")[2]):
        name = _name_of(wish)
        if name not in installed:
            if ";" not in wish:
                return True
            continue  # a marker of another system or Python, as a rule
        asked = parse_requirement(wish)
        if asked is not None and ";" not in wish and is_in_specifier(asked.specifier, installed[name]) is False:
            return True
        if not name.startswith("nvidia-") and not _is_there(search, name, distributions, where):
            return True
    return _something_before(search)


def _name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9][\w.-]*", requirement)
    return normalise_name(found[0]) if found else ""


def _is_there(search: ModuleSearch, name: str, distributions: tuple[Distribution, ...], where: Sysroot) -> bool:
    """Whether the module of a distribution has content; of one whose module has another name its RECORD tells."""
    found = search.find(module_of(name))
    if found.kind == "none":
        its = next(d for d in distributions if d.name == name)
        record = read_record(its, where)
        tops = {m[1] for m in re.finditer(r"(?m)^([A-Za-z]\w*)(?:/__init__)?(?:\.[\w-]+)*\.(?:py|so|pyd),", record)}
        return not tops or all(search.find(top).kind != "none" for top in tops)
    if found.kind == "namespace":
        return name == "protobuf" or "." in module_of(name)
    seen = where.stat(found.path)
    return seen is None or seen.st_size > 0


def _something_before(search: ModuleSearch) -> bool:
    """Whether an entry before the packages has a name that the packages have as well, and no copy of what they have."""
    front, packages = search.search.split()
    before = [e.path for e in front if e.origin in BEFORE_THE_PACKAGES]
    behind = [e.path for e in packages if e.origin != "start"]
    return any(
        not search.is_shared_apart(name, early, late) and not search.is_copy(name, early, late)
        for early in before
        for late in behind
        for name in search.top_names(early) & search.top_names(late)
    ) or any(search.is_preferred_behind(packages[0].path, name) for name in _later_names(search, packages))


def _later_names(search: ModuleSearch, packages: tuple[SearchEntry, ...]) -> frozenset[str]:
    """Return the names in the first folder of packages that a folder behind it, which a .pth file added, has as well."""
    behind = (search.top_names(e.path) for e in packages[1:] if e.origin == "pth")
    return search.top_names(packages[0].path) & frozenset().union(*behind) if packages else frozenset()
