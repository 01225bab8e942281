r"""What people on Windows report, in our own words: variables, batch files and packages that no other set has. In-sample, but for ``LATER``, which
was kept back until the rules were done. Each fault has a twin that is in order.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine, environment
from tests.windows.worldlab.held_out_2 import (
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    STARTS_CT2,
    VALUE,
    WHOLE,
    WRONG_ONE,
    batch,
    cublas_toolkit,
    packages,
    project,
    script,
    short_path,
    task,
    text,
)
from tests.windows.worldlab.held_out_3 import by_nssm, numpys
from tests.windows.worldlab.held_out_10 import machines_python
from tests.windows.worldlab.held_out_11 import installed, of_the_person, users
from tests.windows.worldlab.modules import SYSTEMS
from tests.windows.worldlab.scenes import BIN, BROKEN, NOT_SEARCHED, Plant, Scene, pip, spoilt

assert sys.platform == "win32"

PEOPLE, ODD, LATE = "people-", "people-healthy-", "people-late-"
OF_START = (NOT_INHERITED, NOT_SEARCHED, VALUE)
OF_PYTHON = (WRONG_ONE, REQUIREMENT, ENVIRONMENT, NOT_INHERITED)
LIBS = HOME / "libs"
SHIMS = HOME / "pyenv-win\\shims"

HTTPX = installed(
    "httpx", "0.28.1",
    {
        "httpx\\__init__.py": "from ._client import Client\nfrom ._exceptions import InvalidURL\n",
        "httpx\\_exceptions.py": "class InvalidURL(Exception):\n    pass\n",
        "httpx\\_urls.py": "import re\n\nfrom ._exceptions import InvalidURL\n\n\nclass URL:\n    def __init__(self, url):\n        netloc = url.partition('://')[2]\n"
        "        found = re.fullmatch(r'(\\[[^\\]]*\\]|[^:]*):?(.*)', netloc)\n        self.host, port = found.groups()\n        try:\n            self.port = int(port) if port else None\n"
        "        except ValueError:\n            raise InvalidURL(f'Invalid port: {port!r}')\n",
        "httpx\\_utils.py": "import ipaddress\nimport re\nfrom urllib.request import getproxies\n\nfrom ._urls import URL\n\n\ndef is_ipv4_hostname(hostname):\n    try:\n        ipaddress.IPv4Address(hostname.split('/')[0])\n"
        "    except Exception:\n        return False\n    return True\n\n\ndef is_ipv6_hostname(hostname):\n    try:\n        ipaddress.IPv6Address(hostname.split('/')[0])\n    except Exception:\n        return False\n    return True\n\n\n"
        "def get_environment_proxies():\n    proxy_info = getproxies()\n    mounts = {}\n    for scheme in ('http', 'https', 'all'):\n        if proxy_info.get(scheme):\n            hostname = proxy_info[scheme]\n"
        "            mounts[f'{scheme}://'] = hostname if '://' in hostname else f'http://{hostname}'\n    no_proxy_hosts = [host.strip() for host in proxy_info.get('no', '').split(',')]\n    for hostname in no_proxy_hosts:\n"
        "        if hostname == '*':\n            return {}\n        elif hostname:\n            if '://' in hostname:\n                mounts[hostname] = None\n            elif is_ipv4_hostname(hostname):\n                mounts[f'all://{hostname}'] = None\n"
        "            elif is_ipv6_hostname(hostname):\n                mounts[f'all://[{hostname}]'] = None\n            elif hostname.lower() == 'localhost':\n                mounts[f'all://{hostname}'] = None\n            else:\n                mounts[f'all://*{hostname}'] = None\n    return mounts\n\n\n"
        "class URLPattern:\n    def __init__(self, pattern):\n        self.url = URL(pattern)\n",
        "httpx\\_client.py": "from ._utils import URLPattern, get_environment_proxies\n\n\nclass Client:\n    def __init__(self):\n        self._mounts = {URLPattern(key): proxy for key, proxy in get_environment_proxies().items()}\n",
    },
)  # fmt: skip
"""What httpx/_utils.py and _urlparse.py do with NO_PROXY."""
PHONEMIZER = installed(
    "phonemizer", "3.3.0",
    {
        "phonemizer\\__init__.py": "from .backend import EspeakBackend\n\n\ndef phonemize(text):\n    return EspeakBackend('en-us').phonemize(text)\n",
        "phonemizer\\backend\\__init__.py": "from .espeak.wrapper import EspeakWrapper\n\n\nclass EspeakBackend:\n    def __init__(self, language):\n        if not self.is_available():\n            raise RuntimeError('espeak not installed on your system')\n\n"
        "    @classmethod\n    def is_available(cls):\n        try:\n            EspeakWrapper()\n        except RuntimeError:\n            return False\n        return True\n\n    def phonemize(self, text):\n        return text\n",
        "phonemizer\\backend\\espeak\\__init__.py": "",
        "phonemizer\\backend\\espeak\\wrapper.py": "import ctypes.util\nimport os\nimport pathlib\n\n\nclass EspeakWrapper:\n    _ESPEAK_LIBRARY = None\n\n    def __init__(self):\n        self._library = self.library()\n\n"
        "    @classmethod\n    def library(cls):\n        if cls._ESPEAK_LIBRARY:\n            return cls._ESPEAK_LIBRARY\n        if 'PHONEMIZER_ESPEAK_LIBRARY' in os.environ:\n            library = pathlib.Path(os.environ['PHONEMIZER_ESPEAK_LIBRARY'])\n"
        "            if not (library.is_file() and os.access(library, os.R_OK)):\n                raise RuntimeError(f'PHONEMIZER_ESPEAK_LIBRARY={library} is not a readable file')\n            return library.resolve()\n"
        "        library = ctypes.util.find_library('espeak-ng') or ctypes.util.find_library('espeak')\n        if not library:\n            raise RuntimeError('failed to find espeak library')\n        return library\n",
    },
)  # fmt: skip
"""What backend/espeak/wrapper.py does."""
TRITON = installed(
    "triton_windows", "3.2.0.post18",
    {
        "triton\\__init__.py": "from .runtime import jit\n",
        "triton\\runtime\\__init__.py": "from .jit import jit\n",
        "triton\\runtime\\jit.py": "from .build import _build\n\n\ndef jit(fn):\n    return lambda *args: _build(fn.__name__)\n",
        "triton\\runtime\\build.py": "import os\nimport sysconfig\n\nfrom triton.windows_utils import find_python\n\n\ndef _build(name):\n    scheme = sysconfig.get_default_scheme()\n    py_include_dir = sysconfig.get_paths(scheme=scheme)['include']\n"
        "    if not os.path.exists(os.path.join(py_include_dir, 'Python.h')):\n        raise RuntimeError(f\"cannot compile {name}: include file 'Python.h' not found\")\n    return find_python()\n",
        "triton\\windows_utils.py": "import os\nimport sys\n\n\ndef find_python():\n    for base in (sys.exec_prefix, sys.base_exec_prefix):\n        if os.path.exists(os.path.join(base, 'libs', 'python311.lib')):\n            return [os.path.join(base, 'libs')]\n    return []\n",
    },
)  # fmt: skip
NODE = installed(
    "moviestamp",
    "1.0",
    {"moviestamp\\__init__.py": "import sys\n\nif sys.stderr.isatty():\n    print('in colour')\n"},
    "numpy",
)
"""It asks for a console when it is imported."""
SPEAKS = project("speak.py", "import numpy\nfrom phonemizer import phonemize\n\nprint(phonemize('hello'))\n")
ASKS = project("ask.py", "import numpy\nimport httpx\n\nclient = httpx.Client()\n")
KERNEL = project("kernel.py", "import numpy\nimport triton\n\n\n@triton.jit\ndef add(x):\n    return x\n\n\nadd(1)\n")
OWN_LIBS = text(LIBS / "audiotools\\__init__.py", "import numpy\n")
USES_OWN = project("train.py", "import numpy\nimport audiotools\n")
READS_GPUS = project(
    "train.py",
    "import os\n\nimport numpy\n\ngpus = [int(n) for n in os.environ.get('CUDA_VISIBLE_DEVICES', '0').split(',')]\nprint(gpus)\n",
)


def run(*lines: str, name: str = "run.bat", encoding: str = "utf-8") -> Plant:
    """Write a batch file of the project's."""
    return text(PROJECT / name, "\r\n".join(("@echo off", *lines, "")).encode(encoding))


def old_with_pth(*names: str) -> Plant:
    """Install packages with ``pip install --target``, whose .pth file adds a folder below."""

    def plant(m: Machine, _made: object) -> None:
        m.write(LIBS / "pywin32.pth", "win32\nwin32\\lib\n")
        for name in names:
            m.write(LIBS / "win32\\lib" / f"{name}.py", "CONST = 1\n")

    return plant


def in_venv(m: Machine) -> Path:
    """Make the environment in the project."""
    return packages(m, environment(m, "venv", home=PROJECT), "numpy-1.26", "ctranslate2")


def quarantined(m: Machine, site: Path) -> None:
    """Install imageio-ffmpeg, whose program a virus scanner takes away."""
    pip(m, site, "ffmpeg")
    (record,) = site.glob("imageio_ffmpeg-*.dist-info/RECORD")
    m.write(
        record, record.read_text(encoding="utf-8") + "imageio_ffmpeg/binaries/ffmpeg-win-x86_64-v7.1.exe,,87000000\n"
    )


ACTIVATES_CONDA = (f"call {HOME}\\miniconda3\\Scripts\\activate.bat ml", "python -B train.py")
ON_TOOLKIT = f"set PATH={BIN};%PATH%"

FIRST: tuple[Scene, ...] = (
    # E
    Scene(f"{PEOPLE}no-proxy-with-ipv6", "numpy", (VALUE,), numpys(HTTPX, ASKS, users(NO_PROXY="localhost,127.0.0.1,::1,[::1]")), names="NO_PROXY", runs=script("ask.py"), folder=PROJECT),
    Scene(f"{ODD}no-proxy-with-ipv6", "numpy", (), numpys(HTTPX, ASKS, users(NO_PROXY="localhost,127.0.0.1,::1,.corp.example")), runs=script("ask.py"), folder=PROJECT),
    Scene(f"{PEOPLE}gpus-in-quotation-marks", "numpy", (VALUE, NOT_INHERITED, "gpu_hidden_by_env"), numpys(READS_GPUS, run('set CUDA_VISIBLE_DEVICES="0"', f"{ML} -B train.py")), names="CUDA_VISIBLE_DEVICES", runs=batch(), folder=PROJECT),
    Scene(f"{ODD}gpus-without-quotation-marks", "numpy", (), numpys(READS_GPUS, run('set "CUDA_VISIBLE_DEVICES=0"', f"{ML} -B train.py")), runs=batch(), folder=PROJECT),
    # A
    Scene(f"{PEOPLE}espeak-is-not-there", "numpy", (SYSTEMS,), numpys(PHONEMIZER, SPEAKS), names="espeak", runs=script("speak.py"), folder=PROJECT),
    Scene(f"{PEOPLE}espeak-library-that-is-gone", "numpy", (VALUE, SYSTEMS), numpys(PHONEMIZER, SPEAKS, users(PHONEMIZER_ESPEAK_LIBRARY=f"{HOME}\\eSpeak NG\\libespeak-ng.dll")), names="PHONEMIZER_ESPEAK_LIBRARY", runs=script("speak.py"), folder=PROJECT),
    # D
    Scene(f"{PEOPLE}activation-with-slashes", "ctranslate2", OF_PYTHON, spoilt(in_venv, machines_python, STARTS_CT2, run('cd /d "%~dp0"', "call venv/Scripts/activate.bat", "python -B train.py")), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{PEOPLE}setx-in-the-same-file", "numpy", (NOT_INHERITED, VALUE, *OF_PYTHON), numpys(OWN_LIBS, USES_OWN, run(f"setx PYTHONPATH {LIBS} >nul", f"{ML} -B train.py")), names="PYTHONPATH", runs=batch(), folder=PROJECT),
    Scene(f"{PEOPLE}setlocal-in-the-called-file", "ctranslate2", OF_START, spoilt(cublas_toolkit, short_path, STARTS_CT2, run("setlocal", ON_TOOLKIT, name="env.bat"), run('call "%~dp0env.bat"', f"{ML} -B train.py")), names="env.bat", runs=batch(), folder=PROJECT),
    Scene(f"{ODD}called-file-without-setlocal", "ctranslate2", (), spoilt(cublas_toolkit, short_path, STARTS_CT2, run(ON_TOOLKIT, name="env.bat"), run('call "%~dp0env.bat"', f"{ML} -B train.py")), runs=batch(), folder=PROJECT),
    Scene(f"{PEOPLE}env-file-with-quotation-marks", "numpy", (NOT_INHERITED, VALUE), numpys(OWN_LIBS, USES_OWN, project(".env", f'PYTHONPATH="{LIBS}"\n'), run('cd /d "%~dp0"', 'for /f "usebackq tokens=1,* delims==" %%a in (".env") do set %%a=%%b', f"{ML} -B train.py")), names="PYTHONPATH", runs=batch(), folder=PROJECT),
    Scene(f"{ODD}env-file", "numpy", (), numpys(OWN_LIBS, USES_OWN, project(".env", f'PYTHONPATH={LIBS}\n'), run('cd /d "%~dp0"', 'for /f "usebackq tokens=1,* delims==" %%a in (".env") do set "%%a=%%b"', f"{ML} -B train.py")), runs=batch(), folder=PROJECT),
    Scene(f"{PEOPLE}option-without-the-user-site", "numpy", (REQUIREMENT, *OF_PYTHON), spoilt(of_the_person, STARTS_CT2, run(f"{WHOLE}\\python.exe -s -B {PROJECT}\\train.py")), names="-s", runs=batch(), folder=PROJECT),
    Scene(f"{PEOPLE}option-without-pythonpath", "numpy", (REQUIREMENT, *OF_PYTHON), numpys(OWN_LIBS, USES_OWN, run(f"set PYTHONPATH={LIBS}", f"{ML} -E -B {PROJECT}\\train.py")), names="-E", runs=batch(), folder=PROJECT),
    Scene(f"{PEOPLE}folder-in-utf-8", "numpy", (*OF_PYTHON, "install_path_characters"), numpys(text(HOME / "Müller\\train.py", f"{NUMPY}\n"), run(f"cd /d {HOME}\\Müller", f"{ML} -B train.py")), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{ODD}folder-in-the-code-page", "numpy", (), numpys(text(HOME / "Müller\\train.py", f"{NUMPY}\n"), run(f"cd /d {HOME}\\Müller", f"{ML} -B train.py", encoding="oem")), runs=batch(), folder=PROJECT),
    Scene(f"{PEOPLE}service-without-the-persons-token", "numpy", (NOT_INHERITED, VALUE), numpys(project("serve.py", "import os\n\nimport numpy\n\ntoken = os.environ['HF_TOKEN']\n"), users(HF_TOKEN="hf_abcdef"), by_nssm("Transcriber", ML, f"-B {PROJECT}\\serve.py")), names="HF_TOKEN", runs=lambda _s: [str(ML), "-B", "-c", f"import os; os.environ.pop('HF_TOKEN', None); exec(open(r'{PROJECT}\\serve.py').read())"], folder=PROJECT),
    # C
    Scene(f"{PEOPLE}pth-file-in-pythonpath", "numpy", (ENVIRONMENT, VALUE, REQUIREMENT), numpys(old_with_pth("win32con"), project("train.py", "import numpy\nimport win32con\n"), users(PYTHONPATH=str(LIBS))), names="pywin32.pth", runs=script(), folder=PROJECT),
)  # fmt: skip

GRADIO = installed(
    "gradio", "4.44.1",
    {"gradio\\__init__.py": "from gradio.oauth import attach_oauth\n", "gradio\\oauth.py": "import numpy\nfrom huggingface_hub import HfFolder, whoami\n\n\ndef attach_oauth(app):\n    return app\n"},
    "huggingface-hub>=0.19.3", "numpy",
)  # fmt: skip
HUB_1 = installed("huggingface_hub", "1.1.2", {"huggingface_hub\\__init__.py": "def whoami():\n    return {}\n"})
PYDANTIC = installed(
    "pydantic", "2.11.7",
    {
        "pydantic\\__init__.py": "from .version import VERSION, _ensure_pydantic_core_version\n\n_ensure_pydantic_core_version()\n\n\nclass BaseModel:\n    pass\n",
        "pydantic\\version.py": "from pydantic_core import __version__ as __pydantic_core_version__\n\nVERSION = '2.11.7'\n_COMPATIBLE_PYDANTIC_CORE_VERSION = '2.33.2'\n\n\ndef check_pydantic_core_version() -> bool:\n    return __pydantic_core_version__ == _COMPATIBLE_PYDANTIC_CORE_VERSION\n\n\n"
        "def _ensure_pydantic_core_version() -> None:\n    if not check_pydantic_core_version():\n        raise SystemError(f'The installed pydantic-core version ({__pydantic_core_version__}) is incompatible with the current pydantic version, which requires {_COMPATIBLE_PYDANTIC_CORE_VERSION}.')\n",
    },
    "pydantic-core==2.33.2",
)  # fmt: skip
CORE = installed("pydantic_core", "2.41.4", {"pydantic_core\\__init__.py": "__version__ = '2.41.4'\n"})
DOTENV = installed(
    "python_dotenv", "1.1.0",
    {
        "dotenv\\__init__.py": "from .main import load_dotenv\n",
        "dotenv\\main.py": "import os\n\n\ndef load_dotenv(dotenv_path=None):\n    for line in open(dotenv_path or '.env', encoding='utf-8'):\n        name, sign, value = line.strip().partition('=')\n        if sign:\n            os.environ.setdefault(name, value)\n    return True\n",
    },
)  # fmt: skip
HUB_CACHE = installed(
    "huggingface_hub", "0.34.4",
    {
        "huggingface_hub\\__init__.py": "from .file_download import snapshot_download\n",
        "huggingface_hub\\constants.py": "import os\n\nHF_HOME = os.path.expandvars(os.path.expanduser(os.getenv('HF_HOME', os.path.join(os.path.expanduser('~'), '.cache', 'huggingface'))))\nHF_HUB_CACHE = os.getenv('HF_HUB_CACHE', os.path.join(HF_HOME, 'hub'))\n",
        "huggingface_hub\\file_download.py": "import os\n\nfrom . import constants\n\n\ndef snapshot_download(name):\n    folder = os.path.join(constants.HF_HUB_CACHE, name.replace('/', '--'))\n    os.makedirs(folder, exist_ok=True)\n    return folder\n",
    },
)  # fmt: skip
FETCHES = project(
    "fetch.py",
    "import os\n\nfrom dotenv import load_dotenv\n\nload_dotenv(os.path.join(os.path.dirname(__file__), '.env'))\n\nimport numpy\nfrom huggingface_hub import snapshot_download\n\nprint(snapshot_download('openai/whisper-tiny'))\n",
)
SPACED = HOME / "my project"

LATER: tuple[Scene, ...] = (
    Scene(f"{LATE}path-command-in-a-batch-file", "ctranslate2", OF_START, spoilt(cublas_toolkit, STARTS_CT2, run(f"path {HOME}\\tools;C:\\windows\\system32;C:\\windows", f"{ML} -B {PROJECT}\\train.py")), names="run.bat", runs=batch(), folder=PROJECT),
    Scene(f"{LATE}healthy-path-command", "ctranslate2", (), spoilt(cublas_toolkit, STARTS_CT2, run(f"path {HOME}\\tools;%PATH%", f"{ML} -B {PROJECT}\\train.py")), runs=batch(), folder=PROJECT),
    Scene(f"{LATE}task-with-a-blank-in-its-arguments", "numpy", (*OF_PYTHON, "install_path_characters"), numpys(text(SPACED / "train.py", f"{NUMPY}\n"), task("Nightly training", str(ML), f"-B {SPACED}\\train.py")), names="Nightly", runs=lambda _s: ["cmd.exe", "/c", f"{ML} -B {SPACED}\\train.py"], folder=SPACED),
    Scene(f"{LATE}hf-home-of-a-dotenv-file", "numpy", (VALUE, NOT_INHERITED), numpys(DOTENV, HUB_CACHE, FETCHES, project(".env", "HF_HOME=K:\\ai\\huggingface\n")), names="HF_HOME", runs=script("fetch.py"), folder=PROJECT),
    Scene(f"{LATE}healthy-hf-home-of-a-dotenv-file", "numpy", (), numpys(DOTENV, HUB_CACHE, FETCHES, project(".env", f"HF_HOME={HOME}\\ai\\huggingface\n")), runs=script("fetch.py"), folder=PROJECT),
    Scene(f"{LATE}temp-on-a-memory-disk", "numpy", (VALUE,), numpys(project("train.py", "import os\n\nimport numpy\n\nnumpy.save(os.path.join(os.environ['TEMP'], 'weights.npy'), numpy.ones(3))\n"), users(TEMP="R:\\Temp", TMP="R:\\Temp")), names="TEMP", runs=script(), folder=PROJECT),
    Scene(f"{LATE}hub-without-hf-folder", "numpy", (REQUIREMENT,), numpys(GRADIO, HUB_1, project("app.py", "import gradio\n")), names="huggingface", runs=script("app.py"), folder=PROJECT),
    Scene(f"{LATE}pydantic-core-of-another-release", "numpy", (REQUIREMENT,), numpys(PYDANTIC, CORE, project("app.py", "import numpy\nimport pydantic\n")), names="pydantic", runs=script("app.py"), folder=PROJECT),
    Scene(f"{LATE}ffmpeg-program-in-quarantine", "numpy", (BROKEN, HALF, SYSTEMS), numpys(quarantined, project("cut.py", "import numpy\nimport imageio_ffmpeg\n\nprint(imageio_ffmpeg.get_ffmpeg_version())\n")), names="ffmpeg", runs=script("cut.py"), folder=PROJECT),
    Scene(f"{LATE}folder-google-of-the-project", "numpy", (IN_THE_WAY,), numpys(lambda m, s: pip(m, s, "protobuf"), project("google\\__init__.py", ""), project("google\\drive.py", "rows = 1\n"), project("train.py", "import numpy\nfrom google.protobuf import descriptor\n")), names="project\\google", runs=script(), folder=PROJECT),
    Scene(f"{LATE}pythonw-and-a-package", "numpy", ("python_environment_broken", VALUE, *OF_PYTHON), numpys(NODE, project("tray.pyw", "import numpy\nimport moviestamp\n"), run(f"{ML.with_name('pythonw.exe')} {PROJECT}\\tray.pyw")), names="pythonw", runs=lambda _s: [str(ML), "-B", "-c", f"import sys; sys.stderr = sys.stdout = None; exec(open(r'{PROJECT}\\tray.pyw').read())"], folder=PROJECT),
)  # fmt: skip

PEOPLES = (*FIRST, *LATER)
