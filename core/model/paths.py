"""Paths of the machine that was examined, as text in its own system's form: parent, name, join, inside, equal.

Nothing here asks a disk. The path modules of the standard library know both forms on either system. ``pathlib``'s pure
paths stand on them, but keep ``..``, so that /a/../b would be in /a, and take 2 to 20 times as long (measured).
"""

from __future__ import annotations

import ntpath
import posixpath
from functools import lru_cache
from types import ModuleType

from core.model.facts import System


def path_module(system: System) -> ModuleType:
    """Return the standard library's path module of a system; usable on either."""
    return ntpath if system == "windows" else posixpath


def form_of(path: str) -> System:
    """Return the system in whose form a full path or a bare name is written, where nothing else tells."""
    return "windows" if "\\" in path and not path.startswith("/") else "linux"


@lru_cache(maxsize=4096)
def normalise(system: System, path: str) -> str:
    """Return a path in the form in which two names of one file compare equal (links are not followed).

    POSIX lets a system give two leading slashes their own meaning; Linux gives them none (path_resolution(7)).
    """
    if not path:
        return ""
    if system == "windows":
        return ntpath.normcase(ntpath.normpath(path))
    plain = posixpath.normpath(path)
    return plain[1:] if plain.startswith("//") else plain


def join_path(system: System, *parts: str) -> str:
    """Return parts as one path; a full path among them replaces what stands before it."""
    if system != "windows" and len(parts) == 2 and parts[0][-1:] not in ("", "/") and parts[1][:1] != "/":
        return f"{parts[0]}/{parts[1]}"  # as nearly always
    return str(path_module(system).join(*parts))


def parent(system: System, path: str) -> str:
    """Return the folder that a path is in."""
    return str(path_module(system).dirname(path))


def file_name(system: System, path: str) -> str:
    """Return the last part of a path."""
    return str(path_module(system).basename(path))


def is_same(system: System, one: str, other: str) -> bool:
    """Whether two paths name the same place by their words."""
    return normalise(system, one) == normalise(system, other)


def is_inside(system: System, path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or is in it."""
    if not path or not folder:
        return False
    child, above = normalise(system, path), normalise(system, folder)
    separator = "\\" if system == "windows" else "/"
    return child == above or child.startswith(above.rstrip(separator) + separator)
