"""Libraries that a person's own program opens by ctypes."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment
from core.probes.python.programs.opened_by_programs import absent_libraries
from core.probes.sysroot import sysroot_of
from tests.loader import build
from tests.probes.request import request, write

PROGRAMS = {
    "by its name": ("import ctypes\nctypes.CDLL('libcudart.so.11.0')\nimport torch\n", [("libcudart.so.11.0", 2)]),
    "by its path": ("from ctypes import CDLL\nP = '/nowhere'\nlib = CDLL(P + '/libfast.so')\n", [("/nowhere/libfast.so", 3)]),
    "by LoadLibrary": ("import ctypes\nx = ctypes.cdll.LoadLibrary('libgone.so.1')\n", [("libgone.so.1", 2)]),
    "of the system": ("import ctypes\nctypes.CDLL('libc.so.6')\n", []),
    "of a package": ("import ctypes\nctypes.CDLL('libcublas.so.12')\n", []),
    "on the search path": ("import ctypes\nctypes.CDLL('libmine.so.3')\n", []),
    "that is there": ("import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'libown.so'))\n", []),
    "in its own folder, gone": ("import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'libgone.so'))\n", [("/work/libgone.so", 2)]),
    "that it tries": ("import ctypes\ntry:\n    ctypes.CDLL('libcudart.so.11.0')\nexcept OSError:\n    pass\n", []),
    "in a condition": ("import ctypes, sys\nif sys.argv:\n    ctypes.CDLL('libcudart.so.11.0')\n", []),
    "in a function": ("import ctypes\ndef f():\n    ctypes.CDLL('libcudart.so.11.0')\n", []),
    "of Windows": ("import ctypes\nctypes.CDLL('nvcuda.dll')\n", []),
    "after it built it": ("import ctypes, subprocess\nsubprocess.check_call(['make'])\nctypes.CDLL('/nowhere/libfast.so')\n", []),
    "under a name that may be another": ("import ctypes, sys\nP = '/nowhere/a.so'\nif sys.argv:\n    P = '/lib/b.so'\nctypes.CDLL(P)\n", []),
    "what is computed": ("import ctypes, find\nctypes.CDLL(find.it())\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_opens(name: str, tmp_path: Path):
    text, told = PROGRAMS[name]
    for path in (
        "/env/site/nvidia/cublas/lib/libcublas.so.12",
        "/more/libmine.so.3",
        "/work/libown.so",
        "/usr/lib/libc.so.6",
    ):
        write(tmp_path, path)
    write(tmp_path, "/work/main.py", text)
    asked = replace(request(tmp_path, {"LD_LIBRARY_PATH": "/more", "HOME": "/home/ada"}), script_folder="/work")
    python = PythonEnvironment(prefix="/env", kind="venv", site_packages=("/env/site",))
    found = [(t.name, t.called) for t in absent_libraries(python, asked, sysroot_of(asked.host))]
    assert found == [(n, f"/work/main.py:{line}") for n, line in told]


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (build.pe(("kernel32.dll",)), None),
        (build.pe(("kernel32.dll",), machine=0x14C), "wrong architecture"),
        (b"MZ" + bytes(300), "damaged"),
    ],
)
def test_a_file_that_no_loader_takes(content: bytes, state: str | None, tmp_path: Path):
    """[WinError 193] %1 is not a valid Win32 application."""
    write(tmp_path, "C:/work/ops.dll", content)
    text = "import ctypes, os\nops = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'ops.dll'))\n"
    write(tmp_path, "C:/work/main.py", text)
    asked = replace(request(tmp_path, {"SystemRoot": "C:\\Windows"}, system="windows"), script_folder="C:\\work")
    python = PythonEnvironment(prefix="C:\\env", kind="venv", architecture="x86_64")
    found = [t.state for t in absent_libraries(python, asked, sysroot_of(asked.host))]
    assert found == ([state] if state else [])


ON_WINDOWS = {
    "by its path": ("import ctypes\nlib = ctypes.CDLL(r'C:\\tools\\fast.dll')\n", [("C:\\tools\\fast.dll", 2)]),
    "by its name": ("import ctypes\nlib = ctypes.WinDLL('gone.dll')\n", [("gone.dll", 2)]),
    "of Windows": ("import ctypes\nlib = ctypes.WinDLL('Shell32.dll')\n", []),
    "without its ending": ("import ctypes\nlib = ctypes.WinDLL('kernel32')\n", []),
    "of CUDA": ("import ctypes\nlib = ctypes.WinDLL('cublas64_12.dll')\n", []),
    "on PATH": ("import ctypes\nlib = ctypes.CDLL('mine.dll', winmode=0)\n", []),
    "by PATH": ("import ctypes\nlib = ctypes.CDLL('gone.dll', winmode=0)\n", []),
    "of a package": ("import ctypes\nlib = ctypes.CDLL('inner.dll')\n", []),
    "in a folder that it adds": ("import ctypes, os\nos.add_dll_directory(r'D:\\x')\nlib = ctypes.CDLL('gone.dll')\n", []),
    "that is there": ("import ctypes\nlib = ctypes.CDLL(r'C:\\more\\mine.dll')\n", []),
    "in its own folder, gone": ("import ctypes, os\nlib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'own.dll'))\n", [("C:\\work\\own.dll", 2)]),
    "that it tries": ("import ctypes\ntry:\n    ctypes.CDLL('gone.dll')\nexcept OSError:\n    pass\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_WINDOWS)
def test_what_a_program_opens_on_windows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text, told = ON_WINDOWS[name]
    for path in ("C:/Windows/System32/shell32.dll", "C:/more/mine.dll", "C:/env/Lib/site-packages/torch/lib/inner.dll"):
        write(tmp_path, path)
    write(tmp_path, "C:/work/main.py", text)
    asked = replace(request(tmp_path, {"Path": r"C:\more"}, system="windows"), script_folder=r"C:\work")
    python = PythonEnvironment(prefix=r"C:\env", kind="venv", site_packages=(r"C:\env\Lib\site-packages",))
    found = [(t.name, t.called) for t in absent_libraries(python, asked, sysroot_of(asked.host))]
    assert found == [(n, f"C:\\work\\main.py:{line}") for n, line in told]
