r"""The thirteenth held-out set: fifteen faults drawn as the field has them, and ten healthy odd machines. Committed before its first scan.

Blind: written from public threads, by somebody who had read the scenes' format and the builders of earlier sets, nothing of the product's
code but its list of causes. Only the oracle had run. A fault that an earlier set has is neither sought nor avoided. Eight of the healthy
machines are innocent twins of a fault.

Threads (github.com, OWNER/NAME/issues/NUMBER): JamePeng/llama-cpp-python 14 and 29 (ggml.dll "or one of its dependencies"),
benmaster82/writher 21, KoljaB/RealtimeSTT 220 and SYSTRAN/faster-whisper 1080 (pip's NVIDIA wheels and cublas64_12.dll),
pandas-dev/pandas 54120 with AUTOMATIC1111/stable-diffusion-webui 11772 (a virus scanner takes one .pyd away),
microsoft/onnxruntime 20049 (the provider with a toolkit of another CUDA), AUTOMATIC1111/stable-diffusion-webui 1252 and abetlen/llama-cpp-python
409 (a build without CUDA), lldacing/ComfyUI_PuLID_Flux_ll 39, tungdop2/Comfyui_joy-caption-alpha-two 5 and Comfy-Org/ComfyUI 8938
(huggingface-hub and transformers), m-bain/whisperX 836 and 392 (whisperx.py), sipie800/ComfyUI-PuLID-Flux-Enhanced 16 and
if-ai/ComfyUI-IF_AI_tools 117 (Numba needs NumPy 1.24 or less), Softcatala/whisper-ctranslate2 27 and 41 (copies of cuDNN's files here and
there), AUTOMATIC1111/stable-diffusion-webui 1359, 4484, 8489 and 11176 (No Python at), Pikurrot/whisper-gui 40 (a batch file, conda and
another Python), Nerogar/OneTrainer 11, invoke-ai/InvokeAI 745 and AUTOMATIC1111/stable-diffusion-webui 6760 (a blank in a folder's name),
cupy/cupy 3403 and 8384 (CUDA_PATH is not set), OpenMOSS/MOSS-TTS-Nano 23 (HF_HOME), and the questions about PYTHONPATH and an older Python.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, SYSTEM32, Machine, environment
from tests.windows.worldlab.held_out_2 import (
    ABI,
    BLAS,
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    NOT_INHERITED,
    NUMPY,
    OTHER_PYTHON,
    PATH_WRONG,
    PROJECT,
    PROVIDERS,
    REQUIREMENT,
    STARTS_CT2,
    STARTS_NUMPY,
    TORCHS,
    TWICE,
    VALUE,
    WRONG_ONE,
    batch,
    does,
    in_user_site,
    other_python,
    packages,
    project,
    real,
    script,
    short_path,
    then,
    whole_python,
    without_gpu,
)
from tests.windows.worldlab.held_out_3 import ct2s, numpys
from tests.windows.worldlab.held_out_4 import CONDA, conda
from tests.windows.worldlab.held_out_6 import PORTABLE
from tests.windows.worldlab.held_out_8 import LLAMA, NO_GPU_BUILD, STARTS_PORTABLE, activation, llama, portable
from tests.windows.worldlab.held_out_9 import wheels_alone
from tests.windows.worldlab.held_out_10 import CUDNN_SHADOWED, FIRST_CALLS, MIXED, machines_python, ort
from tests.windows.worldlab.held_out_11 import installed, users
from tests.windows.worldlab.held_out_12 import FASTER_WHISPER, FETCHES, HUB
from tests.windows.worldlab.scenes import (
    BROKEN,
    FOR_CUPY,
    FOR_ORT,
    MISSING,
    NOT_SEARCHED,
    ORT,
    OTHER_CUDA,
    PARTS,
    SHADOWED,
    TOOLKIT,
    Plant,
    Scene,
    spoilt,
    toolkit,
    variable,
    venv,
    with_toolkit,
)

assert sys.platform == "win32"

CHARACTERS, DLL_SEARCH = "install_path_characters", "python_dll_search_change"
ART = HOME / "AI Art\\OneTrainer"
BASE = CONDA.parents[1]
OLD_310 = HOME / "Python310\\Lib\\site-packages"
OLD_USERS = r"C:\Users\Mirko\AppData\Local\Programs\Python\Python311"
"""Where Python was, for a person who has another name since Windows was installed again."""
WEBUI = HOME / "Whisper-WebUI"
WHEELS = HOME / "ml\\Lib\\site-packages\\nvidia"


# --- packages ------------------------------------------------------------------------------------------------------------

WHISPERX = installed(
    "whisperx", "3.3.1",
    {
        "whisperx\\__init__.py": "from whisperx.asr import load_model\n",
        "whisperx\\asr.py": "import ctranslate2\n\n\ndef load_model(name, device='cuda'):\n"
        "    return ctranslate2.get_supported_compute_types('cpu')\n",
    },
    "ctranslate2>=4.5.0", "faster-whisper>=1.1.1",
)  # fmt: skip
TRANSFORMERS = installed(
    "transformers", "4.48.0",
    {
        "transformers\\__init__.py": "from . import dependency_versions_check\n\n\nclass CLIPTokenizer:\n    pass\n",
        "transformers\\dependency_versions_check.py": "import importlib.metadata\n\nfound = importlib.metadata.version('huggingface-hub')\n"
        "if not (0, 24) <= tuple(int(n) for n in found.split('.')[:2]) < (1, 0):\n"
        "    raise ImportError('huggingface-hub>=0.24.0,<1.0 is required for a normal functioning of this module, '\n"
        "                      f'but found huggingface-hub=={found}.')\n",
    },
    "huggingface-hub<1.0,>=0.24.0", "numpy>=1.17", "pyyaml>=5.1",
)  # fmt: skip
"""It compares the releases when it is imported."""
LLVMLITE = installed("llvmlite", "0.40.1", {"llvmlite\\__init__.py": "__version__ = '0.40.1'\n"})
NUMBA = installed(
    "numba", "0.57.1",
    {
        "numba\\__init__.py": "def _ensure_critical_deps():\n    import numpy\n\n"
        "    if tuple(int(n) for n in numpy.__version__.split('.')[:2]) > (1, 24):\n"
        "        raise ImportError('Numba needs NumPy 1.24 or less')\n\n\n_ensure_critical_deps()\n",
    },
    "llvmlite<0.41,>=0.40.0dev0", "numpy<1.25,>=1.21",
)  # fmt: skip
LIBROSA = installed(
    "librosa", "0.10.1", {"librosa\\__init__.py": "import numba\nimport numpy\n"}, "numba>=0.51.0", "numpy>=1.20.3"
)


def hub(version: str) -> Plant:
    """Install a release of huggingface_hub."""
    return installed("huggingface_hub", version, {"huggingface_hub\\__init__.py": f"__version__ = '{version}'\n"})


# --- machines ------------------------------------------------------------------------------------------------------------


def conda_with_librosa(m: Machine) -> Path:
    """Make a conda environment with Numba, and the NumPy that it knows."""
    site = whole_python(m, CONDA, "numpy-1.23")
    version = ".".join(str(n) for n in sys.version_info[:3])
    m.write(CONDA / "conda-meta\\history", "")
    m.write(CONDA / f"conda-meta\\python-{version}-0.json", f'{{"name": "python", "version": "{version}"}}')
    for plant in (LLVMLITE, NUMBA, LIBROSA):
        plant(m, site)
    return site


def below(home: Path, program: str) -> Callable[[Machine], Path]:
    """Return a program in a folder with its environment in ``venv``."""

    def build(m: Machine) -> Path:
        m.write(home / program, f"{BLAS}\nprint('done')\n")
        return packages(m, environment(m, "venv", home=home), "numpy-1.26", "ctranslate2")

    return build


# --- plants --------------------------------------------------------------------------------------------------------------


def no_toolkit(m: Machine, made: Path) -> None:
    """Let no toolkit ever have been installed."""
    short_path(m, made)
    shutil.rmtree(TOOLKIT)
    m.variable("CUDA_PATH", None, "machine")


def copies_of_the_runtime(m: Machine, site: Path) -> None:
    """Copy what the message asks for beside the library, by hand."""
    for wheel in ("cublas-12", "cudart-12"):
        for file in Path(m.places[wheel]).glob("nvidia/*/bin/cu*.dll"):
            m.place(file, site / "llama_cpp\\lib" / file.name)


def quarantined(m: Machine, site: Path) -> None:
    """Let a virus scanner take one module of NumPy away, which main.py needs."""
    m.write(PORTABLE / "ComfyUI\\main.py", f"import folder_paths\nimport numpy\n\n{BLAS}\n")
    next(site.glob("numpy\\random\\mtrand*.pyd")).unlink()


def comfy_with(*plants: Plant) -> Callable[[Machine], Path]:
    """Return the portable ComfyUI, whose main.py needs transformers, and what is installed into it."""

    def starts(m: Machine, _made: Path) -> None:
        m.write(
            PORTABLE / "ComfyUI\\main.py", f"import folder_paths\nfrom transformers import CLIPTokenizer\n\n{BLAS}\n"
        )

    return spoilt(portable("numpy-1.26", "ctranslate2"), starts, TRANSFORMERS, *plants)


def one_copy_in_system32(m: Machine, _made: Path) -> None:
    """Copy the DLL that a message names from an older cuDNN into System32."""
    m.place(m.cudnn("cudnn-9.1.0") / "cudnn_ops64_9.dll", SYSTEM32 / "cudnn_ops64_9.dll")


def windows_own_runtime(m: Machine, _made: Path) -> None:
    """Keep the onnxruntime.dll that Windows 11 brings."""
    m.place(Path(m.places["consumers"]) / "older\\cudart64_12.dll", SYSTEM32 / "onnxruntime.dll")


def activates(m: Machine, _made: Path) -> None:
    """Write the file that venv makes, for the environment below the program."""
    lines = ("@echo off", f'set "VIRTUAL_ENV={WEBUI}\\venv"', 'set "PATH=%VIRTUAL_ENV%\\Scripts;%PATH%"', "")
    m.write(WEBUI / "venv\\Scripts\\activate.bat", "\r\n".join(lines))


def made_by_another_user(m: Machine, site: Path) -> None:
    """Keep the environment, whose Python went with the old Windows."""
    settings = site.parents[1] / "pyvenv.cfg"
    lines = settings.read_text(encoding="utf-8").splitlines()
    m.write(settings, "\n".join([f"home = {OLD_USERS}", *lines[1:], f"executable = {OLD_USERS}\\python.exe", ""]))


def condabin(m: Machine, _made: Path) -> None:
    """Write conda's own batch file; its folder is not on PATH, as its installer recommends."""
    lines = (
        '@if not "%1"=="activate" exit /b 0', f'@set "CONDA_PREFIX={BASE}\\envs\\%2"', '@set "CONDA_DEFAULT_ENV=%2"',
        '@set "PATH=%CONDA_PREFIX%;%CONDA_PREFIX%\\Library\\bin;%CONDA_PREFIX%\\Scripts;%PATH%"', "",
    )  # fmt: skip
    m.write(BASE / "condabin\\conda.bat", "\r\n".join(lines))


def at_home(home: Path, name: str, *lines: str) -> Plant:
    """Write a batch file beside the program."""
    return lambda m, _made: m.write(home / name, "\r\n".join(("@echo off", *lines, "")))


# --- how it is started ---------------------------------------------------------------------------------------------------


def double_click(file: Path) -> Callable[[Path], list[str]]:
    """Return the start of a batch file, as Explorer starts it in its own folder."""
    return lambda _site: ["cmd.exe", "/c", str(file)]


def run_bat(*lines: str) -> Plant:
    """Write the project's batch file."""
    return project("run.bat", "\r\n".join(("@echo off", 'cd /d "%~dp0"', *lines, "python -B train.py", "")))


IN_ML = f"call {HOME}\\ml\\Scripts\\activate.bat"
DICTATES = project("train.py", f"from faster_whisper import WhisperModel\n\nmodel = WhisperModel('small')\n{BLAS}\n")
ALIGNS = project("transcribe.py", "import whisperx\n\nmodel = whisperx.load_model('large-v2')\n")
NOTES = "import json\n\nsegments = json.loads('[]')\n"
ON_GPU = project("train.py", "import torch\n\nx = torch.ones(3, device='cuda')\n")
WHERE_IT_CAN = project(
    "train.py",
    "import torch\n\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.ones(3, device=device)\n",
)
HEARS = project("train.py", "import librosa\n")
STARTS_WEBUI = at_home(WEBUI, "start-webui.bat", "", "call venv\\scripts\\activate", "python app.py %*")
UNQUOTED = at_home(ART, "start-ui.bat", "set PYTHON=%~dp0venv\\Scripts\\python.exe", "%PYTHON% -B scripts\\train_ui.py")
QUOTED = at_home(
    ART, "start-ui.bat", "setlocal", 'cd /d "%~dp0"', 'set "PYTHON=%~dp0venv\\Scripts\\python.exe"',
    '"%PYTHON%" -B "%~dp0scripts\\train_ui.py" %*',
)  # fmt: skip
USUAL = {
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0", "HF_HUB_DISABLE_SYMLINKS_WARNING": "1",
    "KMP_DUPLICATE_LIB_OK": "TRUE", "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1",
    "PYTORCH_CUDA_ALLOC_CONF": "garbage_collection_threshold:0.9,max_split_size_mb:512", "TF_CPP_MIN_LOG_LEVEL": "2",
}  # fmt: skip
"""What guides to such programs tell people to set."""

THIRTEEN, ODD = "held13-", "held13-healthy-"

HELD_OUT_13: tuple[Scene, ...] = (
    # A: a library is absent or unfit
    Scene(f"{THIRTEEN}llama-wheel-without-a-toolkit", "llama-cpp-python", (MISSING,), spoilt(llama(), no_toolkit), names="64_12", runs=does(LLAMA)),
    Scene(f"{THIRTEEN}nvidia-wheels-that-nothing-searches", "ctranslate2", (NOT_SEARCHED,), spoilt(wheels_alone, FASTER_WHISPER, activation, DICTATES, run_bat(IN_ML)), names="cublas64_12.dll", runs=batch(), folder=PROJECT),
    Scene(f"{THIRTEEN}module-in-quarantine", "numpy", (BROKEN, HALF), spoilt(portable("numpy-1.26", "ctranslate2"), quarantined), names="mtrand", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # B: all is there, and does not fit
    Scene(f"{THIRTEEN}torch-from-the-index", "torch", (NO_GPU_BUILD,), spoilt(real(*TORCHS, "numpy-1.26"), ON_GPU), names="torch", runs=script(), folder=PROJECT),
    Scene(f"{THIRTEEN}hub-older-than-transformers", "ctranslate2", (REQUIREMENT,), comfy_with(hub("0.23.4")), names="huggingface", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{THIRTEEN}build-for-cuda-13-and-a-toolkit-12", ORT, (OTHER_CUDA, MISSING), spoilt(lambda m: venv(m, "ort-new"), lambda m, _s: toolkit(m, *FOR_ORT)), names="64_13"),
    # C: Python or the loader finds another file
    Scene(f"{THIRTEEN}whisperx-py-of-a-while-back", "ctranslate2", (IN_THE_WAY,), ct2s(FASTER_WHISPER, WHISPERX, ALIGNS, project("whisperx.py", NOTES)), names="whisperx.py", runs=script("transcribe.py"), folder=PROJECT),
    Scene(f"{THIRTEEN}numpy-of-the-user-in-conda", "numpy", (IN_THE_WAY, REQUIREMENT, TWICE), spoilt(conda_with_librosa, in_user_site("numpy-1.26"), HEARS), names="Roaming", runs=script(python=CONDA / "python.exe"), folder=PROJECT),
    Scene(f"{THIRTEEN}one-file-of-cudnn-in-system32", ORT, (MIXED, CUDNN_SHADOWED, SHADOWED, PARTS), spoilt(ort(), one_copy_in_system32, FIRST_CALLS), names="system32", runs=script(), folder=PROJECT),
    # D: another way of starting
    Scene(f"{THIRTEEN}no-python-at-the-old-users", "ctranslate2", (ENVIRONMENT, WRONG_ONE), spoilt(below(WEBUI, "app.py"), activates, made_by_another_user, STARTS_WEBUI), names="Mirko", runs=double_click(WEBUI / "start-webui.bat"), folder=WEBUI),
    Scene(f"{THIRTEEN}conda-is-not-on-path", "ctranslate2", (WRONG_ONE, NOT_INHERITED, ENVIRONMENT, REQUIREMENT), spoilt(conda, condabin, machines_python, STARTS_CT2, run_bat("call conda activate ml")), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{THIRTEEN}blank-in-a-folders-name", "ctranslate2", (CHARACTERS, VALUE, ENVIRONMENT), spoilt(below(ART, "scripts\\train_ui.py"), UNQUOTED), names="start-ui.bat", runs=double_click(ART / "start-ui.bat"), folder=ART),
    # E: variables
    Scene(f"{THIRTEEN}hf-home-on-a-drive-that-is-gone", "ctranslate2", (VALUE,), ct2s(HUB, users(HF_HOME=r"E:\AI\huggingface"), FETCHES), names="HF_HOME", runs=script(), folder=PROJECT),
    Scene(f"{THIRTEEN}cuda-path-is-not-set", "cupy-13", (PATH_WRONG, NOT_SEARCHED, DLL_SEARCH), spoilt(with_toolkit("cupy-13", *FOR_CUPY), variable("CUDA_PATH", None)), names="v12.4"),
    Scene(f"{THIRTEEN}pythonpath-of-an-older-python", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE, ABI), numpys(lambda m, s: other_python(m, s, OLD_310), users(PYTHONPATH=str(OLD_310)), STARTS_NUMPY), names="Python310", runs=script(), folder=PROJECT),
    # healthy: twins
    Scene(f"{ODD}llama-wheel-with-copies-by-hand", "llama-cpp-python", (), spoilt(llama(), no_toolkit, copies_of_the_runtime), runs=does(LLAMA)),
    Scene(f"{ODD}nvidia-wheels-that-a-batch-file-searches", "ctranslate2", (), spoilt(wheels_alone, FASTER_WHISPER, activation, DICTATES, run_bat(IN_ML, f"set PATH={WHEELS}\\cublas\\bin;{WHEELS}\\cudnn\\bin;{WHEELS}\\cuda_nvrtc\\bin;%PATH%")), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}torch-from-the-index-without-a-gpu", "torch", (), then(without_gpu(*TORCHS, "numpy-1.26"), WHERE_IT_CAN), runs=script(), folder=PROJECT),
    Scene(f"{ODD}hub-that-transformers-knows", "ctranslate2", (), comfy_with(hub("0.34.4")), runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{ODD}whisperx-py-in-a-folder-of-old-scripts", "ctranslate2", (), ct2s(FASTER_WHISPER, WHISPERX, ALIGNS, project("old\\whisperx.py", NOTES), project("old\\torch.py", NOTES)), runs=script("transcribe.py"), folder=PROJECT),
    Scene(f"{ODD}conda-by-its-whole-path", "ctranslate2", (), spoilt(conda, condabin, machines_python, STARTS_CT2, run_bat(f"call {BASE}\\condabin\\conda.bat activate ml")), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}blank-in-a-folders-name-and-quotation-marks", "ctranslate2", (), spoilt(below(ART, "scripts\\train_ui.py"), QUOTED), runs=double_click(ART / "start-ui.bat"), folder=ART),
    Scene(f"{ODD}hf-home-that-is-made-when-needed", "ctranslate2", (), ct2s(HUB, users(HF_HOME=str(HOME / "models\\huggingface")), FETCHES), runs=script(), folder=PROJECT),
    # healthy: others
    Scene(f"{ODD}onnxruntime-of-windows-itself", ORT, (), spoilt(ort(), windows_own_runtime, project("train.py", f"{PROVIDERS}\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}variables-that-guides-recommend", "ctranslate2", (), ct2s(users(**USUAL)), runs=does(f"{NUMPY}; {BLAS}"), folder=PROJECT),
)  # fmt: skip
