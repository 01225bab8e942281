r"""The eighth held-out set: thirteen faults and eleven odd healthy machines. Committed before its first scan.

Written from public threads by somebody who knows the code. The oracle starts the person's own command, or loads the framework's own DLLs.

Threads: llama-cpp-python #1077 and its pull request #2349 (a toolkit that CUDA_PATH names is gone, and `import llama_cpp` ends with
WinError 3), one-click-installers #73 (the folder below it is not there), stable-diffusion-webui #7397 (PYTHON= of webui-user.bat) and
#16696, ComfyUI #6998 (pip.exe of the portable Python names the folder of the machine that built it), #5461 (a package went to another
Python), #10687 and #2350 (a new embeddable Python knows nothing of the folder of main.py), one-click-installers #87 (a virus scanner takes
python.exe away), setuptools #3937 and cpython #77102 (a path in UTF-8 in a .pth file), opendrift #333 and conda #794 (activation without
`call`), faster-whisper #85 and #1080 (cuDNN of another generation copied by hand), sd-webui-reactor #63 (a build without CUDA).
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, TOOLKITS, Machine, environment
from tests.windows.worldlab.held_out_2 import (
    BLAS,
    ENVIRONMENT,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    PATH_WRONG,
    PROJECT,
    PROVIDERS,
    REQUIREMENT,
    STARTS_CT2,
    VALUE,
    WHOLE,
    WRONG_ONE,
    Plant,
    batch,
    cublas_toolkit,
    does,
    packages,
    project,
    real,
    short_path,
    text,
    whole_python,
)
from tests.windows.worldlab.held_out_3 import ct2s
from tests.windows.worldlab.held_out_4 import editable
from tests.windows.worldlab.held_out_6 import EMBEDED, PORTABLE, comfy
from tests.windows.worldlab.scenes import (
    ABSENT,
    BIN,
    BROKEN,
    FOR_ORT,
    MISSING,
    NOT_SEARCHED,
    OLD,
    ORT,
    PLAIN,
    Scene,
    older,
    program,
    spoilt,
    toolkit,
    torch,
    variable,
    with_toolkit,
)

assert sys.platform == "win32"

OTHER_MAJOR, NO_GPU_BUILD = "cudnn_major_mismatch", "framework_cpu_only_build"
LLAMA = "import llama_cpp"
LOADER = """import ctypes
import os
import pathlib
import sys


def load_shared_library(lib_base_name, base_path):
    lib_path = base_path / f"{lib_base_name}.dll"
    cdll_args = dict()
    if sys.platform == "win32":
        os.add_dll_directory(str(base_path))
        os.environ["PATH"] = str(base_path) + os.pathsep + os.environ["PATH"]
    if sys.platform == "win32" and sys.version_info >= (3, 8):
        os.add_dll_directory(str(base_path))
        if "CUDA_PATH" in os.environ:
            os.add_dll_directory(os.path.join(os.environ["CUDA_PATH"], "bin"))
            os.add_dll_directory(os.path.join(os.environ["CUDA_PATH"], "lib"))
        cdll_args["winmode"] = ctypes.RTLD_GLOBAL
    try:
        return ctypes.CDLL(str(lib_path), **cdll_args)
    except Exception as e:
        raise RuntimeError(f"Failed to load shared library '{lib_path}': {e}")
"""
"""What llama_cpp/_ctypes_extensions.py of 0.3.16 does on Windows."""
LLAMAS = (
    "import os\nimport pathlib\n\nfrom llama_cpp._ctypes_extensions import load_shared_library\n\n"
    '_base_path = pathlib.Path(os.path.abspath(os.path.dirname(__file__))) / "lib"\n_lib = load_shared_library("llama", _base_path)\n'
)


# --- what is installed ---------------------------------------------------------------------------------------------------


def llama(*wheels: str, libraries: bool = True) -> Callable[[Machine], Path]:
    """Return llama-cpp-python's wheel for CUDA 12, and a toolkit. ``libraries``: the toolkit has the folder lib."""

    def build(m: Machine) -> Path:
        site = environment(m, "ml")
        consumer = Path(m.places["consumers"]) / "ggml-cuda.dll"
        for name in ("ggml-cuda.dll", "llama.dll"):
            m.place(consumer, site / "llama_cpp\\lib" / name)
        for wheel in wheels:
            for file in Path(m.places[wheel]).glob("nvidia/*/bin/cu*.dll"):
                m.place(file, site / "llama_cpp\\lib" / file.name)
        m.write(site / "llama_cpp\\__init__.py", "from .llama_cpp import *\n\n__version__ = '0.3.16'\n")
        m.write(site / "llama_cpp\\llama_cpp.py", LLAMAS)
        m.write(site / "llama_cpp\\_ctypes_extensions.py", LOADER)
        info = site / "llama_cpp_python-0.3.16.dist-info"
        m.write(info / "METADATA", "Metadata-Version: 2.1\nName: llama_cpp_python\nVersion: 0.3.16\n")
        m.write(info / "INSTALLER", "pip\n")
        files = [p for p in sorted((site / "llama_cpp").rglob("*")) if p.is_file()]
        rows = [f"{p.relative_to(site).as_posix()},,{p.stat().st_size}\n" for p in files]
        m.write(info / "RECORD", "".join((*rows, f"{info.name}/METADATA,,\n", f"{info.name}/RECORD,,\n")))
        toolkit(m, "cublas-12", "cudart-12", on_path=not wheels)
        if libraries:
            m.write(BIN.parent / "lib\\x64\\cudart.lib", b"!<arch>\n")
        return site

    return build


def portable(*wheels: str) -> Callable[[Machine], Path]:
    """Return the portable ComfyUI with these packages alone."""

    def build(m: Machine) -> Path:
        site = whole_python(m, EMBEDED, *wheels)
        m.write(EMBEDED / "python311._pth", "../ComfyUI\npython311.zip\nLib\nDLLs\n.\nimport site\n")
        m.write(PORTABLE / "ComfyUI\\main.py", f"import folder_paths\n{BLAS}\n")
        m.write(PORTABLE / "ComfyUI\\folder_paths.py", "models = 'models'\n")
        m.write(PORTABLE / "run_nvidia_gpu.bat", ".\\python_embeded\\python.exe -s ComfyUI\\main.py\r\n")
        return site

    return build


STARTS_PORTABLE = ["cmd.exe", "/c", f"cd /d {PORTABLE} && run_nvidia_gpu.bat"]


def in_another_python(m: Machine, _made: Path) -> None:
    """Install the package with the pip that PATH finds: it goes to the Python of the machine."""
    kept = list(m.pythons)
    whole_python(m, WHOLE, "numpy-1.26", "ctranslate2")
    m.path(WHOLE, WHOLE / "Scripts", scope="user")
    m.pythons[:] = kept


def launcher(target: Path, python: Path | str, code: str = BLAS) -> Plant:
    """Write a program as pip makes it for a package's command: a launcher, the interpreter's path, and the code."""

    def plant(m: Machine, _made: Path) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("__main__.py", f"{code}\n")
        line = f'#!"{python}"\n' if " " in str(python) else f"#!{python}\n"
        m.write(target, Path(m.places["launcher"]).read_bytes() + line.encode() + packed.getvalue())

    return plant


def by_uv(m: Machine) -> Path:
    """Make an environment as uv does, of a Python that uv brought."""
    base = HOME / "uv\\python\\cpython-3.11.9-windows-x86_64-none"
    whole_python(m, base)
    m.write(base / "Lib\\EXTERNALLY-MANAGED", "[externally-managed]\nError=This Python is managed by uv\n")
    m.pythons.clear()
    site = environment(m, "ml")
    version = ".".join(str(n) for n in sys.version_info[:3])
    settings = f"home = {base}\nimplementation = CPython\nuv = 0.9.2\nversion_info = {version}\ninclude-system-site-packages = false\n"
    m.write(HOME / "ml\\pyvenv.cfg", settings)
    m.write(site / "_virtualenv.pth", "import _virtualenv")
    m.write(site / "_virtualenv.py", "import os\n")
    return packages(m, site, "numpy-1.26", "ctranslate2")


# --- faults --------------------------------------------------------------------------------------------------------------


def cudnn_8_by_hand(m: Machine, _made: Path) -> None:
    """Copy the DLLs of cuDNN 8 into the toolkit."""
    m.place_all(m.cudnn("cudnn-8.9.5"), BIN)


def leading_space(m: Machine, made: Path) -> None:
    """Type a space after the semicolon."""
    short_path(m, made)
    m.path(f" {BIN}")


def activation(m: Machine, _made: Path) -> None:
    """Write the file that venv makes."""
    lines = ("@echo off", f"set VIRTUAL_ENV={HOME}\\ml", "set PATH=%VIRTUAL_ENV%\\Scripts;%PATH%")
    m.write(HOME / "ml\\Scripts\\activate.bat", "\r\n".join(lines) + "\r\n")


def must_leave(name: str) -> Callable[[Path], list[str]]:
    """Return the start of run.bat; it failed where its script has not left a file."""
    code = (
        f"import os, subprocess, sys; r = subprocess.run(['cmd.exe', '/c', {str(PROJECT / 'run.bat')!r}]).returncode; "
        f"sys.exit(r or not os.path.exists({str(PROJECT / name)!r}))"
    )
    return lambda _site: [sys.executable, "-I", "-S", "-c", code]


LEAVES = project("train.py", f"{BLAS}\nopen(r'{PROJECT}\\done.txt', 'w').write('done')\n")
WEBUI_USER = "@echo off\r\n\r\nset PYTHON={python}\r\nset GIT=\r\nset VENV_DIR={folder}\r\nset COMMANDLINE_ARGS=\r\n\r\ncall webui.bat\r\n"
WEBUI = (
    '@echo off\r\n\r\nif not defined PYTHON (set PYTHON=python)\r\nif not defined VENV_DIR (set "VENV_DIR=%~dp0%venv")\r\n\r\n'
    'mkdir tmp 2>NUL\r\n\r\n%PYTHON% -c "" >tmp/stdout.txt 2>tmp/stderr.txt\r\nif %ERRORLEVEL% == 0 goto :start_venv\r\n'
    'echo Couldn\'t launch python\r\nexit /b 1\r\n\r\n:start_venv\r\nif ["%VENV_DIR%"] == ["-"] goto :launch\r\n'
    'set PYTHON="%VENV_DIR%\\Scripts\\Python.exe"\r\n\r\n:launch\r\n%PYTHON% -B train.py %*\r\n'
)
STARTS_WEBUI = ["cmd.exe", "/c", f"cd /d {PROJECT} && webui-user.bat"]


def webui(python: str, folder: Path | str) -> tuple[Plant, ...]:
    """Return the two batch files of a web interface."""
    return project("webui-user.bat", WEBUI_USER.format(python=python, folder=folder)), project("webui.bat", WEBUI)


def in_utf_8(source: Path) -> Plant:
    """Install a package with ``pip install -e``, whose path stands in UTF-8 in the .pth file."""

    def plant(m: Machine, site: Path) -> None:
        m.variable("PYTHONUTF8", "0")
        editable(source, there=True)(m, site)

    return plant


def in_code_page(source: Path) -> Plant:
    """The same, with the path in the code page that Python reads such files in."""

    def plant(m: Machine, site: Path) -> None:
        m.variable("PYTHONUTF8", "0")
        editable(source, there=True)(m, site)
        file = site / "__editable__.fastthing-1.4.2.pth"
        m.write(file, file.read_bytes().decode().encode("cp1252"))

    return plant


def ollama(*without: str) -> Callable[[Machine], Path]:
    """Return Ollama's folder with its own DLLs of CUDA, but these."""

    def build(m: Machine) -> Path:
        folder = HOME / "Programs\\Ollama"
        own = folder / "lib\\ollama\\cuda_v12"
        m.place(Path(m.places["consumers"]) / "ggml-cuda.dll", own / "ggml-cuda.dll")
        for wheel in ("cublas-12", "cudart-12"):
            for file in Path(m.places[wheel]).glob("nvidia/*/bin/cu*.dll"):
                if file.name not in without:
                    m.place(file, own / file.name)
        return m.place(Path(m.places["consumers"]) / "ollama.exe", folder / "ollama.exe")

    return build


# --- healthy -------------------------------------------------------------------------------------------------------------


def thirteen(m: Machine, _made: Path) -> None:
    """Install the newest toolkit, which PyTorch's own DLLs do not need."""
    for file in Path(m.places["cublas-13"]).rglob("*.dll"):
        m.place(file, TOOLKITS / "v13.0\\bin\\x64" / file.name)
    m.write(TOOLKITS / "v13.0\\version.json", '{"cuda": {"name": "CUDA SDK", "version": "13.0.2"}}\n')
    m.variable("CUDA_PATH", str(TOOLKITS / "v13.0"), "machine")
    m.variable("CUDA_PATH_V13_0", str(TOOLKITS / "v13.0"), "machine")
    m.path(TOOLKITS / "v13.0\\bin", TOOLKITS / "v13.0\\bin\\x64", first=True)


def own_ones_beside(m: Machine, made: Path) -> None:
    """Bring the DLLs along, as LM Studio does, on a machine whose PATH has an older one first."""
    for file in Path(m.places["cublas-12"]).glob("nvidia/cublas/bin/cublas*.dll"):
        m.place(file, made.parent / file.name)
    older("cublasLt64_12.dll", OLD, on_path=True)(m, made)


def odd_entries(m: Machine, _made: Path) -> None:
    """Keep entries with spaces around them, and one of a folder with special characters."""
    m.write(HOME / "A & B (x86)\\tool.exe", b"MZ")
    m.path(" C:\\Gone Tools\\bin", "C:\\Windows\\System32 ", HOME / "A & B (x86)", scope="user")


CALLS = (
    '@echo off\r\ncd /d "%~dp0"\r\nif exist "C:\\lab\\A & B (x86)" (\r\n  set "EXTRA=C:\\lab\\A & B (x86)"\r\n)\r\n'
    f"call {HOME}\\ml\\Scripts\\activate.bat\r\npython -B train.py\r\nif errorlevel 1 exit /b 1\r\n"
)
WITHOUT_CALL = f'@echo off\r\ncd /d "%~dp0"\r\n{HOME}\\ml\\Scripts\\activate.bat\r\npython -B train.py\r\n'

EIGHT, ODD = "held8-", "held8-healthy-"

HELD_OUT_8: tuple[Scene, ...] = (
    Scene(f"{EIGHT}llama-cuda-path-is-gone", "llama", (PATH_WRONG, VALUE), spoilt(llama("cublas-12", "cudart-12"), variable("CUDA_PATH", str(TOOLKITS / "v11.2"))), names="v11.2", runs=does(LLAMA)),
    Scene(f"{EIGHT}llama-toolkit-without-lib", "llama", (PATH_WRONG, VALUE, BROKEN), spoilt(llama(libraries=False)), names="v12.4\\lib", runs=does(LLAMA)),
    Scene(f"{EIGHT}webui-python-is-gone", "ctranslate2", (ENVIRONMENT, WRONG_ONE, VALUE), ct2s(*webui("C:\\Python310\\python.exe", HOME / "ml")), names="C:\\Python310", runs=lambda _s: STARTS_WEBUI, folder=PROJECT),
    Scene(f"{EIGHT}command-of-a-moved-environment", "ctranslate2", (ENVIRONMENT, WRONG_ONE), ct2s(launcher(HOME / "ml\\Scripts\\transcribe.exe", "C:\\before\\ml\\Scripts\\python.exe"), project("run.bat", f"@{HOME}\\ml\\Scripts\\transcribe.exe %*\r\n")), names="transcribe.exe", runs=batch(), folder=PROJECT),
    Scene(f"{EIGHT}cudnn-8-copied-by-hand", ORT, (OTHER_MAJOR, ABSENT), spoilt(with_toolkit("ort-1.20", *(w for w in FOR_ORT if w != "cudnn-9.28")), cudnn_8_by_hand), names="8.9.5"),
    Scene(f"{EIGHT}space-before-an-entry", "blas.exe", (NOT_SEARCHED, VALUE), spoilt(program("blas.exe", "cublas-12"), leading_space), names=f" {BIN}"),
    Scene(f"{EIGHT}build-without-cuda", ORT, (NO_GPU_BUILD,), spoilt(real("numpy-1.26", "ort-cpu"), project("train.py", f"{PROVIDERS}\n")), names="onnxruntime", runs=does(PROVIDERS), folder=PROJECT),
    Scene(f"{EIGHT}portable-lacks-what-another-python-has", "ctranslate2", (REQUIREMENT, WRONG_ONE, ENVIRONMENT), spoilt(portable("numpy-1.26"), lambda m, _s: toolkit(m, "cublas-12", "nvrtc-12", "cudnn-9.28"), in_another_python), names="ctranslate2", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{EIGHT}portable-with-a-new-python", "ctranslate2", (ENVIRONMENT, IN_THE_WAY, REQUIREMENT), spoilt(comfy, text(EMBEDED / "python311._pth", "python311.zip\nLib\nDLLs\n.\n\nimport site\n")), names="python311._pth", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{EIGHT}python-taken-away", "ctranslate2", (ENVIRONMENT, BROKEN), ct2s(lambda _m, _s: ML.unlink(), project("run.bat", f"@{ML} -B train.py\r\n")), names="Scripts\\python.exe", runs=batch(), folder=PROJECT),
    Scene(f"{EIGHT}editable-path-in-utf-8", "numpy", (ENVIRONMENT, BROKEN, REQUIREMENT), spoilt(real("numpy-1.26", "ctranslate2"), in_utf_8(HOME / "Müller\\fastthing"), project("train.py", "import fastthing\n")), names="__editable__.fastthing-1.4.2.pth", runs=does("import fastthing"), folder=PROJECT),
    Scene(f"{EIGHT}activation-without-call", "ctranslate2", (NOT_INHERITED, WRONG_ONE), spoilt(cublas_toolkit, activation, LEAVES, project("run.bat", WITHOUT_CALL)), names="run.bat", runs=must_leave("done.txt"), folder=PROJECT),
    Scene(f"{EIGHT}ollama-update-lost-a-half", "ollama.exe", (MISSING, BROKEN), spoilt(ollama("cublasLt64_12.dll")), names="cublasLt64_12.dll", runs=lambda made: [str(made)]),
    # healthy and odd
    Scene(f"{ODD}llama-and-a-toolkit-on-path", "llama", (), spoilt(llama()), runs=does(LLAMA)),
    Scene(f"{ODD}portable-with-its-builders-pip", "ctranslate2", (), spoilt(comfy, launcher(EMBEDED / "Scripts\\pip.exe", "D:\\a\\ComfyUI\\python_embeded\\python.exe"), launcher(EMBEDED / "Scripts\\f2py.exe", "D:\\a\\ComfyUI\\python_embeded\\python.exe")), runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{ODD}activation-with-call", "ctranslate2", (), spoilt(cublas_toolkit, activation, LEAVES, project("run.bat", CALLS), project("prompt.bat", f"@{HOME}\\ml\\Scripts\\activate.bat\r\n"), project("shell.bat", f"@cmd /k {HOME}\\ml\\Scripts\\activate.bat\r\n")), runs=must_leave("done.txt"), folder=PROJECT),
    Scene(f"{ODD}webui-without-an-environment", "ctranslate2", (), spoilt(lambda m: whole_python(m, WHOLE, "numpy-1.26", "ctranslate2"), STARTS_CT2, *webui(f'"{WHOLE}\\python.exe"', "-")), runs=lambda _s: STARTS_WEBUI, folder=PROJECT),
    Scene(f"{ODD}own-cuda-and-the-newest-toolkit", "torch", (), spoilt(lambda m: torch(m, PLAIN), thirteen)),
    Scene(f"{ODD}cudnn-of-two-generations", ORT, (), spoilt(with_toolkit("ort-1.20", *FOR_ORT), cudnn_8_by_hand)),
    Scene(f"{ODD}environment-of-uv", "ctranslate2", (), spoilt(by_uv, STARTS_CT2, launcher(HOME / "ml\\Scripts\\f2py.exe", ML)), runs=does(f"{BLAS}; {NUMPY}"), folder=PROJECT),
    Scene(f"{ODD}program-with-its-own", "blas.exe", (), spoilt(program("blas.exe", on_path=False), own_ones_beside)),
    Scene(f"{ODD}editable-path-in-the-code-page", "numpy", (), spoilt(real("numpy-1.26", "ctranslate2"), in_code_page(HOME / "Müller\\fastthing"), project("train.py", "import fastthing\n")), runs=does("import fastthing"), folder=PROJECT),
    Scene(f"{ODD}entries-with-spaces", "ctranslate2", (), ct2s(odd_entries), runs=does(BLAS), folder=PROJECT),
    Scene(f"{ODD}ollama", "ollama.exe", (), spoilt(ollama(), older("cublasLt64_12.dll", OLD, on_path=True)), runs=lambda made: [str(made)]),
)  # fmt: skip
