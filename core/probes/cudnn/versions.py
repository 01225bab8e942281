"""True versions out of a cuDNN library's own data, without running it: what its maker compiled in, or its PE resource."""

from __future__ import annotations

import struct

from core.common.fact_text import fact_text
from core.loader.cudnn_version import cudnn_version
from core.loader.files import UnfitError, under
from core.loader.sections import layout

RESOURCE_LIMIT = 1 << 18
"""Bytes of a resource section that are read; cuDNN's have a few hundred."""


def true_version(path: str, root: str = "/") -> tuple[str | None, str]:
    """Return a library's version and what in the file says so; (None, "") when nothing does. Never raises."""
    found = cudnn_version(path, root=root)
    if found:
        return found.version, found.source
    resource = _resource(under(root, path))
    return (resource, fact_text("the file's version resource, which is true from 8.9.4 on")) if resource else (None, "")


def _resource(path: str) -> str | None:
    """Return a PE file's FileVersion where it is cuDNN's own.

    Up to 8.9.3 it is in the driver's style (6.14.11.xxxx) and lies; read in the wheels 8.9.7.29 and 9.1.0.70.
    """
    try:
        with layout(path) as file:
            for section in file.named(".rsrc") if file.format == "PE" else ():
                data = file.source.read(section.offset, min(section.size, RESOURCE_LIMIT))
                at = data.find(b"\xbd\x04\xef\xfe")  # the signature of VS_FIXEDFILEINFO
                if 0 <= at <= len(data) - 16:
                    high, low = struct.unpack_from("<II", data, at + 8)
                    parts = (high >> 16, high & 0xFFFF, low >> 16)
                    return ".".join(map(str, parts)) if (8, 9, 4) <= parts < (100,) else None
    except UnfitError:
        return None
    return None
