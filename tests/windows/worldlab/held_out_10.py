r"""The tenth held-out set: eighteen faults and twelve odd healthy machines. Committed before its first scan.

Written from public threads and the list of classes by somebody who had read the scenes' format and the earlier sets, and no rule. The
oracle starts the person's own command, or loads the framework's own DLLs.

Threads (github.com, OWNER/NAME/issues/NUMBER): microsoft/onnxruntime 21501 and 20049 (the provider with PyTorch beside it), 23674 and 28787
(preload_dlls and pip's NVIDIA wheels), 24120 and onnx/onnx 6267 (the C++ runtime), dmMaze/BallonsTranslator 621 and
QuentinFuxa/WhisperLiveKit 286 (cuDNN is in torch\lib alone), jhj0517/Whisper-WebUI 485 (CUDA and cuDNN of several releases),
OpenNMT/CTranslate2 1915 (one DLL is copied to where the message names it), Purfview/whisper-standalone-win 43 and 169,
AInseven/ComfyUI-fastblend 4 and kijai/ComfyUI-GIMM-VFI 17 (CuPy does not find nvrtc64_120_0.dll), Gourieff/comfyui-reactor-node 236 and
cubiq/ComfyUI_IPAdapter_plus 273 (onnxruntime has no attribute InferenceSession), database64128/youtube-dl-wpf 228 and
pyinstaller/pyinstaller 8377 (_internal\python3XX.dll is gone), astral-sh/ruff 26362 (a scanner deletes what pip has written),
AUTOMATIC1111/stable-diffusion-webui 1359, 2122 and 11176 (the Python of an environment is replaced), 6608 (VENV_DIR),
InstaPy/InstaPy 573 and Nandaka/PixivUtil2 801 (a task has no folder to start in), piyushK52/comfy_runner 12 and
OthersideAI/self-operating-computer 133 (`source` in cmd.exe), bitfumes/fastapi-course 7 (token.py), marcinz606/NegPy 441 and
aviveldan/datagov-mcp 5 (environments in OneDrive); and Microsoft's KB 26719 on spaces in `set`.
"""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, SYSTEM32, TOOLKITS, Machine, environment
from tests.windows.worldlab.held_out import FOR_LLAMA, LLAMA, llama
from tests.windows.worldlab.held_out_2 import (
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    OTHER_PYTHON,
    PATH_WRONG,
    PROJECT,
    PROVIDERS,
    REQUIREMENT,
    RUNTIME,
    STARTS_CT2,
    TWICE,
    VALUE,
    WHOLE,
    WRONG_ONE,
    batch,
    does,
    in_user_site,
    packages,
    project,
    script,
    task,
    then,
    whole_python,
)
from tests.windows.worldlab.held_out_3 import ct2s, numpys, within
from tests.windows.worldlab.held_out_8 import STARTS_WEBUI, WEBUI, thirteen
from tests.windows.worldlab.held_out_9 import dot_venv
from tests.windows.worldlab.modules import IMPORTS, aside, package
from tests.windows.worldlab.scenes import (
    ABSENT,
    BIN,
    BROKEN,
    FOR_CUPY,
    FOR_ORT,
    INTERNAL,
    MISSING,
    NO_CUDNN_PATH,
    NO_NVRTC,
    NOT_SEARCHED,
    ORT,
    OTHER_CUDA,
    PARTS,
    SHADOWED,
    TOOLKIT,
    Plant,
    Scene,
    bundled,
    gone,
    pip,
    required,
    spoilt,
    toolkit,
    torch,
    variable,
    venv,
    with_toolkit,
)

assert sys.platform == "win32"

MIXED, CUDNN_SHADOWED = "mixed_cudnn_sublibraries", "cudnn_shadowed"
TOOLS = HOME / "tools (old)"
CUDART_11 = TOOLKITS / "v11.8"
COPY = "-DESKTOP-7Q2LR1F"
"""What OneDrive puts behind the name of a file that two computers changed."""

OPENS_PROVIDER = """
import ctypes
import os
import sys

folder = os.path.join(os.path.dirname(onnxruntime.__file__), 'capi')
k = ctypes.WinDLL('kernel32', use_last_error=True)
k.LoadLibraryExW.restype = ctypes.c_void_p
number = 0
for name in ('onnxruntime_providers_shared.dll', 'onnxruntime_providers_cuda.dll'):
    ctypes.set_last_error(0)
    number = 0 if k.LoadLibraryExW(os.path.join(folder, name), None, 8) else ctypes.get_last_error()
print(number, flush=True)
os._exit(1 if number else 0)
"""
"""The first step of a session with CUDAExecutionProvider: its provider is loaded (by ONNX Runtime 1.23; an older one wants its session)."""

LOADS_ITS_DLLS = (
    "import ctypes, glob, os\n__version__ = '2.6.0+cu124'\nlib = os.path.join(os.path.dirname(__file__), 'lib')\n"
    "os.add_dll_directory(lib)\nfor name in glob.glob(os.path.join(glob.escape(lib), '*.dll')):\n    ctypes.CDLL(name)\n"
)
"""What torch/__init__.py does on Windows."""

ASKS_CUDNN = """
import ctypes
import sys

cudnn = ctypes.WinDLL('cudnn64_9.dll', winmode=0)
handle = ctypes.c_void_p()
for name in ('cudnnCreateTensorDescriptor', 'cudnnCreateConvolutionDescriptor', 'cudnnCreateRNNDescriptor'):
    if getattr(cudnn, name)(ctypes.byref(handle)):
        sys.exit(name)
"""
"""The first calls of any network: cudnn64_9.dll opens one of its parts for each, by its bare name. No GPU takes part."""


# --- machines ------------------------------------------------------------------------------------------------------------


def ort(*without: str) -> Callable[[Machine], Path]:
    """Return ONNX Runtime and NumPy that Python really imports, and a toolkit but for these wheels."""

    def build(m: Machine) -> Path:
        toolkit(m, *(w for w in FOR_ORT if w not in without))
        return packages(m, environment(m, "ml"), "numpy-1.26", "ort-1.20")

    return build


def ort_beside_torch(loads: str = "") -> Callable[[Machine], Path]:
    r"""Return a newer ONNX Runtime beside a PyTorch whose torch\lib has all that it needs; there is no toolkit."""

    def build(m: Machine) -> Path:
        site = torch(m)
        if loads:
            m.write(site / "torch\\__init__.py", loads)
        required(m, site, numpy=False)
        pip(m, site, "numpy-1.26", "ort-1.23")
        return site

    return build


def ort_and_wheels(*without: str) -> Callable[[Machine], Path]:
    """Return a newer ONNX Runtime with NVIDIA's wheels from pip, and no toolkit."""

    def build(m: Machine) -> Path:
        wheels = [w for w in FOR_ORT if w not in without]
        return packages(m, environment(m, "ml"), "numpy-1.26", "ort-1.23", *wheels)

    return build


def of_python_310(m: Machine) -> Path:
    """Install Python 3.11 over the folder of the 3.10 that an environment was made from."""
    site = packages(m, environment(m, "ml"), "numpy-1.26")
    for file in list(site.rglob("*.cp311-win_amd64.pyd")):
        m.place(file, file.with_name(file.name.replace("cp311", "cp310")))
        file.unlink()
    for name in ("RECORD", "WHEEL"):
        (file,) = site.glob(f"numpy-*.dist-info/{name}")
        m.write(file, file.read_bytes().replace(b"cp311", b"cp310"))
    return after_upgrade("3.10.11")(m, site)


def after_upgrade(made_with: str) -> Callable[[Machine, Path], Path]:
    """Let an environment's settings say that another release made it."""

    def plant(m: Machine, site: Path) -> Path:
        settings = site.parents[1] / "pyvenv.cfg"
        lines = settings.read_text(encoding="utf-8").splitlines()
        m.write(settings, "\n".join(f"version = {made_with}" if x.startswith("version") else x for x in lines) + "\n")
        return site

    return plant


def fastthing(needs: str, start: str) -> Callable[[Machine], Path]:
    """Return a package of an extension module, in a Python with NumPy 1.26."""

    def build(m: Machine) -> Path:
        site = whole_python(m, WHOLE, "numpy-1.26", "ctranslate2")
        return package(m, site, "plain", start=start, requires=needs)

    return build


def in_dot_venv(m: Machine) -> Path:
    """Keep the environment in the project's .venv."""
    return packages(m, environment(m, ".venv", home=PROJECT), "numpy-1.26", "ctranslate2")


def runtime_beside_python(m: Machine) -> Path:
    """Keep the C++ runtime beside python.exe, as conda does."""
    toolkit(m, *FOR_ORT)
    site = whole_python(m, WHOLE, "numpy-1.26", "ort-1.20")
    shutil.copyfile(SYSTEM32 / "msvcp140_1.dll", WHOLE / "msvcp140_1.dll")
    return site


# --- plants --------------------------------------------------------------------------------------------------------------


def one_file_of_cudnn(m: Machine, _made: Path) -> None:
    """Copy the one DLL that a message named into the toolkit."""
    m.place(m.cudnn("cudnn-9.28") / "cudnn64_9.dll", BIN / "cudnn64_9.dll")


def half_an_older_cudnn(m: Machine, _made: Path) -> None:
    """Copy cuDNN 9.1 over a newer one while a program holds the files that it had opened."""
    for name in ("cudnn_ops64_9.dll", "cudnn_cnn64_9.dll", "cudnn_adv64_9.dll"):
        m.place(m.cudnn("cudnn-9.1.0") / name, BIN / name)


def renamed_by_onedrive(m: Machine, site: Path) -> None:
    """Leave the file under the name of a conflict alone."""
    file = site / "ctranslate2\\ctranslate2.dll"
    file.rename(file.with_name(f"{file.stem}{COPY}.dll"))


def copies_of_onedrive(m: Machine, site: Path) -> None:
    """Leave copies of a conflict beside the files."""
    for name in ("ctranslate2\\version.py", "ctranslate2\\__init__.py", "numpy\\version.py"):
        file = site / name
        m.write(file.with_name(f"{file.stem}{COPY}{file.suffix}"), file.read_bytes())
    (module,) = site.glob("numpy\\core\\_multiarray_umath*.pyd")
    m.write(module.with_name(f"{module.stem}{COPY}.pyd"), b"MZ" + bytes(300))


def no_room(m: Machine, _made: Path) -> None:
    """Run out of disk space while an archive is unpacked."""
    m.write(LLAMA / "cublasLt64_12.dll", b"")


def empty_one_behind(m: Machine, _made: Path) -> None:
    """Keep an empty file of the same name in a folder that PATH names behind the toolkit."""
    toolkit(m, *FOR_LLAMA)
    m.write(TOOLS / "cublasLt64_12.dll", b"")
    m.path(TOOLS)


def damaged_python_on_path(m: Machine, _made: Path) -> None:
    """Put a folder with a damaged python311.dll first on PATH."""
    m.write(TOOLS / "python311.dll", b"MZ" + bytes(300))
    m.path(TOOLS, first=True)


def newer_toolkit_alone(m: Machine, made: Path) -> None:
    """Uninstall CUDA 12.4, which leaves its entry of PATH and its second variable, and install 13.0."""
    m.path(BIN, TOOLKIT / "libnvvp")
    m.variable("CUDA_PATH_V12_4", str(TOOLKIT), "machine")
    thirteen(m, made)


def newer_toolkit_too(m: Machine, made: Path) -> None:
    """Install CUDA 13.0 besides, and let CUDA_PATH name 12.4 again."""
    thirteen(m, made)
    m.variable("CUDA_PATH_V12_4", str(TOOLKIT), "machine")
    m.variable("CUDA_PATH", str(TOOLKIT), "machine")


def processor_build_removed(m: Machine, site: Path) -> None:
    """Let both builds have been installed, and uninstall the one for the processor: it takes the shared files along."""
    (record,) = Path(m.places["ort-cpu"]).glob("*.dist-info/RECORD")
    with record.open(newline="", encoding="utf-8") as rows:
        for row in csv.reader(rows):
            if row[0].startswith("onnxruntime/"):
                (site / row[0]).unlink(missing_ok=True)


def machines_python(m: Machine, _made: Path) -> None:
    """Install a Python for the whole machine, with other packages, and put it on PATH."""
    kept = list(m.pythons)
    whole_python(m, WHOLE, "numpy-1.26")
    m.pythons[:] = kept
    m.path(WHOLE, WHOLE / "Scripts", scope="user")


def default_environment(m: Machine, _made: Path) -> None:
    """Keep the environment that a web interface made first, which has other packages."""
    kept = list(m.pythons)
    packages(m, environment(m, "venv", home=PROJECT), "numpy-1.26")
    m.pythons[:] = kept


def webui_user(*lines: str) -> tuple[Plant, Plant]:
    """Return the two batch files of a web interface."""
    user = "\r\n".join(("@echo off", "", *lines, "", "call webui.bat", ""))
    return project("webui-user.bat", user), project("webui.bat", WEBUI)


TRANSCRIBES = project("train.py", f"import onnxruntime\n{OPENS_PROVIDER}")
AFTER_TORCH = project("train.py", f"import torch\nimport onnxruntime\n{OPENS_PROVIDER}")
PRELOADS = project("train.py", f"import onnxruntime\n\nonnxruntime.preload_dlls()\n{OPENS_PROVIDER}")
FIRST_CALLS = project("train.py", f"{PROVIDERS}\n{ASKS_CUDNN}")
TOKEN = "TOKEN = 'hf_xxxxxxxxxxxxxxxx'\n"
FROM_TOKEN = "import dataclasses\nimport inspect\n\nimport numpy\n\nfrom {module} import TOKEN\n\nassert TOKEN and inspect.getsource(dataclasses)\n"
NEW_NAMES = "from numpy.exceptions import AxisError\n"
RELATIVE = "@echo off\r\n.venv\\Scripts\\python.exe -B train.py\r\n"
NIGHTLY = task("Nightly training", "cmd.exe", f"/c {PROJECT}\\run.bat")
AS_A_TASK = within(SYSTEM32, str(PROJECT / "run.bat"))
"""A task that names no folder starts in System32."""

TEN, ODD = "held10-", "held10-healthy-"

HELD_OUT_10: tuple[Scene, ...] = (
    # A: a library is absent or unfit
    Scene(f"{TEN}cudnn-in-torch-alone", ORT, (NO_CUDNN_PATH, NOT_SEARCHED), spoilt(ort_beside_torch(), TRANSCRIBES), names="torch\\lib", runs=script(), folder=PROJECT),
    Scene(f"{TEN}cudnn-one-file-of-it", ORT, (PARTS, ABSENT, BROKEN), spoilt(ort("cudnn-9.28"), one_file_of_cudnn, FIRST_CALLS), names="64_9.dll", runs=script(), folder=PROJECT),
    Scene(f"{TEN}preload-without-cufft", ORT, (MISSING,), spoilt(ort_and_wheels("cufft-12"), PRELOADS), names="cufft64_11.dll", runs=script(), folder=PROJECT),
    Scene(f"{TEN}runtime-lacks-its-second-part", ORT, (RUNTIME,), spoilt(ort(), aside("msvcp140_1.dll")), names="msvcp140_1.dll", runs=does(PROVIDERS)),
    Scene(f"{TEN}onedrive-renamed-a-library", "ctranslate2", (BROKEN, HALF), ct2s(renamed_by_onedrive), names="ctranslate2.dll", runs=script(), folder=PROJECT),
    Scene(f"{TEN}bundle-lost-its-python", "bundle.exe", (BROKEN, HALF, ENVIRONMENT, MISSING, "system_library_missing", RUNTIME), spoilt(bundled(*FOR_ORT), gone(str(INTERNAL / "python311.dll"))), names="python311.dll", runs=lambda made: [str(made)]),
    Scene(f"{TEN}llama-unpacked-on-a-full-disk", "llama.exe", (BROKEN,), spoilt(llama(*FOR_LLAMA), no_room), names="cublasLt64_12.dll"),
    # B: all is there, and does not fit
    Scene(f"{TEN}cupy-after-a-new-toolkit", "cupy-13", (OTHER_CUDA, MISSING, NO_NVRTC, PATH_WRONG), spoilt(lambda m: venv(m, "cupy-13"), newer_toolkit_alone), names="64_12"),
    Scene(f"{TEN}cudnn-half-an-older-one", ORT, (MIXED, CUDNN_SHADOWED, SHADOWED, PARTS, BROKEN), spoilt(ort(), half_an_older_cudnn, FIRST_CALLS), names="64_9.dll", runs=script(), folder=PROJECT),
    Scene(f"{TEN}processor-build-uninstalled", ORT, (BROKEN, HALF, TWICE), spoilt(ort(), processor_build_removed, project("train.py", f"{PROVIDERS}\n")), names="onnxruntime-gpu", runs=script(), folder=PROJECT),
    Scene(f"{TEN}base-python-replaced", "numpy", (OTHER_PYTHON, ENVIRONMENT), then(of_python_310), names="cp310", runs=does("import numpy")),
    # C: Python finds another file
    Scene(f"{TEN}token-in-the-project", "numpy", (IN_THE_WAY,), numpys(project("token.py", TOKEN), project("train.py", FROM_TOKEN.format(module="token"))), names="project\\token.py", runs=script(), folder=PROJECT),
    Scene(f"{TEN}older-numpy-of-the-user", "numpy", (IN_THE_WAY, REQUIREMENT, "numpy_abi_mismatch"), spoilt(fastthing("numpy>=1.25", NEW_NAMES), in_user_site("numpy-1.23")), names="1.23.5", runs=does(IMPORTS, WHOLE / "python.exe")),
    # D: another way of starting
    Scene(f"{TEN}source-in-a-batch-file", "ctranslate2", (WRONG_ONE, NOT_INHERITED, ENVIRONMENT, REQUIREMENT), spoilt(dot_venv, STARTS_CT2, project("run.bat", '@echo off\r\ncd /d "%~dp0"\r\nsource .venv/bin/activate\r\npython -B train.py\r\n')), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{TEN}task-without-a-folder", "ctranslate2", (NOT_INHERITED, WRONG_ONE, ENVIRONMENT, VALUE), spoilt(in_dot_venv, STARTS_CT2, project("run.bat", RELATIVE), NIGHTLY), names="Nightly training", runs=AS_A_TASK, folder=PROJECT),
    # E: variables
    Scene(f"{TEN}space-in-a-variables-name", "ctranslate2", (VALUE, WRONG_ONE, REQUIREMENT, ENVIRONMENT), ct2s(machines_python, default_environment, *webui_user("set PYTHON=", f"set VENV_DIR = {HOME}\\ml", "set COMMANDLINE_ARGS=")), names="VENV_DIR", runs=lambda _s: STARTS_WEBUI, folder=PROJECT),
    Scene(f"{TEN}space-behind-a-seed", "ctranslate2", (VALUE, ENVIRONMENT), ct2s(project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\nset PYTHONHASHSEED=42 & {ML} -B train.py\r\n')), names="PYTHONHASHSEED", runs=batch(), folder=PROJECT),
    Scene(f"{TEN}cuda-path-is-a-list", "cupy-13", (PATH_WRONG, NOT_SEARCHED, VALUE), spoilt(with_toolkit("cupy-13", *FOR_CUPY), variable("CUDA_PATH", f"{TOOLKIT};{CUDART_11}")), names="CUDA_PATH"),
    # healthy
    Scene(f"{ODD}torch-first", ORT, (), spoilt(ort_beside_torch(LOADS_ITS_DLLS), AFTER_TORCH), runs=script(), folder=PROJECT),
    Scene(f"{ODD}preload", ORT, (), spoilt(ort_and_wheels(), PRELOADS), runs=script(), folder=PROJECT),
    Scene(f"{ODD}runtime-beside-python", ORT, (), spoilt(runtime_beside_python, aside("msvcp140_1.dll")), runs=does(PROVIDERS, WHOLE / "python.exe")),
    Scene(f"{ODD}copies-of-onedrive", "ctranslate2", (), ct2s(copies_of_onedrive), runs=script(), folder=PROJECT),
    Scene(f"{ODD}bundle-and-a-damaged-python", "bundle.exe", (), spoilt(bundled(*FOR_ORT), damaged_python_on_path), runs=lambda made: [str(made)]),
    Scene(f"{ODD}empty-library-behind", "llama.exe", (), spoilt(llama(), empty_one_behind)),
    Scene(f"{ODD}newer-toolkit-first-on-path", "cupy-13", (), spoilt(with_toolkit("cupy-13", *FOR_CUPY), newer_toolkit_too)),
    Scene(f"{ODD}base-python-of-another-patch", "ctranslate2", (), ct2s(after_upgrade("3.11.0")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}token-in-a-package", "numpy", (), numpys(project("app\\__init__.py", ""), project("app\\token.py", TOKEN), project("train.py", FROM_TOKEN.format(module="app.token"))), runs=script(), folder=PROJECT),
    Scene(f"{ODD}older-numpy-of-the-user", "numpy", (), spoilt(fastthing("numpy>=1.22", "from numpy import ones\n"), in_user_site("numpy-1.23")), runs=does(IMPORTS, WHOLE / "python.exe")),
    Scene(f"{ODD}task-without-a-folder", "ctranslate2", (), spoilt(in_dot_venv, STARTS_CT2, project("run.bat", RELATIVE.replace("off\r\n", 'off\r\ncd /d "%~dp0"\r\n')), NIGHTLY), runs=AS_A_TASK, folder=PROJECT),
    Scene(f"{ODD}spaces-that-do-not-matter", "ctranslate2", (), ct2s(machines_python, *webui_user("set PYTHON=", f"set VENV_DIR={HOME}\\ml", "set COMMANDLINE_ARGS = --listen", 'set "PYTHONHASHSEED=42" & set PYTHONUNBUFFERED=1')), runs=lambda _s: STARTS_WEBUI, folder=PROJECT),
)  # fmt: skip
