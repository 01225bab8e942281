r"""The sixteenth held-out set: fifteen faults, a fifth draw as common as the field has them, and ten healthy machines. Not scanned when committed.

Blind: written from public threads, by somebody who had read the scenes' format and the builders of earlier sets, and nothing of the product's
code. Only the oracle had run. A fault that an earlier set has is neither sought nor avoided. Each healthy machine is the innocent twin of a
fault. The threads stand above the rows; of the packages there is what the threads' programs run into.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.shortcut import shortcut
from tests.windows.worldlab.held_out_2 import (
    ABI,
    BLAS,
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    STARTS_CT2,
    TASKS,
    TWICE,
    USER_SITE,
    VALUE,
    WHOLE,
    WRONG_ONE,
    batch,
    project,
    real,
    script,
    text,
    then,
    whole,
)
from tests.windows.worldlab.held_out_3 import DESKTOP, numpys, within
from tests.windows.worldlab.held_out_6 import PORTABLE
from tests.windows.worldlab.held_out_8 import LLAMAS, LOADER, STARTS_PORTABLE, activation, launcher, llama, portable
from tests.windows.worldlab.held_out_11 import SYSTEMS_OWN, by_account, installed, of_the_person, torch_of_pip, users
from tests.windows.worldlab.modules import SYSTEMS
from tests.windows.worldlab.scenes import BROKEN, ORT, Plant, Scene, spoilt

assert sys.platform == "win32"

PUBLISHED = "upstream_packaging_bug"
COMFY = PORTABLE / "ComfyUI"
MODEL = PROJECT / "models\\inswapper_128.onnx"
DOWNLOADS = Path(os.environ["USERPROFILE"]) / "Downloads"
ESPEAK = HOME / "eSpeak NG"
SCRIPTS = USER_SITE.with_name("Scripts")
SYSTEM_32 = Path("C:\\windows\\system32")
TASK = "Captions at night"
OF_THE_SYSTEM = "S-1-5-18"
"""The account LocalSystem, as the scheduler names it."""


# --- packages ------------------------------------------------------------------------------------------------------------

TORCHAUDIO = installed(
    "torchaudio", "2.9.0",
    {
        "torchaudio\\__init__.py": "import torch\n\nfrom . import transforms\nfrom ._torchcodec import load_with_torchcodec\n\n__version__ = '2.9.0'\n\n\n"
        "def load(uri, frame_offset=0, num_frames=-1):\n    return load_with_torchcodec(uri, frame_offset=frame_offset, num_frames=num_frames)\n",
        "torchaudio\\_torchcodec.py": "def load_with_torchcodec(uri, frame_offset=0, num_frames=-1):\n    try:\n"
        "        from torchcodec.decoders import AudioDecoder\n    except ImportError as e:\n        raise ImportError(\n"
        "            'TorchCodec is required for load_with_torchcodec. ' 'Please install torchcodec to use this function.'\n        ) from e\n\n"
        "    samples = AudioDecoder(uri).get_all_samples()\n    return samples.data, samples.sample_rate\n",
        "torchaudio\\transforms.py": "import torch\n\n\nclass Resample(torch.nn.Module):\n    def __init__(self, orig_freq, new_freq):\n"
        "        super().__init__()\n        self.step = orig_freq // new_freq\n\n    def forward(self, waveform):\n        return waveform[..., :: self.step]\n",
    },
    "torch==2.9.0",
)  # fmt: skip
"""Since 2.9 it reads files by TorchCodec, which its metadata does not require."""
FRONTEND_MANAGEMENT = """import importlib.resources
import logging
import sys
from pathlib import Path


class FrontendManager:
    @classmethod
    def default_frontend_path(cls):
        try:
            import comfyui_frontend_package

            return str(importlib.resources.files(comfyui_frontend_package) / "static")
        except ImportError:
            requirements = Path(__file__).parents[1] / "requirements.txt"
            logging.error(
                "********** ERROR ***********\\n\\ncomfyui-frontend-package is not installed.\\n\\n"
                f"Please install the updated requirements.txt file by running:\\n{sys.executable} -m pip install -r {requirements}\\n\\n"
                "This error is happening because the ComfyUI frontend is no longer shipped as part of the main repo but as a pip "
                "package instead.\\n\\nIf you are on the portable package you can run: update\\\\update_comfyui.bat to solve this problem"
            )
            sys.exit(-1)
"""
"""What app/frontend_management.py does."""
DESCRIPTOR = """from google.protobuf.internal import api_implementation

_USE_C_DESCRIPTORS = api_implementation.Type() != 'python'


class FieldDescriptor:
    def __new__(cls, name, full_name, index, number, type):
        if _USE_C_DESCRIPTORS:
            raise TypeError(
                'Descriptors cannot not be created directly.\\n'
                'If this call came from a _pb2.py file, your generated code is out of date and must be regenerated with protoc >= 3.19.0.\\n'
                'If you cannot immediately regenerate your protos, some other possible workarounds are:\\n'
                ' 1. Downgrade the protobuf package to 3.20.x or lower.\\n'
                ' 2. Set PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python (but this will use pure-Python parsing and will be much slower).'
            )
        return super().__new__(cls)

    def __init__(self, name, full_name, index, number, type):
        self.name = name
"""
"""What descriptor.py of 4.21 comes to: the message is that of its C part."""
TENSORBOARD = installed(
    "tensorboard", "2.8.0",
    {
        "tensorboard\\__init__.py": "__version__ = '2.8.0'\n",
        "tensorboard\\compat\\__init__.py": "",
        "tensorboard\\compat\\proto\\__init__.py": "",
        "tensorboard\\compat\\proto\\tensor_shape_pb2.py": "# -*- coding: utf-8 -*-\n# Generated by the protocol buffer compiler.  DO NOT EDIT!\n"
        "# source: tensorboard/compat/proto/tensor_shape.proto\nfrom google.protobuf import descriptor as _descriptor\n\n"
        "_TENSORSHAPEPROTO_DIM_SIZE = _descriptor.FieldDescriptor(\n"
        "    name='size', full_name='tensorboard.TensorShapeProto.Dim.size', index=0, number=1, type=3\n)\n",
        "tensorboard\\backend\\__init__.py": "",
        "tensorboard\\backend\\event_processing\\__init__.py": "",
        "tensorboard\\backend\\event_processing\\event_accumulator.py": "import numpy as np\n\nfrom tensorboard.compat.proto import tensor_shape_pb2\n\n\n"
        "class EventAccumulator:\n    def __init__(self, path):\n        self.scalars = np.zeros(3)\n",
    },
    "numpy>=1.12.0", "protobuf>=3.6.0",
)  # fmt: skip
MEDIAPIPE = installed(
    "mediapipe", "0.10.31",
    {
        "mediapipe\\__init__.py": "import mediapipe.tasks.python as tasks\n\n__version__ = '0.10.31'\n",
        "mediapipe\\tasks\\__init__.py": "",
        "mediapipe\\tasks\\python\\__init__.py": "from . import vision\n",
        "mediapipe\\tasks\\python\\vision\\__init__.py": "import numpy as np\n\n\nclass HandLandmarker:\n    def detect(self, image):\n        return np.zeros((21, 3))\n",
    },
    "numpy",
)  # fmt: skip
"""Since 0.10.30 there is no mediapipe.solutions."""
PYDANTIC = installed(
    "pydantic", "2.11.1",
    {
        "pydantic\\__init__.py": "from .main import BaseModel\n\n__version__ = '2.11.1'\n",
        "pydantic\\main.py": "from .json_schema import model_schema\n\n\nclass BaseModel:\n    @classmethod\n    def model_json_schema(cls):\n        return model_schema(cls)\n",
        "pydantic\\json_schema.py": "def model_schema(cls):\n    properties = {name: dict_schema() for name, kind in cls.__annotations__.items() if kind is dict}\n"
        "    return {'properties': properties, 'title': cls.__name__, 'type': 'object'}\n\n\n"
        "def dict_schema():\n    json_schema = {'type': 'object'}\n    json_schema['additionalProperties'] = True\n    return json_schema\n",
    },
)  # fmt: skip
"""Since 2.11 a dictionary's schema says that it has additional properties of any kind."""
GRADIO_CLIENT = installed(
    "gradio_client", "1.3.0",
    {
        "gradio_client\\__init__.py": "",
        "gradio_client\\utils.py": "def get_type(schema):\n    if 'const' in schema:\n        return 'const'\n    if 'enum' in schema:\n        return 'enum'\n"
        "    elif 'type' in schema:\n        return schema['type']\n    return {}\n\n\ndef json_schema_to_python_type(schema):\n"
        "    return _json_schema_to_python_type(schema, schema.get('$defs'))\n\n\ndef _json_schema_to_python_type(schema, defs):\n"
        "    if schema == {}:\n        return 'Any'\n    type_ = get_type(schema)\n    if type_ == 'object':\n"
        "        des = [f'{n}: {_json_schema_to_python_type(v, defs)}' for n, v in schema.get('properties', {}).items()]\n"
        "        if 'additionalProperties' in schema:\n            des += [f\"str, {_json_schema_to_python_type(schema['additionalProperties'], defs)}\"]\n"
        "        return f\"Dict({', '.join(des)})\"\n    return type_\n",
    },
)  # fmt: skip
GRADIO = installed(
    "gradio", "4.44.1",
    {
        "gradio\\__init__.py": "from gradio.blocks import Blocks\n",
        "gradio\\data_classes.py": "from pydantic import BaseModel\n\n\nclass FileData(BaseModel):\n    path: str\n    meta: dict = {'_type': 'gradio.FileData'}\n",
        "gradio\\blocks.py": "import numpy as np\nfrom gradio_client import utils as client_utils\n\nfrom gradio.data_classes import FileData\n\n\n"
        "class Blocks:\n    def get_api_info(self):\n        return client_utils.json_schema_to_python_type(FileData.model_json_schema())\n\n"
        "    def launch(self):\n        return self.get_api_info()\n",
    },
    "gradio-client==1.3.0", "numpy<3.0,>=1.0", "pydantic>=2.0",
)  # fmt: skip
"""What a page asks for first; the server between is left out."""
OLLAMA = installed(
    "ollama", "0.4.7",
    {
        "ollama\\__init__.py": "from ollama._client import Client\n\n_client = Client()\nchat = _client.chat\n",
        "ollama\\_client.py": "class Client:\n    def chat(self, model='', messages=None):\n        return {'message': {'role': 'assistant', 'content': ''}}\n",
    },
)  # fmt: skip
"""The traffic is left out."""
CV2 = "def imread(filename):\n    return None\n\n\ndef cvtColor(src, code):\n    return src\n"
OF_CONTRIB = (
    f"import sys\nimport types\n\n{CV2}\n\ndef _guided_filter(guide, src, radius, eps):\n    return src\n\n\n"
    "ximgproc = types.ModuleType('cv2.ximgproc')\nximgproc.guidedFilter = _guided_filter\nsys.modules['cv2.ximgproc'] = ximgproc\n"
)
OPENCV = installed(
    "opencv_python", "4.10.0.84", {"cv2\\__init__.py": "from .cv2 import *\n", "cv2\\cv2.py": CV2}, "numpy"
)
OPENCV_CONTRIB = installed(
    "opencv_contrib_python", "4.10.0.84",
    {
        "cv2\\__init__.py": "from .cv2 import *\n",
        "cv2\\cv2.py": OF_CONTRIB,
        "cv2\\ximgproc\\__init__.pyi": "def guidedFilter(guide, src, radius: int, eps: float): ...\n",
    },
    "numpy",
)  # fmt: skip
"""Both have the same files; what is cv2.pyd in the wheel is Python here."""
HTTPX = installed(
    "httpx", "0.24.0",
    {
        "httpx\\__init__.py": "from ._client import AsyncClient\n",
        "httpx\\_client.py": "from ._utils import URLPattern, get_environment_proxies\n\n\nclass AsyncClient:\n    def __init__(self):\n"
        "        self._mounts = {URLPattern(key): proxy for key, proxy in get_environment_proxies().items()}\n",
        "httpx\\_exceptions.py": "class InvalidURL(Exception):\n    pass\n",
        "httpx\\_urlparse.py": "import re\n\nfrom ._exceptions import InvalidURL\n\nURL = re.compile(r'(?P<scheme>[a-z]*)://(?P<host>\\[.*\\]|[^:@]*):?(?P<port>.*)')\n\n\n"
        "def urlparse(url):\n    scheme, host, port = URL.fullmatch(url).groups()\n    return scheme, host, normalize_port(port)\n\n\n"
        "def normalize_port(port):\n    if port is None or port == '':\n        return None\n    try:\n        port_as_int = int(port)\n"
        "    except ValueError:\n        raise InvalidURL(f'Invalid port: {port!r}')\n    return port_as_int\n",
        "httpx\\_utils.py": "from urllib.request import getproxies\n\nfrom ._urlparse import urlparse\n\n\nclass URLPattern:\n    def __init__(self, pattern):\n"
        "        self.scheme, self.host, self.port = urlparse(pattern)\n\n\ndef get_environment_proxies():\n    proxy_info = getproxies()\n    mounts = {}\n"
        "    for scheme in ('http', 'https', 'all'):\n        if proxy_info.get(scheme):\n            hostname = proxy_info[scheme]\n"
        "            mounts[f'{scheme}://'] = hostname if '://' in hostname else f'http://{hostname}'\n"
        "    no_proxy_hosts = [host.strip() for host in proxy_info.get('no', '').split(',')]\n    for hostname in no_proxy_hosts:\n"
        "        if hostname == '*':\n            return {}\n        elif hostname:\n            mounts[f'all://*{hostname}'] = None\n    return mounts\n",
    },
)  # fmt: skip
"""Release 0.24.1 looks whether a name of NO_PROXY is an address of IPv6."""
ASKS = installed(
    "gradio", "3.41.2",
    {
        "gradio\\__init__.py": "from gradio.utils import AsyncRequest\n\n\nclass Blocks:\n    def launch(self):\n        return AsyncRequest.client\n",
        "gradio\\utils.py": "import httpx\nimport numpy as np\n\n\nclass AsyncRequest:\n    client = httpx.AsyncClient()\n",
    },
    "httpx", "numpy~=1.0",
)  # fmt: skip
"""A client is made when it is imported."""
PHONEMIZER = installed(
    "phonemizer", "3.3.0",
    {
        "phonemizer\\__init__.py": "",
        "phonemizer\\backend\\__init__.py": "from .espeak.espeak import EspeakBackend\n",
        "phonemizer\\backend\\espeak\\__init__.py": "",
        "phonemizer\\backend\\espeak\\wrapper.py": "import ctypes\nimport ctypes.util\nimport os\nimport pathlib\n\n\nclass EspeakWrapper:\n"
        "    def __init__(self):\n        self._espeak = ctypes.cdll.LoadLibrary(str(self.library()))\n\n    @classmethod\n    def library(cls):\n"
        "        if 'PHONEMIZER_ESPEAK_LIBRARY' in os.environ:\n            library = pathlib.Path(os.environ['PHONEMIZER_ESPEAK_LIBRARY'])\n"
        "            if not (library.is_file() and os.access(library, os.R_OK)):\n"
        "                raise RuntimeError(f'PHONEMIZER_ESPEAK_LIBRARY={library} is not a readable file')\n            return library.resolve()\n\n"
        "        library = ctypes.util.find_library('espeak-ng') or ctypes.util.find_library('espeak')\n        if not library:\n"
        "            raise RuntimeError('failed to find espeak library')\n        return library\n",
        "phonemizer\\backend\\espeak\\espeak.py": "from .wrapper import EspeakWrapper\n\n\nclass EspeakBackend:\n    def __init__(self, language):\n"
        "        if not self.is_available():\n            raise RuntimeError('espeak not installed on your system')\n        self.language = language\n\n"
        "    @classmethod\n    def is_available(cls):\n        try:\n            EspeakWrapper()\n        except RuntimeError:\n            return False\n        return True\n",
    },
)  # fmt: skip
"""What wrapper.py and base.py do, but for the calls of eSpeak itself."""
DOTENV = installed(
    "python_dotenv", "1.0.1",
    {
        "dotenv\\__init__.py": "from .main import find_dotenv, load_dotenv\n",
        "dotenv\\main.py": "import os\nimport sys\n\n\ndef find_dotenv(filename='.env'):\n    path = os.path.dirname(os.path.abspath(sys._getframe(2).f_code.co_filename))\n"
        "    while True:\n        if os.path.isfile(os.path.join(path, filename)):\n            return os.path.join(path, filename)\n"
        "        if path == os.path.dirname(path):\n            return ''\n        path = os.path.dirname(path)\n\n\n"
        "def load_dotenv(override=False, encoding='utf-8'):\n    found = find_dotenv()\n    if not found:\n        return False\n"
        "    with open(found, encoding=encoding) as f:\n        for line in f:\n            name, equals, value = line.strip().partition('=')\n"
        "            if equals and (override or name not in os.environ):\n                os.environ[name] = value.strip('\"')\n    return True\n",
    },
)  # fmt: skip
OPENAI = installed(
    "openai", "1.59.6",
    {
        "openai\\__init__.py": "from ._client import OpenAI\nfrom ._exceptions import OpenAIError\n",
        "openai\\_exceptions.py": "class OpenAIError(Exception):\n    pass\n",
        "openai\\_client.py": "import os\n\nfrom ._exceptions import OpenAIError\n\n\nclass OpenAI:\n    def __init__(self, *, api_key=None, base_url=None):\n"
        "        if api_key is None:\n            api_key = os.environ.get('OPENAI_API_KEY')\n        if api_key is None:\n            raise OpenAIError(\n"
        "                'The api_key client option must be set either by passing api_key to the client or by setting the OPENAI_API_KEY environment variable'\n"
        "            )\n        self.api_key = api_key\n        self.base_url = base_url or os.environ.get('OPENAI_BASE_URL') or 'https://api.openai.com/v1'\n",
    },
)  # fmt: skip


def torch_2_9(m: Machine, site: Path) -> None:
    """Let PyTorch say that it is 2.9.0, for which that TorchAudio is built; the rest is 2.6.0's."""
    (info,) = site.glob("torch-2.6.0*.dist-info")
    new = info.with_name(info.name.replace("2.6.0", "2.9.0"))
    rows = (info / "RECORD").read_text(encoding="utf-8").replace(info.name, new.name).splitlines()
    info.rename(new)
    for file in (new / "METADATA", site / "torch\\version.py"):
        m.write(file, file.read_bytes().replace(b"2.6.0", b"2.9.0"))
        name = file.relative_to(site).as_posix()
        rows = [f"{name},,{file.stat().st_size}" if row.startswith(f"{name},") else row for row in rows]
    m.write(new / "RECORD", "\n".join([*rows, ""]))


def protobuf_4(m: Machine, site: Path) -> None:
    """Install protobuf 4.21 in place of the lab's."""
    for info in site.glob("protobuf-*.dist-info"):
        shutil.rmtree(info)
    files = {
        "google\\protobuf\\__init__.py": "__version__ = '4.21.1'\n",
        "google\\protobuf\\descriptor.py": DESCRIPTOR,
        "google\\protobuf\\internal\\__init__.py": "",
        "google\\protobuf\\internal\\api_implementation.py": "import os\n\n"
        "_implementation_type = os.getenv('PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION', 'upb')\n\n\ndef Type():\n    return _implementation_type\n",
    }
    installed("protobuf", "4.21.1", files)(m, site)
    m.place(Path(m.places["consumers"]) / "modules\\inner-0f3a.dll", site / "google\\_upb\\_message.pyd")


def accelerate(m: Machine, made: Path) -> None:
    """Install Accelerate with ``pip install --user``: its command goes to a folder that is not on PATH."""
    info = "accelerate-1.2.1.dist-info"
    files = {
        "accelerate\\__init__.py": "__version__ = '1.2.1'\n",
        "accelerate\\commands\\__init__.py": "",
        "accelerate\\commands\\accelerate_cli.py": "import sys\n\nfrom accelerate.commands.launch import launch_command\n\n\ndef main():\n"
        "    if sys.argv[1:2] != ['launch']:\n        raise SystemExit(1)\n    launch_command(sys.argv[2:])\n",
        "accelerate\\commands\\launch.py": "import subprocess\nimport sys\n\n\ndef launch_command(args):\n"
        "    process = subprocess.run([sys.executable, *args], check=False)\n    if process.returncode != 0:\n        raise SystemExit(process.returncode)\n\n\n"
        "def main():\n    launch_command(sys.argv[1:])\n\n\nif __name__ == '__main__':\n    main()\n",
        f"{info}\\entry_points.txt": "[console_scripts]\naccelerate = accelerate.commands.accelerate_cli:main\n"
        "accelerate-launch = accelerate.commands.launch:main\n",
    }
    installed("accelerate", "1.2.1", files, "numpy<3.0.0,>=1.17", site=USER_SITE)(m, made)
    record = USER_SITE / info / "RECORD"
    rows = record.read_text(encoding="utf-8")
    for name, module in (("accelerate", "accelerate_cli"), ("accelerate-launch", "launch")):
        program = SCRIPTS / f"{name}.exe"
        launcher(program, WHOLE / "python.exe", f"from accelerate.commands.{module} import main\nmain()")(m, made)
        m.system_files.append(program)
        rows += f"../Scripts/{program.name},,{program.stat().st_size}\n"
    m.write(record, rows)


# --- machines ------------------------------------------------------------------------------------------------------------


def comfy_after_an_update(m: Machine) -> Path:
    """Unpack the portable ComfyUI, and pull its newer source alone: the page is a package of its own since then."""
    site = portable("numpy-1.26", "ctranslate2")(m)
    m.write(
        COMFY / "main.py",
        f"import folder_paths\nfrom app.frontend_management import FrontendManager\n{BLAS}\n".replace("; ", "\n")
        + "web_root = FrontendManager.default_frontend_path()\n",
    )
    m.write(COMFY / "app\\__init__.py", "")
    m.write(COMFY / "app\\frontend_management.py", FRONTEND_MANAGEMENT)
    m.write(COMFY / "requirements.txt", "comfyui-frontend-package==1.14.5\nnumpy>=1.25.0\n")
    return site


# --- plants --------------------------------------------------------------------------------------------------------------


def _varint(n: int) -> bytes:
    """Return a number as protobuf writes it."""
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def _field(number: int, content: bytes | str | int) -> bytes:
    """Return a field as protobuf writes it."""
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content)
    raw = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def network() -> bytes:
    """Return a network of one addition in ONNX's format, with 300 kB of weights."""
    size = 75_000
    shape = _field(2, _field(1, _field(1, size)))
    kind = _field(2, _field(1, _field(1, 1) + shape))
    weights = _field(1, size) + _field(2, 1) + _field(8, "w") + _field(9, bytes(4 * size))
    node = _field(1, "x") + _field(1, "w") + _field(2, "y") + _field(4, "Add")
    graph = _field(1, node) + _field(2, "swap") + _field(5, weights) + _field(11, _field(1, "x") + kind)
    graph += _field(12, _field(1, "y") + kind)
    return _field(1, 8) + _field(8, _field(2, 13)) + _field(7, graph)


def model(part: int | None = None) -> Plant:
    """Leave the model that a program downloaded: whole, or its first bytes."""
    return lambda m, _made: m.write(MODEL, network()[:part])


def rest_of_a_download(m: Machine, made: Path) -> None:
    """Leave the first bytes of the model among the downloads."""
    text(DOWNLOADS / "inswapper_128.onnx.part", network()[:120_000])(m, made)


def recording(m: Machine, made: Path) -> None:
    """Record a tenth of a second."""
    data = bytes(3200)
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, 16000, 32000, 2, 16, b"data", len(data))  # fmt: skip
    m.write(PROJECT / "voice.wav", head + data)


def clone(folder: Path) -> Plant:
    """Clone llama-cpp-python's repository: the library is built when it is installed, and is not in it."""

    def plant(m: Machine, _made: Path) -> None:
        m.write(folder / "pyproject.toml", '[project]\nname = "llama_cpp_python"\ndynamic = ["version"]\n')
        m.write(folder / "CMakeLists.txt", "project(llama_cpp)\n")
        m.write(folder / "llama_cpp\\__init__.py", "from .llama_cpp import *\n\n__version__ = '0.3.16'\n")
        m.write(folder / "llama_cpp\\llama_cpp.py", LLAMAS)
        m.write(folder / "llama_cpp\\_ctypes_extensions.py", LOADER)

    return plant


def espeak(m: Machine, _made: Path) -> None:
    """Install eSpeak NG; its library is one of the lab's."""
    m.place(Path(m.places["consumers"]) / "modules\\inner-0f3a.dll", ESPEAK / "libespeak-ng.dll")
    m.write(ESPEAK / "espeak-ng-data\\phontab", b"\0")


# --- how it is started ---------------------------------------------------------------------------------------------------


def run_bat(*lines: str) -> Plant:
    """Write the project's batch file."""
    return project("run.bat", "\r\n".join(("@echo off", 'cd /d "%~dp0"', *lines, "")))


def as_administrator(m: Machine, made: Path) -> None:
    """Put a shortcut to the portable's batch file on the desktop that runs it as administrator, which starts in System32."""
    raw = bytearray(shortcut(str(PORTABLE / "run_nvidia_gpu.bat"), "", str(SYSTEM_32)))
    (flags,) = struct.unpack_from("<I", raw, 20)
    struct.pack_into("<I", raw, 20, flags | 0x2000)
    text(DESKTOP / "ComfyUI.lnk", bytes(raw))(m, made)


def task_of(account: str, logon: str) -> Plant:
    """Let this account run the project's script as a task, with the highest privileges."""
    content = (
        '<?xml version="1.0" encoding="UTF-16"?>\n'
        '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task"><RegistrationInfo>'
        f"<URI>\\{TASK}</URI></RegistrationInfo><Triggers><BootTrigger><Enabled>true</Enabled></BootTrigger></Triggers>"
        f'<Principals><Principal id="Author"><UserId>{account}</UserId>{logon}<RunLevel>HighestAvailable</RunLevel></Principal></Principals>'
        '<Settings><Enabled>true</Enabled></Settings><Actions Context="Author"><Exec>'
        f"<Command>{WHOLE}\\python.exe</Command><Arguments>-B train.py</Arguments><WorkingDirectory>{PROJECT}</WorkingDirectory>"
        "</Exec></Actions></Task>\n"
    )
    return text(TASKS / TASK, content.encode("utf-16"))


TRAINS = project("train.py", f"{NUMPY}\nprint('done')\n".replace("; ", "\n"))
SPEAKS_FROM = project(
    "clone_voice.py", "import torchaudio\n\nwaveform, rate = torchaudio.load('voice.wav')\nprint(waveform.shape)\n"
)
RESAMPLES = project(
    "clone_voice.py",
    "import wave\n\nimport numpy as np\nimport torch\nimport torchaudio\n\nwith wave.open('voice.wav') as file:\n"
    "    samples = np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16)\nwaveform = torch.from_numpy(samples / 32768)\n"
    "print(torchaudio.transforms.Resample(16000, 8000)(waveform).shape)\n",
)
SWAPS = project(
    "swap.py",
    f"import onnxruntime\n\nswapper = onnxruntime.InferenceSession(r'{MODEL}', providers=['CPUExecutionProvider'])\n",
)
PLOTS = project(
    "plot.py",
    "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n\nevents = EventAccumulator('runs')\n",
)
OF_SOLUTIONS = "import mediapipe as mp\n\nmp_hands = mp.solutions.hands\nhands = mp_hands.Hands()\n"
OF_TASKS = "import mediapipe as mp\n\nhands = mp.tasks.vision.HandLandmarker()\nprint(hands.detect(None).shape)\n"
SERVES = project("app.py", f"import gradio as gr\n\ndemo = gr.Blocks()\ndemo.launch()\n{NUMPY}\n".replace("; ", "\n"))
CHATS = project(
    "ollama.py",
    "import ollama\n\nresponse = ollama.chat(model='llama3.2', messages=[{'role': 'user', 'content': 'Why is the sky blue?'}])\nprint(response)\n",
)
SMOOTHS = project(
    "matting.py", "import cv2\nfrom cv2.ximgproc import guidedFilter\n\nprint(guidedFilter(None, None, 8, 0.01))\n"
)
LOADS_LLAMA = project("chat.py", "import llama_cpp\n\nprint(llama_cpp.__version__)\n")
SPEAKS = project("speak.py", "from phonemizer.backend import EspeakBackend\n\nbackend = EspeakBackend('en-us')\n")
ASKS_THE_LOCAL_ONE = project(
    "chat.py",
    "from dotenv import load_dotenv\nfrom openai import OpenAI\n\nload_dotenv()\nclient = OpenAI(base_url='http://localhost:11434/v1')\n",
)
KEY = "OPENAI_API_KEY=ollama\n"
AT_HOME = f"{os.environ.get('USERDOMAIN', '.')}\\{os.environ['USERNAME']}"

SIXTEEN, ODD = "held16-", "held16-healthy-"

HELD_OUT_16: tuple[Scene, ...] = (
    # A: a library is absent or unfit
    # https://github.com/OpenBMB/VoxCPM/issues/86, https://github.com/ROCm/TheRock/issues/1490 (G:\ComfyUI), https://github.com/1038lab/ComfyUI-EdgeTTS/pull/12
    Scene(f"{SIXTEEN}torchaudio-without-torchcodec", "torch", (REQUIREMENT, PUBLISHED), torch_of_pip(torch_2_9, TORCHAUDIO, recording, SPEAKS_FROM), names="torchcodec", runs=within(PROJECT, str(ML), "-B", "clone_voice.py"), folder=PROJECT),
    # https://github.com/Comfy-Org/ComfyUI/issues/7025 and 7488, https://github.com/Comfy-Org/ComfyUI-Manager/issues/1729
    Scene(f"{SIXTEEN}comfyui-pulled-without-its-frontend", "ctranslate2", (REQUIREMENT,), spoilt(comfy_after_an_update), names="frontend", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # https://github.com/hacksider/Deep-Live-Cam/issues/438 and 610, https://github.com/s0md3v/roop/issues/130, https://github.com/cubiq/ComfyUI_InstantID/issues/244
    Scene(f"{SIXTEEN}onnx-model-cut-short", ORT, (BROKEN, HALF), then(real("numpy-1.26", "ort-cpu"), model(part=180_000), SWAPS), names=MODEL.name, runs=script("swap.py"), folder=PROJECT),
    # B: all is there, and does not fit
    # https://github.com/tensorflow/tensorboard/issues/5817, https://github.com/tensorflow/tensorflow/issues/59665, https://github.com/MicrosoftDocs/windows-ai-docs/issues/77
    Scene(f"{SIXTEEN}descriptors-of-an-older-protoc", "numpy", (REQUIREMENT, ABI, PUBLISHED), numpys(protobuf_4, TENSORBOARD, PLOTS), names="protobuf", runs=script("plot.py"), folder=PROJECT),
    # https://github.com/google-ai-edge/mediapipe/issues/6200 (Windows 11), 6204 and 6261, https://github.com/syahdanfx/Retrolens/issues/1
    Scene(f"{SIXTEEN}mediapipe-without-its-solutions", "numpy", (REQUIREMENT, PUBLISHED), numpys(MEDIAPIPE, project("hands.py", OF_SOLUTIONS)), names="mediapipe", runs=script("hands.py"), folder=PROJECT),
    # https://github.com/joeljuvel/YuE-UI/issues/8 (win-64), https://github.com/SWivid/F5-TTS/pull/930, https://github.com/microsoft/TRELLIS/issues/228
    Scene(f"{SIXTEEN}gradio-before-pydantic-2.11", "numpy", (REQUIREMENT, PUBLISHED), numpys(PYDANTIC, GRADIO_CLIENT, GRADIO, SERVES), names="pydantic", runs=script("app.py"), folder=PROJECT),
    # C: Python or the loader finds another file
    # https://github.com/ollama/ollama-python/issues/144 and 91, https://github.com/ollama/ollama/issues/2185
    Scene(f"{SIXTEEN}script-that-is-called-ollama", "numpy", (IN_THE_WAY,), numpys(OLLAMA, CHATS), names="project\\ollama.py", runs=lambda _s: [str(ML), "-B", str(next(PROJECT.glob("*ollama.py")))], folder=PROJECT),
    # https://github.com/chflame163/ComfyUI_LayerStyle/issues/5 and 141, https://github.com/toyxyz/ComfyUI_toyxyz_test_nodes/issues/51 and 57
    Scene(f"{SIXTEEN}opencv-over-its-contrib", "numpy", (TWICE, IN_THE_WAY, BROKEN, HALF, REQUIREMENT), numpys(OPENCV_CONTRIB, OPENCV, SMOOTHS), names="opencv", runs=script("matting.py"), folder=PROJECT),
    # https://github.com/abetlen/llama-cpp-python/issues/568, 1764 and 132: a copy of the code in place of the installed package
    Scene(f"{SIXTEEN}clone-of-llama-cpp-python", "llama-cpp-python", (IN_THE_WAY,), spoilt(llama("cublas-12", "cudart-12"), clone(PROJECT), LOADS_LLAMA), names="project\\llama_cpp", runs=script("chat.py"), folder=PROJECT),
    # D: another way of starting
    # https://github.com/bmaltais/kohya_ss/issues/621, https://github.com/Softcatala/whisper-ctranslate2/issues/12, https://github.com/zackees/transcribe-anything/issues/21
    Scene(f"{SIXTEEN}command-is-not-on-path", "numpy", (NOT_INHERITED, VALUE, WRONG_ONE, ENVIRONMENT, REQUIREMENT, SYSTEMS), spoilt(whole("numpy-1.26"), accelerate, TRAINS, run_bat("accelerate launch train.py")), names="accelerate", runs=batch(), folder=PROJECT),
    # https://github.com/Comfy-Org/ComfyUI/issues/6258, https://github.com/lllyasviel/Fooocus/issues/666
    Scene(f"{SIXTEEN}shortcut-as-administrator", "ctranslate2", (NOT_INHERITED, WRONG_ONE, ENVIRONMENT, VALUE), spoilt(portable("numpy-1.26", "ctranslate2"), as_administrator), names="run_nvidia_gpu.bat", runs=within(SYSTEM_32, str(PORTABLE / "run_nvidia_gpu.bat")), folder=HOME),
    # https://github.com/MohamedSerhan/sts2-mod-manager/pull/90, https://github.com/darkGrimoire/hoyolab-daily-bot/issues/7
    Scene(f"{SIXTEEN}task-of-the-system", "ctranslate2", (NOT_INHERITED, WRONG_ONE, REQUIREMENT, ENVIRONMENT), spoilt(of_the_person, STARTS_CT2, task_of(OF_THE_SYSTEM, "")), names=TASK, runs=by_account(SYSTEMS_OWN), folder=PROJECT),
    # E: variables
    # https://github.com/bootphon/phonemizer/issues/44 and 144, https://github.com/remsky/Kokoro-FastAPI/issues/119, https://github.com/mozilla/TTS/issues/742
    Scene(f"{SIXTEEN}espeak-library-is-a-folder", "numpy", (VALUE, SYSTEMS), numpys(PHONEMIZER, espeak, SPEAKS, users(PHONEMIZER_ESPEAK_LIBRARY=str(ESPEAK))), names="PHONEMIZER_ESPEAK_LIBRARY", runs=script("speak.py"), folder=PROJECT),
    # https://github.com/jhj0517/Whisper-WebUI/issues/241 (the advice), https://github.com/pydantic/httpx2/issues/753, https://github.com/chatchat-space/Langchain-Chatchat/issues/3147
    Scene(f"{SIXTEEN}no-proxy-for-an-address-of-ipv6", "numpy", (VALUE, REQUIREMENT, PUBLISHED), numpys(HTTPX, ASKS, SERVES, activation, run_bat(f"call {HOME}\\ml\\Scripts\\activate.bat", "set no_proxy=localhost, 127.0.0.1, ::1", "python -B app.py")), names="no_proxy", runs=batch(), folder=PROJECT),
    # https://github.com/Significant-Gravitas/AutoGPT/issues/958, 1217 and 6458, https://github.com/MainAIdk/AI-short-generator/issues/1
    Scene(f"{SIXTEEN}env-file-that-explorer-named", "numpy", (VALUE, ENVIRONMENT, NOT_INHERITED), numpys(DOTENV, OPENAI, ASKS_THE_LOCAL_ONE, project(".env.txt", KEY)), names="OPENAI_API_KEY", runs=script("chat.py"), folder=PROJECT),
    # healthy: twins
    Scene(f"{ODD}torchaudio-that-reads-no-file", "torch", (), torch_of_pip(torch_2_9, TORCHAUDIO, recording, RESAMPLES), runs=within(PROJECT, str(ML), "-B", "clone_voice.py"), folder=PROJECT),
    Scene(f"{ODD}onnx-model-and-the-rest-of-a-download", ORT, (), then(real("numpy-1.26", "ort-cpu"), model(), rest_of_a_download, SWAPS), runs=script("swap.py"), folder=PROJECT),
    Scene(f"{ODD}descriptors-in-python", "numpy", (), numpys(protobuf_4, TENSORBOARD, PLOTS, users(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python")), runs=script("plot.py"), folder=PROJECT),
    Scene(f"{ODD}mediapipe-and-its-tasks", "numpy", (), numpys(MEDIAPIPE, project("hands.py", OF_TASKS), project("old\\hands.py", OF_SOLUTIONS)), runs=script("hands.py"), folder=PROJECT),
    Scene(f"{ODD}contrib-over-opencv", "numpy", (), numpys(OPENCV, OPENCV_CONTRIB, SMOOTHS), runs=script("matting.py"), folder=PROJECT),
    Scene(f"{ODD}clone-below-the-project", "llama-cpp-python", (), spoilt(llama("cublas-12", "cudart-12"), clone(PROJECT / "llama-cpp-python"), LOADS_LLAMA), runs=script("chat.py"), folder=PROJECT),
    Scene(f"{ODD}command-as-a-module", "numpy", (), spoilt(whole("numpy-1.26"), accelerate, TRAINS, run_bat(f"{WHOLE}\\python.exe -B -m accelerate.commands.launch train.py")), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}task-of-the-person", "ctranslate2", (), spoilt(of_the_person, STARTS_CT2, task_of(AT_HOME, "<LogonType>InteractiveToken</LogonType>")), runs=script(python=WHOLE / "python.exe"), folder=PROJECT),
    Scene(f"{ODD}espeak-library-is-its-file", "numpy", (), numpys(PHONEMIZER, espeak, SPEAKS, users(PHONEMIZER_ESPEAK_LIBRARY=str(ESPEAK / "libespeak-ng.dll"))), runs=script("speak.py"), folder=PROJECT),
    Scene(f"{ODD}env-file-and-copies-of-it", "numpy", (), numpys(DOTENV, OPENAI, ASKS_THE_LOCAL_ONE, project(".env", KEY), project(".env.txt", KEY), project(".env.example", "OPENAI_API_KEY=your-key\n")), runs=script("chat.py"), folder=PROJECT),
)  # fmt: skip
