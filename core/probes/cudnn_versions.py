"""True versions out of a cuDNN library's own data, without running it: exported constants, code, PE resource."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import pefile

from core.loader.files import Source, UnfitError, opened
from core.loader.pe import Lazy
from core.probes.cudnn_names import MAJORS, unpacked

EXPORTS = {
    "graph": "cudnn_graph_version",
    "ops": "cudnn_ops_infer_version",
    "adv": "cudnn_adv_infer_version",
    "ops_infer": "cudnn_ops_infer_version",
    "ops_train": "cudnn_ops_train_version",
    "cnn_infer": "cudnn_cnn_infer_version",
    "adv_infer": "cudnn_adv_infer_version",
}
"""Role -> exported constant 0xMMmmpp, read in the wheels 8.9.7.29, 9.1.0.70, 9.10.2.21 and 9.20.0.48 (ELF and PE)."""

SHIM_LIMIT = 1 << 20
"""A cuDNN 9 shim has 100 to 450 KiB; a larger file is none."""


def true_version(path: str, role: str, major: int) -> tuple[str | None, str]:
    """Return a library's version and where it stands; (None, "") when its data do not tell. Never raises.

    ``path`` is where the file lies for the running system.
    """
    try:
        with opened(path) as source:
            start = source.read(0, 4)
            if start == b"\x7fELF":
                return _first(_elf_steps(source, role, major))
            if start[:2] == b"MZ":
                return _first(_pe_steps(source, role, major))
    except (UnfitError, struct.error, pefile.PEFormatError, ValueError, OverflowError, IndexError, AttributeError):
        return None, ""  # cut or hostile: its state says so elsewhere
    return None, ""


Step = tuple[str, Callable[[], str | None]]


def _first(steps: list[Step]) -> tuple[str | None, str]:
    for words, step in steps:
        if version := step():
            return version, words
    return None, ""


def _elf_steps(source: Source, role: str, major: int) -> list[Step]:
    if not role:
        return [("the version that it asks its sub-libraries for", lambda: _shim(source))] if major == 9 else []
    name = EXPORTS.get(role)
    return [(f"exported {name}", lambda: _matching(_elf_constant(source, name), major))] if name else []


def _pe_steps(source: Source, role: str, major: int) -> list[Step]:
    pe = pefile.PE(data=Lazy(source), fast_load=True)
    name = EXPORTS.get(role)
    steps: list[Step] = []
    if name:
        steps.append((f"exported {name}", lambda: _matching(_pe_constant(pe, name), major)))
    return [*steps, ("the file's version resource, which is true from 8.9.4 on", lambda: _resource(pe, major))]


def _matching(code: int | None, major: int) -> str | None:
    version = unpacked(code) if code is not None else None
    return version if version and version.startswith(f"{major}.") else None


# --- ELF -------------------------------------------------------------------------------------------------

PT_LOAD, PT_DYNAMIC = 1, 2
DT_STRTAB, DT_SYMTAB, DT_GNU_HASH = 5, 6, 0x6FFFFEF5


class _Elf:
    """The loaded segments of a little-endian ELF64 file, for reading by address."""

    def __init__(self, source: Source) -> None:
        self.source = source
        head = source.read(0, 64)
        if head[4:6] != b"\x02\x01":
            raise ValueError("not a little-endian ELF64 file")
        at, step, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
        table = source.read(at, step * min(count, 256))
        rows = [struct.unpack_from("<IIQQQQ", table, n * step) for n in range(len(table) // step)] if step >= 48 else []
        self.loads = [(vaddr, size, offset) for kind, _, offset, vaddr, _, size in rows if kind == PT_LOAD]
        self.tags: dict[int, int] = {}
        for kind, _, offset, _, _, size in rows:
            if kind == PT_DYNAMIC:
                raw = source.read(offset, min(size, 1 << 16))
                self.tags = dict(struct.iter_unpack("<QQ", raw[: len(raw) // 16 * 16]))

    def offset(self, address: int) -> int:
        """Return an address' place in the file; -1 when no segment holds it."""
        hits = (address - v + offset for v, length, offset in self.loads if v <= address < v + length)
        return next(hits, -1)

    def address(self, offset: int) -> int:
        """Return the address at which a place in the file is loaded; -1 when it is not."""
        return next((offset - o + v for v, length, o in self.loads if o <= offset < o + length), -1)

    def read(self, address: int, size: int) -> bytes:
        return self.source.read(self.offset(address), size)


def _elf_constant(source: Source, name: str) -> int | None:
    """Return an exported 4-byte constant, found through DT_GNU_HASH as ld.so finds it: a handful of short reads."""
    elf = _Elf(source)
    table, symbols, strings = (elf.tags.get(tag) for tag in (DT_GNU_HASH, DT_SYMTAB, DT_STRTAB))
    if table is None or symbols is None or strings is None:
        return None
    buckets, first, bloom, _shift = struct.unpack("<IIII", elf.read(table, 16))
    wanted = _gnu_hash(name)
    chains = table + 16 + bloom * 8 + buckets * 4
    index = struct.unpack("<I", elf.read(table + 16 + bloom * 8 + wanted % buckets * 4, 4))[0] if buckets else 0
    for place in range(index, index + 4096) if index >= first and index else ():
        its = struct.unpack("<I", elf.read(chains + (place - first) * 4, 4))[0]
        if its | 1 == wanted | 1:
            spelt, _info, _other, section, value, _size = struct.unpack("<IBBHQQ", elf.read(symbols + place * 24, 24))
            if elf.read(strings + spelt, len(name) + 1) == name.encode() + b"\0" and section:
                return int(struct.unpack("<i", elf.read(value, 4))[0])
        if its & 1:
            break
    return None


def _gnu_hash(name: str) -> int:
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


_FORMAT = b"%s.%d.%d.%d\0"
_LOAD_FORMAT = re.compile(rb"\x48\x8d\x15(....)", re.DOTALL)
_OPERANDS = tuple(re.compile(p, re.DOTALL) for p in (rb"\x41\xb8(.)\0\0\0", rb"\x41\xb9(.)\0\0\0", rb"\x6a(.)"))
_REACH = 56
"""Bytes on either side of the instruction that loads the format in which a compiler puts the other operands."""


def _shim(source: Source) -> str | None:
    """Return the version that a cuDNN 9 shim for x86-64 Linux builds its sub-libraries' names from.

    It calls snprintf(text, size, "%s.%d.%d.%d", name, 9, minor, patch). Around each instruction that loads that format
    (lea format(%rip), %rdx) stand the numbers (mov $9, %r8d; mov $minor, %r9d; push $patch). What all places share is the version.
    """
    if source.size > SHIM_LIMIT:
        return None
    code = source.read(0, SHIM_LIMIT)
    at = code.find(_FORMAT)
    if code[18:20] != b"\x3e\0" or at < 0:
        return None
    elf = _Elf(source)
    agreed: list[frozenset[int]] = []
    for m in _LOAD_FORMAT.finditer(code):
        if elf.offset(elf.address(m.end()) + struct.unpack("<i", m[1])[0]) != at:
            continue
        around = code[max(0, m.start() - _REACH) : m.start()] + code[m.end() : m.end() + _REACH]
        here = [frozenset(x[1][0] for x in operand.finditer(around)) for operand in _OPERANDS]
        agreed = [old & new for old, new in zip(agreed, here, strict=True)] if agreed else here
    if not agreed or any(len(numbers) != 1 for numbers in agreed):
        return None
    major, minor, patch = (next(iter(numbers)) for numbers in agreed)
    return f"{major}.{minor}.{patch}" if major == 9 else None


# --- PE --------------------------------------------------------------------------------------------------


def _pe_constant(pe: pefile.PE, name: str) -> int | None:
    """Return an exported 4-byte constant; export names are sorted, so a binary search finds it."""
    table = pe.OPTIONAL_HEADER.DATA_DIRECTORY[0].VirtualAddress
    if not table:
        return None
    raw = bytes(pe.get_data(table, 40))
    count, functions, names, ordinals = struct.unpack_from("<IIII", raw, 24)
    low, high, wanted = 0, min(count, 1 << 20), name.encode()
    while low < high:
        middle = (low + high) // 2
        at = struct.unpack("<I", pe.get_data(names + 4 * middle, 4))[0]
        spelt = bytes(pe.get_data(at, len(wanted) + 1)).split(b"\0", 1)[0]
        if spelt == wanted:
            ordinal = struct.unpack("<H", pe.get_data(ordinals + 2 * middle, 2))[0]
            address = struct.unpack("<I", pe.get_data(functions + 4 * ordinal, 4))[0]
            return int(struct.unpack("<i", pe.get_data(address, 4))[0])
        low, high = (middle + 1, high) if spelt < wanted else (low, middle)
    return None


def _resource(pe: pefile.PE, major: int) -> str | None:
    """Return FileVersion where it is cuDNN's own: older files carry the driver's style, 6.14.11.xxxx, which lies."""
    for section in pe.sections:
        if section.Name.rstrip(b"\0") != b".rsrc":
            continue
        data = bytes(pe.get_data(section.VirtualAddress, min(section.SizeOfRawData, 1 << 18)))
        at = data.find(b"\xbd\x04\xef\xfe")
        if at < 0:
            return None
        high, low = struct.unpack_from("<II", data, at + 8)
        parts = (high >> 16, high & 0xFFFF, low >> 16)
        if parts[0] == major and major in MAJORS and parts >= (8, 9, 4):
            return ".".join(map(str, parts))
    return None
