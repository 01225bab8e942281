"""Paths of the machine that was examined, in its own system's form: parent, name, inside, equal."""

from __future__ import annotations

import ntpath
import posixpath

from core.model.facts import System


def normalise(system: System, path: str) -> str:
    """Return a path in the form in which two names of one file compare equal (links are not followed)."""
    if system == "windows":
        return ntpath.normcase(ntpath.normpath(path)) if path else ""
    return posixpath.normpath(path) if path else ""


def parent(system: System, path: str) -> str:
    """Return the folder that a path lies in."""
    return ntpath.dirname(path) if system == "windows" else posixpath.dirname(path)


def file_name(system: System, path: str) -> str:
    """Return the last part of a path."""
    return ntpath.basename(path) if system == "windows" else posixpath.basename(path)


def is_inside(system: System, path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or lies in it."""
    if not path or not folder:
        return False
    child, parent = normalise(system, path), normalise(system, folder)
    separator = "\\" if system == "windows" else "/"
    return child == parent or child.startswith(parent.rstrip(separator) + separator)
