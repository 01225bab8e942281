r"""Scenes of faults that the Linux lab names, as a workstation with Windows has them: real packages that lose a file, releases that do not
fit, modules in the way, code that runs with every start. In-sample: written together with the rules that name them.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, SYSTEM32, Machine, environment
from tests.windows.worldlab.held_out_2 import (
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    NUMPY,
    OTHER_PYTHON,
    PROJECT,
    REQUIREMENT,
    RUNTIME,
    TORCHS,
    WHOLE,
    packages,
    project,
    script,
    then,
    whole_python,
)
from tests.windows.worldlab.held_out_11 import installed
from tests.windows.worldlab.modules import PYTHON, SYSTEMS
from tests.windows.worldlab.scenes import BROKEN, FOREIGN, MISSING, Plant, Scene, foreign, gone

assert sys.platform == "win32"

ALIKE, ODD, KEPT = "alike-", "alike-healthy-", "kept-"
REQUESTS = ("requests", "urllib3", "idna", "certifi", "charset_normalizer")
HUB = (
    *REQUESTS,
    "huggingface_hub",
    "pyyaml",
    "tqdm",
    "colorama",
    "packaging",
    "filelock",
    "fsspec",
    "typing_extensions",
)
TRANSFORMERS = (*HUB, "transformers", "regex", "numpy-1.26")
"""Without tokenizers and safetensors, which need a DLL that wine lacks: stand-ins are below."""
PANDAS = ("pandas", "dateutil", "pytz", "tzdata", "six", "numpy-1.26")


def everything(m: Machine, site: Path, *wheels: str) -> Path:
    """Install wheels with all their files."""
    packages(m, site, *(w for w in wheels if w in FEW))
    for name in (w for w in wheels if w not in FEW):
        base = Path(m.places[name])
        (record,) = base.glob("*.dist-info/RECORD")
        with record.open(newline="", encoding="utf-8") as rows:
            for row in csv.reader(rows):
                if ".." not in row[0]:
                    m.place(base / row[0], site / row[0])
    return site


FEW = (*TORCHS, "numpy-1.26", "numpy-1.23")


def pip(*wheels: str) -> Callable[[Machine], Path]:
    """Return an environment with these packages alone."""
    return lambda m: everything(m, environment(m, "ml"), *wheels)


def of_installer(*wheels: str) -> Callable[[Machine], Path]:
    """Return the machine's own Python with these packages."""
    return lambda m: everything(m, whole_python(m, WHOLE), *wheels)


def does(text: str, name: str = "train.py") -> Plant:
    """Write the project's program."""
    return project(name, text)


def released(name: str, version: str) -> Plant:
    """Let the metadata of a package state another release, which a package that asks for it reads."""

    def plant(m: Machine, site: Path) -> None:
        (info,) = site.glob(f"{name}-*.dist-info")
        old = info.name.removeprefix(f"{name}-").removesuffix(".dist-info")
        target = site / f"{name}-{version}.dist-info"
        for file in list(info.rglob("*")):
            if file.is_file():
                text = file.read_bytes()
                if file.name == "METADATA":
                    text = text.replace(f"Version: {old}".encode(), f"Version: {version}".encode(), 1)
                if file.name == "RECORD":
                    text = text.replace(info.name.encode(), target.name.encode())
                m.write(target / file.relative_to(info), text)
                file.unlink()
        for folder in sorted((p for p in info.rglob("*") if p.is_dir()), reverse=True):
            folder.rmdir()
        info.rmdir()

    return plant


def of(name: str, version: str, text: str, *requires: str, module: str = "") -> Plant:
    """Install a package of one module."""
    return installed(name, version, {f"{module or name}\\__init__.py": text}, *requires)


def aside(name: str) -> Plant:
    """Take one of Windows' own files away."""
    return lambda m, _made: m.put_aside(SYSTEM32 / name)


def tokenizers(version: str = "0.21.0") -> Plant:
    """Install stand-ins for what wine does not load."""

    def plant(m: Machine, site: Path) -> None:
        of("tokenizers", version, f"__version__ = '{version}'\n\n\nclass Tokenizer:\n    pass\n")(m, site)
        of("safetensors", "0.5.3", "__version__ = '0.5.3'\n")(m, site)

    return plant


def lost(*files: str) -> Plant:
    """Delete files of the Python itself."""

    def plant(_m: Machine, _site: Path) -> None:
        for file in files:
            (WHOLE / file).unlink()

    return plant


def no_tk(_m: Machine, _site: Path) -> None:
    """Leave tkinter out, as the embeddable package does."""
    for file in (*WHOLE.rglob("_tkinter*.pyd"), *(WHOLE / "Lib\\tkinter").glob("__init__.py")):
        file.unlink()


TOKENS = does("from transformers import AutoTokenizer\n\nAutoTokenizer\n")
PICTURE = does("from PIL import Image\n\nImage.new('RGB', (4, 4)).resize((2, 2))\n")
STARTED = f"{NUMPY}\n".replace("; ", "\n")
GONE = (BROKEN, HALF)
BY_ITSELF = script(python=PYTHON)

PB2 = (
    "from google.protobuf import runtime_version as _runtime_version\n"
    "_runtime_version.ValidateProtobufRuntimeVersion(\n    _runtime_version.Domain.PUBLIC, 6, 31, 0, '', 'onnx/onnx.proto'\n)\n"
)

TESSERACT = installed(
    "pytesseract",
    "0.3.13",
    {
        "pytesseract\\__init__.py": "from .pytesseract import image_to_string\n",
        "pytesseract\\pytesseract.py": "import subprocess\n\ntesseract_cmd = 'tesseract'\n\n\nclass TesseractNotFoundError(EnvironmentError):\n    pass\n\n\n"
        "def image_to_string(image):\n    try:\n        return subprocess.run([tesseract_cmd, '--version'], capture_output=True).stdout\n"
        "    except FileNotFoundError:\n        raise TesseractNotFoundError() from None\n",
    },
)

FIRST: tuple[Scene, ...] = (
    # A
    Scene(f"{ALIKE}pillow-lost-its-core", "numpy", GONE, then(pip("pillow"), gone("PIL\\_imaging.cp311-win_amd64.pyd"), PICTURE), names="_imaging", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}regex-in-quarantine", "numpy", GONE, then(pip(*TRANSFORMERS), tokenizers(), gone("regex\\_regex.cp311-win_amd64.pyd"), does("import numpy\nimport regex\n")), names="_regex", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}scipy-lost-openblas", "numpy", (*GONE, SYSTEMS), then(pip("scipy", "numpy-1.26"), lambda _m, s: next(s.glob("scipy.libs\\*.dll")).unlink(), does("from scipy import linalg\n\nlinalg.inv([[1.0]])\n")), names="libscipy_openblas", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}soundfile-lost-sndfile", "numpy", (*GONE, SYSTEMS), then(pip("soundfile", "cffi", "pycparser", "numpy-1.26"), gone("_soundfile_data\\libsndfile_x64.dll"), does("import soundfile\n")), names="libsndfile", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}lightgbm-without-vcomp140", "numpy", (RUNTIME, SYSTEMS), then(pip("lightgbm", "scipy", "numpy-1.26"), aside("vcomp140.dll"), does("import lightgbm\n")), names="vcomp140.dll", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}program-opens-what-is-gone", "numpy", (SYSTEMS, MISSING, BROKEN), then(pip("numpy-1.26"), does(f"import ctypes\nimport numpy\n\nops = ctypes.CDLL(r'{HOME}\\tools\\fast_ops.dll')\n")), names="fast_ops.dll", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}program-opens-a-name-that-is-gone", "numpy", (SYSTEMS, MISSING, BROKEN), then(pip("numpy-1.26"), does("import ctypes\nimport numpy\n\nops = ctypes.WinDLL('opencl_ops.dll')\n")), names="opencl_ops.dll", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}python-lost-lzma", "torch", (ENVIRONMENT, *GONE), then(of_installer(*TORCHS, "numpy-1.26", "torchvision", "pillow"), lost("DLLs\\_lzma.pyd"), does("import torch\nimport torchvision\n")), names="_lzma", runs=BY_ITSELF, folder=PROJECT),
    Scene(f"{ALIKE}python-without-tkinter", "numpy", (ENVIRONMENT,), then(of_installer("numpy-1.26"), no_tk, does("import numpy\nfrom tkinter import filedialog\n")), names="tkinter", runs=BY_ITSELF, folder=PROJECT),
    Scene(f"{ALIKE}module-of-mypyc-lost", "numpy", GONE, then(pip(*REQUESTS), gone("charset_normalizer\\md__mypyc.cp311-win_amd64.pyd"), does("import charset_normalizer\n")), names="md__mypyc", runs=script(), folder=PROJECT),
    # B
    Scene(f"{ALIKE}tokenizers-newer-than-transformers", "numpy", (REQUIREMENT,), then(pip(*TRANSFORMERS), tokenizers("0.22.1"), TOKENS), names="tokenizers", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}package-of-before-pillow-10", "numpy", (REQUIREMENT,), then(pip("pillow"), of("easyocr", "1.6.2", "from PIL import Image\n\n\ndef readtext(image, method=Image.ANTIALIAS):\n    return image\n", "Pillow"), does("import easyocr\n")), names="ANTIALIAS", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}package-of-before-numpy-1-24", "numpy", (REQUIREMENT,), then(pip("numpy-1.26"), of("facexlib", "0.2.5", "import numpy as np\n\nDTYPE = np.float\n", "numpy"), does("import facexlib\n")), names="numpy", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}package-of-before-setuptools-82", "numpy", (REQUIREMENT,), then(pip("numpy-1.26"), of("setuptools", "82.0.0", "__version__ = '82.0.0'\n"), of("tensorboardx", "2.5", "import numpy\nfrom pkg_resources import parse_version\n", "numpy"), does("import tensorboardx\n")), names="pkg_resources", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}package-of-before-python-3-11", "numpy", (REQUIREMENT, OTHER_PYTHON), then(pip("numpy-1.26"), of("parsimonious", "0.8.1", "import numpy\nfrom inspect import getargspec\n", "numpy"), does("import parsimonious\n")), names="getargspec", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}regex-for-32-bit", "numpy", (FOREIGN,), then(pip("regex", "numpy-1.26"), foreign("regex\\_regex.cp311-win_amd64.pyd"), does("import numpy\nimport regex\n")), names="_regex", runs=script(), folder=PROJECT),
    # C
    Scene(f"{ALIKE}exercise-named-random-py", "numpy", (IN_THE_WAY,), then(pip(*TRANSFORMERS), tokenizers(), does("def roll():\n    return 6\n", "random.py"), TOKENS), names="random.py", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}folder-tokenizers-of-the-project", "numpy", (IN_THE_WAY,), then(pip("numpy-1.26"), tokenizers(), does("from .bpe import train\n", "tokenizers\\__init__.py"), does("def train():\n    return 1\n", "tokenizers\\bpe.py"), does("import numpy\nfrom tokenizers import Tokenizer\n")), names="project\\tokenizers", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}start-code-refuses-torch", "torch", (ENVIRONMENT, IN_THE_WAY), then(pip(*TORCHS, "numpy-1.26"), lambda m, s: m.write(s / "sitecustomize.py", "import sys\n\nsys.modules['torch'] = None\n"), does("import torch\n")), names="sitecustomize", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}start-code-raises", "numpy", (ENVIRONMENT, IN_THE_WAY), then(pip("numpy-1.26"), lambda m, s: m.write(s / "zz_hook.pth", "import sys; sys.exit('licence expired')\n"), does(STARTED)), names="zz_hook.pth", runs=script(), folder=PROJECT),
    # programs that packages start
    Scene(f"{ALIKE}tesseract-is-not-on-path", "numpy", (SYSTEMS,), then(pip("numpy-1.26"), TESSERACT, does("import numpy\nimport pytesseract\n\nprint(pytesseract.image_to_string('page.png'))\n")), names="tesseract", runs=script(), folder=PROJECT),
    Scene(f"{ALIKE}compiled-without-cl", "torch", (SYSTEMS, "build_tools_missing"), then(pip(*TORCHS, "numpy-1.26"), does("import torch\n\nhalf = torch.compile(lambda x: x / 2)\nprint(half(torch.ones(3)))\n")), names="cl", runs=script(), folder=PROJECT),
    # healthy
    Scene(f"{ODD}tesseract-by-its-path", "numpy", (), then(pip("numpy-1.26"), TESSERACT, does(f"import numpy\nimport pytesseract\n\npytesseract.pytesseract.tesseract_cmd = r'{sys.executable}'\nprint(pytesseract.image_to_string('page.png'))\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}protobuf-without-its-fast-part", "numpy", (), then(pip("protobuf", "numpy-1.26"), does("from google.protobuf import descriptor\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}names-in-other-letters", "numpy", (), then(pip(*HUB, "numpy-1.26"), does("def roll():\n    return 6\n", "Random.py"), does("", "Requests\\__init__.py"), does("import random\n\nimport huggingface_hub.file_download\nimport requests\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}program-opens-what-may-be-gone", "numpy", (), then(pip("numpy-1.26"), does(f"import ctypes\nimport numpy\n\ntry:\n    ops = ctypes.CDLL(r'{HOME}\\tools\\fast_ops.dll')\nexcept OSError:\n    ops = None\nkernel = ctypes.WinDLL('kernel32')\nc = ctypes.CDLL('msvcrt.dll')\nshell = ctypes.WinDLL('Shell32')\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}python-without-lzma-that-nobody-asks-for", "numpy", (), then(of_installer("numpy-1.26"), lost("DLLs\\_lzma.pyd"), does(STARTED)), runs=BY_ITSELF, folder=PROJECT),
    Scene(f"{ODD}package-of-before-pillow-10-that-asks-for-nothing", "numpy", (), then(pip("pillow", "numpy-1.26"), of("easyocr", "1.6.2", "from PIL import Image\n\n\ndef readtext(image):\n    return image.resize((2, 2), Image.ANTIALIAS)\n", "Pillow"), does(f"import easyocr\n{STARTED}")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}start-code-that-helps", "numpy", (), then(pip("numpy-1.26"), lambda m, s: m.write(s / "sitecustomize.py", "import os\nimport sys\n\nos.environ.setdefault('PYTHONIOENCODING', 'utf-8')\nif 'notorch' in sys.argv:\n    sys.exit(1)\n"), does(STARTED)), runs=script(), folder=PROJECT),
)  # fmt: skip

LAST: tuple[Scene, ...] = (
    Scene(f"{KEPT}pandas-lost-a-module", "numpy", GONE, then(pip(*PANDAS), lambda _m, s: next(s.glob("pandas\\_libs\\parsers*.pyd")).unlink(), does("import pandas\n\npandas.DataFrame({'a': [1]})\n")), names="parsers", runs=script(), folder=PROJECT),
    Scene(f"{KEPT}lightgbm-lost-its-library", "numpy", GONE, then(pip("lightgbm", "scipy", "numpy-1.26"), lambda _m, s: next(s.glob("lightgbm\\**\\lib_lightgbm.dll")).unlink(), does("import lightgbm\n")), names="lib_lightgbm", runs=script(), folder=PROJECT),
    Scene(f"{KEPT}certificates-lost", "numpy", GONE, then(pip(*REQUESTS), gone("certifi\\cacert.pem"), does("import requests\n\ntry:\n    requests.get('https://127.0.0.1:9/')\nexcept requests.exceptions.ConnectionError as e:\n    print('nobody answers', e)\n")), names="cacert.pem", runs=script(), folder=PROJECT),
    Scene(f"{KEPT}python-lost-libcrypto", "numpy", (ENVIRONMENT, *GONE), then(of_installer(*REQUESTS), lambda _m, _s: next(WHOLE.rglob("libcrypto-3*.dll")).unlink(), does("import ssl\nimport requests\n")), names="libcrypto", runs=BY_ITSELF, folder=PROJECT),
    Scene(f"{KEPT}hub-newer-than-transformers", "numpy", (REQUIREMENT,), then(pip(*TRANSFORMERS), tokenizers(), released("huggingface_hub", "1.0.1"), TOKENS), names="huggingface", runs=script(), folder=PROJECT),
    Scene(f"{KEPT}package-of-before-scipy-1-14", "numpy", (REQUIREMENT,), then(pip("scipy", "numpy-1.26"), of("auraloss", "0.2.1", "from scipy.integrate import simps\n", "scipy"), does("import auraloss\n")), names="simps", runs=script(), folder=PROJECT),
    Scene(f"{KEPT}code-of-a-newer-protobuf", "numpy", (REQUIREMENT,), then(pip("protobuf", "numpy-1.26"), of("onnx", "1.19.0", PB2, "protobuf", "numpy"), does("import onnx\n")), names="protobuf", runs=script(), folder=PROJECT),
    Scene(f"{KEPT}exercise-named-queue-py", "numpy", (IN_THE_WAY,), then(pip(*REQUESTS), does("jobs = []\n", "queue.py"), does("import requests\n")), names="queue.py", runs=script(), folder=PROJECT),
    Scene(f"{KEPT}folder-http-of-the-project", "numpy", (IN_THE_WAY,), then(pip(*REQUESTS), does("", "http\\__init__.py"), does("import requests\n")), names="http", runs=script(), folder=PROJECT),
    Scene(f"{KEPT}start-code-takes-packages-away", "numpy", (ENVIRONMENT, IN_THE_WAY), then(pip("numpy-1.26"), lambda m, s: m.write(s / "sitecustomize.py", "import sys\n\nsys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n"), does(STARTED)), names="sitecustomize", runs=script(), folder=PROJECT),
)  # fmt: skip

ALIKE_SCENES = (*FIRST, *LAST)
