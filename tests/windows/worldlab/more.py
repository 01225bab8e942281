r"""Scenes of what many people's batch files and programs do: ``set`` with blanks and quotation marks, lines of another system's shell, and DLLs
that a program loads or makes known before it imports a framework; and of files that Windows alone has: a ``.pyw`` beside a program, python3.dll,
a ``._pth`` file without site. In-sample: written together with the code that reads them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.common import machines_python
from tests.windows.worldlab.held_out_2 import (
    ABI,
    ENVIRONMENT,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    STARTS_CT2,
    VALUE,
    WHOLE,
    WRONG_ONE,
    batch,
    does,
    project,
    script,
    short_path,
    task,
    text,
    then,
    whole,
)
from tests.windows.worldlab.held_out_2 import BLAS as ASKS_BLAS
from tests.windows.worldlab.held_out_3 import ct2s, numpys
from tests.windows.worldlab.held_out_6 import EMBEDED, PORTABLE
from tests.windows.worldlab.held_out_8 import STARTS_PORTABLE, activation, portable
from tests.windows.worldlab.held_out_9 import dot_venv, wheels_alone
from tests.windows.worldlab.held_out_11 import installed, users
from tests.windows.worldlab.modules import IMPORTS, PYTHON, alone, on_path, with_python
from tests.windows.worldlab.scenes import BIN, BROKEN, NOT_SEARCHED, Plant, Scene, spoilt, torch

assert sys.platform == "win32"

MORE, ODD = "more-", "more-healthy-"


def lines(*rows: str) -> str:
    """Return a batch file that ends with the start of the program."""
    return "\r\n".join(("@echo off", 'cd /d "%~dp0"', *rows, f"{ML} -B train.py", ""))


def starts(*rows: str) -> Callable[[Machine], Path]:
    """Return an environment whose batch file alone leads to the toolkit."""
    return ct2s(short_path, project("run.bat", lines(*rows)))


def named(*rows: str) -> Plant:
    """Write a batch file with these lines alone."""
    return project("run.bat", "\r\n".join(("@echo off", 'cd /d "%~dp0"', *rows, "")))


def modules(m: Machine, _made: Path) -> None:
    """Keep one's own modules in two folders."""
    m.write(HOME / "src\\helpers.py", "rows = 3\n")
    m.write(HOME / "lib\\more.py", "rows = 3\n")


def in_quoted_folder(_site: Path) -> list[str]:
    """Return the start of a task whose folder has quotation marks around it."""
    code = f"import subprocess; subprocess.run([{str(ML)!r}, '-B', 'train.py'], cwd={chr(34) + str(PROJECT) + chr(34)!r}, check=True)"
    return [sys.executable, "-I", "-S", "-c", code]


GIVES_UP = (
    "if errorlevel 1 (",
    "    echo Could not activate the environment.",
    "    exit /b 1",
    ")",
    "python -B train.py",
)
HELPED = project("train.py", f"import helpers\nimport more\n{NUMPY}\n")
OF_PYTHON = (WRONG_ONE, REQUIREMENT, ENVIRONMENT, NOT_INHERITED)
LOADS_BY_HAND = (
    "import ctypes, glob, os, sysconfig\nsite = sysconfig.get_paths()['purelib']\n"
    "for name in ('cublasLt64_12.dll', 'cublas64_12.dll'):\n"
    "    ctypes.WinDLL(os.path.join(site, 'nvidia', 'cublas', 'bin', name))\n"
)
REGISTERS = "import os\nos.add_dll_directory(r'{folder}')\nimport fastthing\n"
MODELS = HOME / "models"
PAGE = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n"
LOADS_MODEL = project(
    "train.py", f"import ctranslate2\n\nctranslate2.models.Whisper(r'{MODELS}\\small', device='cpu')\n"
)
NEEDS_TORCH = project("train.py", "import bitsandbytes\n")
OPENS_ITS_LIBRARY = (
    "import ctypes\nfrom pathlib import Path\n\nimport torch.version\n\nnumber = torch.version.cuda.replace('.', '')\n"
    "lib = ctypes.cdll.LoadLibrary(str(Path(__file__).parent / f'libbitsandbytes_cuda{number}.dll'))\n"
)
"""What bitsandbytes/cextension.py does; newer releases go on without a GPU's functions."""


def page(folder: Path) -> Plant:
    """Save a web page under a model's name, as a browser or wget does without a log-in."""

    def plant(m: Machine, _made: Path) -> None:
        for name, content in (("model.bin", PAGE), ("config.json", "{}"), ("vocabulary.txt", "a\nb\n")):
            m.write(folder / name, content)

    return plant


def without_stable_abi(_m: Machine, _made: Path) -> None:
    """Lose the DLL that packages for any release of Python are linked against."""
    (WHOLE / "python3.dll").unlink()


def bitsandbytes(*cudas: str) -> Plant:
    """Install bitsandbytes with libraries for these CUDA versions."""

    def plant(m: Machine, site: Path) -> None:
        installed("bitsandbytes", "0.43.1", {"bitsandbytes\\__init__.py": OPENS_ITS_LIBRARY}, "torch")(m, site)
        (record,) = site.glob("bitsandbytes-*.dist-info/RECORD")
        rows = [record.read_text(encoding="utf-8")]
        for cuda in cudas:
            inner = Path(m.places["consumers"]) / "modules\\inner-0f3a.dll"
            file = m.place(inner, site / f"bitsandbytes\\libbitsandbytes_cuda{cuda}.dll")
            rows.append(f"bitsandbytes/{file.name},,{file.stat().st_size}\n")
        m.write(record, "".join(rows))

    return plant


def without_site(*lines: str) -> Plant:
    """Let the portable's ._pth file list its packages without importing site, beside an editable installation."""

    def plant(m: Machine, site: Path) -> None:
        rows = ("../ComfyUI", "python311.zip", "Lib", "DLLs", ".", "Lib\\site-packages")
        m.write(EMBEDED / "python311._pth", "\n".join((*rows, "")))
        source = HOME / "src\\facetools"
        m.write(source / "facetools\\__init__.py", "faces = 3\n")
        m.write(site / "__editable__.facetools-1.0.pth", f"{source}\n")
        info = site / "facetools-1.0.dist-info"
        m.write(info / "METADATA", "Metadata-Version: 2.1\nName: facetools\nVersion: 1.0\n")
        m.write(info / "RECORD", f"__editable__.facetools-1.0.pth,,\n{info.name}/METADATA,,\n{info.name}/RECORD,,\n")
        m.write(PORTABLE / "ComfyUI\\main.py", "\n".join(("import folder_paths", *lines, ASKS_BLAS, "")))

    return plant


OF_BATCH = (NOT_INHERITED, NOT_SEARCHED, VALUE)

MORE_SCENES: tuple[Scene, ...] = (
    Scene(f"{MORE}blank-behind-an-entry", "ctranslate2", OF_BATCH, starts(f"set PATH=%PATH%;{BIN} && {ML} -B train.py", "exit /b %ERRORLEVEL%"), names="cublas64_12.dll", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}blank-in-the-name-of-path", "ctranslate2", OF_BATCH, starts(f"set PATH = {BIN};%PATH%"), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}export-in-a-batch-file", "ctranslate2", OF_BATCH, starts(f"export PATH={BIN};%PATH%"), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}program-registers-another-folder", "module", (NOT_SEARCHED, "python_dll_search_change"), spoilt(alone("of_cuda", start="from fastthing import _core\n"), on_path, project("train.py", REGISTERS.format(folder=HOME))), names="cublas64_12.dll", runs=script(), folder=PROJECT),
    Scene(f"{MORE}page-in-a-models-place", "ctranslate2", (BROKEN,), ct2s(page(MODELS / "small"), LOADS_MODEL), names="model.bin", runs=script(), folder=PROJECT),
    Scene(f"{MORE}python3-dll-is-gone", "module", (ENVIRONMENT,), spoilt(with_python("stable_abi"), without_stable_abi), names="python3.dll", runs=does(IMPORTS, PYTHON)),
    Scene(f"{MORE}no-library-for-this-cuda", "torch", (ABI,), spoilt(torch, bitsandbytes("118", "121"), NEEDS_TORCH), names="libbitsandbytes_cuda124.dll", runs=script(), folder=PROJECT),
    Scene(f"{MORE}pyw-with-the-packages-name", "ctranslate2", (IN_THE_WAY,), ct2s(project("ctranslate2.pyw", "print('my window')\n")), names="ctranslate2.pyw", runs=script(), folder=PROJECT),
    Scene(f"{MORE}portable-reads-no-pth-files", "ctranslate2", (ENVIRONMENT,), spoilt(portable("numpy-1.26", "ctranslate2"), without_site("import facetools")), names="_pth", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # healthy
    Scene(f"{ODD}page-among-the-downloads", "ctranslate2", (), ct2s(page(HOME / "Downloads")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}python3-dll-that-nobody-asks-for", "ctranslate2", (), spoilt(whole("numpy-1.26", "ctranslate2"), without_stable_abi, STARTS_CT2), runs=script(python=PYTHON), folder=PROJECT),
    Scene(f"{ODD}library-for-this-cuda", "torch", (), spoilt(torch, bitsandbytes("121", "124"), NEEDS_TORCH), runs=script(), folder=PROJECT),
    Scene(f"{ODD}pyw-in-another-folder", "ctranslate2", (), ct2s(project("ui\\ctranslate2.pyw", "print('my window')\n"), project("start.pyw", "import ctranslate2\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}portable-without-site", "ctranslate2", (), spoilt(portable("numpy-1.26", "ctranslate2"), without_site()), runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # it gives up, or has no command
    Scene(f"{MORE}activation-and-errorlevel", "ctranslate2", OF_PYTHON, ct2s(machines_python, activation, STARTS_CT2, named("call venv\\Scripts\\activate.bat", *GIVES_UP)), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}asks-for-venv", "ctranslate2", OF_PYTHON, spoilt(dot_venv, STARTS_CT2, named("if not exist venv\\Scripts\\python.exe (", "    echo Please run install.bat first.", "    exit /b 1", ")", "venv\\Scripts\\python.exe -B train.py")), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}variable-before-the-command", "ctranslate2", OF_BATCH, ct2s(STARTS_CT2, named(f"CUDA_VISIBLE_DEVICES=0 {ML} -B train.py")), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}byte-order-mark-before-set", "ctranslate2", OF_BATCH, ct2s(short_path, STARTS_CT2, text(PROJECT / "run.bat", f"set PATH={BIN};%PATH%\r\n{ML} -B {PROJECT}\\train.py\r\n".encode("utf-8-sig"))), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{MORE}task-folder-in-quotes", "ctranslate2", OF_BATCH, ct2s(STARTS_CT2, task("Nightly", str(ML), "-B train.py", f'"{PROJECT}"')), names="Nightly", runs=in_quoted_folder, folder=HOME),
    Scene(f"{MORE}pythonpath-in-quotes", "numpy", (VALUE,), numpys(modules, HELPED, users(PYTHONPATH=f'"{HOME}\\src";{HOME}\\lib')), names="PYTHONPATH", runs=script(), folder=PROJECT),
    Scene(f"{MORE}pythonpath-with-a-colon", "numpy", (VALUE,), numpys(modules, HELPED, named(f"set PYTHONPATH={HOME}\\src:{HOME}\\lib", f"{ML} -B train.py")), names="PYTHONPATH", runs=batch(), folder=PROJECT),
    # healthy
    Scene(f"{ODD}activation-and-errorlevel", "ctranslate2", (), ct2s(machines_python, activation, STARTS_CT2, named(f"call {HOME}\\ml\\Scripts\\activate.bat", *GIVES_UP)), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}makes-venv-if-it-is-not-there", "ctranslate2", (), spoilt(dot_venv, STARTS_CT2, named("if not exist .venv\\Scripts\\python.exe (", "    python -m venv .venv", ")", "if not exist venv echo There is no venv", ".venv\\Scripts\\python.exe -B train.py")), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}pythonpath-of-two", "numpy", (), numpys(modules, HELPED, users(PYTHONPATH=f"{HOME}\\src\\;{HOME}\\lib;{HOME}\\none;")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}path-in-quotation-marks", "ctranslate2", (), starts(f'set "PATH={BIN};%PATH%" && echo started'), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}program-registers-the-folder", "module", (), then(alone("of_cuda", start="from fastthing import _core\n"), on_path, project("train.py", REGISTERS.format(folder=BIN))), runs=script(), folder=PROJECT),
    Scene(f"{ODD}program-loads-the-wheels", "ctranslate2", (), spoilt(wheels_alone, project("train.py", f"{LOADS_BY_HAND}{ASKS_BLAS}\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}toolkit-path-with-a-bracket", "ctranslate2", (), starts("if not defined NOTHING (", f'  set "PATH={BIN};%PATH%"', ")"), runs=batch(), folder=PROJECT),
)  # fmt: skip
