"""Zeros in a library of unchanged size, against the loader of this system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.loader import zeros
from core.loader.sections import open_layout
from tests.loader import build

if sys.platform != "linux":
    pytest.skip("needs glibc's ld.so", allow_module_level=True)

FUNCTIONS = "".join(f"int function_number_{n}(int x) {{ return x + {n}; }}\n" for n in range(600))


def loads(path: Path) -> bool:
    """Whether the real loader opens it and finds its functions."""
    code = f"import ctypes; it = ctypes.CDLL({str(path)!r}); [it[f'function_number_{{n}}'] for n in range(600)]"
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("section", "begin", "size", "told"),
    [
        (".dynsym", 0, 0, ""),
        (".dynsym", 4096, 4096, ".dynsym"),
        (".dynstr", 64, 4096, ".dynstr"),
        (".text", 1024, 4096, ".text"),
        (".text", 0, 64, ""),  # a gap that somebody's assembler may leave
    ],
)
def test_a_page_of_zeros_is_seen_where_none_can_be(
    tmp_path: Path, section: str, begin: int, size: int, told: str
) -> None:
    path = build.library(tmp_path / "libfunctions.so", source=FUNCTIONS)
    whole = path.read_bytes()
    with open_layout(path) as file:
        (place,) = file.sections_named(section)
    assert place.size > begin + size
    at = place.offset + begin
    path.write_bytes(whole[:at] + bytes(size) + whole[at + size :])
    assert zeros.zeroed_section(path) == told
    if section != ".text":
        assert loads(path) == (not told)


def test_of_a_large_section_blocks_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zeros, "MAX_WHOLE_BYTES", 1024)
    monkeypatch.setattr(zeros, "BLOCK_BYTES", 512)
    path = build.library(tmp_path / "libfunctions.so", source=FUNCTIONS)
    assert zeros.zeroed_section(path) == ""
    content = path.read_bytes()
    with open_layout(path) as file:
        (place,) = file.sections_named(".dynsym")
    path.write_bytes(content[: place.offset] + bytes(place.size) + content[place.offset + place.size :])
    assert zeros.zeroed_section(path) == ".dynsym"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"text", bytes(5000)])
def test_what_is_no_library_is_not_judged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "libodd.so").write_bytes(content)
    assert zeros.zeroed_section(tmp_path / "libodd.so") == ""
