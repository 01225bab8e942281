r"""The ninth held-out set: seventeen faults and twelve odd healthy machines. Committed before its first scan.

Written from public threads and the list of classes, before the mends of that night and without reading the rules. The oracle starts the
person's own command, or loads the framework's own DLLs.

Threads: backtalk #28 and faster-whisper #1080 (add_dll_directory does not help CTranslate2, PATH does), Faster-Whisper-Transcriber #8 (the
folder of .lib files), whisper-ctranslate2 #9, torchcodec #1108 and YouDub-webui #117 (an FFmpeg without DLLs), pyinstaller #5372 (the
program without its folder), llama.cpp #15204 and #28505 (the runtime's archive in a folder of its own), CTranslate2 #1909 and #1894 and
voice-pro #101 (pkg_resources is no more), ComfyUI #5461 (packages of the user), notebook #5695 (a kernel of another environment), and the
questions about `np.float`, `echo ... > x.pth` in PowerShell, venv or .venv, and a Python that another application brings.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine, distribution, environment
from tests.windows.worldlab.held_out import FOR_LLAMA, LLAMA, beside, llama
from tests.windows.worldlab.held_out_2 import (
    APPDATA,
    BLAS,
    ENVIRONMENT,
    FOR_CT2,
    HALF,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    OLD_SITE,
    OTHER_PYTHON,
    PROJECT,
    REQUIREMENT,
    STARTS_CT2,
    STARTS_NUMPY,
    SYSTEM_PATH,
    USER_SITE,
    VALUE,
    WHOLE,
    WRONG_ONE,
    another_environment,
    batch,
    does,
    dumped,
    in_user_site,
    other_python,
    packages,
    project,
    real,
    script,
    short_path,
    text,
    then,
    whole,
    whole_python,
)
from tests.windows.worldlab.held_out_3 import DESKTOP, OTHER_ONE, ct2s, link, numpys
from tests.windows.worldlab.held_out_4 import FFMPEG, FINDS_FFMPEG
from tests.windows.worldlab.modules import IMPORTS, ITS_LIBS, SYSTEMS, alone
from tests.windows.worldlab.scenes import (
    APP,
    BIN,
    BROKEN,
    FOR_ORT,
    MISSING,
    NOT_SEARCHED,
    TOOLKIT,
    Plant,
    Scene,
    bundled,
    pip,
    program,
    spoilt,
    toolkit,
    variable,
)

assert sys.platform == "win32"

KERNELS = APPDATA / "jupyter\\kernels"
INKSCAPE = HOME / "Inkscape\\bin"
SHARED = HOME / "shared"
ADDS = (
    "import os, sysconfig\nsite = sysconfig.get_paths()['purelib']\nfor name in ('cublas', 'cuda_nvrtc', 'cudnn'):\n"
    "    folder = os.path.join(site, 'nvidia', name, 'bin')\n    {line}\n"
)
REGISTERS = ADDS.format(line="os.add_dll_directory(folder)") + BLAS + "\n"
PREPENDS = ADDS.format(line="os.environ['PATH'] = folder + os.pathsep + os.environ['PATH']") + BLAS + "\n"
"""What faster-whisper #1080 recommends."""
SILENCE = project("audio\\silence.py", "import numpy as np\n\nSILENCE = np.zeros(16000, dtype=np.float)\n")
LISTENS = project("train.py", f"from audio.silence import SILENCE\n{NUMPY}\nprint(len(SILENCE))\n")
ACTIVATES = '@echo off\r\ncd /d "%~dp0"\r\ncall venv\\Scripts\\activate.bat\r\npython -B train.py\r\n'
CHOOSES = (
    '@echo off\r\ncd /d "%~dp0"\r\nif exist venv\\Scripts\\activate.bat (\r\n  call venv\\Scripts\\activate.bat\r\n) else (\r\n'
    "  call .venv\\Scripts\\activate.bat\r\n)\r\npython -B train.py\r\n"
)


# --- machines ------------------------------------------------------------------------------------------------------------


def wheels_alone(m: Machine) -> Path:
    """CTranslate2 with everything of NVIDIA's from pip, and no toolkit."""
    site = packages(m, environment(m, "ml"), "numpy-1.26")
    pip(m, site, "ctranslate2", *FOR_CT2)
    return site


def dot_venv(m: Machine) -> Path:
    """Keep the environment in the project's .venv; the machine's own Python, on PATH, has other packages."""
    whole_python(m, WHOLE, "numpy-1.26")
    m.path(WHOLE, WHOLE / "Scripts", scope="user")
    m.pythons.clear()
    site = packages(m, environment(m, ".venv", home=PROJECT), "numpy-1.26", "ctranslate2")
    folder = PROJECT / ".venv"
    lines = ("@echo off", f"set VIRTUAL_ENV={folder}", "set PATH=%VIRTUAL_ENV%\\Scripts;%PATH%")
    m.write(folder / "Scripts\\activate.bat", "\r\n".join(lines) + "\r\n")
    return site


def moved_alone(m: Machine) -> Path:
    """Drag the program of a bundle to the desktop, and leave its folder behind."""
    made = bundled(*FOR_ORT)(m)
    target = m.place(made, DESKTOP / "bundle.exe")
    m.system_files.append(target)
    return target


def unpacked_apart(*, beside_it: bool = False) -> Callable[[Machine], Path]:
    """Unpack llama.cpp's two archives: "Extract all" makes a folder for each."""

    def build(m: Machine) -> Path:
        beside(m, LLAMA / "cudart-llama-bin-win-cuda-12.4-x64", *FOR_LLAMA)
        return llama(*(FOR_LLAMA if beside_it else ()))(m)

    return build


# --- plants --------------------------------------------------------------------------------------------------------------


def import_libraries(m: Machine, made: Path) -> None:
    """Put the folder of .lib files on PATH instead of the DLLs' folder."""
    m.write(TOOLKIT / "lib\\x64\\cublas.lib", b"!<arch>\n")
    m.path(TOOLKIT / "lib\\x64")


def glued(m: Machine, made: Path) -> None:
    """Forget the semicolon between two entries."""
    short_path(m, made)
    m.path(f"C:\\tools{BIN}")


def odd_but_enough(m: Machine, made: Path) -> None:
    """The same two, and the right entry besides."""
    import_libraries(m, made)
    m.path(f"C:\\tools{BIN}", first=True)


def anothers_python(m: Machine, _made: Path) -> None:
    """Install an application that puts its own Python first on PATH."""
    kept = list(m.pythons)
    whole_python(m, INKSCAPE, "numpy-1.26")
    m.pythons[:] = kept
    m.path(INKSCAPE, first=True)


def static_ffmpeg(m: Machine, _made: Path) -> None:
    """Unpack an FFmpeg that has no DLLs, and put it on PATH."""
    m.place(Path(m.places["consumers"]) / "llama.exe", FFMPEG / "ffmpeg.exe")
    m.path(FFMPEG)


def startup(name: str, content: str) -> Plant:
    """Leave a module in the environment that Python runs at each start."""
    return lambda m, site: m.write(site / name, content)


def shared(encoding: str) -> Plant:
    """Name a folder of one's own modules in a .pth file, as ``echo`` of a shell writes it."""

    def plant(m: Machine, site: Path) -> None:
        m.variable("PYTHONUTF8", "0")
        m.write(SHARED / "fastthing\\__init__.py", "import numpy\n")
        m.write(site / "shared.pth", f"{SHARED}\r\n".encode(encoding))

    return plant


def without_pkg_resources(m: Machine, site: Path) -> None:
    """Install a setuptools that no longer brings pkg_resources."""
    distribution(m, site, "setuptools", "82.0.0")
    m.write(site / "setuptools\\__init__.py", "__version__ = '82.0.0'\n")


def kernel(name: str, python: Path) -> Plant:
    """Register a kernel for notebooks."""
    spec = {
        "argv": [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": f"Python ({name})",
        "language": "python",
    }

    def plant(m: Machine, _made: Path) -> None:
        site = python.parents[1] / "Lib\\site-packages"
        distribution(m, site, "ipykernel", "6.29.5")
        m.write(site / "ipykernel\\__init__.py", "")
        m.write(site / "ipykernel_launcher.py", "")
        text(KERNELS / name / "kernel.json", dumped(spec))(m, _made)

    return plant


def notebook(name: str, kernel_name: str, code: str) -> Plant:
    """Write a notebook of the project's."""
    cell: dict[str, object] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": [code],
    }
    metadata = {"kernelspec": {"display_name": f"Python ({kernel_name})", "language": "python", "name": kernel_name}}
    return project(name, dumped({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))


def chosen(python: Path | str) -> Plant:
    """Choose an interpreter in VS Code for the project."""
    return project(".vscode\\settings.json", dumped({"python.defaultInterpreterPath": str(python)}))


def by_editor(site: Path) -> list[str]:
    """Return the start of the project's script with the interpreter that VS Code's settings name."""
    settings = json.loads((PROJECT / ".vscode\\settings.json").read_text(encoding="utf-8"))
    return script(python=Path(settings["python.defaultInterpreterPath"]))(site)


OLD_FIRST = f"import sys\nsys.path.insert(0, r'{OLD_SITE}')\n"
NO_PATH = f"import os\nos.environ['PATH'] = r'{SYSTEM_PATH}'\n"
MORE_PATH = f"import os\nos.environ['PATH'] += os.pathsep + r'{BIN}'\n"
HELPED = project("train.py", f"import helpers\n{BLAS}\n")
HELPERS = project("helpers.py", "rows = 3\n")
OPTIONAL = "try:\n    import pkg_resources\nexcept ImportError:\n    pkg_resources = None\n"

NINE, ODD = "held9-", "held9-healthy-"

HELD_OUT_9: tuple[Scene, ...] = (
    # libraries and PATH
    Scene(f"{NINE}add-dll-directory-is-not-asked", "ctranslate2", (NOT_SEARCHED,), spoilt(wheels_alone, project("train.py", REGISTERS)), names="cublas64_12.dll", runs=script(), folder=PROJECT),
    Scene(f"{NINE}folder-of-import-libraries", "blas.exe", (NOT_SEARCHED, VALUE), spoilt(program("blas.exe", "cublas-12", on_path=False), import_libraries), names=str(BIN)),
    Scene(f"{NINE}semicolon-forgotten", "light.exe", (NOT_SEARCHED, VALUE), spoilt(program("light.exe", "cublas-12"), glued), names=f"C:\\tools{BIN}"),
    Scene(f"{NINE}ffmpeg-without-dlls", "module", (SYSTEMS, MISSING, NOT_SEARCHED), then(alone("of_ffmpeg", start=FINDS_FFMPEG), static_ffmpeg), names="avcodec-61.dll", runs=does(IMPORTS)),
    Scene(f"{NINE}llama-runtime-in-a-folder-of-its-own", "llama.exe", (MISSING, NOT_SEARCHED), spoilt(unpacked_apart()), names="cudart-llama-bin-win-cuda-12.4-x64"),
    Scene(f"{NINE}bundle-without-its-folder", "bundle.exe", (BROKEN, MISSING, HALF, ENVIRONMENT), spoilt(moved_alone), names="_internal", runs=lambda made: [str(made)]),
    # Python's search
    Scene(f"{NINE}sitecustomize-replaces-path", "ctranslate2", (NOT_SEARCHED, NOT_INHERITED, VALUE, ENVIRONMENT, IN_THE_WAY), ct2s(startup("sitecustomize.py", NO_PATH)), names="sitecustomize.py", runs=script(), folder=PROJECT),
    Scene(f"{NINE}usercustomize-of-an-older-python", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE, ENVIRONMENT), spoilt(whole("numpy-1.26", "ctranslate2"), other_python, text(USER_SITE / "usercustomize.py", OLD_FIRST), STARTS_NUMPY), names="usercustomize.py", runs=does(NUMPY, WHOLE / "python.exe"), folder=PROJECT),
    Scene(f"{NINE}name-that-numpy-removed", "numpy", (REQUIREMENT, "numpy_abi_mismatch"), numpys(SILENCE, LISTENS), names="np.float", runs=script(), folder=PROJECT),
    Scene(f"{NINE}setuptools-without-pkg-resources", "numpy", (REQUIREMENT, ENVIRONMENT), numpys(without_pkg_resources, project("train.py", f"import pkg_resources\n{NUMPY}\n")), names="pkg_resources", runs=script(), folder=PROJECT),
    Scene(f"{NINE}no-user-site", "ctranslate2", (VALUE, ENVIRONMENT, REQUIREMENT, WRONG_ONE), spoilt(whole("numpy-1.26"), lambda m, _s: toolkit(m, *FOR_CT2), in_user_site("ctranslate2"), variable("PYTHONNOUSERSITE", "1"), STARTS_CT2), names="PYTHONNOUSERSITE", runs=script(python=WHOLE / "python.exe"), folder=PROJECT),
    Scene(f"{NINE}safe-path", "ctranslate2", (VALUE, ENVIRONMENT, REQUIREMENT), ct2s(HELPERS, HELPED, variable("PYTHONSAFEPATH", "1")), names="PYTHONSAFEPATH", runs=script(), folder=PROJECT),
    Scene(f"{NINE}pth-file-of-powershell", "numpy", (ENVIRONMENT, BROKEN, REQUIREMENT), numpys(shared("utf-16"), project("train.py", "import fastthing\n")), names="shared.pth", runs=script(), folder=PROJECT),
    # how it is started
    Scene(f"{NINE}another-applications-python", "ctranslate2", (WRONG_ONE, REQUIREMENT, ENVIRONMENT), ct2s(anothers_python, project("run.bat", '@echo off\r\ncd /d "%~dp0"\r\npython -B train.py\r\n')), names="Inkscape", runs=batch(), folder=PROJECT),
    Scene(f"{NINE}venv-that-is-dot-venv", "ctranslate2", (WRONG_ONE, ENVIRONMENT, REQUIREMENT, VALUE), spoilt(dot_venv, STARTS_CT2, project("run.bat", ACTIVATES)), names="venv\\Scripts\\activate.bat", runs=batch(), folder=PROJECT),
    Scene(f"{NINE}kernel-of-another-environment", "ctranslate2", (WRONG_ONE, REQUIREMENT), ct2s(another_environment, kernel("ml", OTHER_ONE), notebook("transcribe.ipynb", "ml", BLAS)), names="tools", runs=does(BLAS, OTHER_ONE), folder=PROJECT),
    Scene(f"{NINE}editor-chose-another-python", "ctranslate2", (WRONG_ONE, REQUIREMENT), ct2s(another_environment, chosen(OTHER_ONE)), names="tools", runs=by_editor, folder=PROJECT),
    # healthy
    Scene(f"{ODD}script-prepends-to-path", "ctranslate2", (), spoilt(wheels_alone, project("train.py", PREPENDS)), runs=script(), folder=PROJECT),
    Scene(f"{ODD}odd-entries-and-the-right-one", "light.exe", (), spoilt(program("light.exe", "cublas-12"), odd_but_enough)),
    Scene(f"{ODD}ffmpeg-of-the-package", "module", (), then(alone("of_ffmpeg", start=ITS_LIBS, more=("fastthing.libs\\avcodec-61.dll",)), static_ffmpeg), runs=does(IMPORTS)),
    Scene(f"{ODD}llama-runtime-in-both-places", "llama.exe", (), spoilt(unpacked_apart(beside_it=True))),
    Scene(f"{ODD}bundle-and-its-shortcut", "bundle.exe", (), spoilt(bundled(*FOR_ORT), link(DESKTOP, "Transcribe", APP / "bundle.exe", "", APP))),
    Scene(f"{ODD}sitecustomize-adds-to-path", "ctranslate2", (), ct2s(short_path, startup("sitecustomize.py", MORE_PATH)), runs=script(), folder=PROJECT),
    Scene(f"{ODD}name-that-this-numpy-has", "numpy", (), spoilt(real("numpy-1.23", "ctranslate2"), SILENCE, LISTENS), runs=script(), folder=PROJECT),
    Scene(f"{ODD}pkg-resources-if-there", "numpy", (), numpys(without_pkg_resources, project("train.py", f"{OPTIONAL}{NUMPY}\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}safe-path-and-pythonpath", "ctranslate2", (), ct2s(HELPERS, HELPED, variable("PYTHONSAFEPATH", "1"), variable("PYTHONPATH", str(PROJECT))), runs=script(), folder=PROJECT),
    Scene(f"{ODD}pth-file-of-the-prompt", "numpy", (), numpys(shared("cp1252"), project("train.py", "import fastthing\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}venv-or-dot-venv", "ctranslate2", (), spoilt(dot_venv, STARTS_CT2, project("run.bat", CHOOSES)), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}kernels-and-another-applications-python", "ctranslate2", (), ct2s(another_environment, anothers_python, kernel("ml", ML), kernel("tools", OTHER_ONE), notebook("transcribe.ipynb", "ml", BLAS), notebook("plots.ipynb", "tools", NUMPY), chosen(ML), project("run.bat", '@echo off\r\ncd /d "%~dp0"\r\n..\\ml\\Scripts\\python.exe -B train.py\r\n')), runs=batch(), folder=PROJECT),
)  # fmt: skip
