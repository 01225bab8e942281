r"""The eighteenth held-out set: fifteen faults, a seventh draw as common as the field has them, and ten healthy machines. Not scanned when committed.

Written from public threads, by somebody who had read the scenes' format and the builders of earlier sets, and nothing of the product's code. One
slip: the notes in docs/windows-world-held-out.md on what the sixteenth and the seventeenth set missed were read, before any row was chosen; none
was chosen by them. Only the oracle had run. A fault that an earlier set has is neither sought nor avoided. Each healthy machine is the innocent
twin of a fault. The threads stand above the rows. Real wheels wherever wine imports them; MoviePy, albumentations, InsightFace, CLIP, Accelerate,
Keras and Ultralytics are short packages with the code that the threads run into.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.field import launch_json
from tests.windows.worldlab.held_out_2 import (
    APPDATA,
    ENVIRONMENT,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    STARTS_NUMPY,
    TWICE,
    VALUE,
    WRONG_ONE,
    batch,
    project,
    script,
    text,
)
from tests.windows.worldlab.held_out_3 import DESKTOP, link, numpys, within
from tests.windows.worldlab.held_out_8 import activation, launcher
from tests.windows.worldlab.held_out_11 import installed, torch_of_pip
from tests.windows.worldlab.held_out_17 import OF_TRANSFORMERS, REQUESTS, run_bat, wheels
from tests.windows.worldlab.modules import SYSTEMS
from tests.windows.worldlab.scenes import MISSING, Plant, Scene, spoilt, with_wheels

assert sys.platform == "win32"

PUBLISHED = "upstream_packaging_bug"
PERSON = Path(os.environ["USERPROFILE"])
DOWNLOADED = HOME / "Downloads\\speechkit-main"
DATASETS = HOME / "datasets"
OTHER_DRIVE = Path("Z:\\")
IN_ML = f"call {HOME}\\ml\\Scripts\\activate.bat"


# --- packages ------------------------------------------------------------------------------------------------------------

TOKENIZERS = installed(
    "tokenizers", "0.21.0",
    {
        "tokenizers\\__init__.py": "from . import decoders, models, normalizers, pre_tokenizers, processors\n\n__version__ = '0.21.0'\n"
        + "".join(f"\n\nclass {name}:\n    pass\n" for name in ("AddedToken", "Encoding", "Regex", "Tokenizer")),
        "tokenizers\\models\\__init__.py": "\n\n".join(f"class {name}:\n    pass\n" for name in ("BPE", "Unigram", "WordPiece")),
        **{f"tokenizers\\{name}\\__init__.py": "" for name in ("decoders", "normalizers", "pre_tokenizers", "processors")},
    },
)  # fmt: skip
SAFETENSORS = installed(
    "safetensors", "0.5.3",
    {
        "safetensors\\__init__.py": "__version__ = '0.5.3'\n\n\nclass safe_open:\n    pass\n",
        "safetensors\\torch.py": "def load_file(name):\n    return {}\n\n\ndef save_file(tensors, name):\n    return None\n\n\n"
        "def storage_ptr(tensor):\n    return tensor.untyped_storage().data_ptr()\n\n\ndef storage_size(tensor):\n    return tensor.untyped_storage().nbytes()\n",
    },
)  # fmt: skip
"""Their wheels need a DLL that wine lacks: here are the names that Transformers asks for."""
MOVIEPY = installed(
    "moviepy", "1.0.3",
    {
        "moviepy\\__init__.py": "from .version import __version__\n",
        "moviepy\\version.py": "__version__ = '1.0.3'\n",
        "moviepy\\config_defaults.py": "import os\n\nFFMPEG_BINARY = os.getenv('FFMPEG_BINARY', 'ffmpeg-imageio')\nIMAGEMAGICK_BINARY = os.getenv('IMAGEMAGICK_BINARY', 'auto-detect')\n",
        "moviepy\\config.py": "import os\nimport subprocess as sp\n\nfrom .config_defaults import IMAGEMAGICK_BINARY\n\nif os.name == 'nt':\n    try:\n        import winreg as wr\n"
        "    except ImportError:\n        import _winreg as wr\n\n\ndef try_cmd(cmd):\n    try:\n        proc = sp.Popen(cmd, stdout=sp.PIPE, stderr=sp.PIPE, stdin=sp.DEVNULL)\n"
        "        proc.communicate()\n    except Exception as err:\n        return False, err\n    else:\n        return True, None\n\n\n"
        "if IMAGEMAGICK_BINARY == 'auto-detect':\n    if os.name == 'nt':\n        try:\n            key = wr.OpenKey(wr.HKEY_LOCAL_MACHINE, 'SOFTWARE\\\\ImageMagick\\\\Current')\n"
        "            IMAGEMAGICK_BINARY = wr.QueryValueEx(key, 'BinPath')[0] + r'\\convert.exe'\n            key.Close()\n        except Exception:\n            IMAGEMAGICK_BINARY = 'unset'\n"
        "    elif try_cmd(['convert'])[0]:\n        IMAGEMAGICK_BINARY = 'convert'\n    else:\n        IMAGEMAGICK_BINARY = 'unset'\nelse:\n    success, err = try_cmd([IMAGEMAGICK_BINARY])\n"
        "    if not success:\n        raise IOError(f'{err} - The path specified for the ImageMagick binary might be wrong: {IMAGEMAGICK_BINARY}')\n\n\n"
        "def get_setting(varname):\n    return globals()[varname]\n",
        "moviepy\\editor.py": "from .video.VideoClip import TextClip\n",
        "moviepy\\tools.py": "import subprocess as sp\n\n\ndef subprocess_call(cmd):\n    proc = sp.Popen(cmd, stdout=sp.DEVNULL, stderr=sp.PIPE, stdin=sp.DEVNULL)\n"
        "    out, err = proc.communicate()\n    if proc.returncode:\n        raise IOError(err.decode('utf8'))\n",
        "moviepy\\video\\__init__.py": "",
        "moviepy\\video\\VideoClip.py": "import os\nimport tempfile\n\nimport numpy as np\n\nfrom ..config import get_setting\nfrom ..tools import subprocess_call\n\n\n"
        "class TextClip:\n    def __init__(self, txt=None, filename=None, color='black', fontsize=None, font='Courier'):\n        fd, temptxt = tempfile.mkstemp(suffix='.txt')\n"
        "        os.write(fd, bytes(txt, 'UTF8'))\n        os.close(fd)\n        cmd = [get_setting('IMAGEMAGICK_BINARY'), '-background', 'transparent', '-fill', color, '-font', font,\n"
        "               '-pointsize', str(fontsize), f'label:@{temptxt}', 'PNG32:clip.png']\n        try:\n            subprocess_call(cmd)\n        except (IOError, OSError) as err:\n"
        "            error = (f'MoviePy Error: creation of {filename} failed because of the following error:\\n\\n{err}.\\n\\n'\n"
        "                     '.This error can be due to the fact that ImageMagick is not installed on your computer, or (for Windows users) '\n"
        "                     \"that you didn't specify the path to the ImageMagick binary in file conf.py, or that the path you specified is incorrect\")\n"
        "            raise IOError(error)\n        self.size = np.zeros(2)\n",
    },
    "numpy>=1.17.3", "proglog<=1.0.0",
)  # fmt: skip
PROGLOG = installed("proglog", "0.1.10", {"proglog\\__init__.py": "__version__ = '0.1.10'\n"})
DECORATORS = (
    "from functools import wraps\n\n\ndef preserve_channel_dim(func):\n    @wraps(func)\n    def wrapped_function(img, *args, **kwargs):\n"
    "        return func(img, *args, **kwargs)\n\n    return wrapped_function\n"
)
ALBUCORE = installed(
    "albucore", "0.0.17",
    {
        "albucore\\__init__.py": "from .decorators import *\nfrom .utils import *\n\n__version__ = '0.0.17'\n",
        "albucore\\decorators.py": DECORATORS,
        "albucore\\utils.py": "import numpy as np\n\n\ndef clip(img, dtype):\n    return np.clip(img, 0, 255).astype(dtype)\n\n\ndef clipped(func):\n    return func\n",
    },
    "numpy>=1.24.4",
)  # fmt: skip
"""Since 0.0.17 the decorator is no longer in its module utils."""
ALBUMENTATIONS = installed(
    "albumentations", "1.4.15",
    {
        "albumentations\\__init__.py": "__version__ = '1.4.15'\n\nfrom .augmentations import *\n",
        "albumentations\\augmentations\\__init__.py": "from .blur.functional import *\n",
        "albumentations\\augmentations\\blur\\__init__.py": "from .functional import *\n",
        "albumentations\\augmentations\\blur\\functional.py": "import numpy as np\nfrom albucore.utils import clipped, preserve_channel_dim\n\n\n@preserve_channel_dim\ndef blur(img, ksize):\n    return img\n",
    },
    "numpy>=1.24.4", "albucore>=0.0.15",
)  # fmt: skip
"""It requires this albucore or any later one."""
INSIGHTFACE = installed(
    "insightface", "0.7.3",
    {
        "insightface\\__init__.py": "__version__ = '0.7.3'\n\nfrom . import app\n",
        "insightface\\app\\__init__.py": "from .mask_renderer import *\n\n\nclass FaceAnalysis:\n    def prepare(self, ctx_id):\n        return self\n",
        "insightface\\app\\mask_renderer.py": "import albumentations as A\nimport numpy as np\n",
    },
    "numpy", "albumentations",
)  # fmt: skip
KERAS = installed(
    "keras", "3.6.0",
    {
        "keras\\__init__.py": "from keras import layers, preprocessing\n\n__version__ = '3.6.0'\n",
        "keras\\layers\\__init__.py": "class TextVectorization:\n    def __init__(self, max_tokens=None):\n        self.max_tokens = max_tokens\n",
        "keras\\preprocessing\\__init__.py": "from keras.preprocessing import image, sequence\n",
        "keras\\preprocessing\\image\\__init__.py": "def array_to_img(x):\n    return x\n",
        "keras\\preprocessing\\sequence\\__init__.py": "import numpy as np\n\n\ndef pad_sequences(sequences, maxlen=None):\n    return np.zeros((len(sequences), maxlen))\n",
    },
    "numpy",
)  # fmt: skip
"""Keras 3 has no keras.preprocessing.text."""
ANOTHER_CLIP = installed(
    "clip", "0.2.0",
    {
        "clip\\__init__.py": "from .clip import App, arg, flag, opt\n\n__version__ = '0.2.0'\n",
        "clip\\clip.py": "class App:\n    def main(self, func=None):\n        return func\n\n\ndef arg(name):\n    return lambda f: f\n\n\ndef flag(name):\n    return lambda f: f\n\n\ndef opt(name):\n    return lambda f: f\n",
    },
)  # fmt: skip
"""The package of that name on the index is about command lines."""
CONFIG_ARGS = """import os
from dataclasses import dataclass

import yaml

hf_cache_home = os.path.expanduser(
    os.getenv('HF_HOME', os.path.join(os.getenv('XDG_CACHE_HOME', '~/.cache'), 'huggingface'))
)
cache_dir = os.path.join(hf_cache_home, 'accelerate')
default_yaml_config_file = os.path.join(cache_dir, 'default_config.yaml')


def load_config_from_file(config_file):
    return ClusterConfig.from_yaml_file(yaml_file=config_file or default_yaml_config_file)


@dataclass
class ClusterConfig:
    compute_environment: str
    distributed_type: str
    mixed_precision: str
    use_cpu: bool = False
    debug: bool = False
    num_processes: int = 1
    machine_rank: int = 0
    num_machines: int = 1
    gpu_ids: str = None
    main_training_function: str = 'main'
    rdzv_backend: str = 'static'
    same_network: bool = False
    downcast_bf16: bool = False

    @classmethod
    def from_yaml_file(cls, yaml_file=None):
        with open(yaml_file, 'r', encoding='utf-8') as f:
            config_dict = yaml.safe_load(f)
        extra_keys = sorted(set(config_dict.keys()) - set(cls.__dataclass_fields__.keys()))
        if len(extra_keys) > 0:
            raise ValueError(
                f'The config file at {yaml_file} had unknown keys ({extra_keys}), please try upgrading your `accelerate`'
                ' version or fix (and potentially remove) these keys from your config file.'
            )
        return cls(**config_dict)
"""
"""What commands/config/config_args.py does."""
LAUNCH = """import os
import subprocess
import sys

from accelerate.commands.config.config_args import default_yaml_config_file, load_config_from_file


def launch_command(args):
    defaults = load_config_from_file(None) if os.path.isfile(default_yaml_config_file) else None
    env = os.environ.copy()
    env['ACCELERATE_MIXED_PRECISION'] = defaults.mixed_precision if defaults else 'no'
    process = subprocess.run([sys.executable, *args], env=env)
    if process.returncode != 0:
        sys.exit(process.returncode)
"""
ULTRALYTICS_UTILS = """import json
import os
from pathlib import Path


def get_user_config_dir(sub_dir='Ultralytics'):
    path = Path.home() / 'AppData' / 'Roaming' / sub_dir
    path.mkdir(parents=True, exist_ok=True)
    return path


USER_CONFIG_DIR = Path(os.getenv('YOLO_CONFIG_DIR') or get_user_config_dir())
SETTINGS_FILE = USER_CONFIG_DIR / 'settings.json'
if not SETTINGS_FILE.exists():
    root = Path.cwd()
    SETTINGS_FILE.write_text(json.dumps({'settings_version': '0.0.6', 'datasets_dir': str(root.parent / 'datasets')}))
SETTINGS = json.loads(SETTINGS_FILE.read_text(encoding='utf-8'))
DATASETS_DIR = Path(SETTINGS['datasets_dir'])
"""
ULTRALYTICS_DATA = """from pathlib import Path

import yaml

from ultralytics.utils import DATASETS_DIR, SETTINGS_FILE


def check_det_dataset(dataset):
    file = Path(dataset)
    data = yaml.safe_load(file.read_text(encoding='utf-8'))
    path = Path(data.get('path') or file.parent)
    if not path.exists() and not path.is_absolute():
        path = (DATASETS_DIR / path).resolve()
    data['path'] = path
    for k in ('train', 'val', 'test'):
        if data.get(k):
            data[k] = str((path / data[k]).resolve())
    missing = [x for x in (data['val'],) if not Path(x).exists()]
    if missing:
        m = f"Dataset '{dataset}' images not found, missing path '{missing[0]}'"
        m += f"\\nNote dataset download directory is '{DATASETS_DIR}'. You can update this in '{SETTINGS_FILE}'"
        raise FileNotFoundError(m)
    return data
"""
"""What utils/__init__.py and data/utils.py of 8.3 do before the first image is read."""
ULTRALYTICS = installed(
    "ultralytics", "8.3.40",
    {
        "ultralytics\\__init__.py": "__version__ = '8.3.40'\n\nfrom ultralytics.models import YOLO\n",
        "ultralytics\\models.py": "import numpy as np\n\nfrom ultralytics.data import check_det_dataset\n\n\nclass YOLO:\n    def __init__(self, model):\n        self.model = model\n\n"
        "    def train(self, data, epochs=100):\n        return check_det_dataset(data), np.zeros(3)\n",
        "ultralytics\\data.py": ULTRALYTICS_DATA,
        "ultralytics\\utils\\__init__.py": ULTRALYTICS_UTILS,
    },
    "numpy>=1.23.0", "pyyaml>=5.3.1",
)  # fmt: skip


def accelerate(m: Machine, made: Path) -> None:
    """Install Accelerate 0.23 with its command."""
    files = {
        "accelerate\\__init__.py": "__version__ = '0.23.0'\n",
        "accelerate\\commands\\__init__.py": "",
        "accelerate\\commands\\accelerate_cli.py": "import sys\n\nfrom accelerate.commands.launch import launch_command\n\n\ndef main():\n"
        "    if sys.argv[1:2] != ['launch']:\n        raise SystemExit(1)\n    launch_command(sys.argv[2:])\n",
        "accelerate\\commands\\launch.py": LAUNCH,
        "accelerate\\commands\\config\\__init__.py": "",
        "accelerate\\commands\\config\\config_args.py": CONFIG_ARGS,
    }
    wheels("pyyaml")(m, made)
    installed("accelerate", "0.23.0", files, "numpy>=1.17", "pyyaml")(m, made)
    launcher(ML.with_name("accelerate.exe"), ML, "from accelerate.commands.accelerate_cli import main\nmain()")(m, made)


# --- machines ------------------------------------------------------------------------------------------------------------


def transformers(*plants: Plant) -> Callable[[Machine], Path]:
    """Return PyTorch for the processor and Transformers, as pip installs them, and what the person does with them."""
    return torch_of_pip(wheels(*OF_TRANSFORMERS, "regex", "transformers"), TOKENIZERS, SAFETENSORS, *plants)


def yolo(path: str) -> Callable[[Machine], Path]:
    """Return Ultralytics, whose settings are of the drive where all was before, and a data set that says where it lies."""
    settings = {"settings_version": "0.0.6", "datasets_dir": r"D:\yolo\datasets", "weights_dir": r"D:\yolo\weights", "runs_dir": r"D:\yolo\runs"}  # fmt: skip
    return numpys(
        wheels("pyyaml"),
        ULTRALYTICS,
        text(APPDATA / "Ultralytics\\settings.json", json.dumps(settings, indent=2)),
        *(text(DATASETS / f"coins\\images\\{part}\\1.jpg", b"\xff\xd8\xff\xd9") for part in ("train", "val")),
        project("coins.yaml", f"path: {path}\ntrain: images/train\nval: images/val\nnames:\n  0: coin\n"),
        project("train.py", "from ultralytics import YOLO\n\nmodel = YOLO('yolov8n.pt')\nmodel.train(data='coins.yaml', epochs=3)\n"),
    )  # fmt: skip


# --- plants --------------------------------------------------------------------------------------------------------------


def yolov5(m: Machine, _made: Path) -> None:
    """Clone YOLOv5 into the project."""
    folder = PROJECT / "yolov5"
    m.write(folder / "hubconf.py", "dependencies = ['torch']\n\n\ndef custom(path='best.pt'):\n    from models.common import AutoShape\n\n    return AutoShape()\n")  # fmt: skip
    m.write(folder / "models\\__init__.py", "")
    m.write(
        folder / "models\\common.py",
        "import torch\nfrom utils.general import non_max_suppression\n\n\nclass AutoShape(torch.nn.Module):\n"
        "    def forward(self, image):\n        return non_max_suppression(image)\n",
    )
    m.write(folder / "utils\\__init__.py", "def notebook_init():\n    return None\n")
    m.write(folder / "utils\\general.py", "def non_max_suppression(prediction):\n    return prediction\n")


def own_utils(name: str) -> tuple[Plant, ...]:
    """Return the person's own functions in a module, and the program that asks for them and for the model."""
    return (
        project(f"{name.replace('.', chr(92))}.py", "def draw_boxes(image):\n    return image\n"),
        project(
            "detect.py",
            f"import torch\nfrom {name} import draw_boxes\n\nmodel = torch.hub.load('yolov5', 'custom', source='local')\n"
            "print(draw_boxes(model(torch.ones(3))))\n",
        ),
    )


def speechkit(folder: Path, *functions: str) -> Plant:
    """Have the source of a package at a time when it had these functions."""

    def plant(m: Machine, _made: Path) -> None:
        m.write(
            folder / "pyproject.toml", '[project]\nname = "speechkit"\nversion = "0.3.0"\ndependencies = ["numpy"]\n'
        )
        m.write(folder / "speechkit\\__init__.py", "")
        m.write(folder / "speechkit\\audio.py", "import numpy as np\n" + "".join(f"\n\ndef {f}(wave):\n    return np.abs(wave)\n" for f in functions))  # fmt: skip

    return plant


def editable(folder: Path) -> Plant:
    """Install that package with ``pip install -e`` from a folder."""

    def plant(m: Machine, site: Path) -> None:
        info, name = site / "speechkit-0.3.0.dist-info", "__editable__.speechkit-0.3.0.pth"
        m.write(site / name, f"{folder}\n")
        m.write(info / "METADATA", "Metadata-Version: 2.1\nName: speechkit\nVersion: 0.3.0\nRequires-Dist: numpy\n")
        m.write(info / "INSTALLER", "pip\n")
        m.write(
            info / "direct_url.json",
            json.dumps({"dir_info": {"editable": True}, "url": f"file:///{folder.as_posix()}"}),
        )
        rows = (name, *(f"{info.name}/{n}" for n in ("METADATA", "INSTALLER", "direct_url.json", "RECORD")))
        m.write(info / "RECORD", "".join(f"{row},,\n" for row in rows))

    return plant


def kept_config(*more: str) -> Plant:
    """Keep the answers that were once given to ``accelerate config``."""
    rows = (
        "compute_environment: LOCAL_MACHINE", "debug: false", "distributed_type: 'NO'", "downcast_bf16: false", *more, "gpu_ids: all", "machine_rank: 0",
        "main_training_function: main", "mixed_precision: fp16", "num_machines: 1", "num_processes: 1", "rdzv_backend: static", "same_network: true",
        "use_cpu: false", "",
    )  # fmt: skip
    return text(PERSON / ".cache\\huggingface\\accelerate\\default_config.yaml", "\n".join(rows))


def from_another_drive(command: str) -> tuple[Plant, ...]:
    """Return a batch file that goes to the project by this command, and a shortcut that starts it on another drive."""
    rows = ("@echo off", f"{command} {PROJECT}", f"{ML} -B train.py", "")
    return project("run.bat", "\r\n".join(rows)), link(DESKTOP, "Train", PROJECT / "run.bat", "", OTHER_DRIVE)


def in_the_editor(**more: str) -> tuple[Plant, ...]:
    """Return a program in a folder of the project, and VS Code's way of starting it."""
    return (
        project("diarize\\config.json", json.dumps({"speakers": 2})),
        project(
            "diarize\\diarize.py",
            f"import json\n\nwith open('config.json') as file:\n    config = json.load(file)\n\n{NUMPY}\n".replace("; ", "\n"),
        ),
        launch_json(program="${workspaceFolder}\\diarize\\diarize.py", python=str(ML), **more),
    )  # fmt: skip


TRAINS = project(
    "finetune.py", "from transformers import TrainingArguments\n\nprint(TrainingArguments(output_dir='results', use_cpu=True).device)\n"
)  # fmt: skip
COUNTS = project("finetune.py", "from transformers import BertConfig\n\nprint(BertConfig().hidden_size)\n")
TITLES = project(
    "titles.py", "from moviepy.editor import TextClip\n\nclip = TextClip('Episode 1', fontsize=60, color='white')\n"
)
SWAPS = (
    project("modules\\__init__.py", ""),
    project("modules\\face_analyser.py", "import insightface\n\nanalyser = insightface.app.FaceAnalysis()\n"),
    project("modules\\core.py", "from modules.face_analyser import analyser\n\n\ndef run():\n    print(analyser.prepare(0))\n"),
    project("run.py", "from modules import core\n\ncore.run()\n"),
)  # fmt: skip
OF_LLAMA = "from transformers.models.llama.modeling_llama import LlamaAttention, LlamaFlashAttention2\n"
OF_ANY_LLAMA = (
    "from transformers.models.llama.modeling_llama import LlamaAttention\n"
    "from transformers.models.llama.modeling_llama import LlamaAttention as LlamaFlashAttention2\n"
)
ATTENTION = "\nATTENTION_CLASSES = {'eager': LlamaAttention, 'flash_attention_2': LlamaFlashAttention2}\n"
READS_PAGES = project("read_pages.py", "from modeling_deepseekv2 import ATTENTION_CLASSES\n\nprint(sorted(ATTENTION_CLASSES))\n")  # fmt: skip
PADS = "from keras.preprocessing.sequence import pad_sequences\n"
OF_KERAS_2 = "from keras.preprocessing.text import Tokenizer\n\nprint(Tokenizer, pad_sequences([[3]], maxlen=5))\n"
OF_BOTH_KERAS = (
    "\ntry:\n    from keras.preprocessing.text import Tokenizer\nexcept ImportError:\n    from keras.layers import TextVectorization as Tokenizer\n\n"
    "print(Tokenizer, pad_sequences([[3]], maxlen=5))\n"
)
CAPTIONS = project("caption.py", "import clip\nimport torch\n\nmodel = clip.load('ViT-B/32')\nprint(model, torch.ones(3))\n")  # fmt: skip
CUTS = project("scripts\\cut.py", "import numpy as np\nfrom speechkit.audio import load_audio, trim_silence\n\nprint(trim_silence(load_audio(np.ones(3))))\n")  # fmt: skip
LIPS = (
    project("lipsync\\__init__.py", ""),
    project("lipsync\\model.py", f"{NUMPY}\n\n\ndef network():\n    return numpy.zeros(3)\n".replace("; ", "\n")),
    project("scripts\\__init__.py", ""),
    project("scripts\\train.py", "from lipsync.model import network\n\nprint(network())\n"),
)
STEPS = project("train_network.py", f"{NUMPY}\n".replace("; ", "\n"))
ASKS = project(
    "ask.py",
    "import os\n\nimport requests\nfrom dotenv import load_dotenv\n\nload_dotenv()\nkey = os.environ['OPENAI_API_KEY']\ntry:\n"
    "    requests.post('http://127.0.0.1:9/v1/chat/completions', headers={'Authorization': f'Bearer {key}'}, json={}, timeout=5)\n"
    f"except requests.ConnectionError:\n    print('the server is not running')\n{NUMPY}\n",
)
CURLY = "OPENAI_API_KEY=\N{LEFT DOUBLE QUOTATION MARK}sk-proj-lab0000\N{RIGHT DOUBLE QUOTATION MARK}\n"

EIGHTEEN, ODD = "held18-", "held18-healthy-"

HELD_OUT_18: tuple[Scene, ...] = (
    # A: a library is absent or unfit
    # https://github.com/Fannovel16/ComfyUI-Frame-Interpolation/issues/26 (CUDA Path: None), https://github.com/kijai/ComfyUI-GIMM-VFI/issues/17, https://github.com/AInseven/ComfyUI-fastblend/issues/4
    Scene(f"{EIGHTEEN}cupy-and-only-a-driver", "cupy-14", (MISSING,), spoilt(with_wheels("cupy-14")), names="64_1"),
    # https://github.com/huggingface/course/issues/644, https://github.com/huggingface/blog/issues/1445, https://github.com/huggingface/audio-transformers-course/issues/158
    Scene(f"{EIGHTEEN}trainer-without-accelerate", "torch", (REQUIREMENT,), transformers(TRAINS), names="accelerate", runs=script("finetune.py"), folder=PROJECT),
    # https://github.com/harry0703/MoneyPrinterTurbo/issues/307 and 442, https://github.com/Zulko/moviepy/issues/1107 (all Windows)
    Scene(f"{EIGHTEEN}titles-without-imagemagick", "numpy", (SYSTEMS, VALUE), numpys(PROGLOG, MOVIEPY, TITLES), names="imagemagick", runs=script("titles.py"), folder=PROJECT),
    # B: all is there, and does not fit
    # https://github.com/keras-team/keras/issues/19517, https://github.com/thefcraft/nsfw-prompt-detection-sd/issues/4, https://github.com/Kohulan/Smiles-TO-iUpac-Translator/issues/33
    Scene(f"{EIGHTEEN}keras-3-and-code-of-keras-2", "numpy", (REQUIREMENT, PUBLISHED), numpys(KERAS, project("sentiment.py", PADS + OF_KERAS_2)), names="keras", runs=script("sentiment.py"), folder=PROJECT),
    # https://github.com/hacksider/Deep-Live-Cam/issues/618, https://github.com/C0untFloyd/roop-unleashed/issues/916, https://github.com/Comfy-Org/ComfyUI/issues/5062 (all Windows)
    Scene(f"{EIGHTEEN}albucore-newer-than-albumentations", "numpy", (REQUIREMENT, PUBLISHED), numpys(ALBUCORE, ALBUMENTATIONS, INSIGHTFACE, *SWAPS), names="albucore", runs=script("run.py"), folder=PROJECT),
    # https://github.com/deepseek-ai/DeepSeek-OCR/issues/302, 7 and 182
    Scene(f"{EIGHTEEN}deepseek-ocr-and-later-transformers", "torch", (REQUIREMENT, PUBLISHED), transformers(project("modeling_deepseekv2.py", OF_LLAMA + ATTENTION), READS_PAGES), names="transformers", runs=script("read_pages.py"), folder=PROJECT),
    # C: Python or the loader finds another file
    # https://github.com/ultralytics/yolov5/issues/6048, 1181 and 2414
    Scene(f"{EIGHTEEN}utils-py-and-the-clone-of-yolov5", "torch", (IN_THE_WAY,), torch_of_pip(yolov5, *own_utils("utils")), names="project\\utils.py", runs=within(PROJECT, str(ML), "-B", "detect.py"), folder=PROJECT),
    # https://github.com/openai/CLIP/issues/329 (Windows) and 180, https://github.com/vladmandic/sd-extension-aesthetic-scorer/issues/12 (Windows)
    Scene(f"{EIGHTEEN}clip-of-the-index", "torch", (IN_THE_WAY, REQUIREMENT, TWICE, WRONG_ONE), torch_of_pip(ANOTHER_CLIP, CAPTIONS), names="clip", runs=script("caption.py"), folder=PROJECT),
    # https://github.com/absadiki/subsai/issues/188 (Windows 11: a clone that is out of date), https://github.com/nerfbaselines/nerfbaselines/issues/42
    Scene(f"{EIGHTEEN}editable-of-the-older-clone", "numpy", (IN_THE_WAY, ENVIRONMENT, WRONG_ONE, TWICE, REQUIREMENT), numpys(speechkit(DOWNLOADED, "load_audio"), speechkit(PROJECT, "load_audio", "trim_silence"), editable(DOWNLOADED), CUTS), names="speechkit-main", runs=script("scripts\\cut.py"), folder=PROJECT),
    # D: another way of starting
    # https://github.com/OGRECave/ogre-meshviewer/pull/5, https://github.com/syncthing/docs/pull/820, https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/9762 (the advice)
    Scene(f"{EIGHTEEN}cd-to-another-drive", "numpy", (NOT_INHERITED, WRONG_ONE, ENVIRONMENT, VALUE), numpys(STARTS_NUMPY, *from_another_drive("cd")), names="run.bat", runs=within(OTHER_DRIVE, str(PROJECT / "run.bat")), folder=HOME),
    # https://github.com/corochann/SeRanet/issues/7 (Windows), https://github.com/microsoft/anomalydetector/issues/35, https://github.com/as1605/nifty-llm-research/issues/2
    Scene(f"{EIGHTEEN}script-by-its-file", "numpy", (NOT_INHERITED, ENVIRONMENT, WRONG_ONE, VALUE, REQUIREMENT, IN_THE_WAY), numpys(*LIPS, run_bat(f"{ML} -B scripts\\train.py")), names="lipsync", runs=batch(), folder=PROJECT),
    # https://github.com/microsoft/vscode-python/issues/9048, 2080 and 13430, https://github.com/microsoft/ptvsd/issues/1507 (all Windows)
    Scene(f"{EIGHTEEN}editor-starts-in-the-workspace", "numpy", (NOT_INHERITED, ENVIRONMENT, WRONG_ONE, VALUE), numpys(*in_the_editor()), names="launch.json", runs=within(PROJECT, str(ML), "-B", str(PROJECT / "diarize\\diarize.py")), folder=PROJECT),
    # E: variables and settings
    # https://github.com/ultralytics/ultralytics/issues/628 (Windows: moved to another drive), 1201 and 22101
    Scene(f"{EIGHTEEN}yolo-settings-of-another-drive", "numpy", (VALUE,), yolo("coins"), names="settings.json", runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    # https://github.com/aigc-apps/sd-webui-EasyPhoto/issues/446 (Windows), https://github.com/bmaltais/kohya_ss/issues/2584
    Scene(f"{EIGHTEEN}accelerate-config-of-a-later-release", "numpy", (VALUE, REQUIREMENT), numpys(accelerate, activation, kept_config("enable_cpu_affinity: false"), STEPS, run_bat(IN_ML, "accelerate launch train_network.py")), names="default_config.yaml", runs=batch(), folder=PROJECT),
    # https://github.com/Pythagora-io/gpt-pilot/issues/475 (Windows 11), https://github.com/langchain-ai/chat-langchain/issues/42, https://github.com/openai/openai-python/issues/2409
    Scene(f"{EIGHTEEN}key-in-curly-quotation-marks", "numpy", (VALUE,), numpys(wheels(*REQUESTS, "dotenv"), project(".env", CURLY), ASKS), names="OPENAI_API_KEY", runs=script("ask.py"), folder=PROJECT),
    # healthy: twins
    Scene(f"{ODD}transformers-without-a-trainer", "torch", (), transformers(COUNTS), runs=script("finetune.py"), folder=PROJECT),
    Scene(f"{ODD}keras-3-and-code-for-both", "numpy", (), numpys(KERAS, project("sentiment.py", PADS + OF_BOTH_KERAS)), runs=script("sentiment.py"), folder=PROJECT),
    Scene(f"{ODD}deepseek-ocr-edited-by-hand", "torch", (), transformers(project("modeling_deepseekv2.py", OF_ANY_LLAMA + ATTENTION), READS_PAGES), runs=script("read_pages.py"), folder=PROJECT),
    Scene(f"{ODD}utils-py-in-a-package", "torch", (), torch_of_pip(yolov5, project("app\\__init__.py", ""), *own_utils("app.utils")), runs=within(PROJECT, str(ML), "-B", "detect.py"), folder=PROJECT),
    Scene(f"{ODD}editable-of-the-newer-clone", "numpy", (), numpys(speechkit(DOWNLOADED, "load_audio"), speechkit(PROJECT, "load_audio", "trim_silence"), editable(PROJECT), CUTS), runs=script("scripts\\cut.py"), folder=PROJECT),
    Scene(f"{ODD}cd-with-its-option-to-another-drive", "numpy", (), numpys(STARTS_NUMPY, *from_another_drive("cd /d")), runs=within(OTHER_DRIVE, str(PROJECT / "run.bat")), folder=HOME),
    Scene(f"{ODD}script-as-a-module", "numpy", (), numpys(*LIPS, run_bat(f"{ML} -B -m scripts.train")), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}editor-starts-in-the-files-folder", "numpy", (), numpys(*in_the_editor(cwd="${workspaceFolder}\\diarize")), runs=within(PROJECT / "diarize", str(ML), "-B", str(PROJECT / "diarize\\diarize.py")), folder=PROJECT),
    Scene(f"{ODD}yolo-settings-that-nobody-asks", "numpy", (), yolo(DATASETS.joinpath("coins").as_posix()), runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    Scene(f"{ODD}accelerate-config-of-this-release", "numpy", (), numpys(accelerate, activation, kept_config(), STEPS, run_bat(IN_ML, "accelerate launch train_network.py")), runs=batch(), folder=PROJECT),
)  # fmt: skip
