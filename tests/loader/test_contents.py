"""What a library's data, exports and GPU code tell: names that it opens, its true version, its architectures."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from core.loader.contents import EDGE_BYTES, MAX_WHOLE_SECTION_BYTES, cuda_major, library_names
from core.loader.cudnn_version import cudnn_version
from core.loader.exports import dll_name, export_address, export_value
from core.loader.fatbin import MAX_GAP_BYTES, GpuCode, machine_code
from core.loader.sections import open_layout
from tests.loader import build

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs gcc")

SAID = (
    b"\0libcudnn_graph.so\0libcudnn_ops.so.9\0x/libcublasLt.so.12 (libnvrtc.so.%d)\0libcuda.so.1\0"
    b"zlibwapi.dll\0cudnn_cnn_infer64_8.dll\0libc.so.6\0mylibcuda.so\0notlibcudnn.so.99x\0KERNEL32.dll\0"
)


# --- names -----------------------------------------------------------------------------------------------


def test_names_in_a_dll(tmp_path: Path) -> None:
    path = tmp_path / "x.dll"
    path.write_bytes(build.pe(("kernel32.dll",), data=SAID))
    assert library_names(path) == ("cudnn_cnn_infer64_8.dll", "zlibwapi.dll")


@linux
def test_names_in_an_elf_library(tmp_path: Path) -> None:
    texts = ", ".join(f'"{part.decode()}"' for part in SAID.split(b"\0") if part)
    path = build.library(tmp_path / "x.so", source=f"const char *names[] = {{ {texts} }};")
    assert library_names(path) == (
        "libcublasLt.so.12",
        "libcuda.so.1",
        "libcudnn_graph.so",
        "libcudnn_ops.so.9",
        "libnvrtc.so.%d",
    )


def test_gpu_code_is_not_searched_for_names(tmp_path: Path) -> None:
    path = tmp_path / "x.dll"
    path.write_bytes(build.pe(extra=((b".nv_fatb", SAID), (b".text", SAID))))
    assert library_names(path) == ()


def test_a_name_across_the_border_of_two_reads(tmp_path: Path) -> None:
    for before in range((1 << 20) - 30, (1 << 20) + 2, 5):
        path = tmp_path / "x.dll"
        path.write_bytes(build.pe(extra=((b".data", bytes(before) + b"cudnn_ops64_9.dll\0" + bytes(50)),)))
        assert library_names(path) == ("cudnn_ops64_9.dll",), before


def test_of_a_huge_section_only_the_edges_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.dll"
    name = b"\0cudnn_%s64_9.dll\0"
    body = bytearray(MAX_WHOLE_SECTION_BYTES + 2 * EDGE_BYTES)
    for place, part in ((100, b"graph"), (len(body) // 2, b"cnn"), (len(body) - 100, b"ops")):
        body[place : place + len(name % part)] = name % part
    path.write_bytes(build.pe(extra=((b".data", bytes(body)),)))
    assert library_names(path) == ("cudnn_graph64_9.dll", "cudnn_ops64_9.dll")


def test_files_that_cannot_be_read_name_nothing(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("libcudnn.so.9")
    assert library_names(tmp_path / "text.so") == library_names(tmp_path / "none.so") == ()


@pytest.mark.parametrize(
    ("names", "major"),
    [
        (("libcublasLt.so.12", "libcuda.so.1"), 12),
        (("cublas64_12.dll", "cublasLt64_12.dll"), 12),
        (("libcublas.so.11", "libnvrtc.so.11.2"), 11),
        (("libnvrtc.so.13",), 13),
        (("libnvrtc.so.%d", "libcuda.so.1"), None),
        (("libcublas.so.11", "libcublas.so.12"), None),
        ((), None),
    ],
)
def test_the_cuda_major_that_the_names_tell(names: tuple[str, ...], major: int | None) -> None:
    assert cuda_major(names) == major


# --- exports and versions --------------------------------------------------------------------------------


@linux
@pytest.mark.parametrize("many", [0, 1, 500])
def test_exports_of_an_elf_library(tmp_path: Path, many: int) -> None:
    source = "const int cudnn_graph_version = 0x00090A02; " + "".join(
        f"int f{n}(void) {{ return {n}; }}" for n in range(many)
    )
    with open_layout(build.library(tmp_path / "x.so", source=source)) as file:
        assert export_value(file, "cudnn_graph_version") == 0x00090A02
        assert export_address(file, "cudnn_ops_version") is None
        for n in range(0, many, 37):
            assert export_address(file, f"f{n}") is not None


@pytest.mark.skipif(not build.has_mingw(), reason="needs mingw's compilers")
def test_exports_of_a_dll(tmp_path: Path) -> None:
    entry = "int __stdcall DllMainCRTStartup(void *a, int b, void *c) { return 1; } "
    data = "__declspec(dllexport) int cudnn_ops_infer_version = 0x00080907; "
    more = "".join(f"__declspec(dllexport) int f{n}(void) {{ return {n}; }}" for n in range(50))
    path = build.mingw(tmp_path / "cudnn_ops_infer64_8.dll", source=entry + data + more)
    with open_layout(path) as file:
        assert export_value(file, "cudnn_ops_infer_version") == 0x00080907
        assert export_address(file, "f49") is not None
        assert export_address(file, "f50") is None
        assert dll_name(file) == "cudnn_ops_infer64_8.dll"
    found = cudnn_version(path)
    assert found
    assert (found.version, found.source) == ("8.9.7", "exported cudnn_ops_infer_version")


def code(name: str, *bytes_: int) -> str:
    """Return a function that consists of these bytes of machine code (and is never called)."""
    return f'int {name}(void) {{ asm volatile(".byte {",".join(map(hex, bytes_))}"); return 0; }} '


COMPARE = (0x81, 0x38, 0x00, 0x14, 0x09, 0x00)
OTHER = (0x81, 0x39, 0x00, 0x15, 0x09, 0x00)
COMPILED = {
    "data": ("const int cudnn_ops_infer_version = 0x00090100;", "9.1.0"),
    "check": (code("cudnnCnnVersionCheck", *COMPARE), "9.20.0"),
    "check that disagrees with itself": (code("cudnnCnnVersionCheck", *COMPARE, *OTHER), None),
    "start function": (code("start", 0x81, 0xFF, 0x7A, 0x63, 1, 0) + code("dummyHeuristicSymbol", 0x90), "9.10.2"),
    "shim": (code("cudnnGetVersion", 0x41, 0xB9, 21, 0, 0, 0, 0x41, 0xB8, 9, 0, 0, 0, 0x31, 0xC0, 0x6A, 1), "9.21.1"),
    "nothing": (code("cudnnGetVersion", 0x90), None),
    "nonsense": ("const int cudnn_graph_version = 0x7fffffff;", None),
}


@linux
@pytest.mark.parametrize("name", COMPILED)
def test_the_version_that_is_compiled_in(tmp_path: Path, name: str) -> None:
    source, version = COMPILED[name]
    found = cudnn_version(build.library(tmp_path / "libcudnn_x.so.9", "-O0", "-fno-toplevel-reorder", source=source))
    assert (found.version if found else None) == version


def test_a_file_without_a_version(tmp_path: Path) -> None:
    (tmp_path / "x.dll").write_bytes(build.pe(("a.dll",)))
    assert cudnn_version(tmp_path / "x.dll") is None
    assert cudnn_version(tmp_path / "none") is None


# --- GPU code --------------------------------------------------------------------------------------------


def fatbin(*entries: tuple[int, int] | tuple[int, int, int], body: int = 40) -> bytes:
    """Return one fat binary with (kind, architecture, flags) entries."""
    rows = b"".join(
        struct.pack("<HHIQ12xI8xQ16x", kind, 0x101, 64, body, architecture, 0x11 | sum(flags)) + bytes(body)
        for kind, architecture, *flags in entries
    )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(rows)) + rows


SASS, PTX = 2, 1


def gpu(path: Path, content: bytes) -> GpuCode | None:
    path.write_bytes(build.pe(extra=((b".nv_fatb", content),)))
    return machine_code(path)


def test_architectures_of_all_fat_binaries(tmp_path: Path) -> None:
    content = (
        fatbin((SASS, 86), (SASS, 80), (PTX, 90)) + bytes(8) + fatbin((SASS, 120)) + bytes(4000) + fatbin((PTX, 121))
    )
    assert gpu(tmp_path / "x.dll", content) == ((80, 86, 120), (90, 121), ())


A, F = 0x100000, 0x200000


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ([(SASS, 90), (SASS, 90, A)], ((90,), (), ())),
        ([(SASS, 100, A), (PTX, 120, F)], ((100,), (120,), ("compute_120f", "sm_100a"))),
        ([(SASS, 100, A), (SASS, 100, F)], ((100,), (), ())),
        ([(SASS, 80, 0x8000)], ((80,), (), ())),
    ],
)
def test_a_suffix_counts_where_the_plain_form_is_not_beside_it(
    tmp_path: Path, entries: list[tuple[int, int]], code: tuple[tuple[int, ...], ...]
) -> None:
    assert gpu(tmp_path / "x.dll", fatbin(*entries)) == code


def test_no_gpu_code(tmp_path: Path) -> None:
    (tmp_path / "x.dll").write_bytes(build.pe(("a.dll",)))
    assert machine_code(tmp_path / "x.dll") == ((), (), ())
    assert machine_code(tmp_path / "none.dll") is None


def test_a_page_of_zeros_between_leaves_it_undecided(tmp_path: Path) -> None:
    content = fatbin((SASS, 80)) + bytes(2 * MAX_GAP_BYTES) + fatbin((SASS, 90))
    assert gpu(tmp_path / "x.dll", content) is None


@pytest.mark.parametrize("size", [0, (1 << 64) - 1, 1 << 63])
def test_sizes_that_lie_end(tmp_path: Path, size: int) -> None:
    good = fatbin((SASS, 80))
    assert gpu(tmp_path / "x.dll", struct.pack("<IHHQ", 0xBA55ED50, 1, 16, size) + good[16:]) in (
        ((80,), (), ()),
        ((), (), ()),
    )
    assert gpu(tmp_path / "y.dll", good[:24] + struct.pack("<Q", size) + good[32:]) == ((80,), (), ())


def test_time_that_is_up_leaves_it_undecided(tmp_path: Path) -> None:
    path = tmp_path / "x.dll"
    path.write_bytes(build.pe(extra=((b".nv_fatb", fatbin(*[(SASS, 80)] * 1000, body=0)),)))
    assert machine_code(path, seconds=-1) is None


@linux
def test_gpu_code_in_an_elf_library(tmp_path: Path) -> None:
    data = ",".join(str(byte) for byte in fatbin((SASS, 75), (PTX, 75)))
    source = f'__attribute__((section(".nv_fatbin"))) const unsigned char code[] = {{ {data} }};'
    assert machine_code(build.library(tmp_path / "x.so", source=source)) == ((75,), (75,), ())
