r"""The twelfth held-out set: fifteen faults and ten healthy machines, as common as they are in the field. Committed before its first scan.

Blind: written from public threads, by somebody who had read the scenes' format and the builders of earlier sets, nothing of the product's
code and no list of what it finds. Only the oracle had run. Unlike the sets before it, this one does not avoid what an earlier set has: the
faults are those that most threads are about. Five of the healthy machines are innocent twins of a fault, one of each class.

Threads (github.com, OWNER/NAME/issues/NUMBER): pytorch/pytorch 131662 and 129568, hiyouga/LlamaFactory 5132 (fbgemm.dll and
libomp140), microsoft/onnxruntime 1127 and 24120 (a machine without the Visual C++ runtime), SYSTRAN/faster-whisper 1080 and 1230,
Uberi/speech_recognition 835 (cudnn_ops64_9.dll), jhj0517/Whisper-WebUI 102 and OpenNMT/CTranslate2 1630 (a build for CUDA 12 and a toolkit
11.8), microsoft/onnxruntime 26996 and deepinsight/insightface 2344 (onnxruntime beside onnxruntime-gpu), pytorch/pytorch 157648 and
huggingface/diffusers 12559 (torchvision::nms), SYSTRAN/faster-whisper 905 and 818 (a script with the package's name),
patientx-cfz/comfyui-rocm 131 (packages of the user), microsoft/onnxruntime 27888 and conda/conda 8789 (a DLL of another program),
python/cpython 99758 and pypa/virtualenv 2053 (activate.bat of a folder that was moved), jupyter/notebook 5109 and 4171 (the Python of a
kernel), conda/conda 8487 and ContinuumIO/anaconda-issues 10705 (an environment that nothing activates), ausboss/PygDiscordBot 16
(PYTHONHOME), huggingface/datasets 2823 (quotation marks in a value), abetlen/llama-cpp-python 1077 (CUDA_PATH), and pypa/pip 9906 (what
an interrupted pip leaves).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, TOOLKITS, Machine, environment
from tests.windows.worldlab.held_out import cuda_11
from tests.windows.worldlab.held_out_2 import (
    ABI,
    BLAS,
    CT2,
    ENVIRONMENT,
    FOR_CT2,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    PATH_WRONG,
    PROJECT,
    PROVIDERS,
    REQUIREMENT,
    RUNTIME,
    STARTS_CT2,
    TORCH,
    TWICE,
    VALUE,
    WHOLE,
    WRONG_ONE,
    another_environment,
    batch,
    does,
    in_user_site,
    packages,
    project,
    real,
    script,
    store_alias,
    task,
    whole,
    whole_python,
)
from tests.windows.worldlab.held_out_3 import OTHER_ONE, ct2s
from tests.windows.worldlab.held_out_4 import CONDA, conda
from tests.windows.worldlab.held_out_5 import cudnn_in
from tests.windows.worldlab.held_out_8 import LLAMA, NO_GPU_BUILD, activation, llama
from tests.windows.worldlab.held_out_9 import kernel, notebook
from tests.windows.worldlab.held_out_11 import installed, torch_of_pip, users
from tests.windows.worldlab.modules import SYSTEMS, aside
from tests.windows.worldlab.scenes import (
    ABSENT,
    BIN,
    FOR_ORT,
    MISSING,
    NOT_SEARCHED,
    ORT,
    OTHER_CUDA,
    PARTS,
    SHADOWED,
    Plant,
    Scene,
    older,
    pip,
    spoilt,
    toolkit,
    torch,
    variable,
)

assert sys.platform == "win32"

ELEVEN_8 = TOOLKITS / "v11.8"
REMOVED = TOOLKITS / "v12.1"
BESIDE = "v9.8\\bin\\12.8"
"""Where cuDNN's installer puts its DLLs for CUDA 12."""
EDITOR = HOME / "Topaz Labs LLC\\Topaz Video AI"
BEFORE = r"D:\AI\dictation\venv"
MODELS = HOME / "models"
PYTHON_39 = r"C:\Program Files\Python39"


# --- packages ------------------------------------------------------------------------------------------------------------

FASTER_WHISPER = installed(
    "faster_whisper", "1.1.1",
    {
        "faster_whisper\\__init__.py": "from faster_whisper.transcribe import WhisperModel\n",
        "faster_whisper\\transcribe.py": "import ctranslate2\n\n\nclass WhisperModel:\n    def __init__(self, size):\n"
        "        self.types = ctranslate2.get_supported_compute_types('cpu')\n",
    },
    "ctranslate2<5,>=4.0",
)  # fmt: skip
INSIGHTFACE = installed(
    "insightface", "0.7.3", {"insightface\\__init__.py": "import onnxruntime\n"}, "numpy", "onnxruntime"
)
"""It requires the package for the processor by name, whatever else brings the module."""
HUB = installed(
    "huggingface_hub", "0.26.5",
    {
        "huggingface_hub\\__init__.py": "import os\n\nhome = os.path.expanduser(os.getenv('HF_HOME', '~/.cache/huggingface'))\n\n\n"
        "def snapshot_download(name):\n    folder = os.path.join(home, 'hub', 'models--' + name.replace('/', '--'))\n"
        "    os.makedirs(folder, exist_ok=True)\n    return folder\n",
    },
)  # fmt: skip
"""Where the models go is asked for once, and the folder is made when something is fetched."""
PILLOW = installed("pillow", "11.0.0", {"PIL\\__init__.py": "__version__ = '11.0.0'\n"})
OPERATORS = """import os

import torch

try:
    torch.ops.load_library(os.path.join(os.path.dirname(__file__), '_C.pyd'))
    registers = torch.library.Library('torchvision', 'DEF')
    registers.define('nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')
except (ImportError, OSError):
    pass
"""
"""What extension.py does: a library that does not load is passed over. The two lines stand for what the library does when it loads."""
META = """import torch


@torch.library.register_fake('torchvision::nms')
def meta_nms(dets, scores, iou_threshold):
    return dets.new_empty(0)
"""


def torchvision(version: str, of_torch: str, library: str) -> Plant:
    """Install torchvision for this release of PyTorch; its library is one of the lab's modules."""

    def plant(m: Machine, site: Path) -> None:
        PILLOW(m, site)
        files = {
            "torchvision\\__init__.py": "from . import extension\nfrom . import _meta_registrations\n",
            "torchvision\\extension.py": OPERATORS,
            "torchvision\\_meta_registrations.py": META,
        }
        installed("torchvision", version, files, "numpy", f"torch=={of_torch}", "pillow!=8.3.*,>=5.3.0")(m, site)
        file = m.place(Path(m.places["consumers"]) / f"modules\\{library}.pyd", site / "torchvision\\_C.pyd")
        (record,) = site.glob("torchvision-*.dist-info/RECORD")
        m.write(record, f"{record.read_text(encoding='utf-8')}torchvision/_C.pyd,,{file.stat().st_size}\n")

    return plant


def fbgemm_of_llvm(m: Machine, site: Path) -> None:
    """Let PyTorch's fbgemm.dll ask for LLVM's OpenMP, as that of release 2.4.0 does."""
    file = site / "torch\\lib\\fbgemm.dll"
    m.place(Path(m.places["consumers"]) / "modules\\openmp.pyd", file)
    (record,) = site.glob("torch-*.dist-info/RECORD")
    rows = [r for r in record.read_text(encoding="utf-8").splitlines() if not r.startswith("torch/lib/fbgemm.dll,")]
    m.write(record, "\n".join([*rows, f"torch/lib/fbgemm.dll,,{file.stat().st_size}", ""]))


def left_by_pip(m: Machine, site: Path) -> None:
    """Leave what pip had put aside while something held a DLL of the older release."""
    m.write(site / "~orch\\lib\\torch_cpu.dll", b"MZ" + bytes(4000))
    m.write(site / "~-rch\\lib\\c10.dll", b"MZ" + bytes(4000))
    m.write(site / "~orch-2.5.1.dist-info\\METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1\n")


# --- machines ------------------------------------------------------------------------------------------------------------


def ct2_alone(m: Machine) -> Path:
    """Install CTranslate2, and nothing of NVIDIA's."""
    site = packages(m, environment(m, "ml"), "numpy-1.26")
    pip(m, site, "ctranslate2")
    return site


def without_cudnn(*wheels: str) -> Callable[[Machine], Path]:
    """Return CTranslate2 with a toolkit, which has no cuDNN, and these wheels, whose folders are on PATH."""

    def build(m: Machine) -> Path:
        site = ct2_alone(m)
        toolkit(m, *(name for name in FOR_CT2 if name != "cudnn-9.28"))
        pip(m, site, *wheels)
        if wheels:
            m.path(*sorted({f.parent for f in site.glob("nvidia/*/bin/*.dll")}), scope="user")
        return site

    return build


def with_eleven(m: Machine) -> Path:
    """Install CTranslate2 and cuDNN 9, and keep the toolkit 11.8."""
    site = ct2_alone(m)
    eleven_first(m, site)
    cudnn_in(BESIDE, BESIDE)(m, site)
    return site


def orts(*plants: Plant, base: Callable[[Machine], Path] | None = None) -> Callable[[Machine], Path]:
    """Return ONNX Runtime for the GPU in an environment, with a toolkit, and what is wrong."""
    return spoilt(base or real("numpy-1.26", "ort-1.20"), lambda m, _made: toolkit(m, *FOR_ORT), *plants)


def moved(m: Machine) -> Path:
    """Copy a project with its environment to another place; the machine's own Python, on PATH, has other packages."""
    whole_python(m, WHOLE, "numpy-1.26")
    m.path(WHOLE, WHOLE / "Scripts", scope="user")
    m.pythons.clear()
    site = packages(m, environment(m, "venv", home=PROJECT), "numpy-1.26", "ctranslate2")
    lines = ("@echo off", f"set VIRTUAL_ENV={BEFORE}", "set PATH=%VIRTUAL_ENV%\\Scripts;%PATH%", "")
    m.write(PROJECT / "venv\\Scripts\\activate.bat", "\r\n".join(lines))
    return site


# --- plants --------------------------------------------------------------------------------------------------------------


def eleven_first(m: Machine, _made: Path) -> None:
    """Install the toolkit 11.8: first on PATH, and CUDA_PATH names it."""
    cuda_11(m, first=True)
    for name in ("CUDA_PATH", "CUDA_PATH_V11_8"):
        m.variable(name, str(ELEVEN_8), "machine")


def leftovers_of_a_toolkit(m: Machine, _made: Path) -> None:
    """Keep the entries of a toolkit that was removed."""
    m.variable("CUDA_PATH_V12_1", str(REMOVED), "machine")
    m.path(REMOVED / "bin", REMOVED / "libnvvp", first=True)


def activates(m: Machine, _made: Path) -> None:
    """Write the file of conda's base that activates an environment."""
    base = CONDA.parents[1]
    lines = (
        "@echo off", f"set CONDA_PREFIX={base}\\envs\\%1", "set CONDA_DEFAULT_ENV=%1",
        "set PATH=%CONDA_PREFIX%;%CONDA_PREFIX%\\Library\\bin;%CONDA_PREFIX%\\Scripts;%PATH%", "",
    )  # fmt: skip
    m.write(base / "Scripts\\activate.bat", "\r\n".join(lines))


# --- how it is started ---------------------------------------------------------------------------------------------------

DESCRIBES = (
    f"{CT2}; import os; net = ctypes.WinDLL(os.path.join(os.path.dirname(ctranslate2.__file__), 'cudnn64_9.dll')); "
    "made = ctypes.c_void_p(); assert net.cudnnCreateTensorDescriptor(ctypes.byref(made)) == 0"
)
"""The first call of cuDNN that CTranslate2 makes for a model of Whisper's, by its own cudnn64_9.dll."""
TRANSCRIBES = project(
    "transcribe.py", f"import ctypes\n\n{DESCRIBES.replace('; ', chr(10))}\n{BLAS.replace('; ', chr(10))}\n"
)
SWAPS = project("swap.py", f"import insightface\n{PROVIDERS}\n".replace("; ", "\n"))
DETECTS = project("detect.py", f"{TORCH}\nimport torchvision\n".replace("; ", "\n"))
FETCHES = project(
    "train.py",
    f"from huggingface_hub import snapshot_download\n\nsnapshot_download('Systran/faster-whisper-small')\n{BLAS}\n",
)
NAMED_LIKE_IT = project(
    "faster_whisper.py", "from faster_whisper import WhisperModel\n\nmodel = WhisperModel('small')\n"
)
PUT = (
    '@echo off\r\ncd /d "%~dp0"\r\nset {put}\r\ncall ' + f"{HOME}\\ml\\Scripts\\activate.bat\r\npython -B train.py\r\n"
)
ACTIVATES = '@echo off\r\ncd /d "%~dp0"\r\ncall venv\\Scripts\\activate.bat\r\npython -B train.py\r\n'
OF_THE_TASK = f'/c "call {CONDA.parents[1]}\\Scripts\\activate.bat ml && python -B train.py"'
NOTEBOOK = notebook("transcribe.ipynb", "python3", BLAS)


def by_the_task(_site: Path) -> list[str]:
    """Return the start of what the scheduled task starts."""
    code = (
        f"import os, subprocess, sys; os.chdir({str(PROJECT)!r}); "
        f"sys.exit(subprocess.run({'cmd.exe ' + OF_THE_TASK!r}).returncode)"
    )
    return [sys.executable, "-I", "-S", "-c", code]


TWELVE, ODD = "held12-", "held12-healthy-"

HELD_OUT_12: tuple[Scene, ...] = (
    # A: a library is absent or unfit
    Scene(f"{TWELVE}fbgemm-without-libomp140", "torch", (SYSTEMS, RUNTIME), torch_of_pip(fbgemm_of_llvm), names="libomp140.x86_64.dll", runs=does(TORCH)),
    Scene(f"{TWELVE}no-visual-c-runtime", ORT, (RUNTIME,), orts(aside("msvcp140.dll"), aside("msvcp140_1.dll")), names="msvcp140", runs=does(PROVIDERS)),
    Scene(f"{TWELVE}toolkit-without-cudnn", "ctranslate2", (ABSENT, PARTS), spoilt(without_cudnn(), TRANSCRIBES), names="cudnn_", runs=script("transcribe.py"), folder=PROJECT),
    # B: all is there, and does not fit
    Scene(f"{TWELVE}toolkit-of-cuda-11", "ctranslate2", (OTHER_CUDA, MISSING), spoilt(with_eleven, STARTS_CT2), names="cublas64_12.dll", runs=script(), folder=PROJECT),
    Scene(f"{TWELVE}onnxruntime-beside-its-gpu-build", ORT, (TWICE, NO_GPU_BUILD), orts(INSIGHTFACE, lambda m, site: pip(m, site, "ort-cpu"), SWAPS), names="onnxruntime-gpu", runs=script("swap.py"), folder=PROJECT),
    Scene(f"{TWELVE}torchvision-of-another-torch", "torch", (REQUIREMENT, ABI), torch_of_pip(torchvision("0.20.1+cu124", "2.5.1", "of_another_torch"), DETECTS), names="torchvision", runs=script("detect.py"), folder=PROJECT),
    # C: Python or the loader finds another file
    Scene(f"{TWELVE}script-with-the-packages-name", "ctranslate2", (IN_THE_WAY,), ct2s(FASTER_WHISPER, NAMED_LIKE_IT), names="faster_whisper.py", runs=lambda _s: [str(ML), "-B", str(next(PROJECT.glob("*faster_whisper.py")))], folder=PROJECT),
    Scene(f"{TWELVE}processor-build-of-the-user", ORT, (TWICE, IN_THE_WAY, NO_GPU_BUILD), orts(in_user_site("ort-cpu"), base=whole("numpy-1.26", "ort-1.20")), names="Roaming", runs=does(PROVIDERS, WHOLE / "python.exe")),
    Scene(f"{TWELVE}older-cublaslt-of-a-video-editor", "ctranslate2", (SHADOWED,), ct2s(older("cublasLt64_12.dll", EDITOR, on_path=True)), names="Topaz Video AI"),
    # D: another way of starting
    Scene(f"{TWELVE}project-was-moved", "ctranslate2", (WRONG_ONE, ENVIRONMENT, REQUIREMENT), spoilt(moved, STARTS_CT2, project("run.bat", ACTIVATES)), names="activate", runs=batch(), folder=PROJECT),
    Scene(f"{TWELVE}kernel-of-another-environment", "ctranslate2", (WRONG_ONE, REQUIREMENT), ct2s(another_environment, kernel("python3", OTHER_ONE), NOTEBOOK), names="tools", runs=does(BLAS, OTHER_ONE), folder=PROJECT),
    Scene(f"{TWELVE}task-without-activation", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED), spoilt(conda, STARTS_CT2, task("Transcribe every night", str(CONDA / "python.exe"), "-B train.py", str(PROJECT))), names="cublas64_12.dll", runs=script(python=CONDA / "python.exe"), folder=PROJECT),
    # E: variables
    Scene(f"{TWELVE}pythonhome-of-a-removed-python", "ctranslate2", (VALUE, ENVIRONMENT), ct2s(users(PYTHONHOME=PYTHON_39)), names="PYTHONHOME", runs=script(), folder=PROJECT),
    Scene(f"{TWELVE}hf-home-in-quotation-marks", "ctranslate2", (VALUE,), ct2s(HUB, activation, FETCHES, project("run.bat", PUT.format(put=f'HF_HOME="{MODELS}"'))), names="HF_HOME", runs=batch(), folder=PROJECT),
    Scene(f"{TWELVE}cuda-path-names-bin", "llama-cpp-python", (PATH_WRONG,), spoilt(llama("cublas-12", "cudart-12"), variable("CUDA_PATH", str(BIN))), names="CUDA_PATH", runs=does(LLAMA)),
    # healthy: twins
    Scene(f"{ODD}cudnn-of-a-wheel", "ctranslate2", (), spoilt(without_cudnn("cudnn-9.28"), TRANSCRIBES), runs=script("transcribe.py"), folder=PROJECT),
    Scene(f"{ODD}torchvision-of-this-torch", "torch", (), torch_of_pip(torchvision("0.21.0", "2.6.0", "plain"), DETECTS), runs=script("detect.py"), folder=PROJECT),
    Scene(f"{ODD}processor-build-of-the-user-and-a-venv", ORT, (), orts(in_user_site("ort-cpu")), runs=does(PROVIDERS)),
    Scene(f"{ODD}task-with-activation", "ctranslate2", (), spoilt(conda, activates, STARTS_CT2, task("Transcribe every night", "cmd.exe", OF_THE_TASK.replace("&", "&amp;").replace('"', "&quot;"), str(PROJECT))), runs=by_the_task, folder=PROJECT),
    Scene(f"{ODD}hf-home-set-as-one-word", "ctranslate2", (), ct2s(HUB, activation, FETCHES, project("run.bat", PUT.format(put=f'"HF_HOME={MODELS}"'))), runs=batch(), folder=PROJECT),
    # healthy: others
    Scene(f"{ODD}leftovers-of-pip", "torch", (), torch_of_pip(left_by_pip), runs=does(TORCH)),
    Scene(f"{ODD}torch-beside-an-older-toolkit", "torch", (), spoilt(torch, eleven_first)),
    Scene(f"{ODD}insightface-and-the-gpu-build-alone", ORT, (), orts(INSIGHTFACE, SWAPS), runs=script("swap.py"), folder=PROJECT),
    Scene(f"{ODD}entries-of-a-removed-toolkit", "llama-cpp-python", (), spoilt(llama("cublas-12", "cudart-12"), leftovers_of_a_toolkit), runs=does(LLAMA)),
    Scene(f"{ODD}alias-of-the-store-before-python", "ctranslate2", (), ct2s(activation, store_alias, project("run.bat", PUT.format(put="PYTHONUNBUFFERED=1"))), runs=batch(), folder=PROJECT),
)  # fmt: skip
