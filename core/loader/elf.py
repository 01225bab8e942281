"""ELF headers, read as ld.so reads them: program headers and the dynamic segment, not sections (elf(5))."""

from __future__ import annotations

import struct
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.loader.files import Source, UnfitError
from core.loader.image import Image
from core.model.facts import path_text

ELF_MACHINE_NAMES = {
    (62, 64): "x86_64",
    (62, 32): "x32",
    (3, 32): "x86",
    (183, 64): "aarch64",
    (40, 32): "arm",
    (21, 64): "ppc64",
    (243, 64): "riscv64",
    (22, 64): "s390x",
    (258, 64): "loongarch64",
    (8, 32): "mips",
    (8, 64): "mips64",
    (190, 64): "cuda",
}
"""e_machine and class -> the processor family's usual name."""

EXECUTABLE, SHARED = 2, 3
"""ET_EXEC, ET_DYN."""
LOAD, DYNAMIC = 1, 2
"""PT_LOAD, PT_DYNAMIC."""
END, NEEDED, STRINGS, SONAME, RPATH, RUNPATH, FLAGS_1 = 0, 1, 5, 14, 15, 29, 0x6FFFFFFB
"""DT_NULL, DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH, DT_FLAGS_1."""

NODEFLIB, PIE = 0x800, 0x08000000
"""DF_1_NODEFLIB and DF_1_PIE in DT_FLAGS_1. A PIE is told by this flag, not by PT_INTERP: libc.so.6 has that, too."""

MAX_SEGMENTS = 4096
MAX_TAGS = 4096
MAX_STRING_BYTES = 4096


class Form(msgspec.Struct, frozen=True):
    """How the headers of a class and byte order are packed."""

    bits: int
    little_endian: bool
    header: struct.Struct
    """From e_type on."""
    segment: struct.Struct
    tag: struct.Struct


class Segment(msgspec.Struct, frozen=True):
    """A program header."""

    kind: int
    offset: int
    address: int
    size: int
    """Bytes in the file."""


class Header(msgspec.Struct, frozen=True):
    """An ELF file's first header."""

    form: Form
    kind: int
    machine: int
    segments: int
    """Where the program headers begin."""
    segment_size: int
    segment_count: int
    tail: int
    """Where the section headers end; 0 when there are none. A whole file is at least so long."""


@lru_cache(maxsize=4)
def _form(bits: int, little: bool) -> Form:
    order, word = "<" if little else ">", "Q" if bits == 64 else "I"
    return Form(
        bits,
        little,
        struct.Struct(f"{order}HHI{word * 3}IHHHHHH"),
        struct.Struct(order + ("IIQQQQ" if bits == 64 else "IIIIII")),
        struct.Struct(f"{order}{word * 2}"),
    )


def _header(source: Source) -> Header:
    """Read the first header.

    Raises:
        ValueError: it makes no sense.
    """
    raw = source.read(0, 64)
    kind = raw[4:6]
    if kind[:1] not in (b"\1", b"\2"):
        raise ValueError(fact_text("Invalid EI_CLASS {kind}", kind=f"{kind[:1]!r}"))
    if kind[1:] not in (b"\1", b"\2"):
        raise ValueError(fact_text("Invalid EI_DATA {kind}", kind=f"{kind[1:]!r}"))
    form = _form(32 if kind[:1] == b"\1" else 64, kind[1:] == b"\1")
    what, machine, _, _, begin, sections, _, _, size, count, section_size, section_count, _ = form.header.unpack_from(
        raw, 16
    )
    tail = sections + section_count * section_size if sections else 0
    return Header(form, what, machine, begin, size, count, tail)


def parse_elf(source: Source, path: str) -> Image:
    """Return the image that an ELF file's headers describe.

    Raises:
        UnfitError: the headers themselves are cut off or make no sense.
        OSError: reading failed.
    """
    if source.size < 64:
        raise UnfitError("truncated", fact_text("is cut off within its first header ({size} bytes)", size=source.size))
    image = None
    try:
        elf = _header(source)
        image = Image(
            path=path,
            size=source.size,
            format="ELF",
            architecture=_machine(elf),
            bits=elf.form.bits,
            little_endian=elf.form.little_endian,
        )
        return _describe(elf, source, image)
    except (ValueError, struct.error) as error:
        problem = fact_text("has ELF headers that make no sense ({error})", error=_brief(error))
        if image is None:
            raise UnfitError("damaged", problem) from None
        return replace(image, state="damaged", problem=problem, mappable=False)


def _brief(error: Exception) -> str:
    return str(error).splitlines()[0][:80] if str(error) else type(error).__name__


def _machine(elf: Header) -> str:
    machine = ELF_MACHINE_NAMES.get((elf.machine, elf.form.bits), str(elf.machine))
    return "ppc64le" if machine == "ppc64" and elf.form.little_endian else machine


def _describe(elf: Header, source: Source, image: Image) -> Image:
    size = source.size
    if elf.kind not in (SHARED, EXECUTABLE):
        return replace(
            image, state="not a library", problem=fact_text("is an ELF file, but neither a library nor a program")
        )
    # from p_align on nothing is read
    whole = elf.form.segment.size + (16 if elf.form.bits == 64 else 8)
    if elf.segment_size != whole or not 0 < elf.segment_count <= MAX_SEGMENTS:
        return replace(image, state="damaged", problem=fact_text("has program headers that no loader accepts"))
    if elf.segments + elf.segment_count * whole > size:
        return replace(image, state="truncated", problem=fact_text("ends before its program headers do"))
    raw = source.read(elf.segments, elf.segment_count * whole)
    segments = [_segment(elf.form, raw, n * whole) for n in range(elf.segment_count)]
    loads = [s for s in segments if s.kind == LOAD]
    if not loads:
        return replace(image, state="damaged", problem=fact_text("has no segment to load"))
    end = max(s.offset + s.size for s in loads)
    image = replace(image, library=elf.kind == SHARED, mappable=end <= size)
    if end > size:
        image = replace(
            image,
            state="truncated",
            problem=fact_text("is cut off: {size} of at least {end} bytes are there", size=size, end=end),
        )
    elif elf.tail > size:
        image = replace(
            image,
            state="truncated",
            problem=fact_text("lacks its end: {size} of {elf} bytes are there", size=size, elf=elf.tail),
        )
    dynamic = next((s for s in segments if s.kind == DYNAMIC), None)
    if dynamic is None:
        if image.library and image.state == "good":
            return replace(
                image, state="damaged", problem=fact_text("has no dynamic section, so no program can load it")
            )
        return image
    return _with_dependencies(image, _tags(elf.form, source, dynamic), StringTable(source, loads))


def _segment(form: Form, raw: bytes, at: int) -> Segment:
    if form.bits == 64:
        kind, _flags, offset, address, _physical, size = form.segment.unpack_from(raw, at)
    else:
        kind, offset, address, _physical, size, _memory = form.segment.unpack_from(raw, at)
    return Segment(kind, offset, address, size)


def _tags(form: Form, source: Source, dynamic: Segment) -> list[tuple[int, int]]:
    """Return the dynamic section's entries up to its end marker; those beyond the file's end are left out."""
    raw = source.read(dynamic.offset, min(dynamic.size, MAX_TAGS * form.tag.size))
    tags: list[tuple[int, int]] = []
    for at in range(0, len(raw) - form.tag.size + 1, form.tag.size):
        tag, value = form.tag.unpack_from(raw, at)
        if tag == END:
            break
        tags.append((tag, value))
    return tags


class StringTable:
    """The dynamic string table, found by its address through the loaded segments, as ld.so finds it."""

    def __init__(self, source: Source, loads: list[Segment]) -> None:
        self._source = source
        self._loads = loads
        self.address: int | None = None

    def offset(self) -> int | None:
        """Return the table's place in the file; None when no segment holds it."""
        for load in self._loads:
            if self.address is not None and 0 <= self.address - load.address < load.size:
                return self.address - load.address + load.offset
        return None

    def read(self, index: int) -> str:
        """Return one string; empty when it lies outside the file."""
        base = self.offset()
        raw = b"" if base is None else self._source.read(base + index, MAX_STRING_BYTES)
        return path_text(raw.split(b"\0", 1)[0])


def _with_dependencies(image: Image, tags: list[tuple[int, int]], strings: StringTable) -> Image:
    """Add what the dynamic section wishes for."""
    strings.address = next((value for tag, value in tags if tag == STRINGS), None)

    def all_of(tag: int) -> tuple[str, ...]:
        return tuple(name for kind, value in tags if kind == tag and (name := strings.read(value)))

    if image.state == "good" and strings.offset() is None:
        image = replace(image, state="damaged", problem=fact_text("has a dynamic section without its names"))
    flags = next((value for tag, value in tags if tag == FLAGS_1), 0)
    return replace(
        image,
        library=image.library and not flags & PIE,
        soname=next(iter(all_of(SONAME)), ""),
        needed=all_of(NEEDED),
        rpath=tuple(folder for paths in all_of(RPATH) for folder in paths.split(":")),
        runpath=tuple(folder for paths in all_of(RUNPATH) for folder in paths.split(":")),
        no_default_folders=bool(flags & NODEFLIB),
    )
