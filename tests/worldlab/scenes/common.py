"""Classes A to C as people meet them every day: package managers, copies, CUDA of two releases, and folders that stand in front.

The rules were mended with these scenes. Above each row: what people did, in a few words.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.worldlab.environments import uv
from tests.worldlab.scene import Scene, World, both, cuts, imports, installs, lacks, runs, then
from tests.worldlab.scenes.closure import CUDNN, ONNXRUNTIME, TENSORFLOW, TORCH, searched
from tests.worldlab.scenes.held_out_8 import sets, writes

Plant = Callable[[World], None]

# --- what the real programs do ------------------------------------------------------------------------------------------

CUBLAS_OF_CUDNN = runs(
    "import torch, ctypes, os, re, sysconfig\n"
    "part = os.path.join(sysconfig.get_paths()['purelib'], 'nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9')\n"
    "ctypes.CDLL(part, os.RTLD_NOW)\n"
    "ctypes.CDLL(re.search(rb'libcublasLt\\.so\\.\\d+', open(part, 'rb').read())[0].decode())"
)
"""Open what cuDNN's engines open by its name at the first convolution."""
SOUND = imports("torch", "torchaudio")
CTRANSLATE2 = runs("import ctranslate2, ctypes\nfor n in ('libcublas.so.12', 'libcudnn.so.9'): ctypes.CDLL(n)")
PARTS = runs(
    "import ctranslate2, ctypes\nfor n in ('libcudnn.so.9', 'libcudnn_ops.so.9', 'libcudnn_cnn.so.9'): ctypes.CDLL(n)"
)
"""What cuDNN's main library opens by these names at the first convolution."""
WITH_CUDA = runs(
    "import tensorflow as tf; assert tf.test.is_built_with_cuda(), 'this TensorFlow is built without CUDA'"
)
NUMPY = imports("torch", "numpy", "numpy.linalg")
PROVIDERS = runs(
    "import onnxruntime as o; assert 'CUDAExecutionProvider' in o.get_available_providers(), o.get_available_providers()"
)

# --- what people do -----------------------------------------------------------------------------------------------------


def to_target(folder: str, *arguments: str) -> Plant:
    """Install into a folder of one's own, as ``pip install --target`` does."""

    def plant(world: World) -> None:
        target = world.folder / folder
        uv("pip", "install", "--quiet", "--no-deps", "--python", str(world.python), "--target", str(target), *arguments)

    return plant


def drops(*patterns: str) -> Plant:
    """Delete files and folders of the packages."""

    def plant(world: World) -> None:
        for pattern in patterns:
            for path in sorted(world.site.glob(pattern)):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    return plant


def _toolkit(world: World, *packages: str) -> Path:
    """Make a folder as a toolkit's, with the libraries of these packages of NVIDIA's and cuDNN's, which leave the environment."""
    target = world.folder / "cuda" / "lib64"
    target.mkdir(parents=True)
    for package in packages:
        for path in sorted((world.site / "nvidia" / package / "lib").glob("lib*.so*")):
            path.rename(target / path.name)
    shutil.rmtree(world.site / "nvidia")
    for info in world.site.glob("nvidia_*.dist-info"):
        shutil.rmtree(info)
    return target


def by_toolkit(world: World) -> None:
    """Have CUDA and cuDNN in a toolkit's folder alone, and let the loader search it."""
    target = _toolkit(world, "cublas", "cudnn")
    world.variables["LD_LIBRARY_PATH"] = str(target)
    for name in (".profile", ".bashrc"):
        (world.home / name).write_text(f"export LD_LIBRARY_PATH={target}\n")


def full_names(world: World) -> None:
    """Copy cuDNN's files without their links: ``cp libcudnn*.so.9.* /usr/local/cuda/lib64``, and no ldconfig."""
    by_toolkit(world)
    for path in (world.folder / "cuda" / "lib64").glob("libcudnn*.so.9"):
        path.rename(path.with_name(path.name + ".10.2"))


def copied_links(world: World) -> None:
    """Copy what links lead to in their place: three files of one content for each library (``cp`` without ``-d``)."""
    by_toolkit(world)
    for path in sorted((world.folder / "cuda" / "lib64").glob("libcudnn*.so.9")):
        shutil.copy2(path, path.with_name(path.name + ".10.2"))
        shutil.copy2(path, path.with_name(path.name.removesuffix(".9")))


def main_alone(world: World) -> None:
    """Copy cuDNN's main library alone."""
    by_toolkit(world)
    for path in (world.folder / "cuda" / "lib64").glob("libcudnn_*.so.9"):
        path.unlink()


def _mounts(world: World, target: Path, *, cached: bool) -> None:
    """Let ld.so.conf.d name a folder, in a mount of one's own; ``cached``: with ldconfig run afterwards."""
    configuration, cache = world.folder / "ld.so.conf.d", world.folder / "ld.so.cache"
    shutil.copytree("/etc/ld.so.conf.d", configuration)
    shutil.copy2("/etc/ld.so.cache", cache)
    (configuration / "cuda.conf").write_text(f"{target}\n")
    if cached:
        all_of_it = world.folder / "ld.so.conf"
        all_of_it.write_text(f"include {configuration}/*.conf\n")
        subprocess.run(["/sbin/ldconfig", "-X", "-f", str(all_of_it), "-C", str(cache)], check=True)
    script = f'mount --bind "{configuration}" /etc/ld.so.conf.d && mount --bind "{cache}" /etc/ld.so.cache && exec "$@"'
    world.launcher = ["unshare", "-m", "sh", "-c", script, "sh"]


def configured(*, cached: bool) -> Plant:
    """Name the toolkit's folder to the loader, with or without ldconfig."""

    def plant(world: World) -> None:
        _mounts(world, _toolkit(world, "cublas", "cudnn"), cached=cached)

    return plant


def old_cuda_first(world: World) -> None:
    """Let LD_LIBRARY_PATH begin with the libraries of an older toolkit, of which one alone is copied."""
    searched(world)
    target = world.folder / "cuda-11.8" / "lib64"
    target.mkdir(parents=True)
    for name in ("libcudart.so.11.0", "libcufft.so.10", "libcublas.so.11"):
        made = [
            "gcc",
            "-shared",
            "-fPIC",
            "-nostdlib",
            f"-Wl,-soname,{name}",
            "-o",
            target / name,
            "-x",
            "c",
            "/dev/null",
        ]
        subprocess.run(list(map(str, made)), check=True)
    world.variables["LD_LIBRARY_PATH"] = f"{target}:{world.variables['LD_LIBRARY_PATH']}"


def only_for_root(pattern: str) -> Plant:
    """Have a package's files as ``sudo pip install`` under a strict umask leaves them: 600 and 700."""

    def plant(world: World) -> None:
        world.plain_rights = True
        for path in sorted(world.site.glob(pattern)):
            if path.is_file():
                world.own(path).chmod(0)

    return plant


def removed_beneath(world: World) -> None:
    """Uninstall torch, of which a folder with a file of one's own remains."""
    lacks("torch")(world)
    (world.site / "torch" / "custom_ops").mkdir(parents=True, exist_ok=True)
    (world.site / "torch" / "custom_ops" / "notes.txt").write_text("measured on Monday\n")


def emptied(*patterns: str) -> Plant:
    """Leave files of no bytes, as a full disk does."""

    def plant(world: World) -> None:
        for pattern in patterns:
            os.truncate(world.own(world.library(pattern)), 0)

    return plant


def renamed_by_pip(world: World) -> None:
    """Leave what pip renamed of the release before, beside the new one, which is whole (a folder that was in use)."""
    left = world.site / "~orch"
    (left / "lib").mkdir(parents=True)
    shutil.copy2(world.site / "torch" / "version.py", left / "version.py")


# --- what is expected ---------------------------------------------------------------------------------------------------

LOST = ("corrupt_or_truncated_file", "installation_interrupted")
BROKEN = ("requirement_broken",)
SHADOWED = ("module_shadowed",)
OFF = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "cudnn_sublibrary_missing")
CUDNN_OF_ANOTHER = ("cudnn_cuda_major_mismatch", "duplicate_framework_packages", "corrupt_or_truncated_file", "cuda_toolkit_version_mismatch", "requirement_broken")  # fmt: skip

SCENES: tuple[Scene, ...] = (
    # --- package managers
    # pip install torch==2.6.0 --no-deps, over 2.8
    Scene("common-torch-over-another-cuda", "B", "torch-2.8", TORCH, installs("--no-deps", "torch==2.6.0"), BROKEN, "torch", "cusparselt", "libcusparseLt"),
    # pip install nvidia-cudnn-cu11 beside cu12: both have the same files
    Scene("common-cudnn-for-cuda-11-over-12", "B", "torch-2.8", CUBLAS_OF_CUDNN, installs("--no-deps", "nvidia-cudnn-cu11==9.10.2.21"), CUDNN_OF_ANOTHER, "", "cudnn", "libcublasLt.so.11"),
    # pip install nvidia-cudnn-cu13 beside cu12
    Scene("common-cudnn-for-cuda-13-over-12", "B", "torch-2.8", CUBLAS_OF_CUDNN, installs("--no-deps", "nvidia-cudnn-cu13==9.13.0.50"), CUDNN_OF_ANOTHER, "", "cudnn", "libcublasLt.so.13"),
    # pip uninstall nvidia-cudnn-cu11, after it had written over cu12's
    Scene("common-cudnn-after-its-twin-left", "A", "torch-2.8", CUDNN, then(installs("--no-deps", "nvidia-cudnn-cu11==9.10.2.21"), lacks("nvidia-cudnn-cu11")), (*LOST, "cudnn_sublibrary_missing", "cudnn_not_installed", "cuda_runtime_missing"), "", "libcudnn", "libcudnn"),
    # pip install tensorflow-cpu over tensorflow
    Scene("common-tensorflow-cpu-over-tensorflow", "B", "tensorflow", WITH_CUDA, installs("--no-deps", "tensorflow-cpu==2.20.0"), ("framework_cpu_only_build", "duplicate_framework_packages"), "", "tensorflow", "without CUDA"),
    # pip install -U torchaudio --no-deps
    Scene("common-torchaudio-upgraded-alone", "B", "torch-2.8", SOUND, installs("--no-deps", "torchaudio==2.9.0"), ("extension_abi_mismatch", *BROKEN), "", "torchaudio"),
    # pip uninstall torch, with a file of one's own in its folder
    Scene("common-torch-removed-with-a-rest", "C", "torch-2.8", runs("import torch; torch.ones(1)"), removed_beneath, ("installation_interrupted", *BROKEN, *LOST, *SHADOWED), "", "torch", "has no attribute"),
    # pip install --target of half a package, on PYTHONPATH
    Scene("common-target-of-half-a-package", "C", "torch-2.6", NUMPY, then(to_target("libs", "numpy==1.26.4"), lambda w: shutil.rmtree(w.folder / "libs" / "numpy.libs"), lambda w: w.variables.update(PYTHONPATH=str(w.folder / "libs"))), (*SHADOWED, *LOST, "package_for_another_python", "cuda_runtime_missing"), "", "numpy"),
    # pip install onnxruntime pulled in by another package
    Scene("common-onnxruntime-without-gpu-last", "B", "onnxruntime-1.23", PROVIDERS, then(searched, installs("--no-deps", "onnxruntime==1.23.2")), ("duplicate_framework_packages", "framework_cpu_only_build"), "", "onnxruntime", "CPUExecutionProvider"),
    # --- copies and the loader
    # cp libcudnn*.so.9.* without links
    Scene("common-cudnn-copied-without-links", "A", "ctranslate2", CTRANSLATE2, full_names, (*OFF, *LOST, "cudnn_not_installed"), "", "libcudnn.so.9", "libcudnn.so.9"),
    # cp libcudnn.so* alone
    Scene("common-cudnn-main-library-alone", "A", "ctranslate2", PARTS, main_alone, ("cudnn_sublibrary_missing", *LOST), "", "libcudnn_", "libcudnn_ops"),
    # a file in ld.so.conf.d, and no ldconfig
    Scene("common-no-ldconfig", "A", "ctranslate2", CTRANSLATE2, configured(cached=False), OFF, "ctranslate2", "libcublas.so.12", "libcublas.so.12"),
    # --- disks and rights
    # the disk was full
    Scene("common-full-disk", "A", "torch-2.8", TORCH, emptied("torch/_tensor.py", "torch/lib/libtorch_cuda_linalg.so"), LOST, "torch", "_tensor"),
    # the download of one library ended early
    Scene("common-cut-libtorch", "A", "torch-2.6", TORCH, cuts("torch/lib/libtorch_cuda.so", 0.7), LOST, "torch", "libtorch_cuda.so"),
    # sudo pip install with a strict umask
    Scene("common-numpy-for-root-alone", "A", "torch-2.6", NUMPY, only_for_root("numpy/**/*"), ("library_unreadable",), "", "numpy"),
    # --- healthy
    # the newest cuDNN for the same CUDA
    Scene("common-newer-cudnn", "healthy", "torch-2.8", both(CUDNN, CUBLAS_OF_CUDNN), installs("--no-deps", "nvidia-cudnn-cu12==9.13.0.50")),
    # libraries of CUDA 13 in folders of their own
    Scene("common-cublas-of-cuda-13-beside", "healthy", "torch-2.8", both(TORCH, CUBLAS_OF_CUDNN), installs("--no-deps", "nvidia-cublas==13.0.0.19")),
    # libraries of CUDA 11 beside
    Scene("common-cublas-of-cuda-11-beside", "healthy", "torch-2.8", both(TORCH, CUBLAS_OF_CUDNN), installs("--no-deps", "nvidia-cublas-cu11==11.11.3.6")),
    # a whole package by --target
    Scene("common-target-that-fits", "healthy", "torch-2.6", NUMPY, then(to_target("libs", "numpy==2.1.3"), lambda w: w.variables.update(PYTHONPATH=str(w.folder / "libs")))),
    # cp without -d: every link is a file
    Scene("common-cudnn-copied-with-links-as-files", "healthy", "ctranslate2", both(CTRANSLATE2, PARTS), copied_links),
    # a file in ld.so.conf.d, and ldconfig
    Scene("common-ldconfig", "healthy", "ctranslate2", both(CTRANSLATE2, PARTS), configured(cached=True)),
    # an old toolkit comes first, and has nothing of these names
    Scene("common-old-toolkit-first", "healthy", "onnxruntime-1.23", ONNXRUNTIME, old_cuda_first),
    # a folder that was in use while pip worked
    Scene("common-remains-beside-a-whole-torch", "healthy", "torch-2.8", TORCH, renamed_by_pip),
    # pip install -U nvidia-nccl-cu12
    Scene("common-newer-nccl", "healthy", "torch-2.8", TORCH, installs("--no-deps", "nvidia-nccl-cu12==2.28.3")),
    # an own project with everyday names, and an entry that is gone
    Scene("common-own-names-and-lost-entries", "healthy", "tensorflow", TENSORFLOW, then(writes({"work/utils.py": "SIZE = 640\n", "work/config.py": "RATE = 0.1\n", "work/models/__init__.py": "", "work/data/train.csv": "a,b\n", "work/wandb/run-1/files/config.yaml": "x: 1\n"}, "work"), sets(PYTHONPATH="{home}/work:/mnt/gone/lib", LD_LIBRARY_PATH="/usr/local/cuda/lib64"))),
)  # fmt: skip
