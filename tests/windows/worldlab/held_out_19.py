r"""The nineteenth held-out set: fifteen faults, an eighth draw as common as the field has them, and ten healthy machines. Not scanned when committed.

Blind: written from public threads, by somebody who had read the scenes' format and the builders of earlier sets, and nothing of the product's
code. One slip: three lines of the notes in docs/windows-world-held-out.md on what the seventeenth set missed were seen; no row was chosen by
them. Only the oracle had run. Each healthy machine is the innocent twin of a fault. The threads stand above the rows. Real wheels wherever wine
imports them; graphviz, torchviz, MoviePy, Ultralytics, pyannote.audio, the newer hub, wandb and yt-dlp are short packages with the code that the
threads run into.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.held_out_2 import (
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    VALUE,
    WRONG_ONE,
    project,
    script,
    task,
    text,
    then,
    whole_python,
)
from tests.windows.worldlab.held_out_3 import numpys, within
from tests.windows.worldlab.held_out_4 import CONDA, conda
from tests.windows.worldlab.held_out_6 import PORTABLE
from tests.windows.worldlab.held_out_8 import STARTS_PORTABLE, launcher, portable
from tests.windows.worldlab.held_out_9 import kernel, notebook
from tests.windows.worldlab.held_out_11 import installed, torch_of_pip, users
from tests.windows.worldlab.held_out_17 import REQUESTS, wheels
from tests.windows.worldlab.held_out_18 import PERSON, transformers
from tests.windows.worldlab.modules import SYSTEMS
from tests.windows.worldlab.scenes import BROKEN, Plant, Scene, spoilt

assert sys.platform == "win32"

PUBLISHED, OTHER_RELEASE = "upstream_packaging_bug", "model_needs_another_release"
COMFY = PORTABLE / "ComfyUI"
CAPTIONS = HOME / "captions"
HUB_CACHE = PERSON / ".cache\\huggingface\\hub\\models--Systran--faster-whisper-small"
COMMIT = "536b0662742c02347bc0e980a01041f333bce120"
NIGHTLY = "Fetch the lectures"
VPN = "http://127.0.0.1:7890"
OF_FILE = (VALUE, ENVIRONMENT, NOT_INHERITED, BROKEN)


# --- packages ------------------------------------------------------------------------------------------------------------

GRAPHVIZ = installed(
    "graphviz", "0.20.3",
    {
        "graphviz\\__init__.py": "from .backend import ExecutableNotFound\nfrom .graphs import Digraph\n\n__version__ = '0.20.3'\n",
        "graphviz\\backend\\__init__.py": "from .execute import ExecutableNotFound, run_check\nfrom .rendering import render\n",
        "graphviz\\backend\\execute.py": "import errno\nimport subprocess\n\n\nclass ExecutableNotFound(RuntimeError):\n"
        "    _msg = \"failed to execute {!r}, make sure the Graphviz executables are on your systems' PATH\"\n\n"
        "    def __init__(self, args):\n        super().__init__(self._msg.format(args[0]))\n\n\n"
        "def run_check(cmd, **kwargs):\n    try:\n        proc = subprocess.run(cmd, **kwargs)\n    except OSError as e:\n"
        "        if e.errno == errno.ENOENT:\n            raise ExecutableNotFound(cmd) from e\n        raise\n    proc.check_returncode()\n    return proc\n",
        "graphviz\\backend\\dot_command.py": "import pathlib\n\nDOT_BINARY = pathlib.Path('dot')\n\n\ndef command(engine, format_):\n"
        "    if engine == 'dot':\n        return [DOT_BINARY, '-Kdot', f'-T{format_}']\n    raise ValueError(f'unknown engine: {engine!r}')\n",
        "graphviz\\backend\\rendering.py": "from . import dot_command, execute\n\n\ndef render(engine, format, filepath):\n"
        "    cmd = dot_command.command(engine, format)\n    execute.run_check([*cmd, '-O', filepath])\n    return f'{filepath}.{format}'\n",
        "graphviz\\graphs.py": "from .backend import render\n\n\nclass Digraph:\n    def __init__(self, filename='Digraph.gv', format='pdf', engine='dot'):\n"
        "        self.filename, self.format, self.engine, self.body = filename, format, engine, []\n\n"
        "    def node(self, name, label=None):\n        self.body.append(f'\\t{name} [label=\"{label or name}\"]\\n')\n\n"
        "    def edge(self, tail, head):\n        self.body.append(f'\\t{tail} -> {head}\\n')\n\n"
        "    def save(self, filename=None):\n        name = filename or self.filename\n        with open(name, 'w', encoding='utf-8') as file:\n"
        "            file.write('digraph {\\n' + ''.join(self.body) + '}\\n')\n        return name\n\n"
        "    def render(self, filename=None, format=None):\n        return render(self.engine, format or self.format, self.save(filename))\n",
    },
)  # fmt: skip
TORCHVIZ = installed(
    "torchviz", "0.0.3",
    {
        "torchviz\\__init__.py": "from .dot import make_dot\n",
        "torchviz\\dot.py": "from graphviz import Digraph\n\n\ndef make_dot(var):\n    dot = Digraph()\n\n    def add(fn):\n        dot.node(str(id(fn)), fn.name())\n"
        "        for u, _ in fn.next_functions:\n            if u is not None:\n                dot.edge(str(id(u)), str(id(fn)))\n                add(u)\n\n"
        "    add(var.grad_fn)\n    return dot\n",
    },
    "torch", "graphviz",
)  # fmt: skip
MOVIEPY_2 = installed(
    "moviepy", "2.1.1",
    {
        "moviepy\\__init__.py": "from moviepy.version import __version__\nfrom moviepy.video.io.VideoFileClip import VideoFileClip\n\n__all__ = ['VideoFileClip']\n",
        "moviepy\\version.py": "__version__ = '2.1.1'\n",
        "moviepy\\video\\__init__.py": "",
        "moviepy\\video\\io\\__init__.py": "",
        "moviepy\\video\\io\\VideoFileClip.py": "import numpy as np\n\n\nclass VideoFileClip:\n    def __init__(self, filename):\n        self.filename = filename\n\n"
        "    def get_frame(self, t):\n        return np.zeros((2, 2, 3))\n",
    },
    "numpy>=1.25.0",
)  # fmt: skip
"""Since 2.0 it has no module editor."""
ULTRALYTICS = installed(
    "ultralytics", "8.2.92",
    {
        "ultralytics\\__init__.py": "__version__ = '8.2.92'\n\nfrom ultralytics.models import YOLO\n",
        "ultralytics\\models\\__init__.py": "from ultralytics.nn.tasks import attempt_load_one_weight\n\n\nclass YOLO:\n    def __init__(self, model='yolov8n.pt'):\n"
        "        self.model, self.ckpt = attempt_load_one_weight(model)\n",
        "ultralytics\\nn\\__init__.py": "",
        "ultralytics\\nn\\tasks.py": "import torch\n\n\ndef torch_safe_load(weight):\n    try:\n        ckpt = torch.load(weight, map_location='cpu', weights_only=False)\n"
        "    except ModuleNotFoundError as e:\n        raise TypeError(f'ERROR {weight} appears to be an Ultralytics YOLOv5 model') from e\n    return ckpt, weight\n\n\n"
        "def attempt_load_one_weight(weight):\n    ckpt, weight = torch_safe_load(weight)\n    return ckpt['model'], ckpt\n",
        "ultralytics\\nn\\modules\\__init__.py": "from .block import C2f\n",
        "ultralytics\\nn\\modules\\block.py": "import torch.nn as nn\n\n__all__ = ('C2f',)\n\n\nclass C2f(nn.Module):\n    def __init__(self, c1=8, c2=8):\n"
        "        super().__init__()\n        self.cv1 = nn.Conv2d(c1, c2, 1)\n",
    },
    "numpy>=1.23.0", "torch>=1.8.0",
)  # fmt: skip
"""YOLO11 came with 8.3.0, and C3k2 with it."""
PYANNOTE = installed(
    "pyannote.audio", "3.4.0",
    {
        "pyannote\\audio\\__init__.py": "from .core.pipeline import Pipeline\n\n__version__ = '3.4.0'\n",
        "pyannote\\audio\\core\\__init__.py": "",
        "pyannote\\audio\\core\\pipeline.py": "import os\nfrom pathlib import Path\n\nimport numpy as np\nimport yaml\nfrom huggingface_hub import hf_hub_download\n\n"
        "CACHE_DIR = os.getenv('PYANNOTE_CACHE', os.path.expanduser('~/.cache/torch/pyannote'))\n\n\nclass Pipeline:\n    def __init__(self, config):\n"
        "        self.config, self.scores = config, np.zeros(3)\n\n    @classmethod\n"
        "    def from_pretrained(cls, checkpoint_path, hparams_file=None, use_auth_token=None, cache_dir=CACHE_DIR):\n"
        "        config_yml = hf_hub_download(checkpoint_path, 'config.yaml', repo_type='model', library_name='pyannote',\n"
        "                                     cache_dir=cache_dir, use_auth_token=use_auth_token)\n"
        "        return cls(yaml.safe_load(Path(config_yml).read_text(encoding='utf-8')))\n",
    },
    "numpy", "pyyaml", "huggingface_hub>=0.13.0",
)  # fmt: skip
"""It requires this hub or any later one."""
YT_DLP = installed(
    "yt_dlp", "2025.10.22",
    {"yt_dlp\\__init__.py": "def main(argv=None):\n    print('2025.10.22')\n", "yt_dlp\\__main__.py": "import yt_dlp\n\nyt_dlp.main()\n"},
)  # fmt: skip
WANDB = installed(
    "wandb", "0.18.7",
    {"wandb\\__init__.py": "import numpy\n\n\nclass Run:\n    def log(self, data):\n        print(data, numpy.zeros(3))\n\n\ndef init(project=None, mode=None):\n    return Run()\n"},
    "numpy",
)  # fmt: skip


def hub(version: str, *names: str) -> Plant:
    """Install a release of the hub whose function for a file takes these names besides those of every release."""
    more = "".join(f", {name}=None" for name in names)
    downloads = (
        "from pathlib import Path\n\n\ndef hf_hub_download(repo_id, filename, *, subfolder=None, repo_type=None, revision=None, library_name=None,\n"
        f"                    cache_dir=None, token=None, local_files_only=False{more}):\n"
        "    return Path(cache_dir, f\"models--{repo_id.replace('/', '--')}\", 'snapshots', 'main', filename)\n"
    )
    files = {"huggingface_hub\\__init__.py": f"from .file_download import hf_hub_download\n\n__version__ = '{version}'\n", "huggingface_hub\\file_download.py": downloads}  # fmt: skip
    return installed("huggingface_hub", version, files)


# --- machines ------------------------------------------------------------------------------------------------------------


def diarization(*plants: Plant) -> Callable[[Machine], Path]:
    """Return pyannote.audio with a pipeline that was fetched before, and who speaks when."""
    return numpys(
        wheels("pyyaml"), PYANNOTE, *plants,
        text(PERSON / ".cache\\torch\\pyannote\\models--pyannote--speaker-diarization-3.1\\snapshots\\main\\config.yaml", "version: 3.1.0\n"),
        project("diarize.py", "from pyannote.audio import Pipeline\n\npipeline = Pipeline.from_pretrained('pyannote/speaker-diarization-3.1', use_auth_token='hf_lab')\nprint(pipeline.config)\n"),
    )  # fmt: skip


def captions(m: Machine) -> Path:
    """Unpack a program that brings an embeddable Python, and a batch file that starts it."""
    site = whole_python(m, CAPTIONS / "python", "numpy-1.26")
    m.write(CAPTIONS / "python\\python311._pth", "python311.zip\nLib\nDLLs\n.\nimport site\n")
    m.write(CAPTIONS / "app\\cleaner.py", "def clean(text):\n    return text.strip()\n")
    m.write(
        CAPTIONS / "app\\caption.py",
        "import numpy\nfrom cleaner import clean\n\nprint(clean(' a cat '), numpy.zeros(3))\n",
    )
    m.write(CAPTIONS / "start.bat", '@echo off\r\ncd /d "%~dp0app"\r\n..\\python\\python.exe -B caption.py\r\n')
    return site


def comfy(extra: str, *plants: Plant) -> Callable[[Machine], Path]:
    """Return the portable ComfyUI, which reads where else models lie."""

    def build(m: Machine) -> Path:
        site = portable("numpy-1.26", "ctranslate2")(m)
        m.write(COMFY / "main.py", MAIN)
        m.write(COMFY / "utils\\__init__.py", "")
        m.write(COMFY / "utils\\extra_config.py", EXTRA_CONFIG)
        m.write(COMFY / "folder_paths.py", "folders = {}\n\n\ndef add_model_folder_path(name, path):\n    folders.setdefault(name, []).append(path)\n")  # fmt: skip
        m.write(COMFY / "extra_model_paths.yaml", extra)
        m.write(
            HOME / "stable-diffusion-webui\\models\\Stable-diffusion\\Put Stable Diffusion checkpoints here.txt", ""
        )
        return site

    return spoilt(build, wheels("pyyaml"), *plants)


MAIN = f"""import os

import utils.extra_config

extra_model_paths_config_path = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'extra_model_paths.yaml')
if os.path.isfile(extra_model_paths_config_path):
    utils.extra_config.load_extra_path_config(extra_model_paths_config_path)

{NUMPY.replace("; ", chr(10))}
"""
EXTRA_CONFIG = """import logging
import os

import folder_paths
import yaml


def load_extra_path_config(yaml_path):
    with open(yaml_path, 'r', encoding='utf-8') as stream:
        config = yaml.safe_load(stream)
    for c in config:
        conf = config[c]
        if conf is None:
            continue
        base_path = conf.pop('base_path', None)
        for x in conf:
            for y in conf[x].split('\\n'):
                if len(y) == 0:
                    continue
                full_path = os.path.join(base_path, y) if base_path else y
                logging.info('Adding extra search path {} {}'.format(x, full_path))
                folder_paths.add_model_folder_path(x, full_path)
"""
"""What utils/extra_config.py does."""


# --- plants --------------------------------------------------------------------------------------------------------------


def clone_without(*without: str) -> Plant:
    """Clone the project's repository; the folders of these submodules stay empty, as without ``--recursive``."""
    modules = {
        "Matcha-TTS": {
            "matcha\\__init__.py": "",
            "matcha\\models\\__init__.py": "",
            "matcha\\models\\components\\__init__.py": "",
            "matcha\\models\\components\\flow_matching.py": "import torch\n\n\nclass BASECFM(torch.nn.Module):\n    pass\n",
        },
        "docs-theme": {"theme.css": "body {}\n"},
    }

    def plant(m: Machine, _made: Path) -> None:
        rows = (
            f'[submodule "third_party/{n}"]\n\tpath = third_party/{n}\n\turl = https://github.com/lab/{n}.git\n'
            for n in modules
        )
        m.write(PROJECT / ".gitmodules", "".join(rows))
        m.write(PROJECT / ".git\\HEAD", "ref: refs/heads/main\n")
        m.write(PROJECT / "cosyvoice\\__init__.py", "")
        m.write(PROJECT / "cosyvoice\\flow\\__init__.py", "")
        m.write(
            PROJECT / "cosyvoice\\flow\\flow_matching.py",
            "import torch\nfrom matcha.models.components.flow_matching import BASECFM\n\n\nclass ConditionalCFM(BASECFM):\n"
            "    def forward(self, mu):\n        return torch.zeros_like(mu)\n",
        )
        m.write(
            PROJECT / "webui.py",
            "import os\nimport sys\n\nROOT_DIR = os.path.dirname(os.path.abspath(__file__))\nsys.path.append('{}/third_party/Matcha-TTS'.format(ROOT_DIR))\n\n"
            "import torch\nfrom cosyvoice.flow.flow_matching import ConditionalCFM\n\nprint(ConditionalCFM()(torch.ones(3)))\n",
        )
        for name, files in modules.items():
            (PROJECT / "third_party" / name).mkdir(parents=True)
            for file, content in files.items() if name not in without else ():
                m.write(PROJECT / "third_party" / name / file, content)

    return plant


def weights(name: str, block: str) -> Plant:
    """Leave a network's weights as torch.save writes them: a dictionary with one block of this class."""
    pickled = b"\x80\x02}X\x05\x00\x00\x00modelcultralytics.nn.modules.block\n" + block.encode() + b"\n)\x81s."
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/version", "3\n")
    return text(PROJECT / name, packed.getvalue())


def runs_of_wandb(m: Machine, _made: Path) -> None:
    """Leave what earlier runs have logged, in the folder that wandb makes."""
    for run in ("run-20250912_101500-k3x9q1ab", "run-20250913_090211-p0d4z7cd"):
        m.write(PROJECT / f"wandb\\{run}\\files\\config.yaml", "lr:\n  value: 0.001\n")
        m.write(PROJECT / f"wandb\\{run}\\logs\\debug.log", "")
    m.write(PROJECT / "wandb\\debug.log", "")


def rows_of(name: str) -> Plant:
    """Leave an array of one number in the folder ``data``."""
    head = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }".ljust(127) + b"\n"
    return text(PROJECT / "data" / name, head + bytes(8))


def downloads(words: str) -> tuple[Plant, ...]:
    """Return a program that lets yt-dlp fetch, and the task that starts it by the environment's Python."""
    command = CONDA / "python.exe"
    return (
        YT_DLP,
        launcher(CONDA / "Scripts\\yt-dlp.exe", command, "from yt_dlp import main\nmain()"),
        project(
            "fetch.py",
            f"import subprocess\nimport sys\n\nimport numpy\n\nsubprocess.run([{words}, '--no-playlist', 'https://lectures.lab/1'], check=True)\nprint(numpy.zeros(3))\n",
        ),
        task(NIGHTLY, str(command), f"-B {PROJECT}\\fetch.py", str(PROJECT)),
    )


def fetched(m: Machine, _made: Path) -> None:
    """Keep a model's configuration in the hub's cache, as the hub keeps it where links are not allowed."""
    for file, content in {
        f"snapshots\\{COMMIT}\\config.json": '{"alignment_heads": [[5, 3]]}',
        "refs\\main": COMMIT,
    }.items():
        m.system_files.append(m.write(HUB_CACHE / file, content))


def loads(path: str) -> Plant:
    """Write the program that loads an array by this path, as it stands between the quotation marks."""
    return project("train.py", f"import numpy as np\n\nrows = np.load('{path}')\nprint(rows.sum())\n")


def cells(name: str, source: str) -> tuple[Plant, ...]:
    """Write a notebook, and register its kernel."""
    return kernel("ml", ML), notebook(name, "ml", source)


def cell_of(name: str) -> tuple[str, ...]:
    """Return the start of a notebook's only cell, as its kernel does it: in no file."""
    return str(ML), "-B", "-c", f"exec(__import__('json').load(open('{name}'))['cells'][0]['source'][0])"


def explores() -> tuple[Plant, ...]:
    """Return the project's own package, and a notebook in the folder beside it that needs it."""
    return (
        project("src\\__init__.py", ""),
        project("src\\features.py", "import numpy as np\n\n\ndef scale(rows):\n    return rows / np.max(rows)\n"),
        *cells(
            "notebooks\\explore.ipynb",
            "import numpy as np\n\nfrom src.features import scale\n\nprint(scale(np.ones(3)))\n",
        ),
    )


TAKES = (
    "import argparse\n\nimport numpy as np\n\nparser = argparse.ArgumentParser(description='MNIST')\nparser.add_argument('--batch-size', type=int, default=64)\n"
    "parser.add_argument('--lr', type=float, default=1.0)\nargs = parser."
)
SCALES = "\nprint(args.lr * np.ones(3))\n"
KERNEL_FILE = str(PERSON / "AppData\\Roaming\\jupyter\\runtime\\kernel-6769bc09-1f3c-4e3a-89c1-35e83a077bea.json")
ENCODES = project("encode.py", "import torch\nfrom transformers import T5Tokenizer\n\ntokenizer = T5Tokenizer.from_pretrained('google/flan-t5-small')\nprint(tokenizer, torch.ones(3))\n")  # fmt: skip
DRAWS = "import torch\nfrom torchviz import make_dot\n\nmodel = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))\ndot = make_dot(model(torch.randn(1, 8)))\n"  # fmt: skip
CLIPS = "import numpy as np\nfrom moviepy.editor import VideoFileClip\n\nclip = VideoFileClip('talk.mp4')\nprint(np.mean(clip.get_frame(0)))\n"  # fmt: skip
DETECTS = (
    "import torch\nfrom ultralytics import YOLO\n\nmodel = YOLO('{name}')\nprint(type(model.model), torch.ones(3))\n"
)
LOGS = project("train.py", "import numpy\nimport wandb\n\nrun = wandb.init(project='segment', mode='offline')\nrun.log({'loss': numpy.ones(3).sum()})\n")  # fmt: skip
FETCHES = project(
    "transcribe.py",
    f"from huggingface_hub import hf_hub_download\n\nprint(hf_hub_download('Systran/faster-whisper-small', 'config.json'))\n{NUMPY}\n".replace(
        "; ", "\n"
    ),
)
HUB = wheels(
    *REQUESTS, "huggingface_hub", "tqdm", "colorama", "pyyaml", "packaging", "filelock", "fsspec", "typing_extensions"
)
SETTINGS = b'{\n  "model": "small",\n  "language": "de"\n}\n'
READS = "import json\n\nimport numpy\n\nwith open('config.json', encoding='{encoding}') as file:\n    config = json.load(file)\nprint(config['model'], numpy.zeros(3))\n"
BY_HAND = within(PROJECT, str(ML), "-B", "train.py")
OF_A1111 = "a111:\n    base_path: C:\\lab\\stable-diffusion-webui\n    checkpoints: models/Stable-diffusion\n    vae: models/VAE\n"
FIVE_BLANKS = "a111:\n    base_path: C:\\lab\\stable-diffusion-webui\n     checkpoints: models/Stable-diffusion\n    vae: models/VAE\n"

NINETEEN, ODD = "held19-", "held19-healthy-"

HELD_OUT_19: tuple[Scene, ...] = (
    # A: a library or a part of the system is absent
    # https://github.com/kijai/ComfyUI-ELLA-wrapper/issues/4 and https://github.com/ExponentialML/ComfyUI_ELLA/issues/15 (Windows), https://github.com/huggingface/transformers/issues/9093
    Scene(f"{NINETEEN}t5-without-sentencepiece", "torch", (REQUIREMENT,), transformers(ENCODES), names="sentencepiece", runs=script("encode.py"), folder=PROJECT),
    # https://github.com/xflr6/graphviz/issues/162 (Windows) and 68, https://github.com/szagoruyko/pytorchviz/issues/44, https://github.com/davidADSP/GDL_code/issues/32 (Windows)
    Scene(f"{NINETEEN}torchviz-without-graphviz", "torch", (SYSTEMS, VALUE), torch_of_pip(GRAPHVIZ, TORCHVIZ, project("draw.py", f"{DRAWS}dot.render('network', format='png')\n")), names="graphviz", runs=within(PROJECT, str(ML), "-B", "draw.py"), folder=PROJECT),
    # https://github.com/QwenAudio/CosyVoice/issues/942, 847 and 951 (all Windows)
    Scene(f"{NINETEEN}clone-without-its-submodules", "torch", (HALF, BROKEN, REQUIREMENT, ENVIRONMENT), torch_of_pip(clone_without("Matcha-TTS", "docs-theme")), names="matcha", runs=script("webui.py"), folder=PROJECT),
    # B: all is there, and does not fit
    # https://github.com/harry0703/MoneyPrinterTurbo/issues/535, https://github.com/Zulko/moviepy/issues/2375 and 852 (all Windows)
    Scene(f"{NINETEEN}moviepy-2-and-code-of-moviepy-1", "numpy", (REQUIREMENT, PUBLISHED), numpys(MOVIEPY_2, project("clip.py", CLIPS)), names="moviepy", runs=script("clip.py"), folder=PROJECT),
    # https://github.com/microsoft/OmniParser/issues/104 and https://github.com/lrzjason/ComfyUI-Watermark-Detection/issues/4 (Windows), https://github.com/ultralytics/assets/issues/78 (Windows)
    Scene(f"{NINETEEN}yolo11-weights-and-older-ultralytics", "torch", (REQUIREMENT, OTHER_RELEASE, PUBLISHED), torch_of_pip(ULTRALYTICS, weights("yolo11n.pt", "C3k2"), project("detect.py", DETECTS.format(name="yolo11n.pt"))), names="ultralytics", runs=within(PROJECT, str(ML), "-B", "detect.py"), folder=PROJECT),
    # https://github.com/speechbrain/speechbrain/issues/2991, https://github.com/debpalash/VoiceStudio/issues/167, https://github.com/Artexis10/exomem/pull/62 (Windows)
    Scene(f"{NINETEEN}pyannote-and-the-hub-of-today", "numpy", (REQUIREMENT, PUBLISHED), diarization(hub("1.7.2")), names="huggingface", runs=script("diarize.py"), folder=PROJECT),
    # C: Python finds another file
    # https://github.com/wandb/wandb/issues/10580 (Windows), 5950 and 6195, https://github.com/wandb/docs/pull/1081
    Scene(f"{NINETEEN}folder-of-runs-in-place-of-wandb", "numpy", (IN_THE_WAY, REQUIREMENT, WRONG_ONE), numpys(runs_of_wandb, LOGS), names="wandb", runs=script(), folder=PROJECT),
    # https://github.com/PIA-Group/BioSPPy/issues/55, https://github.com/PinkWink/DataScience/issues/23, https://github.com/open-mmlab/mmsegmentation/issues/2145 (all Windows)
    Scene(f"{NINETEEN}backslash-that-is-a-tab", "numpy", (*OF_FILE, IN_THE_WAY, WRONG_ONE), numpys(rows_of("train.npy"), loads(r"data\train.npy")), names="train.py", runs=BY_HAND, folder=PROJECT),
    # https://github.com/python/cpython/issues/93875, 79022 and 88839, https://github.com/PyAr/CDPedia/issues/327 (all Windows)
    Scene(f"{NINETEEN}embeddable-python-and-a-module-beside", "numpy", (ENVIRONMENT, WRONG_ONE, IN_THE_WAY, VALUE), captions, names="_pth", runs=lambda _s: ["cmd.exe", "/c", str(CAPTIONS / "start.bat")], folder=CAPTIONS),
    # D: another way of starting
    # https://github.com/microsoft/vscode-jupyter/issues/1837 (Windows), https://github.com/juangallostra/augmented-reality/issues/8 (Windows), https://github.com/pytorch/examples/issues/369
    Scene(f"{NINETEEN}options-that-the-kernel-has", "numpy", (NOT_INHERITED, ENVIRONMENT, WRONG_ONE, VALUE), numpys(*cells("mnist.ipynb", TAKES + "parse_args()" + SCALES)), names="mnist.ipynb", runs=within(PROJECT, *cell_of("mnist.ipynb"), "-f", KERNEL_FILE), folder=PROJECT),
    # https://github.com/microsoft/vscode-python/issues/10227 and https://github.com/microsoft/vscode-jupyter/issues/12976 (Windows), https://github.com/microsoft/vscode-jupyter/issues/8739 (the advice)
    Scene(f"{NINETEEN}notebook-in-a-folder-of-its-own", "numpy", (NOT_INHERITED, ENVIRONMENT, WRONG_ONE, VALUE, REQUIREMENT, IN_THE_WAY), numpys(*explores()), names="explore.ipynb", runs=within(PROJECT / "notebooks", *cell_of("explore.ipynb")), folder=PROJECT),
    # https://github.com/duongxthanh/facebook-reels-downloader/issues/7 (Windows), https://github.com/darkGrimoire/hoyolab-daily-bot/issues/7 (the scheduler activates nothing), https://github.com/Nerogar/OneTrainer/issues/462 (a command of conda's Scripts)
    Scene(f"{NINETEEN}task-and-a-command-of-scripts", "numpy", (NOT_INHERITED, ENVIRONMENT, WRONG_ONE, SYSTEMS, VALUE), then(conda, *downloads("'yt-dlp'")), names="yt-dlp", runs=within(PROJECT, str(CONDA / "python.exe"), "-B", str(PROJECT / "fetch.py")), folder=PROJECT),
    # E: variables and settings
    # https://github.com/hanamizuki-ai/launcher-support/issues/77 (WinError 10061), https://github.com/chaojie/ComfyUI-DragNUWA/issues/4 (the model is there), https://github.com/zylon-ai/private-gpt/issues/1849
    Scene(f"{NINETEEN}proxy-of-a-vpn-that-was-closed", "numpy", (VALUE,), numpys(HUB, fetched, users(HTTP_PROXY=VPN, HTTPS_PROXY=VPN), FETCHES), names="_proxy", runs=script("transcribe.py"), folder=PROJECT),
    # https://github.com/wwwpf/QzoneExporter/issues/32 (Windows' editor), https://github.com/yeongpin/cursor-free-vip/issues/239 and https://github.com/chroblert/WindowsVulnScan/issues/2 (Windows)
    Scene(f"{NINETEEN}json-that-notepad-saved", "numpy", OF_FILE, numpys(project("train.py", READS.format(encoding="utf-8")), text(PROJECT / "config.json", b"\xef\xbb\xbf" + SETTINGS)), names="config.json", runs=BY_HAND, folder=PROJECT),
    # https://github.com/Comfy-Org/ComfyUI/issues/343 (the portable one does not start) and 7516 (five blanks)
    Scene(f"{NINETEEN}extra-model-paths-with-five-blanks", "numpy", OF_FILE, comfy(FIVE_BLANKS), names="extra_model_paths.yaml", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # healthy: twins
    Scene(f"{ODD}graph-that-is-only-saved", "torch", (), torch_of_pip(GRAPHVIZ, TORCHVIZ, project("draw.py", f"{DRAWS}dot.save('network.gv')\n")), runs=within(PROJECT, str(ML), "-B", "draw.py"), folder=PROJECT),
    Scene(f"{ODD}submodule-that-nobody-imports", "torch", (), torch_of_pip(clone_without("docs-theme")), runs=script("webui.py"), folder=PROJECT),
    Scene(f"{ODD}yolo11-weights-beside-others", "torch", (), torch_of_pip(ULTRALYTICS, weights("yolo11n.pt", "C3k2"), weights("yolov8n.pt", "C2f"), project("detect.py", DETECTS.format(name="yolov8n.pt"))), runs=within(PROJECT, str(ML), "-B", "detect.py"), folder=PROJECT),
    Scene(f"{ODD}folder-of-runs-beside-wandb", "numpy", (), numpys(WANDB, runs_of_wandb, LOGS), runs=script(), folder=PROJECT),
    Scene(f"{ODD}backslash-that-stays", "numpy", (), numpys(rows_of("images.npy"), loads(r"data\images.npy")), runs=BY_HAND, folder=PROJECT),
    Scene(f"{ODD}options-that-the-cell-knows", "numpy", (), numpys(*cells("mnist.ipynb", TAKES + "parse_known_args()[0]" + SCALES)), runs=within(PROJECT, *cell_of("mnist.ipynb"), "-f", KERNEL_FILE), folder=PROJECT),
    Scene(f"{ODD}task-and-a-module-of-its-python", "numpy", (), then(conda, *downloads("sys.executable, '-m', 'yt_dlp'")), runs=within(PROJECT, str(CONDA / "python.exe"), "-B", str(PROJECT / "fetch.py")), folder=PROJECT),
    Scene(f"{ODD}json-that-notepad-saved-and-utf-8-sig", "numpy", (), numpys(project("train.py", READS.format(encoding="utf-8-sig")), text(PROJECT / "config.json", b"\xef\xbb\xbf" + SETTINGS)), runs=BY_HAND, folder=PROJECT),
    Scene(f"{ODD}extra-model-paths-and-its-example", "numpy", (), comfy(OF_A1111, lambda m, _s: m.write(COMFY / "extra_model_paths.yaml.example", FIVE_BLANKS)), runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{ODD}pyannote-and-the-hub-of-its-time", "numpy", (), diarization(hub("0.35.3", "use_auth_token")), runs=script("diarize.py"), folder=PROJECT),
)  # fmt: skip
