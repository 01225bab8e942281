"""Read ld.so.cache and ld.so.conf: the libraries in the loader's cache, and the folders that ldconfig searches.

Format after glibc's dl-cache.h and cache.c: the old table (magic "ld.so-1.7.0"), the new one ("glibc-ld.so.cache1.1"),
alone or after an old one, with its list of glibc-hwcaps folders in an extension.
"""

from __future__ import annotations

import posixpath
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from core.common.patience import call_patiently
from core.loader.earlier_reads import cached_by_file
from core.loader.files import MAX_READ_BYTES, UnfitError, open_source, path_under_root
from core.model.facts import Frozen, path_text

OLD_MAGIC = b"ld.so-1.7.0"
NEW_MAGIC = b"glibc-ld.so.cache1.1"
EXTENSION_MAGIC = 0xEAA42174
HWCAPS_TAG = 1
HWCAP_EXTENSION = 1 << 62
"""Bit of an entry's hwcap word which means that the lower half is an index into the list of glibc-hwcaps folders."""

MAX_CACHE_BYTES = 64 << 20
MAX_CACHE_ENTRIES = 500_000
MAX_CONF_FILES = 1000
MAX_CONF_BYTES = 1 << 20
MAX_DEPTH = 32

CACHE_ARCHITECTURES = {
    0x0000: "x86",
    0x0300: "x86_64",
    0x0800: "x32",
    0x0A00: "aarch64",
    0x0500: "ppc64le",
    0x0400: "s390x",
}
"""Second byte of an entry's flags -> architecture (glibc's ldconfig.h)."""


class CacheEntry(Frozen, frozen=True, kw_only=True):
    """One entry of the cache: a library's name and the file that it refers to."""

    name: str
    path: str
    architecture: str = ""
    hwcaps: str = ""
    """The glibc-hwcaps folder whose level the processor must support ("x86-64-v3"); empty for every processor."""


CACHE_FILE = "/etc/ld.so.cache"


def read_cache(*, root: str) -> tuple[CacheEntry, ...] | None:
    """Return the cache's entries in its own order; None if there is no readable cache."""
    return _read_cache(CACHE_FILE, root=root)


@cached_by_file
def _read_cache(path: str, *, root: str) -> tuple[CacheEntry, ...] | None:
    try:
        with open_source(path_under_root(root, path)) as source:
            data = b"".join(
                source.read(at, MAX_READ_BYTES) for at in range(0, min(source.size, MAX_CACHE_BYTES), MAX_READ_BYTES)
            )
    except UnfitError:
        return None
    return parse_cache(data)


def parse_cache(data: bytes) -> tuple[CacheEntry, ...] | None:
    """Return the entries of a cache file's bytes; None if it is no cache. Invalid entries are left out."""
    if data.startswith(NEW_MAGIC):
        return tuple(_new(data, 0))
    if not data.startswith(OLD_MAGIC) or len(data) < 16:
        return None
    count = struct.unpack_from("<I", data, 12)[0]
    end = 16 + 12 * count
    behind = (end + 7) // 8 * 8
    if data[behind : behind + len(NEW_MAGIC)] == NEW_MAGIC:
        return tuple(_new(data, behind))
    return tuple(_old(data, min(count, MAX_CACHE_ENTRIES), end))


def _string(data: bytes, at: int) -> str:
    end = data.find(b"\0", at, at + 4096)
    return path_text(data[at:end]) if 0 < at < end else ""


def _entry(data: bytes, flags: int, key: int, value: int, hwcaps: str = "") -> CacheEntry | None:
    name, path = _string(data, key), _string(data, value)
    if not name or not path.startswith("/"):
        return None
    return CacheEntry(name=name, path=path, architecture=CACHE_ARCHITECTURES.get(flags & 0xFF00, ""), hwcaps=hwcaps)


def _old(data: bytes, count: int, strings: int) -> Iterator[CacheEntry]:
    for n in range(min(count, (len(data) - 16) // 12)):
        flags, key, value = struct.unpack_from("<III", data, 16 + 12 * n)
        entry = _entry(data, flags, strings + key, strings + value)
        if entry:
            yield entry


def _new(data: bytes, base: int) -> Iterator[CacheEntry]:
    """Yield the entries of the table at ``base``: its strings are relative to that, its extension to the start of the file."""
    if len(data) < base + 48:
        return
    order = ">" if data[base + 28] & 3 == 3 else "<"
    count = struct.unpack_from(order + "I", data, base + 20)[0]
    folders = _hwcaps(data, base, order)
    for n in range(min(count, MAX_CACHE_ENTRIES, (len(data) - base - 48) // 24)):
        flags, key, value, _os, hwcap = struct.unpack_from(order + "IIIIQ", data, base + 48 + 24 * n)
        named = ""
        if hwcap & HWCAP_EXTENSION:
            index = hwcap & 0xFFFFFFFF
            if index >= len(folders):
                continue
            named = folders[index]
        elif hwcap:
            continue  # The format before glibc 2.33, which new processors and loaders ignore.
        entry = _entry(data, flags, base + key, base + value, named)
        if entry:
            yield entry


def _hwcaps(data: bytes, base: int, order: str) -> list[str]:
    at = struct.unpack_from(order + "I", data, base + 32)[0]
    if not 48 <= at <= len(data) - 8 or struct.unpack_from(order + "I", data, at)[0] != EXTENSION_MAGIC:
        return []
    count = struct.unpack_from(order + "I", data, at + 4)[0]
    for n in range(min(count, 64, (len(data) - at - 8) // 16)):
        tag, _flags, offset, size = struct.unpack_from(order + "IIII", data, at + 8 + 16 * n)
        if tag == HWCAPS_TAG and offset + size <= len(data):
            places = struct.unpack_from(f"{order}{min(size // 4, 256)}I", data, offset)
            return [_string(data, base + place) for place in places]
    return []


class ConfFolder(Frozen, frozen=True, kw_only=True):
    """A folder that ldconfig puts into the cache, and the line that names it."""

    path: str
    source: str
    """File and line: "/etc/ld.so.conf.d/cuda.conf:1"."""


def conf_folders(*, root: str) -> tuple[ConfFolder, ...]:
    """Return the folders of ld.so.conf in order, including those of included files (globs, relative to the including file)."""
    return tuple(_read_configuration("/etc/ld.so.conf", root, set()))


def _read_configuration(path: str, root: str, seen: set[str], depth: int = 0) -> Iterator[ConfFolder]:
    if path in seen or len(seen) >= MAX_CONF_FILES or depth > MAX_DEPTH:
        return
    seen.add(path)
    try:
        with open_source(path_under_root(root, path)) as source:
            data = source.read(0, MAX_CONF_BYTES)
    except UnfitError:
        return
    for number, raw in enumerate(path_text(data).split("\n"), 1):
        line = raw.split("#", 1)[0].strip()
        words = line.split()
        if words[:1] == ["include"]:
            for pattern in words[1:]:
                for file in _glob(posixpath.normpath(posixpath.join(posixpath.dirname(path), pattern)), root):
                    yield from _read_configuration(file, root, seen, depth + 1)
        elif line and words[0] != "hwcap":
            folders = (folder.split("=", 1)[0] for folder in re.split(r"[:,\s]+", line))  # "=libc5" was a library type.
            yield from (ConfFolder(path=folder, source=f"{path}:{number}") for folder in folders if folder[:1] == "/")


def _glob(pattern: str, root: str) -> list[str]:
    """Return the files that match an absolute pattern, in glob's order. To glob(3) ** is no more than *: nothing is searched at any depth."""
    pattern = re.sub(r"\*{2,}", "*", pattern)
    try:
        return call_patiently(_matching, posixpath.dirname(path_under_root(root, pattern)), root, pattern.lstrip("/"))
    except (OSError, ValueError, NotImplementedError):
        return []


def _matching(_folder: str, root: str, pattern: str) -> list[str]:
    return sorted("/" + file.relative_to(root).as_posix() for file in Path(root).glob(pattern))
