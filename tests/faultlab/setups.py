"""Healthy machines: throw-away environments of real wheels, system copies and toolkits, to plant a fault on."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faultlab import standins, wheels
from tests.faultlab.machine import NOBODY
from tests.faultlab.standins import Driver
from tests.faultlab.wheels import Wheel

HOME = "/home/ada"
LIBRARIES = "lib64"
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


@dataclass
class Lab:
    """One machine in the making: ``tree`` is laid over the real one (see machine.py)."""

    tree: Path
    environment: dict[str, str] = field(default_factory=dict)
    """Variables of the consumer."""
    gone_after_cache: list[str] = field(default_factory=list)
    """Files that vanish after ldconfig ran."""
    pythons: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Files and folders in the home that belong to somebody else; everything else there is the user's own."""

    def at(self, path: str) -> Path:
        """Return where the machine's ``path`` lies while the machine is being built."""
        return self.tree / path.lstrip("/")

    def write(self, path: str, text: str) -> Path:
        """Write a small file of the machine."""
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def search(self, folder: str, name: str) -> None:
        """Name a folder in /etc/ld.so.conf.d, as a package would."""
        self.write(f"/etc/ld.so.conf.d/{name}.conf", folder + "\n")


@dataclass(frozen=True)
class Site:
    """The folder of packages of one environment."""

    folder: Path
    shown: str
    """The folder's path on the machine."""

    @property
    def cudnn(self) -> Path:
        """Where cuDNN's wheels put their libraries."""
        return self.folder / "nvidia" / "cudnn" / "lib"


def machine(tree: Path, how: Driver | None) -> Lab:
    """Build a machine with one GPU and its driver, or with neither."""
    lab = Lab(tree)
    lab.at(HOME).mkdir(parents=True)
    lab.write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    lab.write("/etc/ld.so.conf.d/libc.conf", "/usr/local/lib\n")
    lab.write("/etc/ld.so.conf.d/x86_64-linux-gnu.conf", "/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n")
    _pci(lab, "0000:00:02.0", "0x8086", "0x4680")
    modules(lab, "i915")
    if how:
        gpu(lab)
        driver(lab, how)
    return lab


def give_home(lab: Lab) -> None:
    """Give the user what lies in the home, but for files that are shared with the cache and what belongs to others."""
    if os.getuid() != 0:
        return  # it is the user's already
    foreign = [lab.at(path) for path in lab.others]
    for path in (lab.at(HOME), *lab.at(HOME).rglob("*")):
        shared = not path.is_dir() and path.lstat().st_nlink > 1
        if not shared and not any(f == path or f in path.parents for f in foreign):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def gpu(lab: Lab, bound: str = "nvidia") -> None:
    """Put a GPU on the PCI bus, held by the kernel driver ``bound`` (empty: by none)."""
    device = _pci(lab, "0000:01:00.0", "0x10de", "0x2204")
    if bound:
        lab.write(f"/sys/bus/pci/drivers/{bound}/bind", "")
        lab.at(f"{device}/driver").symlink_to(f"../../drivers/{bound}")


def _pci(lab: Lab, address: str, vendor: str, device: str) -> str:
    folder = f"/sys/bus/pci/devices/{address}"
    for name, value in (("vendor", vendor), ("device", device), ("class", "0x030000")):
        lab.write(f"{folder}/{name}", value + "\n")
    return folder


def modules(lab: Lab, *names: str) -> None:
    """Let the kernel list these modules as loaded."""
    lab.write("/proc/modules", "".join(f"{name} 65536 0 - Live 0x0000000000000000\n" for name in names))
    for name in names:
        lab.write(f"/sys/module/{name}/refcnt", "0\n")


def driver(lab: Lab, how: Driver, *, module: str = "") -> None:
    """Install the driver's libraries, its kernel module's traces (``module``: of another version) and its nodes."""
    driver_files(lab, how)
    kernel_module(lab, module or how.version)
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        lab.write(f"/dev/{name}", "")


def kernel_module(lab: Lab, version: str) -> None:
    """Let the kernel say that NVIDIA's module is loaded."""
    lab.write("/sys/module/nvidia/version", version + "\n")
    modules(lab, "i915", "nvidia", "nvidia_modeset", "nvidia_uvm")
    lab.write(
        "/proc/driver/nvidia/version",
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Thu Aug 28 18:22:39 UTC 2025\n"
        "GCC version:  gcc version 12.2.0\n",
    )


def driver_files(lab: Lab, how: Driver) -> None:
    """Install what a driver's package puts on disk, where container images of NVIDIA's expect it."""
    standins.driver(lab.at("/usr/local/nvidia/lib64"), how)
    standins.smi(lab.at("/usr/local/nvidia/bin/nvidia-smi"), how)
    lab.search("/usr/local/nvidia/lib64", "nvidia")
    lab.environment["PATH"] = "/usr/local/nvidia/bin:/usr/bin:/bin"


def environment(lab: Lab, name: str = "ml") -> Site:
    """Make a Python environment as ``python -m venv --without-pip`` does, in the home folder; the scan is told of it."""
    prefix = f"{HOME}/{name}"
    base = Path(sys.base_prefix) / "bin" / _PYTHON
    binaries = lab.at(f"{prefix}/bin")
    binaries.mkdir(parents=True)
    (binaries / "python").symlink_to(base)
    (binaries / "python3").symlink_to("python")
    version = ".".join(str(n) for n in sys.version_info[:3])
    lab.write(
        f"{prefix}/pyvenv.cfg",
        f"home = {base.parent}\ninclude-system-site-packages = false\nversion = {version}\nexecutable = {base}\n",
    )
    lab.write(f"{prefix}/bin/activate", _activate().replace(_PLACE, prefix))
    shown = f"{prefix}/lib/{_PYTHON}/site-packages"
    lab.at(shown).mkdir(parents=True)
    lab.pythons.append(prefix)
    return Site(lab.at(shown), shown)


_PLACE = "/convalesce/environment"


@functools.cache
def _activate() -> str:
    """Return the activate script that Python itself writes, for an environment at ``_PLACE``."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False, symlinks=True)
        return (
            (Path(folder) / "bin/activate")
            .read_text()
            .replace(os.path.realpath(folder), _PLACE)
            .replace(folder, _PLACE)
        )


def install(site: Site, *which: Wheel) -> Site:
    """Install real wheels: every file hard-linked from the cache."""
    for wheel in which:
        wheels.link_tree(wheels.unpacked(wheel), site.folder)
    return site


def distribution(site: Site, name: str, version: str, requires: Sequence[str], files: Sequence[Path]) -> None:
    """Write the dist-info of a stand-in, with a RECORD of its files."""
    folder = site.folder / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    needs = "".join(f"Requires-Dist: {r}\n" for r in requires)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
    (folder / "WHEEL").write_text(
        "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_28_x86_64\n"
    )
    rows = [f"{path.relative_to(site.folder)},{_digest(path)},{path.stat().st_size}" for path in files]
    rows += [f"{folder.name}/{name},," for name in ("METADATA", "WHEEL", "RECORD")]
    (folder / "RECORD").write_text("\n".join(rows) + "\n")


def _digest(path: Path) -> str:
    raw = hashlib.sha256(path.read_bytes()).digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


_CU12 = ("cublas", "cuda_nvrtc", "cuda_runtime", "cudnn")


def torch(
    site: Site,
    version: str,
    cuda: str,
    cudnn: int,
    requires: Sequence[str],
    *,
    folders: Sequence[str] = _CU12,
    rpath: bool = True,
) -> Site:
    """Install a stand-in of PyTorch: its CUDA libraries by name, DT_NEEDED and DT_RPATH, as the real wheels have them.

    Without ``rpath`` it is a build that relies on the system's own search, as distributions and conda make it.
    """
    major = cuda.split(".", maxsplit=1)[0]
    folder = site.folder / "torch"
    runtime = f"libcudart.so.{major}" if int(major) >= 12 else "libcudart.so.11.0"
    origin = ":".join(f"$ORIGIN/../../nvidia/{name}/lib" for name in folders)
    flags = ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{origin}:$ORIGIN" if rpath else "-Wl,-rpath,$ORIGIN"]
    main, compiler = folder / "lib" / "libtorch_cuda.so", folder / "lib" / "libcaffe2_nvrtc.so"
    wanted = [runtime, f"libcublas.so.{major}", f"libcublasLt.so.{major}", f"libcudnn.so.{cudnn}"]
    standins.library(main, needed=wanted, flags=flags)
    nvrtc = f"libnvrtc.so.{major}" if int(major) >= 12 else "libnvrtc.so.11.2"
    standins.library(compiler, needed=[nvrtc, "libcuda.so.1"], flags=flags)
    about = folder / "version.py"
    about.write_text(f"__version__ = '{version}'\ndebug = False\ncuda = '{cuda}'\ngit_version = ''\nhip = None\n")
    start = folder / "__init__.py"
    start.write_text("from .version import __version__\n")
    distribution(site, "torch", version, requires, [main, compiler, about, start])
    return site


def tensorflow(site: Site, version: str, cudnn: int, requires: Sequence[str]) -> Site:
    """Install a stand-in of TensorFlow: it opens CUDA's libraries by name, through the RUNPATH of its own library."""
    folder = site.folder / "tensorflow"
    names = ["libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", f"libcudnn.so.{cudnn}"]
    source = "".join(f'const char *const name{i} = "{n}";\n' for i, n in enumerate(names))
    origin = ":".join(f"$ORIGIN/../nvidia/{name}/lib" for name in _CU12)
    main = folder / "libtensorflow_cc.so.2"
    standins.library(main, source, flags=["-Wl,--enable-new-dtags", f"-Wl,-rpath,$ORIGIN:{origin}"])
    start = folder / "__init__.py"
    start.write_text(f"__version__ = '{version}'\n")
    distribution(site, "tensorflow", version, requires, [main, start])
    return site


# --- system copies -----------------------------------------------------------------------------------------


def toolkit(lab: Lab, version: str = "12.4", *, searched: bool = True) -> str:
    """Install CUDA's runtime libraries as NVIDIA's installer does; return the folder of its libraries."""
    root = f"/usr/local/cuda-{version}"
    folder = f"{root}/{LIBRARIES}"
    for wheel, names in (
        (wheels.CUDART_12, {"libcudart.so.12": "libcudart.so.12.4.127"}),
        (
            wheels.CUBLAS_12,
            {"libcublas.so.12": "libcublas.so.12.4.5.8", "libcublasLt.so.12": "libcublasLt.so.12.4.5.8"},
        ),
        (
            wheels.NVRTC_12,
            {"libnvrtc.so.12": "libnvrtc.so.12.4.127", "libnvrtc-builtins.so.12.4": "libnvrtc-builtins.so.12.4.127"},
        ),
    ):
        for source in sorted(wheels.unpacked(wheel).glob("nvidia/*/lib/*.so*")):
            if source.name in names:
                versioned(lab, source, folder, names[source.name])
    lab.write(f"{root}/version.json", '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}\n')
    lab.at("/usr/local/cuda").symlink_to(f"cuda-{version}")
    if searched:
        lab.search(folder, f"cuda-{version.replace('.', '-')}")
    return folder


def versioned(lab: Lab, source: Path, folder: str, name: str) -> Path:
    """Put a library under its full name, with the links that a package makes; return the real file."""
    real = lab.at(f"{folder}/{name}")
    real.parent.mkdir(parents=True, exist_ok=True)
    wheels.link(source, real)
    (real.parent / source.name).symlink_to(name)
    stem = source.name.split(".so")[0] + ".so"
    if stem != source.name and not (real.parent / stem).is_symlink():
        (real.parent / stem).symlink_to(source.name)
    return real


def system_cudnn(lab: Lab, wheel: Wheel, folder: str, *, searched: bool = True) -> Path:
    """Unpack a cuDNN archive's worth of files into ``folder``: libraries with their links, headers in ../include."""
    version = ".".join(wheel.version.split(".")[:3])
    major = version.split(".")[0]
    inside = wheels.unpacked(wheel) / "nvidia" / "cudnn"
    for source in sorted((inside / "lib").glob("*.so.*")):
        versioned(lab, source, folder, source.name.removesuffix(f".{major}") + f".{version}")
    include = lab.at(folder).parent / "include"
    include.mkdir(exist_ok=True)
    for header in (inside / "include").glob("*.h"):
        wheels.link(header, include / header.name)
    if searched:
        lab.search(folder, folder.strip("/").replace("/", "-"))
    return lab.at(folder)


# --- the usual bases ---------------------------------------------------------------------------------------

RUNTIME = (wheels.CUBLAS_12, wheels.NVRTC_12, wheels.CUDART_12)
TORCH_2_6 = (
    "nvidia-cuda-nvrtc-cu12==12.4.127",
    "nvidia-cuda-runtime-cu12==12.4.127",
    "nvidia-cudnn-cu12==9.1.0.70",
    "nvidia-cublas-cu12==12.4.5.8",
)
"""What torch 2.6.0 requires, as published."""
TF_2_17 = ("nvidia-cudnn-cu12==8.9.7.29; extra == 'and-cuda'",)
TORCH_2_8 = ("nvidia-cudnn-cu12==9.10.2.21",)
TORCH_2_13 = ("nvidia-cudnn-cu13==9.20.0.48",)


def torch_9(lab: Lab, name: str = "ml", cudnn: Wheel | None = wheels.CUDNN_9_1) -> Site:
    """torch 2.6.0 with the wheels that it pins: cuDNN 9.1.0.70 for CUDA 12.4."""
    site = install(environment(lab, name), *RUNTIME, *([cudnn] if cudnn else []))
    return torch(site, "2.6.0", "12.4", 9, TORCH_2_6)


def tensorflow_8(lab: Lab, name: str = "tf", cudnn: Wheel | None = wheels.CUDNN_8_9) -> Site:
    """tensorflow 2.17.1 with cuDNN 8.9.7.29 for CUDA 12."""
    site = install(environment(lab, name), *RUNTIME, *([cudnn] if cudnn else []))
    return tensorflow(site, "2.17.1", 8, TF_2_17)


def torch_13(lab: Lab, name: str = "ml") -> Site:
    """torch 2.13.0 with nvidia-cudnn-cu13 9.20.0.48; CUDA 13's other libraries are stand-ins."""
    site = install(environment(lab, name), wheels.CUDNN_9_20_CUDA_13)
    folder = site.folder / "nvidia" / "cu13" / "lib"
    made = {
        "nvidia-cublas": ["libcublas.so.13", "libcublasLt.so.13"],
        "nvidia-cuda-nvrtc": ["libnvrtc.so.13", "libnvrtc-builtins.so.13.0"],
        "nvidia-cuda-runtime": ["libcudart.so.13"],
    }
    for name_, files in made.items():
        for file in files:
            standins.library(folder / file)
        distribution(site, name_, "13.0.96", (), [folder / file for file in files])
    return torch(site, "2.13.0", "13.0", 9, TORCH_2_13, folders=("cudnn", "cu13"))


def plain_torch(lab: Lab, version: str = "2.8.0", cuda: str = "12.8", requires: Sequence[str] = ()) -> Site:
    """A build of torch that brings no libraries of NVIDIA's and takes the system's."""
    return torch(environment(lab), version, cuda, 9, requires, rpath=False)
