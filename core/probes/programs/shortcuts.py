r"""Windows' shortcuts: what a .lnk file starts, with which arguments and in which folder. Bytes alone are read.

Source: [MS-SHLLINK], "Shell Link (.LNK) Binary File Format": ShellLinkHeader (2.1), LinkTargetIDList (2.2), LinkInfo
(2.3), StringData (2.4).
"""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from core.host.windows.environment import expand_variables

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


MOST_FOLDERS, MOST_SHORTCUTS = 80, 300
MOST_BYTES = 1 << 18
MENU = ("Microsoft", "Windows", "Start Menu", "Programs")


def shortcut_files(
    env: Mapping[str, str], names: Callable[[str], Iterable[str] | None], endings: tuple[str, ...] = (".lnk",)
) -> Iterator[str]:
    """Yield the shortcuts, or other files with these endings, of the desktop and of the Start menu, the person's and everybody's. ``names``: those
    in a folder.
    """
    told = {n.upper(): v for n, v in env.items()}
    places = [ntpath.join(told[n], "Desktop") for n in ("USERPROFILE", "PUBLIC") if told.get(n)]
    places += [ntpath.join(told[n], *MENU) for n in ("APPDATA", "PROGRAMDATA") if told.get(n)]
    seen = 0
    for folder in places:
        for name in names(folder) or ():
            path = ntpath.join(folder, name)
            if name.lower().endswith(endings):
                seen += 1
                if seen > MOST_SHORTCUTS:
                    return
                yield path
            elif len(places) < MOST_FOLDERS and ntpath.basename(folder).lower() != "desktop" and "." not in name:
                places.append(path)  # a folder of the menu


def target_of(link: Shortcut, path: str) -> str:
    """Return the full path of what the shortcut in ``path`` starts; empty where it does not say."""
    beside = ntpath.normpath(ntpath.join(ntpath.dirname(path), link.relative)) if link.relative else ""
    return link.target or beside


def starting_folders(
    program: str,
    env: Mapping[str, str],
    names: Callable[[str], Iterable[str] | None],
    read: Callable[[str, int], bytes | None],
) -> tuple[str, ...]:
    """Return the folders in which shortcuts start a program, if that is not the program's own."""
    own = {ntpath.normcase(ntpath.dirname(program))}
    found: dict[str, str] = {}
    for path in shortcut_files(env, names):
        link = read_shortcut(read(path, MOST_BYTES) or b"")
        if link and link.folder and ntpath.normcase(target_of(link, path)) == ntpath.normcase(program):
            folder = expand_variables(link.folder, env).rstrip("\\")
            found.setdefault(ntpath.normcase(folder), folder)
    return tuple(folder for key, folder in found.items() if key not in own)


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
            texts[name] = _decoded(data[at + 2 : at + 2 + length], wide=bool(flags & IS_UNICODE))
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
    return _decoded(data[at:end], wide=wide)


def _decoded(data: bytes, *, wide: bool) -> str:
    return data.decode("utf-16-le" if wide else "cp1252", "replace").partition("\0")[0]
