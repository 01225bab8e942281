"""Environments that are laid out: real metadata of published wheels, and small stand-ins of their libraries (gcc)."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import struct
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests import standin

METADATA = {
    (d["name"], d["version"]): tuple(d["requires"])
    for d in json.loads((Path(__file__).parent / "metadata.json").read_text())
}
"""What published wheels require of packages that matter here, as their own metadata has it."""

CODE = (70, 75, 80, 86, 90)
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
BASE = Path(getattr(sys, "_base_executable", sys.executable)).resolve()


@dataclass(frozen=True)
class Site:
    """One environment."""

    prefix: Path

    @property
    def folder(self) -> Path:
        """Its folder of packages."""
        return self.prefix / "lib" / f"python{VERSION}" / "site-packages"

    def file(self, path: str, content: str = "") -> Path:
        """Write one file among the packages."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        return target

    def package(self, name: str, version: str) -> None:
        """Record a distribution with its real requirements; "torch 2.8.0+cu128" has those of 2.8.0."""
        requires = METADATA.get((name, version)) or METADATA.get((name, version.partition("+")[0]), ())
        standin.record_wheel(self.folder, name, version, [], requires)


def venv(prefix: Path, home: Path | None = None) -> Site:
    """Make a virtual environment of this Python; ``home`` names another base."""
    site = Site(prefix)
    site.folder.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(BASE if home is None else home / "python")
    (prefix / "pyvenv.cfg").write_text(
        f"home = {home or BASE.parent}\ninclude-system-site-packages = false\nversion = {VERSION}.0\n"
    )
    return site


def conda(prefix: Path) -> Site:
    """Lay out an environment as conda does."""
    site = Site(prefix)
    site.folder.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(BASE)
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / f"python-{VERSION}.9-h_0_cpython.json").write_text("{}")
    return site


@functools.cache
def _fat(sass: tuple[int, ...]) -> Path:
    """Return an assembler file with one fat binary that has empty machine code for these architectures."""
    body = b"".join(struct.pack("<HHIQ12xI", 2, 0x101, 64, 16, a).ljust(64, b"\0") + bytes(16) for a in sass)
    work = Path(tempfile.mkdtemp(prefix="envlab-"))
    atexit.register(shutil.rmtree, work, ignore_errors=True)
    (work / "fat").write_bytes(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body)
    (work / "fat.s").write_text(
        f'.section .nv_fatbin,"a"\n.incbin "{work / "fat"}"\n.section .note.GNU-stack,"",@progbits\n'
    )
    return work / "fat.s"


def gpu_library(site: Site, path: str, cudnn: int, sass: tuple[int, ...], *flags: str) -> None:
    """Build a framework's GPU library: it needs cuDNN by name and holds machine code."""
    with tempfile.TemporaryDirectory() as work:
        stub = standin.build_library(Path(work) / standin.file_name("", cudnn))
        standin.build_library(site.folder / path, needed=(stub, _fat(sass)), flags=flags)


XLA_OPENS = (
    ("cuda_runtime", "nvidia-cuda-runtime-cu12", "12.5.82", "libcudart.so.12"),
    ("cufft", "nvidia-cufft-cu12", "11.2.3.61", "libcufft.so.11"),
    ("cusolver", "nvidia-cusolver-cu12", "11.6.3.83", "libcusolver.so.11"),
    ("cusparse", "nvidia-cusparse-cu12", "12.5.1.3", "libcusparse.so.12"),
    ("nccl", "nvidia-nccl-cu12", "2.21.5", "libnccl.so.2"),
)
"""Folder, wheel, version and library of CUDA 12 that XLA opens by name when it starts, beside cuBLAS and cuDNN."""

_WHEELS = ("cudnn", "cuda_nvrtc", "cublas", *(folder for folder, *_ in XLA_OPENS))
_FOLDERS = ":".join(f"$ORIGIN/{{0}}nvidia/{name}/lib" for name in _WHEELS)
RPATH = "-Wl,--disable-new-dtags,-rpath," + _FOLDERS.format("../../")
RUNPATH = "-Wl,--enable-new-dtags,-rpath," + _FOLDERS.format("../../")
ONE_UP = "-Wl,--enable-new-dtags,-rpath," + _FOLDERS.format("../")


def cudnn(site: Site, wheel: str, cuda: str, sass: tuple[int, ...] = CODE) -> None:
    """Install stand-ins of the wheels of cuDNN, and of NVRTC and cuBLAS, which cuDNN opens."""
    major = cuda.split(".", maxsplit=1)[0]
    standin.install_cudnn(site.folder, wheel, int(major), sass=sass)
    folder = site.folder / "nvidia" / "cuda_nvrtc" / "lib"
    main = standin.build_library(folder / f"libnvrtc.so.{major}")
    builtins = standin.build_library(folder / f"libnvrtc-builtins.so.{cuda}")
    standin.record_wheel(site.folder, f"nvidia-cuda-nvrtc-cu{major}", f"{cuda}.93", [main, builtins])
    folder = site.folder / "nvidia" / "cublas" / "lib"
    both = [standin.build_library(folder / f"{name}.so.{major}") for name in ("libcublasLt", "libcublas")]
    standin.record_wheel(site.folder, f"nvidia-cublas-cu{major}", f"{cuda}.4.1", both)


def toolkit(site: Site) -> None:
    """Install stand-ins of the further wheels of CUDA 12 that XLA's frameworks require."""
    for folder, wheel, version, library in XLA_OPENS:
        built = standin.build_library(site.folder / "nvidia" / folder / "lib" / library)
        standin.record_wheel(site.folder, wheel, version, [built])
    bitcode = site.file("nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc", "")
    bitcode.write_bytes(b"BC\xc0\xde" + bytes(60))
    standin.record_wheel(site.folder, "nvidia-cuda-nvcc-cu12", "12.5.82", [bitcode])


TRITON = {"2.6.0": "3.2.0", "2.8.0": "3.4.0"}
"""Release of PyTorch -> the Triton that its wheel for Linux pins."""


def torch(
    site: Site,
    version: str,
    cuda: str,
    wheel: str | None = None,
    *,
    major: int = 9,
    sass: tuple[int, ...] = CODE,
    way: str = RPATH,
) -> Site:
    """Install a stand-in of PyTorch, and of the cuDNN wheel ``wheel``; without ``cuda`` its CPU build."""
    site.package("torch", version)
    shown = f"'{cuda}'" if cuda else "None"
    site.file(
        "torch/version.py", f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {shown}\nhip = None\n"
    )
    if cuda:
        gpu_library(site, "torch/lib/libtorch_cuda.so", major, sass, way)
        if version.partition("+")[0] in TRITON:
            site.package("triton", TRITON[version.partition("+")[0]])
    if wheel:
        cudnn(site, wheel, cuda, sass)
    return site


def tensorflow(site: Site, version: str, wheel: str | None) -> Site:
    """Install a stand-in of TensorFlow for CUDA 12.5 with the extra and-cuda."""
    site.package("tensorflow", version)
    info = "[('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True)]"
    site.file("tensorflow/python/platform/build_info.py", f"build_info = collections.OrderedDict({info})\n")
    standin.build_library(
        site.folder / "tensorflow/libtensorflow_cc.so.2", needed=(_fat(CODE),), flags=("-Wl,-rpath,$ORIGIN",)
    )
    standin.build_library(site.folder / "tensorflow/libtensorflow_framework.so.2", flags=(ONE_UP,))  # calls dlopen
    own = "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../"
    standin.build_library(site.folder / "tensorflow/python/_pywrap_tensorflow_internal.so", flags=(own,))
    if wheel:
        cudnn(site, wheel, "12.5")
        toolkit(site)
    return site


def jax(site: Site, version: str, plugin: str = "", wheel: str | None = None) -> Site:
    """Install stand-ins of JAX and, if named, of its CUDA plugin."""
    site.package("jax", version)
    site.package("jaxlib", version)
    if plugin:
        site.package(plugin, version)
        site.package(plugin.replace("plugin", "pjrt"), version)
        gpu_library(site, "jax_plugins/xla_cuda12/xla_cuda_plugin.so", 9, CODE, RPATH)
    if wheel:
        cudnn(site, wheel, "12.5")
        toolkit(site)
    return site


def onnxruntime(site: Site, *packages: str, files: str, version: str = "1.20.1") -> Site:
    """Install these distributions, of which ``files`` was written last."""
    for name in packages:
        site.package(name, version)
    cuda = "cuda_version = '12.2'\n" if files.endswith("-gpu") else ""
    about = f"package_name = '{files}'\n__version__ = '{version}'\n{cuda}"
    site.file("onnxruntime/capi/build_and_package_info.py", about)
    if cuda:
        gpu_library(site, "onnxruntime/capi/libonnxruntime_providers_cuda.so", 9, CODE, RPATH)
    return site


def ctranslate2(site: Site, version: str, *, shim: int | None, wheel: str | None = None) -> Site:
    """Install stand-ins of CTranslate2 and faster-whisper; ``shim`` is the cuDNN whose main library alone lies in it."""
    site.package("ctranslate2", version)
    site.package("faster-whisper", "1.1.1")
    libraries = site.folder / "ctranslate2.libs"
    if shim:
        with tempfile.TemporaryDirectory() as work:
            whole = standin.build_cudnn(Path(work) / "set", "8.9.7", 12)
            libraries.mkdir(parents=True)
            source = whole / standin.file_name("", shim)
            (libraries / source.name).write_bytes(source.read_bytes())
    gpu_library(site, f"ctranslate2.libs/libctranslate2-1e22bce9.so.{version}", shim or 9, CODE, "-Wl,-rpath,$ORIGIN")
    if wheel:
        cudnn(site, wheel, "12.5")
    return site
