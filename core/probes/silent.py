"""Unresponsive paths of a scan as facts, and what leads to them."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.patience import Patience
from core.loader.linux.cache import conf_folders
from core.model.facts import Snapshot, Unexamined, path_text
from core.model.paths import is_inside
from core.probes.cudnn.locations import DEFAULT_FOLDERS
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of

FOLDER_VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "USERPROFILE")
"""Variables from whose folders a newly started program takes files, in addition to those in the environment section."""


def unexamined_places(patience: Patience, seen: Snapshot, request: ProbeRequest) -> tuple[Unexamined, ...]:
    """Return the places that did not respond. Asks the disk about nothing but the loader's configuration."""
    if not patience.silent:
        return ()
    where = sysroot_of(request.host)
    return tuple(
        Unexamined(
            path=path_text(place),
            seconds=patience.limit,
            wanted_by=tuple(dict.fromkeys(_leading_paths(place, seen, request))),
        )
        for place in map(where.target_path, patience.silent)
    )


def _leading_paths(place: str, seen: Snapshot, request: ProbeRequest) -> Iterator[str]:
    """Yield what leads to a place, or into it."""
    where = sysroot_of(request.host)
    for named in (*request.pythons, *request.suggested):
        if _is_related(named, place, where):
            yield "--python"
    for entry in seen.environment.entries if seen.environment else ():
        if _leads_to(entry.expanded, place, where):
            yield entry.variable
    for name in FOLDER_VARIABLES:
        if _is_inside(request.env.get(name, ""), place, where):
            yield name
    for python in seen.pythons or ():
        if _is_inside(place, python.prefix, where):
            yield from (way for way in python.ways if way in FOLDER_VARIABLES)
    if where.system == "linux":
        listed = [(folder.path, folder.source) for folder in conf_folders(root=where.root)]
        for folder, source in (*listed, *((default, "ld.so") for default in DEFAULT_FOLDERS)):
            if _leads_to(folder, place, where):
                yield source


def _is_related(one: str, other: str, where: Sysroot) -> bool:
    return _is_inside(one, other, where) or _is_inside(other, one, where)


def _leads_to(folder: str, place: str, where: Sysroot) -> bool:
    """Whether a folder of a search path is inside a place or contains it, so that searching the folder accesses the place."""
    return _is_inside(folder, place, where) or (
        where.path_module.isabs(folder)
        and _is_inside(where.parent(place), folder, where)
        and _is_inside(folder, where.parent(place), where)
    )


def _is_inside(path: str, folder: str, where: Sysroot) -> bool:
    """Whether ``path`` is ``folder`` or is in it, by their text alone: the disk may not respond."""
    return where.path_module.isabs(path) and is_inside(where.system, path, folder)
