r"""The fourteenth held-out set: fifteen faults, a third draw as common as the field has them, and ten healthy machines. Not scanned when committed.

Blind: written from public threads, by somebody who had read the scenes' format and the builders of earlier sets, nothing of the product's
code but its list of causes. Only the oracle had run. A fault that an earlier set has is neither sought nor avoided. Each healthy machine
is the innocent twin of a fault. The threads stand above the rows; of the packages there is what the threads' programs run into. Two
copies of Intel's OpenMP in one process ("OMP: Error #15"), the most frequent thread of all, could not be borne out: wine lets them be.
"""

from __future__ import annotations

import io
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, SYSTEM32, Machine
from tests.windows.worldlab.held_out_2 import (
    ABI,
    ALIASES,
    BLAS,
    ENVIRONMENT,
    IN_THE_WAY,
    ML,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    RUNTIME,
    TORCH,
    TORCHS,
    VALUE,
    WRONG_ONE,
    batch,
    dumped,
    project,
    script,
    then,
)
from tests.windows.worldlab.held_out_3 import ct2s, numpys, within
from tests.windows.worldlab.held_out_6 import PORTABLE
from tests.windows.worldlab.held_out_8 import NO_GPU_BUILD, STARTS_PORTABLE, activation, portable
from tests.windows.worldlab.held_out_10 import LOADS_ITS_DLLS, machines_python
from tests.windows.worldlab.held_out_11 import installed, torch_of_pip, users
from tests.windows.worldlab.held_out_12 import PILLOW
from tests.windows.worldlab.held_out_13 import double_click
from tests.windows.worldlab.modules import SYSTEMS, aside
from tests.windows.worldlab.scenes import (
    BROKEN,
    OTHER_CUDA,
    Plant,
    Scene,
    pip,
    spoilt,
    torch,
    variable,
)

assert sys.platform == "win32"

PUBLISHED = "upstream_packaging_bug"
COMFY = PORTABLE / "ComfyUI"
PICTURES = HOME / "Zoë Müller\\Bilder (KI)\\models"
SAM = PROJECT / "sam2"
MODEL = "4x-UltraSharp.pth"
KEY_LOG = r"\\.\aswMonFltProxy\FFFFA68B5D3C2A10"
"""What Avast puts there: a file that only its own filter opens."""


# --- packages ------------------------------------------------------------------------------------------------------------

TORCHVISION = installed(
    "torchvision", "0.21.0",
    {
        "torchvision\\__init__.py": "from torchvision import transforms\n\n__version__ = '0.21.0'\n",
        "torchvision\\transforms\\__init__.py": "from . import functional\n",
        "torchvision\\transforms\\functional.py": "from . import _functional_tensor as F_t\n\n\n"
        "def rgb_to_grayscale(img, num_output_channels=1):\n    return F_t.rgb_to_grayscale(img, num_output_channels)\n",
        "torchvision\\transforms\\_functional_tensor.py": "import torch\n\n\n"
        "def rgb_to_grayscale(img, num_output_channels=1):\n    r, g, b = img.unbind(dim=-3)\n"
        "    return (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype).unsqueeze(dim=-3)\n",
    },
    "numpy", "torch==2.6.0", "pillow!=8.3.*,>=5.3.0",
)  # fmt: skip
"""Since 0.17 the module has an underscore before its name."""
DEGRADATIONS = (
    "import numpy as np\nimport torch\nfrom torchvision.transforms.functional_tensor import rgb_to_grayscale\n"
)
BASICSR = installed(
    "basicsr", "1.4.2",
    {
        "basicsr\\__init__.py": "from .data import *\n",
        "basicsr\\data\\__init__.py": "import importlib\n\n"
        "_dataset_modules = [importlib.import_module(f'basicsr.data.{name}') for name in ('realesrgan_dataset',)]\n",
        "basicsr\\data\\realesrgan_dataset.py": "from basicsr.data.degradations import random_mixed_kernels\n",
        "basicsr\\data\\degradations.py": f"{DEGRADATIONS}\n\ndef random_mixed_kernels(kernels):\n    return np.random.choice(kernels)\n",
        "basicsr\\archs\\__init__.py": "",
        "basicsr\\archs\\rrdbnet_arch.py": "class RRDBNet:\n    pass\n",
    },
    "numpy", "torch>=1.7", "torchvision",
)  # fmt: skip
"""The last release, of 2022; it names no newest torchvision."""
AV = {"av\\__init__.py": "# MUST import the core before anything else in order to initialize the underlying\n"
      "# library that is being wrapped.\nfrom av import _core\n"}  # fmt: skip
BNB_FILES = {
    "bitsandbytes\\__init__.py": "from . import optim\n\n__version__ = '{version}'\n",
    "bitsandbytes\\cextension.py": "import ctypes as ct\nimport logging\nfrom pathlib import Path\n\nfrom torch.version import cuda\n\n"
    "logger = logging.getLogger(__name__)\nPACKAGE_DIR = Path(__file__).parent\n\n\nclass BNBNativeLibrary:\n    compiled_with_cuda = False\n\n\n"
    "class CudaBNBNativeLibrary:\n    compiled_with_cuda = True\n\n\ndef get_native_library():\n"
    "    binary_path = PACKAGE_DIR / 'libbitsandbytes_cpu.dll'\n"
    "    cuda_binary_path = PACKAGE_DIR / f\"libbitsandbytes_cuda{{cuda.replace('.', '')}}.dll\"\n"
    "    if cuda_binary_path.exists():\n        binary_path = cuda_binary_path\n    else:\n"
    "        logger.warning('Could not find the bitsandbytes CUDA binary at %r', cuda_binary_path)\n"
    "    ct.cdll.LoadLibrary(str(binary_path))\n    if binary_path == cuda_binary_path:\n        return CudaBNBNativeLibrary()\n"
    "    logger.warning('The installed version of bitsandbytes was compiled without GPU support. '\n"
    "                   '8-bit optimizers, 8-bit multiplication, and GPU quantization are unavailable.')\n"
    "    return BNBNativeLibrary()\n\n\nlib = get_native_library()\n",
    "bitsandbytes\\functional.py": "from .cextension import lib\n\nif lib and lib.compiled_with_cuda:\n"
    "    str2optimizer32bit = {{'adam': (lib, lib)}}\n\n\ndef optimizer_update_32bit(name):\n    return str2optimizer32bit[name]\n",
    "bitsandbytes\\optim.py": "from . import functional as F\n\n\nclass AdamW8bit:\n    def step(self):\n        F.optimizer_update_32bit('adam')\n",
}  # fmt: skip
"""What cextension.py and functional.py do; the call of a kernel, which needs a GPU, is left out."""
DATASETS = installed(
    "datasets", "3.2.0",
    {
        "datasets\\__init__.py": "__version__ = '3.2.0'\n\nfrom .load import load_dataset\n",
        "datasets\\load.py": "import numpy as np\n\n\ndef load_dataset(path, **options):\n    return np.zeros(3)\n",
    },
    "numpy>=1.17",
)  # fmt: skip
HTTPX = installed(
    "httpx", "0.28.1",
    {
        "httpx\\__init__.py": "from ._client import Client\n",
        "httpx\\_client.py": "from ._transports.default import HTTPTransport\nfrom ._utils import get_environment_proxies\n\n\n"
        "class Client:\n    def __init__(self):\n"
        "        self._mounts = {\n            key: None if proxy is None else HTTPTransport(proxy=proxy)\n"
        "            for key, proxy in get_environment_proxies().items()\n        }\n",
        "httpx\\_utils.py": "from urllib.request import getproxies\n\n\ndef get_environment_proxies():\n"
        "    proxy_info = getproxies()\n    mounts = {}\n    for scheme in ('http', 'https', 'all'):\n"
        "        if proxy_info.get(scheme):\n            hostname = proxy_info[scheme]\n"
        "            mounts[f'{scheme}://'] = hostname if '://' in hostname else f'http://{hostname}'\n    return mounts\n",
        "httpx\\_transports\\__init__.py": "",
        "httpx\\_transports\\default.py": "class HTTPTransport:\n    def __init__(self, proxy):\n        scheme = proxy.partition('://')[0]\n"
        "        if scheme in ('http', 'https'):\n            pass\n        elif scheme in ('socks5', 'socks5h'):\n            try:\n"
        "                import socksio  # noqa\n            except ImportError:\n                raise ImportError(\n"
        "                    \"Using SOCKS proxy, but the 'socksio' package is not installed. \"\n"
        "                    'Make sure to install httpx using `pip install httpx[socks]`.'\n                ) from None\n"
        "        else:\n            raise ValueError(\n                'Proxy protocol must be either '\n"
        "                f\"'http', 'https', 'socks5', or 'socks5h', but got {scheme!r}.\"\n            )\n",
    },
    "anyio", "certifi", "httpcore==1.*", "idna", "socksio==1.*; extra == 'socks'",
)  # fmt: skip
"""What a client does when it is made. Its requirements are below."""
PARTS_OF_HTTPX = tuple(
    installed(name, version, {f"{name}\\__init__.py": ""})
    for name, version in (("anyio", "4.8.0"), ("certifi", "2024.12.14"), ("httpcore", "1.0.7"), ("idna", "3.10"))
)
SOCKSIO = installed("socksio", "1.0.0", {"socksio\\__init__.py": ""})
GRADIO = installed(
    "gradio", "5.9.1",
    {
        "gradio\\__init__.py": "from gradio.networking import Blocks\n",
        "gradio\\networking.py": "import httpx\n\n\nclass Blocks:\n    def launch(self):\n        return httpx.Client()\n",
    },
    "httpx>=0.24.1",
)  # fmt: skip
HUB = installed(
    "huggingface_hub", "0.27.1",
    {
        "huggingface_hub\\__init__.py": "from ._snapshot_download import snapshot_download\n",
        "huggingface_hub\\constants.py": "import os\n\nENV_VARS_TRUE_VALUES = {'1', 'ON', 'YES', 'TRUE'}\n\n\ndef _is_true(value):\n"
        "    if value is None:\n        return False\n    return value.upper() in ENV_VARS_TRUE_VALUES\n\n\n"
        "HF_HOME = os.path.expandvars(os.path.expanduser(os.getenv('HF_HOME', '~/.cache/huggingface')))\n"
        "HF_HUB_CACHE = os.getenv('HF_HUB_CACHE', os.path.join(HF_HOME, 'hub'))\n"
        "HF_HUB_OFFLINE = _is_true(os.environ.get('HF_HUB_OFFLINE') or os.environ.get('TRANSFORMERS_OFFLINE'))\n",
        "huggingface_hub\\errors.py": "class LocalEntryNotFoundError(FileNotFoundError, ValueError):\n    pass\n",
        "huggingface_hub\\_snapshot_download.py": "import os\n\nfrom . import constants\nfrom .errors import LocalEntryNotFoundError\n\n\n"
        "def snapshot_download(repo_id, revision='main'):\n"
        "    storage = os.path.join(constants.HF_HUB_CACHE, 'models--' + repo_id.replace('/', '--'))\n"
        "    ref = os.path.join(storage, 'refs', revision)\n    if os.path.exists(ref):\n        with open(ref) as f:\n"
        "            folder = os.path.join(storage, 'snapshots', f.read())\n        if os.path.exists(folder):\n            return folder\n"
        "    if constants.HF_HUB_OFFLINE:\n        raise LocalEntryNotFoundError(\n"
        "            'Cannot find an appropriate cached snapshot folder for the specified revision on the local disk and '\n"
        "            \"outgoing traffic has been disabled. To enable repo look-ups and downloads online, set 'HF_HUB_OFFLINE=0' as environment variable.\"\n"
        "        )\n    os.makedirs(storage, exist_ok=True)\n    return storage\n",
    },
)  # fmt: skip
"""What _snapshot_download.py does, but for the traffic itself."""


def av(m: Machine, site: Path) -> None:
    """Install PyAV: its module asks for Windows' media features, as FFmpeg's libavcodec of its wheel does."""
    file = m.place(Path(m.places["consumers"]) / "modules\\media.pyd", site / "av\\_core.cp311-win_amd64.pyd")
    installed("av", "14.0.1", AV)(m, site)
    (record,) = site.glob("av-*.dist-info/RECORD")
    m.write(record, f"{record.read_text(encoding='utf-8')}av/{file.name},,{file.stat().st_size}\n")


def bitsandbytes(version: str, *releases: int) -> Plant:
    """Install bitsandbytes with a library for each of these releases of CUDA, and the one for the processor."""

    def plant(m: Machine, site: Path) -> None:
        folder = site / "bitsandbytes"
        consumers = Path(m.places["consumers"])
        libraries = [m.place(consumers / "modules\\inner-0f3a.dll", folder / "libbitsandbytes_cpu.dll")]
        libraries += [m.place(consumers / "ggml-cuda.dll", folder / f"libbitsandbytes_cuda{n}.dll") for n in releases]
        files = {name: content.format(version=version) for name, content in BNB_FILES.items()}
        installed("bitsandbytes", version, files, "torch", "numpy")(m, site)
        (record,) = site.glob("bitsandbytes-*.dist-info/RECORD")
        rows = [f"bitsandbytes/{p.name},,{p.stat().st_size}\n" for p in libraries]
        m.write(record, record.read_text(encoding="utf-8") + "".join(rows))

    return plant


def edited_by_hand(m: Machine, site: Path) -> None:
    """Take the advice of most answers: one word less in a file of the package. Its record keeps the old size."""
    file = site / "basicsr\\data\\degradations.py"
    m.write(file, file.read_text(encoding="utf-8").replace("functional_tensor", "functional"))


# --- machines ------------------------------------------------------------------------------------------------------------


def comfy_with_torch(m: Machine) -> Path:
    """Unpack the portable ComfyUI with PyTorch."""
    site = portable(*TORCHS, "numpy-1.26")(m)
    m.write(COMFY / "main.py", f"import folder_paths\n{TORCH}\n".replace("; ", "\n"))
    return site


def comfy_with_numpy(numpy: str) -> Callable[[Machine], Path]:
    """Return the portable ComfyUI of 2025, and a node that wants an older NumPy."""

    def build(m: Machine) -> Path:
        site = portable(numpy, "ctranslate2")(m)
        m.write(COMFY / "main.py", f"import folder_paths\nimport comfy.utils\n{BLAS}\n")
        m.write(COMFY / "comfy\\utils.py", "import numpy as np\nfrom numpy.dtypes import Float64DType\n")
        m.write(COMFY / "requirements.txt", "numpy>=1.25.0\n")
        m.write(COMFY / "custom_nodes\\was-node-suite-comfyui\\__init__.py", "NODE_CLASS_MAPPINGS = {}\n")
        m.write(COMFY / "custom_nodes\\was-node-suite-comfyui\\requirements.txt", "numpy==1.23.5\n")
        return site

    return build


def torch_of_cuda(*plants: Plant) -> Callable[[Machine], Path]:
    """Return PyTorch for CUDA 12.4 with a driver, a script that trains with it, and what is wrong."""

    def build(m: Machine) -> Path:
        site = torch(m)
        m.write(site / "torch\\__init__.py", LOADS_ITS_DLLS)
        pip(m, site, "numpy-1.26")
        return site

    return spoilt(build, *plants)


# --- plants --------------------------------------------------------------------------------------------------------------


def runtime_in_torch(m: Machine, site: Path) -> None:
    """Copy the DLL that a message names beside those that need it, and take it away from the system."""
    shutil.copyfile(SYSTEM32 / "msvcp140.dll", site / "torch\\lib\\msvcp140.dll")
    m.put_aside(SYSTEM32 / "msvcp140.dll")


def checkpoint() -> bytes:
    """Return a checkpoint as torch.save writes it: here a dictionary of one number, and a filler."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}q\x00X\x05\x00\x00\x00epochq\x01K\x03s.")
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/data/0", bytes(300_000))
        archive.writestr("archive/version", "3\n")
    return packed.getvalue()


def model(*, part: int | None = None, more: str = "") -> Plant:
    """Leave a model where a browser put it: whole, or the first bytes; ``more``: a download that goes on, beside it."""

    def plant(m: Machine, _made: Path) -> None:
        m.write(PICTURES / MODEL, checkpoint()[:part])
        if more:
            m.write(PICTURES / more, checkpoint()[:5000])

    return plant


def editable_sam(m: Machine, site: Path) -> None:
    """Clone SAM 2 into the project, and describe it as ``pip install -e`` does, but for the way to the modules."""
    m.write(
        SAM / "setup.py",
        "from setuptools import find_packages, setup\n\nsetup(name='SAM-2', packages=find_packages())\n",
    )
    m.write(SAM / "sam2\\__init__.py", "")
    m.write(SAM / "sam2\\build_sam.py", BUILD_SAM)
    info = site / "sam_2-1.0.dist-info"
    m.write(info / "METADATA", "Metadata-Version: 2.1\nName: SAM-2\nVersion: 1.0\nRequires-Dist: numpy>=1.24.4\n")
    m.write(info / "INSTALLER", "pip\n")
    m.write(info / "direct_url.json", f'{{"dir_info": {{"editable": true}}, "url": "file:///{SAM.as_posix()}"}}')


def records(m: Machine, site: Path, *files: str) -> None:
    """Write the record of that package."""
    names = (*files, *(f"sam_2-1.0.dist-info/{n}" for n in ("METADATA", "INSTALLER", "direct_url.json", "RECORD")))
    m.write(site / "sam_2-1.0.dist-info\\RECORD", "".join(f"{n},,\n" for n in names))


def by_a_finder(m: Machine, site: Path) -> None:
    """Let setuptools' finder lead to the package: it comes after the folders of sys.path."""
    editable_sam(m, site)
    finder = "__editable___SAM_2_1_0_finder"
    m.write(site / "__editable__.SAM_2-1.0.pth", f"import {finder}; {finder}.install()")
    m.write(site / f"{finder}.py", FINDER.replace("PLACE", repr(str(SAM / "sam2"))))
    records(m, site, "__editable__.SAM_2-1.0.pth", f"{finder}.py")


def by_a_path(m: Machine, site: Path) -> None:
    """Let a line of a .pth file lead to the clone (``--config-settings editable_mode=compat``)."""
    editable_sam(m, site)
    m.write(site / "__editable__.SAM_2-1.0.pth", f"{SAM}\n")
    records(m, site, "__editable__.SAM_2-1.0.pth")


BUILD_SAM = """import os

import numpy as np
import sam2

if os.path.isdir(os.path.join(sam2.__path__[0], "sam2")):
    raise RuntimeError(
        "You're likely running Python from the parent directory of the sam2 repository "
        "(i.e. the directory where https://github.com/facebookresearch/sam2 is cloned into). "
        "This is not supported since the `sam2` Python package could be shadowed by the "
        "repository name (the repository is also named `sam2` and contains the Python package "
        "in `sam2/sam2`)."
    )


def build_sam2(config_file):
    return np.zeros(3)
"""
"""SAM 2 looks for this since October 2024; before, Hydra was not initialized."""
FINDER = """from __future__ import annotations
import sys
from importlib.machinery import PathFinder
from importlib.machinery import all_suffixes as module_suffixes
from importlib.util import spec_from_file_location
from itertools import chain
from pathlib import Path

MAPPING: dict[str, str] = {'sam2': PLACE}


class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in MAPPING:
            return cls._find_spec(fullname, Path(MAPPING[fullname]))
        parent, _, _child = fullname.rpartition(".")
        if parent and parent in MAPPING:
            return PathFinder.find_spec(fullname, path=[MAPPING[parent]])
        return None

    @classmethod
    def _find_spec(cls, fullname, candidate_path):
        init = candidate_path / "__init__.py"
        candidates = (candidate_path.with_suffix(x) for x in module_suffixes())
        for candidate in chain([init], candidates):
            if candidate.exists():
                return spec_from_file_location(fullname, candidate)
        return None


def install():
    if not any(finder == _EditableFinder for finder in sys.meta_path):
        sys.meta_path.append(_EditableFinder)
"""
"""What setuptools writes since release 64, but for namespaces."""


def alias_of_the_store(m: Machine, _made: Path) -> None:
    """Leave the Store's alias for python3, which Windows 11 has from the start: a file of no bytes."""
    m.write(ALIASES / "python3.exe", b"")
    m.system_files.append(ALIASES / "python3.exe")
    m.path(ALIASES, scope="user")


def cached(m: Machine, _made: Path) -> None:
    """Keep the model in the folder that the batch file names, as huggingface_hub keeps it."""
    folder = HOME / "models\\hub\\models--Systran--faster-whisper-small"
    m.write(folder / "refs\\main", "536b0662742c02347bc0e980a01041f333bce120")
    m.write(folder / "snapshots\\536b0662742c02347bc0e980a01041f333bce120\\config.json", "{}")


# --- how it is started ---------------------------------------------------------------------------------------------------


def start(name: str, *lines: str) -> Plant:
    """Write a batch file beside the portable's own."""
    return lambda m, _made: m.write(PORTABLE / name, "\r\n".join(("@echo off", *lines, "")))


def run_bat(*lines: str) -> Plant:
    """Write the project's batch file, which activates the environment."""
    rows = ("@echo off", 'cd /d "%~dp0"', f"call {HOME}\\ml\\Scripts\\activate.bat", *lines, "")
    return project("run.bat", "\r\n".join(rows))


def code_runner(command: str) -> Plant:
    """Choose the environment in VS Code for the project, and this command for its extension Code Runner."""
    rows = {
        "python.defaultInterpreterPath": str(ML),
        "code-runner.runInTerminal": True,
        "code-runner.executorMap": {"python": command},
    }
    return project(".vscode\\settings.json", dumped(rows))


UPSCALES = project("upscale.py", f"import torch\n\nstate = torch.load(r'{PICTURES}\\{MODEL}', map_location='cpu')\n")
DECODES = project("transcribe.py", f"import av\n{BLAS}\n".replace("; ", "\n"))
RESTORES = project("restore.py", "from basicsr.archs.rrdbnet_arch import RRDBNet\n\nnet = RRDBNet()\n")
LEARNS = project("code.py", "import torch\n\nnet = torch.nn.Linear(3, 1)\nprint(net(torch.ones(3)))\n")
"""Run by itself: torch imports pdb, which imports ``code``, so that the script is imported once more while torch is half there."""
STEPS = project(
    "train.py", "import torch\nimport bitsandbytes as bnb\n\noptimizer = bnb.optim.AdamW8bit()\noptimizer.step()\n"
)
SEGMENTS = project(
    "segment.py", "from sam2.build_sam import build_sam2\n\npredictor = build_sam2('sam2.1_hiera_s.yaml')\n"
)
LOADS = project("train.py", "from datasets import load_dataset\n\nrows = load_dataset('squad', split='train')\n")
OWN_LOADER = (
    project("datasets\\__init__.py", "from .coco import Coco\n"),
    project("datasets\\coco.py", "class Coco:\n    pass\n"),
)
OWN_FILES = (project("datasets\\coco\\train.csv", "id,name\n"), project("datasets\\download.py", "print('done')\n"))
SERVES = project("app.py", f"import gradio as gr\n\ngr.Blocks().launch()\n{BLAS}\n".replace("; ", "\n"))
SECURE = project("fetch.py", f"import ssl\n\ncontext = ssl.create_default_context()\n{NUMPY}\n".replace("; ", "\n"))
FETCHES = project(
    "train.py",
    f"from huggingface_hub import snapshot_download\n\nfolder = snapshot_download('Systran/faster-whisper-small')\n{BLAS}\n",
)
OFFLINE = (f'set "HF_HOME={HOME}\\models"', "set HF_HUB_OFFLINE=1", "python -B train.py %*")
LAN = "--listen 0.0.0.0 --port 8188"
BY_HAND = double_click(PORTABLE / "start_lan.bat")

FOURTEEN, ODD = "held14-", "held14-healthy-"

HELD_OUT_14: tuple[Scene, ...] = (
    # A: a library is absent or unfit
    # https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/9929, https://github.com/pytorch/pytorch/issues/39734
    # https://github.com/nagadomi/nunif/issues/701: c10.dll and the Visual C++ runtime
    Scene(f"{FOURTEEN}portable-torch-without-msvcp140", "torch", (RUNTIME,), then(comfy_with_torch, aside("msvcp140.dll")), names="msvcp140", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # https://github.com/Comfy-Org/ComfyUI/issues/6223, 7168 and 7274: failed finding central directory
    Scene(f"{FOURTEEN}checkpoint-that-a-browser-cut-short", "torch", (BROKEN,), torch_of_pip(model(part=180_000), UPSCALES), names=MODEL, runs=script("upscale.py"), folder=PROJECT),
    # https://github.com/opencv/opencv-python/issues/856, https://github.com/LykosAI/StabilityMatrix/issues/417 (Windows N),
    # https://github.com/PinW/whisper-key-local/issues/29 (_core of PyAV)
    Scene(f"{FOURTEEN}pyav-on-windows-n", "ctranslate2", (SYSTEMS,), ct2s(av, aside("mfplat.dll"), DECODES), names="mfplat", runs=script("transcribe.py"), folder=PROJECT),
    # B: all is there, and does not fit
    # https://github.com/Comfy-Org/ComfyUI/issues/6479: No module named 'numpy.dtypes'
    Scene(f"{FOURTEEN}comfyui-and-the-numpy-of-a-node", "ctranslate2", (REQUIREMENT,), spoilt(comfy_with_numpy("numpy-1.23")), names="numpy", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # https://github.com/XPixelGroup/BasicSR/issues/663, https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/13985
    Scene(f"{FOURTEEN}basicsr-and-torchvision-of-today", "torch", (REQUIREMENT, PUBLISHED), torch_of_pip(PILLOW, TORCHVISION, BASICSR, RESTORES), names="torchvision", runs=script("restore.py"), folder=PROJECT),
    # https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1189 and 175, https://github.com/jllllll/bitsandbytes-windows-webui/issues/27
    Scene(f"{FOURTEEN}bitsandbytes-before-this-cuda", "torch", (ABI, REQUIREMENT, OTHER_CUDA, NO_GPU_BUILD), torch_of_cuda(bitsandbytes("0.43.0", 118, 121, 122, 123), STEPS), names="bitsandbytes", runs=script(), folder=PROJECT),
    # C: Python or the loader finds another file
    # https://github.com/pytorch/pytorch/issues/104825, https://github.com/python/cpython/issues/114052: pdb imports code
    Scene(f"{FOURTEEN}script-that-is-called-code", "torch", (IN_THE_WAY,), torch_of_pip(LEARNS), names="code.py", runs=script("code.py"), folder=PROJECT),
    # https://github.com/facebookresearch/sam2/issues/414 and 496, https://github.com/facebookresearch/sam2/pull/359
    Scene(f"{FOURTEEN}clone-of-sam-2-in-the-project", "numpy", (IN_THE_WAY,), numpys(by_a_finder, SEGMENTS), names="project\\sam2", runs=script("segment.py"), folder=PROJECT),
    # https://github.com/huggingface/datasets/issues/6553, https://github.com/huggingface/transformers/issues/11728
    Scene(f"{FOURTEEN}package-datasets-of-the-project", "numpy", (IN_THE_WAY,), numpys(DATASETS, LOADS, *OWN_LOADER), names="project\\datasets", runs=script(), folder=PROJECT),
    # D: another way of starting
    # https://github.com/Comfy-Org/ComfyUI/issues/1832: python main.py beside the portable's own Python
    Scene(f"{FOURTEEN}portable-by-the-machines-python", "ctranslate2", (WRONG_ONE, REQUIREMENT, ENVIRONMENT), spoilt(portable("numpy-1.26", "ctranslate2"), machines_python, start("start_lan.bat", 'cd /d "%~dp0ComfyUI"', f"python -B main.py {LAN}")), names="start_lan.bat", runs=BY_HAND, folder=PORTABLE),
    # https://github.com/adosikas/synth_mapping_helper/issues/4, https://github.com/EvolvingPrograms/cli/issues/9
    Scene(f"{FOURTEEN}python3-in-a-batch-file", "ctranslate2", (WRONG_ONE, ENVIRONMENT), ct2s(activation, alias_of_the_store, run_bat("python3 -B train.py")), names="python3", runs=batch(), folder=PROJECT),
    # https://github.com/formulahendry/vscode-code-runner/issues/662, 1081 and 1232: it asks PATH, whatever interpreter is chosen
    Scene(f"{FOURTEEN}code-runner-asks-path", "ctranslate2", (WRONG_ONE, REQUIREMENT, ENVIRONMENT), ct2s(machines_python, code_runner("python -u")), names="settings.json", runs=within(PROJECT, "python", "-u", "-B", "train.py"), folder=PROJECT),
    # E: variables
    # https://github.com/szczyglis-dev/py-gpt/issues/72, https://github.com/chatchat-space/Langchain-Chatchat/issues/605
    Scene(f"{FOURTEEN}socks-proxy-without-socksio", "ctranslate2", (VALUE, REQUIREMENT), ct2s(*PARTS_OF_HTTPX, HTTPX, GRADIO, SERVES, users(ALL_PROXY="socks5://127.0.0.1:7890")), names="ALL_PROXY", runs=script("app.py"), folder=PROJECT),
    # https://github.com/pollen-robotics/reachy-mini-desktop-app/pull/100, https://github.com/unslothai/unsloth/issues/8546,
    # https://github.com/python/cpython/issues/90480
    Scene(f"{FOURTEEN}key-log-of-a-virus-scanner", "numpy", (VALUE,), numpys(SECURE, variable("SSLKEYLOGFILE", KEY_LOG)), names="SSLKEYLOGFILE", runs=script("fetch.py"), folder=PROJECT),
    # https://github.com/Comfy-Org/ComfyUI/issues/3840, https://github.com/mazdak/AudioWhisper/issues/14,
    # https://github.com/meizhong986/WhisperJAV/issues/415: what is advised against waiting
    Scene(f"{FOURTEEN}offline-and-never-fetched", "ctranslate2", (VALUE,), ct2s(HUB, activation, FETCHES, run_bat(*OFFLINE)), names="HF_HUB_OFFLINE", runs=batch(), folder=PROJECT),
    # healthy: twins
    Scene(f"{ODD}msvcp140-copied-beside-torch", "torch", (), then(comfy_with_torch, runtime_in_torch), runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{ODD}checkpoint-and-a-download-that-goes-on", "torch", (), torch_of_pip(model(more="Unconfirmed 738211.crdownload"), UPSCALES), runs=script("upscale.py"), folder=PROJECT),
    Scene(f"{ODD}comfyui-and-a-node-that-wants-an-older-numpy", "ctranslate2", (), spoilt(comfy_with_numpy("numpy-1.26")), runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{ODD}basicsr-edited-by-hand", "torch", (), torch_of_pip(PILLOW, TORCHVISION, BASICSR, edited_by_hand, RESTORES), runs=script("restore.py"), folder=PROJECT),
    Scene(f"{ODD}clone-of-sam-2-by-its-path", "numpy", (), numpys(by_a_path, SEGMENTS), runs=script("segment.py"), folder=PROJECT),
    Scene(f"{ODD}folder-datasets-of-files", "numpy", (), numpys(DATASETS, LOADS, *OWN_FILES), runs=script(), folder=PROJECT),
    Scene(f"{ODD}portable-by-its-own-python", "ctranslate2", (), spoilt(portable("numpy-1.26", "ctranslate2"), machines_python, start("start_lan.bat", 'cd /d "%~dp0ComfyUI"', f"..\\python_embeded\\python.exe -s -B main.py {LAN}")), runs=BY_HAND, folder=PORTABLE),
    Scene(f"{ODD}code-runner-asks-the-editor", "ctranslate2", (), ct2s(machines_python, code_runner("$pythonPath -u $fullFileName")), runs=lambda _s: [str(ML), "-u", "-B", str(PROJECT / "train.py")], folder=PROJECT),
    Scene(f"{ODD}socks-proxy-and-socksio", "ctranslate2", (), ct2s(*PARTS_OF_HTTPX, HTTPX, SOCKSIO, GRADIO, SERVES, users(ALL_PROXY="socks5://127.0.0.1:7890", NO_PROXY="localhost,127.0.0.1")), runs=script("app.py"), folder=PROJECT),
    Scene(f"{ODD}offline-and-fetched-before", "ctranslate2", (), ct2s(HUB, activation, FETCHES, cached, run_bat(*OFFLINE)), runs=batch(), folder=PROJECT),
)  # fmt: skip
