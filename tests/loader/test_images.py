"""What images.read says about good, cut, hostile and foreign files; it never raises and never hangs."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.loader import read_image
from tests.loader import build

posix = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX file system's own kinds of files")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs gcc and glibc")


# --- neither ELF nor PE ----------------------------------------------------------------------------------

OTHERS = {
    "linker script": (b"/* GNU ld script */\nGROUP ( libc.so.6 )", "not a library", "linker script"),
    "bare linker script": (b"INPUT(libcudnn.so.9)", "not a library", "linker script"),
    "saved web page": (b"\xef\xbb\xbf\r\n<!DOCTYPE html><html>", "not a library", "web page"),
    "LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "not a library", "Git LFS"),
    "text": (b"hello\nworld\n", "not a library", "text"),
    "import library": (b"!<arch>\n/               0", "not a library", "archive for linkers"),
    "zip": (b"PK\x03\x04rest", "not a library", "ZIP"),
    "zeros": (bytes(5000), "damaged", "zeros"),
    "noise": (bytes(range(7, 250)), "damaged", "does not begin like a library"),
    "empty": (b"", "empty", "0 bytes"),
    "one byte": (b"\x7f", "damaged", ""),
    "only ELF's magic": (b"\x7fELF", "truncated", "first header"),
    "only MZ": (b"MZ", "truncated", "headers"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_library_is_named(tmp_path: Path, name: str) -> None:
    content, state, words = OTHERS[name]
    file = tmp_path / "libcudnn.so.9"
    file.write_bytes(content)
    image = read_image.read_image(file)
    assert (image.state, image.size) == (state, len(content))
    assert words in image.problem
    assert image.pointer is (name == "LFS pointer")


def test_what_is_not_there(tmp_path: Path) -> None:
    assert read_image.read_image(tmp_path / "none.dll").state == "missing"
    assert read_image.read_image(tmp_path / "none" / "none.dll").state == "missing"
    assert read_image.read_image("a\0b").state == "missing"
    assert read_image.read_image(tmp_path / ("x" * 5000)).state == "missing"


def test_a_folder(tmp_path: Path) -> None:
    assert (read_image.read_image(tmp_path).state, read_image.read_image(tmp_path).problem) == (
        "not a library",
        "is a folder, not a file",
    )


@posix
def test_pipes_devices_sockets_and_links(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "libcudnn.so.9")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "zero").symlink_to("/dev/zero")
    states = {
        name: read_image.read_image(tmp_path / name).state
        for name in ("libcudnn.so.9", "loop", "a", "dangling", "zero")
    }
    assert states == {
        "libcudnn.so.9": "not a library",
        "loop": "dangling",
        "a": "dangling",
        "dangling": "dangling",
        "zero": "not a library",
    }


@posix
def test_what_may_not_be_read(tmp_path: Path, unprivileged: None) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut/lib.so").write_bytes(b"x")
    (tmp_path / "lib.so").write_bytes(b"x")
    (tmp_path / "lib.so").chmod(0)
    (tmp_path / "shut").chmod(0)
    try:
        assert read_image.read_image(tmp_path / "lib.so").problem == "may not be read by this user"
        assert read_image.read_image(tmp_path / "shut/lib.so").state == "unreadable"
    finally:
        (tmp_path / "shut").chmod(0o755)


@posix
def test_a_name_that_is_not_text(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/lib\xff.so"
    Path(os.fsdecode(raw)).write_bytes(b"hello")
    image = read_image.read_image(os.fsdecode(raw))
    assert image.path.endswith("lib\\xff.so")
    assert image.state == "not a library"


@posix
def test_a_root_other_than_the_systems_own(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/x.so").write_bytes(b"hello")
    image = read_image.read_image("/usr/lib/x.so", root=tmp_path)
    assert (image.path, image.state) == ("/usr/lib/x.so", "not a library")


# --- ELF -------------------------------------------------------------------------------------------------


@linux
def test_an_elf_library_tells_its_wishes(tmp_path: Path) -> None:
    first = build.library(tmp_path / "libfirst.so", soname="libfirst.so.1")
    path = build.library(
        tmp_path / "lib.so",
        *("-Wl,--no-as-needed", str(first), "-Wl,--enable-new-dtags,-rpath,$ORIGIN:/opt/x,-z,nodefaultlib"),
        soname="lib.so.5",
    )
    image = read_image.read_image(path)
    assert (image.state, image.format, image.bits, image.mappable, image.library) == ("good", "ELF", 64, True, True)
    assert (image.soname, image.needed, image.rpath) == ("lib.so.5", ("libfirst.so.1",), ())
    assert image.runpath == ("$ORIGIN", "/opt/x")
    assert image.no_default_folders


@linux
def test_programs_are_not_libraries_but_libc_is(tmp_path: Path) -> None:
    program = build.gcc(tmp_path / "program", source="int main(void) { return 0; }")
    fixed = build.gcc(tmp_path / "fixed", "-no-pie", source="int main(void) { return 0; }")
    assert [read_image.read_image(file).library for file in (program, fixed)] == [False, False]
    libc = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libc.so" in line)
    assert read_image.read_image(libc).library  # it has an interpreter all the same


def _cut(size: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:size]


@linux
def test_a_file_cut_anywhere_is_seen(tmp_path: Path) -> None:
    data = build.library(tmp_path / "whole.so").read_bytes()
    cut = tmp_path / "cut.so"
    for size in {*range(0, len(data), 97), 1, 63, 64, len(data) - 1}:
        cut.write_bytes(data[:size])
        image = read_image.read_image(cut)
        assert image.state in ("empty", "truncated", "damaged"), size
        assert image.problem
    assert image.size is not None


@linux
def test_a_cut_tail_leaves_a_library_that_loads(tmp_path: Path) -> None:
    path = build.library(tmp_path / "lib.so")
    path.write_bytes(path.read_bytes()[:-1])  # the section table's last byte; no loader reads it
    image = read_image.read_image(path)
    assert (image.state, image.mappable) == ("truncated", True)


@linux
@pytest.mark.parametrize(
    ("at", "new", "architecture"),
    [(18, 183, "aarch64"), (18, 21, "ppc64le"), (18, 243, "riscv64"), (18, 0xFFF0, "65520")],
)
def test_the_processor_family(tmp_path: Path, at: int, new: int, architecture: str) -> None:
    path = build.library(tmp_path / "lib.so")
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, at, new)
    path.write_bytes(data)
    assert read_image.read_image(path).architecture == architecture


@linux
def test_elf_lies_are_damage_not_errors(tmp_path: Path) -> None:
    good = build.library(tmp_path / "lib.so").read_bytes()
    lies = {
        "no segments": (56, struct.pack("<H", 0)),
        "segments beyond the end": (32, struct.pack("<Q", 1 << 40)),
        "segments before the start": (32, struct.pack("<Q", (1 << 64) - 8)),
        "sections beyond the end": (40, struct.pack("<Q", (1 << 63) + 5)),
        "a class that does not exist": (4, b"\x07"),
        "a size of program headers": (54, b"\x00"),
    }
    for name, (at, new) in lies.items():
        path = tmp_path / "lie.so"
        path.write_bytes(good[:at] + new + good[at + len(new) :])
        assert read_image.read_image(path).state in ("damaged", "truncated"), name


# --- PE --------------------------------------------------------------------------------------------------


def test_a_dll_tells_its_imports(tmp_path: Path) -> None:
    path = tmp_path / "cudnn64_9.dll"
    path.write_bytes(build.pe(("KERNEL32.dll", "cudart64_12.dll"), ("nvcuda.dll", "kernel32.dll")))
    image = read_image.read_image(path)
    assert (image.state, image.format, image.architecture, image.bits) == ("good", "PE", "x86_64", 64)
    assert image.needed == ("KERNEL32.dll", "cudart64_12.dll", "nvcuda.dll")
    assert image.delayed == ("nvcuda.dll", "kernel32.dll")
    assert image.library
    assert image.mappable


@pytest.mark.parametrize(
    ("machine", "name", "bits"), [(0x14C, "x86", 32), (0xAA64, "aarch64", 64), (0x1, "machine 0x0001", 64)]
)
def test_the_processor_family_of_a_dll(tmp_path: Path, machine: int, name: str, bits: int) -> None:
    path = tmp_path / "x.dll"
    path.write_bytes(build.pe(("a.dll",), machine=machine))
    assert (read_image.read_image(path).architecture, read_image.read_image(path).bits) == (name, bits)


def test_a_dll_cut_anywhere_is_seen(tmp_path: Path) -> None:
    data = build.pe(("a.dll", "b.dll"), data=os.urandom(3000))
    path = tmp_path / "x.dll"
    for size in {*range(2, len(data), 53), len(data) - 1}:
        path.write_bytes(data[:size])
        assert read_image.read_image(path).state in ("truncated", "damaged"), size
        assert not read_image.read_image(path).mappable


def test_a_dll_without_its_signature_still_loads(tmp_path: Path) -> None:
    data = bytearray(build.pe(("a.dll",)))
    struct.pack_into("<II", data, 64 + 24 + 112 + 8 * 4, len(data), 9000)  # the signature lay behind the end
    path = tmp_path / "x.dll"
    path.write_bytes(data)
    assert (read_image.read_image(path).state, read_image.read_image(path).mappable) == ("truncated", True)


@pytest.mark.parametrize(("first", "state"), [(b"", "damaged"), (b"\0\x10\0\0\x0c", "good")])
def test_a_table_of_zeros_is_a_download_put_together_wrongly(tmp_path: Path, first: bytes, state: str) -> None:
    data = bytearray(build.pe(("a.dll",), extra=((b".reloc", first.ljust(64, b"\0")),)))
    (at,) = struct.unpack_from("<I", data, 64 + 24 + 240 + 40 + 12)
    struct.pack_into("<II", data, 64 + 24 + 112 + 8 * 5, at, 64)
    path = tmp_path / "x.dll"
    path.write_bytes(data)
    image = read_image.read_image(path)
    assert (image.state, "relocations" in str(image.problem)) == (state, state == "damaged")


def test_hostile_import_tables_end(tmp_path: Path) -> None:
    data = bytearray(build.pe(("a.dll",), data=b"\x01" * 100_000))  # descriptors without an end
    struct.pack_into("<II", data, 64 + 24 + 112 + 8, 0x1000 + 60, 1 << 31)
    path = tmp_path / "x.dll"
    path.write_bytes(data)
    assert read_image.read_image(path).format == "PE"


mingw = pytest.mark.skipif(not build.has_mingw(), reason="needs mingw's compilers; build.pe covers the same by hand")


@mingw
@pytest.mark.parametrize("machine", ["x86_64", "x86"])
def test_dlls_of_a_real_linker(tmp_path: Path, machine: str) -> None:
    entry = "int __stdcall DllMainCRTStartup(void *a, int b, void *c) { return 1; } "
    exports = "__declspec(dllexport) int answer(void) { return 42; } "
    inner = build.mingw(tmp_path / "inner.dll", source=entry + exports, machine=machine)
    outer = build.mingw(
        tmp_path / "outer.dll",
        str(inner),
        source=entry
        + "__declspec(dllimport) int answer(void); __declspec(dllexport) int ask(void) { return answer(); }",
        machine=machine,
    )
    assert read_image.read_image(outer).needed == ("inner.dll",)
    assert read_image.read_image(outer).architecture == machine
    assert read_image.read_image(inner).state == "good"


@mingw
def test_delay_imports_of_a_real_linker(tmp_path: Path) -> None:
    entry = "int __stdcall DllMainCRTStartup(void *a, int b, void *c) { return 1; } "
    helper = "void *__delayLoadHelper2(void *a, void *b) { return 0; } "
    definition = tmp_path / "late.def"
    definition.write_text("LIBRARY late.dll\nEXPORTS\nanswer\n")
    library = tmp_path / "liblate.a"
    tool = build.MINGW["x86_64"].replace("-gcc", "-dlltool")
    subprocess.run([tool, "-d", str(definition), "-y", str(library), "-D", "late.dll"], check=True)
    outer = build.mingw(
        tmp_path / "outer.dll",
        str(library),
        source=entry + helper + "int answer(void); __declspec(dllexport) int ask(void) { return answer(); }",
    )
    symbols = subprocess.run([tool.replace("dlltool", "nm"), str(outer)], check=True, capture_output=True, text=True)
    table = next(
        int(line.split()[0], 16) for line in symbols.stdout.splitlines() if "__DELAY_IMPORT_DESCRIPTOR_" in line
    )
    data = bytearray(outer.read_bytes())
    header = struct.unpack_from("<I", data, 60)[0] + 24
    base = struct.unpack_from("<Q", data, header + 24)[0]
    struct.pack_into("<II", data, header + 112 + 8 * 13, table - base, 64)  # binutils leaves this entry empty
    outer.write_bytes(data)
    image = read_image.read_image(outer)
    assert (image.needed, image.delayed) == (("late.dll",), ("late.dll",))
