"""What a PE file says of releases: its version resource, and the linker that made it. After Microsoft's "PE Format"."""

from __future__ import annotations

import os
import struct

from core.loader.files import UnfitError, extended_path
from core.loader.sections import open_layout

MAX_RESOURCE_BYTES = 1 << 18
"""Maximum number of bytes read of a resource section; cuDNN's have a few hundred."""


def file_version(path: str | os.PathLike[str]) -> tuple[int, int, int, int] | None:
    """Return the four numbers of a file's version resource; None if it has none or is no PE file."""
    try:
        with open_layout(extended_path(os.fspath(path))) as file:
            for section in file.sections_named(".rsrc") if file.format == "PE" else ():
                data = file.source.read(section.offset, min(section.size, MAX_RESOURCE_BYTES))
                at = data.find(b"\xbd\x04\xef\xfe")  # the signature of VS_FIXEDFILEINFO
                if 0 <= at <= len(data) - 16:
                    high, low = struct.unpack_from("<II", data, at + 8)
                    return high >> 16, high & 0xFFFF, low >> 16, low & 0xFFFF
    except (UnfitError, OSError):
        return None
    return None


def linker_version(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return the linker's version: (14, 44) is Visual Studio 2022 17.14; other linkers have numbers of their own."""
    try:
        with open_layout(extended_path(os.fspath(path))) as file:
            if file.format != "PE":
                return None
            header = struct.unpack("<I", file.source.read(60, 4))[0]
            major, minor = file.source.read(header + 26, 2)
            return major, minor
    except (UnfitError, OSError, struct.error, ValueError):
        return None
