"""Shortcuts for the tests: the bytes of a .lnk file, as the documentation of its format ([MS-SHLLINK]) has them."""

from __future__ import annotations

import struct

CLASS = bytes.fromhex("0114020000000000c000000000000046")
HAS_INFO, HAS_FOLDER, HAS_ARGUMENTS, UNICODE = 0x02, 0x10, 0x20, 0x80


def shortcut(target: str, arguments: str = "", folder: str = "") -> bytes:
    """Return a shortcut to a file of a local drive."""
    flags = HAS_INFO | UNICODE | (HAS_FOLDER if folder else 0) | (HAS_ARGUMENTS if arguments else 0)
    header = CLASS_HEADER.pack(0x4C, CLASS, flags, 0x20) + bytes(0x4C - CLASS_HEADER.size)
    volume = struct.pack("<IIIII", 0x11, 3, 0, 0x10, 0)[:0x11]
    narrow = target.encode("latin-1", "replace") + b"\0"
    wide = target.encode("utf-16-le") + b"\0\0"
    head = 0x24
    at_path = head + len(volume)
    at_suffix = at_path + len(narrow)
    at_wide = at_suffix + 1
    at_wide_suffix = at_wide + len(wide)
    size = at_wide_suffix + 2
    info = struct.pack("<IIIIIIIII", size, head, 1, head, at_path, 0, at_suffix, at_wide, at_wide_suffix)
    texts = b"".join(struct.pack("<H", len(t)) + t.encode("utf-16-le") for t in (folder, arguments) if t)
    return header + info + volume + narrow + b"\0" + wide + b"\0\0" + texts + bytes(4)


CLASS_HEADER = struct.Struct("<I16sII")
