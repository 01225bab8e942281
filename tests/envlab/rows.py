"""The rows of the lab: how an environment is made, what is planted, and the cells and causes that are expected."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests import standin
from tests.envlab import layouts
from tests.envlab.layouts import RUNPATH, Site, conda, venv


@dataclass(frozen=True)
class Row:
    """One environment of the lab. ``cells``: column -> verdict; ``cause``: of the finding that concerns it, or none."""

    name: str
    make: Callable[[Path], Site]
    cells: Mapping[str, str]
    cause: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Set for the scan; ``{prefix}`` is the environment."""
    why: str = ""


def _shim_alone(prefix: Path) -> Site:
    site = layouts.torch(venv(prefix), "2.6.0", "12.4", "9.1.0.70")
    folder = site.folder / "nvidia" / "cudnn" / "lib"
    for file in folder.glob("libcudnn_*"):
        file.unlink()
    return site


def _mixed(prefix: Path) -> Site:
    """cuDNN 9.10 with one library of 9.1, as a later installation leaves it."""
    site = layouts.torch(venv(prefix), "2.8.0+cu128", "12.8", "9.10.2.21")
    folder = site.folder / "nvidia" / "cudnn" / "lib"
    other = standin.build_cudnn(prefix / "other", "9.1.0", 12, sass=layouts.CODE)
    shutil.copy2(other / "libcudnn_ops.so.9", folder / "libcudnn_ops.so.9")
    shutil.rmtree(other)
    return site


def _by_variable(prefix: Path) -> Site:
    """A build whose RUNPATH lets LD_LIBRARY_PATH win, which names an older cuDNN that lacks a library."""
    site = layouts.torch(venv(prefix), "2.8.0+cu128", "12.8", "9.10.2.21", way=RUNPATH)
    other = standin.build_cudnn(prefix / "older", "9.1.0", 12, sass=layouts.CODE)
    (other / "libcudnn_cnn.so.9").unlink()
    return site


def _two_wheels(prefix: Path) -> Site:
    site = layouts.torch(venv(prefix), "2.6.0", "12.4", "9.1.0.70")
    standin.record_wheel(site.folder, "nvidia-cudnn-cu11", "9.1.0.70")
    return site


def _vision(prefix: Path) -> Site:
    site = layouts.torch(venv(prefix), "2.8.0+cu128", "12.8", "9.10.2.21")
    site.package("torchvision", "0.21.0")
    return site


ROWS = (
    Row("torch-cudnn-9.1", lambda p: layouts.torch(venv(p), "2.6.0", "12.4", "9.1.0.70"), {"PyTorch": "should run"}),
    Row("torch-cudnn-9.10", lambda p: layouts.torch(venv(p), "2.8.0+cu128", "12.8", "9.10.2.21"), {"PyTorch": "should run"}),
    Row("torch-cudnn-8", lambda p: layouts.torch(venv(p), "2.2.2+cu121", "12.1", "8.9.2.26", major=8), {"PyTorch": "should run"}),
    Row("torch-cpu", lambda p: layouts.torch(venv(p), "2.13.0+cpu", ""), {"PyTorch": "cpu only"}, "framework_cpu_only_build"),
    Row("torch-for-other-gpus", lambda p: layouts.torch(venv(p), "2.8.0+cu128", "12.8", "9.10.2.21", sass=(90, 100, 120)), {"PyTorch": "cannot run"}, "gpu_arch_too_old"),
    Row("torch-for-cuda-14", lambda p: layouts.torch(venv(p), "9.9.0+cu140", "14.0", "9.10.2.21"), {"PyTorch": "cannot run"}, "driver_too_old"),
    Row("tensorflow-and-cuda", lambda p: layouts.tensorflow(venv(p), "2.18.0", "9.3.0.75"), {"TensorFlow": "should run"}),
    Row("jax-cuda12", lambda p: layouts.jax(venv(p), "0.6.2", "jax-cuda12-plugin", "9.10.2.21"), {"JAX": "should run"}),
    Row("jax-cpu", lambda p: layouts.jax(venv(p), "0.6.2"), {"JAX": "cpu only"}, "framework_cpu_only_build"),
    Row("onnxruntime-cpu-over-gpu", lambda p: layouts.onnxruntime(venv(p), "onnxruntime", "onnxruntime-gpu", files="onnxruntime"), {"ONNX Runtime": "cannot run"}, "duplicate_framework_packages"),
    Row("onnxruntime-gpu-over-cpu", lambda p: layouts.onnxruntime(venv(p), "onnxruntime", "onnxruntime-gpu", files="onnxruntime-gpu"), {"ONNX Runtime": "cannot run"}, "cudnn_not_installed", why="and there is no cuDNN"),
    Row("onnxruntime-cpu", lambda p: layouts.onnxruntime(venv(p), "onnxruntime", files="onnxruntime"), {"ONNX Runtime": "cpu only"}, "framework_cpu_only_build"),
    Row("ctranslate2-4.4-shim-alone", lambda p: layouts.ctranslate2(venv(p), "4.4.0", shim=8), {"CTranslate2": "cannot run"}, "cudnn_sublibrary_missing"),
    Row("ctranslate2-4.6", lambda p: layouts.ctranslate2(venv(p), "4.6.0", shim=None, wheel="9.10.2.21"), {"CTranslate2": "cannot run"}, "cudnn_not_on_search_path", why="its library has no RUNPATH to the wheel"),
    Row("conda-torch", lambda p: layouts.torch(conda(p), "2.6.0", "12.4", "9.1.0.70"), {"PyTorch": "should run"}),
    Row("deleted-base", lambda p: layouts.torch(venv(p, Path("/nowhere/bin")), "2.6.0", "12.4", "9.1.0.70"), {"PyTorch": "not decided"}, "python_environment_broken"),
    Row("two-cudnn-wheels", _two_wheels, {"PyTorch": "not decided"}, "duplicate_framework_packages"),
    Row("torchvision-of-another-torch", _vision, {"PyTorch": "should run"}, "requirement_broken"),
    Row("cudnn-pin-broken", lambda p: layouts.torch(venv(p), "2.8.0+cu128", "12.8", "9.1.0.70"), {"PyTorch": "cannot run"}, "cudnn_minor_too_old"),
    Row("mixed-folder", _mixed, {"PyTorch": "cannot run"}, "mixed_cudnn_sublibraries"),
    Row("shim-alone", _shim_alone, {"PyTorch": "cannot run"}, "cudnn_sublibrary_missing"),
    Row("variable-names-older", _by_variable, {"PyTorch": "cannot run"}, "ld_library_path_override", {"LD_LIBRARY_PATH": "{prefix}/older"}),
)  # fmt: skip
