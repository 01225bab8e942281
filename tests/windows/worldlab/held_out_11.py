r"""The eleventh held-out set: fifteen faults and ten odd healthy machines. Committed before its first scan.

Blind: written from public threads and the list of classes by somebody who had read the scenes' format and the earlier sets, nothing of the
product's code and no list of what it finds. Only the oracle had run. Each healthy machine is the innocent twin of a fault beside it.

Threads (github.com, OWNER/NAME/issues/NUMBER): shuimo0413/yosuga-no-sora-remake 43 and deadcast2/UltraEd 65 (a DLL is a pointer of Git LFS),
ultralytics/ultralytics 12993 and pyinstaller/pyinstaller-hooks-contrib 317 (shm.dll does not load, uv.dll is absent),
pyinstaller/pyinstaller 3798 (base_library.zip is gone), ostris/ai-toolkit 262 and pytorch/pytorch 134097 (typing_extensions without TypeIs),
ggml-org/llama.cpp 8443 and dougeeai/llama-cpp-python-wheels 3 (the runtime's archive of another CUDA),
kijai/ComfyUI-HunyuanVideoWrapper 246 and jesenzhang/ComfyUI_StreamDiffusion 21 (cached_download), jhj0517/Whisper-WebUI 133 and
v3ucn/CosyVoice_For_Windows 42 (whisper.py), Comfy-Org/ComfyUI 7251 and 10031 with AIFSH/PyramidFlow-ComfyUI 3 (`utils` is not a
package), python/typing 721 with AUTOMATIC1111/stable-diffusion-webui 6435 and Comfy-Org/ComfyUI 3607 (typing.py of site-packages,
PYTHONPATH and a list of package folders in a batch file), nteract/archived-desktop-app 2054 and microsoft/vscode-jupyter 15007 (PATH of
a kernel), jellyfin/jellyfin 215 and mhammond/pywin32 1722 (the account of a service), streamlit/streamlit 6601, minitorch/Module-0 20
and carolinedlu/llamaindex-chat-with-streamlit-docs 2 (a command of another environment), ContinuumIO/anaconda-issues 13509 and
Aider-AI/aider 3710 (SSL_CERT_FILE), python/cpython 100587 and CursorTouch/Windows-MCP 88 (PATHEXT), AuReMe/metage2metabo 31 and
ejwa/gitinspector 249 (PYTHONIOENCODING).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import winreg
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.worldlab.held_out import FOR_LLAMA, LLAMA, llama
from tests.windows.worldlab.held_out_2 import (
    BLAS,
    CT2,
    ENVIRONMENT,
    FOR_CT2,
    HALF,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    STARTS_CT2,
    SYSTEM_PATH,
    TORCH,
    TORCHS,
    TWICE,
    USER_SITE,
    VALUE,
    WHOLE,
    WRONG_ONE,
    another_environment,
    batch,
    does,
    dumped,
    in_user_site,
    project,
    script,
    then,
    whole,
    whole_python,
    with_variables,
    without_gpu,
)
from tests.windows.worldlab.held_out_3 import OTHER_ONE, SERVICES, by_nssm, ct2s, numpys
from tests.windows.worldlab.held_out_6 import PORTABLE
from tests.windows.worldlab.held_out_8 import STARTS_PORTABLE, activation, launcher, portable
from tests.windows.worldlab.held_out_9 import KERNELS, kernel, notebook
from tests.windows.worldlab.scenes import (
    BROKEN,
    FOR_ORT,
    INTERNAL,
    MISSING,
    NOT_SEARCHED,
    OTHER_CUDA,
    Plant,
    Scene,
    bundled,
    gone,
    spoilt,
    toolkit,
)

assert sys.platform == "win32"

CLONE = HOME / "src\\dictation"
NODE = PORTABLE / "ComfyUI\\custom_nodes\\ComfyUI-FaceTools"
SITE = HOME / "ml\\Lib\\site-packages"
SYSTEMS_OWN = r"C:\windows\system32\config\systemprofile\AppData\Roaming"
"""APPDATA of the account LocalSystem."""
BUNDLE_OF_CONDA = r"C:\lab\miniconda3\envs\ml/ssl/cacert.pem"
POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:5f0c8a2f6d2b4be1a9f3f2d6d7f0c4b1e8a3d5c6b7a8990f1e2d3c4b5a697887\nsize 515090264\n"
)


# --- packages ------------------------------------------------------------------------------------------------------------


def installed(name: str, version: str, files: Mapping[str, str], *requires: str, site: Path | None = None) -> Plant:
    """Install a package of these files as pip does; ``site``: not the environment's folder, but this one."""

    def plant(m: Machine, made: Path) -> None:
        folder = site or made
        info = f"{name}-{version}.dist-info"
        wishes = "".join(f"Requires-Dist: {r}\n" for r in requires)
        own = {
            f"{info}\\METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n{wishes}",
            f"{info}\\INSTALLER": "pip\n",
        }
        written = [m.write(folder / file, content) for file, content in (*files.items(), *own.items())]
        rows = [f"{p.relative_to(folder).as_posix()},,{p.stat().st_size}\n" for p in written]
        written.append(m.write(folder / info / "RECORD", "".join((*rows, f"{info}/RECORD,,\n"))))
        if site:
            m.system_files.extend(written)

    return plant


def without_type_is(m: Machine, site: Path) -> None:
    """Let another package bring typing_extensions of 2023, which has no TypeIs."""
    for info in site.glob("typing_extensions-*.dist-info"):
        shutil.rmtree(info)
    text = (Path(m.places["typing_extensions"]) / "typing_extensions.py").read_text(encoding="utf-8")
    installed("typing_extensions", "4.9.0", {"typing_extensions.py": text.replace("TypeIs", "_LaterOn")})(m, site)


DOWNLOADS = "def hf_hub_download(*names):\n    return names\n"
OF_2024 = {
    "huggingface_hub\\__init__.py": "from .file_download import hf_hub_download\n",
    "huggingface_hub\\file_download.py": DOWNLOADS,
}
OF_2023 = {
    "huggingface_hub\\__init__.py": "from .file_download import cached_download, hf_hub_download\n",
    "huggingface_hub\\file_download.py": f"{DOWNLOADS}\n\ndef cached_download(*names):\n    return names\n",
}
"""What the functions do plays no part: cached_download was removed in 0.26."""
DIFFUSERS = installed(
    "diffusers", "0.26.3",
    {"diffusers\\__init__.py": "from .utils import fetch\n", "diffusers\\utils.py": "import numpy\n\nfrom huggingface_hub import cached_download as fetch, hf_hub_download\n"},
    "numpy", "huggingface-hub>=0.20.2",
)  # fmt: skip
"""The import is that of diffusers/utils/dynamic_modules_utils.py until 0.27."""


def hub(version: str, files: Mapping[str, str]) -> Plant:
    """Install a release of huggingface_hub."""
    return installed("huggingface_hub", version, files)


WHISPER = installed(
    "openai_whisper", "20240930",
    {"whisper\\__init__.py": "import numpy\n\n\ndef load_model(name):\n    return numpy.zeros(3)\n"},
    "numpy",
)  # fmt: skip
OF_GRAPHITE = {"whisper.py": "import ctypes\nimport ctypes.util\n\nlibc = ctypes.CDLL(ctypes.util.find_library('c'))\n"}
"""The package that is called whisper keeps series of measurements; Windows has no library of that name."""
TYPING = installed("typing", "3.7.4.3", {"typing.py": "import collections\n\nCallable = collections.Callable\n"})
"""A module of Python 3.4's time, which the standard library has had since."""
HTTPX = installed(
    "httpx", "0.28.1",
    {
        "httpx\\__init__.py": "from ._client import Client\n",
        "httpx\\_client.py": "import os\nimport ssl\n\n\nclass Client:\n    def __init__(self):\n"
        "        self.context = ssl.create_default_context(cafile=os.environ.get('SSL_CERT_FILE') or None)\n",
    },
)  # fmt: skip
"""Each client reads the variable when it is made."""


# --- machines ------------------------------------------------------------------------------------------------------------


def torch_of_pip(*plants: Plant) -> Callable[[Machine], Path]:
    """Return PyTorch for the processor, on a machine without an NVIDIA GPU."""
    return then(without_gpu(*TORCHS, "numpy-1.26"), *plants)


def of_the_person(m: Machine) -> Path:
    """Install CTranslate2 with ``pip install --user``; Python is the machine's."""
    site = whole_python(m, WHOLE, "numpy-1.26")
    toolkit(m, *FOR_CT2)
    in_user_site("ctranslate2")(m, site)
    return site


def comfy_with_a_node(prestartup: str) -> Callable[[Machine], Path]:
    """Return the portable ComfyUI with a node that has a utils.py of its own, as ComfyUI has a package ``utils``."""

    def build(m: Machine) -> Path:
        site = portable("numpy-1.26", "ctranslate2")(m)
        m.write(PORTABLE / "ComfyUI\\main.py", MAIN)
        m.write(PORTABLE / "ComfyUI\\utils\\__init__.py", "")
        m.write(
            PORTABLE / "ComfyUI\\utils\\json_util.py", "def merge_json_recursive(base, update):\n    return update\n"
        )
        m.write(NODE / "__init__.py", "from . import utils\n\nNODE_CLASS_MAPPINGS = {}\n")
        m.write(NODE / "utils.py", "faces = 3\n")
        m.write(NODE / "prestartup_script.py", f"import os\nimport sys\n\n{prestartup}")
        return site

    return build


MAIN = f"""import os
import runpy

import folder_paths

nodes = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'custom_nodes')
for name in sorted(os.listdir(nodes)):
    first = os.path.join(nodes, name, 'prestartup_script.py')
    if os.path.exists(first):
        runpy.run_path(first)

from utils.json_util import merge_json_recursive

{BLAS}
"""
"""What ComfyUI's main.py does: the nodes' own first scripts run before its own modules are imported."""
INSERTS = "sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\nimport utils\n\nprint(utils.faces)\n"
APPENDS = "sys.path.append(os.path.dirname(os.path.abspath(__file__)))\n"


STREAMLIT = "import runpy\nimport sys\n\nimport streamlit\n\nrunpy.run_path(sys.argv[2], run_name='__main__')\n"
"""What ``streamlit run`` comes to: the script runs in the interpreter of the command."""


def streamlit(environment: str) -> Plant:
    """Install Streamlit with its command into an environment."""
    scripts = HOME / environment / "Scripts"

    def plant(m: Machine, made: Path) -> None:
        package = installed("streamlit", "1.39.0", {"streamlit\\__init__.py": ""})
        package(m, HOME / environment / "Lib\\site-packages")
        launcher(scripts / "streamlit.exe", scripts / "python.exe", STREAMLIT)(m, made)

    return plant


# --- plants --------------------------------------------------------------------------------------------------------------


def pointer(folder: Path, *names: str) -> Plant:
    """Clone or download a repository without Git LFS: these files are pointers."""

    def plant(m: Machine, _made: Path) -> None:
        for name in names:
            m.write(folder / name, POINTER)

    return plant


def archive_of_13(m: Machine, _made: Path) -> None:
    """Unpack the runtime's archive for CUDA 13 beside a build for CUDA 12."""
    for file in Path(m.places["cublas-13"]).rglob("*.dll"):
        m.place(file, LLAMA / file.name)


def users(**values: str) -> Plant:
    """Set the person's variables."""

    def plant(m: Machine, _made: Path) -> None:
        for name, value in values.items():
            m.variable(name, value)

    return plant


def kernel_with(name: str, **env: str) -> Plant:
    """Register a kernel of the environment, with variables of its own."""

    def plant(m: Machine, made: Path) -> None:
        kernel(name, ML)(m, made)
        file = KERNELS / name / "kernel.json"
        m.write(file, dumped(json.loads(file.read_text(encoding="utf-8")) | {"env": env}))

    return plant


def service_of(account: str) -> Plant:
    """Install a service with NSSM that this account runs; an empty one is the default, LocalSystem."""

    def plant(m: Machine, made: Path) -> None:
        by_nssm("Dictation", WHOLE / "python.exe", "train.py")(m, made)
        if account:
            m.key(winreg.HKEY_LOCAL_MACHINE, rf"{SERVICES}\Dictation", ObjectName=account)

    return plant


def on_path(*folders: Path | str) -> Plant:
    """Put folders on the person's PATH."""
    return lambda m, _made: m.path(*folders, scope="user")


# --- how it is started ---------------------------------------------------------------------------------------------------


def by_account(appdata: str) -> Callable[[Path], list[str]]:
    """Return the start of the project's script by another account, whose own data lie elsewhere."""
    code = (
        f"import os, subprocess, sys; os.environ['APPDATA'] = {appdata!r}; os.chdir({str(PROJECT)!r}); "
        f"sys.exit(subprocess.run([{str(WHOLE / 'python.exe')!r}, '-B', 'train.py']).returncode)"
    )
    return lambda _site: [sys.executable, "-I", "-S", "-c", code]


def by_kernel(site: Path) -> list[str]:
    """Return the start of the kernel with the PATH that its file gives it, and what Jupyter puts in for ``${PATH}``."""
    env = json.loads((KERNELS / "ml\\kernel.json").read_text(encoding="utf-8"))["env"]
    return with_variables(BLAS, PATH=env["PATH"].replace("${PATH}", os.environ["PATH"]))(site)


KERNELS_PATH = f"{HOME}\\tools;{SYSTEM_PATH}"
NOTEBOOK = notebook("transcribe.ipynb", "ml", BLAS)
RUNS_STREAMLIT = project(
    "run.bat", f'@echo off\r\ncd /d "%~dp0"\r\ncall {HOME}\\ml\\Scripts\\activate.bat\r\nstreamlit run train.py\r\n'
)
BY_NAME = project("run.bat", '@echo off\r\ncd /d "%~dp0"\r\npython -B train.py\r\n')
PAINTS = project("train.py", f"{NUMPY}\nimport diffusers\n")
LISTENS = project("train.py", "import whisper\n\nmodel = whisper.load_model('base')\n")
FETCHES = project("train.py", f"import httpx\n\nclient = httpx.Client()\n{BLAS}\n")

ELEVEN, ODD = "held11-", "held11-healthy-"

HELD_OUT_11: tuple[Scene, ...] = (
    # A: a library is absent or unfit
    Scene(f"{ELEVEN}llama-library-is-a-pointer", "llama.exe", (BROKEN, HALF), spoilt(llama(*FOR_LLAMA), pointer(LLAMA, "cublasLt64_12.dll")), names="cublasLt64_12.dll"),
    Scene(f"{ELEVEN}torch-lost-libuv", "torch", (BROKEN, HALF), torch_of_pip(gone("torch\\lib\\uv.dll")), names="uv.dll", runs=does(TORCH)),
    Scene(f"{ELEVEN}bundle-lost-its-standard-library", "bundle.exe", (BROKEN, HALF, ENVIRONMENT), spoilt(bundled(*FOR_ORT), gone(str(INTERNAL / "base_library.zip"))), names="base_library.zip", runs=lambda made: [str(made)]),
    # B: all is there, and does not fit
    Scene(f"{ELEVEN}typing-extensions-before-torch", "torch", (REQUIREMENT,), torch_of_pip(without_type_is), names="extensions", runs=does(TORCH)),
    Scene(f"{ELEVEN}llama-runtime-of-cuda-13", "llama.exe", (OTHER_CUDA, MISSING), spoilt(llama(), archive_of_13), names="64_12"),
    Scene(f"{ELEVEN}hub-newer-than-diffusers", "numpy", (REQUIREMENT,), numpys(hub("0.30.1", OF_2024), DIFFUSERS, PAINTS), names="huggingface", runs=script(), folder=PROJECT),
    # C: Python finds another file
    Scene(f"{ELEVEN}another-whisper-of-the-user", "numpy", (IN_THE_WAY, REQUIREMENT, TWICE), spoilt(whole("numpy-1.26"), WHISPER, installed("whisper", "1.1.10", OF_GRAPHITE, site=USER_SITE), LISTENS), names="whisper.py", runs=script(python=WHOLE / "python.exe"), folder=PROJECT),
    Scene(f"{ELEVEN}utils-of-a-node", "ctranslate2", (IN_THE_WAY,), spoilt(comfy_with_a_node(INSERTS)), names="utils.py", runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{ELEVEN}typing-before-the-standard-library", "numpy", (IN_THE_WAY, VALUE, ENVIRONMENT), numpys(TYPING, users(PYTHONPATH=str(SITE))), names="typing.py", runs=does(NUMPY)),
    # D: another way of starting
    Scene(f"{ELEVEN}kernel-replaces-path", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED, VALUE), ct2s(kernel_with("ml", PATH=KERNELS_PATH), NOTEBOOK), names="kernel.json", runs=by_kernel, folder=PROJECT),
    Scene(f"{ELEVEN}service-without-the-users-packages", "ctranslate2", (NOT_INHERITED, WRONG_ONE, REQUIREMENT, ENVIRONMENT), spoilt(of_the_person, STARTS_CT2, service_of("")), names="Dictation", runs=by_account(SYSTEMS_OWN), folder=PROJECT),
    Scene(f"{ELEVEN}command-of-another-environment", "ctranslate2", (WRONG_ONE, REQUIREMENT), ct2s(another_environment, streamlit("tools"), activation, on_path(OTHER_ONE.parent), RUNS_STREAMLIT), names="tools", runs=batch(), folder=PROJECT),
    # E: variables
    Scene(f"{ELEVEN}certificates-are-gone", "ctranslate2", (VALUE,), ct2s(HTTPX, users(SSL_CERT_FILE=BUNDLE_OF_CONDA), FETCHES), names="SSL_CERT_FILE", runs=script(), folder=PROJECT),
    Scene(f"{ELEVEN}pathext-of-scripts-alone", "ctranslate2", (VALUE, ENVIRONMENT, WRONG_ONE), ct2s(on_path(ML.parent), users(PATHEXT=".PY;.PYW"), BY_NAME), names="PATHEXT", runs=batch(), folder=PROJECT),
    Scene(f"{ELEVEN}code-page-as-encoding", "ctranslate2", (VALUE, ENVIRONMENT), ct2s(users(PYTHONIOENCODING="65001")), names="PYTHONIOENCODING", runs=script(), folder=PROJECT),
    # healthy
    Scene(f"{ODD}pointers-in-the-working-folder", "llama.exe", (), spoilt(llama(*FOR_LLAMA), pointer(CLONE, "cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll")), runs=lambda made: [str(made)], folder=CLONE),
    Scene(f"{ODD}typing-extensions-that-nobody-needs", "ctranslate2", (), ct2s(without_type_is), runs=script(), folder=PROJECT),
    Scene(f"{ODD}hub-that-diffusers-knows", "numpy", (), numpys(hub("0.25.2", OF_2023), DIFFUSERS, PAINTS), runs=script(), folder=PROJECT),
    Scene(f"{ODD}another-whisper-behind", "numpy", (), numpys(WHISPER, installed("whisper", "1.1.10", OF_GRAPHITE), LISTENS), runs=script(), folder=PROJECT),
    Scene(f"{ODD}utils-of-a-node-behind", "ctranslate2", (), spoilt(comfy_with_a_node(APPENDS)), runs=lambda _s: STARTS_PORTABLE, folder=PORTABLE),
    Scene(f"{ODD}typing-behind-the-standard-library", "ctranslate2", (), ct2s(TYPING), runs=does(f"{NUMPY}; {CT2}"), folder=PROJECT),
    Scene(f"{ODD}kernel-prepends-to-path", "ctranslate2", (), ct2s(kernel_with("ml", PATH=f"{HOME}\\tools;${{PATH}}", PYTHONUNBUFFERED="1"), NOTEBOOK), runs=by_kernel, folder=PROJECT),
    Scene(f"{ODD}service-of-the-person", "ctranslate2", (), spoilt(of_the_person, STARTS_CT2, service_of(f".\\{os.environ['USERNAME']}")), runs=script(python=WHOLE / "python.exe"), folder=PROJECT),
    Scene(f"{ODD}command-of-its-own-environment", "ctranslate2", (), ct2s(another_environment, streamlit("tools"), streamlit("ml"), activation, on_path(OTHER_ONE.parent), RUNS_STREAMLIT), runs=batch(), folder=PROJECT),
    Scene(f"{ODD}values-that-do-no-harm", "ctranslate2", (), ct2s(on_path(ML.parent), users(PATHEXT=".COM;.EXE;.BAT;.CMD;.PY;.PYW", PYTHONIOENCODING='"utf-8"'), BY_NAME), runs=batch(), folder=PROJECT),
)  # fmt: skip
