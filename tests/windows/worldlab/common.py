r"""Scenes of what most people do: scripts of PowerShell, tasks of VS Code and PyCharm, the ``py`` launcher, conda in batch files, variables of
Hugging Face and Keras, a pointer in a model's place. In-sample: written together with the code that reads them.

Wine has neither PowerShell nor ``py``: there the oracle starts by itself what the lines say.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.held_out_2 import (
    APPDATA,
    BLAS,
    ENVIRONMENT,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    OLD_SITE,
    OTHER_PYTHON,
    PROJECT,
    PROVIDERS,
    REQUIREMENT,
    SYSTEM_PATH,
    TORCHS,
    TWICE,
    VALUE,
    WHOLE,
    WRONG_ONE,
    another_environment,
    batch,
    does,
    dumped,
    other_python,
    project,
    real,
    script,
    short_path,
    task,
    text,
    then,
    whole,
    whole_python,
    with_variables,
)
from tests.windows.worldlab.held_out_3 import DESKTOP, OTHER_ONE, by_nssm, ct2s, link, numpys
from tests.windows.worldlab.held_out_4 import CONDA, conda
from tests.windows.worldlab.held_out_6 import PORTABLE, registered
from tests.windows.worldlab.held_out_8 import (
    LLAMA,
    NO_GPU_BUILD,
    STARTS_PORTABLE,
    activation,
    llama,
    must_leave,
    portable,
)
from tests.windows.worldlab.held_out_9 import notebook
from tests.windows.worldlab.held_out_11 import POINTER, installed, torch_of_pip, users
from tests.windows.worldlab.held_out_12 import HUB, activates
from tests.windows.worldlab.modules import SYSTEMS
from tests.windows.worldlab.scenes import (
    BIN,
    BROKEN,
    FOR_ORT,
    MISSING,
    NOT_SEARCHED,
    ORT,
    OTHER_CUDA,
    Plant,
    Scene,
    spoilt,
    toolkit,
    variable,
)

assert sys.platform == "win32"

DOCUMENTS = Path(APPDATA).parents[1] / "Documents"
PROFILE = DOCUMENTS / "WindowsPowerShell\\Microsoft.PowerShell_profile.ps1"
MODELS = HOME / "models"
LAUNCHER = Path("C:\\Windows\\py.exe")


# --- how it is started ---------------------------------------------------------------------------------------------------


def ps1(*lines: str, name: str = "run.ps1") -> Plant:
    """Write a script of PowerShell's."""
    return project(name, "\r\n".join((*lines, "")))


def machines_python(m: Machine, _made: Path) -> None:
    """Install a Python with other packages for the machine, on PATH."""
    kept = list(m.pythons)
    whole_python(m, WHOLE, "numpy-1.26")
    m.path(WHOLE, WHOLE / "Scripts", scope="user")
    m.pythons[:] = kept


def machines(code: str = BLAS) -> Callable[[Path], list[str]]:
    """Return the start of the project's script in that Python."""
    return lambda _s: [str(WHOLE / "python.exe"), "-B", "train.py"]


def as_py(m: Machine, _made: Path) -> None:
    """Register the machine's Python, as its installer does."""
    registered(WHOLE, "3.11")(m, _made)


def tasks_json(**row: object) -> Plant:
    """Write VS Code's tasks of the project."""
    one = {"label": "train", "type": "process", "args": ["-B", "train.py"], **row}
    return project(".vscode\\tasks.json", dumped({"version": "2.0.0", "tasks": [one]}))


def pycharm(python: Path | str, **env: str) -> Plant:
    """Write PyCharm's run configuration of the project."""
    envs = "".join(f'<env name="{n}" value="{v}" />' for n, v in env.items())
    return project(
        ".idea\\workspace.xml",
        '<?xml version="1.0" encoding="UTF-8"?>\n<project version="4"><component name="RunManager">\n'
        '<configuration name="train" type="PythonConfigurationType" factoryName="Python">\n'
        f'<option name="INTERPRETER_OPTIONS" value="" /><option name="PARENT_ENVS" value="true" /><envs>{envs}</envs>\n'
        f'<option name="SDK_HOME" value="{python}" /><option name="WORKING_DIRECTORY" value="$PROJECT_DIR$" />\n'
        '<option name="IS_MODULE_SDK" value="false" /><option name="SCRIPT_NAME" value="$PROJECT_DIR$/train.py" />\n'
        "</configuration></component></project>\n",
    )


# --- packages ------------------------------------------------------------------------------------------------------------

TRANSFERS = installed(
    "huggingface_hub", "0.26.5",
    {
        "huggingface_hub\\__init__.py": "from .file_download import snapshot_download\n",
        "huggingface_hub\\constants.py": "import os\n\nENV_VARS_TRUE_VALUES = {'1', 'ON', 'YES', 'TRUE'}\n\n\ndef _is_true(value):\n    if value is None:\n"
        "        return False\n    return value.upper() in ENV_VARS_TRUE_VALUES\n\n\n"
        "HF_HUB_ENABLE_HF_TRANSFER = _is_true(os.environ.get('HF_HUB_ENABLE_HF_TRANSFER'))\n"
        "ENDPOINT = os.getenv('HF_ENDPOINT', 'https://huggingface.co').rstrip('/')\n",
        "huggingface_hub\\file_download.py": "import os\nimport urllib.request\n\nfrom . import constants\n\n\ndef http_get(name):\n    hf_transfer = None\n"
        "    if constants.HF_HUB_ENABLE_HF_TRANSFER:\n        try:\n            import hf_transfer\n        except ImportError:\n"
        "            raise ValueError(\"Fast download using 'hf_transfer' is enabled (HF_HUB_ENABLE_HF_TRANSFER=1) but 'hf_transfer' package is not available in your environment. Try `pip install hf_transfer`.\")\n\n\n"
        "def snapshot_download(name):\n    urllib.request.Request(f'{constants.ENDPOINT}/{name}')\n    http_get(name)\n    return name\n",
    },
)  # fmt: skip
"""What file_download.py of 0.26 does before it fetches; ``Request`` refuses an address without a scheme."""
HF_TRANSFER = installed("hf_transfer", "0.1.8", {"hf_transfer\\__init__.py": ""})
KERAS = installed(
    "keras", "3.6.0",
    {
        "keras\\__init__.py": "from keras.src import backend\n",
        "keras\\src\\__init__.py": "",
        "keras\\src\\backend\\__init__.py": "from keras.src.backend.config import backend\n\nif backend() == \"torch\":\n    import torch\nelif backend() == \"numpy\":\n    import numpy\n"
        "elif backend() == \"tensorflow\":\n    import tensorflow\nelif backend() == \"jax\":\n    import jax\nelse:\n    raise ValueError(f'Unable to import backend : {backend()}')\n",
        "keras\\src\\backend\\config.py": "import os\n\n_BACKEND = 'tensorflow'\nif 'KERAS_BACKEND' in os.environ:\n    _backend = os.environ['KERAS_BACKEND']\n    if _backend:\n        _BACKEND = _backend\n\n\ndef backend():\n    return _BACKEND\n",
    },
    "numpy",
)  # fmt: skip
"""What keras/src/backend of 3.6 does."""
PYDANTIC = installed(
    "pydantic", "2.9.2",
    {
        "pydantic\\__init__.py": "from ._migration import getattr_migration\nfrom .errors import PydanticImportError\n\n\nclass BaseModel:\n    pass\n\n\n__getattr__ = getattr_migration(__name__)\n",
        "pydantic\\errors.py": "class PydanticImportError(ImportError):\n    pass\n",
        "pydantic\\_migration.py": "from .errors import PydanticImportError\n\n\ndef getattr_migration(module):\n    def wrapper(name):\n        if name == '__path__':\n            raise AttributeError(name)\n"
        "        if name == 'BaseSettings':\n            raise PydanticImportError('`BaseSettings` has been moved to the `pydantic-settings` package.')\n"
        "        raise AttributeError(f'module {module!r} has no attribute {name!r}')\n\n    return wrapper\n",
    },
)  # fmt: skip
REQUESTS = installed(
    "requests", "2.32.3",
    {
        "requests\\__init__.py": "from .api import get\n",
        "requests\\api.py": "from .sessions import merge\nfrom .adapters import cert_verify\n\n\ndef get(url):\n    return cert_verify(merge())\n",
        "requests\\sessions.py": "import os\n\n\ndef merge():\n    return os.environ.get('REQUESTS_CA_BUNDLE') or os.environ.get('CURL_CA_BUNDLE') or True\n",
        "requests\\adapters.py": "import os\n\n\ndef cert_verify(verify):\n    if verify is not True and not os.path.exists(verify):\n"
        "        raise OSError(f'Could not find a suitable TLS CA certificate bundle, invalid path: {verify}')\n    return verify\n",
    },
)  # fmt: skip
TRITONS = installed(
    "xformers", "0.0.29", {"xformers\\__init__.py": "try:\n    import triton\nexcept ImportError:\n    triton = None\n"}
)
DIRECTML = installed(
    "onnxruntime_directml", "1.20.1",
    {"onnxruntime\\__init__.py": "def get_available_providers():\n    return ['DmlExecutionProvider', 'CPUExecutionProvider']\n"},
    "numpy",
)  # fmt: skip
"""It brings the same module, and the last one that was installed counts."""


FROM_FILES = installed(
    "openai_whisper", "20240930",
    {
        "whisper\\__init__.py": "from .audio import load_audio\n\n\nclass Whisper:\n    def transcribe(self, file):\n        return load_audio(file)\n\n\n"
        "def load_model(name):\n    return Whisper()\n",
        "whisper\\audio.py": "from subprocess import run\n\n\ndef load_audio(file):\n"
        "    return run(['ffmpeg', '-nostdin', '-i', file, '-'], capture_output=True, check=False).stdout\n",
    },
    "numpy",
)  # fmt: skip
"""What whisper/audio.py does."""
TRANSCRIBES_FILE = project(
    "train.py", "import whisper\n\nprint(whisper.load_model('small').transcribe('speech.mp3'))\n"
)


def ffmpeg_beside(m: Machine, _made: Path) -> None:
    """Unpack a program that is called ffmpeg, and put it on PATH."""
    m.place(Path(m.places["consumers"]) / "llama.exe", HOME / "ffmpeg\\bin\\ffmpeg.exe")
    m.path(HOME / "ffmpeg\\bin")


def lfs_model(m: Machine, _made: Path) -> None:
    """Clone a model without Git LFS: its largest file is a pointer."""
    m.write(MODELS / "small\\model.bin", POINTER)
    m.write(MODELS / "small\\config.json", "{}")
    m.write(MODELS / "small\\vocabulary.txt", "a\nb\n")


LOADS_MODEL = project(
    "train.py", f"import ctranslate2\n\nmodel = ctranslate2.models.Whisper(r'{MODELS}\\small', device='cpu')\n"
)


def pythonpath_of(m: Machine, _made: Path) -> None:
    """Keep one's own nodes in a folder that the portable's batch file names in PYTHONPATH."""
    m.write(HOME / "nodes\\mynodes\\__init__.py", "faces = 3\n")
    m.write(PORTABLE / "ComfyUI\\main.py", f"import folder_paths\nimport mynodes\n{BLAS}\n")
    m.write(
        PORTABLE / "run_nvidia_gpu.bat",
        f"set PYTHONPATH={HOME}\\nodes\r\n.\\python_embeded\\python.exe -s ComfyUI\\main.py\r\n",
    )


CALLS_CONDA = '@echo off\r\ncd /d "%~dp0"\r\n{line}\r\npython -B train.py\r\n'


def conda_with_base(m: Machine) -> Path:
    """Install conda with an environment, and put its commands on PATH."""
    site = conda(m)
    base = CONDA.parents[1]
    kept = list(m.pythons)
    whole_python(m, base, "numpy-1.26")
    m.pythons[:] = kept
    m.write(base / "conda-meta\\history", "")
    activates(m, site)
    lines = ("@if \"%1\"==\"activate\" goto :activate", "@exit /b 1", ":activate", f"@if not exist \"{base}\\envs\\%2\\conda-meta\" goto :unknown", f"@call {base}\\Scripts\\activate.bat %2", "@exit /b 0", ":unknown", "@echo EnvironmentNameNotFound: Could not find conda environment: %2", "@exit /b 1", "")  # fmt: skip
    m.write(base / "condabin\\conda.bat", "\r\n".join(lines))
    m.path(base, base / "Scripts", base / "condabin", scope="user")
    return site


SWAPS = project("swap.py", f"{PROVIDERS}\n".replace("; ", "\n"))
SETS_OLD = f"$env:PYTHONPATH = '{OLD_SITE}'"
ONE, ODD = "common-", "common-healthy-"
OF_START = (NOT_INHERITED, NOT_SEARCHED, VALUE)
OF_PYTHON = (WRONG_ONE, REQUIREMENT, ENVIRONMENT)
OLD_ONES = (OTHER_PYTHON, IN_THE_WAY, VALUE)
NO_PATH = with_variables(BLAS, PATH=SYSTEM_PATH)

COMMON: tuple[Scene, ...] = (
    # A: a library, or a package, is absent or unfit
    Scene(f"{ONE}model-is-a-pointer", "ctranslate2", (BROKEN,), ct2s(lfs_model, LOADS_MODEL), names="model.bin", runs=script(), folder=PROJECT),
    Scene(f"{ONE}cpu-build-of-torch", "torch", (NO_GPU_BUILD,), spoilt(real(*TORCHS, "numpy-1.26"), project("train.py", "import torch\n\nassert torch.cuda.is_available()\n")), names="torch", runs=script(), folder=PROJECT),
    Scene(f"{ONE}directml-over-the-gpu-build", ORT, (TWICE, NO_GPU_BUILD), spoilt(real("numpy-1.26", "ort-1.20"), lambda m, _s: toolkit(m, *FOR_ORT), DIRECTML, SWAPS), names="onnxruntime-directml", runs=script("swap.py"), folder=PROJECT),
    Scene(f"{ONE}whisper-without-ffmpeg", "numpy", (SYSTEMS,), numpys(FROM_FILES, TRANSCRIBES_FILE), names="ffmpeg", runs=script(), folder=PROJECT),
    # B: does not fit
    Scene(f"{ONE}llama-and-cuda-13-alone", "llama", (OTHER_CUDA, MISSING), spoilt(llama(), lambda m, _s: [p.unlink() for p in BIN.glob("cu*64_12.dll")], lambda m, _s: toolkit(m, "cublas-13", folder=BIN.parents[1] / "v13.0\\bin\\x64")), names="64_12.dll", runs=does(LLAMA)),
    # C: Python finds another file
    Scene(f"{ONE}script-beside-a-notebook", "ctranslate2", (IN_THE_WAY,), ct2s(project("ctranslate2.py", "print('my notes')\n"), notebook("transcribe.ipynb", "python3", BLAS)), names="ctranslate2.py", runs=does(BLAS), folder=PROJECT),
    Scene(f"{ONE}portable-ignores-pythonpath", "ctranslate2", (*OF_PYTHON, VALUE), spoilt(portable("numpy-1.26", "ctranslate2"), pythonpath_of), names="PYTHONPATH", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    # D: PowerShell
    Scene(f"{ONE}ps1-path-of-its-own", "ctranslate2", OF_START, ct2s(ps1("Set-Location $PSScriptRoot", f"$env:Path = 'C:\\tools;{SYSTEM_PATH}'", f"& {ML} -B train.py")), names="run.ps1", runs=NO_PATH, folder=PROJECT),
    Scene(f"{ONE}ps1-sets-pythonpath", "numpy", OLD_ONES, numpys(other_python, project("train.py", f"{NUMPY}\n"), ps1(SETS_OLD, f"& '{ML}' -B train.py $args")), names=str(HOME / "old"), runs=with_variables(NUMPY, PYTHONPATH=str(OLD_SITE)), folder=PROJECT),
    Scene(f"{ONE}ps1-calls-activate-bat", "ctranslate2", OF_PYTHON, ct2s(machines_python, activation, ps1(f"& {HOME}\\ml\\Scripts\\activate.bat", "python -B train.py")), names="run.ps1", runs=machines(), folder=PROJECT),
    Scene(f"{ONE}ps1-venv-that-is-not-there", "ctranslate2", OF_PYTHON, ct2s(machines_python, ps1(".\\venv\\Scripts\\Activate.ps1", "python -B train.py")), names="run.ps1", runs=machines(), folder=PROJECT),
    Scene(f"{ONE}ps1-set-as-in-a-batch-file", "ctranslate2", OF_START, ct2s(short_path, ps1(f"set PATH={BIN};%PATH%", f"{ML} -B train.py")), names="run.ps1", runs=script(), folder=PROJECT),
    Scene(f"{ONE}ps1-profile-sets-pythonhome", "numpy", (VALUE, ENVIRONMENT), numpys(project("train.py", f"{NUMPY}\n"), ps1(f"& '{ML}' -B train.py"), text(PROFILE, "$env:PYTHONHOME = 'C:\\Python39'\r\n")), names="PYTHONHOME", runs=with_variables(NUMPY, PYTHONHOME="C:\\Python39"), folder=PROJECT),
    Scene(f"{ONE}task-of-a-ps1", "ctranslate2", OF_START, ct2s(ps1(f"$env:PATH = \"{SYSTEM_PATH}\"", f"Set-Location {PROJECT}", f"{ML} -B train.py", name="jobs\\nightly.ps1"), task("Nightly", "powershell.exe", f"-NoProfile -ExecutionPolicy Bypass -File {PROJECT}\\jobs\\nightly.ps1")), names="nightly.ps1", runs=NO_PATH, folder=HOME),
    Scene(f"{ONE}shortcut-of-powershell", "ctranslate2", OF_PYTHON, ct2s(another_environment, link(DESKTOP, "Train", r"C:\windows\System32\WindowsPowerShell\v1.0\powershell.exe", f"-NoExit -Command \"& {OTHER_ONE} -B train.py\"", PROJECT)), names="tools", runs=script(python=OTHER_ONE), folder=HOME),
    Scene(f"{ONE}service-of-a-ps1", "ctranslate2", OF_PYTHON, ct2s(another_environment, ps1("$ErrorActionPreference = 'Stop'", f"& \"{HOME}\\tools\\Scripts\\python.exe\" -B \"$PSScriptRoot\\train.py\""), by_nssm("Transcriber", r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe", f"-ExecutionPolicy Bypass -File \"{PROJECT}\\run.ps1\"")), names="tools", runs=script(python=OTHER_ONE), folder=HOME),
    # D: others
    Scene(f"{ONE}task-of-vscode", "ctranslate2", OF_PYTHON, ct2s(another_environment, tasks_json(command=str(OTHER_ONE))), names="tools", runs=script(python=OTHER_ONE), folder=PROJECT),
    Scene(f"{ONE}task-of-vscode-sets-path", "ctranslate2", OF_START, ct2s(tasks_json(command=str(ML), options={"env": {"PATH": SYSTEM_PATH}})), names="tasks.json", runs=NO_PATH, folder=PROJECT),
    Scene(f"{ONE}pycharm-of-another-environment", "ctranslate2", OF_PYTHON, ct2s(another_environment, pycharm(OTHER_ONE, PYTHONUNBUFFERED="1")), names="tools", runs=script(python=OTHER_ONE), folder=PROJECT),
    Scene(f"{ONE}pycharm-sets-path", "ctranslate2", OF_START, ct2s(pycharm(ML, PYTHONUNBUFFERED="1", PATH=SYSTEM_PATH)), names="workspace.xml", runs=NO_PATH, folder=PROJECT),
    Scene(f"{ONE}py-without-the-environment", "ctranslate2", OF_PYTHON, ct2s(machines_python, as_py, project("run.bat", "@py -B train.py\r\n")), names="Python311", runs=machines(), folder=PROJECT),
    Scene(f"{ONE}conda-activate-without-call", "ctranslate2", (NOT_INHERITED, WRONG_ONE), spoilt(conda_with_base, project("train.py", f"{BLAS}\nopen(r'{PROJECT}\\done.txt', 'w').write('done')\n"), project("run.bat", CALLS_CONDA.format(line="conda activate ml"))), names="run.bat", runs=must_leave("done.txt"), folder=PROJECT),
    Scene(f"{ONE}conda-environment-misspelt", "ctranslate2", OF_PYTHON, spoilt(conda_with_base, project("train.py", f"{BLAS}\n"), project("run.bat", CALLS_CONDA.format(line="call conda activate m1"))), names="run.bat", runs=batch(), folder=PROJECT),
    # E: variables
    Scene(f"{ONE}hf-transfer-without-its-package", "ctranslate2", (VALUE, REQUIREMENT), ct2s(TRANSFERS, users(HF_HUB_ENABLE_HF_TRANSFER="1"), project("train.py", f"from huggingface_hub import snapshot_download\n\nsnapshot_download('Systran/faster-whisper-small')\n{BLAS}\n")), names="hf_transfer", runs=script(), folder=PROJECT),
    Scene(f"{ONE}hf-endpoint-without-a-scheme", "ctranslate2", (VALUE,), ct2s(TRANSFERS, users(HF_ENDPOINT="hf-mirror.com"), project("train.py", f"from huggingface_hub import snapshot_download\n\nsnapshot_download('Systran/faster-whisper-small')\n{BLAS}\n")), names="HF_ENDPOINT", runs=script(), folder=PROJECT),
    Scene(f"{ONE}hf-home-on-a-drive-that-is-gone", "ctranslate2", (VALUE,), ct2s(HUB, users(HF_HOME="K:\\hf"), project("train.py", f"from huggingface_hub import snapshot_download\n\nsnapshot_download('Systran/faster-whisper-small')\n{BLAS}\n")), names="HF_HOME", runs=script(), folder=PROJECT),
    Scene(f"{ONE}keras-backend-misspelt", "torch", (VALUE,), torch_of_pip(KERAS, users(KERAS_BACKEND="pytorch"), project("train.py", "import keras\n")), names="KERAS_BACKEND", runs=script(), folder=PROJECT),
    Scene(f"{ONE}ca-bundle-that-is-gone", "numpy", (VALUE,), numpys(REQUESTS, users(REQUESTS_CA_BUNDLE="C:\\lab\\miniconda3\\ssl\\cacert.pem"), project("train.py", f"import requests\n\nrequests.get('https://example.org')\n{NUMPY}\n")), names="REQUESTS_CA_BUNDLE", runs=script(), folder=PROJECT),
    # healthy
    Scene(f"{ODD}ps1-with-activation", "ctranslate2", (), ct2s(activation, project("..\\ml\\Scripts\\Activate.ps1", f"$env:VIRTUAL_ENV = '{HOME}\\ml'\n$env:PATH = \"$env:VIRTUAL_ENV\\Scripts;$env:PATH\"\n"), ps1("param([string]$Model = 'small')", f". {HOME}\\ml\\Scripts\\Activate.ps1", "$env:PYTHONUNBUFFERED = 1", "if ($env:NOTHING) {", "  $env:PATH = 'C:\\none'", "}", "python -B train.py --model $Model")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}ps1-prepends", "ctranslate2", (), ct2s(short_path, ps1(f"$env:Path = \"{BIN};$env:Path\"", f"& {ML} -B train.py")), runs=with_variables(BLAS, PATH=f"{BIN};{SYSTEM_PATH}"), folder=PROJECT),
    Scene(f"{ODD}profile-of-functions", "ctranslate2", (), ct2s(text(PROFILE, f"function old {{\r\n  $env:PYTHONPATH = '{OLD_SITE}'\r\n}}\r\n$env:EDITOR = 'code'\r\n"), ps1(f"& {ML} -B train.py")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}py-with-the-environment", "ctranslate2", (), ct2s(machines_python, as_py, activation, project("run.bat", f"@echo off\r\ncall {HOME}\\ml\\Scripts\\activate.bat\r\npy -B train.py\r\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}py-of-a-version-that-is-there", "numpy", (), then(whole("numpy-1.26"), as_py, project("train.py", f"#!/usr/bin/env python3\n{NUMPY}\n"), project("run.bat", "@py -3.11 -B train.py\r\n"), project("run_old.bat", "@rem py -3.9 train.py\r\n")), runs=machines(), folder=PROJECT),
    Scene(f"{ODD}models-in-a-folder-of-that-name", "ctranslate2", (), ct2s(project("ctranslate2\\small\\config.json", "{}"), project("whisper\\readme.txt", "models")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}conda-activate-with-call", "ctranslate2", (), spoilt(conda_with_base, project("train.py", f"{BLAS}\n"), project("run.bat", CALLS_CONDA.format(line="call conda activate ml"))), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}hf-transfer-with-its-package", "ctranslate2", (), ct2s(TRANSFERS, HF_TRANSFER, users(HF_HUB_ENABLE_HF_TRANSFER="1", HF_ENDPOINT="https://hf-mirror.com"), project("train.py", f"from huggingface_hub import snapshot_download\n\nsnapshot_download('Systran/faster-whisper-small')\n{BLAS}\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}keras-backend-torch", "torch", (), torch_of_pip(KERAS, users(KERAS_BACKEND="torch"), project("train.py", "import keras\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}imports-of-another-system", "ctranslate2", (), ct2s(TRITONS, project("train.py", f"import os\nimport sys\n\nif sys.platform == 'linux':\n    import triton\nif os.name == 'posix':\n    import resource\ntry:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\nimport xformers\n{BLAS}\n"), project("requirements.txt", "numpy\nctranslate2\ntriton; sys_platform == 'linux'\nuvloop; platform_system != 'Windows'\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}cuda-path-with-slashes", "llama", (), spoilt(llama("cublas-12", "cudart-12"), variable("CUDA_PATH", str(BIN.parent).replace("\\", "/") + "/")), runs=does(LLAMA)),
    Scene(f"{ODD}pycharm-and-vscode", "ctranslate2", (), ct2s(pycharm(ML, PYTHONUNBUFFERED="1", PYTHONPATH="$PROJECT_DIR$/src"), tasks_json(command="${command:python.interpreterPath}", options={"env": {"PYTHONPATH": "${workspaceFolder}\\src"}})), runs=script(), folder=PROJECT),
    Scene(f"{ODD}task-of-a-ps1", "ctranslate2", (), ct2s(ps1(f"Set-Location {PROJECT}", "$env:PATH += \";C:\\tools\"", f"{ML} -B train.py 2>&1 | Tee-Object -FilePath log.txt", name="jobs\\nightly.ps1"), task("Nightly", "powershell.exe", f"-NoProfile -ExecutionPolicy Bypass -File {PROJECT}\\jobs\\nightly.ps1")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}tests-that-need-more", "ctranslate2", (), ct2s(project("tests\\test_train.py", "import pytest\nimport tensorflow\n"), project("docs\\conf.py", "import sphinx_rtd_theme\n"), project("setup.py", "from setuptools import setup\nimport versioneer\n"), project(".ipynb_checkpoints\\a-checkpoint.ipynb", "{}")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}whisper-with-ffmpeg", "numpy", (), numpys(FROM_FILES, TRANSCRIBES_FILE, ffmpeg_beside), runs=script(), folder=PROJECT),
    Scene(f"{ODD}one-drive-documents-and-quotes", "ctranslate2", (), ct2s(project("run.bat", f'@echo off\r\nset "PYTHONPATH="\r\nset HF_HOME={HOME}\\Zoë & Co\r\n"{ML}" -B "%~dp0train.py" %*\r\npause\r\n')), runs=script(), folder=PROJECT),
)  # fmt: skip
