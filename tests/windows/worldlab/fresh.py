r"""Scenes of everyday faults that no earlier set has, from public threads that stand above them, and their healthy twins.

In-sample, but for those of ``KEPT``: they were not scanned before the rules for the others were done, and then once.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.common import FROM_FILES, TRANSCRIBES_FILE, conda_with_base, ps1
from tests.windows.worldlab.held_out_2 import (
    BLAS,
    ENVIRONMENT,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    VALUE,
    WRONG_ONE,
    batch,
    project,
    real,
    script,
    text,
    then,
)
from tests.windows.worldlab.held_out_3 import numpys, within
from tests.windows.worldlab.held_out_8 import launcher
from tests.windows.worldlab.held_out_11 import installed, users
from tests.windows.worldlab.held_out_17 import run_bat, wheels
from tests.windows.worldlab.modules import SYSTEMS
from tests.windows.worldlab.scenes import BROKEN, NOT_SEARCHED, Plant, Scene, spoilt

assert sys.platform == "win32"

FRESH, KEPT, ODD = "fresh-", "fresh-kept-", "fresh-healthy-"
OF_START = (NOT_INHERITED, NOT_SEARCHED, VALUE, WRONG_ONE, ENVIRONMENT)
OF_PACKAGES = (REQUIREMENT, BROKEN, ENVIRONMENT)
GONE = "K:\\ai"
STARTED = f"{NUMPY}\n".replace("; ", "\n")
FFMPEG = HOME / "WinGet\\Packages\\Gyan.FFmpeg"
MODELS = HOME / "models"


# --- packages ------------------------------------------------------------------------------------------------------------

GRAPHVIZ = installed(
    "graphviz", "0.20.3",
    {
        "graphviz\\__init__.py": "from .graphs import Digraph\n",
        "graphviz\\backend\\__init__.py": "",
        "graphviz\\backend\\dot_command.py": "import pathlib\n\nDOT_BINARY = pathlib.Path('dot')\n\n\ndef command(format_):\n    return [DOT_BINARY, f'-T{format_}']\n",
        "graphviz\\backend\\execute.py": "import errno\nimport os\nimport subprocess\n\n\nclass ExecutableNotFound(RuntimeError):\n"
        "    _msg = 'failed to execute {!r}, make sure the Graphviz executables are on your systems\\' PATH'\n\n    def __init__(self, args):\n        super().__init__(self._msg.format(*args))\n\n\n"
        "def run_check(cmd, *, cwd=None):\n    try:\n        proc = subprocess.run([os.fspath(c) for c in cmd], stdin=subprocess.DEVNULL, capture_output=True, cwd=cwd)\n    except OSError as e:\n"
        "        if e.errno == errno.ENOENT:\n            raise ExecutableNotFound(cmd) from e\n        raise\n    return proc\n",
        "graphviz\\graphs.py": "from .backend import dot_command, execute\n\n\nclass Digraph:\n    def __init__(self, name=None):\n        self.name = name\n\n    def node(self, name):\n        return None\n\n"
        "    def render(self, filename=None, format='pdf'):\n        cmd = dot_command.command(format)\n        return execute.run_check(cmd)\n",
    },
)  # fmt: skip
"""What backend/execute.py does."""
PDF2IMAGE = installed(
    "pdf2image", "1.17.0",
    {
        "pdf2image\\__init__.py": "from .pdf2image import convert_from_path\n",
        "pdf2image\\exceptions.py": "class PDFInfoNotInstalledError(Exception):\n    pass\n",
        "pdf2image\\pdf2image.py": "import os\nimport subprocess\nfrom subprocess import PIPE, Popen\n\nfrom .exceptions import PDFInfoNotInstalledError\n\n\n"
        "def _get_command_path(command, poppler_path=None):\n    if poppler_path is not None:\n        command = os.path.join(poppler_path, command)\n    return command\n\n\n"
        "def pdfinfo_from_path(pdf_path, poppler_path=None):\n    try:\n        command = [_get_command_path('pdfinfo', poppler_path), pdf_path]\n        env = os.environ.copy()\n"
        "        proc = Popen(command, env=env, stdout=PIPE, stderr=PIPE)\n        return proc.communicate()\n    except OSError:\n"
        "        raise PDFInfoNotInstalledError('Unable to get page count. Is poppler installed and in PATH?')\n\n\n"
        "def convert_from_path(pdf_path, dpi=200, poppler_path=None):\n    return pdfinfo_from_path(pdf_path, poppler_path=poppler_path)\n",
    },
    "pillow",
)  # fmt: skip
ACCELERATE = installed(
    "accelerate", "1.3.0",
    {
        "accelerate\\__init__.py": "__version__ = '1.3.0'\n\nfrom .accelerator import Accelerator\n",
        "accelerate\\accelerator.py": "import numpy\n\n\nclass Accelerator:\n    def __init__(self, device_placement=True, split_batches=False, gradient_accumulation_steps=1, dataloader_config=None):\n"
        "        self.split_batches = split_batches\n",
    },
    "numpy",
)  # fmt: skip
TRANSFORMERS = installed(
    "transformers", "4.35.2",
    {
        "transformers\\__init__.py": "__version__ = '4.35.2'\n\nfrom .trainer import Trainer\nfrom .utils import CONFIG_NAME\n",
        "transformers\\trainer.py": "import numpy as np\n\nfrom accelerate import Accelerator\n\n\nclass Trainer:\n    def __init__(self, model=None, args=None, train_dataset=None):\n        self.args = args\n"
        "        self.create_accelerator_and_postprocess()\n\n    def create_accelerator_and_postprocess(self):\n        self.accelerator = Accelerator(\n            dispatch_batches=None,\n            split_batches=False,\n"
        "            gradient_accumulation_steps=1,\n        )\n",
        "transformers\\utils\\__init__.py": "CONFIG_NAME = 'config.json'\nWEIGHTS_NAME = 'pytorch_model.bin'\n",
    },
    "numpy", "accelerate>=0.20.3",
)  # fmt: skip
"""Accelerate 1.3 no longer takes dispatch_batches."""
DIFFUSERS = installed(
    "diffusers", "0.35.1",
    {
        "diffusers\\__init__.py": "__version__ = '0.35.1'\n\nfrom .pipelines.pipeline_loading_utils import simplify\n",
        "diffusers\\pipelines\\__init__.py": "",
        "diffusers\\pipelines\\pipeline_loading_utils.py": "import numpy as np\nfrom transformers.utils import FLAX_WEIGHTS_NAME as TRANSFORMERS_FLAX_WEIGHTS_NAME\n\n\ndef simplify(name):\n    return name\n",
    },
    "numpy", "transformers>=4.41",
)  # fmt: skip
WANDB = installed("wandb", "0.19.1", {"wandb\\__init__.py": "def init(project=None):\n    return project\n"})
FLASK = installed(
    "flask", "3.1.0",
    {
        "flask\\__init__.py": "class Flask:\n    def __init__(self, name):\n        self.name = name\n",
        "flask\\__main__.py": "from .cli import main\n\nmain()\n",
        "flask\\cli.py": "import importlib\nimport os\nimport sys\n\n\nclass NoAppException(Exception):\n    pass\n\n\ndef load_app():\n    name = os.environ.get('FLASK_APP')\n    for path in ([name] if name else ['wsgi.py', 'app.py']):\n"
        "        if os.path.exists(path):\n            sys.path.insert(0, os.getcwd())\n            return importlib.import_module(path.removesuffix('.py')).app\n"
        "    raise NoAppException(\n        \"Could not locate a Flask application. Use the 'flask --app' option, 'FLASK_APP' environment variable, or a 'wsgi.py' or 'app.py' file in the current directory.\"\n    )\n\n\ndef main():\n    print(load_app())\n",
    },
)  # fmt: skip
UVICORN = installed(
    "uvicorn", "0.34.0",
    {
        "uvicorn\\__init__.py": "",
        "uvicorn\\__main__.py": "from uvicorn.main import main\n\nmain()\n",
        "uvicorn\\main.py": "import sys\n\nfrom uvicorn.importer import import_from_string\n\n\ndef main():\n    words = sys.argv[1:]\n    folder = words[words.index('--app-dir') + 1] if '--app-dir' in words else ''\n    sys.path.insert(0, folder)\n    print(import_from_string(words[0]))\n",
        "uvicorn\\importer.py": "import importlib\n\n\nclass ImportFromStringError(Exception):\n    pass\n\n\ndef import_from_string(import_str):\n    module_str, _, attrs_str = import_str.partition(':')\n    try:\n        module = importlib.import_module(module_str)\n"
        "    except ModuleNotFoundError as exc:\n        if exc.name != module_str:\n            raise exc from None\n        raise ImportFromStringError(f'Could not import module \"{module_str}\".')\n    return getattr(module, attrs_str)\n",
    },
)  # fmt: skip
TIKTOKEN = installed(
    "tiktoken", "0.8.0",
    {
        "tiktoken\\__init__.py": "from .load import get_encoding\n",
        "tiktoken\\load.py": "import os\nimport tempfile\nimport uuid\n\n\ndef read_file_cached(blobpath):\n    if 'TIKTOKEN_CACHE_DIR' in os.environ:\n        cache_dir = os.environ['TIKTOKEN_CACHE_DIR']\n"
        "    elif 'DATA_GYM_CACHE_DIR' in os.environ:\n        cache_dir = os.environ['DATA_GYM_CACHE_DIR']\n    else:\n        cache_dir = os.path.join(tempfile.gettempdir(), 'data-gym-cache')\n"
        "    cache_path = os.path.join(cache_dir, 'blob')\n    os.makedirs(cache_dir, exist_ok=True)\n    tmp_filename = str(cache_path) + '.' + str(uuid.uuid4()) + '.tmp'\n    with open(tmp_filename, 'wb') as f:\n        f.write(b'x')\n    return cache_path\n\n\n"
        "def get_encoding(name):\n    return read_file_cached(name)\n",
    },
)  # fmt: skip
"""What load.py does, without the download and with the folder made at once."""


# --- plants --------------------------------------------------------------------------------------------------------------


def ffmpeg_of_winget(*on_path: Path) -> Plant:
    """Unpack a program that is called ffmpeg as winget does, and put a folder of it on PATH."""

    def plant(m: Machine, _made: Path) -> None:
        m.place(Path(m.places["consumers"]) / "llama.exe", FFMPEG / "ffmpeg-6.0-full_build\\bin\\ffmpeg.exe")
        m.path(*on_path, scope="user")

    return plant


def conda_runs(name: str) -> Plant:
    """Write a batch file that starts the program by ``conda run`` in an environment."""
    return project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\nconda run -n {name} python -B train.py\r\n')


def conda_of_run(m: Machine, made: Path) -> None:
    """Let conda's own command run a program in an environment."""
    code = (
        "import os, subprocess, sys\nname = sys.argv[sys.argv.index('-n') + 1]\nfolder = os.path.join(sys.prefix, 'envs', name)\n"
        "if not os.path.exists(os.path.join(folder, 'conda-meta')):\n    sys.exit(f'EnvironmentLocationNotFound: Not a conda environment: {folder}')\n"
        "words = sys.argv[sys.argv.index('-n') + 2:]\nos.environ['PATH'] = folder + ';' + folder + r'\\Library\\bin;' + os.environ['PATH']\n"
        "sys.exit(subprocess.run([os.path.join(folder, words[0] + '.exe'), *words[1:]]).returncode)"
    )
    base = HOME / "miniconda3"
    launcher(base / "Scripts\\conda.exe", base / "python.exe", code)(m, made)
    m.path(base / "Scripts", scope="user")


NEWER = b"\x80\x04cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R."
"""How NumPy 2 pickles an array."""
LOADS = project("train.py", "import pickle\n\nimport numpy\n\nwith open('scaler.pkl', 'rb') as file:\n    scaler = pickle.load(file)\nprint(scaler, numpy.ones(3))\n")  # fmt: skip
TRAINS = project("train.py", "import numpy\nfrom transformers import Trainer\n\ntrainer = Trainer(model=None)\n")
DRAWS = project("train.py", "import numpy\nfrom graphviz import Digraph\n\ndot = Digraph('net')\ndot.node('a')\ndot.render('net.gv')\n")  # fmt: skip
PAGES = project("train.py", "import numpy\nfrom pdf2image import convert_from_path\n\npages = convert_from_path('paper.pdf')\n")  # fmt: skip
LOGS = project(
    "train.py", "import numpy\nimport wandb\n\nrun = wandb.init(project='coins')\nprint(run, numpy.ones(3))\n"
)
RUNS_OF_WANDB = project("wandb\\run-20261101_101010-abc\\files\\config.yaml", "lr: 1\n")
SERVES = project("server.py", "import numpy\nfrom flask import Flask\n\napp = Flask(__name__)\n")
API = project("app\\main.py", "import numpy\n\napp = object()\n")
READS = project("train.py", "import os\n\nimport numpy\nfrom dotenv import load_dotenv\n\nload_dotenv()\nwith open(os.path.join(os.environ['LABELS_DIR'], 'labels.txt')) as file:\n    print(file.read(), numpy.ones(3))\n")  # fmt: skip
LABELS = text(MODELS / "labels.txt", "coin\n")
CONFIGURED = project("train.py", "import numpy\nimport yaml\n\nwith open('config.yaml', encoding='utf-8') as file:\n    config = yaml.safe_load(file)\nprint(config['model'], numpy.ones(3))\n")  # fmt: skip
BELOW = (
    project("notebooks\\train.py", "import sys\n\nsys.path.append('..\\\\src')\n\nimport numpy\nfrom nets import unet\n\nprint(unet.size, numpy.ones(3))\n"),
    project("src\\nets\\__init__.py", ""),
    project("src\\nets\\unet.py", "import numpy\n\nsize = 3\n"),
)  # fmt: skip

FRESHES: tuple[Scene, ...] = (
    # A: https://github.com/GyanD/codexffmpeg/issues/95
    Scene(f"{FRESH}ffmpeg-of-winget-one-folder-above", "numpy", (SYSTEMS,), numpys(FROM_FILES, TRANSCRIBES_FILE, ffmpeg_of_winget(FFMPEG)), names="ffmpeg", runs=script(), folder=PROJECT),
    # https://github.com/xflr6/graphviz/issues/68, https://github.com/keras-team/keras/issues/5937
    Scene(f"{FRESH}graphviz-without-dot", "numpy", (SYSTEMS,), numpys(GRAPHVIZ, DRAWS), names="dot", runs=script(), folder=PROJECT),
    # B: https://github.com/huggingface/transformers/issues/34714
    Scene(f"{FRESH}accelerate-newer-than-the-trainer", "numpy", OF_PACKAGES, numpys(ACCELERATE, TRANSFORMERS, TRAINS), names="accelerate", runs=script(), folder=PROJECT),
    # https://github.com/numpy/numpy/issues/26710 (No module named 'numpy._core')
    Scene(f"{FRESH}pickle-of-numpy-2", "numpy", OF_PACKAGES, then(real("numpy-1.23"), LOADS, project("scaler.pkl", NEWER)), names="scaler.pkl", runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    # C: https://github.com/numpy/numpy/issues/14860 (cannot import name 'randbits' from 'secrets')
    Scene(f"{FRESH}tokens-in-secrets-py", "numpy", (IN_THE_WAY,), numpys(project("secrets.py", "API_KEY = 'abc'\n"), project("train.py", "import secrets\n\nimport numpy\n\nprint(secrets.API_KEY, numpy.random.rand(3))\n")), names="secrets.py", runs=script(), folder=PROJECT),
    # https://github.com/wandb/wandb/issues/1909 (module 'wandb' has no attribute 'init')
    Scene(f"{FRESH}folder-of-runs-in-the-place-of-wandb", "numpy", (IN_THE_WAY, REQUIREMENT), numpys(RUNS_OF_WANDB, LOGS), names="wandb", runs=script(), folder=PROJECT),
    # D: https://github.com/microsoft/vscode-docs/issues/1881
    Scene(f"{FRESH}flask-app-set-in-powershell", "numpy", OF_START, numpys(FLASK, SERVES, ps1("Set-Location $PSScriptRoot", "set FLASK_APP=server.py", f"& {ML} -m flask")), names="FLASK_APP", runs=within(PROJECT, str(ML), "-B", "-m", "flask"), folder=PROJECT),
    # https://github.com/encode/uvicorn/issues/1259 (Could not import module "main")
    Scene(f"{FRESH}uvicorn-above-the-app", "numpy", (*OF_START, REQUIREMENT), numpys(UVICORN, API, run_bat(f"{ML} -B -m uvicorn main:app --port 8000")), names="main", runs=batch(), folder=PROJECT),
    # E: https://github.com/theskumar/python-dotenv/issues/116
    Scene(f"{FRESH}percent-signs-in-a-dotenv-file", "numpy", (VALUE,), numpys(wheels("dotenv"), READS, LABELS, project(".env", "LABELS_DIR=%SystemDrive%\\lab\\models\n")), names="%SystemDrive%", runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    # https://github.com/yaml/pyyaml/issues/594 (found character '\t' that cannot start any token)
    Scene(f"{FRESH}tabulator-in-a-yaml-file", "numpy", (VALUE, BROKEN, ENVIRONMENT), numpys(wheels("pyyaml"), CONFIGURED, project("config.yaml", "model:\n\tname: small\n\tdevice: cuda\n")), names="config.yaml", runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    # healthy
    Scene(f"{ODD}ffmpeg-of-winget", "numpy", (), numpys(FROM_FILES, TRANSCRIBES_FILE, ffmpeg_of_winget(FFMPEG / "ffmpeg-6.0-full_build\\bin")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}wandb-and-its-folder-of-runs", "numpy", (), numpys(WANDB, RUNS_OF_WANDB, LOGS), runs=script(), folder=PROJECT),
    Scene(f"{ODD}uvicorn-with-its-app-dir", "numpy", (), numpys(UVICORN, API, run_bat(f"{ML} -B -m uvicorn main:app --app-dir app --port 8000")), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}variables-in-a-dotenv-file", "numpy", (), numpys(wheels("dotenv"), READS, LABELS, project(".env", "ROOT=C:\\lab\nLABELS_DIR=${ROOT}\\models\nTITLE=100 % sure\n")), runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    Scene(f"{ODD}temp-on-a-drive-that-is-gone", "numpy", (), numpys(users(TEMP=f"{GONE}\\tmp", TMP=f"{GONE}\\tmp"), project("train.py", f"import tempfile\n\n{STARTED}print(tempfile.mkdtemp())\n")), runs=script(), folder=PROJECT),
    # kept back
    # https://github.com/Belval/pdf2image/issues/142
    Scene(f"{KEPT}pages-without-poppler", "numpy", (SYSTEMS,), numpys(PDF2IMAGE, installed("pillow", "11.0.0", {"PIL\\__init__.py": ""}), PAGES), names="pdfinfo", runs=script(), folder=PROJECT),
    # https://github.com/huggingface/diffusers/issues/12436
    Scene(f"{KEPT}diffusers-older-than-transformers", "numpy", OF_PACKAGES, numpys(ACCELERATE, TRANSFORMERS, DIFFUSERS, project("train.py", "import diffusers\nimport numpy\n")), names="transformers", runs=script(), folder=PROJECT),
    # https://github.com/microsoft/vscode-python/issues/2914
    Scene(f"{KEPT}search-path-of-another-folder", "numpy", (*OF_START, REQUIREMENT, IN_THE_WAY), numpys(*BELOW, run_bat(f"{ML} -B notebooks\\train.py")), names="nets", runs=batch(), folder=PROJECT),
    # https://github.com/conda/conda/issues/12217 (EnvironmentLocationNotFound)
    Scene(f"{KEPT}conda-run-of-a-misspelt-environment", "ctranslate2", (WRONG_ONE, *OF_START), spoilt(conda_with_base, conda_of_run, project("train.py", f"{BLAS}\n"), conda_runs("m1")), names="m1", runs=batch(), folder=PROJECT),
    # https://github.com/openai/tiktoken/issues/285
    Scene(f"{KEPT}tiktoken-on-a-drive-that-is-gone", "numpy", (VALUE,), numpys(TIKTOKEN, users(TIKTOKEN_CACHE_DIR=f"{GONE}\\tiktoken"), project("train.py", "import numpy\nimport tiktoken\n\nprint(tiktoken.get_encoding('cl100k_base'))\n")), names="TIKTOKEN_CACHE_DIR", runs=script(), folder=PROJECT),
    Scene(f"{KEPT}healthy-search-path-of-its-folder", "numpy", (), numpys(*BELOW, run_bat("cd notebooks", f"{ML} -B train.py")), runs=batch(), folder=PROJECT),
    Scene(f"{KEPT}healthy-conda-run", "ctranslate2", (), spoilt(conda_with_base, conda_of_run, project("train.py", f"{BLAS}\n"), conda_runs("ml")), runs=batch(), folder=PROJECT),
    Scene(f"{KEPT}healthy-tabulators-that-yaml-takes", "numpy", (), numpys(wheels("pyyaml"), CONFIGURED, project("config.yaml", "# a\ttab\nmodel: small # here,\ttoo\nvoice: \"a\tb\"\n")), runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
)  # fmt: skip
