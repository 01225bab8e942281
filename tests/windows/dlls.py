"""Small DLLs written by hand that Windows really loads: with a DllMain of two instructions, imports and delay imports.

No compiler is needed, so that the same tests run on Windows itself.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

BASE = 0x1000
"""Where the only section lies in memory."""


class Section:
    """Bytes that are put together, and where each piece will lie."""

    def __init__(self) -> None:
        self.data = bytearray()

    def put(self, piece: bytes) -> int:
        """Add a piece; return its address relative to the image."""
        self.data += bytes(-len(self.data) % 16)
        self.data += piece
        return BASE + len(self.data) - len(piece)


def dll(
    imports: Mapping[str, str] | None = None,
    delayed: Mapping[str, str] | None = None,
    *,
    starts: bool = True,
    exports: str = "",
    machine: int = 0x8664,
) -> bytes:
    """Return a DLL. ``imports`` and ``delayed``: a DLL's name -> the function that is wanted of it.

    ``starts``: what DllMain answers; with False the loading fails with error 1114. ``exports``: one function's name.
    """
    section = Section()
    main = section.put(b"\xb8" + struct.pack("<I", int(starts)) + b"\xc3")  # mov eax, answer; ret
    directories = [(0, 0)] * 16
    if exports:
        directories[0] = _exports(section, exports, main)
    if imports:
        rows = b"".join(struct.pack("<IIIII", a, 0, 0, n, b) for n, a, b in _thunks(section, imports))
        directories[1] = (section.put(rows + bytes(20)), len(rows) + 20)
    if delayed:
        handles = section.put(bytes(8))
        rows = b"".join(struct.pack("<IIIIIIII", 1, n, handles, b, a, 0, 0, 0) for n, a, b in _thunks(section, delayed))
        directories[13] = (section.put(rows + bytes(32)), len(rows) + 32)
    return _image(bytes(section.data), main, directories, machine)


def _thunks(section: Section, wanted: Mapping[str, str]) -> list[tuple[int, int, int]]:
    """Put names and tables of addresses; return (name, table of names, table of addresses) for each DLL."""
    found = []
    for name, function in wanted.items():
        hint = section.put(b"\0\0" + function.encode() + b"\0")
        table = struct.pack("<QQ", hint, 0)
        found.append((section.put(name.encode() + b"\0"), section.put(table), section.put(table)))
    return found


def _exports(section: Section, name: str, at: int) -> tuple[int, int]:
    names = section.put(struct.pack("<I", section.put(name.encode() + b"\0")))
    functions, ordinals = section.put(struct.pack("<I", at)), section.put(struct.pack("<H", 0))
    row = struct.pack("<IIIIIIIIII", 0, 0, 0, section.put(b"x.dll\0"), 1, 1, 1, functions, names, ordinals)
    return section.put(row), len(row)


def _image(body: bytes, main: int, directories: list[tuple[int, int]], machine: int) -> bytes:
    """Return the file around the section (Microsoft, "PE Format")."""
    raw = body.ljust((len(body) + 0x1FF) // 0x200 * 0x200, b"\0")
    size = BASE + (len(body) + 0xFFF) // 0x1000 * 0x1000
    optional = struct.pack("<HBBIIIII", 0x20B, 14, 0, len(raw), 0, 0, main, BASE) + struct.pack("<Q", 0x180000000)
    optional += struct.pack("<IIHHHHHHIIIIHH", 0x1000, 0x200, 6, 0, 0, 0, 6, 0, 0, size, 0x400, 0, 2, 0x140)
    optional += struct.pack("<QQQQII", 0x100000, 0x1000, 0x100000, 0x1000, 0, 16)
    optional += b"".join(struct.pack("<II", *entry) for entry in directories)
    header = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0"
    header += struct.pack("<HHIIIHH", machine, 1, 0, 0, 0, len(optional), 0x2022) + optional
    header += struct.pack("<8sIIIIIIHHI", b".text", len(body), BASE, len(raw), 0x400, 0, 0, 0, 0, 0xE0000060)
    return header.ljust(0x400, b"\0") + raw
