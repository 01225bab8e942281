"""ELF headers by pyelftools, read the way ld.so does: program headers and the dynamic segment, not sections."""

from __future__ import annotations

import io
import struct
from functools import lru_cache
from typing import Any

import msgspec
from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.construct import ConstructError
from elftools.elf.enums import ENUM_D_TAG_COMMON
from elftools.elf.structs import ELFStructs
from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.loader.files import Source, UnfitError
from core.loader.image import Image
from core.model.facts import path_text

ELF_MACHINE_NAMES = {
    ("EM_X86_64", 64): "x86_64",
    ("EM_X86_64", 32): "x32",
    ("EM_386", 32): "x86",
    ("EM_AARCH64", 64): "aarch64",
    ("EM_ARM", 32): "arm",
    ("EM_PPC64", 64): "ppc64",
    ("EM_RISCV", 64): "riscv64",
    ("EM_S390", 64): "s390x",
}
"""e_machine and class -> the processor family's usual name."""

NODEFLIB, PIE = 0x800, 0x08000000
"""DF_1_NODEFLIB and DF_1_PIE in DT_FLAGS_1.

This flag identifies a PIE; PT_INTERP does not, because libc.so.6 has that, too.
"""

DT_NULL, DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH, DT_FLAGS_1 = (
    ENUM_D_TAG_COMMON[f"DT_{tag}"] for tag in ("NULL", "NEEDED", "STRTAB", "SONAME", "RPATH", "RUNPATH", "FLAGS_1")
)
DYNAMIC_ENTRY = {
    (bits, little): struct.Struct(("<" if little else ">") + ("qQ" if bits == 64 else "iI"))
    for bits in (32, 64)
    for little in (False, True)
}
"""Class and byte order -> tag and value."""

PF_X, STACK_RUNS = 1, ("x86_64", "x86")
"""The flag of an executable segment; processors on which a file without PT_GNU_STACK asks for an executable stack, as glibc's
DEFAULT_STACK_PERMS has it.
"""

MAX_SEGMENTS = 4096
MAX_TAGS = 4096
MAX_STRING_BYTES = 4096


class RawSource(io.RawIOBase):
    """A Source as the seekable stream that pyelftools requires (through a BufferedReader)."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to an offset; reads beyond the end of the file return nothing."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        """Fill ``buffer`` from the current offset, up to the end of the file."""
        data = self._source.read(self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class ElfHeaders(msgspec.Struct, frozen=True):
    """An ELF file's first header, and the structures of the others. pyelftools' ELFFile would build these for each
    file.
    """

    stream: Any
    header: Any
    structs: Any
    elfclass: int
    little_endian: bool


@lru_cache(maxsize=16)
def _structs(little_endian: bool, bits: int, machine: str = "", system: str = "") -> Any:
    """Return pyelftools' structures of the headers; all but the first depend on the processor and the system."""
    structs = ELFStructs(little_endian=little_endian, elfclass=bits)
    structs.create_basic_structs()
    if machine:
        structs.create_advanced_structs(None, machine, system)
    return structs


def _headers(source: Source) -> ElfHeaders:
    """Read the first header.

    Raises:
        ELFError: it is invalid.
    """
    kind = source.read(4, 2)
    if kind[:1] not in (b"\1", b"\2"):
        raise ELFError(fact_text("Invalid EI_CLASS {kind}", kind=f"{kind[:1]!r}"))
    if kind[1:] not in (b"\1", b"\2"):
        raise ELFError(fact_text("Invalid EI_DATA {kind}", kind=f"{kind[1:]!r}"))
    bits, little = 32 if kind[:1] == b"\1" else 64, kind[1:] == b"\1"
    stream = io.BufferedReader(RawSource(source))
    header = struct_parse(_structs(little, bits).Elf_Ehdr, stream, 0)
    machine, system = str(header["e_machine"]), str(header["e_ident"]["EI_OSABI"])
    return ElfHeaders(stream, header, _structs(little, bits, machine, system), bits, little)


def parse_elf(source: Source, path: str) -> Image:
    """Return the image that an ELF file's headers describe.

    Raises:
        UnfitError: the headers are truncated or invalid.
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
            bits=elf.elfclass,
            little_endian=elf.little_endian,
        )
        return _describe(elf, source, image)
    except (ELFError, ConstructError, ValueError, OverflowError) as error:
        problem = fact_text("has ELF headers that make no sense ({error})", error=_brief(error))
        if image is None:
            raise UnfitError("damaged", problem) from None
        return replace(image, state="damaged", problem=problem, mappable=False)


def _brief(error: Exception) -> str:
    return str(error).splitlines()[0][:80] if str(error) else type(error).__name__


def _machine(elf: ElfHeaders) -> str:
    named = str(elf.header["e_machine"])
    machine = ELF_MACHINE_NAMES.get((named, elf.elfclass), named.removeprefix("EM_").lower())
    return "ppc64le" if machine == "ppc64" and elf.little_endian else machine


def _describe(elf: ElfHeaders, source: Source, image: Image) -> Image:
    header, size = elf.header, source.size
    if header["e_type"] not in ("ET_DYN", "ET_EXEC"):
        return replace(
            image, state="not a library", problem=fact_text("is an ELF file, but neither a library nor a program")
        )
    step, count = elf.structs.Elf_Phdr.sizeof(), header["e_phnum"]
    if header["e_phentsize"] != step or not 0 < count <= MAX_SEGMENTS:
        return replace(image, state="damaged", problem=fact_text("has program headers that no loader accepts"))
    if header["e_phoff"] + count * step > size:
        return replace(image, state="truncated", problem=fact_text("ends before its program headers do"))
    segments = [struct_parse(elf.structs.Elf_Phdr, elf.stream, header["e_phoff"] + n * step) for n in range(count)]
    loads = [s for s in segments if s["p_type"] == "PT_LOAD"]
    if not loads:
        return replace(image, state="damaged", problem=fact_text("has no segment to load"))
    end = max(s["p_offset"] + s["p_filesz"] for s in loads)
    stack = next(
        (s["p_flags"] & PF_X for s in segments if s["p_type"] == "PT_GNU_STACK"), image.architecture in STACK_RUNS
    )
    image = replace(image, library=header["e_type"] == "ET_DYN", mappable=end <= size, executable_stack=bool(stack))
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
    dynamic = next((s for s in segments if s["p_type"] == "PT_DYNAMIC"), None)
    if dynamic is None:
        if image.library and image.state == "good":
            return replace(
                image, state="damaged", problem=fact_text("has no dynamic section, so no program can load it")
            )
        return image
    return _with_dependencies(image, _tags(elf, source, dynamic), StringTable(source, loads))


def _tail(elf: ElfHeaders) -> int:
    """Return the end of the section headers; 0 if there are none. A complete file is at least that long."""
    header = elf.header
    return int(header["e_shoff"] + header["e_shnum"] * header["e_shentsize"]) if header["e_shoff"] else 0


def _tags(elf: ElfHeaders, source: Source, dynamic: Any) -> list[tuple[int, int]]:
    """Return the dynamic section's entries up to its end marker, without those beyond the end of the file.

    These pairs are most of what a header holds, so they are unpacked all at once.
    """
    form = DYNAMIC_ENTRY[elf.elfclass, elf.little_endian]
    size = min(dynamic["p_filesz"] // form.size, MAX_TAGS) * form.size
    raw = source.read(dynamic["p_offset"], size)
    tags: list[tuple[int, int]] = []
    for tag, value in form.iter_unpack(raw[: len(raw) // form.size * form.size]):
        if tag == DT_NULL:
            break
        tags.append((tag, value))
    return tags


class StringTable:
    """The dynamic string table, located by its address in the loaded segments, as ld.so locates it."""

    def __init__(self, source: Source, loads: list[Any]) -> None:
        self._source = source
        self._loads = loads
        self.address: int | None = None

    def offset(self) -> int | None:
        """Return the table's offset in the file; None if no segment contains it."""
        for load in self._loads:
            if self.address is not None and 0 <= self.address - load["p_vaddr"] < load["p_filesz"]:
                return int(self.address - load["p_vaddr"] + load["p_offset"])
        return None

    def read(self, index: int) -> str:
        """Return one string; empty if it is outside the file."""
        base = self.offset()
        raw = b"" if base is None else self._source.read(base + index, MAX_STRING_BYTES)
        return path_text(raw.split(b"\0", 1)[0])


def _with_dependencies(image: Image, tags: list[tuple[int, int]], strings: StringTable) -> Image:
    """Add what the dynamic section requires."""
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
