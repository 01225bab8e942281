"""The base class of every section of the Snapshot."""

from __future__ import annotations

import os
from typing import Literal

import msgspec

SCHEMA_VERSION = 1
"""Version of the report's JSON form. Fields may be added within a version; none is renamed or removed."""

System = Literal["linux", "windows"]


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all sections: immutable, compared by value, read from and written to JSON by msgspec."""


def path_text(path: str | bytes | os.PathLike[str]) -> str:
    r"""Return a printable form of a path; bytes that are not UTF-8 appear as ``\xNN``."""
    if type(path) is str and path.isascii():
        return path
    raw = path if isinstance(path, bytes) else os.fsencode(os.fspath(path))
    return raw.decode("utf-8", "backslashreplace")
