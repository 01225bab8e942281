r"""Windows' shortcuts: what a .lnk file starts, with which arguments and in which folder. Bytes alone are read.

Source: [MS-SHLLINK], "Shell Link (.LNK) Binary File Format": ShellLinkHeader (2.1), LinkTargetIDList (2.2), LinkInfo
(2.3), StringData (2.4).
"""

from __future__ import annotations

import msgspec

HEADER_SIZE = 76
CLASS = bytes.fromhex("0114020000000000c000000000000046")
"""The class of shortcuts, {00021401-0000-0000-C000-000000000046}."""
HAS_IDS, HAS_INFO, IS_UNICODE = 0x01, 0x02, 0x80
TEXTS = ((0x04, "name"), (0x08, "relative"), (0x10, "folder"), (0x20, "arguments"), (0x40, "icon"))
"""Flag -> the text that it announces, in the order of the file."""
LOCAL = 0x01
"""Flag of LinkInfo: the target is on a volume of this machine."""


class Shortcut(msgspec.Struct, frozen=True):
    """What a shortcut starts; each text is empty where the file has none."""

    target: str = ""
    """The full path, where the shortcut keeps one."""
    relative: str = ""
    """The target from the folder of the shortcut."""
    arguments: str = ""
    folder: str = ""
    """The folder that the program starts in."""


def read_shortcut(data: bytes) -> Shortcut | None:
    """Return what a .lnk file says; None if these bytes are not one. A file that ends early gives what is before its end."""
    if len(data) < HEADER_SIZE or data[:4] != b"\x4c\0\0\0" or data[4:20] != CLASS:
        return None
    flags = _number(data, 20)
    at = HEADER_SIZE
    if flags & HAS_IDS:
        at += 2 + _number(data, at, 2)
    target = ""
    if flags & HAS_INFO:
        size = _number(data, at)
        target = _target(data[at : at + size])
        at += max(size, 4)
    texts: dict[str, str] = {}
    for flag, name in TEXTS:
        if flags & flag and at + 2 <= len(data):
            length = _number(data, at, 2) * (2 if flags & IS_UNICODE else 1)
            texts[name] = _text(data[at + 2 : at + 2 + length], wide=bool(flags & IS_UNICODE))
            at += 2 + length
    found = {n: texts.get(n, "") for n in ("relative", "arguments", "folder")}
    return Shortcut(target=target, **found)


def _number(data: bytes, at: int, size: int = 4) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _target(info: bytes) -> str:
    """Return LocalBasePath, in UTF-16 where the file has it so, with the rest of the path behind it."""
    header = _number(info, 4)
    if header < 0x1C or not _number(info, 8) & LOCAL:
        return ""
    if header >= 0x24 and (wide := _number(info, 28)):
        suffix = _number(info, 32)
        return _until_zero(info, wide, wide=True) + (_until_zero(info, suffix, wide=True) if suffix else "")
    base, suffix = _number(info, 16), _number(info, 24)
    return _until_zero(info, base) + (_until_zero(info, suffix) if suffix else "") if base else ""


def _until_zero(data: bytes, at: int, *, wide: bool = False) -> str:
    step = 2 if wide else 1
    end = at
    while end + step <= len(data) and any(data[end : end + step]):
        end += step
    return _text(data[at:end], wide=wide)


def _text(data: bytes, *, wide: bool) -> str:
    return data.decode("utf-16-le" if wide else "cp1252", "replace").partition("\0")[0]
