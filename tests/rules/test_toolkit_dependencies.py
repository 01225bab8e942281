"""A toolkit's own libraries that lack each other, with real files of either system."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import LibraryFile, Snapshot, System, Toolkit
from core.probes.toolkit import probe
from core.rules.toolkit_dependencies import RULES
from tests import machines as m
from tests.loader import build
from tests.probes.request import request

LIB = "usr/local/cuda-12.8/lib64"


def toolkit_of(root: Path, files: dict[str, tuple[str, ...]], folder: str = LIB) -> None:
    """Write real libraries that need others by name; a link to each that a name of a release leads to."""
    out = root / folder
    for name, needs in files.items():
        made = [build.library(root / "made" / need) for need in needs]
        bare = ".".join(name.split(".")[: 4 if "builtins" in name else 3])
        build.library(out / name, "-Wl,--no-as-needed", *map(str, made), soname=bare)
        if bare != name:
            (out / bare).symlink_to(name)


def told(root: Path, env: dict[str, str]) -> list[tuple[str, str, str]]:
    toolkits = probe.look(request(root, env))
    seen = replace(m.system_machine(), toolkits=toolkits, loads=(), cudnn=())
    return sorted((f.severity.word, f.id, f.cause) for rule in RULES for f in rule(seen))


SOLVER = {"libcusolver.so.11": ("libcublas.so.12", "libcusparse.so.12"), "libcublas.so.12": (), "libcusparse.so.12": ()}
LACK = "toolkit.incomplete-dependencies", "cuda_runtime_missing"
NVRTC = {"libnvrtc.so.12.8.93": (), "libnvrtc-builtins.so.12.8.93": ()}
BUILTINS = "toolkit.incomplete-builtins", "nvrtc_missing_or_mismatch"
USED = {"CUDA_HOME": "/usr/local/cuda-12.8"}


@pytest.mark.skipif(sys.platform == "win32", reason="builds ELF files")
@pytest.mark.parametrize(
    ("files", "gone", "env", "expected"),
    [
        (SOLVER, "", USED, []),
        (SOLVER, "libcusparse.so.12", USED, [("warning", *LACK)]),
        (SOLVER, "libcusparse.so.12", {"LD_LIBRARY_PATH": f"/{LIB}"}, [("warning", *LACK)]),
        (SOLVER, "libcusparse.so.12", {}, [("note", "toolkit.unused-incomplete-dependencies", LACK[1])]),
        ({"libcusparse.so.12": ("libnvJitLink.so.12",)}, "", USED, [("warning", *LACK)]),
        ({"libcublas.so.12": ("libstdc++.so.6",)}, "", USED, []),
        ({"libcudart.so.12": ()}, "", USED, []),
        (NVRTC, "", USED, []),
        (NVRTC, "libnvrtc-builtins.so.12.8.93", USED, [("warning", *BUILTINS)]),
        (
            {**NVRTC, "libnvrtc-builtins.so.12.4.127": ()},
            "libnvrtc-builtins.so.12.8.93",
            USED,
            [("warning", *BUILTINS)],
        ),
        (NVRTC, "libnvrtc-builtins.so.12.8.93", {}, [("note", "toolkit.unused-incomplete-builtins", BUILTINS[1])]),
        ({"libnvrtc.so.10.2.300": ()}, "", USED, []),
        ({"libnvrtc.so.12": ()}, "", USED, [("warning", *BUILTINS)]),
        ({"libnvrtc.so.12": (), "libnvrtc-builtins.so.12.8": ()}, "", USED, []),
    ],
)
def test_a_toolkit_is_at_fault_where_something_uses_it(
    tmp_path: Path, files: dict[str, tuple[str, ...]], gone: str, env: dict[str, str], expected: list[tuple[str, ...]]
) -> None:
    toolkit_of(tmp_path, files)
    if gone:
        (tmp_path / LIB / gone).unlink()
        for link in (tmp_path / LIB).iterdir():
            if link.is_symlink() and not link.exists():
                link.unlink()
    assert told(tmp_path, {"PATH": "/usr/bin", **env}) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="builds ELF files")
def test_what_the_loader_finds_elsewhere_is_not_lacking(tmp_path: Path) -> None:
    toolkit_of(tmp_path, {"libcusolver.so.11": ("libcusparse.so.12",)})
    toolkit_of(tmp_path, {"libcusparse.so.12": ()}, folder="opt/more")
    assert [severity for severity, *_rest in told(tmp_path, USED)] == ["warning"]
    assert told(tmp_path, {**USED, "LD_LIBRARY_PATH": "/opt/more"}) == []


def windows(
    system: System = "windows", named_by: tuple[str, ...] = ("CUDA_PATH",), **needs: tuple[str, ...]
) -> Snapshot:
    """Return a machine with one toolkit; the names of its libraries without their end -> what each imports."""
    root = r"C:\CUDA\v12.8"
    files = tuple(
        LibraryFile(path=rf"{root}\bin\{name}.dll", name=f"{name}.dll", state="good", needed=need, cuda_major=12)
        for name, need in needs.items()
    )
    its = Toolkit(
        root=root, origin="installer", version="12.8", folder=rf"{root}\bin", libraries=files, named_by=named_by
    )
    seen = m.system_machine()
    return replace(seen, machine=replace(seen.machine, system=system), toolkits=(its,), loads=(), cudnn=())


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (windows(cusolver64_11=("CUSPARSE64_12.dll", "KERNEL32.dll"), cusparse64_12=()), []),
        (windows(cusolver64_11=("cusparse64_12.dll",)), [LACK[0]]),
        (windows(named_by=(), cusolver64_11=("cusparse64_12.dll",)), ["toolkit.unused-incomplete-dependencies"]),
        (windows(nvrtc64_120_0=()), [BUILTINS[0]]),
    ],
)
def test_the_same_holds_on_windows(seen: Snapshot, expected: list[str]) -> None:
    assert [f.id for rule in RULES for f in rule(seen)] == expected


@pytest.mark.skipif(not shutil.which("x86_64-w64-mingw32-gcc"), reason="builds DLLs")
def test_a_real_dll_that_imports_what_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "C:" / "CUDA" / "v12.8" / "bin"
    needed = build.mingw(tmp_path / "cusparse64_12.dll", source="__declspec(dllexport) int one(void) { return 1; }")
    code = "int one(void); __declspec(dllexport) int two(void) { return one(); }"
    build.mingw(folder / "cusolver64_11.dll", str(needed), source=code)
    found = probe.look(request(tmp_path, {"CUDA_PATH": r"C:\CUDA\v12.8"}, system="windows"))
    seen = replace(windows(), toolkits=found)
    assert [f.id for rule in RULES for f in rule(seen)] == [LACK[0]]
