"""The driver's cache of compiled kernels: its owner, and whether this user may use it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from core.common.fact_text import fact_text
from core.common.variable_names import variable_in
from core.model.facts import ComputeCache, Machine, path_text
from core.probes.sysroot import Sysroot


def compute_cache(env: Mapping[str, str], machine: Machine, where: Sysroot) -> ComputeCache | None:
    """Describe the cache folder without writing to it; None if its path is unknown.

    Paths: CUDA C++ Programming Guide, section on environment variables (CUDA_CACHE_PATH). ``writable`` of a missing
    folder says whether the driver could create it.
    """
    path, source = cache_folder(env, machine, where)
    if not path:
        return None
    seen = where.stat(path)
    if seen is None:
        above = _nearest(path, where)
        problem = fact_text("is a link to a folder that is not there") if where.is_link(path) else ""
        return ComputeCache(
            path=path_text(path),
            exists=False,
            writable=_is_writable(above, where) if above else None,
            problem=problem,
            source=source,
        )
    if not stat.S_ISDIR(seen.st_mode):
        return ComputeCache(
            path=path_text(path),
            exists=True,
            owner=owner_name(seen.st_uid),
            writable=False,
            problem=fact_text("is not a folder"),
            source=source,
        )
    index = where.join(path, "index")
    there = where.stat(index)
    return ComputeCache(
        path=path_text(path),
        exists=True,
        owner=owner_name(seen.st_uid),
        writable=_is_writable(path, where),
        index_readable=bool(where.read(index, 16)) if there is not None else None,
        aside=path_text(_movable_folder(path, where)),
        source=source,
    )


CACHE_FOLDERS = frozenset({"ComputeCache", "GLCache"})
"""Caches of NVIDIA's driver in ~/.nv, which it recreates if they are missing."""


def _movable_folder(path: str, where: Sysroot) -> str:
    """Return the cache, or the .nv folder if it contains only caches, whichever is in a folder that this user may change."""
    above = where.parent(path)
    if _is_writable(above, where) is not False:
        return path
    only_caches = where.name(above) == ".nv" and set(where.names(above) or ("?",)) <= CACHE_FOLDERS
    return above if only_caches and _is_writable(where.parent(above), where) else ""


def cache_folder(env: Mapping[str, str], machine: Machine, where: Sysroot) -> tuple[str, str]:
    """Return the cache's folder and what determines it."""
    if env.get("CUDA_CACHE_PATH"):
        return env["CUDA_CACHE_PATH"], "CUDA_CACHE_PATH"
    if where.system == "windows":
        base = variable_in(env, "APPDATA")
        return (where.join(base, "NVIDIA", "ComputeCache"), "%APPDATA%") if base else ("", "")
    home = env.get("HOME") or machine.home
    return (where.join(home, ".nv", "ComputeCache"), fact_text("home folder")) if home else ("", "")


def _nearest(path: str, where: Sysroot) -> str:
    """Return the nearest folder above ``path`` that exists."""
    above = where.parent(path)
    while above and above != where.parent(above) and not where.is_folder(above):
        above = where.parent(above)
    return above if where.is_folder(above) else ""


def _is_writable(folder: str, where: Sysroot) -> bool | None:
    """Whether this user may create files there, tested without creating one. Windows' access lists are not read."""
    if os.name == "nt":
        return None
    real = where.local_path(folder)
    try:
        return os.access(real, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    except (OSError, ValueError):
        return None


def owner_name(uid: int) -> str:
    """Return a user's name; the number if no account belongs to it, empty on Windows."""
    if os.name == "nt":
        return ""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OSError):
        return str(uid)


def group_name(gid: int) -> str:
    """Return a group's name; the number if there is none, empty on Windows."""
    if os.name == "nt":
        return ""
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except (KeyError, OSError):
        return str(gid)
