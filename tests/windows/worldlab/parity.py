r"""Scenes of faults that the Linux lab names, or that Linux does not have, where a rule looked on one system only: what Python lacks on Windows,
DLLs that a program or a part of a package opens, backends and programs that a call needs. In-sample: written with the code that reads them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.windows.faultlab.machine import Machine
from tests.windows.worldlab.held_out_2 import PROJECT, REQUIREMENT, RUNTIME, project, script
from tests.windows.worldlab.held_out_3 import numpys
from tests.windows.worldlab.held_out_8 import NO_GPU_BUILD
from tests.windows.worldlab.held_out_11 import installed, torch_of_pip
from tests.windows.worldlab.modules import SYSTEMS, aside
from tests.windows.worldlab.scenes import BROKEN, FOREIGN, Plant, Scene

assert sys.platform == "win32"

PARITY, ODD = "parity-", "parity-healthy-"


def package(name: str, text: str) -> Plant:
    """Install a package of one module."""
    return installed(name, "1.2.0", {f"{name}\\__init__.py": text}, "numpy")


GUARDED = """import os
import signal
import sys

import numpy

try:
    import fcntl
except ImportError:
    fcntl = None
if sys.platform != 'win32':
    import resource
    STOP = signal.SIGKILL
if hasattr(os, 'fork'):
    FORK = os.fork


def stop():
    os.killpg(os.getpgid(3), signal.SIGKILL)
"""
"""What packages for both systems write."""
TORCHAUDIO = installed(
    "torchaudio", "2.6.0",
    {
        "torchaudio\\__init__.py": "import importlib.util\n\nimport torch\n\n\ndef load(uri):\n    if importlib.util.find_spec('soundfile') is None:\n"
        "        raise RuntimeError(f\"Couldn't find appropriate backend to handle uri {uri} and format None.\")\n    return torch.zeros(1, 3), 16000\n",
    },
    "torch==2.6.0",
)  # fmt: skip
"""On Windows it has soundfile, and FFmpeg's DLLs where the loader finds them (torio/_extension/utils.py)."""
SOUNDFILE = installed("soundfile", "0.13.1", {"soundfile.py": ""})
LISTENS = project("train.py", "import torchaudio\n\nwave, rate = torchaudio.load('a.wav')\nprint(wave.shape)\n")
PYDUB = installed(
    "pydub", "0.25.1",
    {
        "pydub\\__init__.py": "from .audio_segment import AudioSegment\n",
        "pydub\\audio_segment.py": "import subprocess\n\n\nclass AudioSegment:\n    @classmethod\n    def silent(cls, duration=1000):\n        return cls()\n\n"
        "    def export(self, out_f, format='mp3'):\n        if format != 'wav':\n            subprocess.Popen(['ffmpeg', '-y', out_f])\n",
    },
)  # fmt: skip


def speaks(form: str) -> Plant:
    """Write the program that answers in this format."""
    return project("train.py", f"import numpy\nfrom pydub import AudioSegment\n\nsound = AudioSegment.silent(duration=100)\nsound.export('answer.{form}', format='{form}')\n")  # fmt: skip


def codes(m: Machine, site: Path) -> None:
    """Install a package whose part ``reader`` opens a DLL of its own, as pyzbar does; the DLL needs Windows' Media Foundation."""
    text = "import ctypes\nimport pathlib\n\nctypes.CDLL(str(pathlib.Path(__file__).with_name('libcodes-64.dll')))\n"
    installed("codes", "0.1.9", {"codes\\__init__.py": "", "codes\\reader.py": text, "codes\\libcodes-64.dll": ""})(
        m, site
    )
    m.place(Path(m.places["consumers"]) / "modules\\media.pyd", site / "codes\\libcodes-64.dll")


READS = project("train.py", "import numpy\nfrom codes import reader\n")


def own_library(source: str) -> Plant:
    """Put a DLL beside the program: one of the lab's, or a stand-in for 32 bits."""

    def plant(m: Machine, _made: Path) -> None:
        whole = Path(m.places["consumers"]) / "modules\\inner-0f3a.dll"
        m.place(m.part("x86/zlibwapi.dll") if source == "x86" else whole, PROJECT / "bin\\ailib.dll")

    return plant


OPENS = project("train.py", "import ctypes\nimport os\n\nimport numpy\n\nailib = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bin', 'ailib.dll'))\n")  # fmt: skip


def gathers(backend: str) -> Plant:
    """Write a program that begins with others' processes."""
    return project("train.py", "import os\n\nimport torch\nimport torch.distributed as dist\n\nos.environ['MASTER_ADDR'] = '127.0.0.1'\nos.environ['MASTER_PORT'] = '29511'\n"
                   f"os.environ['USE_LIBUV'] = '0'\ndist.init_process_group('{backend}', rank=0, world_size=1)\ndist.destroy_process_group()\n")  # fmt: skip


FOR_LINUX = project("train.py", "import numpy\nimport fastserve\n")

PARITIES: tuple[Scene, ...] = (
    # https://github.com/nneonneo/2048-ai/issues/79: [WinError 193]
    Scene(f"{PARITY}own-dll-for-32-bit", "numpy", (FOREIGN, BROKEN), numpys(own_library("x86"), OPENS), names="ailib.dll", runs=script(), folder=PROJECT),
    Scene(f"{PARITY}library-of-a-part", "numpy", (SYSTEMS, RUNTIME), numpys(codes, aside("mfplat.dll"), READS), names="mfplat.dll", runs=script(), folder=PROJECT),
    Scene(f"{PARITY}torchaudio-without-a-backend", "torch", (REQUIREMENT, SYSTEMS), torch_of_pip(TORCHAUDIO, LISTENS), names="soundfile", runs=script(), folder=PROJECT),
    Scene(f"{PARITY}answer-as-mp3-without-ffmpeg", "numpy", (SYSTEMS,), numpys(PYDUB, speaks("mp3")), names="ffmpeg", runs=script(), folder=PROJECT),
    Scene(f"{PARITY}nccl-on-windows", "torch", (REQUIREMENT, "nccl_failed", NO_GPU_BUILD), torch_of_pip(gathers("nccl")), names="nccl", runs=script(), folder=PROJECT),
    Scene(f"{PARITY}package-for-linux", "numpy", (REQUIREMENT,), numpys(package("fastserve", "import resource\n\nimport numpy\n"), FOR_LINUX), names="resource", runs=script(), folder=PROJECT),
    Scene(f"{PARITY}signal-of-linux", "numpy", (REQUIREMENT,), numpys(package("fastserve", "import signal\n\nimport numpy\n\n\ndef stop(how=signal.SIGKILL):\n    pass\n"), FOR_LINUX), names="SIGKILL", runs=script(), folder=PROJECT),
    # healthy
    Scene(f"{ODD}own-dll", "numpy", (), numpys(own_library("whole"), OPENS), runs=script(), folder=PROJECT),
    Scene(f"{ODD}library-of-a-part-that-nobody-imports", "numpy", (), numpys(codes, aside("mfplat.dll"), project("train.py", "import numpy\nimport codes\n")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}torchaudio-with-soundfile", "torch", (), torch_of_pip(TORCHAUDIO, SOUNDFILE, LISTENS), runs=script(), folder=PROJECT),
    Scene(f"{ODD}answer-as-wav-without-ffmpeg", "numpy", (), numpys(PYDUB, speaks("wav")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}gloo-on-windows", "torch", (), torch_of_pip(gathers("gloo")), runs=script(), folder=PROJECT),
    Scene(f"{ODD}package-for-both-systems", "numpy", (), numpys(package("fastserve", GUARDED), FOR_LINUX), runs=script(), folder=PROJECT),
)  # fmt: skip
