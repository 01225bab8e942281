r"""The fourth held-out set: machines as Windows users have them. Committed before its first scan.

Written from public threads and from the list of classes alone, by somebody who had read no rule, no probe and no message. The
oracle loads the framework's own DLLs, or starts the person's own command.

Threads: faster-whisper #1230 (NVIDIA's cuDNN installer puts ``bin`` on PATH and its DLLs into ``bin\12.8``), faster-whisper #535 and
RealtimeSTT #220 (cuBLAS renamed to the release that is asked for), numpy #19040 and #19053 (a virus scanner takes one module away),
UniGetUI #3381 and aye-chat #9 (``~umpy``: an upgrade that was denied), numpy #14755 and anaconda-issues #11504 and #10054 (conda's
Python without activation), torchcodec #1108 and #1143 and YouDub-webui #117 (FFmpeg of another release, or on PATH alone),
vscode-esp-idf #64 (PYTHONUTF8), conda #12976 and #10110 and constructor #572 (AutoRun of cmd.exe), onnxruntime #28812 and
markitdown #1266 (a C++ runtime that is older than a module needs), and whisper-standalone-win #62 (cuDNN's archive unpacked whole).
"""

from __future__ import annotations

import json
import sys
import winreg
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import CUDNN, HOME, TOOLKITS, Machine
from tests.windows.worldlab.held_out_2 import (
    ABI,
    BLAS,
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    OLD_SITE,
    OTHER_PYTHON,
    PATH_WRONG,
    REQUIREMENT,
    RUNTIME,
    STARTS_NUMPY,
    SYSTEM_PATH,
    VALUE,
    WRONG_ONE,
    another_environment,
    does,
    other_python,
    real,
    script,
    short_path,
    text,
    then,
    whole_python,
    with_variables,
)
from tests.windows.worldlab.held_out_3 import DESKTOP, IN_PROJECT, OTHER_ONE, ct2s, link, numpys, service, within
from tests.windows.worldlab.modules import SYSTEMS, alone
from tests.windows.worldlab.scenes import (
    ABSENT,
    BIN,
    BROKEN,
    FOR_CUPY,
    FOR_ORT,
    MISSING,
    NO_CUDNN_PATH,
    NOT_SEARCHED,
    ODD,
    OLD,
    ORT,
    OTHER_CUDA,
    PLAIN,
    SHADOWED,
    TOOLKIT,
    Plant,
    Scene,
    older,
    pip,
    program,
    spoilt,
    variable,
    with_toolkit,
    with_wheels,
)

assert sys.platform == "win32"

CONDA = HOME / "miniconda3\\envs\\ml"
FFMPEG = HOME / "ffmpeg\\bin"
MODELS = HOME / "models"
SOURCE = HOME / "src\\fastthing-src"
ARCHIVE = TOOLKIT / "cudnn-windows-x86_64-9.28.0.42_cuda12-archive\\bin"
PROMPT, ASSOCIATION = r"Software\Microsoft\Command Processor", r"Software\Classes\Python.File\shell\open\command"
FINDS_FFMPEG = (
    "import os, shutil\nfound = shutil.which('ffmpeg')\nif found:\n    os.add_dll_directory(os.path.dirname(found))\n"
)
"""What torchcodec does since its #1109."""
NEEDS_NEWER = """
import ctypes, sys
import fastthing
k = ctypes.WinDLL('kernel32')
k.GetModuleHandleW.restype = ctypes.c_void_p
k.GetProcAddress.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
sys.exit(0 if k.GetProcAddress(k.GetModuleHandleW('msvcp140_1.dll'), b'not_in_older_ones') else 127)
"""
"""Wine imports a module whose function its DLL lacks, which Windows refuses: it is looked up."""
IMPORTS = "import fastthing"


# --- libraries ---------------------------------------------------------------------------------------------------


def by_cudnns_installer(*on_path: str) -> Plant:
    r"""Install cuDNN as NVIDIA's installer does: its DLLs in bin\12.8."""

    def plant(m: Machine, _made: Path) -> None:
        m.place_all(m.cudnn("cudnn-9.28"), CUDNN / "v9.7\\bin\\12.8")
        m.path(*(CUDNN / each for each in on_path))

    return plant


def archive_as_it_is(m: Machine, _made: Path) -> None:
    """Unpack cuDNN's archive into the toolkit, with the archive's own folder."""
    m.place_all(m.cudnn("cudnn-9.28"), ARCHIVE)


def renamed(m: Machine, site: Path) -> None:
    """Give cuBLAS of CUDA 13 the name that is asked for."""
    (source,) = Path(m.places["cublas-13"]).rglob("cublas64_13.dll")
    m.place(source, site / "ctranslate2\\cublas64_12.dll")


def ffmpeg(release: int) -> Plant:
    """Unpack a shared FFmpeg, and put it on PATH."""

    def plant(m: Machine, _made: Path) -> None:
        name = f"avcodec-{release}.dll"
        m.place(Path(m.places["consumers"]) / "modules" / name, FFMPEG / name)
        m.place(Path(m.places["consumers"]) / "llama.exe", FFMPEG / "ffmpeg.exe")
        m.path(FFMPEG)

    return plant


def behind_the_machines(m: Machine, made: Path) -> None:
    """Let the person's PATH name the right toolkit: the machine's comes first, and names an older one."""
    short_path(m, made)
    older("cublasLt64_12.dll", OLD)(m, made)
    m.path(OLD)
    m.path(BIN, scope="user")


# --- packages ----------------------------------------------------------------------------------------------------


def upgrade_denied(m: Machine, site: Path) -> None:
    """Let pip be stopped after it had put the old NumPy aside: a program still held a module."""
    for folder in ("numpy", "numpy.libs", "numpy-1.26.4.dist-info"):
        (site / folder).rename(site / f"~{folder[1:]}")
    for file in [p for p in (site / "~umpy").rglob("*") if p.is_file() and p.suffix != ".pyd"]:
        file.unlink()


def remains(m: Machine, site: Path) -> None:
    """Leave a module of an earlier upgrade, and its metadata."""
    m.write(site / "~umpy\\core\\_multiarray_umath.cp311-win_amd64.pyd", b"MZ" + bytes(200))
    m.write(site / "~umpy-1.23.5.dist-info\\METADATA", "Metadata-Version: 2.1\nName: numpy\nVersion: 1.23.5\n")


def editable(source: Path, *, there: bool) -> Plant:
    """Install a package with ``pip install -e``; its folder may have been moved since."""

    def plant(m: Machine, site: Path) -> None:
        info = site / "fastthing-1.4.2.dist-info"
        name = "__editable__.fastthing-1.4.2.pth"
        m.write(site / name, f"{source}\\src\n")
        m.write(
            info / "METADATA", "Metadata-Version: 2.1\nName: fastthing\nVersion: 1.4.2\nRequires-Dist: ctranslate2\n"
        )
        m.write(info / "INSTALLER", "pip\n")
        m.write(
            info / "direct_url.json",
            json.dumps({"dir_info": {"editable": True}, "url": f"file:///{source.as_posix()}"}),
        )
        m.write(
            info / "RECORD", f"{name},,\n{info.name}/METADATA,,\n{info.name}/direct_url.json,,\n{info.name}/RECORD,,\n"
        )
        if there:
            m.write(source / "src\\fastthing\\__init__.py", "import numpy\n")

    return plant


def conda(m: Machine) -> Path:
    r"""Make a conda environment: what conda installs of CUDA's is in Library\bin, which activation puts on PATH."""
    site = whole_python(m, CONDA, "numpy-1.26")
    pip(m, site, "ctranslate2")
    version = ".".join(str(n) for n in sys.version_info[:3])
    m.write(CONDA / "conda-meta\\history", "")
    for name, number in (("python", version), ("libcublas", "12.4.5.8"), ("cuda-nvrtc", "12.4.127")):
        m.write(CONDA / f"conda-meta\\{name}-{number}-0.json", json.dumps({"name": name, "version": number}))
    for wheel in ("cublas-12", "nvrtc-12"):
        for file in Path(m.places[wheel]).glob("nvidia/*/bin/*.dll"):
            m.place(file, CONDA / "Library\\bin" / file.name)
    return site


def conda_on_path(m: Machine, _made: Path) -> None:
    """Put what activation would add on PATH for good."""
    m.path(CONDA, CONDA / "Library\\bin", CONDA / "Scripts", scope="user")


# --- how it is started -------------------------------------------------------------------------------------------


def key(path: str, **rows: str) -> Plant:
    """Write a key of the person's registry, with those above it that are not there."""

    def plant(m: Machine, _made: Path) -> None:
        parts = path.split("\\")
        for n in range(3, len(parts)):
            m.key(winreg.HKEY_CURRENT_USER, "\\".join(parts[:n]))
        m.key(winreg.HKEY_CURRENT_USER, path, **rows)

    return plant


def autorun(line: str) -> Plant:
    """Let cmd.exe run a line whenever it starts."""
    return key(PROMPT, AutoRun=line)


def by_double_click(python: Path) -> Plant:
    """Let Windows open .py files with a Python."""
    return key(ASSOCIATION, **{"": f'"{python}" "%1" %*'})


def in_a_prompt(first: str = "") -> Callable[[Path], list[str]]:
    """Return the start of the project's script in cmd.exe, after what AutoRun runs: wine's leaves that out with /c."""
    return lambda _site: ["cmd.exe", "/c", f"{first}{ML} -B {IN_PROJECT}"]


def users_toolkit(m: Machine, made: Path) -> None:
    """Let the person's own PATH alone name the toolkit."""
    short_path(m, made)
    m.path(BIN, scope="user")


def cut_in_models(m: Machine, _made: Path) -> None:
    """Leave an interrupted download among the models."""
    m.write(MODELS / "cublasLt64_12.dll", b"MZ" + bytes(300))
    m.write(MODELS / "model.bin", b"model")


def utf8(**rows: str) -> Plant:
    """Set the person's variables."""

    def plant(m: Machine, _made: Path) -> None:
        for name, value in rows.items():
            m.variable(name, value)

    return plant


ON_TOOLKIT = f"{BIN};{SYSTEM_PATH}"
SETS_OLD = text(HOME / "cmdrc.cmd", f"@echo off\nset PYTHONPATH={OLD_SITE}\n")
HOOK = r'if exist "C:\lab\gone\condabin\conda_hook.bat" "C:\lab\gone\condabin\conda_hook.bat"'
WITHOUT_CUDNN = tuple(name for name in FOR_ORT if name != "cudnn-9.28")
FOR_NETWORK = ("cudart-12", "cublas-12", "nvrtc-12")

HELD_OUT_4: tuple[Scene, ...] = (
    # A: absent or unfit
    Scene("held4-cudnn-installer-names-bin", "network.exe", (NO_CUDNN_PATH, NOT_SEARCHED), spoilt(program("network.exe", *FOR_NETWORK), by_cudnns_installer("v9.7\\bin")), names="bin\\12.8"),
    Scene("held4-cudnn-archive-unpacked-whole", ORT, (NO_CUDNN_PATH, NOT_SEARCHED, ABSENT), spoilt(with_toolkit("ort-1.20", *WITHOUT_CUDNN), archive_as_it_is), names="archive\\bin"),
    Scene("held4-numpy-module-quarantined", "numpy", (BROKEN, HALF), numpys(lambda _m, s: next(s.glob("numpy\\random\\_common*.pyd")).unlink()), names="_common", runs=does("import numpy.random")),
    Scene("held4-ffmpeg-of-another-release", "module", (SYSTEMS, MISSING, NOT_SEARCHED), then(alone("of_ffmpeg", start=FINDS_FFMPEG), ffmpeg(62)), names="avcodec-61.dll", runs=does(IMPORTS)),
    # B: does not fit
    Scene("held4-ct2-cublas-13-renamed", "ctranslate2", (OTHER_CUDA, SHADOWED, MISSING, BROKEN), spoilt(with_wheels("ctranslate2"), renamed), names="cublasLt64_13.dll"),
    Scene("held4-runtime-older-than-needed", "module", (RUNTIME, ABI), then(alone("older_runtime")), names="msvcp140_1.dll", runs=does(NEEDS_NEWER)),
    Scene("held4-users-path-behind-the-machines", "ctranslate2", (SHADOWED,), spoilt(with_toolkit("ctranslate2", "cublas-12", "nvrtc-12"), behind_the_machines), names=str(OLD)),
    # C: Python's search
    Scene("held4-numpy-upgrade-denied", "numpy", (HALF, REQUIREMENT, BROKEN), numpys(upgrade_denied), names="umpy", runs=does(NUMPY)),
    Scene("held4-editable-source-moved", "module", (ENVIRONMENT, BROKEN, HALF, IN_THE_WAY), numpys(editable(SOURCE, there=False)), names="fastthing-src", runs=does(IMPORTS)),
    # D: started otherwise
    Scene("held4-conda-not-activated", "ctranslate2", (NOT_SEARCHED, NOT_INHERITED, WRONG_ONE), spoilt(conda), names="Library\\bin", runs=does(BLAS, CONDA / "python.exe")),
    Scene("held4-service-without-the-users-path", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED, VALUE), ct2s(users_toolkit, service("Transcriber", f'"{ML}" "{IN_PROJECT}"', ObjectName="LocalSystem")), names="Transcriber", runs=with_variables(BLAS, PATH=SYSTEM_PATH), folder=HOME),
    Scene("held4-prompt-runs-an-old-line", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE), numpys(other_python, STARTS_NUMPY, SETS_OLD, autorun(str(HOME / "cmdrc.cmd"))), names=str(HOME / "old"), runs=in_a_prompt(f"call {HOME}\\cmdrc.cmd & "), folder=HOME),
    Scene("held4-double-click-another-python", "ctranslate2", (WRONG_ONE, REQUIREMENT), ct2s(another_environment, by_double_click(OTHER_ONE)), names="tools", runs=script(python=OTHER_ONE), folder=HOME),
    Scene("held4-shortcut-starts-beside-a-cut-dll", "light.exe", (BROKEN,), spoilt(program("light.exe", "cublas-12"), cut_in_models, link(DESKTOP, "Light", HOME / "app\\light.exe", "", MODELS)), names=str(MODELS), runs=within(MODELS, str(HOME / "app\\light.exe")), folder=HOME),
    # E: variables
    Scene("held4-utf8-mode-true", "numpy", (VALUE,), numpys(utf8(PYTHONUTF8="true")), names="PYTHONUTF8", runs=does(NUMPY)),
    Scene("held4-cuda-path-of-a-removed-toolkit", "cupy-13", (PATH_WRONG, NOT_SEARCHED), spoilt(with_toolkit("cupy-13", *FOR_CUPY), variable("CUDA_PATH", str(TOOLKITS / "v11.8"))), names="v11.8"),
    # healthy and odd
    Scene("held4-healthy-cudnn-installer-and-its-folder", "network.exe", (), spoilt(program("network.exe", *FOR_NETWORK), by_cudnns_installer("v9.1\\bin", "v9.7\\bin", "v9.7\\bin\\12.8"))),
    Scene("held4-healthy-ffmpeg-found-by-the-package", "module", (), then(alone("of_ffmpeg", start=FINDS_FFMPEG, home=ODD), ffmpeg(61)), runs=does(IMPORTS)),
    Scene("held4-healthy-conda-on-path", "ctranslate2", (), spoilt(conda, conda_on_path), runs=does(BLAS, CONDA / "python.exe")),
    Scene("held4-healthy-service-with-the-machines-path", "ctranslate2", (), ct2s(service("Transcriber", f'"{ML}" "{IN_PROJECT}"', ObjectName="LocalSystem"), lambda m, _s: m.path("%USERPROFILE%\\bin", "C:\\Gone", scope="user")), runs=with_variables(BLAS, PATH=ON_TOOLKIT), folder=HOME),
    Scene("held4-healthy-prompt-and-double-click", "ctranslate2", (), ct2s(another_environment, autorun(HOOK), by_double_click(ML), utf8(PYTHONUTF8="1", PYTHONIOENCODING="utf-8", PYTHONHASHSEED="0")), runs=in_a_prompt(), folder=HOME),
    Scene("held4-healthy-remains-and-editable", "ctranslate2", (), spoilt(real("numpy-1.26", "ctranslate2"), remains, editable(PLAIN / "fastthing-src", there=True)), runs=does(f"{BLAS}; import fastthing")),
)  # fmt: skip
