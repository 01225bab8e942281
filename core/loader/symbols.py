"""The symbols that an ELF library requires and provides: versions (verneed, verdef) and names (dynsym, GNU hash).
Nothing is mapped.

After the generic ABI's "Symbol Versioning" and "GNU hash" as glibc reads them (elf/dl-version.c, elf/dl-lookup.c).
"""

from __future__ import annotations

import os
import re
import struct
from array import array
from collections.abc import Iterator

from core.loader.earlier_reads import cached_by_file
from core.loader.files import MAX_READ_BYTES, UNREAD, UnfitError, path_under_root
from core.loader.sections import Layout, Section, open_layout
from core.model.facts import Frozen, path_text

DYNSYM, GNU_HASH, VERDEF, VERNEED, VERSYM = 11, 0x6FFFFFF6, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
"""Section types."""
WEAK_VERSION = 2
"""VER_FLG_WEAK: the loader accepts that this version is missing."""
WEAK = 2
"""STB_WEAK."""
MAX_UNDEFINED, MAX_TABLE_BYTES = 60_000, 64 << 20
"""Maximum number of undefined symbols of one file, and of bytes of one table, that are read."""
MAX_NAME_BYTES, NAMES_PIECE_BYTES = 512, 8192
"""Maximum length of a version's or library's name, and bytes of a string table read at a time."""
FEW_NAMES = 64
"""Number of symbols from which on larger pieces are read."""


class Want(Frozen, frozen=True, kw_only=True):
    """A symbol version that one library requires of another."""

    library: str
    """DT_NEEDED name of the provider."""
    version: str
    weak: bool = False


class VersionTables(Frozen, frozen=True, kw_only=True):
    """A library's versions."""

    wanted: tuple[Want, ...] = ()
    offered: frozenset[str] = frozenset()
    """Empty for a library without versions, which satisfies every requirement."""


class Undefined(Frozen, frozen=True, kw_only=True):
    """A strong undefined symbol of a library."""

    name: str
    version: str = ""
    library: str = ""
    """The DT_NEEDED name that its version belongs to; empty for a symbol without a version."""


def _section_bytes(file: Layout, section: Section) -> bytes:
    """Return a whole section's bytes."""
    size = min(section.size, MAX_TABLE_BYTES)
    parts = (
        file.source.read(section.offset + at, min(MAX_READ_BYTES, size - at)) for at in range(0, size, MAX_READ_BYTES)
    )
    return b"".join(parts)


def _section(file: Layout, kind: int) -> Section | None:
    return next((s for s in file.sections if s.kind == kind), None)


def _strings(file: Layout, of: Section) -> Section | None:
    return file.sections[of.link] if of.link < len(file.sections) else None


def _string_at(table: bytes, at: int) -> str:
    end = table.find(b"\0", at)
    return path_text(table[at : end if end >= 0 else len(table)])


class _Names:
    """Names in a string table, which is read in pieces: the names of versions are close together."""

    def __init__(self, file: Layout, strings: Section) -> None:
        self._source, self._offset = file.source, strings.offset
        self._start, self._piece = 0, b""

    def at(self, at: int) -> str:
        """Return the name at an offset of the table."""
        inside = at - self._start
        if not 0 <= inside <= len(self._piece) - MAX_NAME_BYTES:
            self._start, inside = max(0, at - NAMES_PIECE_BYTES // 2), min(at, NAMES_PIECE_BYTES // 2)
            self._piece = self._source.read(self._offset + self._start, NAMES_PIECE_BYTES)
        return _string_at(self._piece[inside : inside + MAX_NAME_BYTES], 0)


@cached_by_file
def version_tables(path: str | os.PathLike[str], *, root: str | os.PathLike[str] = "/") -> VersionTables | None:
    """Return the versions that a library requires and defines; None if it cannot be read as a 64-bit library."""
    try:
        with open_layout(path_under_root(root, os.fspath(path))) as file:
            if file.format != "ELF" or file.bits != 64:
                return None
            return VersionTables(
                wanted=tuple(w for w, _index in _required_versions(file)),
                offered=frozenset(n for n, _i in _defined_versions(file)),
            )
    except (UnfitError, struct.error, OSError):
        return None


def _required_versions(file: Layout) -> Iterator[tuple[Want, int]]:
    section = _section(file, VERNEED)
    strings = _strings(file, section) if section else None
    if section is None or strings is None:
        return
    data, at, names = _section_bytes(file, section), 0, _Names(file, strings)
    for _entry in range(len(data) // 16):
        _version, count, library, first, following = struct.unpack_from("<HHIII", data, at)
        name, inner = names.at(library), at + first
        for _one in range(count):
            _hash, flags, index, word, further = struct.unpack_from("<IHHII", data, inner)
            yield (Want(library=name, version=names.at(word), weak=bool(flags & WEAK_VERSION)), index & 0x7FFF)
            inner += further
            if not further:
                break
        at += following
        if not following:
            return


def _defined_versions(file: Layout) -> Iterator[tuple[str, int]]:
    section = _section(file, VERDEF)
    strings = _strings(file, section) if section else None
    if section is None or strings is None:
        return
    data, at, names = _section_bytes(file, section), 0, _Names(file, strings)
    for _entry in range(len(data) // 20):
        _version, _flags, index, count, _hash, first, following = struct.unpack_from("<HHHHIII", data, at)
        if count:
            yield names.at(struct.unpack_from("<I", data, at + first)[0]), index & 0x7FFF
        at += following
        if not following:
            return


def undefined_symbols(
    path: str, *, root: str | os.PathLike[str] = "/", named: re.Pattern[str] | None = None
) -> tuple[Undefined, ...] | None:
    """Return the strong undefined symbols of a library; ``named``: only those with these prefixes. None if it cannot be read."""
    try:
        with open_layout(path_under_root(root, os.fspath(path))) as file:
            return tuple(_undefined_names(file, named)) if file.format == "ELF" and file.bits == 64 else ()
    except UnfitError as unfit:
        return None if unfit.state in UNREAD else ()
    except struct.error:
        return ()


def _undefined_names(file: Layout, named: re.Pattern[str] | None) -> Iterator[Undefined]:
    symbols, versions, hashed = (_section(file, kind) for kind in (DYNSYM, VERSYM, GNU_HASH))
    strings = _strings(file, symbols) if symbols else None
    if symbols is None or strings is None:
        return
    count = symbols.size // 24
    if hashed:  # Hashed symbols are defined; the undefined ones precede them.
        first = struct.unpack("<I", file.source.read(hashed.offset + 4, 4))[0]
        count = min(count, first)
    count = min(count, MAX_UNDEFINED)
    wants = {index: want for want, index in _required_versions(file)}
    numbers = array("H", file.source.read(versions.offset, min(2 * count, MAX_READ_BYTES))) if versions else array("H")
    table = _section_bytes(file, Section(name="", offset=symbols.offset, size=24 * count, address=0))
    rows = struct.iter_unpack("<IBBHQQ", table)
    undefined = [(n, row[0]) for n, row in enumerate(rows) if row[0] and not row[3] and row[1] >> 4 != WEAK]
    names = _names_at({at for _number, at in undefined}, file, strings)
    for number, at in undefined:
        if named and not named.match(names[at]):
            continue
        want = wants.get(numbers[number] & 0x7FFF) if number < len(numbers) else None
        yield Undefined(name=names[at], version=want.version if want else "", library=want.library if want else "")


def _names_at(places: set[int], file: Layout, strings: Section) -> dict[int, str]:
    """Return the names at offsets of a string table. It is read in pieces: TensorFlow's has more than 64 MB."""
    found, start, piece = dict[int, str](), 0, b""
    for at in sorted(places):
        end = piece.find(b"\0", at - start) if at - start < len(piece) else -1
        if end < 0:
            size = min(strings.size - at, MAX_READ_BYTES if len(places) > FEW_NAMES else NAMES_PIECE_BYTES)
            start, piece = at, file.source.read(strings.offset + at, size)
            end = piece.find(b"\0")
        found[at] = path_text(piece[at - start : end if end >= 0 else len(piece)])
    return found


class Exports:
    """The names that a library exports, looked up in its GNU hash table, which is read once; without one, a list of all names."""

    def __init__(self, path: str, root: str | os.PathLike[str] = "/") -> None:
        self.known = False
        """Whether the table could be read; otherwise a name that is not found proves nothing."""
        self._path, self._root = path, root
        self._all: frozenset[str] | None = None
        self._table = b""
        try:
            with open_layout(path_under_root(root, os.fspath(path))) as file:
                if file.format == "ELF" and file.bits == 64:
                    self._open(file)
        except (UnfitError, struct.error, OSError):
            self.known = False

    def _open(self, file: Layout) -> None:
        symbols, hashed = _section(file, DYNSYM), _section(file, GNU_HASH)
        strings = _strings(file, symbols) if symbols else None
        if symbols is None or strings is None:
            return
        if hashed is None:
            table, names = _section_bytes(file, symbols), _section_bytes(file, strings)
            rows = (struct.unpack_from("<IBBH", table, at) for at in range(0, len(table) - 23, 24))
            self._all = frozenset(_string_at(names, at) for at, _i, _o, section in rows if section)
            self.known = True
            return
        self._table = _section_bytes(file, hashed)
        self._buckets, self._first, self._words, self._shift = struct.unpack_from("<4I", self._table, 0)
        self._symbols, self._strings = symbols, strings
        self.known = len(self._table) == hashed.size and self._words > 0

    def not_exported(self, names: dict[str, int]) -> dict[str, int]:
        """Return those names (with their hashes) that this library does not export."""
        if self._all is not None:
            return {n: h for n, h in names.items() if n not in self._all}
        if not self._buckets:
            return names
        maybe = {n: first for n, h in names.items() if (first := self._maybe(h)) is not None}
        if not maybe:
            return names
        there: set[str] = set()
        try:
            with open_layout(path_under_root(self._root, self._path)) as file:
                there = {n for n, first in maybe.items() if self._has(file, n, names[n], first)}
        except (UnfitError, struct.error, OSError):
            self.known = False
            return {}
        return {n: h for n, h in names.items() if n not in there}

    def _maybe(self, value: int) -> int | None:
        """Return the first symbol of a name's bucket, unless the Bloom filter excludes the name."""
        word = struct.unpack_from("<Q", self._table, 16 + 8 * ((value // 64) % self._words))[0]
        if not (word >> (value % 64)) & (word >> ((value >> self._shift) % 64)) & 1:
            return None
        first: int = struct.unpack_from("<I", self._table, 16 + 8 * self._words + 4 * (value % self._buckets))[0]
        return first if first >= self._first else None

    def _has(self, file: Layout, name: str, value: int, first: int) -> bool:
        chains = 16 + 8 * self._words + 4 * self._buckets
        spelt = name.encode("utf-8", "surrogateescape") + b"\0"
        for symbol in range(first, first + 4096):
            hashed = struct.unpack_from("<I", self._table, chains + 4 * (symbol - self._first))[0]
            if hashed | 1 == value | 1:
                at, _info, _other, section = struct.unpack(
                    "<IBBH", file.source.read(self._symbols.offset + 24 * symbol, 8)
                )
                if section and file.source.read(self._strings.offset + at, len(spelt)) == spelt:
                    return True
            if hashed & 1:
                return False
        return False


def gnu_hash(name: str) -> int:
    """Return a name's GNU hash."""
    value = 5381
    for byte in name.encode("utf-8", "surrogateescape"):
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value
