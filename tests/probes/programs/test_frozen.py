"""Programs that PyInstaller packed, and what must lie beside them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from core.probes.programs.frozen import lost_library
from core.probes.programs.windows import dlls_of
from core.probes.sysroot import Sysroot
from tests.loader import build
from tests.probes.request import write


def packed(*names: str, library: str = "python311.dll", behind: bytes = b"") -> bytes:
    """Return a program with an archive as PyInstaller writes it."""
    table = b""
    for name in names:
        text = name.encode() + b"\0"
        text += bytes(-(18 + len(text)) % 16)
        table += struct.pack("!IIIIBc", 18 + len(text), 0, 1, 1, 0, b"o" if " " in name else b"b") + text
    data = b"data of the archive"
    cookie = struct.pack(
        "!8sIIII64s",
        b"MEI\014\013\012\013\016",
        len(data) + len(table) + 88,
        len(data),
        len(table),
        311,
        library.encode(),
    )
    return b"MZ the bootloader" + data + table + cookie + behind


@pytest.mark.parametrize(
    ("names", "beside", "lost", "alone"),
    [
        (("main", "pyi-contents-directory _internal"), (), "C:\\app\\_internal\\python311.dll", True),
        (
            ("main", "pyi-contents-directory _internal"),
            ("_internal/ucrtbase.dll",),
            "C:\\app\\_internal\\python311.dll",
            False,
        ),
        (("main",), ("base_library.zip",), "C:\\app\\python311.dll", False),
        (
            ("main", "pyi-contents-directory _internal"),
            ("_internal/python311.dll", "_internal/base_library.zip"),
            "",
            False,
        ),
        (
            ("main", "pyi-contents-directory _internal"),
            ("_internal/python311.dll",),
            "C:\\app\\_internal\\base_library.zip",
            False,
        ),
        (
            ("main", "pyi-contents-directory _internal"),
            ("_internal/python311.dll", "_internal/encodings/aliases.pyc"),
            "",
            False,
        ),
        (("main", "base_library.zip"), ("python311.dll",), "", False),
        (("main", "pyi-contents-directory ."), ("python311.dll", "base_library.zip"), "", False),
        (("main",), (), "C:\\app\\python311.dll", True),
        (("main",), ("python311.dll", "base_library.zip"), "", False),
        (("main", "python311.dll"), (), "", False),
    ],
)
@pytest.mark.parametrize("behind", [b"", b"a signature" * 300])
def test_what_a_packed_program_needs_beside_it(
    tmp_path: Path, names: tuple[str, ...], beside: tuple[str, ...], lost: str, alone: bool, behind: bytes
) -> None:
    write(tmp_path, "C:/app/tool.exe", packed(*names, behind=behind))
    for file in beside:
        write(tmp_path, f"C:/app/{file}")
    assert lost_library("C:\\app\\tool.exe", Sysroot("windows", str(tmp_path))) == (lost, alone)


@pytest.mark.parametrize("content", [b"", b"MZ", b"MEI\014\013\012\013\016", packed()[:-40]])
def test_any_other_file_needs_nothing(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, "C:/app/tool.exe", content)
    assert lost_library("C:\\app\\tool.exe", Sysroot("windows", str(tmp_path))) == ("", False)


@pytest.mark.parametrize(("folder", "found"), [("cudart-llama-bin-win-cuda-12.4-x64", True), ("a/b/c", False)])
def test_an_archive_that_was_unpacked_beside_a_program(tmp_path: Path, folder: str, found: bool) -> None:
    write(tmp_path, "C:/tools/llama/llama.exe", build.pe(("cudart64_12.dll",)))
    write(tmp_path, f"C:/tools/llama/{folder}/cudart64_12.dll", build.pe(()))
    _named, _gaps, near = dlls_of("C:\\tools\\llama\\llama.exe", {}, Sysroot("windows", str(tmp_path)), lambda _p: ())
    assert near == ((f"C:\\tools\\llama\\{folder}\\cudart64_12.dll",) if found else ())
