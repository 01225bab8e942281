r"""What people on Windows do each day with the starts of programs (D) and with variables and files of settings (E), from public threads. Each third
scene was kept back until the rules were done (``LATE``). python-dotenv, python-decouple, PyYAML and Pydantic are the real ones.

Wine has neither PowerShell, ``py`` nor Claude's desktop program: there the oracle starts by itself what the lines come to.
"""

from __future__ import annotations

import sys
import winreg
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.common import as_py, conda_with_base, machines, machines_python, ps1
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
    REQUIREMENT,
    VALUE,
    WHOLE,
    WRONG_ONE,
    another_environment,
    batch,
    dumped,
    other_python,
    project,
    script,
    text,
    with_variables,
)
from tests.windows.worldlab.held_out_3 import NSSM, OTHER_ONE, SERVICES, ct2s, numpys, within
from tests.windows.worldlab.held_out_4 import CONDA, by_double_click
from tests.windows.worldlab.held_out_8 import activation
from tests.windows.worldlab.held_out_9 import KERNELS, kernel, notebook
from tests.windows.worldlab.held_out_11 import installed, users
from tests.windows.worldlab.held_out_13 import IN_ML, run_bat
from tests.windows.worldlab.scenes import BROKEN, Plant, Scene, pip, spoilt

assert sys.platform == "win32"

DAILY, LATE, ODD = "daily-", "daily-late-", "daily-healthy-"
OF_PYTHON = (WRONG_ONE, REQUIREMENT, ENVIRONMENT, NOT_INHERITED)
OF_START = (NOT_INHERITED, VALUE, ENVIRONMENT, WRONG_ONE)
OF_FILE = (VALUE, ENVIRONMENT, NOT_INHERITED, BROKEN)
STARTUP = Path(APPDATA) / "Microsoft\\Windows\\Start Menu\\Programs\\Startup"
CLAUDE = Path(APPDATA) / "Claude\\claude_desktop_config.json"
BASE = CONDA.parents[1]
ASKS_MODEL = "import os\n\nimport numpy\n\nmodel = os.environ['WHISPER_MODEL']\nprint(model, numpy.ones(3))\n"
FAILS = ["cmd.exe", "/c", "exit 1"]


def started_by(python: Path) -> Callable[[Path], list[str]]:
    """Return the start of the project's script by this Python."""
    return lambda _s: [str(python), "-B", str(PROJECT / "train.py")]


def wheels(*names: str) -> Plant:
    """Install real wheels in the environment."""
    return lambda m, site: pip(m, site, *names)


def spec(argv0: str) -> Plant:
    """Register a kernel whose program is named in this way."""

    def plant(m: Machine, made: Path) -> None:
        kernel("ml", ML)(m, made)
        file = KERNELS / "ml\\kernel.json"
        words = [argv0, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        m.write(file, dumped({"argv": words, "display_name": "Python (ml)", "language": "python"}))

    return plant


def nssm_without_a_folder(m: Machine, _made: Path) -> None:
    """Install a service with NSSM and leave the folder as NSSM sets it: that of the program."""
    m.key(winreg.HKEY_LOCAL_MACHINE, rf"{SERVICES}\Captions", ImagePath=NSSM)
    m.key(winreg.HKEY_LOCAL_MACHINE, rf"{SERVICES}\Captions\Parameters", Application=str(ML), AppParameters="-B train.py", AppDirectory=str(ML.parent))  # fmt: skip


def servers(file: Path, key: str, command: str, *words: str) -> Plant:
    """Describe a server that an assistant starts."""
    return text(file, dumped({key: {"captions": {"command": command, "args": list(words)}}}))


def ini(content: str) -> Plant:
    """Write the program's own settings."""
    return project("settings.ini", content)


PYTEST = installed(
    "pytest", "8.3.4", {"pytest\\__init__.py": "", "_pytest\\__init__.py": ""},
)  # fmt: skip
HUB_CACHE = installed(
    "huggingface_hub", "0.26.5",
    {
        "huggingface_hub\\__init__.py": "from .file_download import snapshot_download\n",
        "huggingface_hub\\constants.py": "import os\n\nHF_HOME = os.path.expandvars(os.path.expanduser(os.getenv('HF_HOME', '~/.cache/huggingface')))\n"
        "HF_HUB_CACHE = os.path.expandvars(os.getenv('HF_HUB_CACHE', os.path.join(HF_HOME, 'hub')))\n",
        "huggingface_hub\\file_download.py": "import os\n\nfrom . import constants\n\n\ndef snapshot_download(name):\n    os.makedirs(constants.HF_HUB_CACHE, exist_ok=True)\n    return name\n",
    },
)  # fmt: skip
SETTINGS_OF_TABPFN = installed(
    "tabpfn", "2.1.2",
    {
        "tabpfn\\__init__.py": "from tabpfn.settings import settings\n",
        "tabpfn\\settings.py": "from __future__ import annotations\n\nfrom pathlib import Path\n\nfrom pydantic import Field\nfrom pydantic_settings import BaseSettings, SettingsConfigDict\n\n\n"
        "class TabPFNSettings(BaseSettings):\n    model_config = SettingsConfigDict(env_prefix='TABPFN_', env_file='.env')\n\n    model_cache_dir: Path | None = Field(default=None)\n    allow_cpu_large_dataset: bool = Field(default=False)\n\n\n"
        "settings = TabPFNSettings()\n",
    },
    "numpy", "pydantic-settings>=2.0",
)  # fmt: skip
"""What settings.py of 2.1.1 does."""
OF_PYDANTIC = wheels("pydantic", "pydantic_core", "pydantic_settings", "annotated_types", "typing_extensions", "dotenv")
READS_ENV = "import os\n\nfrom dotenv import load_dotenv\n\nload_dotenv()\n"
FETCHES = project("train.py", f"{READS_ENV}\nfrom huggingface_hub import snapshot_download\n\nsnapshot_download('Systran/faster-whisper-small')\n{NUMPY}\n")  # fmt: skip
ASKS = project(
    "train.py", f"{READS_ENV}\nimport numpy\n\nmodel = os.environ['WHISPER_MODEL']\nprint(model, numpy.ones(3))\n"
)
READS_JSON = project("train.py", "import json\n\nimport numpy\n\nwith open('config.json', encoding='utf-8') as f:\n    config = json.load(f)\nprint(config['model'], numpy.ones(3))\n")  # fmt: skip
READS_TOML = project("train.py", "import tomllib\nfrom pathlib import Path\n\nimport numpy\n\nconfig = tomllib.loads(Path('settings.toml').read_text(encoding='utf-8'))\nprint(config['model'], numpy.ones(3))\n")  # fmt: skip
READS_YAML = project("train.py", "import numpy\nimport yaml\n\nwith open('config.yaml', encoding='utf-8') as f:\n    config = yaml.safe_load(f)\nprint(config['model'], numpy.ones(3))\n")  # fmt: skip
READS_INI = project("train.py", "import configparser\n\nimport numpy\n\nconfig = configparser.ConfigParser()\nconfig.read('settings.ini', encoding='utf-8')\nprint(config['paths']['cache'], numpy.ones(3))\n")  # fmt: skip
WORKER = project("worker.py", f"{BLAS}\n".replace("; ", "\n"))
IN_A_BLOCK = (
    '@echo off\r\n{first}cd /d "%~dp0"\r\nif exist ..\\ml (\r\n  set VENV=..\\ml\r\n  {python} -B train.py\r\n)\r\n'
)
HOOKED = (
    f'(& "{BASE}\\Scripts\\conda.exe" "shell.powershell" "hook") | Out-String | Where-Object {{$_}} | Invoke-Expression'
)


def by_os(python: str) -> Plant:
    """Write a program that starts another one by the shell."""
    return project("train.py", f"import os\nimport sys\n\nsys.exit(os.system('{python} -B worker.py'))\n")


DAILIES: tuple[Scene, ...] = (
    # D: PowerShell
    # https://github.com/modelscope/ms-swift/issues/256, https://github.com/NWPUZhoufei/LDP-Net/issues/3
    Scene(f"{DAILY}ps1-variable-before-the-command", "ctranslate2", OF_START, ct2s(ps1("Set-Location $PSScriptRoot", f"CUDA_VISIBLE_DEVICES=0 {ML} -B train.py")), names="run.ps1", runs=lambda _s: FAILS, folder=PROJECT),
    Scene(f"{DAILY}ps1-with-two-ampersands", "ctranslate2", OF_START, ct2s(ps1(f"Set-Location $PSScriptRoot && {ML} -B train.py"), run_bat("powershell -ExecutionPolicy Bypass -File run.ps1")), names="run.ps1", runs=lambda _s: FAILS, folder=PROJECT),
    Scene(f"{LATE}ps1-variable-of-its-own", "numpy", OF_START, numpys(project("train.py", ASKS_MODEL), ps1("$WHISPER_MODEL = 'small'", f"& {ML} -B train.py")), names="WHISPER_MODEL", runs=script(), folder=PROJECT),
    Scene(f"{DAILY}ps1-conda-without-its-hook", "ctranslate2", OF_PYTHON, spoilt(conda_with_base, project("train.py", f"{BLAS}\n"), ps1("conda activate ml", "python -B train.py")), names="run.ps1", runs=started_by(BASE / "python.exe"), folder=PROJECT),
    Scene(f"{ODD}ps1-conda-with-its-hook", "ctranslate2", (), spoilt(conda_with_base, project("train.py", f"{BLAS}\n"), ps1(HOOKED, "conda activate ml", "python -B train.py")), runs=lambda _s: ["cmd.exe", "/c", f"call {BASE}\\Scripts\\activate.bat ml && python -B {PROJECT}\\train.py"], folder=PROJECT),
    # kernels: https://github.com/jupyter/notebook/issues/4171
    Scene(f"{DAILY}kernel-with-the-path-of-linux", "ctranslate2", OF_PYTHON, ct2s(spec(f"{HOME.as_posix()}/ml/bin/python"), notebook("transcribe.ipynb", "ml", BLAS)), names="kernels", runs=lambda _s: ["C:/lab/ml/bin/python", "-c", "pass"], folder=PROJECT),
    Scene(f"{ODD}kernel-without-an-ending", "ctranslate2", (), ct2s(spec(f"{HOME.as_posix()}/ml/Scripts/python"), notebook("transcribe.ipynb", "ml", BLAS)), runs=script(), folder=PROJECT),
    # the launcher: https://github.com/pypa/virtualenv/issues/1335
    Scene(f"{LATE}py-and-the-first-line-python3", "ctranslate2", OF_PYTHON, ct2s(machines_python, as_py, activation, project("train.py", f"#!python3\n{BLAS}\n"), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\n{IN_ML}\r\npy -B train.py\r\n')), names="Python311", runs=machines(), folder=PROJECT),
    Scene(f"{ODD}py-and-the-first-line-env-python", "ctranslate2", (), ct2s(machines_python, as_py, activation, project("train.py", f"#!/usr/bin/env python\n{BLAS}\n"), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\n{IN_ML}\r\npy -B train.py\r\n')), runs=script(), folder=PROJECT),
    # batch files: https://github.com/SillyTavern/SillyTavern-Launcher/issues/34
    Scene(f"{DAILY}value-in-the-same-block", "ctranslate2", OF_START, ct2s(project("run.bat", IN_A_BLOCK.format(first="", python="%VENV%\\Scripts\\python.exe"))), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{ODD}value-in-the-same-block-delayed", "ctranslate2", (), ct2s(project("run.bat", IN_A_BLOCK.format(first="setlocal enabledelayedexpansion\r\n", python="!VENV!\\Scripts\\python.exe"))), runs=batch(), folder=PROJECT),
    Scene(f"{LATE}start-takes-the-python-for-a-title", "ctranslate2", OF_START, ct2s(another_environment, by_double_click(OTHER_ONE), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\nstart "{ML}" train.py\r\n')), names="run.bat", runs=script(python=OTHER_ONE), folder=PROJECT),
    Scene(f"{ODD}start-with-a-title", "ctranslate2", (), ct2s(project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\nstart "captions" /wait "{ML}" -B train.py\r\n')), runs=batch(), folder=PROJECT),
    Scene(f"{DAILY}script-named-alone", "ctranslate2", OF_PYTHON, ct2s(another_environment, by_double_click(OTHER_ONE), activation, project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\n{IN_ML}\r\ntrain.py --epochs 3\r\n')), names="tools", runs=script(python=OTHER_ONE), folder=PROJECT),
    # from the inside
    Scene(f"{DAILY}os-system-python", "ctranslate2", OF_PYTHON, ct2s(machines_python, WORKER, by_os("python"), project("run.bat", f'@echo off\r\ncd /d "%~dp0"\r\n{ML} -B train.py\r\n')), names="train.py", runs=batch(), folder=PROJECT),
    # editors and assistants
    Scene(f"{LATE}debugger-of-another-python", "ctranslate2", OF_PYTHON, ct2s(machines_python, project(".vscode\\launch.json", dumped({"version": "0.2.0", "configurations": [{"name": "train", "type": "debugpy", "request": "launch", "program": "${workspaceFolder}/train.py", "python": str(WHOLE / "python.exe"), "console": "integratedTerminal"}]}))), names="launch.json", runs=machines(), folder=PROJECT),
    Scene(f"{DAILY}server-of-an-assistant", "ctranslate2", OF_PYTHON, ct2s(machines_python, servers(CLAUDE, "mcpServers", "python", str(PROJECT / "train.py"))), names="claude_desktop_config.json", runs=machines(), folder=PROJECT),
    Scene(f"{DAILY}server-of-the-editor", "ctranslate2", OF_PYTHON, ct2s(another_environment, servers(PROJECT / ".vscode\\mcp.json", "servers", "${workspaceFolder}/../tools/Scripts/python.exe", "train.py")), names="mcp.json", runs=script(python=OTHER_ONE), folder=PROJECT),
    Scene(f"{ODD}server-of-an-assistant", "ctranslate2", (), ct2s(machines_python, servers(CLAUDE, "mcpServers", str(ML), str(PROJECT / "train.py")), text(CLAUDE.with_name("other.json"), dumped({"command": "python", "args": ["-m", "http.server"]}))), runs=script(), folder=PROJECT),
    Scene(f"{LATE}pm2-of-a-bare-python", "ctranslate2", OF_PYTHON, ct2s(machines_python, project("ecosystem.config.js", "module.exports = {\n  apps: [{ name: 'captions', script: 'train.py', interpreter: 'python', cwd: __dirname }],\n};\n")), names="ecosystem.config.js", runs=machines(), folder=PROJECT),
    # services and what begins with the session
    Scene(f"{DAILY}nssm-in-the-folder-of-python", "ctranslate2", OF_START, ct2s(nssm_without_a_folder), names="Captions", runs=within(ML.parent, str(ML), "-B", "train.py"), folder=PROJECT),
    Scene(f"{DAILY}winsw-of-another-environment", "ctranslate2", OF_PYTHON, ct2s(another_environment, project("captions.xml", f"<service>\n  <id>captions</id>\n  <executable>{OTHER_ONE}</executable>\n  <arguments>-B train.py</arguments>\n  <workingdirectory>%BASE%</workingdirectory>\n</service>\n"), project("captions.exe", "MZ")), names="captions.xml", runs=script(python=OTHER_ONE), folder=PROJECT),
    Scene(f"{LATE}batch-file-in-the-startup-folder", "ctranslate2", OF_PYTHON, ct2s(machines_python, text(STARTUP / "captions.bat", f"@echo off\r\ncd /d {PROJECT}\r\npython -B train.py\r\n")), names="captions.bat", runs=machines(), folder=HOME),
    # pytest's own settings
    Scene(f"{DAILY}pytest-ini-of-old-packages", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE), numpys(other_python, PYTEST, project("pytest.ini", "[pytest]\npythonpath = ../old/Lib/site-packages\n"), project("tests\\test_train.py", f"{NUMPY}\n".replace("; ", "\n"))), names=str(HOME / "old"), runs=with_variables(NUMPY, PYTHONPATH=str(OLD_SITE)), folder=PROJECT),
    # E: files of variables
    Scene(f"{DAILY}env-file-with-escapes", "numpy", OF_FILE, numpys(wheels("dotenv"), HUB_CACHE, FETCHES, project(".env", f'HF_HOME="{HOME}\\new\\hf"\n')), names=".env", runs=script(), folder=PROJECT),
    Scene(f"{ODD}env-file-with-single-quotes", "numpy", (), numpys(wheels("dotenv"), HUB_CACHE, FETCHES, project(".env", f"HF_HOME='{HOME}\\new\\hf'\nOTHER={HOME}\\new\nTHIRD=\"C:\\\\new\"\n")), runs=script(), folder=PROJECT),
    Scene(f"{DAILY}env-file-of-powershell", "numpy", OF_FILE, numpys(wheels("dotenv"), ASKS, text(PROJECT / ".env", "WHISPER_MODEL=small\r\n".encode("utf-16"))), names=".env", runs=script(), folder=PROJECT),
    Scene(f"{LATE}env-file-with-a-byte-order-mark", "numpy", OF_FILE, numpys(wheels("dotenv"), ASKS, text(PROJECT / ".env", "WHISPER_MODEL=small\r\n".encode("utf-8-sig"))), names=".env", runs=script(), folder=PROJECT),
    Scene(f"{ODD}env-file-with-a-byte-order-mark", "numpy", (), numpys(wheels("dotenv"), ASKS, text(PROJECT / ".env", "# my settings\r\nWHISPER_MODEL=small\r\n".encode("utf-8-sig"))), runs=script(), folder=PROJECT),
    Scene(f"{DAILY}decouple-with-a-comment", "numpy", OF_FILE, numpys(wheels("decouple"), project("train.py", "from decouple import config\n\nimport numpy\n\nthreads = config('THREADS', default=4, cast=int)\nprint(threads, numpy.ones(3))\n"), project(".env", "THREADS=4  # of eight\n")), names="THREADS", runs=script(), folder=PROJECT),
    Scene(f"{LATE}decouple-and-a-file-with-an-ending", "numpy", OF_FILE, numpys(wheels("decouple"), project("train.py", "from decouple import config\n\nimport numpy\n\nmodel = config('WHISPER_MODEL')\nprint(model, numpy.ones(3))\n"), project(".env.txt", "WHISPER_MODEL=small\n")), names=".env.txt", runs=script(), folder=PROJECT),
    # https://github.com/PriorLabs/TabPFN/issues/443
    Scene(f"{DAILY}env-file-with-what-settings-forbid", "numpy", OF_FILE, numpys(OF_PYDANTIC, SETTINGS_OF_TABPFN, project("train.py", "import numpy\nimport tabpfn\n"), project(".env", "OPENAI_BASE_URL=http://localhost:1234/v1\n")), names=".env", runs=script(), folder=PROJECT),
    Scene(f"{ODD}env-file-with-what-settings-know", "numpy", (), numpys(OF_PYDANTIC, SETTINGS_OF_TABPFN, project("train.py", "import numpy\nimport tabpfn\n"), project(".env", "TABPFN_ALLOW_CPU_LARGE_DATASET=1\n")), runs=script(), folder=PROJECT),
    # E: the program's own settings
    Scene(f"{DAILY}json-with-backslashes", "numpy", OF_FILE, numpys(READS_JSON, project("config.json", '{\n  "model": "C:\\lab\\models\\small",\n  "device": "cuda"\n}\n')), names="config.json", runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    Scene(f"{LATE}toml-with-backslashes", "numpy", OF_FILE, numpys(READS_TOML, project("settings.toml", 'device = "cuda"\nmodel = "C:\\lab\\models\\small"\n')), names="settings.toml", runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    Scene(f"{DAILY}yaml-with-backslashes", "numpy", OF_FILE, numpys(wheels("pyyaml"), READS_YAML, project("config.yaml", 'device: cuda\nmodel: "C:\\lab\\models\\small"\n')), names="config.yaml", runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    Scene(f"{LATE}ini-with-a-percent-sign", "numpy", OF_FILE, numpys(READS_INI, ini("[paths]\ncache = %USERPROFILE%\\.cache\\hf\n")), names="settings.ini", runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    Scene(f"{ODD}settings-with-other-backslashes", "numpy", (), numpys(wheels("pyyaml"), READS_YAML, project("config.yaml", "device: cuda\nmodel: C:\\lab\\models\\small\nvoice: 'C:\\lab\\voice'\n"), project("settings.toml", "model = 'C:\\lab\\models\\small'\n"), project("other.json", "{ // mine\n}\n"), ini("[paths]\ncache = %%USERPROFILE%%\\hf\n"), project("read.py", "import configparser\nimport tomllib\nfrom pathlib import Path\n\nimport numpy\n\nmine = tomllib.loads(Path('settings.toml').read_text())\nothers = configparser.ConfigParser()\nothers.read('settings.ini')\nprint(others['paths']['cache'], numpy.ones(3))\n")), runs=within(PROJECT, str(ML), "-B", "train.py"), folder=PROJECT),
    # E: variables
    Scene(f"{DAILY}comspec-names-a-folder", "numpy", OF_FILE, numpys(project("train.py", "import subprocess\n\nimport numpy\n\nprint(subprocess.check_output('ver', shell=True), numpy.ones(3))\n"), users(ComSpec="C:\\windows\\system32")), names="ComSpec", runs=script(), folder=PROJECT),
    Scene(f"{DAILY}safe-path-for-good", "numpy", OF_FILE, numpys(project("train.py", "import helper\nimport numpy\n\nprint(helper.faces, numpy.ones(3))\n"), project("helper.py", "faces = 3\n"), users(PYTHONSAFEPATH="1")), names="PYTHONSAFEPATH", runs=script(), folder=PROJECT),
)  # fmt: skip
