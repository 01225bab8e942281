"""ELF headers, read as ld.so reads them: program headers and the dynamic segment, not sections."""

from __future__ import annotations

import struct
from typing import NamedTuple

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
}
"""e_machine and class -> the processor family's usual name."""

ET_EXEC, ET_DYN = 2, 3
PT_LOAD, PT_DYNAMIC = 1, 2

NODEFLIB, PIE = 0x800, 0x08000000
"""DF_1_NODEFLIB and DF_1_PIE in DT_FLAGS_1. A PIE is recognised by this flag, not by PT_INTERP: libc.so.6 has that, too."""

DT_NULL, DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH, DT_FLAGS_1 = 0, 1, 5, 14, 15, 29, 0x6FFFFFFB
DYNAMIC_ENTRY = {
    (bits, little): struct.Struct(("<" if little else ">") + ("qQ" if bits == 64 else "iI"))
    for bits in (32, 64)
    for little in (False, True)
}
"""Class and byte order -> tag and value."""

MAX_SEGMENTS = 4096
MAX_TAGS = 4096
MAX_STRING_BYTES = 4096


class ElfHeaders(NamedTuple):
    """An ELF file's class and byte order, and its first header."""

    bits: int
    little_endian: bool
    type: int
    machine: int
    segments: int
    """Offset of the program headers."""
    sections: int
    """Offset of the section headers."""
    segment_size: int
    segment_count: int
    section_size: int
    section_count: int


class Segment(NamedTuple):
    """A program header."""

    type: int
    offset: int
    address: int
    size: int
    """Bytes in the file."""


def _headers(source: Source) -> ElfHeaders:
    """Read the first header.

    Raises:
        ValueError: it makes no sense.
        struct.error: it is cut off.
    """
    kind = source.read(4, 2)
    if kind[:1] not in (b"\1", b"\2"):
        raise ValueError(fact_text("Invalid EI_CLASS {kind}", kind=f"{kind[:1]!r}"))
    if kind[1:] not in (b"\1", b"\2"):
        raise ValueError(fact_text("Invalid EI_DATA {kind}", kind=f"{kind[1:]!r}"))
    bits, little = 32 if kind[:1] == b"\1" else 64, kind[1:] == b"\1"
    form = ("<" if little else ">") + ("HH4xQQQ6xHHHH" if bits == 64 else "HH4xIII6xHHHH")
    its, machine, _entry, segments, sections, size, count, section_size, section_count = struct.unpack(
        form, source.read(16, struct.calcsize(form))
    )
    return ElfHeaders(bits, little, its, machine, segments, sections, size, count, section_size, section_count)


def _segments(elf: ElfHeaders, source: Source) -> list[Segment]:
    """Read the program headers, which lie within the file."""
    form = struct.Struct(("<" if elf.little_endian else ">") + ("I4xQQ8xQ16x" if elf.bits == 64 else "IIIxxxxI12x"))
    raw = source.read(elf.segments, elf.segment_count * elf.segment_size)
    return [Segment(*row) for row in form.iter_unpack(raw)]


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
        elf = _headers(source)
        image = Image(
            path=path,
            size=source.size,
            format="ELF",
            architecture=_machine(elf),
            bits=elf.bits,
            little_endian=elf.little_endian,
        )
        return _describe(elf, source, image)
    except (struct.error, ValueError, OverflowError) as error:
        problem = fact_text("has ELF headers that make no sense ({error})", error=_brief(error))
        if image is None:
            raise UnfitError("damaged", problem) from None
        return replace(image, state="damaged", problem=problem, mappable=False)


def _brief(error: Exception) -> str:
    return str(error).splitlines()[0][:80] if str(error) else type(error).__name__


def _machine(elf: ElfHeaders) -> str:
    machine = ELF_MACHINE_NAMES.get((elf.machine, elf.bits)) or _rare_machine(elf.machine)
    return "ppc64le" if machine == "ppc64" and elf.little_endian else machine


def _rare_machine(number: int) -> str:
    from elftools.elf.enums import ENUM_E_MACHINE  # takes longer than all the rest, and is hardly ever needed

    names = {its: str(name) for name, its in ENUM_E_MACHINE.items() if its != ENUM_E_MACHINE["_default_"]}
    return names.get(number, str(number)).removeprefix("EM_").lower()


def _describe(elf: ElfHeaders, source: Source, image: Image) -> Image:
    size = source.size
    if elf.type not in (ET_DYN, ET_EXEC):
        return replace(
            image, state="not a library", problem=fact_text("is an ELF file, but neither a library nor a program")
        )
    step, count = 56 if elf.bits == 64 else 32, elf.segment_count
    if elf.segment_size != step or not 0 < count <= MAX_SEGMENTS:
        return replace(image, state="damaged", problem=fact_text("has program headers that no loader accepts"))
    if elf.segments + count * step > size:
        return replace(image, state="truncated", problem=fact_text("ends before its program headers do"))
    segments = _segments(elf, source)
    loads = [s for s in segments if s.type == PT_LOAD]
    if not loads:
        return replace(image, state="damaged", problem=fact_text("has no segment to load"))
    end = max(s.offset + s.size for s in loads)
    image = replace(image, library=elf.type == ET_DYN, mappable=end <= size)
    if end > size:
        image = replace(
            image,
            state="truncated",
            problem=fact_text("is cut off: {size} of at least {end} bytes are there", size=size, end=end),
        )
    elif _tail(elf) > size:
        image = replace(
            image,
            state="truncated",
            problem=fact_text("lacks its end: {size} of {elf} bytes are there", size=size, elf=_tail(elf)),
        )
    dynamic = next((s for s in segments if s.type == PT_DYNAMIC), None)
    if dynamic is None:
        if image.library and image.state == "good":
            return replace(
                image, state="damaged", problem=fact_text("has no dynamic section, so no program can load it")
            )
        return image
    return _with_dependencies(image, _tags(elf, source, dynamic), StringTable(source, loads))


def _tail(elf: ElfHeaders) -> int:
    """Return where the section headers end; 0 when there are none. A whole file is at least so long."""
    return elf.sections + elf.section_count * elf.section_size if elf.sections else 0


def _tags(elf: ElfHeaders, source: Source, dynamic: Segment) -> list[tuple[int, int]]:
    """Return the dynamic section's entries up to its end marker; those beyond the file's end are left out.

    Most of what a header holds are these pairs, so they are taken all at once.
    """
    form = DYNAMIC_ENTRY[elf.bits, elf.little_endian]
    size = min(dynamic.size // form.size, MAX_TAGS) * form.size
    raw = source.read(dynamic.offset, size)
    tags: list[tuple[int, int]] = []
    for tag, value in form.iter_unpack(raw[: len(raw) // form.size * form.size]):
        if tag == DT_NULL:
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
        """Return one string; empty when it is outside the file."""
        base = self.offset()
        raw = b"" if base is None else self._source.read(base + index, MAX_STRING_BYTES)
        return path_text(raw.split(b"\0", 1)[0])


def _with_dependencies(image: Image, tags: list[tuple[int, int]], strings: StringTable) -> Image:
    """Add what the dynamic section wishes for."""
    strings.address = next((value for tag, value in tags if tag == DT_STRTAB), None)

    def all_of(tag: int) -> tuple[str, ...]:
        return tuple(name for kind, value in tags if kind == tag and (name := strings.read(value)))

    if image.state == "good" and strings.offset() is None:
        image = replace(image, state="damaged", problem=fact_text("has a dynamic section without its names"))
    flags = next((value for tag, value in tags if tag == DT_FLAGS_1), 0)
    return replace(
        image,
        library=image.library and not flags & PIE,
        soname=next(iter(all_of(DT_SONAME)), ""),
        needed=all_of(DT_NEEDED),
        rpath=tuple(folder for paths in all_of(DT_RPATH) for folder in paths.split(":")),
        runpath=tuple(folder for paths in all_of(DT_RUNPATH) for folder in paths.split(":")),
        no_default_folders=bool(flags & NODEFLIB),
    )
