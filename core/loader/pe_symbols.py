"""The functions that a PE file imports from each DLL, and those of them that a DLL does not export; nothing is mapped.

After Microsoft's "PE Format": the lookup tables of the import directory. Imports by ordinal are left out, because only
names identify a release.
"""

from __future__ import annotations

import os
import struct

from core.loader.earlier_reads import cached_by_file
from core.loader.exports import export_address, exported_names
from core.loader.files import UnfitError, extended_path, path_under_root
from core.loader.sections import Layout, open_layout
from core.model.facts import path_text

BY_ORDINAL = {64: 1 << 63, 32: 1 << 31}
MAX_DLLS, MAX_FUNCTIONS = 1024, 60_000
USUAL_NAME_BYTES, MAX_NAME_BYTES = 256, 16 << 10
"""Bytes read for a name at first, and at most.

Decorated C++ names have up to 4096 characters; longer ones are left out.
"""
SEVERAL = 500
"""Functions from which on all names of a DLL are read at once, instead of a search for each."""
PIECE = 1024
"""Entries of a lookup table read at a time."""


@cached_by_file
def imported_functions(
    path: str | os.PathLike[str], *, root: str | os.PathLike[str] = "/"
) -> dict[str, tuple[str, ...]]:
    """Return the functions that a PE file imports at load time: DLL in lower case -> names. Empty if it is no PE file."""
    try:
        with open_layout(path_under_root(root, os.fspath(path)), in_blocks=True) as file:
            return _imports(file) if file.format == "PE" else {}
    except (UnfitError, OSError, struct.error):
        return {}


def lacking_functions(wanting: str | os.PathLike[str], name: str, provider: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the functions that ``wanting`` imports from the DLL ``name`` and that ``provider``, the file found for it, does not export."""
    wanted = imported_functions(wanting).get(name.lower(), ())
    if not wanted:
        return ()
    try:
        with open_layout(extended_path(os.fspath(provider)), in_blocks=True) as file:
            if file.format != "PE":
                return ()
            if len(wanted) < SEVERAL:
                return tuple(n for n in wanted if export_address(file, n) is None)
            names = exported_names(file)
            return tuple(n for n in wanted if n.encode() not in names)
    except (UnfitError, OSError):
        return ()


def _imports(file: Layout) -> dict[str, tuple[str, ...]]:
    header = struct.unpack("<I", file.source.read(60, 4))[0]
    place = header + 24 + (112 if file.bits == 64 else 96) + 8
    table, size = struct.unpack("<2I", file.source.read(place, 8))
    out: dict[str, tuple[str, ...]] = {}
    for n in range(MAX_DLLS if table and size else 0):
        raw = file.bytes_at(table + 20 * n, 20)
        if len(raw) < 20 or not any(raw):
            break
        lookup, _time, _chain, name, bound = struct.unpack("<5I", raw)
        dll = _string_at(file, name).lower()
        out[dll] = (*out.get(dll, ()), *_functions(file, lookup or bound))
    return out


def _functions(file: Layout, table: int) -> tuple[str, ...]:
    """Return the names of one lookup table: each entry of 8 or 4 bytes refers to a two-byte hint followed by the name."""
    width, code = (8, "Q") if file.bits == 64 else (4, "I")
    names: list[str] = []
    for at in range(0, MAX_FUNCTIONS, PIECE):
        raw = file.bytes_at(table + width * at, width * PIECE)
        for entry in struct.unpack(f"<{len(raw) // width}{code}", raw[: len(raw) // width * width]):
            if not entry:
                return tuple(names)
            if not entry & BY_ORDINAL.get(file.bits, 0):
                name = _string_at(file, int(entry) + 2)
                names += [name] if name else []
        if len(raw) < width * PIECE:
            break
    return tuple(names)


def _string_at(file: Layout, address: int) -> str:
    """Return the string at an address; empty if it is not terminated."""
    for size in (USUAL_NAME_BYTES, MAX_NAME_BYTES):
        text, end, _rest = file.bytes_at(address, size).partition(b"\0")
        if end:
            return path_text(text)
    return ""
