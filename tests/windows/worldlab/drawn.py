r"""Small situations of classes A, B, C and E from public threads and from what people with Windows do; the threads stand above the rows. In-sample, but
for ``late``: those were written with the others, and scanned once when the rules were done.
"""

from __future__ import annotations

import csv
import io
import pickle
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, TOOLKITS, Machine
from tests.windows.worldlab.field import registry_proxy
from tests.windows.worldlab.held_out_2 import (
    ABI,
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    NOT_INHERITED,
    NUMPY,
    ORT,
    OTHER_PYTHON,
    PROJECT,
    REQUIREMENT,
    RUNTIME,
    TWICE,
    VALUE,
    WHOLE,
    other_python,
    project,
    real,
    script,
    text,
    then,
    whole,
)
from tests.windows.worldlab.held_out_3 import DESKTOP
from tests.windows.worldlab.held_out_11 import installed, torch_of_pip, users
from tests.windows.worldlab.held_out_17 import OF_TRANSFORMERS, REQUESTS, SAFETENSORS, TOKENIZERS, wheels
from tests.windows.worldlab.modules import SYSTEMS, aside, package
from tests.windows.worldlab.scenes import (
    BIN,
    BROKEN,
    MISSING,
    NOT_SEARCHED,
    OTHER_CUDA,
    Plant,
    Scene,
    gone,
    spoilt,
    toolkit,
)

assert sys.platform == "win32"

DRAWN, ODD, LATE = "drawn-", "drawn-healthy-", "drawn-late-"
PUBLISHED = "upstream_packaging_bug"
TOOLS = "build_tools_missing"
GONE = (BROKEN, HALF)
LIBS = HOME / "pylibs"
MODELS = HOME / "models"
STARTED = f"{NUMPY}\n".replace("; ", "\n")
CAIRO = wheels("cairocffi", "cffi", "pycparser")
OPENCV = wheels("opencv")


def numpys(*plants: Plant) -> Callable[[Machine], Path]:
    """Return an environment with NumPy and CTranslate2 on a machine without a driver, and what is wrong."""
    return then(real("numpy-1.26", "ctranslate2"), *plants)


def does(*lines: str, name: str = "train.py", encoding: str = "utf-8") -> Plant:
    """Write the project's program, which computes with NumPy first."""
    return text(PROJECT / name, (STARTED + "\n".join((*lines, ""))).encode(encoding))


# --- packages ------------------------------------------------------------------------------------------------------------

TRITON = installed(
    "triton_windows", "3.2.0.post18",
    {
        "triton\\__init__.py": "from .runtime.jit import jit\n",
        "triton\\runtime\\__init__.py": "",
        "triton\\runtime\\jit.py": "from .build import _build\n\n\ndef jit(fn):\n    return lambda *args: _build(fn.__name__)\n",
        "triton\\runtime\\build.py": "import os\nimport subprocess\nimport sys\nimport sysconfig\n\n\ndef _build(name):\n    scheme = sysconfig.get_default_scheme()\n"
        "    py_include_dir = sysconfig.get_paths(scheme=scheme)['include']\n    if not os.path.exists(os.path.join(py_include_dir, 'Python.h')):\n"
        "        raise subprocess.CalledProcessError(1, ['tcc.exe', name + '.c', '-I' + py_include_dir])\n    return name\n",
    },
)  # fmt: skip
"""runtime/build.py compiles a launcher with the include folder of Python; TinyCC ends with 1 where it has no Python.h."""
KERNEL = does("import triton", "", "", "@triton.jit", "def add(x):", "    return x", "", "", "add(1)")
FIND_LIB = """import ctypes
import os
import sys


def find_lib(name):
    paths = os.environ["PATH"].split(os.path.pathsep)
    for path in paths:
        libpath = os.path.join(path, name)
        if os.path.isfile(libpath):
            return libpath
    if name.startswith("nvinfer_builder_resource"):
        return None
    raise FileNotFoundError("Could not find: {:}. Is it on your PATH?\\nNote: Paths searched were:\\n{:}".format(name, paths))


if sys.platform.startswith("win"):
    for lib in ("nvinfer_10.dll", "nvinfer_plugin_10.dll", "nvonnxparser_10.dll"):
        ctypes.CDLL(find_lib(lib))
"""
TENSORRT = installed("tensorrt", "10.7.0", {"tensorrt\\__init__.py": FIND_LIB})
"""The wheel of the archive: its __init__.py of Windows."""
GUARDED = "import os\n\n\ndef add_lib_to_dll_path(path):\n    try:\n        os.add_dll_directory(os.path.join(os.path.dirname(path), '../../bin'))\n    except Exception:\n        pass\n\n\n"
OF_DLIB = GUARDED + f"add_lib_to_dll_path(r'{TOOLKITS}\\v12.1\\lib\\x64\\cublas.lib')\n"
"""tools/python/dlib/__init__.py.in, as it was built for a toolkit that is no more."""
PEFT = installed(
    "peft", "0.17.1",
    {
        "peft\\__init__.py": "from .peft_model import PeftModel\n",
        "peft\\peft_model.py": "import numpy\nimport transformers\nfrom transformers import Cache, DynamicCache\nfrom transformers.modeling_layers import GradientCheckpointingLayer\n\n\nclass PeftModel:\n    pass\n",
    },
    "numpy", "transformers",
)  # fmt: skip
"""Transformers has modeling_layers since 4.52, which the requirement does not say."""
SENTENCES = installed(
    "sentence_transformers", "3.3.1",
    {
        "sentence_transformers\\__init__.py": "from .SentenceTransformer import SentenceTransformer\n",
        "sentence_transformers\\SentenceTransformer.py": "import os\n\nimport numpy\n\n\nclass SentenceTransformer:\n    def __init__(self, name, cache_folder=None):\n"
        "        if cache_folder is None:\n            cache_folder = os.getenv('SENTENCE_TRANSFORMERS_HOME')\n        if cache_folder:\n            os.makedirs(cache_folder, exist_ok=True)\n        self.name = name\n",
    },
    "numpy",
)  # fmt: skip
HELP = installed(
    "cliargs", "1.4.0",
    {"cliargs\\__init__.py": 'import numpy\n\n\ndef main():\n    """Usage: %(prog)s [options]"""\n\n\nUSAGE = main.__doc__ % {"prog": "cliargs"}\n'},
    "numpy",
)  # fmt: skip
WARNS = installed(
    "librosaish", "0.9.2",
    {"librosaish\\__init__.py": "import warnings\n\nimport numpy\n\nwarnings.warn('pkg_resources is deprecated as an API.', DeprecationWarning, stacklevel=2)\n"},
    "numpy",
)  # fmt: skip
BNB = installed(
    "bitsandbytes", "0.45.2",
    {"bitsandbytes\\__init__.py": "from . import nn\n\n__version__ = '0.45.2'\n", "bitsandbytes\\nn\\__init__.py": "from .modules import Linear4bit, Params4bit\n", "bitsandbytes\\nn\\modules.py": "import numpy\n\n\nclass Params4bit:\n    pass\n\n\nclass Linear4bit:\n    pass\n"},
    "numpy",
)  # fmt: skip
BNB_OF_WINDOWS = installed(
    "bitsandbytes_windows", "0.37.5",
    {"bitsandbytes\\__init__.py": "from . import nn\n", "bitsandbytes\\nn\\__init__.py": "from .modules import Linear8bitLt\n", "bitsandbytes\\nn\\modules.py": "import numpy\n\n\nclass Linear8bitLt:\n    pass\n"},
)  # fmt: skip
"""An older copy of the package under another name, which is put over it."""
PARTITIONS = installed("partition", "0.16", {"partition\\__init__.py": "import numpy\n\ntry:\n    import magic\nexcept ImportError:\n    magic = None\n"}, "numpy")  # fmt: skip
NODES = installed("easynodes", "0.3", {"utils\\__init__.py": "from .text import clean\n", "utils\\text.py": "def clean(x):\n    return x\n", "easynodes\\__init__.py": ""}, "numpy")  # fmt: skip
"""It brings a folder with a common name."""


# --- plants --------------------------------------------------------------------------------------------------------------


def onnx(version: int) -> Plant:
    """Save a model of this IR version: ModelProto with an Identity, as onnx.save writes it."""

    def field(number: int, value: bytes | int | str) -> bytes:
        if isinstance(value, int):
            return bytes((number << 3, value))
        data = value.encode() if isinstance(value, str) else value
        return bytes((number << 3 | 2, len(data))) + data

    shape = field(2, field(1, field(1, 3)))
    kind = field(2, field(1, field(1, 1) + shape))
    graph = field(1, field(1, "x") + field(2, "y") + field(4, "Identity"))
    graph += field(2, "g") + field(11, field(1, "x") + kind) + field(12, field(1, "y") + kind)
    whole = field(1, version) + field(2, "pytorch") + field(7, graph) + field(8, field(2, 17))
    return lambda m, _made: m.write(PROJECT / "best.onnx", whole)


def checkpoint(data: bytes) -> Plant:
    """Leave a checkpoint as torch.save writes it, with this pickle."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("best/data.pkl", data)
        archive.writestr("best/byteorder", "little")
        archive.writestr("best/version", "3\n")
    return text(PROJECT / "best.pt", packed.getvalue())


LINUX_PATH = (
    b"\x80\x02}q\x00X\x04\x00\x00\x00pathq\x01cpathlib\nPosixPath\nq\x02X\x04\x00\x00\x00runsq\x03\x85q\x04Rq\x05s."
)
"""{"path": PosixPath("runs")}, as Linux pickles it."""
ARGUMENTS = pickle.dumps({"args": __import__("argparse").Namespace(lr=1)}, 2)
LOADS = ("import torch", "", "ckpt = torch.load('best.pt', map_location='cpu'{more})", "print(ckpt)")


def loads(more: str = "", *before: str) -> Plant:
    """Write the program that loads the checkpoint."""
    return does(*before, *(line.format(more=more) for line in LOADS))


def older_core(m: Machine, site: Path) -> None:
    """Let Pillow's Python files be of another release than its compiled part."""
    file = site / "PIL\\_version.py"
    m.write(file, file.read_bytes().replace(b"11.1.0", b"11.0.0"))


def into(folder: Path, *names: str) -> Plant:
    """Install wheels by ``pip install --target``."""

    def plant(m: Machine, _made: Path) -> None:
        for name in names:
            base = Path(m.places[name])
            (record,) = base.glob("*.dist-info/RECORD")
            with record.open(newline="", encoding="utf-8") as rows:
                for row in csv.reader(rows):
                    if ".." not in row[0]:
                        m.place(base / row[0], folder / row[0])

    return plant


def of_python_310(m: Machine, made: Path) -> None:
    """Install NumPy into the project by ``pip install -t .`` of another Python."""
    other_python(m, made, PROJECT)


def module_of_310(m: Machine, _made: Path) -> None:
    """Copy cv2.pyd of another Python beside the program, as older guides say."""
    m.place(Path(m.places["consumers"]) / "modules\\other_python.pyd", PROJECT / "cv2.pyd")


def no_headers(_m: Machine, _made: Path) -> None:
    """Leave out what the embeddable package has not: the headers and the import libraries."""
    for folder in ("include", "libs"):
        shutil.rmtree(WHOLE / folder, ignore_errors=True)


def with_headers(m: Machine, _made: Path) -> None:
    """Copy the headers there, as guides say."""
    m.write(WHOLE / "include\\Python.h", "/* */\n")
    m.write(WHOLE / "libs\\python311.lib", "")


def dlib(start: str) -> Callable[[Machine], Path]:
    """Return an environment with a module that was built against CUDA, and a toolkit on PATH."""

    def base(m: Machine) -> Path:
        site = real("numpy-1.26")(m)
        toolkit(m, "cublas-12", "cudart-12")
        package(m, site, "of_cuda", start=start)
        return site

    return base


def pth(content: str | bytes) -> Plant:
    """Add a folder of one's own by a .pth file of the environment."""

    def plant(m: Machine, site: Path) -> None:
        m.write(LIBS / "mytools\\__init__.py", "rows = 3\n")
        m.write(site / "mine.pth", content)

    return plant


CV2 = does("import cv2", "", "print(cv2.cvtColor(numpy.zeros((4, 4, 3), numpy.uint8), cv2.COLOR_BGR2GRAY).shape)")
SESSION = does("import onnxruntime", "", "session = onnxruntime.InferenceSession('best.onnx', providers=['CPUExecutionProvider'])")  # fmt: skip
LABELS = project("labels.txt", "Straße\nMöwe\n".encode("cp1252"))
OPENAI = installed(
    "openai", "1.30.0",
    {"openai\\__init__.py": "import os\nimport requests\n\n\nclass OpenAI:\n    def __init__(self):\n        self.headers = {'Authorization': f\"Bearer {os.environ['OPENAI_API_KEY']}\"}\n\n"
     "    def models(self):\n        try:\n            requests.post('http://127.0.0.1:9/v1', headers=self.headers, timeout=5)\n        except requests.ConnectionError:\n            print('offline')\n"},
    "requests",
)  # fmt: skip
ASKS = does("import openai", "", "client = openai.OpenAI()", "client.models()")
FETCHES = does(
    "import requests", "", "try:", "    requests.get('http://127.0.0.2:9/', timeout=5)", "except requests.ConnectionError:", "    print('offline')",
)  # fmt: skip
HUB = does(
    "import os", "from huggingface_hub import constants", "", "os.makedirs(constants.HF_HUB_CACHE, exist_ok=True)"
)
HUBS = wheels("huggingface_hub", *REQUESTS, "tqdm", "colorama", "packaging", "filelock", "fsspec", "typing_extensions", "pyyaml")  # fmt: skip

ONEDRIVE = DESKTOP.with_name("OneDrive")
ROWS = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }".ljust(127) + b"\n" + bytes(8)
LOADS_ROWS = does("import os", "", "rows = numpy.load(os.path.join(os.path.expanduser('~'), 'Desktop', 'data', 'rows.npy'))")  # fmt: skip

FIRST: tuple[Scene, ...] = (
    # A
    # https://github.com/NaturalHistoryMuseum/pyzbar/issues/93: Could not find module libzbar-64.dll (or one of its dependencies)
    Scene(f"{DRAWN}pyzbar-without-msvcr120", "numpy", (RUNTIME, SYSTEMS), numpys(wheels("pyzbar", "pillow"), aside("msvcr120.dll"), does("from pyzbar import pyzbar")), names="msvcr120.dll", runs=script(), folder=PROJECT),
    # https://github.com/Kozea/cairocffi/issues/213
    Scene(f"{DRAWN}cairocffi-without-cairo", "numpy", (SYSTEMS,), numpys(CAIRO, does("import cairocffi")), names="cairo", runs=script(), folder=PROJECT),
    # https://github.com/openslide/openslide-python/issues/51
    Scene(f"{DRAWN}openslide-without-its-dll", "numpy", (SYSTEMS, REQUIREMENT), numpys(wheels("openslide", "pillow"), does("import openslide")), names="openslide", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}opencv-lost-its-config", "numpy", GONE, numpys(OPENCV, gone("cv2\\config.py"), CV2), names="config.py", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}h5py-lost-hdf5", "numpy", (*GONE, SYSTEMS), numpys(wheels("h5py"), gone("h5py\\hdf5.dll"), does("import h5py")), names="hdf5.dll", runs=script(), folder=PROJECT),
    # https://github.com/woct0rdho/triton-windows/issues/3: Python.h of an embeddable Python
    Scene(f"{DRAWN}triton-without-python-h", "numpy", (TOOLS, SYSTEMS, ENVIRONMENT), then(whole("numpy-1.26"), no_headers, TRITON, KERNEL), names="Python.h", runs=script(python=WHOLE / "python.exe"), folder=PROJECT),
    # https://github.com/davisking/dlib/issues/2097
    Scene(f"{DRAWN}dlib-of-a-removed-toolkit", "module", (NOT_SEARCHED, MISSING, "python_dll_search_change"), spoilt(dlib(OF_DLIB), does("import fastthing")), names="cublas64_12.dll", runs=script(), folder=PROJECT),
    # B
    # https://github.com/microsoft/onnxruntime/issues/23602 and 20559, https://github.com/notAI-tech/NudeNet/issues/156
    Scene(f"{DRAWN}onnx-model-of-a-newer-ir", ORT, (REQUIREMENT, "model_needs_another_release"), then(real("numpy-1.26", "ort-cpu"), onnx(12), SESSION), names="best.onnx", runs=script(), folder=PROJECT),
    # https://github.com/python-pillow/Pillow/issues/2688, https://github.com/amueller/word_cloud/issues/225
    Scene(f"{DRAWN}pillow-half-upgraded", "numpy", (*GONE, ABI, REQUIREMENT), numpys(wheels("pillow"), older_core, does("from PIL import Image")), names="pillow", runs=script(), folder=PROJECT),
    # https://github.com/ultralytics/yolov5/issues/5127 and 10240: cannot instantiate 'PosixPath' on your system
    Scene(f"{DRAWN}checkpoint-with-a-path-of-linux", "torch", (REQUIREMENT, BROKEN, PUBLISHED), torch_of_pip(checkpoint(LINUX_PATH), loads(", weights_only=False")), names="best.pt", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}bitsandbytes-of-windows-over-it", "numpy", (TWICE, REQUIREMENT, BROKEN, HALF), numpys(BNB, BNB_OF_WINDOWS, does("from bitsandbytes.nn import Params4bit")), names="bitsandbytes", runs=script(), folder=PROJECT),
    # C
    # https://github.com/WongKinYiu/yolov7/issues/1280: No module named 'utils.datasets'
    Scene(f"{DRAWN}folder-without-init-loses", "numpy", (IN_THE_WAY, REQUIREMENT), numpys(NODES, project("utils\\datasets.py", "rows = 3\n"), does("from utils.datasets import rows")), names="utils", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}cv2-of-another-python-beside-it", "numpy", (IN_THE_WAY, OTHER_PYTHON), numpys(OPENCV, module_of_310, CV2), names="cv2.pyd", runs=script(), folder=PROJECT),
    # https://github.com/mhammond/pywin32/issues/1431: pip install --target
    Scene(f"{DRAWN}pywin32-in-a-folder-of-its-own", "numpy", (ENVIRONMENT, VALUE, REQUIREMENT), numpys(into(LIBS, "pywin32"), users(PYTHONPATH=str(LIBS)), does("import win32api")), names="pywin32.pth", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}folder-in-other-letters", "numpy", (IN_THE_WAY, REQUIREMENT), numpys(project("Models\\net.py", "rows = 3\n"), does("from models.net import rows")), names="Models", runs=script(), folder=PROJECT),
    # E
    Scene(f"{DRAWN}utf8-and-a-file-of-the-code-page", "numpy", (VALUE, ENVIRONMENT, NOT_INHERITED), numpys(LABELS, users(PYTHONUTF8="1"), does("labels = open('labels.txt').read().splitlines()")), names="labels.txt", runs=script(), folder=PROJECT),
    # https://github.com/openai/openai-python/issues/787, https://github.com/Aider-AI/aider/issues/3243, https://github.com/Pythagora-io/gpt-pilot/issues/475
    Scene(f"{DRAWN}key-in-typographic-quotes", "numpy", (VALUE,), numpys(wheels(*REQUESTS), OPENAI, users(OPENAI_API_KEY="\u201csk-proj-abcdef\u201d"), ASKS), names="OPENAI_API_KEY", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}program-of-powershells-arrow", "numpy", (VALUE, BROKEN, ENVIRONMENT), numpys(does(encoding="utf-16")), names="train.py", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}without-docstrings", "numpy", (VALUE,), numpys(HELP, users(PYTHONOPTIMIZE="2"), does("import cliargs")), names="PYTHONOPTIMIZE", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}sentences-on-a-drive-that-is-gone", "numpy", (VALUE,), numpys(SENTENCES, users(SENTENCE_TRANSFORMERS_HOME="E:\\models\\st"), does("from sentence_transformers import SentenceTransformer", "", "model = SentenceTransformer('all-MiniLM-L6-v2')")), names="SENTENCE_TRANSFORMERS_HOME", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}socks-proxy-in-windows-settings", "numpy", (VALUE, REQUIREMENT), numpys(wheels(*REQUESTS), registry_proxy("socks=127.0.0.1:10808"), FETCHES), names="ProxyServer", runs=script(), folder=PROJECT),
    Scene(f"{DRAWN}desktop-in-onedrive", "numpy", (VALUE, NOT_INHERITED, ENVIRONMENT), numpys(text(ONEDRIVE / "Desktop\\data\\rows.npy", ROWS), users(OneDrive=str(ONEDRIVE)), LOADS_ROWS), names="OneDrive", runs=script(), folder=PROJECT),
    # healthy
    Scene(f"{ODD}desktop-beside-onedrive", "numpy", (), numpys(text(DESKTOP / "data\\rows.npy", ROWS), text(ONEDRIVE / "Desktop\\data\\rows.npy", ROWS), users(OneDrive=str(ONEDRIVE)), LOADS_ROWS), runs=script(), folder=PROJECT),
    Scene(f"{ODD}parts-that-nobody-imports", "numpy", (), numpys(CAIRO, wheels("pyzbar", "openslide", "magic", "pillow"), aside("msvcr120.dll"), PARTITIONS, does("import partition", "import pyzbar")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}opencv", "numpy", (), numpys(OPENCV, wheels("h5py"), CV2), runs=script(), folder=PROJECT),
    Scene(f"{ODD}triton-with-python-h", "numpy", (), then(whole("numpy-1.26"), no_headers, with_headers, TRITON, KERNEL), runs=script(python=WHOLE / "python.exe"), folder=PROJECT),
    Scene(f"{ODD}dlib-of-a-toolkit", "module", (), spoilt(dlib(GUARDED + f"add_lib_to_dll_path(r'{BIN.parent}\\lib\\x64\\cublas.lib')\n"), lambda m, _s: m.write(BIN.parent / "lib\\x64\\cublas.lib", ""), does("import fastthing")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}onnx-model-of-this-ir", ORT, (), then(real("numpy-1.26", "ort-cpu"), onnx(10), SESSION), runs=script(), folder=PROJECT),
    Scene(f"{ODD}onnx-model-that-nobody-loads", ORT, (), then(real("numpy-1.26", "ort-cpu"), onnx(12), does("import onnxruntime")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}checkpoint-with-a-path-and-its-help", "torch", (), torch_of_pip(checkpoint(LINUX_PATH), loads(", weights_only=False", "import pathlib", "pathlib.PosixPath = pathlib.WindowsPath")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}folder-with-init-wins", "numpy", (), numpys(NODES, project("utils\\__init__.py", ""), project("utils\\datasets.py", "rows = 3\n"), does("from utils.datasets import rows")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}utf8-and-a-named-code-page", "numpy", (), numpys(LABELS, users(PYTHONUTF8="1", OPENAI_API_KEY="sk-proj-abcdef", PYTHONOPTIMIZE="1"), wheels(*REQUESTS), OPENAI, HELP, does("import cliargs", "import openai", "labels = open('labels.txt', encoding='cp1252').read().splitlines()")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}proxy-in-windows-settings", "numpy", (), numpys(wheels(*REQUESTS), registry_proxy("127.0.0.1:7890"), FETCHES), runs=script(), folder=PROJECT),
)  # fmt: skip

LAST: tuple[Scene, ...] = (
    # https://github.com/ahupp/python-magic/issues/293, https://github.com/Unstructured-IO/unstructured/issues/1080
    Scene(f"{LATE}magic-without-libmagic", "numpy", (SYSTEMS,), numpys(wheels("magic"), does("import magic")), names="magic", runs=script(), folder=PROJECT),
    # https://github.com/opencv/opencv-python/issues/856: recursion is detected during loading of "cv2" binary extensions
    Scene(f"{LATE}opencv-module-in-quarantine", "numpy", GONE, numpys(OPENCV, gone("cv2\\cv2.pyd"), CV2), names="cv2.pyd", runs=script(), folder=PROJECT),
    # https://github.com/NVIDIA/TensorRT/issues/3971
    Scene(f"{LATE}tensorrt-is-not-on-path", "numpy", (NOT_SEARCHED, SYSTEMS, MISSING, OTHER_CUDA), numpys(TENSORRT, does("import tensorrt")), names="nvinfer_10.dll", runs=script(), folder=PROJECT),
    Scene(f"{LATE}peft-newer-than-transformers", "numpy", (REQUIREMENT,), numpys(wheels(*OF_TRANSFORMERS, "regex", "transformers"), TOKENIZERS, SAFETENSORS, PEFT, does("from peft import PeftModel")), names="transformers", runs=script(), folder=PROJECT),
    Scene(f"{LATE}checkpoint-with-arguments", "torch", (REQUIREMENT, BROKEN), torch_of_pip(checkpoint(ARGUMENTS), loads()), names="best.pt", runs=script(), folder=PROJECT),
    Scene(f"{LATE}installed-into-the-project", "numpy", (IN_THE_WAY, OTHER_PYTHON), numpys(of_python_310, does()), names="project\\numpy", runs=script(), folder=PROJECT),
    Scene(f"{LATE}pth-file-of-the-notepad", "numpy", (ENVIRONMENT, REQUIREMENT), numpys(pth(f"\ufeff{LIBS}\n".encode()), does("import mytools")), names="mine.pth", runs=script(), folder=PROJECT),
    Scene(f"{LATE}program-in-the-code-page", "numpy", (VALUE, BROKEN, ENVIRONMENT), numpys(does("# Größe", encoding="cp1252")), names="train.py", runs=script(), folder=PROJECT),
    Scene(f"{LATE}encoding-misspelt", "numpy", (VALUE,), numpys(users(PYTHONIOENCODING="uft-8"), does()), names="PYTHONIOENCODING", runs=script(), folder=PROJECT),
    Scene(f"{LATE}hf-home-is-a-file", "numpy", (VALUE,), numpys(HUBS, text(MODELS / "hf", "x"), users(HF_HOME=str(MODELS / "hf")), HUB), names="HF_HOME", runs=script(), folder=PROJECT),
    Scene(f"{LATE}warnings-are-errors", "numpy", (VALUE,), numpys(WARNS, users(PYTHONWARNINGS="error"), does("import librosaish")), names="PYTHONWARNINGS", runs=script(), folder=PROJECT),
    Scene(f"{LATE}healthy-warnings-that-are-hidden", "numpy", (), numpys(WARNS, users(PYTHONWARNINGS="ignore", PYTHONIOENCODING="utf-8", HF_HOME="%USERPROFILE%\\hf"), HUBS, does("import librosaish", "# -*- Größe")), runs=script(), folder=PROJECT),
    Scene(f"{LATE}healthy-program-with-its-encoding", "numpy", (), numpys(text(PROJECT / "train.py", ("# -*- coding: cp1252 -*-\n# Größe\n" + STARTED).encode("cp1252")), pth(f"{LIBS}\n"), project("check.py", "import mytools\n")), runs=script(), folder=PROJECT),
    Scene(f"{LATE}healthy-checkpoint-with-arguments", "torch", (), torch_of_pip(checkpoint(ARGUMENTS), loads(", weights_only=False")), runs=script(), folder=PROJECT),
)  # fmt: skip

DRAWNS = (*FIRST, *LAST)
