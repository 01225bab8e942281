"""GPU machine code in a library: the architectures in its fat binaries, found by following their headers.

A fat binary is a header (magic, version, header size, size of the rest) and entries, each with its kind (PTX or machine
code), its sizes, its architecture as 10 x major + minor, and flags. The code itself, compressed or not, is never read.
The layout was derived from NVIDIA's own files (CUDA 11.8 to 13), the suffix flags from the output of ``fatbinary`` 13.2
for sm_90, 100 and 120 with and without "a" and "f"; NVIDIA does not document it.
"""

from __future__ import annotations

import os
import struct
import time
from typing import NamedTuple, cast

from core.loader.earlier_reads import earlier_or_new, lasting_identity
from core.loader.files import MAX_READ_BYTES, Source, UnfitError, path_under_root
from core.loader.sections import Section, open_layout
from core.model.facts import path_text

FATBIN_MAGIC = 0xBA55ED50
PTX, CUBIN = 1, 2
FATBIN_SECTIONS = (".nv_fatbin", "__nv_relfatbin", ".nv_fatb")
"""Sections with fat binaries: ELF, ELF of relocatable device code, PE (whose names have eight characters)."""

MAX_FATBIN_ENTRIES = 200_000
MAX_GAP_BYTES = 1 << 16
"""Maximum distance between one fat binary and the next: they are padded with zeros."""

REGION_HEADER = struct.Struct("<IHHQ")
ENTRY_HEADER = struct.Struct("<H2xIQ12xI8xQ")
BOTH_HEADERS = struct.Struct("<I2xHQH2xIQ12xI8xQ")
"""A fat binary's header and, usually directly after it, that of its first entry."""


ONE_ARCHITECTURE, ARCHITECTURE_FAMILY = 0x100000, 0x200000
"""Flags of an entry: compiled for one architecture (sm_90a runs only on 9.0) or a family (sm_120f also runs on later 12.x)."""
ARCHITECTURE_SUFFIXES = {ONE_ARCHITECTURE: "a", ARCHITECTURE_FAMILY: "f"}
KIND_WORDS = {PTX: "compute", CUBIN: "sm"}


class GpuCode(NamedTuple):
    """The architectures of GPU code in a library, each as 10 x major + minor, sorted."""

    sass: tuple[int, ...]
    """Machine code: for 80 it runs on 8.0 and every later 8.x, never on another major version."""
    ptx: tuple[int, ...]
    """PTX, which the driver compiles: for 80, it works on 8.0 and everything newer."""
    bound: tuple[str, ...] = ()
    """Of both, what exists only with a suffix, in NVIDIA's notation: sm_100a runs only on 10.0, compute_120f only on
    12.x.

    Machine code of a family (sm_100f) runs where plain machine code does, so it is not included.
    """


class UndecidedError(Exception):
    """The end was not reached: a damaged page, too many fat binaries, or a slow disk."""


def machine_code(path: str | os.PathLike[str], *, root: str = "/", seconds: float = 2.0) -> GpuCode | None:
    """Return the architectures of machine code (SASS) and of PTX in a library.

    Empty tuples: there is none. None: it cannot be read to the end, or not within ``seconds``. Takes about 20 ms for
    500 MB in the page cache.
    """
    path, key = os.fspath(path), f"{__name__} {path_text(path)}"
    return cast(
        "GpuCode | None",
        earlier_or_new(key, lasting_identity(path, root), GpuCode, lambda: _machine_code(path, root, seconds)),
    )


def _machine_code(path: str, root: str, seconds: float) -> GpuCode | None:
    found: set[tuple[int, int, int]] = set()
    """Kind, architecture and flags."""
    try:
        with open_layout(path_under_root(root, path)) as file:
            deadline = time.monotonic() + seconds
            for section in file.sections_named(*FATBIN_SECTIONS):
                _collect(file.source, section, deadline, found)
    except (UnfitError, UndecidedError):
        return None
    found = {
        (kind, number, ONE_ARCHITECTURE if flags & ONE_ARCHITECTURE else flags & ARCHITECTURE_FAMILY)
        for kind, number, flags in found
        if kind in (PTX, CUBIN) and 10 <= number < 1000
    }
    suffixed = sorted(
        (kind, number, suffix)
        for kind, number, suffix in found
        if suffix and (kind, suffix) != (CUBIN, ARCHITECTURE_FAMILY)
    )
    return GpuCode(
        sass=tuple(sorted({number for kind, number, _ in found if kind == CUBIN})),
        ptx=tuple(sorted({number for kind, number, _ in found if kind == PTX})),
        bound=tuple(
            f"{KIND_WORDS[kind]}_{number}{ARCHITECTURE_SUFFIXES[suffix]}"
            for kind, number, suffix in suffixed
            if (kind, number, 0) not in found
            and not (suffix == ONE_ARCHITECTURE and (kind, number, ARCHITECTURE_FAMILY) in found)
        ),
    )


def _collect(source: Source, section: Section, deadline: float, found: set[tuple[int, int, int]]) -> None:
    """Add kind, architecture and flags of every entry of a section's fat binaries. There are tens of thousands of
    entries, but few distinct ones.
    """
    end = section.offset + section.size
    at = section.offset
    seen = 0
    hop, unpack, unpack_entry, add = source.hop, BOTH_HEADERS.unpack, ENTRY_HEADER.unpack, found.add
    shortest = ENTRY_HEADER.size
    while at < end:
        both = hop(BOTH_HEADERS.size, at)
        if len(both) < BOTH_HEADERS.size:
            both += bytes(BOTH_HEADERS.size - len(both))
        magic, header, size, kind, inner, length, architecture, flags = unpack(both)
        if magic != FATBIN_MAGIC or header < REGION_HEADER.size:
            at = _next(source, at, end)
            continue
        place, stop = at + header, min(at + header + size, end)
        while place + shortest <= stop:
            seen += 1
            if seen > MAX_FATBIN_ENTRIES or (seen % 256 == 0 and time.monotonic() > deadline):
                raise UndecidedError
            if place != at + REGION_HEADER.size:
                raw = hop(shortest, place)
                if len(raw) < shortest:
                    return
                kind, inner, length, architecture, flags = unpack_entry(raw)
            add((kind, architecture, flags))
            if inner < shortest:
                break
            place += inner + length
        at = max(stop, at + REGION_HEADER.size)


def _next(source: Source, at: int, end: int) -> int:
    """Return the offset of the next fat binary; the section's end if only padding follows."""
    piece = source.read(at + 1, min(MAX_GAP_BYTES, MAX_READ_BYTES, end - at - 1))
    place = piece.find(FATBIN_MAGIC.to_bytes(4, "little"))
    if place >= 0:
        return at + 1 + place
    if end - at > MAX_GAP_BYTES:
        raise UndecidedError
    return end
