"""How frameworks were built, from the files that their wheels have; machine code from a real ELF file of gcc."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from core.model.facts import Distribution, FrameworkBuild, PythonEnvironment
from core.probes.python.builds import framework_builds, read_all
from core.probes.python.installed.distributions import find_distributions
from core.probes.sysroot import Sysroot
from tests.probes.request import write

SITE = "/e/lib/python3.11/site-packages"
TORCH = "from typing import Optional\n\n__all__ = ['__version__', 'cuda']\n__version__ = '{}'\ndebug = False\ncuda: Optional[str] = {}\ngit_version = 'a1cb'\nhip: Optional[str] = {}\n"
TF_PAIRS = "build_info = collections.OrderedDict([('cpu_compiler', '/usr/bin/clang'), ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True)])\n"
TF_DICT = (
    'build_info = collections.OrderedDict({"cuda_version": "11.2", "cudnn_version": "8", "is_cuda_build": True})\n'
)
TF_CPU = "build_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', False)])\n"
ORT = "package_name = '{}'\n__version__ = '{}'\n"
PADDLE = "full_version     = '2.6.2'\ncuda_version     = '{}'\ncudnn_version    = '{}'\n"


def read(
    root: Path, names: dict[str, str], files: dict[str, str | bytes], system="linux"
) -> tuple[FrameworkBuild, ...]:
    """Return the builds of an environment with these distributions (name -> version) and files."""
    for file, content in files.items():
        write(root, f"{SITE}/{file}", content)
    python = PythonEnvironment(
        prefix="/e", distributions=tuple(Distribution(name=n, version=v, location=SITE) for n, v in names.items())
    )
    return framework_builds(python, Sysroot(system=system, root=str(root)))


BUILD_INFO = "tensorflow/python/platform/build_info.py"


@pytest.mark.parametrize(
    ("name", "version", "files", "cuda", "more"),
    [
        ("torch", "2.8.0", {"torch/version.py": TORCH.format("2.8.0+cu128", "'12.8'", "None")}, "12.8", {"version": "2.8.0+cu128"}),
        ("torch", "2.13.0+cpu", {"torch/version.py": TORCH.format("2.13.0+cpu", "None", "None")}, "", {}),
        ("torch", "1.4.0", {"torch/version.py": "__version__ = '1.4.0'\ndebug = False\ncuda = '10.1'\n"}, "10.1", {}),
        ("torch", "2.6.0+rocm6.2", {"torch/version.py": TORCH.format("2.6.0+rocm6.2", "None", "'6.2.4'")}, "", {"other": "ROCm 6.2.4"}),
        ("torch", "2.6.0", {"torch/version.py": TORCH.format("2.13.0+cpu", "None", "None")}, "", {"really": "torch 2.13.0+cpu", "version": "2.6.0"}),
        ("torch", "2.6.0", {"torch/version.py": b"\xff\xfe\x00\x01"}, None, {}),
        ("torch", "2.6.0", {}, None, {}),
        ("tensorflow", "2.18.0", {BUILD_INFO: TF_PAIRS}, "12.5.1", {"cudnn": "9"}),
        ("tensorflow-gpu", "2.10.0", {BUILD_INFO: TF_DICT}, "11.2", {"cudnn": "8"}),
        ("tensorflow-cpu", "2.18.0", {BUILD_INFO: TF_CPU}, "", {}),
        ("tensorflow", "2.18.0", {BUILD_INFO: "build_info = {}\n"}, None, {}),
        ("onnxruntime", "1.31.1", {"onnxruntime/capi/build_and_package_info.py": ORT.format("onnxruntime", "1.31.1")}, "", {}),
        ("onnxruntime-gpu", "1.31.1", {"onnxruntime/capi/build_and_package_info.py": ORT.format("onnxruntime-gpu", "1.31.1") + "cuda_version = '13.0'\n"}, "13.0", {"really": ""}),
        ("onnxruntime-gpu", "1.31.1", {"onnxruntime/capi/build_and_package_info.py": ORT.format("onnxruntime", "1.30.0")}, "", {"really": "onnxruntime 1.30.0"}),
        ("paddlepaddle-gpu", "2.6.2", {"paddle/version/__init__.py": PADDLE.format("11.8", "8.6.0")}, "11.8", {"cudnn": "8.6.0"}),
        ("paddlepaddle", "2.6.2", {"paddle/version/__init__.py": PADDLE.format("False", "False")}, "", {"cudnn": None}),
        ("cupy-cuda12x", "14.2.0", {}, "12", {}),
        ("cupy-cuda102", "8.6.0", {}, "10.2", {}),
        ("ctranslate2", "4.8.5", {"ctranslate2.libs/libctranslate2-a7a60d30.so.4.8.5": b"\x7fELF"}, "12", {}),
        ("ctranslate2", "4.8.5", {}, None, {}),
    ],
)  # fmt: skip
def test_builds(tmp_path: Path, name, version, files, cuda, more):
    (build,) = read(tmp_path, {name: version}, files)
    assert build.cuda == cuda
    assert {k: getattr(build, k) for k in more} == more


def test_jax_is_what_its_plugin_is(tmp_path: Path):
    assert [b.cuda for b in read(tmp_path, {"jax": "0.10.2"}, {}) if b.distribution == "jax"] == [""]
    both = read(tmp_path, {"jax": "0.10.2", "jax-cuda13-plugin": "0.10.2"}, {})
    assert [(b.distribution, b.cuda) for b in both] == [("jax", "13"), ("jax-cuda13-plugin", "13")]


def test_what_a_framework_brings_itself(tmp_path: Path):
    files = {
        "ctranslate2.libs/libctranslate2-1e22bce9.so.4.4.0": b"\x7fELF",
        "ctranslate2.libs/libcudnn-f0ff4753.so.8.1.1": b"\x7fELF",
        "ctranslate2.libs/libgomp-a34b3233.so.1.0.0": b"\x7fELF",
    }
    (build,) = read(tmp_path, {"ctranslate2": "4.4.0"}, files)
    assert build.bundled == ("libcudnn-f0ff4753.so.8.1.1",)
    files = {"torch/lib/cudnn64_9.dll": b"MZ", "torch/lib/cublasLt64_12.dll": b"MZ", "torch/lib/c10.dll": b"MZ"}
    (build,) = read(tmp_path, {"torch": "2.6.0"}, files, system="windows")
    assert build.bundled == ("cublasLt64_12.dll", "cudnn64_9.dll")


def test_opencv_without_any_cuda_library_is_a_cpu_build(tmp_path: Path):
    library = write(tmp_path, f"{SITE}/cv2/cv2.abi3.so")
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", library, "-Wl,--no-as-needed", "-lm"], check=True)
    (build,) = read(tmp_path, {"opencv-python": "4.12.0"}, {})
    assert build.cuda == ""
    (build,) = read(tmp_path / "b", {"opencv-python": "4.12.0"}, {"cv2/cv2.abi3.so": b"no library"})
    assert build.cuda is None


def test_machine_code_is_read_from_the_library(tmp_path: Path):
    """One fat binary with machine code for 8.0 and 9.0 and PTX for 9.0, as nvcc lays it out."""

    def entry(kind: int, architecture: int) -> bytes:
        return struct.pack("<HHIQ12xI", kind, 0x101, 64, 16, architecture).ljust(64, b"\0") + bytes(16)

    body = entry(2, 80) + entry(2, 90) + entry(1, 90)
    fat = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
    data = tmp_path / "fat"
    data.write_bytes(fat)
    source = tmp_path / "a.s"
    source.write_text(f'.section .nv_fatbin,"a"\n.incbin "{data}"\n')
    library = write(tmp_path, f"{SITE}/torch/lib/libtorch_cuda.so")
    subprocess.run(["gcc", "-shared", source, "-o", library], check=True)
    (build,) = read(tmp_path, {"torch": "2.8.0"}, {})
    assert (build.sass, build.ptx) == ((80, 90), (90,))
    python = PythonEnvironment(prefix="/e", distributions=(Distribution(name="torch", version="2.8.0", location=SITE),))
    (late,) = read_all((python,), Sysroot(system="linux", root=str(tmp_path)), 0.0, lambda: 1.0)
    assert (late.binary, late.sass) == (f"{SITE}/torch/lib/libtorch_cuda.so", None)


def test_requirements_on_packages_that_matter_are_kept_apart(tmp_path: Path):
    write(
        tmp_path,
        "/s/torchvision-0.23.0.dist-info/METADATA",
        "Name: torchvision\nVersion: 0.23.0\nRequires-Dist: pillow\nRequires-Dist: torch==2.8.0\nRequires-Dist: Nvidia_cudnn_cu12 ==9.1\n",
    )
    (found,) = find_distributions("/s", Sysroot(system="linux", root=str(tmp_path))) or ()
    assert (found.pins, found.requires) == (("torch==2.8.0",), ("Nvidia_cudnn_cu12 ==9.1",))


def sectioned(*sections: tuple[int, int]) -> bytes:
    """Return the headers of a DLL with these sections: bytes in memory, and whether they may be written."""
    head = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", 0x8664, len(sections), 0, 0, 0, 112, 0x2022) + struct.pack("<H", 0x20B).ljust(
        112, b"\0"
    )
    for n, (size, writable) in enumerate(sections):
        flags = 0x40000000 | (0x80000000 if writable else 0)
        head += struct.pack("<8sIIII12xI", b".s%d" % n, size, 4096 * (n + 1), 0, 0, flags)
    return head


def test_what_windows_must_promise_for_torch(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "torch/version.py": TORCH.format("2.8.0+cu128", "'12.8'", "None"),
        "torch/lib/torch_cuda.dll": sectioned((900, False), (2000, True)),
        "torch/lib/cudnn64_9.dll": sectioned((30, True)),
        "torch/lib/damaged.dll": b"MZ",
        "torch/lib/torch_cuda.lib": sectioned((5000, True)),
    }
    (found,) = read(tmp_path, {"torch": "2.8.0"}, files, "windows")
    assert found.commit == 2030
    assert [b.commit for b in read(tmp_path, {"torch": "2.8.0"}, {})] == [None]
