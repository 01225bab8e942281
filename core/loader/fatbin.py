"""GPU machine code inside a library: which architectures its fat binaries hold, found by hopping over their headers.

A fat binary is a header (magic, version, header size, size of what follows) and entries, each with its kind (PTX or
machine code), its sizes, its architecture as 10 x major + minor, and flags. Code itself, compressed or not, is never read.
The layout was read from NVIDIA's own files (CUDA 11.8 to 13), the flags of suffixes from what ``fatbinary`` 13.2 writes for
sm_90, 100 and 120 with and without "a" and "f"; NVIDIA does not document it.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from typing import NamedTuple

from core.loader.files import CHUNK, Source, UnfitError, under
from core.loader.sections import Section, layout

MAGIC = 0xBA55ED50
PTX, CUBIN = 1, 2
SECTIONS = (".nv_fatbin", "__nv_relfatbin", ".nv_fatb")
"""Where nvcc puts fat binaries: ELF, ELF of relocatable device code, PE (whose names have eight letters)."""

MAX_ENTRIES = 200_000
GAP = 1 << 16
"""How far behind one fat binary the next is looked for: they are padded with zeros."""

REGION = struct.Struct("<IHHQ")
ENTRY = struct.Struct("<HHIQ12xI8xQ")
BOTH = struct.Struct("<IHHQHHIQ12xI8xQ")
"""A fat binary's header and, mostly at once behind it, that of its first entry."""


ONE, FAMILY = 0x100000, 0x200000
"""Flags of an entry: compiled for sm_90a, which runs on 9.0 alone; for sm_120f, which runs on later 12.x too."""
SUFFIX = {ONE: "a", FAMILY: "f"}
WORD = {PTX: "compute", CUBIN: "sm"}


class Code(NamedTuple):
    """GPU code inside a library, each number as 10 x major + minor, sorted."""

    sass: tuple[int, ...]
    """Machine code. For 80 it runs on 8.0 and every later 8.x, never on another major."""
    ptx: tuple[int, ...]
    """What the driver compiles: for 80, for 8.0 and everything newer."""
    bound: tuple[str, ...] = ()
    """Of both, what is there with a suffix only, in NVIDIA's words: sm_100a runs on 10.0 alone, compute_120f on 12.x alone.

    Machine code of a family (sm_100f) runs where plain machine code does, so it is not among them.
    """


class UndecidedError(Exception):
    """The walk did not reach the end: a damaged page in between, too many fat binaries, or a disk too slow."""


def machine_code(path: str | os.PathLike[str], *, root: str = "/", seconds: float = 2.0) -> Code | None:
    """Return the architectures of machine code (SASS) and of PTX in a library.

    Empty tuples: it holds none. None: it cannot be read to the end, or not within ``seconds``.
    Some 20 ms for 500 MB in the page cache.
    """
    found: set[tuple[int, int, int]] = set()
    try:
        with layout(under(root, os.fspath(path))) as file:
            deadline = time.monotonic() + seconds
            for section in file.named(*SECTIONS):
                found.update(_entries(file.source, section, deadline))
    except (UnfitError, UndecidedError):
        return None
    suffixed = sorted(
        (kind, number, suffix) for kind, number, suffix in found if suffix and (kind, suffix) != (CUBIN, FAMILY)
    )
    return Code(
        sass=tuple(sorted({number for kind, number, _ in found if kind == CUBIN})),
        ptx=tuple(sorted({number for kind, number, _ in found if kind == PTX})),
        bound=tuple(
            f"{WORD[kind]}_{number}{SUFFIX[suffix]}"
            for kind, number, suffix in suffixed
            if (kind, number, 0) not in found and not (suffix == ONE and (kind, number, FAMILY) in found)
        ),
    )


def _entries(source: Source, section: Section, deadline: float) -> Iterator[tuple[int, int, int]]:
    """Yield kind, architecture and suffix (ONE, FAMILY or 0) of every entry of a section's fat binaries."""
    end = section.offset + section.size
    at = section.offset
    seen = 0
    hop, unpack = source.hop, BOTH.unpack
    while at < end:
        both = hop(BOTH.size, at)
        if len(both) < BOTH.size:
            both += bytes(BOTH.size - len(both))
        magic, _version, header, size, kind, _version, inner, length, architecture, flags = unpack(both)
        if magic != MAGIC or header < REGION.size:
            at = _next(source, at, end)
            continue
        place, stop = at + header, min(at + header + size, end)
        while place + ENTRY.size <= stop:
            seen += 1
            if seen > MAX_ENTRIES or (seen % 256 == 0 and time.monotonic() > deadline):
                raise UndecidedError
            if place != at + REGION.size:
                raw = hop(ENTRY.size, place)
                if len(raw) < ENTRY.size:
                    return
                kind, _version, inner, length, architecture, flags = ENTRY.unpack(raw)
            if kind in (PTX, CUBIN) and 10 <= architecture < 1000:
                yield kind, architecture, ONE if flags & ONE else flags & FAMILY
            if inner < ENTRY.size:
                break
            place += inner + length
        at = max(stop, at + REGION.size)


def _next(source: Source, at: int, end: int) -> int:
    """Return where the next fat binary begins; the section's end when only padding follows."""
    piece = source.read(at + 1, min(GAP, CHUNK, end - at - 1))
    place = piece.find(MAGIC.to_bytes(4, "little"))
    if place >= 0:
        return at + 1 + place
    if end - at > GAP:
        raise UndecidedError
    return end
