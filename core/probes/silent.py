"""Silent places as facts: what gave no answer during a look, and what leads there."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.patience import Patience
from core.loader.linux_cache import conf_folders
from core.model.facts import Snapshot, Unexamined, text
from core.model.paths import is_inside
from core.probes.cudnn.locations import DEFAULTS
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of

ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "USERPROFILE")
"""Variables whose folder a newly started program takes files from, beside those that the environment's section lists."""


def unexamined(patience: Patience, seen: Snapshot, request: ProbeRequest) -> tuple[Unexamined, ...]:
    """Return the places that gave no answer. Asks the disk about nothing but the loader's configuration."""
    if not patience.silent:
        return ()
    where = sysroot_of(request.host)
    return tuple(
        Unexamined(
            path=text(place), seconds=patience.limit, wanted_by=tuple(dict.fromkeys(_wanted(place, seen, request)))
        )
        for place in map(where.shown, patience.silent)
    )


def _wanted(place: str, seen: Snapshot, request: ProbeRequest) -> Iterator[str]:
    """Yield what leads to a place, or into it."""
    where = sysroot_of(request.host)
    for named in request.pythons:
        if _related(named, place, where):
            yield "--python"
    for entry in seen.environment.entries if seen.environment else ():
        if _leads_to(entry.expanded, place, where):
            yield entry.variable
    for name in ACTIVE:
        if _inside(request.env.get(name, ""), place, where):
            yield name
    for python in seen.pythons or ():
        ways = python.found_by.split(", ")
        if _inside(place, python.prefix, where) and ("VIRTUAL_ENV" in ways or "CONDA_PREFIX" in ways):
            yield from (way for way in ways if way in ACTIVE)
    if where.system == "linux":
        listed = [(folder.path, folder.source) for folder in conf_folders(root=where.root)]
        for folder, source in (*listed, *((default, "ld.so") for default in DEFAULTS)):
            if _leads_to(folder, place, where):
                yield source


def _related(one: str, other: str, where: Sysroot) -> bool:
    return _inside(one, other, where) or _inside(other, one, where)


def _leads_to(folder: str, place: str, where: Sysroot) -> bool:
    """Whether a folder of a search path lies in a place, or holds it: whoever searches the folder asks the place."""
    return _inside(folder, place, where) or (
        where.form.isabs(folder)
        and _inside(where.parent(place), folder, where)
        and _inside(folder, where.parent(place), where)
    )


def _inside(path: str, folder: str, where: Sysroot) -> bool:
    """Whether ``path`` is ``folder`` or lies in it, by their words alone: the disk may give no answer."""
    return where.form.isabs(path) and is_inside(where.system, path, folder)
