r"""Scenes of the classes D and E as people on Windows report them: what starts a program from the inside, managers of environments, consoles, and
variables whose readers are packages. In-sample, but for the last third (``LATE``), which was kept back
until the rules were done.

Wine has no Git Bash, ``uv``, Poetry or ``py``: there the oracle starts by itself what the lines come to.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys
import winreg
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine, environment
from tests.windows.worldlab.common import machines, machines_python
from tests.windows.worldlab.held_out_2 import (
    BLAS,
    ENVIRONMENT,
    ML,
    NOT_INHERITED,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    VALUE,
    WHOLE,
    WRONG_ONE,
    another_environment,
    batch,
    dumped,
    packages,
    project,
    script,
    short_path,
    with_variables,
)
from tests.windows.worldlab.held_out_3 import OTHER_ONE, ct2s, numpys, within
from tests.windows.worldlab.held_out_8 import activation
from tests.windows.worldlab.held_out_10 import webui_user
from tests.windows.worldlab.held_out_11 import installed, torch_of_pip, users
from tests.windows.worldlab.held_out_13 import run_bat
from tests.windows.worldlab.scenes import BIN, NOT_SEARCHED, Plant, Scene

assert sys.platform == "win32"

FIELD, LATE, ODD = "field-", "late-", "field-healthy-"
OF_PYTHON = (WRONG_ONE, REQUIREMENT, ENVIRONMENT, NOT_INHERITED)
OF_START = (NOT_INHERITED, NOT_SEARCHED, VALUE)
GONE_DRIVE = "K:\\ai"
NAMED = base64.urlsafe_b64encode(hashlib.sha256(str(PROJECT).lower().encode()).digest()).decode()[:8]
POETRY = Path(os.environ["LOCALAPPDATA"]) / f"pypoetry\\Cache\\virtualenvs\\transcriber-{NAMED}-py3.11"
"""Poetry's env_manager.py: the name, and a hash of the folder."""
INTERNET = r"Software\Microsoft\Windows\CurrentVersion\Internet Settings"


# --- packages ------------------------------------------------------------------------------------------------------------


def package(name: str, version: str, *requires: str, **files: str) -> Plant:
    """Install a package; ``files``: module -> content, "init" for its own."""
    return installed(
        name, version, {f"{name}\\{'__init__' if f == 'init' else f}.py": c for f, c in files.items()}, *requires
    )


WHISPER = package(
    "whisper", "20240930", "numpy",
    init="import os\n\n\ndef load_model(name, download_root=None):\n    if download_root is None:\n        default = os.path.join(os.path.expanduser('~'), '.cache')\n"
    "        download_root = os.path.join(os.getenv('XDG_CACHE_HOME', default), 'whisper')\n    os.makedirs(download_root, exist_ok=True)\n    return download_root\n",
)  # fmt: skip
"""What whisper/__init__.py does."""
REMBG = package(
    "rembg", "2.0.61", "numpy",
    init="from .session_factory import new_session\n",
    session_factory="import os\n\n\ndef u2net_home():\n    return os.path.expanduser(\n        os.getenv('U2NET_HOME', os.path.join(os.getenv('XDG_DATA_HOME', '~'), '.u2net'))\n    )\n\n\n"
    "def new_session(name='u2net'):\n    os.makedirs(u2net_home(), exist_ok=True)\n    return u2net_home()\n",
)  # fmt: skip
GRADIO = package(
    "gradio", "5.9.1", "numpy",
    init="from gradio.blocks import Blocks\n",
    utils="import os\nimport tempfile\nfrom pathlib import Path\n\n\ndef get_upload_folder():\n"
    "    return os.environ.get('GRADIO_TEMP_DIR') or str((Path(tempfile.gettempdir()) / 'gradio').resolve())\n",
    blocks="import os\n\nfrom gradio.utils import get_upload_folder\n\n\nclass Blocks:\n    def __init__(self):\n        self.folder = get_upload_folder()\n        os.makedirs(self.folder, exist_ok=True)\n\n"
    "    def launch(self):\n        return self.folder\n",
)  # fmt: skip
HUB = package(
    "huggingface_hub", "0.26.5",
    init="from .file_download import snapshot_download\n",
    constants="import os\n\nENDPOINT = os.getenv('HF_ENDPOINT', 'https://huggingface.co').rstrip('/')\n",
    file_download="import http.client\nimport urllib.parse\n\nfrom . import constants\n\n\ndef snapshot_download(name):\n    its = urllib.parse.urlsplit(f'{constants.ENDPOINT}/api/models/{name}')\n"
    "    http.client.HTTPSConnection(its.netloc)._validate_host(its.netloc)\n    return name\n",
)  # fmt: skip
"""A host with a blank is refused before anything is sent."""
KERAS = package(
    "keras", "3.6.0", "numpy",
    init="from keras.backend import backend\n",
    backend="import os\n\n_BACKEND = 'tensorflow'\nif 'KERAS_BACKEND' in os.environ:\n    _backend = os.environ['KERAS_BACKEND']\n    if _backend:\n        _BACKEND = _backend\n\n\ndef backend():\n    return _BACKEND\n\n\n"
    "if backend() == 'torch':\n    import torch\nelif backend() == 'numpy':\n    import numpy\nelif backend() == 'tensorflow':\n    import tensorflow\nelif backend() == 'jax':\n    import jax\nelse:\n"
    "    raise ValueError(f'Unable to import backend : {backend()}')\n",
)  # fmt: skip
MATPLOTLIB = installed(
    "matplotlib", "3.9.2",
    {
        "matplotlib\\__init__.py": "import os\n\nrcParams = {'backend': os.environ.get('MPLBACKEND')}\n\n\ndef use(backend):\n    rcParams['backend'] = backend\n",
        "matplotlib\\pyplot.py": "import importlib\n\nimport matplotlib\n\n\ndef switch_backend(newbackend):\n    name = newbackend or 'agg'\n    if name.startswith('module://'):\n        module = name[9:]\n    else:\n"
        "        module = f'matplotlib.backends.backend_{name.lower()}'\n    importlib.import_module(module)\n\n\ndef figure():\n    switch_backend(matplotlib.rcParams['backend'])\n",
        "matplotlib\\backends\\__init__.py": "",
        "matplotlib\\backends\\backend_agg.py": "",
        "matplotlib\\backends\\backend_qtagg.py": "from .qt_compat import QtCore\n",
        "matplotlib\\backends\\qt_compat.py": "raise ImportError('Failed to import any of the following Qt binding modules: PyQt6, PySide6, PyQt5, PySide2')\n",
    },
    "numpy",
)  # fmt: skip
REQUESTS = package(
    "requests", "2.32.3",
    init="from .api import get\n",
    api="import urllib.request\n\n\ndef get(url):\n    proxies = urllib.request.getproxies()\n    proxy = proxies.get('https') or proxies.get('all') or proxies.get('http') or ''\n    if proxy.startswith('socks'):\n"
    "        try:\n            import socks\n        except ImportError:\n            raise ValueError('Missing dependencies for SOCKS support.')\n    return proxy\n",
)  # fmt: skip
UVICORN = package(
    "uvicorn", "0.34.0",
    init="from uvicorn.main import run\n",
    main="from uvicorn.logging import DefaultFormatter\n\n\ndef run(app):\n    return DefaultFormatter()\n",
    logging="import sys\n\n\nclass DefaultFormatter:\n    def __init__(self, use_colors=None):\n        self.use_colors = sys.stdout.isatty() if use_colors is None else use_colors\n",
)  # fmt: skip
GIT = package(
    "git", "3.1.43",
    init="import os\nimport shutil\n\n\ndef refresh():\n    name = os.environ.get('GIT_PYTHON_GIT_EXECUTABLE', 'git')\n    if shutil.which(name) is None and os.environ.get('GIT_PYTHON_REFRESH', 'raise') != 'quiet':\n"
    "        raise ImportError('Bad git executable.')\n\n\nrefresh()\n",
)  # fmt: skip
NUMEXPR = package(
    "numexpr", "2.10.2", "numpy",
    init="from numexpr.utils import _init_num_threads\n\nnthreads = _init_num_threads()\n",
    utils="import os\n\n\ndef _init_num_threads():\n    env_configured = False\n    if 'NUMEXPR_NUM_THREADS' in os.environ:\n        requested_threads = int(os.environ['NUMEXPR_NUM_THREADS'])\n"
    "    elif 'OMP_NUM_THREADS' in os.environ:\n        requested_threads = int(os.environ['OMP_NUM_THREADS'])\n    else:\n        requested_threads = 1\n    return requested_threads\n",
)  # fmt: skip
QTPY = package(
    "qtpy", "2.4.2",
    init="import os\n\n\nclass QtBindingsNotFoundError(ImportError):\n    pass\n\n\nAPI = os.environ.get('QT_API', 'pyqt5').lower()\nif API not in ('pyqt5', 'pyqt6', 'pyside2', 'pyside6'):\n"
    "    raise AssertionError('Specified QT_API={} is not in valid options'.format(API))\n",
)  # fmt: skip

VOICES = package(
    "voices", "1.2.0", "numpy",
    init="from voices.cache import folder\n",
    cache="import os\n\nfolder = os.path.join(os.environ['HOME'], '.cache', 'voices')\n",
)  # fmt: skip
"""What packages of Linux's do: Windows has no HOME."""
GRADIO_AND_PROXY = package(
    "gradio", "4.44.1", "httpx",
    init="from gradio.blocks import Blocks\n",
    networking="import httpx\n\n\ndef url_ok(url):\n    try:\n        return httpx.head(url, timeout=3).status_code in (200, 401, 302)\n    except (ConnectionError, httpx.ConnectError):\n        return False\n",
    blocks="from gradio import networking\n\n\nclass Blocks:\n    def launch(self, share=False):\n        self.local_url = 'http://127.0.0.1:7860/'\n"
    "        if not networking.url_ok(self.local_url) and not share:\n            raise ValueError('When localhost is not accessible, a shareable link must be created. Please set share=True or check your proxy settings to allow access to localhost.')\n",
)  # fmt: skip
HTTPX = package(
    "httpx", "0.27.2",
    init="import urllib.request\n\n\nclass ConnectError(Exception):\n    pass\n\n\nclass Response:\n    status_code = 200\n\n\ndef head(url, timeout=5):\n"
    "    host = url.split('/')[2].partition(':')[0]\n    if urllib.request.getproxies().get('http') and not urllib.request.proxy_bypass(host):\n        raise ConnectError('[WinError 10061]')\n    return Response()\n",
)  # fmt: skip
"""Nothing listens at the proxy's port."""
LLAMA_CPP = installed(
    "llama_cpp_python", "0.3.4",
    {"llama_cpp\\__init__.py": "from .llama_cpp import lib\n",
     "llama_cpp\\_ctypes_extensions.py": "import os\nimport pathlib\n\n\ndef load_shared_library(lib_base_name, base_path):\n    for lib_path in [base_path / f'{lib_base_name}.dll']:\n        if lib_path.exists():\n            return lib_path\n"
    "    raise FileNotFoundError(f\"Shared library with base name '{lib_base_name}' not found\")\n",
     "llama_cpp\\llama_cpp.py": "import os\nimport pathlib\n\nfrom ._ctypes_extensions import load_shared_library\n\n_override_base_path = os.environ.get('LLAMA_CPP_LIB_PATH')\n"
    "_base_path = pathlib.Path(os.path.abspath(os.path.dirname(__file__))) / 'lib' if _override_base_path is None else pathlib.Path(_override_base_path)\nlib = load_shared_library('llama', _base_path)\n"},
    "numpy",
)  # fmt: skip


# --- ways of starting ----------------------------------------------------------------------------------------------------


def envs(folder: Path, *wheels: str) -> Plant:
    """Make an environment that a tool keeps below the person's folders."""

    def plant(m: Machine, _made: Path) -> None:
        kept = list(m.pythons)
        shutil.rmtree(folder, ignore_errors=True)  # the folders of an earlier run, which the clean-up leaves
        packages(m, environment(m, folder.name, home=folder.parent), *wheels)
        m.pythons[:] = kept
        m.system_files.extend(p for p in folder.rglob("*") if p.is_file())

    return plant


def pyproject(tool: str) -> Plant:
    """Write the project's own file."""
    of_poetry = '\n[tool.poetry]\nname = "transcriber"\nversion = "0.1"\n\n[build-system]\nrequires = ["poetry-core"]\nbuild-backend = "poetry.core.masonry.api"\n'
    return project(
        "pyproject.toml",
        f'[project]\nname = "transcriber"\nversion = "0.1"\ndependencies = []\n{of_poetry if tool == "poetry" else ""}',
    )


def start_of(python: Path | str) -> str:
    """Return a word of a batch file."""
    return f"{python} -B train.py"


def pythonw(m: Machine, _made: Path) -> None:
    """Let the environment have the Python without a console."""
    m.write(ML.with_name("pythonw.exe"), (Path(sys.base_prefix) / "pythonw.exe").read_bytes())


def without_console(_site: Path) -> list[str]:
    """Return the start that leaves a program no streams, as Explorer does."""
    words = [str(ML.with_name("pythonw.exe")), "-B", "train.py"]
    code = (
        f"import subprocess, sys; sys.exit(subprocess.run({words!r}, cwd={str(PROJECT)!r}, creationflags=8).returncode)"
    )
    return [sys.executable, "-I", "-S", "-c", code]


def registry_proxy(server: str, bypass: str = "") -> Plant:
    """Set the proxy as Windows' settings do."""

    def plant(m: Machine, _made: Path) -> None:
        m.keys.append((winreg.HKEY_CURRENT_USER, INTERNET))
        with winreg.CreateKey(winreg.HKEY_CURRENT_USER, INTERNET) as key:
            winreg.SetValueEx(key, "ProxyEnable", 0, winreg.REG_DWORD, 1)
            winreg.SetValueEx(key, "ProxyServer", 0, winreg.REG_SZ, server)
            winreg.SetValueEx(key, "ProxyOverride", 0, winreg.REG_SZ, bypass)

    return plant


def vscode(**rows: object) -> Plant:
    """Write VS Code's settings of the project."""
    return project(".vscode\\settings.json", dumped(rows))


def launch_json(**row: object) -> Plant:
    """Write VS Code's way of starting the project."""
    one = {
        "name": "train", "type": "debugpy", "request": "launch", "program": "${workspaceFolder}\\train.py", **row,
    }  # fmt: skip
    return project(".vscode\\launch.json", dumped({"version": "0.2.0", "configurations": [one]}))


def uses(*lines: str, name: str = "train.py") -> Plant:
    """Write a program that ends with NumPy."""
    return project(name, "\n".join((*lines, NUMPY.replace("; ", "\n"), "")))


IN_ML = f"call {HOME}\\ml\\Scripts\\activate.bat"
FETCHES = uses("from huggingface_hub import snapshot_download", "", "snapshot_download('Systran/faster-whisper-small')")
WORKER = project("worker.py", f"{BLAS}\n".replace("; ", "\n"))
CALLS = "import subprocess\nimport sys\n\n{call}\n"
QUOTED = "\N{LEFT DOUBLE QUOTATION MARK}a photo\N{RIGHT DOUBLE QUOTATION MARK}\n"
OPTIONS = (
    "import argparse\nimport os\nimport shlex\nimport sys\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--listen', action='store_true')\n"
    "parser.add_argument('--medvram', action='store_true')\nparser.add_argument('--xformers', action='store_true')\nparser.add_argument('--port', type=int, default=7860)\n"
)
MY_OPTIONS = (
    f"{OPTIONS}args = parser.parse_args(shlex.split(os.environ.get('COMMANDLINE_ARGS', '')) + sys.argv[1:])\n{BLAS}\n"
)

FIELDS: tuple[Scene, ...] = (
    # D: what a program starts by itself
    # https://github.com/python/cpython/issues/86207, https://github.com/karpetrosyan/uv-vscode/issues/3
    Scene(f"{FIELD}subprocess-python-by-name", "ctranslate2", OF_PYTHON, ct2s(machines_python, activation, WORKER, project("train.py", CALLS.format(call="sys.exit(subprocess.run(['python', '-B', 'worker.py']).returncode)")), run_bat(IN_ML)), names="worker.py", runs=within(PROJECT, str(WHOLE / "python.exe"), "-B", "worker.py"), folder=PROJECT),
    Scene(f"{FIELD}subprocess-with-env-of-its-own", "ctranslate2", OF_START, ct2s(WORKER, project("train.py", CALLS.format(call="sys.exit(subprocess.run([sys.executable, '-B', 'worker.py'], env={'SYSTEMROOT': 'C:\\\\windows', 'PATH': 'C:\\\\windows\\\\system32'}).returncode)"))), names="train.py", runs=script(), folder=PROJECT),
    Scene(f"{FIELD}node-spawns-python", "ctranslate2", OF_PYTHON, ct2s(another_environment, project("main.js", "const { spawn } = require('child_process');\n\nspawn('..\\\\tools\\\\Scripts\\\\python.exe', ['-B', 'train.py'], { stdio: 'inherit' });\n"), project("package.json", dumped({"name": "app", "version": "1.0.0", "scripts": {"start": "node main.js"}}))), names="main.js", runs=script(python=OTHER_ONE), folder=PROJECT),
    Scene(f"{LATE}npm-script-of-another-python", "ctranslate2", OF_PYTHON, ct2s(another_environment, project("package.json", dumped({"name": "app", "version": "1.0.0", "scripts": {"start": "..\\tools\\Scripts\\python.exe -B train.py"}}))), names="tools", runs=script(python=OTHER_ONE), folder=PROJECT),
    # managers
    Scene(f"{FIELD}uv-run-in-a-batch-file", "ctranslate2", OF_PYTHON, ct2s(envs(PROJECT / ".venv", "numpy-1.26"), pyproject("uv"), project("run.bat", '@echo off\r\ncd /d "%~dp0"\r\nuv run train.py\r\n')), names="run.bat", runs=script(python=PROJECT / ".venv\\Scripts\\python.exe"), folder=PROJECT),
    Scene(f"{LATE}poetry-run-in-a-batch-file", "ctranslate2", OF_PYTHON, ct2s(envs(POETRY, "numpy-1.26"), pyproject("poetry"), project("run.bat", '@echo off\r\ncd /d "%~dp0"\r\npoetry run python -B train.py\r\n')), names="run.bat", runs=script(python=POETRY / "Scripts\\python.exe"), folder=PROJECT),
    Scene(f"{FIELD}sh-sources-the-linux-folder", "ctranslate2", OF_PYTHON, ct2s(machines_python, activation, project("train.sh", f"#!/bin/bash\nsource {HOME.as_posix()}/ml/bin/activate\npython -B train.py\n".replace("C:", "/c"))), names="train.sh", runs=machines(), folder=PROJECT),
    # the launcher
    Scene(f"{FIELD}py-python-is-another-one", "ctranslate2", OF_PYTHON, ct2s(users(PY_PYTHON="3.9"), project("run.bat", "@py -B train.py\r\n")), names="PY_PYTHON", runs=lambda _s: ["cmd.exe", "/c", "exit 103"], folder=PROJECT),
    # https://github.com/pyinstaller/pyinstaller/issues/7339: no console, no sys.stdout
    Scene(f"{FIELD}pythonw-has-no-stdout", "numpy", (ENVIRONMENT, NOT_INHERITED, VALUE), numpys(UVICORN, pythonw, uses("import uvicorn", "", "uvicorn.run('app')"), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\n{ML.with_name("pythonw.exe")} -B train.py\r\n')), names="pythonw", runs=without_console, folder=PROJECT),
    # web interfaces
    # https://github.com/vladmandic/sdnext/issues/370
    Scene(f"{FIELD}webui-python-is-a-folder", "ctranslate2", (*OF_PYTHON, VALUE), ct2s(*webui_user(f"set PYTHON={WHOLE}", "set VENV_DIR=-", "set COMMANDLINE_ARGS="), machines_python), names="PYTHON", runs=lambda _s: ["cmd.exe", "/c", str(PROJECT / "webui-user.bat")], folder=PROJECT),
    Scene(f"{FIELD}commandline-args-misspelt", "ctranslate2", (VALUE, ENVIRONMENT, NOT_INHERITED, REQUIREMENT), ct2s(activation, project("train.py", MY_OPTIONS), run_bat("set COMMANDLINE_ARGS=--medvram --xformer --listen --prot 7861", IN_ML)), names="--prot", runs=batch(), folder=PROJECT),
    Scene(f"{LATE}option-that-main-py-lacks", "ctranslate2", (VALUE, ENVIRONMENT, NOT_INHERITED, REQUIREMENT), ct2s(project("train.py", f"{OPTIONS}args = parser.parse_args()\n{BLAS}\n"), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\n{start_of(ML)} --listen --cuda-malloc\r\n')), names="--cuda-malloc", runs=batch(), folder=PROJECT),
    # editors
    Scene(f"{FIELD}terminal-env-of-vscode", "ctranslate2", OF_START, ct2s(vscode(**{"terminal.integrated.env.windows": {"PATH": "C:\\windows\\system32;C:\\windows"}})), names="settings.json", runs=with_variables(BLAS, PATH="C:\\windows\\system32;C:\\windows"), folder=PROJECT),
    Scene(f"{LATE}launch-json-without-env-file", "ctranslate2", (*OF_START, ENVIRONMENT), ct2s(short_path, launch_json(python=str(ML), envFile="${workspaceFolder}\\.env.local"), project(".env", f"PATH={BIN};C:\\windows\\system32\n")), names=".env.local", runs=script(), folder=PROJECT),
    # E: folders on a drive that is gone
    Scene(f"{FIELD}cache-of-whisper-on-a-gone-drive", "numpy", (VALUE,), numpys(WHISPER, users(XDG_CACHE_HOME=f"{GONE_DRIVE}\\cache"), uses("import whisper", "", "model = whisper.load_model('small')")), names="XDG_CACHE_HOME", runs=script(), folder=PROJECT),
    Scene(f"{FIELD}u2net-home-on-a-gone-drive", "numpy", (VALUE,), numpys(REMBG, users(U2NET_HOME=f"{GONE_DRIVE}\\u2net"), uses("from rembg import new_session", "", "session = new_session('u2net')")), names="U2NET_HOME", runs=script(), folder=PROJECT),
    Scene(f"{LATE}gradio-temp-on-a-gone-drive", "numpy", (VALUE,), numpys(GRADIO, users(GRADIO_TEMP_DIR=f"{GONE_DRIVE}\\tmp"), uses("import gradio as gr", "", "demo = gr.Blocks()", "demo.launch()")), names="GRADIO_TEMP_DIR", runs=script(), folder=PROJECT),
    # E: values
    Scene(f"{FIELD}blank-behind-the-endpoint", "numpy", (VALUE,), numpys(HUB, FETCHES, project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\nset HF_ENDPOINT=https://hf-mirror.com && {start_of(ML)}\r\n')), names="HF_ENDPOINT", runs=batch(), folder=PROJECT),
    Scene(f"{FIELD}blank-behind-utf8", "numpy", (VALUE, ENVIRONMENT), numpys(uses(), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\nset PYTHONUTF8=1 && {start_of(ML)}\r\n')), names="PYTHONUTF8", runs=batch(), folder=PROJECT),
    Scene(f"{LATE}blank-behind-keras-backend", "numpy", (VALUE,), numpys(KERAS, uses("import keras"), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\nset KERAS_BACKEND=numpy && {start_of(ML)}\r\n')), names="KERAS_BACKEND", runs=batch(), folder=PROJECT),
    Scene(f"{FIELD}mplbackend-of-pycharm", "numpy", (VALUE, REQUIREMENT), numpys(MATPLOTLIB, users(MPLBACKEND="module://backend_interagg"), uses("import matplotlib.pyplot as plt", "", "plt.figure()")), names="MPLBACKEND", runs=script(), folder=PROJECT),
    Scene(f"{LATE}threads-in-quotation-marks", "numpy", (VALUE,), numpys(NUMEXPR, uses("import numexpr"), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\nset OMP_NUM_THREADS="4"\r\n{start_of(ML)}\r\n')), names="OMP_NUM_THREADS", runs=batch(), folder=PROJECT),
    Scene(f"{FIELD}socks-proxy-of-windows", "numpy", (VALUE, REQUIREMENT), numpys(REQUESTS, registry_proxy("socks=127.0.0.1:10808"), uses("import requests", "", "requests.get('https://example.org')")), names="ProxyServer", runs=script(), folder=PROJECT),
    Scene(f"{FIELD}git-is-not-on-path", "numpy", ("system_library_missing", VALUE, REQUIREMENT, ENVIRONMENT), numpys(GIT, uses("import git")), names="git", runs=script(), folder=PROJECT),
    Scene(f"{LATE}qt-api-of-another-binding", "numpy", (VALUE,), numpys(QTPY, users(QT_API="pyqt"), uses("import qtpy")), names="QT_API", runs=script(), folder=PROJECT),
    Scene(f"{FIELD}output-in-ascii", "numpy", (VALUE, ENVIRONMENT), numpys(uses("print('Modell geladen ✓')"), users(PYTHONIOENCODING="ascii")), names="PYTHONIOENCODING", runs=script(), folder=PROJECT),
    Scene(f"{LATE}setx-cut-path", "ctranslate2", (NOT_SEARCHED, VALUE, NOT_INHERITED), ct2s(short_path, lambda m, _s: m.path(str(BIN)[:-6], scope="user")), names="cublas64_12.dll", runs=script(), folder=PROJECT),
    # https://github.com/foxbook/atap/issues/102, https://github.com/AllenDowney/ElementsOfDataScience/issues/6: 'charmap' codec can't decode byte 0x9d
    Scene(f"{FIELD}file-in-utf-8-without-an-encoding", "numpy", (VALUE, ENVIRONMENT, NOT_INHERITED), numpys(users(PYTHONUTF8="0"), project("prompts.txt", QUOTED), uses("prompts = open('prompts.txt').read().splitlines()")), names="prompts.txt", runs=script(), folder=PROJECT),
    Scene(f"{ODD}files-with-an-encoding", "numpy", (), numpys(users(PYTHONUTF8="0"), project("prompts.txt", QUOTED), project("german.txt", "Zoë\n"), uses("prompts = open('prompts.txt', encoding='utf-8').read().splitlines()", "names = open('german.txt').read()", "raw = open('prompts.txt', 'rb').read()")), runs=script(), folder=PROJECT),
    # E: variables that are not there
    Scene(f"{FIELD}package-asks-for-home", "numpy", (VALUE, ENVIRONMENT, NOT_INHERITED), numpys(VOICES, uses("import voices")), names="HOME", runs=script(), folder=PROJECT),
    Scene(f"{FIELD}program-asks-for-a-rank", "numpy", (VALUE, ENVIRONMENT, NOT_INHERITED), numpys(uses("import os", "", "rank = int(os.environ['LOCAL_RANK'])"), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\n{start_of(ML)}\r\n')), names="LOCAL_RANK", runs=batch(), folder=PROJECT),
    # https://github.com/gradio-app/gradio/issues/4046, https://github.com/lllyasviel/Omost/issues/53
    Scene(f"{FIELD}gradio-asks-the-proxy-for-localhost", "numpy", (VALUE,), numpys(HTTPX, GRADIO_AND_PROXY, users(HTTP_PROXY="http://127.0.0.1:7890", HTTPS_PROXY="http://127.0.0.1:7890"), uses("import gradio as gr", "", "demo = gr.Blocks()", "demo.launch()")), names="HTTP_PROXY", runs=script(), folder=PROJECT),
    Scene(f"{FIELD}llama-library-of-another-place", "numpy", (VALUE,), numpys(LLAMA_CPP, users(LLAMA_CPP_LIB_PATH="C:\\llama.cpp\\build\\bin"), uses("import llama_cpp")), names="LLAMA_CPP_LIB_PATH", runs=script(), folder=PROJECT),
    Scene(f"{LATE}torch-home-on-a-gone-drive", "torch", (VALUE,), torch_of_pip(users(TORCH_HOME="K:\\ai\\torch"), project("train.py", "import torch\n\ntorch.hub.load_state_dict_from_url('https://download.pytorch.org/models/resnet18-f37072fd.pth')\n")), names="TORCH_HOME", runs=script(), folder=PROJECT),
    Scene(f"{LATE}package-asks-for-the-user", "numpy", (VALUE, ENVIRONMENT, NOT_INHERITED), numpys(package("runs", "0.3.0", "numpy", init="import os\n\nfolder = '/tmp/' + os.environ['USER']\n"), uses("import runs")), names="USER", runs=script(), folder=PROJECT),
    # healthy
    Scene(f"{ODD}subprocess-by-sys-executable", "ctranslate2", (), ct2s(machines_python, WORKER, project("train.py", CALLS.format(call="sys.exit(subprocess.run([sys.executable, '-B', 'worker.py'], env=dict(os.environ, OMP_NUM_THREADS='4')).returncode)").replace("import subprocess", "import os\nimport subprocess"))), runs=script(), folder=PROJECT),
    Scene(f"{ODD}home-that-is-set-or-not-asked", "numpy", (), numpys(VOICES, uses("import os", "", "home = os.environ.get('HOME') or os.path.expanduser('~')"), project("record.py", "import os\n\nos.environ.setdefault('HOME', os.path.expanduser('~'))\nimport voices\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}caches-on-a-drive-that-is-there", "numpy", (), numpys(REMBG, WHISPER, users(U2NET_HOME=f"{HOME}\\u2net", XDG_CACHE_HOME=f"{HOME}\\cache", JAVA_HOME="K:\\java"), uses("import whisper", "from rembg import new_session", "", "session = new_session('u2net')", "model = whisper.load_model('small')")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}uv-run-that-installs", "ctranslate2", (), ct2s(envs(PROJECT / ".venv", "numpy-1.26"), project("pyproject.toml", '[project]\nname = "app"\nversion = "1"\ndependencies = ["ctranslate2"]\n'), project("run.bat", '@echo off\r\ncd /d "%~dp0"\r\nuv run train.py\r\n')), runs=script(), folder=PROJECT),
    Scene(f"{ODD}npm-scripts-of-a-page", "ctranslate2", (), ct2s(machines_python, project("package.json", dumped({"name": "app", "version": "1.0.0", "scripts": {"build": "vite build", "start": "python -B train.py", "lint": "eslint ."}})), project("server.js", "const { spawn } = require('child_process');\nspawn('npm', ['run', 'build'], { env: { ...process.env, NODE_ENV: 'production' } });\n")), runs=script(), folder=PROJECT),
)  # fmt: skip
