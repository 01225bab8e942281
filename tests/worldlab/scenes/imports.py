"""Classes A to C: what the Python half of a framework imports is absent, too old, hidden or empty; and odd machines that are in order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from tests.worldlab.environments import VERSION, master, site
from tests.worldlab.scene import Scene, World, imports, installs, lacks, loses, runs, then
from tests.worldlab.scenes.closure import searched
from tests.worldlab.scenes.python import configured, loses_trees, sets, works_in, writes

Plant = Callable[[World], None]

TORCH, JAX, TENSORFLOW, CUPY = (
    imports("torch"),
    runs("import jax; jax.devices('cpu')"),
    imports("tensorflow"),
    imports("cupy"),
)
ONNX = runs("import onnxruntime; onnxruntime.InferenceSession")
PLUGIN = runs("from jaxlib import plugin_support as p; assert p.import_from_plugin('cuda', '_versions'), 'no plug-in'")
CUTENSOR = runs("import cupy; from cupy_backends.cuda.libs import cutensor; print(cutensor.get_version())")
BROKEN, SHADOWED, CUT, STOPPED = (
    ("requirement_broken",),
    ("module_shadowed",),
    ("corrupt_or_truncated_file",),
    ("installation_interrupted", "corrupt_or_truncated_file"),
)


def empties(pattern: str) -> Plant:
    """Leave a file of no bytes, as a full disk does."""

    def plant(world: World) -> None:
        os.truncate(world.own(world.library(pattern)), 0)

    return plant


def loses_inits(folder: str) -> Plant:
    """Leave a package's folder without its modules, as a removal that was stopped does."""

    def plant(world: World) -> None:
        for path in (world.site / folder).glob("*.py"):
            path.unlink()

    return plant


def vendored(name: str, source: str, to: str) -> Plant:
    """Copy a package of another environment into a folder of the scene."""

    def plant(world: World) -> None:
        there = site(master(source)) / name
        target = world.folder / to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(there, target) if there.is_dir() else shutil.copy2(there, target)

    return plant


def foreign(pattern: str) -> Plant:
    """Let extension modules be for another Python."""

    def plant(world: World) -> None:
        found = sorted(world.site.glob(pattern))
        if not found:
            raise LookupError(pattern)
        for path in found:
            path.rename(path.with_name(path.name.replace(f"cpython-{VERSION.replace('.', '')}", "cpython-39")))

    return plant


def finder_gone(world: World) -> None:
    """An editable installation by setuptools' finder, whose checkout was moved away."""
    loses_trees("torchvision*")(world)
    info = world.site / "torchvision-0.21.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torchvision\nVersion: 0.21.0\nRequires-Dist: torch==2.6.0\n"
    )
    (info / "RECORD").write_text("__editable__.torchvision-0.21.0.pth,,\n__editable___torchvision_0_21_0_finder.py,,\n")
    (world.site / "__editable__.torchvision-0.21.0.pth").write_text(
        "import __editable___torchvision_0_21_0_finder; __editable___torchvision_0_21_0_finder.install()\n"
    )
    (world.site / "__editable___torchvision_0_21_0_finder.py").write_text(
        f"MAPPING: dict[str, str] = {{'torchvision': '{world.home}/vision/torchvision'}}\ndef install():\n    pass\n"
    )


OLD = "__version__ = '0.1'\n"

SCENES = (
    # A and B: not there, or too old
    Scene("torch-without-typing-extensions", "B", "torch-2.8", TORCH, lacks("typing-extensions"), BROKEN, "torch", "typing-extensions", "typing_extensions"),
    Scene("jax-without-opt-einsum", "B", "jax", JAX, lacks("opt-einsum"), BROKEN, "jax", "opt-einsum", "opt_einsum"),
    Scene("jax-without-jaxlib", "B", "jax", JAX, lacks("jaxlib"), BROKEN, "jax", "jaxlib", "jaxlib"),
    Scene("jax-without-plugin", "B", "jax", PLUGIN, lacks("jax-cuda12-plugin"), ("requirement_broken", "cuda_runtime_missing"), "jax", "jax-cuda12-plugin", "no plug-in"),
    Scene("jax-older-plugin-and-pjrt", "B", "jax", PLUGIN, installs("--no-deps", "jax-cuda12-plugin==0.7.1", "jax-cuda12-pjrt==0.7.1"), BROKEN, "", "plugin", "no plug-in"),
    Scene("tensorflow-without-six", "B", "tensorflow", TENSORFLOW, lacks("six"), BROKEN, "tensorflow", "six", "six"),
    Scene("tensorflow-without-absl", "B", "tensorflow", TENSORFLOW, lacks("absl-py"), BROKEN, "tensorflow", "absl-py", "absl"),
    Scene("tensorflow-without-wrapt", "B", "tensorflow", TENSORFLOW, lacks("wrapt"), BROKEN, "tensorflow", "wrapt", "wrapt"),
    Scene("cupy-without-numpy", "B", "cupy", CUPY, lacks("numpy"), BROKEN, "cupy-cuda12x", "numpy", "numpy"),
    Scene("onnxruntime-without-numpy", "B", "onnxruntime-1.23", ONNX, lacks("numpy"), BROKEN, "onnxruntime-gpu", "numpy", "numpy"),
    Scene("torchvision-without-pillow", "B", "torch-2.8", imports("torchvision"), lacks("pillow"), BROKEN, "torchvision", "pillow", "PIL"),
    Scene("numpy-lost-gfortran", "A", "torch-2.6", imports("numpy"), loses("numpy.libs/libgfortran-*"), ("corrupt_or_truncated_file", "cuda_runtime_missing"), "", "libgfortran", "libgfortran"),
    Scene("ml-dtypes-for-another-python", "B", "jax", JAX, foreign("ml_dtypes/_ml_dtypes_ext*.so"), ("package_for_another_python",), "jax", "ml_dtypes", "ml_dtypes"),
    Scene("mpi4py-for-either-mpi", "A", "torch-2.6", runs("from mpi4py import MPI"), installs("--no-deps", "mpi4py==4.1.0"), ("system_library_missing",), "", "libmpi", "MPI"),
    Scene("pandas-newer-than-numpy", "B", "torch-2.6", imports("torch", "pandas"), then(installs("pandas==3.1.1", "numpy==2.2.6"), installs("--no-deps", "numpy==1.26.4")), BROKEN, "", "numpy", "ImportError"),
    Scene("torchaudio-newer-than-torch-2.8", "B", "torch-2.8", imports("torch", "torchaudio"), installs("--no-deps", "torchaudio==2.11.0"), ("extension_abi_mismatch", "requirement_broken"), "torchaudio", "torchaudio", "undefined symbol"),
    Scene("cupy-cutensor-of-another-major", "B", "cupy", CUTENSOR, then(searched, installs("cutensor-cu12==1.7.0")), ("cuda_runtime_missing", "requirement_broken"), "", "libcutensor.so.2", "libcutensor.so.2"),
    Scene("cupy-with-its-cutensor", "healthy", "cupy", CUTENSOR, then(searched, installs("cutensor-cu12==2.2.0"))),
    # C: another file, or what is left of one
    Scene("typing-extensions-empty", "C", "torch-2.8", TORCH, empties("typing_extensions.py"), CUT, "torch", "typing_extensions", "typing_extensions"),
    Scene("opt-einsum-without-init", "C", "jax", JAX, loses_inits("opt_einsum"), STOPPED, "jax", "opt_einsum", "opt_einsum"),
    Scene("numpy-without-init", "C", "onnxruntime-1.23", ONNX, loses_inits("numpy"), STOPPED, "", "numpy", "numpy"),
    Scene("torchvision-finder-leads-nowhere", "C", "torch-2.6", imports("torchvision"), finder_gone, ("python_environment_broken", "installation_interrupted"), "torchvision", "vision/torchvision", "torchvision"),
    Scene("six-py-in-working-folder", "C", "tensorflow", TENSORFLOW, then(works_in("work"), writes("work", "six.py", OLD)), SHADOWED, "tensorflow", "work/six.py", "six"),
    Scene("absl-folder-in-working-folder", "C", "tensorflow", TENSORFLOW, then(works_in("work"), writes("work", "absl/__init__.py", OLD)), SHADOWED, "tensorflow", "work/absl", "absl"),
    Scene("opt-einsum-py-on-pythonpath", "C", "jax", JAX, then(writes("tools", "opt_einsum.py", OLD), sets(PYTHONPATH="{folder}/tools")), SHADOWED, "jax", "tools/opt_einsum.py", "opt_einsum"),
    # two faults at once: what ends the import first leads
    Scene("onnxruntime-two-faults", "B", "onnxruntime-1.23", ONNX, then(lacks("numpy"), loses("nvidia/curand/lib/libcurand.so.*[0-9]")), BROKEN, "onnxruntime-gpu", "numpy", "numpy"),
    Scene("torch-two-faults", "B", "torch-2.8", TORCH, then(installs("--no-deps", "typing-extensions==4.5.0"), lacks("triton")), BROKEN, "torch", "typing_extensions", "typing_extensions"),
    # odd, and in order
    Scene("mpi4py-with-one-mpi", "healthy", "torch-2.6", runs("from mpi4py import MPI"), installs("mpi4py==4.1.0", "mpich")),
    Scene("pandas-and-numpy-that-fit", "healthy", "torch-2.6", imports("torch", "pandas"), installs("pandas==3.1.1", "numpy==2.2.6")),
    Scene("newer-typing-extensions-first", "healthy", "torch-2.6", TORCH, then(vendored("typing_extensions.py", "torch-2.8", "tools"), sets(PYTHONPATH="{folder}/tools"))),
    Scene("torch-without-what-is-tried", "healthy", "torch-2.6", TORCH, lacks("numpy", "torchvision")),
    Scene("optional-names-in-working-folder", "healthy", "torch-2.6", TORCH, then(lacks("torchvision"), works_in("work"), writes("work", "sympy.py", OLD), writes("work", "networkx/__init__.py", OLD), writes("work", "jinja2.py", OLD))),
    Scene("own-six-for-torch", "healthy", "torch-2.6", TORCH, then(works_in("work"), writes("work", "six.py", OLD), writes("work", "flatbuffers.py", OLD))),
    Scene("jax-own-empty-init", "healthy", "jax", JAX, then(works_in("work"), writes("work", "project/__init__.py"), writes("work", "utils/__init__.py"))),
    Scene("extensions-for-other-pythons-beside", "healthy", "jax", JAX, lambda w: shutil.copy2(w.library("ml_dtypes/_ml_dtypes_ext.cpython-311-*.so"), w.site / "ml_dtypes/_ml_dtypes_ext.cpython-310-x86_64-linux-gnu.so") and None),
    Scene("tensorflow-with-system-packages", "healthy", "tensorflow", TENSORFLOW, configured("include-system-site-packages", "true")),
)  # fmt: skip
