r"""The seventeenth held-out set: fifteen faults, a sixth draw as common as the field has them, and ten healthy machines. Not scanned when committed.

Blind: written from public threads, by somebody who had read the scenes' format and the builders of earlier sets, and nothing of the product's
code. Only the oracle had run. A fault that an earlier set has is neither sought nor avoided. Each healthy machine is the innocent twin of a
fault. The threads stand above the rows. Real wheels wherever wine imports them; CLIP, setuptools and Lightning are short packages with the code
that the threads run into.
"""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.field import pythonw, without_console
from tests.windows.worldlab.held_out_2 import (
    ABI,
    BLAS,
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    PATH_WRONG,
    PROJECT,
    REQUIREMENT,
    RUNTIME,
    TORCHS,
    TWICE,
    USER_SITE,
    VALUE,
    WHOLE,
    WRONG_ONE,
    batch,
    dumped,
    project,
    real,
    script,
    task,
    then,
    whole,
    whole_python,
)
from tests.windows.worldlab.held_out_3 import MENU, ct2s, link, numpys, within
from tests.windows.worldlab.held_out_4 import CONDA, conda
from tests.windows.worldlab.held_out_6 import ELEVEN, PORTABLE, eleven
from tests.windows.worldlab.held_out_8 import NO_GPU_BUILD, STARTS_PORTABLE, STARTS_WEBUI, launcher, portable, webui
from tests.windows.worldlab.held_out_11 import installed, torch_of_pip, users
from tests.windows.worldlab.held_out_12 import fbgemm_of_llvm
from tests.windows.worldlab.held_out_13 import condabin, double_click
from tests.windows.worldlab.modules import SYSTEMS
from tests.windows.worldlab.scenes import (
    ABSENT,
    BROKEN,
    FOR_CUPY,
    FOR_ORT,
    NOT_SEARCHED,
    ORT,
    OTHER_CUDA,
    Plant,
    Scene,
    gone,
    spoilt,
    variable,
    with_toolkit,
)

assert sys.platform == "win32"

PUBLISHED = "upstream_packaging_bug"
COMFY = PORTABLE / "ComfyUI"
BASE = CONDA.parents[1]
SITE = HOME / "ml\\Lib\\site-packages"
TASK = "Transcribe the calls"
SYSTEM_32 = Path("C:\\windows\\system32")
POSTGRES = r"C:\Program Files\PostgreSQL\16\ssl\certs\ca-bundle.crt"
REQUESTS = ("requests", "urllib3", "idna", "certifi", "charset_normalizer")
TQDM = ("tqdm", "colorama")
OF_TRANSFORMERS = (
    *REQUESTS,
    *TQDM,
    "huggingface_hub",
    "pyyaml",
    "packaging",
    "filelock",
    "fsspec",
    "typing_extensions",
)
SOUNDFILE = ("soundfile", "cffi", "pycparser")


# --- packages ------------------------------------------------------------------------------------------------------------


def wheels(*names: str, site: Path | None = None) -> Plant:
    """Install wheels with all their files in place of a stand-in of the lab's; ``site``: not the environment's folder, but this one."""

    def plant(m: Machine, made: Path) -> None:
        folder = site or made
        for name in names:
            base = Path(m.places[name])
            (record,) = base.glob("*.dist-info/RECORD")
            for old in folder.glob(f"{record.parent.name.partition('-')[0]}-*.dist-info"):
                shutil.rmtree(old)
            with record.open(newline="", encoding="utf-8") as rows:
                files = [row[0] for row in csv.reader(rows) if ".." not in row[0]]
            written = [m.place(base / file, folder / file) for file in files]
            if site:
                m.system_files.extend(written)

    return plant


def of_release(package: str, version: str, /, **content: bytes) -> Plant:
    """Let a wheel of the lab's be that of another release or build; ``content``: of files below its folder, by their first name."""

    def plant(m: Machine, site: Path) -> None:
        (info,) = site.glob(f"{package}-*.dist-info")
        old, new = info.name.removeprefix(f"{package}-").removesuffix(".dist-info"), f"{package}-{version}.dist-info"
        sizes = {}
        for first, data in content.items():
            (file,) = (site / package).glob(f"{first}.*")
            m.write(file, data)
            sizes[f"{package}/{file.name}"] = len(data)
        text = (info / "METADATA").read_bytes()
        data = text.replace(f"Version: {old}".encode(), f"Version: {version}".encode(), 1)
        sizes[f"{new}/METADATA"] = len(data)
        with (info / "RECORD").open(newline="", encoding="utf-8") as stream:
            rows = [[row[0].replace(info.name, new), *row[1:]] for row in csv.reader(stream)]
        lines = [f"{r[0]},,{sizes[r[0]]}" if r[0] in sizes else ",".join(r) for r in rows]
        for file in [p for p in info.rglob("*") if p.is_file() and p.name not in ("METADATA", "RECORD")]:
            m.place(file, site / new / file.relative_to(info))
        m.write(site / new / "METADATA", data)
        m.write(site / new / "RECORD", "\n".join([*lines, ""]))
        shutil.rmtree(info)

    return plant


TOKENIZERS = installed("tokenizers", "0.21.0", {"tokenizers\\__init__.py": "__version__ = '0.21.0'\n"})
SAFETENSORS = installed("safetensors", "0.5.3", {"safetensors\\__init__.py": "__version__ = '0.5.3'\n"})
"""Their wheels need a DLL that wine lacks."""
SETUPTOOLS = installed(
    "setuptools", "70.0.0",
    {
        "setuptools\\__init__.py": "__version__ = '70.0.0'\n",
        "pkg_resources\\__init__.py": "import re\n\n\ndef parse_version(version):\n    return tuple(int(n) for n in re.findall(r'\\d+', version))\n",
    },
)  # fmt: skip
"""Since 70 what it uses of packaging is no longer a module of pkg_resources."""
CLIP = installed(
    "clip", "1.0",
    {
        "clip\\__init__.py": "from .clip import *\n",
        "clip\\clip.py": "import os\n\nimport torch\nfrom pkg_resources import packaging\nfrom tqdm import tqdm\n\n__all__ = ['available_models', 'load']\n\n"
        "if packaging.version.parse(torch.__version__) < packaging.version.parse('1.7.1'):\n    raise RuntimeError('PyTorch version 1.7.1 or higher is recommended')\n\n\n"
        "def available_models():\n    return ['RN50', 'ViT-B/32']\n\n\ndef load(name):\n    return name\n",
    },
    "regex", "tqdm", "torch",
)  # fmt: skip
LIGHTNING = installed(
    "pytorch_lightning", "2.0.6",
    {
        "pytorch_lightning\\__init__.py": "import torch\n\n__version__ = '2.0.6'\n\n\nclass LightningModule(torch.nn.Module):\n    pass\n",
        "pytorch_lightning\\utilities\\__init__.py": "from pytorch_lightning.utilities.rank_zero import rank_zero_only\n",
        "pytorch_lightning\\utilities\\rank_zero.py": "import functools\n\n\ndef rank_zero_only(function):\n    @functools.wraps(function)\n"
        "    def wrapped(*args):\n        return function(*args)\n\n    return wrapped\n",
    },
    "torch>=1.11.0", "numpy>=1.17.2", "typing-extensions>=4.0.0",
)  # fmt: skip
"""Since 1.8 the function has a module of its own; 2.0 has no pytorch_lightning.utilities.distributed."""
FROM_OLD = "from pytorch_lightning.utilities.distributed import rank_zero_only\n"
FROM_BOTH = (
    f"try:\n    from pytorch_lightning.utilities.rank_zero import rank_zero_only\nexcept ImportError:\n    {FROM_OLD}"
)


def diffusion(imports: str) -> tuple[Plant, ...]:
    """Write the model's code in the project, and the program that needs it."""
    code = (
        f"import pytorch_lightning as pl\nimport torch\n{imports}\n\nclass DDPM(pl.LightningModule):\n    @rank_zero_only\n"
        "    def on_train_batch_start(self):\n        return torch.ones(3)\n"
    )
    return (
        project("ldm\\__init__.py", ""),
        project("ldm\\models\\__init__.py", ""),
        project("ldm\\models\\ddpm.py", code),
        project("txt2img.py", "from ldm.models.ddpm import DDPM\n\nprint(DDPM().on_train_batch_start())\n"),
    )


def of_cuda(m: Machine, site: Path) -> None:
    """Let torchvision's module be that of a build for CUDA 12.4, which asks for torch_cuda.dll."""
    module = (Path(m.places["consumers"]) / "modules\\of_rocm_or_cpu.pyd").read_bytes()
    version = (site / "torchvision\\version.py").read_bytes().replace(b"+cpu", b"+cu124")
    of_release("torchvision", "0.21.0+cu124", _C=module, version=version)(m, site)


# --- machines ------------------------------------------------------------------------------------------------------------


def comfy_with(*lines: str) -> Callable[[Machine], Path]:
    """Return the portable ComfyUI, whose main.py has these lines."""

    def build(m: Machine) -> Path:
        site = portable("numpy-1.26", "ctranslate2")(m)
        m.write(COMFY / "main.py", "\n".join(("import folder_paths", *lines, *BLAS.split("; "), "")))
        return site

    return build


def comfy_of_transformers(*plants: Plant) -> Callable[[Machine], Path]:
    """Return the portable ComfyUI with Transformers, and a newer hub among the person's packages, of a Python that is no more."""

    def newer_hub(m: Machine, _made: Path) -> None:
        wheels("huggingface_hub", site=USER_SITE)(m, USER_SITE)
        of_release("huggingface_hub", "1.2.3")(m, USER_SITE)
        m.system_files.extend(p for p in USER_SITE.rglob("*") if p.is_file())

    own = wheels(*OF_TRANSFORMERS, "regex", "transformers")
    return spoilt(comfy_with("import transformers"), own, TOKENIZERS, SAFETENSORS, newer_hub, *plants)


def torchvisions(*plants: Plant) -> Callable[[Machine], Path]:
    """Return PyTorch and torchvision for the processor, as pip installs them on Windows."""
    return torch_of_pip(wheels("pillow", "torchvision"), *plants)


def torch_webui(m: Machine) -> Path:
    """Return a web interface's environment, with PyTorch for the processor."""
    return torch_of_pip(wheels("regex", *TQDM), SETUPTOOLS, CLIP, *webui(str(ML), HOME / "ml"))(m)


def condas(*entries: Path) -> Callable[[Machine], Path]:
    """Return Miniconda with an environment, a batch file that activates it, and these entries on PATH.

    Its conda.exe refuses to activate, as conda does where no shell's own function came before.
    """
    refuses = "import sys\nsys.exit(\"CondaError: Run 'conda init' before 'conda activate'\")"

    def base(m: Machine, made: Path) -> None:
        kept = list(m.pythons)
        whole_python(m, BASE, "numpy-1.26")
        m.pythons[:] = kept
        m.write(BASE / "conda-meta\\history", "")
        launcher(BASE / "Scripts\\conda.exe", BASE / "python.exe", refuses)(m, made)
        m.path(*entries, scope="user")

    rows = ("@echo off", 'cd /d "%~dp0"', "call conda activate ml", "python -B train.py", "")
    return spoilt(conda, condabin, base, project("train.py", f"{BLAS}\n"), project("run.bat", "\r\n".join(rows)))


# --- plants --------------------------------------------------------------------------------------------------------------


def clone(folder: Path) -> Plant:
    """Clone ONNX Runtime's repository: its folder ``onnxruntime`` has the package's first file, and no ``capi``."""

    def plant(m: Machine, _made: Path) -> None:
        first = Path(m.places["ort-cpu"]) / "onnxruntime\\__init__.py"
        m.write(folder / "onnxruntime\\__init__.py", first.read_bytes())
        m.write(folder / "onnxruntime\\python\\_pybind_state.py", "from . import _ld_preload\n")
        m.write(folder / "onnxruntime\\core\\session\\inference_session.cc", "namespace onnxruntime {}\n")
        m.write(folder / "cmake\\CMakeLists.txt", "project(onnxruntime C CXX)\n")
        m.write(folder / "setup.py", "from setuptools import setup\n\nsetup(name='onnxruntime')\n")

    return plant


def start(name: str, options: str) -> Plant:
    """Write a batch file beside the portable's own."""
    line = f".\\python_embeded\\python.exe {options}ComfyUI\\main.py --fast\r\n"
    return lambda m, _made: m.write(PORTABLE / name, f"@echo off\r\n{line}")


def run_bat(*lines: str) -> Plant:
    """Write the project's batch file."""
    return project("run.bat", "\r\n".join(("@echo off", 'cd /d "%~dp0"', *lines, "")))


STARTUP = link(MENU / "Startup", "Index the notes", ML.with_name("pythonw.exe"), "-B train.py", PROJECT)
INDEXES = f"from tqdm import tqdm\n\nfor _ in tqdm(range(3)):\n    pass\n{NUMPY}\n".replace("; ", "\n")
HAS_STREAMS = "import os\nimport sys\n\nif sys.stderr is None:\n    sys.stdout = sys.stderr = open(os.devnull, 'w')\n\n"
READS_CONFIG = (
    project("config.json", dumped({"language": "en", "beam_size": 5})),
    project(
        "transcribe.py",
        f"import json\n\nwith open('config.json', encoding='utf-8') as file:\n    config = json.load(file)\n\n{BLAS}\n".replace("; ", "\n"),
    ),
)  # fmt: skip
BY_TASK = f"-B {PROJECT}\\transcribe.py"
CHECKS = project(
    "check.py",
    "import onnxruntime\n\nassert 'CPUExecutionProvider' in onnxruntime.get_available_providers()\n",
)
RESIZES = project(
    "resize.py", "import torch\nfrom torchvision import transforms\n\nprint(transforms.Resize(8)(torch.ones(3, 16, 16)).shape)\n"
)  # fmt: skip
FETCHES = project(
    "fetch.py",
    f"import requests\n\ntry:\n    requests.get('https://127.0.0.1:9/models.json', timeout=5)\nexcept requests.ConnectionError:\n    print('offline')\n{NUMPY}\n",
)  # fmt: skip
DICE = "import random\n\nprint(random.randint(1, 6))\n"
APP = (
    project("app\\main.py", f"from pipeline import steps\n{NUMPY}\nprint(steps)\n".replace("; ", "\n")),
    project("src\\pipeline\\__init__.py", "steps = ['load', 'detect', 'track']\n"),
)

SEVENTEEN, ODD = "held17-", "held17-healthy-"

HELD_OUT_17: tuple[Scene, ...] = (
    # A: a library is absent or unfit
    # https://github.com/Zeyi-Lin/HivisionIDPhotos/issues/279, https://github.com/facefusion/facefusion/issues/784, https://github.com/microsoft/onnxruntime/issues/20049
    Scene(f"{SEVENTEEN}toolkit-and-no-cudnn", ORT, (ABSENT,), spoilt(with_toolkit("ort-1.23", *(w for w in FOR_ORT if w != "cudnn-9.28"))), names="cudnn64_9.dll"),
    # https://github.com/bastibe/python-soundfile/issues/468, https://github.com/codenamewei/youtube2text/issues/8 and https://github.com/bastibe/python-soundfile/issues/368
    Scene(f"{SEVENTEEN}portable-lost-libsndfile", "numpy", (BROKEN, HALF, SYSTEMS), spoilt(comfy_with("import soundfile"), wheels(*SOUNDFILE), gone("_soundfile_data\\libsndfile_x64.dll")), names="libsndfile", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # https://github.com/pytorch/pytorch/issues/131662 and 129568, https://github.com/modelscope/FunClip/issues/105 (a Python of the person's)
    Scene(f"{SEVENTEEN}batch-file-and-no-libomp140", "torch", (SYSTEMS, RUNTIME), then(whole(*TORCHS, "numpy-1.26"), fbgemm_of_llvm, project("train.py", "import torch\n\nprint(torch.ones(3))\n"), run_bat(f"{WHOLE}\\python.exe -B train.py")), names="libomp140.x86_64.dll", runs=batch(), folder=PROJECT),
    # B: all is there, and does not fit
    # https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/15903 and 15863, https://github.com/ostris/ai-toolkit/issues/296
    Scene(f"{SEVENTEEN}clip-and-setuptools-70", "torch", (REQUIREMENT, PUBLISHED), then(torch_webui, project("train.py", "import clip\n\nprint(clip.available_models())\n")), names="pkg_resources", runs=lambda _s: STARTS_WEBUI, folder=PROJECT),
    # https://github.com/AUTOMATIC1111/stable-diffusion-webui/pull/15310, https://github.com/CompVis/stable-diffusion/issues/758, https://github.com/flowtyone/ComfyUI-Flowty-LDSR/issues/4
    Scene(f"{SEVENTEEN}lightning-2-and-older-code", "torch", (REQUIREMENT, PUBLISHED), torch_of_pip(LIGHTNING, *diffusion(FROM_OLD)), names="lightning", runs=script("txt2img.py"), folder=PROJECT),
    # https://github.com/huggingface/diffusers/issues/12559 (Windows), https://github.com/vladmandic/sdnext/issues/3531, https://github.com/pytorch/pytorch/issues/157648
    Scene(f"{SEVENTEEN}torchvision-of-cuda-torch-of-pip", "torch", (ABI, REQUIREMENT, NO_GPU_BUILD, OTHER_CUDA), torchvisions(of_cuda, RESIZES), names="torchvision", runs=script("resize.py"), folder=PROJECT),
    # C: Python or the loader finds another file
    # https://github.com/venaxyt/mysterium/issues/41 (Windows), https://github.com/microsoft/PTVS/issues/7090: an exercise of the first days, beside what came later
    Scene(f"{SEVENTEEN}random-py-beside-the-program", "numpy", (IN_THE_WAY,), numpys(project("random.py", DICE), project("train.py", f"{NUMPY}\n")), names="project\\random.py", runs=script(), folder=PROJECT),
    # https://github.com/YanWenKun/Hunyuan3D-2-WinPortable/issues/104, https://github.com/Comfy-Org/ComfyUI/issues/5461 (AppData\Roaming\Python)
    Scene(f"{SEVENTEEN}portable-and-the-persons-hub", "ctranslate2", (IN_THE_WAY, REQUIREMENT, TWICE, WRONG_ONE), comfy_of_transformers(start("run_fast.bat", "")), names="huggingface", runs=double_click(PORTABLE / "run_fast.bat"), folder=PORTABLE),
    # https://github.com/microsoft/onnxruntime/issues/21317 (Windows) and 15783
    Scene(f"{SEVENTEEN}in-the-clone-of-onnxruntime", ORT, (IN_THE_WAY,), then(real("numpy-1.26", "ort-cpu"), clone(PROJECT), CHECKS), names="project\\onnxruntime", runs=script("check.py"), folder=PROJECT),
    # D: another way of starting
    # https://github.com/mathoudebine/turing-smart-screen-python/issues/150, https://github.com/LeagueOfPoro/EsportsCapsuleFarmer/issues/17, https://github.com/klept0/MS-Rewards-Farmer/issues/113
    Scene(f"{SEVENTEEN}task-without-start-in", "ctranslate2", (NOT_INHERITED, WRONG_ONE, ENVIRONMENT, VALUE), ct2s(*READS_CONFIG, task(TASK, str(ML), BY_TASK)), names=TASK, runs=within(SYSTEM_32, str(ML), "-B", str(PROJECT / "transcribe.py")), folder=HOME),
    # https://github.com/tqdm/tqdm/issues/1654 (pythonw), 1593 and 1523
    Scene(f"{SEVENTEEN}progress-bar-without-a-console", "numpy", (ENVIRONMENT, NOT_INHERITED, VALUE), numpys(wheels(*TQDM), pythonw, project("train.py", INDEXES), STARTUP), names="pythonw", runs=without_console, folder=HOME),
    # https://github.com/conda/conda/issues/13891 (Windows), 9428 (the advice) and https://github.com/Trae-AI/TRAE/issues/420
    Scene(f"{SEVENTEEN}conda-activate-before-conda-init", "ctranslate2", (WRONG_ONE, NOT_INHERITED, ENVIRONMENT, REQUIREMENT), condas(BASE, BASE / "Library\\bin", BASE / "Scripts"), names="run.bat", runs=batch(), folder=PROJECT),
    # E: variables
    # https://github.com/AInseven/ComfyUI-fastblend/issues/4, https://github.com/kijai/ComfyUI-GIMM-VFI/issues/17
    Scene(f"{SEVENTEEN}cuda-path-of-the-older-toolkit", "cupy-14", (PATH_WRONG, NOT_SEARCHED, OTHER_CUDA, VALUE), spoilt(with_toolkit("cupy-14", *FOR_CUPY, on_path=False), eleven, variable("CUDA_PATH", str(ELEVEN))), names="v11.8"),
    # https://github.com/Azure/azure-cli/issues/29872 (PostgreSQL's file, which is no more), https://github.com/octimot/StoryToolkitAI/issues/176
    Scene(f"{SEVENTEEN}bundle-of-postgresql", "numpy", (VALUE,), numpys(wheels(*REQUESTS), users(REQUESTS_CA_BUNDLE=POSTGRES), FETCHES), names="REQUESTS_CA_BUNDLE", runs=script("fetch.py"), folder=PROJECT),
    # https://github.com/MicrosoftDocs/windowsserverdocs/pull/7496, https://sodocumentation.net/batch-file/topic/3528/variables-in-batch-files
    Scene(f"{SEVENTEEN}blanks-around-the-equals-sign", "numpy", (VALUE, NOT_INHERITED, ENVIRONMENT), numpys(*APP, run_bat("set PYTHONPATH = %~dp0src", f"{ML} -B app\\main.py")), names="PYTHONPATH", runs=batch(), folder=PROJECT),
    # healthy: twins
    Scene(f"{ODD}lightning-2-and-code-for-both", "torch", (), torch_of_pip(LIGHTNING, *diffusion(FROM_BOTH)), runs=script("txt2img.py"), folder=PROJECT),
    Scene(f"{ODD}torchvision-and-torch-of-pip", "torch", (), torchvisions(RESIZES), runs=script("resize.py"), folder=PROJECT),
    Scene(f"{ODD}random-py-in-a-package", "numpy", (), numpys(project("helpers\\__init__.py", ""), project("helpers\\random.py", "def pick(rows):\n    return rows[0]\n"), project("train.py", f"from helpers import random as picks\n{NUMPY}\nprint(picks.pick([3]))\n".replace("; ", "\n"))), runs=script(), folder=PROJECT),
    Scene(f"{ODD}portable-without-the-persons-hub", "ctranslate2", (), comfy_of_transformers(start("run_fast.bat", "-s ")), runs=double_click(PORTABLE / "run_fast.bat"), folder=PORTABLE),
    Scene(f"{ODD}beside-the-clone-of-onnxruntime", ORT, (), then(real("numpy-1.26", "ort-cpu"), clone(PROJECT / "onnxruntime-main"), CHECKS), runs=script("check.py"), folder=PROJECT),
    Scene(f"{ODD}task-with-start-in", "ctranslate2", (), ct2s(*READS_CONFIG, task(TASK, str(ML), BY_TASK, str(PROJECT))), runs=within(PROJECT, str(ML), "-B", str(PROJECT / "transcribe.py")), folder=HOME),
    Scene(f"{ODD}progress-bar-that-goes-nowhere", "numpy", (), numpys(wheels(*TQDM), pythonw, project("train.py", HAS_STREAMS + INDEXES), STARTUP), runs=without_console, folder=HOME),
    Scene(f"{ODD}conda-activate-by-condabin", "ctranslate2", (), condas(BASE / "condabin", BASE, BASE / "Library\\bin", BASE / "Scripts"), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}bundle-of-certifi-before-it", "numpy", (), numpys(wheels(*REQUESTS), users(CURL_CA_BUNDLE=POSTGRES, REQUESTS_CA_BUNDLE=str(SITE / "certifi\\cacert.pem")), FETCHES), runs=script("fetch.py"), folder=PROJECT),
    Scene(f"{ODD}quotation-marks-around-an-assignment", "numpy", (), numpys(*APP, run_bat('set "PYTHONPATH=%~dp0src"', f"{ML} -B app\\main.py")), runs=batch(), folder=PROJECT),
)  # fmt: skip
