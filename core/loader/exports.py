"""Addresses of exported names, found as a loader finds them: by GNU hash in ELF, by binary search in PE."""

from __future__ import annotations

import struct

from core.loader.sections import Layout, Section
from core.model.facts import path_text

DYNSYM, GNU_HASH = 11, 0x6FFFFFF6
"""SHT_DYNSYM and SHT_GNU_HASH."""

MAX_CHAIN = 4096
MOST_NAMES, LONGEST_NAME, MOST_NAME_BYTES = 1 << 18, 1 << 14, 1 << 26
PIECE = 1 << 20


def export_address(file: Layout, name: str) -> int | None:
    """Return the address (ELF) or RVA (PE) of an exported name; None if the file does not export it."""
    try:
        return _elf(file, name.encode()) if file.format == "ELF" else _pe(file, name.encode())
    except struct.error:  # a truncated table
        return None


def _elf(file: Layout, name: bytes) -> int | None:
    table = next((s for s in file.sections if s.kind == GNU_HASH), None)
    symbols = next((s for s in file.sections if s.kind == DYNSYM), None)
    if table is None or symbols is None or symbols.link >= len(file.sections) or file.bits != 64:
        return None
    names = file.sections[symbols.link]
    read = file.source.read
    buckets, first, words, _shift = struct.unpack("<4I", read(table.offset, 16))
    if not buckets:
        return None
    chains = table.offset + 16 + 8 * words + 4 * buckets
    wanted = _gnu_hash(name)
    index = struct.unpack("<I", read(table.offset + 16 + 8 * words + 4 * (wanted % buckets), 4))[0]
    for symbol in range(index, index + MAX_CHAIN) if index >= first else ():
        hashed = struct.unpack("<I", read(chains + 4 * (symbol - first), 4))[0]
        if hashed | 1 == wanted | 1:
            at, _info, _other, section, value = struct.unpack("<IBBHQ", read(symbols.offset + 24 * symbol, 16))
            if section and read(names.offset + at, len(name) + 1) == name + b"\0":
                return int(value)
        if hashed & 1:
            return None
    return None


def _gnu_hash(name: bytes) -> int:
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def _pe(file: Layout, name: bytes) -> int | None:
    table = _export_table(file)
    count, functions, names, ordinals = struct.unpack("<4I", file.bytes_at(table + 24, 16)) if table else (0, 0, 0, 0)
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        at = struct.unpack("<I", file.bytes_at(names + 4 * middle, 4))[0]
        found = file.bytes_at(at, len(name) + 1)
        if found == name + b"\0":
            ordinal = struct.unpack("<H", file.bytes_at(ordinals + 2 * middle, 2))[0]
            return int(struct.unpack("<I", file.bytes_at(functions + 4 * ordinal, 4))[0])
        if found < name + b"\0":
            low = middle + 1
        else:
            high = middle
    return None


def exported_names(file: Layout) -> frozenset[bytes]:
    """Return every name that a PE file exports; none beyond a table that is cut.

    Cheaper than ``export_address`` for somebody who asks for thousands.
    """
    table = _export_table(file)
    raw = file.bytes_at(table + 24, 16) if table else b""
    count, _functions, names, _ordinals = struct.unpack("<4I", raw) if len(raw) == 16 else (0, 0, 0, 0)
    raw = _bytes_from(file, names, 4 * min(count, MOST_NAMES))
    places = struct.unpack(f"<{len(raw) // 4}I", raw[: len(raw) // 4 * 4])
    first, last = min(places, default=0), max(places, default=0)
    texts = _bytes_from(file, first, min(last - first + LONGEST_NAME, MOST_NAME_BYTES))
    found, taken = set[bytes](), 0
    for start in {place - first for place in places}:
        end = texts.find(b"\0", start, start + LONGEST_NAME)
        taken += max(0, end - start)
        if end >= 0 and taken <= MOST_NAME_BYTES:
            found.add(texts[start:end])
    return frozenset(found)


def _bytes_from(file: Layout, address: int, size: int) -> bytes:
    """Return a long run of bytes, as far as the file has it."""
    pieces = [file.bytes_at(address + at, min(PIECE, size - at)) for at in range(0, size, PIECE)]
    return b"".join(pieces)


def _export_table(file: Layout) -> int:
    header = struct.unpack("<I", file.source.read(60, 4))[0]
    place = header + 24 + (112 if file.bits == 64 else 96)
    return int(struct.unpack("<I", file.source.read(place, 4))[0])


def dll_name(file: Layout) -> str:
    """Return the name that a DLL was built with, from its export table; empty if it exports nothing."""
    try:
        at = struct.unpack("<I", file.bytes_at(_export_table(file) + 12, 4))[0]
    except struct.error:
        return ""
    return path_text(file.bytes_at(at, 260).split(b"\0", 1)[0])


def export_value(file: Layout, name: str) -> int | None:
    """Return the four-byte integer in an exported data symbol; None if there is no such symbol."""
    at = export_address(file, name)
    raw = b"" if at is None else file.bytes_at(at, 4)
    return int.from_bytes(raw, "little") if len(raw) == 4 else None


def text_section(file: Layout) -> Section | None:
    """Return the section with the machine code."""
    return next(iter(file.sections_named(".text")), None)
