"""Real ELF and PE files for the tests: built by gcc and mingw where they are there, and PE files written by hand."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

MINGW = {"x86_64": "x86_64-w64-mingw32-gcc", "x86": "i686-w64-mingw32-gcc"}


def gcc(out: Path, *arguments: str, source: str = "int answer(void) { return 42; }") -> Path:
    """Compile one library (or a program with its own arguments) and return its path."""
    out.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-x", "c", "-", "-x", "none", "-o", str(out), "-w", *arguments]
    subprocess.run(command, input=source.encode(), check=True, capture_output=True)
    return out


def library(out: Path, *arguments: str, soname: str = "", source: str = "int answer(void) { return 42; }") -> Path:
    """Compile a small shared library."""
    return gcc(out, "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{soname or out.name}", *arguments, source=source)


def mingw(out: Path, *arguments: str, source: str, machine: str = "x86_64") -> Path:
    """Compile a DLL for Windows."""
    out.parent.mkdir(parents=True, exist_ok=True)
    command = [MINGW[machine], "-x", "c", "-", "-x", "none", "-o", str(out), "-shared", "-nostdlib", *arguments]
    subprocess.run(command, input=source.encode(), check=True, capture_output=True)
    return out


def has_mingw() -> bool:
    """Whether both cross compilers are there."""
    return all(shutil.which(command) for command in MINGW.values())


def tries(program: Path, wanted: str, env: dict[str, str], cwd: Path, *arguments: str) -> tuple[list[str], bool]:
    """Run a program under LD_DEBUG=libs; return the files that ld.so tried for ``wanted``, and whether it took the last.

    Files in folders that are not there are left out: ld.so tries those only once.
    """
    clean = {"PATH": os.environ["PATH"], "LD_DEBUG": "libs", **env}
    run = subprocess.run(
        [str(program), *arguments],
        env=clean,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        user=os.geteuid() if os.geteuid() != os.getuid() else None,  # else ld.so takes it for set-user-ID
    )
    lines = [line.split("\t", 1)[-1].strip() for line in run.stderr.splitlines() if "\t" in line]
    start = next((n for n, line in enumerate(lines) if line.startswith(f"find library={wanted} ")), None)
    if start is None:
        return [], run.returncode == 0
    tried: list[str] = []
    for line in lines[start + 1 :]:
        if line.startswith(("find library=", "calling init")):
            break
        found = re.match(r"trying file=(.*)", line)
        if found:
            tried.append(found[1])
    there = [path for path in tried if (cwd / path).parent.is_dir()]
    return there, run.returncode == 0


def pe(
    imports: tuple[str, ...] = (),
    delayed: tuple[str, ...] = (),
    *,
    machine: int = 0x8664,
    data: bytes = b"",
    extra: tuple[tuple[bytes, bytes], ...] = (),
    dll: bool = True,
    functions: Mapping[str, tuple[str, ...]] | None = None,
    exports: tuple[str, ...] = (),
    linker: int = 0,
    version: tuple[int, int, int, int] | None = None,
) -> bytes:
    """Return a small DLL, written by hand: one .rdata section with its import and export tables, and any further sections.

    ``functions``: DLL of ``imports`` -> names that it is asked for. ``linker``: minor version of Microsoft's. ``version``: that of
    its resource.
    """
    if version:
        high, low = version[0] << 16 | version[1], version[2] << 16 | version[3]
        extra = (*extra, (b".rsrc", struct.pack("<IIII", 0xFEEF04BD, 0x10000, high, low)))
    wide = machine != 0x14C
    base = 0x1000
    tables, strings = bytearray(), bytearray()
    room = 20 * (len(imports) + 1) + 32 * (len(delayed) + 1)
    for names, form, size in ((imports, "<12xI4x", 20), (delayed, "<4xI24x", 32)):
        for name in names:
            row = bytearray(struct.pack(form, base + room + len(strings)))
            row[0] = 1  # delay import: RVAs; import: no bound names
            tables += row
            strings += name.encode() + b"\0"
        tables += bytes(size)
    rest = bytearray(-(len(tables) + len(strings)) % 8)
    start = base + len(tables) + len(strings)
    for at, name in enumerate(imports):
        names = (functions or {}).get(name, ())
        if names:
            table, hints = start + len(rest), 8 * (len(names) + 1)
            entries, words = b"", b""
            for each in names:
                entries += struct.pack("<Q", table + hints + len(words))
                words += b"\0\0" + each.encode() + b"\0"
            rest += entries + bytes(8) + words
            rest += bytes(-len(rest) % 8)
            struct.pack_into("<I", tables, 20 * at, table)
    directories = [(0, 0)] * 16
    if exports:
        ordered, at = sorted(exports), start + len(rest)
        count, words = len(ordered), b""
        addresses = b"".join(struct.pack("<I", base) for _each in ordered)
        for each in ordered:
            addresses += struct.pack("<I", at + 40 + 10 * count + len(words))
            words += each.encode() + b"\0"
        addresses += b"".join(struct.pack("<H", n) for n in range(count))
        head = struct.pack(
            "<IIHHIIIIIII", 0, 0, 0, 0, 0, 1, count, count, at + 40, at + 40 + 4 * count, at + 40 + 8 * count
        )
        rest += head + addresses + words
        directories[0] = (at, len(head))
    sections = ((b".rdata", bytes(tables + strings + rest) + data), *extra)
    directories[1] = (base, 20 * (len(imports) + 1)) if imports else (0, 0)
    directories[13] = (base + 20 * (len(imports) + 1), 32 * (len(delayed) + 1)) if delayed else (0, 0)
    optional = struct.pack("<HBBIIIII", 0x20B if wide else 0x10B, 14, linker, 0, 0, 0, 0, base)
    optional += struct.pack("<Q", 0x180000000) if wide else struct.pack("<II", 0, 0x10000000)
    optional += struct.pack("<IIHHHHHHIIIIHH", base, 0x200, 6, 0, 0, 0, 6, 0, 0, 0x100000, 0x400, 0, 2, 0)
    optional += struct.pack("<QQQQ" if wide else "<IIII", 0x100000, 0x1000, 0x100000, 0x1000) + struct.pack(
        "<II", 0, 16
    )
    optional += b"".join(struct.pack("<II", *entry) for entry in directories)
    flags = 0x2022 if dll else 0x22
    header = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    header += b"PE\0\0" + struct.pack("<HHIIIHH", machine, len(sections), 0, 0, 0, len(optional), flags) + optional
    body, rows, offset, address = b"", b"", 0x400, base
    for name, content in sections:
        raw = content.ljust((len(content) + 0x1FF) // 0x200 * 0x200, b"\0")
        rows += struct.pack("<8sIIIIIIHHI", name, len(content), address, len(raw), offset, 0, 0, 0, 0, 0x40000040)
        body += raw
        offset += len(raw)
        address += (len(raw) + 0xFFF) // 0x1000 * 0x1000
    return (header + rows).ljust(0x400, b"\0") + body
