r"""Programs for Windows, built with mingw against NVIDIA's own DLL: read in a folder that is wine's C:\, beside what wine does."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.facts import Machine, Snapshot
from core.model.findings import Finding
from core.model.steps import Severity
from core.probes.programs import probe
from tests.faultlab.wheels import cache
from tests.probes.programs.built import absent, cut, empty
from tests.probes.request import request

WHEEL = "nvidia_cuda_runtime_cu12-12.4.127-py3-none-win_amd64.whl"
DLL = "cudart64_12.dll"
GCC, WINE = shutil.which("x86_64-w64-mingw32-gcc"), shutil.which("wine")
LINKED = "int cudaRuntimeGetVersion(int *); int main(void) { int v; return cudaRuntimeGetVersion(&v) ? 3 : 0; }\n"
OPENED = '#include <windows.h>\nint main(void) { return LoadLibraryA("cudart64_12.dll") ? 0 : 4; }\n'
PLUGIN = "int cudaRuntimeGetVersion(int *);\n__declspec(dllexport) int version(void) { int v; return cudaRuntimeGetVersion(&v); }\n"
LOADS = """#include <windows.h>
int main(void) {
  wchar_t path[4096], *end;
  GetModuleFileNameW(0, path, 3000);
  end = wcsrchr(path, L'\\\\') + 1;
  wcscpy(end, L"_internal");
  if (GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES) SetDllDirectoryW(path);
  wcscpy(end, L"PLUGIN");
  return LoadLibraryExW(path, 0, LOAD_WITH_ALTERED_SEARCH_PATH) ? 0 : 5;
}
"""
MACHINE = Machine(system="windows", home=r"C:\users\ada")

pytestmark = [
    pytest.mark.download,
    pytest.mark.skipif(
        GCC is None or not (cache() / "unpacked" / WHEEL).is_dir(), reason="needs mingw and NVIDIA's DLL"
    ),
]


def dll() -> Path:
    return cache() / "unpacked" / WHEEL / "nvidia/cuda_runtime/bin" / DLL


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return wine's folder; without wine an empty one, in which nothing is started."""
    made = tmp_path_factory.mktemp("wine")
    (made / "drive_c").mkdir(exist_ok=True)
    if WINE:
        wine(made, "wineboot", "-i")
    (made / "machine").mkdir()
    (made / "machine/C:").symlink_to(made / "drive_c")
    return made


def wine(prefix: Path, *argv: str, path: str = "") -> int:
    env = {n: v for n, v in os.environ.items() if n in ("PATH", "HOME")}
    env |= {"WINEPREFIX": str(prefix), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}
    if path:
        env["WINEPATH"] = path
    return subprocess.run([WINE or "wine", *argv], env=env, capture_output=True, timeout=180, check=False).returncode


def build(target: Path, source: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shared = ["-shared"] if target.suffix != ".exe" else []
    command = [GCC or "", *shared, "-x", "c", "-", "-x", "none", "-o", str(target)]
    subprocess.run(
        [*command, *([str(dll())] if source in (LINKED, PLUGIN) else [])],
        input=source.encode(),
        check=True,
        capture_output=True,
        timeout=120,
    )


def beside(app: Path) -> tuple[str, str, Path]:
    """Linked, with its DLL in its own folder."""
    build(app / "bin/sim.exe", LINKED)
    return r"bin\sim.exe", "", Path(shutil.copy(dll(), app / "bin" / DLL))


def by_path(app: Path) -> tuple[str, str, Path]:
    """Linked, with its DLL in a folder of PATH."""
    build(app / "bin/sim.exe", LINKED)
    (app / "cuda").mkdir()
    return r"bin\sim.exe", "cuda", Path(shutil.copy(dll(), app / "cuda" / DLL))


def by_batch(app: Path) -> tuple[str, str, Path]:
    """Started by a batch file that extends PATH."""
    build(app / "bin/sim.exe", LINKED)
    (app / "cuda").mkdir()
    (app / "run.bat").write_text('@echo off\r\nset "PATH=%~dp0cuda;%PATH%"\r\n"%~dp0bin\\sim.exe" %*\r\n')
    return "run.bat", "", Path(shutil.copy(dll(), app / "cuda" / DLL))


def opened(app: Path) -> tuple[str, str, Path]:
    """Opens its DLL by name."""
    build(app / "bin/play.exe", OPENED)
    return r"bin\play.exe", "", Path(shutil.copy(dll(), app / "bin" / DLL))


def plugged(app: Path, plugin: str, place: str) -> tuple[str, str, Path]:
    """Opens a DLL of its own by path, whose DLL lies in ``place``."""
    build(app / "bin/play.exe", LOADS.replace("PLUGIN", plugin.replace("/", "\\\\")))
    build(app / "bin" / plugin, PLUGIN)
    (app / "bin" / place).mkdir(parents=True, exist_ok=True)
    return r"bin\play.exe", "", Path(shutil.copy(dll(), app / "bin" / place / DLL))


def bundle(app: Path) -> tuple[str, str, Path]:
    """A folder as PyInstaller makes it: its bootloader gives _internal to SetDllDirectory."""
    return plugged(app, "_internal/onnxruntime/capi/onnxruntime_providers_cuda.dll", "_internal")


def backend(app: Path) -> tuple[str, str, Path]:
    """A program that opens its backend beside it by path, as llama.cpp does."""
    return plugged(app, "ggml-cuda.dll", ".")


def engine(app: Path) -> tuple[str, str, Path]:
    """A program that opens its backend in lib, with its libraries, as Ollama does."""
    return plugged(app, "lib/play/cuda_v12/ggml-cuda.dll", "lib/play/cuda_v12")


def foreign(library: Path) -> None:
    """The file is for another processor."""
    data = bytearray(library.read_bytes())
    at = int.from_bytes(data[0x3C:0x40], "little") + 4
    data[at : at + 2] = b"\x4c\x01"
    library.write_bytes(data)


def findings_of(prefix: Path, named: str, path: str) -> list[Finding]:
    env = {"Path": ";".join(p for p in (path, r"C:\windows\system32") if p), "SystemRoot": r"C:\windows"}
    its = request(prefix / "machine", system="windows", env=env)
    seen = Snapshot(machine=MACHINE)
    programs = probe.look(replace(its, seen=seen, programs=(named,)))
    found = diagnose_snapshot(replace(seen, programs=programs)).findings
    return [f for f in found if f.id.startswith("cudnn.program") or f.id == "cudnn.not-examined"]


@pytest.mark.parametrize("fault", [None, absent, cut, empty, foreign], ids=lambda f: f.__name__ if f else "whole")
@pytest.mark.parametrize("make", [beside, by_path, by_batch, opened, bundle, backend, engine], ids=lambda f: f.__name__)
def test_what_is_said_is_what_windows_loader_does(
    make: Callable[[Path], tuple[str, str, Path]], fault: Callable[[Path], None] | None, prefix: Path
) -> None:
    name = f"{make.__name__}-{fault.__name__ if fault else 'whole'}"
    app = prefix / "drive_c" / name
    named, folder, library = make(app)
    if fault:
        fault(library)
    whole, on_path = f"C:\\{name}\\{named}", f"C:\\{name}\\{folder}" if folder else ""
    if WINE:
        argv = ("cmd", "/c", whole) if named.endswith(".bat") else (whole,)
        assert (wine(prefix, *argv, path=on_path) == 0) is (fault is None), "the oracle"
    found = findings_of(prefix, whole, on_path)
    if fault is None:
        assert [f.id for f in found] == ["cudnn.program-whole"], [(f.id, f.title, f.why) for f in found]
        return
    bad = [f for f in found if f.severity >= Severity.WARNING]
    assert len(bad) == 1, [(f.id, f.title) for f in found]
    assert DLL in bad[0].title
    causes = {"absent": "cuda_runtime_missing", "foreign": "dll_wrong_architecture"}
    assert bad[0].cause == causes.get(fault.__name__, "corrupt_or_truncated_file")


def test_what_nvidias_own_libraries_may_open_is_not_asked_of_a_program(prefix: Path) -> None:
    app = prefix / "drive_c/fft"
    build(app / "fft.exe", OPENED.replace("cudart64_12.dll", "cufft64_11.dll"))
    build(app / "cufft64_11.dll", '__declspec(dllexport) const char *uses(void) { return "nvrtc64_120_0.dll"; }\n')
    assert [f.id for f in findings_of(prefix, r"C:\fft\fft.exe", "")] == ["cudnn.program-whole"]


@pytest.mark.parametrize("data", [b"", b"MZ" + bytes(300), b"<!DOCTYPE html>"], ids=["empty", "cut", "a page"])
def test_a_program_that_is_damaged_itself_is_a_fault(data: bytes, prefix: Path) -> None:
    app = prefix / "drive_c" / f"damaged-{len(data)}"
    app.mkdir()
    (app / "sim.exe").write_bytes(data)
    [found] = findings_of(prefix, rf"C:\{app.name}\sim.exe", "")
    assert (found.id, found.cause, found.severity) == (
        "cudnn.program-damaged",
        "corrupt_or_truncated_file",
        Severity.ERROR,
    )


def test_what_another_plugin_has_loaded_is_still_missing(prefix: Path) -> None:
    app = prefix / "drive_c/two"
    plugged(app, "_internal/onnx/providers.dll", "_internal/nvidia")
    build(app / "bin/_internal/nvidia/another.dll", PLUGIN)
    assert not WINE or wine(prefix, r"C:\two\bin\play.exe") == 5
    [found] = findings_of(prefix, r"C:\two\bin\play.exe", "")
    assert found.cause == "cuda_not_on_search_path"
    assert found.fix
    assert r"C:\two\bin\_internal\nvidia" in found.fix.title
    assert "It starts" in found.why
