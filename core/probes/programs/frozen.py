"""Programs that PyInstaller packed: what must lie beside them.

The file ends with an archive: a cookie with the name of Python's library, and a table of contents (PyInstaller's documentation,
"CArchive"; its loader/pyimod01_archive.py and bootloader/src/pyi_archive.h). A program in one file has that library within; one in a
folder finds it in the folder that the option ``pyi-contents-directory`` names (since 6.0), or beside the program. There, too, lies
base_library.zip with the modules of the standard library that Python needs to start (bootloader/src/pyi_pythonlib.c).
"""

from __future__ import annotations

import struct

from core.probes.sysroot import Sysroot

COOKIE, ENTRY = struct.Struct("!8sIIII64s"), struct.Struct("!IIIIBc")
MAGIC = b"MEI\014\013\012\013\016"
MOST_BEHIND = 32 << 10
"""Bytes behind the archive, such as a signature, that are searched for the cookie."""
MOST_TABLE = 4 << 20
PYTHON_3 = 30
"""In the cookie Python 3.9 is 39, and 3.11 is 311; Python 2.7 is 27."""
OPTION = "pyi-contents-directory "
STANDARD_LIBRARY, FIRST_MODULE = "base_library.zip", "encodings"
"""The archive, and the module that Python imports first, which some builds have as files instead."""

NOTHING = "", False


def lost_library(path: str, where: Sysroot) -> tuple[str, bool]:
    """Return the place where a packed program has Python's library, or its standard library, if that is not there, and whether all else
    that was packed with it is gone, too; empty for any other program.
    """
    behind = where.tail(path, MOST_BEHIND) or b""
    at = behind.rfind(MAGIC)
    if at < 0 or len(behind) - at < COOKIE.size:
        return NOTHING
    _magic, length, start, size, version, library = COOKIE.unpack_from(behind, at)
    name = library.split(b"\0")[0].decode("utf-8", "replace")
    after = len(behind) - at - COOKIE.size
    if not name or size > MOST_TABLE or start + size > length:
        return NOTHING
    told = where.tail(path, after + length - start) or b""
    names = [n.replace("/", "\\").rpartition("\\")[2] for n in _entries(told[:size])]
    if name.replace("/", "\\").rpartition("\\")[2] in names:
        return NOTHING  # in one file
    inner = next((n.removeprefix(OPTION) for n in _entries(told[:size]) if n.startswith(OPTION)), "")
    folder = where.parent(path)
    home = where.join(folder, inner) if inner not in ("", ".") else folder
    place = where.join(home, name)
    modules = [where.join(home, n) for n in (STANDARD_LIBRARY, FIRST_MODULE)]
    within = [p for p in modules if where.exists(p)]
    if not where.exists(place):
        return place, not within and (home == folder or not where.names(home))
    has_none = not within and version >= PYTHON_3 and STANDARD_LIBRARY not in names
    return (modules[0], False) if has_none else NOTHING


def _entries(table: bytes) -> list[str]:
    """Return the names in a table of contents."""
    found, at = [], 0
    while at + ENTRY.size <= len(table):
        length = ENTRY.unpack_from(table, at)[0]
        if length < ENTRY.size:
            break
        found.append(table[at + ENTRY.size : at + length].split(b"\0")[0].decode("utf-8", "replace"))
        at += length
    return found
