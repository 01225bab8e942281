"""The base class of every section of the Snapshot."""

from __future__ import annotations

import os
from typing import Any, Literal

import msgspec

SCHEMA_VERSION = 1
"""Version of the report's JSON form. Fields may be added within a version; none is renamed or removed."""

System = Literal["linux", "windows"]


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all sections: immutable, compared by value, read from and written to JSON by msgspec."""


def path_text(path: str | bytes | os.PathLike[str]) -> str:
    r"""Return a printable form of a path; bytes that are not UTF-8 appear as ``\xNN``, and half letters of a text as ``\udNNN``."""
    if type(path) is str and path.isascii():
        return path
    try:
        raw = path if isinstance(path, bytes) else os.fsencode(os.fspath(path))
    except UnicodeEncodeError:  # "\ud800" in Python's code or in JSON
        raw = os.fsdecode(path).encode("utf-8", "backslashreplace")
    return raw.decode("utf-8", "backslashreplace")


def printable(value: Any) -> Any:
    """Return facts in which every text can be written as UTF-8. Files of any origin can hold half letters, and variables any bytes."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return _printable(value)
    return value


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return path_text(value)
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **{n: _printable(getattr(value, n)) for n in value.__struct_fields__})
    if isinstance(value, dict):
        return {_printable(name): _printable(its) for name, its in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return type(value)(_printable(its) for its in value)
    return value
