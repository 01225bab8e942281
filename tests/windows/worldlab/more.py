r"""Scenes of what many people's batch files and programs do: ``set`` with blanks and quotation marks, lines of another system's shell, and DLLs
that a program loads or makes known before it imports a framework. In-sample: written together with the code that reads them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.held_out_2 import BLAS as ASKS_BLAS
from tests.windows.worldlab.held_out_2 import (
    ML,
    NOT_INHERITED,
    PROJECT,
    VALUE,
    batch,
    project,
    script,
    short_path,
    then,
)
from tests.windows.worldlab.held_out_3 import ct2s
from tests.windows.worldlab.held_out_9 import wheels_alone
from tests.windows.worldlab.modules import alone, on_path
from tests.windows.worldlab.scenes import BIN, NOT_SEARCHED, Scene, spoilt

assert sys.platform == "win32"

MORE, ODD = "more-", "more-healthy-"


def lines(*rows: str) -> str:
    """Return a batch file that ends with the start of the program."""
    return "\r\n".join(("@echo off", 'cd /d "%~dp0"', *rows, f"{ML} -B train.py", ""))


def starts(*rows: str) -> Callable[[Machine], Path]:
    """Return an environment whose batch file alone leads to the toolkit."""
    return ct2s(short_path, project("run.bat", lines(*rows)))


LOADS_BY_HAND = (
    "import ctypes, glob, os, sysconfig\nsite = sysconfig.get_paths()['purelib']\n"
    "for name in ('cublasLt64_12.dll', 'cublas64_12.dll'):\n"
    "    ctypes.WinDLL(os.path.join(site, 'nvidia', 'cublas', 'bin', name))\n"
)
REGISTERS = "import os\nos.add_dll_directory(r'{folder}')\nimport fastthing\n"
OF_BATCH = (NOT_INHERITED, NOT_SEARCHED, VALUE)

MORE_SCENES: tuple[Scene, ...] = (
    Scene(f"{MORE}blank-behind-an-entry", "ctranslate2", OF_BATCH, starts(f"set PATH=%PATH%;{BIN} && {ML} -B train.py", "exit /b %ERRORLEVEL%"), names="cublas64_12.dll", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}blank-in-the-name-of-path", "ctranslate2", OF_BATCH, starts(f"set PATH = {BIN};%PATH%"), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}export-in-a-batch-file", "ctranslate2", OF_BATCH, starts(f"export PATH={BIN};%PATH%"), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}program-registers-another-folder", "module", (NOT_SEARCHED, "python_dll_search_change"), spoilt(alone("of_cuda", start="from fastthing import _core\n"), on_path, project("train.py", REGISTERS.format(folder=HOME))), names="cublas64_12.dll", runs=script(), folder=PROJECT),
    # healthy
    Scene(f"{ODD}path-in-quotation-marks", "ctranslate2", (), starts(f'set "PATH={BIN};%PATH%" && echo started'), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}program-registers-the-folder", "module", (), then(alone("of_cuda", start="from fastthing import _core\n"), on_path, project("train.py", REGISTERS.format(folder=BIN))), runs=script(), folder=PROJECT),
    Scene(f"{ODD}program-loads-the-wheels", "ctranslate2", (), spoilt(wheels_alone, project("train.py", f"{LOADS_BY_HAND}{ASKS_BLAS}\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}toolkit-path-with-a-bracket", "ctranslate2", (), starts("if not defined NOTHING (", f'  set "PATH={BIN};%PATH%"', ")"), runs=batch(), folder=PROJECT),
)  # fmt: skip
