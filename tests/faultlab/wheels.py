"""The cache of real NVIDIA wheels: fetched by name and version, checked by hash, unpacked once, then only hard-linked."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.lock import made_once


@dataclass(frozen=True)
class Wheel:
    """One published wheel, and the SHA-256 of its file."""

    name: str
    version: str
    tag: str
    sha256: str
    python: str = "py3-none"

    @property
    def file(self) -> str:
        """The wheel's file name."""
        return f"{self.name.replace('-', '_')}-{self.version}-{self.python}-{self.tag}.whl"


CUDNN_8_9 = Wheel(
    "nvidia-cudnn-cu12",
    "8.9.7.29",
    "manylinux1_x86_64",
    "adf4f59ed7a1341103822ed8df6e144f4d47ea8b10d9bf0ea0047ba738fd7b02",
)
CUDNN_9_1 = Wheel(
    "nvidia-cudnn-cu12",
    "9.1.0.70",
    "manylinux2014_x86_64",
    "165764f44ef8c61fcdfdfdbe769d687e06374059fbb388b6c89ecb0e28793a6f",
)
CUDNN_9_1_CUDA_11 = Wheel(
    "nvidia-cudnn-cu11",
    "9.1.0.70",
    "manylinux2014_x86_64",
    "e6135ac63fe9d5b0b89cfb35c3fc1c1349f2b995becadf2e9dc21bca89d9633d",
)
CUDNN_9_10 = Wheel(
    "nvidia-cudnn-cu12",
    "9.10.2.21",
    "manylinux_2_27_x86_64",
    "949452be657fa16687d0930933f032835951ef0892b37d2d53824d1a84dc97a8",
)
CUDNN_9_20_CUDA_13 = Wheel(
    "nvidia-cudnn-cu13",
    "9.20.0.48",
    "manylinux_2_27_x86_64",
    "0c45dd8eeb50b603f07995b1b300c62ffe6a1980482b82b3bcf94a4ca9d49304",
)
CUDNN_9_21_CUDA_13 = Wheel(
    "nvidia-cudnn-cu13",
    "9.21.1.3",
    "manylinux_2_27_x86_64",
    "7fa0250b9b0841d4ce41486d777d01160247235ddb8e2ea89e5fcfa4b4c66cd4",
)
CUBLAS_11 = Wheel(
    "nvidia-cublas-cu11",
    "11.11.3.6",
    "manylinux2014_x86_64",
    "60252822adea5d0b10cd990a7dc7bedf7435f30ae40083c7a624a85a43225abc",
)
CUBLAS_12 = Wheel(
    "nvidia-cublas-cu12",
    "12.4.5.8",
    "manylinux2014_x86_64",
    "2fc8da60df463fdefa81e323eef2e36489e1c94335b5358bcb38360adf75ac9b",
)
NVRTC_12 = Wheel(
    "nvidia-cuda-nvrtc-cu12",
    "12.4.127",
    "manylinux2014_x86_64",
    "a178759ebb095827bd30ef56598ec182b85547f1508941a3d560eb7ea1fbf338",
)
CUDART_12 = Wheel(
    "nvidia-cuda-runtime-cu12",
    "12.4.127",
    "manylinux2014_x86_64",
    "64403288fa2136ee8e467cdc9c9427e0434110899d07c779f25b5c068934faa5",
)


def cache() -> Path:
    """Return the cache's folder: CONVALESCE_CACHE, or ~/.cache/convalesce."""
    named = os.environ.get("CONVALESCE_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "convalesce"


def unpacked(wheel: Wheel) -> Path:
    """Return the folder that holds the wheel's files, fetching and unpacking it first where needed. Never alter it."""

    def unpack(folder: Path) -> None:
        with zipfile.ZipFile(fetched(wheel)) as contents:
            contents.extractall(folder)

    return made_once(cache() / "unpacked" / wheel.file, unpack)


def fetched(wheel: Wheel) -> Path:
    """Return a wheel of the cache, fetched first where needed, by its hash."""
    archive = cache() / "wheels" / wheel.file
    if not archive.is_file():
        archive.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        platform = () if wheel.tag == "any" else ("--platform", wheel.tag)
        command += [*platform, "--python-version", "3.11", "--dest", str(archive.parent)]
        subprocess.run([*command, f"{wheel.name}=={wheel.version}"], check=True, stdout=sys.stderr)
    with archive.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != wheel.sha256:
        raise RuntimeError(f"{archive} is not the wheel that was published: remove it and try again.")
    return archive


def link_tree(source: Path, target: Path) -> None:
    """Hard-link every file under ``source`` into ``target``; folders that exist are filled up."""
    for place, _folders, files in os.walk(source):
        folder = target / Path(place).relative_to(source)
        folder.mkdir(parents=True, exist_ok=True)
        for name in files:
            link(Path(place, name), folder / name)


def link(source: Path, target: Path) -> None:
    """Hard-link one file, replacing what is there; copy where the two lie on different volumes."""
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


def own(path: Path) -> Path:
    """Give ``path`` bytes of its own, so that altering it cannot reach the cache; return it."""
    half = path.with_name(f".half-{path.name}")
    shutil.copy2(path, half)
    half.replace(path)
    return path
