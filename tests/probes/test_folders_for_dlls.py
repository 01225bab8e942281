"""Code on Windows that gives the loader a folder which is not there: os.add_dll_directory ends it, as Windows does."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.model.facts import Distribution, PythonEnvironment
from core.probes.sysroot import Sysroot
from core.probes.variables.following.endings import calls
from core.probes.variables.following.module_run import ModuleRun
from core.probes.variables.following.values import Around
from core.probes.variables.vocabulary import look
from tests.probes.request import request, write

PREFIX = "C:\\ml"
SITE = PREFIX + "\\Lib\\site-packages"
CUDA = "C:\\CUDA\\v12.4"
LOADER = """import os
import sys


def load(name, base):
    if sys.platform == "win32":
        os.add_dll_directory(str(base))
    if sys.platform == "win32" and sys.version_info >= (3, 8):
        if "CUDA_PATH" in os.environ:
            os.add_dll_directory(os.path.join(os.environ["CUDA_PATH"], "bin"))
            os.add_dll_directory(os.path.join(os.environ["CUDA_PATH"], "lib"))
    return name
"""
GUARDED = (
    "import os\nf = os.path.join(os.environ['CUDA_PATH'], 'lib')\nif os.path.isdir(f):\n    os.add_dll_directory(f)\n"
)


@pytest.mark.parametrize(
    ("code", "value", "ends"),
    [
        ("os.add_dll_directory(os.path.join(os.environ['CUDA_PATH'], 'bin'))", CUDA, ""),
        ("os.add_dll_directory(os.path.join(os.environ['CUDA_PATH'], 'lib'))", CUDA, "FileNotFoundError"),
        ("os.add_dll_directory(os.path.join(os.environ['CUDA_PATH'], 'bin'))", f'"{CUDA}"', "OSError"),
        ("p = os.environ.get('NOT_SET')\nif p:\n    os.add_dll_directory(p)", CUDA, ""),
        ("try:\n    os.add_dll_directory(os.environ['CUDA_PATH'] + '\\\\lib')\nexcept OSError:\n    pass", CUDA, ""),
        (GUARDED, CUDA, ""),
    ],
)
def test_windows_refuses_a_folder_that_is_not_there(tmp_path: Path, code: str, value: str, ends: str) -> None:
    write(tmp_path, "C:/CUDA/v12.4/bin/cudart64_12.dll")
    run = ModuleRun(
        "one", f"import os\n{code}\n", Around({"CUDA_PATH": value}, Sysroot("windows", str(tmp_path)), "C:\\")
    )
    found = run.whole()
    assert (found.kind if found else "") == ends


@pytest.mark.parametrize(("lib", "calling"), [(False, True), (True, True), (False, False)])
def test_a_package_whose_import_calls_such_a_function(tmp_path: Path, lib: bool, calling: bool) -> None:
    last = "_lib = load('llama', None)\n" if calling else ""
    package = SITE.replace("\\", "/") + "/llama_cpp/"
    write(tmp_path, f"{package}__init__.py", "from .llama_cpp import *\n")
    write(tmp_path, f"{package}llama_cpp.py", f"from llama_cpp._ctypes_extensions import (\n    load,\n)\n{last}")
    write(tmp_path, f"{package}_ctypes_extensions.py", LOADER)
    write(tmp_path, f"C:/CUDA/v12.4/{'lib' if lib else 'other'}/x64/cudart.lib")
    write(tmp_path, "C:/CUDA/v12.4/bin/cudart64_12.dll")
    python = PythonEnvironment(
        prefix=PREFIX,
        executable=PREFIX + "\\Scripts\\python.exe",
        kind="venv",
        version="3.11.9",
        site_packages=(SITE,),
        distributions=(Distribution(name="llama-cpp-python", version="0.3.16", location=SITE),),
    )
    asked = request(tmp_path, {"CUDA_PATH": CUDA}, system="windows", pythons=(python,))
    rows = [r for r in look(asked) if r.takes == "code"]
    assert [(r.variable, r.sure) for r in rows] == ([] if lib else [("CUDA_PATH", calling)])
    assert all("v12.4\\lib" in r.says for r in rows)


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("from ._load import load\nx = load('a')\n", True),
        ("from pack._load import load as l\nl('a')\n", True),
        ("from ._load import load\nif x:\n    load('a')\n", False),
        ("from ._load import load\nx = y and load('a')\n", False),
        ("from other import load\nload('a')\n", False),
        ("from ._load import load\nx = lambda: load('a')\n", False),
    ],
)
def test_a_call_that_stands_in_no_condition(text: str, called: bool) -> None:
    assert calls(text, "load", "pack._load", "pack.core", package=False) is called
