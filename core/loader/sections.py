"""Sections of ELF and PE files: the offset of a part, so that only that part is read."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import msgspec

from core.common.fact_text import fact_text
from core.loader.files import BlockSource, Source, UnfitError, open_source

MAX_SECTIONS = 2048


class Section(msgspec.Struct, frozen=True):
    """One section: its name (at most eight characters in a PE file), and its place in the file and in memory."""

    name: str
    offset: int
    size: int
    """Bytes in the file, cut at the file's end."""
    address: int
    """Virtual address (ELF) or RVA (PE)."""
    kind: int = 0
    """sh_type (ELF)."""
    link: int = 0
    """sh_link (ELF): index of the section that belongs to it."""
    private: int = 0
    """Bytes of a writable section in memory, of which each process gets its own copy (PE)."""


class Layout(msgspec.Struct, frozen=True):
    """An open file and its sections."""

    source: Source
    format: str
    architecture: str
    bits: int
    sections: tuple[Section, ...]

    def sections_named(self, *names: str) -> tuple[Section, ...]:
        """Return the sections with these names, in the file's order."""
        return tuple(section for section in self.sections if section.name in names)

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return up to ``size`` bytes at an address of the loaded image, as far as the file contains them."""
        return self.bytes_around(address, 0, size)

    def bytes_around(self, address: int, before: int, behind: int) -> bytes:
        """Return the bytes around an address, within its section."""
        for section in self.sections:
            inside = address - section.address
            if section.address and 0 <= inside < section.size and section.kind != NOBITS:
                start, stop = max(0, inside - before), min(inside + behind, section.size)
                return self.source.read(section.offset + start, stop - start)
        return b""


MEM_WRITE = 0x80000000
"""IMAGE_SCN_MEM_WRITE."""

CHUNK_BYTES = 256 << 10
"""Bytes of a section read at a time: small enough to stay in the processor's cache during a search."""

NOBITS = 8
"""SHT_NOBITS: a section without bytes in the file."""


@contextmanager
def open_layout(path: str | os.PathLike[str], *, in_blocks: bool = False) -> Iterator[Layout]:
    """Open a library and locate its sections. An ELF file without a section table has none.

    ``in_blocks``: for a reader of thousands of names, which lie close together.

    Raises:
        UnfitError: it cannot be read, or is neither ELF nor PE.
    """
    with open_source(path) as opened:
        source = BlockSource(opened) if in_blocks else opened
        start = source.read(0, 64)
        if start.startswith(b"\x7fELF") and len(start) == 64:
            yield _elf(source, start)
        elif start.startswith(b"MZ"):
            yield _pe(source, start)
        else:
            raise UnfitError("not a library", fact_text("is neither an ELF nor a PE file"))


def section_chunks(source: Source, section: Section, *, overlap: int = 256) -> Iterator[bytes]:
    """Yield a section in pieces, each starting with the last ``overlap`` bytes of the previous one."""
    end = section.offset + section.size
    for at in range(section.offset, end, CHUNK_BYTES):
        start = max(section.offset, at - overlap)
        piece = source.read(start, min(at + CHUNK_BYTES, end) - start)
        if not piece:
            return
        yield piece


ELF_MACHINES = {62: "x86_64", 183: "aarch64", 3: "x86"}
PE_MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64", 0x14C: "x86"}


def _elf(source: Source, start: bytes) -> Layout:
    """Return the sections of a little-endian ELF file; NVIDIA makes no other."""
    wide = start[4] == 2
    if start[5] != 1:
        return Layout(source, "ELF", "", 64 if wide else 32, ())
    machine = struct.unpack_from("<H", start, 18)[0]
    table = struct.unpack_from("<Q", start, 40)[0] if wide else struct.unpack_from("<I", start, 32)[0]
    size, count, names = struct.unpack_from("<HHH", start, 58 if wide else 46)
    raw = source.read(table, size * min(count, MAX_SECTIONS)) if size >= _form(wide).size else b""
    rows = _rows(raw, size, wide)
    letters = _letters(source, rows[names]) if names < len(rows) else b""
    return Layout(source, "ELF", ELF_MACHINES.get(machine, ""), 64 if wide else 32, _table(rows, letters, source.size))


def _form(wide: bool) -> struct.Struct:
    return struct.Struct("<IIQQQQIIQQ" if wide else "<IIIIIIIIII")


@lru_cache(maxsize=64)  # Cached by content, because each reader of a file needs the same table.
def _rows(raw: bytes, size: int, wide: bool) -> tuple[tuple[int, ...], ...]:
    form = _form(wide)
    return tuple(form.unpack_from(raw, at) for at in range(0, len(raw) - form.size + 1, size)) if raw else ()


@lru_cache(maxsize=64)
def _table(rows: tuple[tuple[int, ...], ...], letters: bytes, end: int) -> tuple[Section, ...]:
    return tuple(
        Section(
            name=letters[row[0] : letters.find(b"\0", row[0])].decode("latin-1") if row[0] < len(letters) else "",
            offset=row[4],
            size=max(0, min(row[5], end - row[4])),
            address=row[3],
            kind=row[1],
            link=row[6],
        )
        for row in rows
    )


def _letters(source: Source, row: tuple[int, ...]) -> bytes:
    return source.read(row[4], min(row[5], 1 << 16)) + b"\0"


def _pe(source: Source, start: bytes) -> Layout:
    """Return the sections of a PE file; only the header that lists them is read."""
    header = struct.unpack_from("<I", start, 60)[0] if len(start) == 64 else 0
    coff = source.read(header, 26)
    if len(coff) < 26 or not coff.startswith(b"PE\0\0"):
        raise UnfitError("damaged", fact_text("has no PE header"))
    machine, count = struct.unpack_from("<HH", coff, 4)
    optional, magic = struct.unpack_from("<H", coff, 20)[0], struct.unpack_from("<H", coff, 24)[0]
    raw = source.read(header + 24 + optional, 40 * min(count, MAX_SECTIONS))
    sections = []
    for at in range(0, len(raw) - 39, 40):
        name, virtual, address, size, offset, flags = struct.unpack_from("<8sIIII12xI", raw, at)
        inside = max(0, min(size, source.size - offset))
        private = virtual if flags & MEM_WRITE else 0
        sections.append(Section(name.rstrip(b"\0").decode("latin-1"), offset, inside, address, private=private))
    bits = 64 if magic == 0x20B else 32
    return Layout(source, "PE", PE_MACHINES.get(machine, ""), bits, tuple(sections))
