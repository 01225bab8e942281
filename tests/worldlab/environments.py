"""The master environments: installed once by uv, never altered; a scene works on a copy by hard links.

They lie in the cache's folder ``world`` beside uv's own store, so that one file of NVIDIA's is on the disk once for all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from installer.by_hand import by_hand
from tests.faultlab.wheels import cache
from tests.lock import one_at_a_time

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

CUDA_12_8 = (
    *("nvidia-cudnn-cu12==9.10.2.21", "nvidia-cublas-cu12==12.8.4.1", "nvidia-cuda-nvrtc-cu12==12.8.93"),
    *("nvidia-cuda-runtime-cu12==12.8.90", "nvidia-cuda-cupti-cu12==12.8.90", "nvidia-cufft-cu12==11.3.3.83"),
    *("nvidia-curand-cu12==10.3.9.90", "nvidia-cusolver-cu12==11.7.3.90", "nvidia-cusparse-cu12==12.5.8.93"),
    *("nvidia-nccl-cu12==2.27.3", "nvidia-nvjitlink-cu12==12.8.93", "nvidia-cuda-nvcc-cu12==12.8.93"),
)
"""What torch 2.8.0 pins; the others take ranges and are given the same, so that it is fetched and kept once."""
WITHOUT_SOLVERS = CUDA_12_8[:4]

ENVIRONMENTS: Mapping[str, Sequence[Sequence[str]]] = {
    "ctranslate2": (("ctranslate2==4.8.2", *CUDA_12_8[:2]),),
    "cupy": (("cupy-cuda12x==13.6.0", *CUDA_12_8),),
    "cupy-alone": (("cupy-cuda12x==13.6.0",),),
    "onnxruntime-1.20": (("onnxruntime-gpu==1.20.0", *CUDA_12_8),),
    "onnxruntime-1.23": (("onnxruntime-gpu==1.23.2", *CUDA_12_8),),
    "torch-2.8": (("torch==2.8.0", "torchvision==0.23.0", "torchaudio==2.8.0", "xformers==0.0.32.post2", "bitsandbytes==0.47.0", "packaging==25.0", "numpy==2.2.6"),),
    "jax": (("jax[cuda12]==0.7.2", *CUDA_12_8),),
    "tensorflow": (("tensorflow[and-cuda]==2.20.0", *CUDA_12_8),),
    "torch-2.6": (("torch==2.6.0", "torchvision==0.21.0", "numpy==2.2.6"),),
    "hub": (("torch==2.6.0", "transformers==4.51.3", "accelerate==1.6.0", "datasets==3.6.0", "numpy==2.2.6"),),
}  # fmt: skip
"""Name -> the arguments of one ``uv pip install`` after another, as a person would have given them."""


def home() -> Path:
    """Return the folder of the masters and copies."""
    return cache() / "world"


def site(prefix: Path) -> Path:
    """Return an environment's folder of packages."""
    return prefix / "lib" / f"python{VERSION}" / "site-packages"


def uv(*arguments: str) -> None:
    """Run uv with the lab's own store of unpacked wheels."""
    own = Path(sys.executable).with_name("uv")
    settings = {"UV_CACHE_DIR": str(home() / "store"), "UV_LINK_MODE": "hardlink", "UV_HTTP_TIMEOUT": "600"}
    command = [str(own) if own.exists() else "uv", *arguments]
    subprocess.run(command, check=True, env={**os.environ, **settings}, stdout=sys.stderr)


def master(name: str) -> Path:
    """Return the environment of this name, installed first where it is not yet. Never alter it."""
    home().mkdir(parents=True, exist_ok=True)
    prefix, mark = home() / name, home() / name / "world.json"
    wanted = json.dumps([sys.version, *map(list, ENVIRONMENTS[name])])
    with one_at_a_time(home() / f".lock-{name}"):
        if not mark.is_file() or mark.read_text() != wanted:
            uv("venv", "--quiet", "--clear", "--python", sys.executable, str(prefix))
            for arguments in ENVIRONMENTS[name]:
                uv("pip", "install", "--quiet", "--python", str(prefix), *arguments)
            mark.write_text(wanted)
    return prefix


@contextmanager
def copied(name: str, scene: str) -> Iterator[Path]:
    """Give a scene its folder with the environment of this name in it."""
    with copied_from(master(name), scene) as folder:
        yield folder


@contextmanager
def copied_from(source: Path, scene: str) -> Iterator[Path]:
    """Give a scene its folder with a copy of an environment, ``env``, in it, by hard links; it goes afterwards."""
    folder = home() / "scenes" / f"{scene}-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        shutil.copytree(source, folder / "env", symlinks=True, copy_function=os.link)
        _settle(folder / "env", source)
        (folder / "home").mkdir()
        yield folder
    finally:
        remove(folder)


def _settle(prefix: Path, source: Path) -> None:
    """Let the scripts of a copy name the copy, as if it had been installed there."""
    for path in (prefix / "bin").iterdir():
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if bytes(source) in content and b"\0" not in content:
            mode = path.stat().st_mode
            path.unlink()
            path.write_bytes(content.replace(bytes(source), bytes(prefix)))
            path.chmod(mode)


def remove(folder: Path) -> None:
    """Remove a scene's folder, whatever was closed in it."""
    for place, folders, _files in os.walk(folder):
        for inner in folders:
            if not (path := Path(place, inner)).is_symlink():
                path.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    for wanted_name in by_hand(__doc__, "[NAME...]") or ENVIRONMENTS:
        print(master(wanted_name), flush=True)
