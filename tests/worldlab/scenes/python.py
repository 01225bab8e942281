"""Classes C and E: Python finds another file than one thinks; variables that mean a contract; and odd machines that are in order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Ran, Scene, World, imports, runs, then

Plant = Callable[[World], None]


def writes(where: str, name: str, text: str = "") -> Plant:
    """Write a file into ``home``, the working folder or another folder of the scene."""

    def plant(world: World) -> None:
        file = world.folder / where / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return plant


def works_in(where: str) -> Plant:
    """Start programs in a folder of the scene."""

    def plant(world: World) -> None:
        world.cwd = world.folder / where
        world.cwd.mkdir(parents=True, exist_ok=True)

    return plant


def sets(**variables: str) -> Plant:
    """Set variables; ``{folder}`` is the scene's."""

    def plant(world: World) -> None:
        world.variables.update({n: v.format(folder=world.folder, site=world.site) for n, v in variables.items()})

    return plant


def moves(name: str, to: str) -> Plant:
    """Move something of the packages elsewhere in the scene."""

    def plant(world: World) -> None:
        target = world.folder / to
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(world.site / name, target)

    return plant


def renames(pattern: str, old: str, new: str) -> Plant:
    """Give files of the packages another name."""

    def plant(world: World) -> None:
        found = [p for p in world.site.glob(pattern) if old in p.name]
        if not found:
            raise LookupError(pattern)
        for path in found:
            path.rename(path.with_name(path.name.replace(old, new)))

    return plant


def loses_trees(pattern: str) -> Plant:
    """Delete folders and files of the packages."""

    def plant(world: World) -> None:
        for path in sorted(world.site.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return plant


def empties_metadata(world: World) -> None:
    """Leave of torch's metadata what an interrupted installation may have written first."""
    (info,) = world.site.glob("torch-2*.dist-info")
    for file in sorted(info.rglob("*")):
        if file.is_file() and file.name != "INSTALLER":
            file.unlink()


def numpy_of_another_python(world: World) -> None:
    """Let PYTHONPATH lead into the packages of another Python, as a module system or a robot's set-up does."""
    other = world.folder / "opt" / "lib" / "python3.9" / "site-packages"
    shutil.copytree(world.site / "numpy", other / "numpy", copy_function=os.link)
    for path in other.rglob(f"*.cpython-{VERSION.replace('.', '')}-*.so"):
        path.rename(path.with_name(path.name.replace(f"cpython-{VERSION.replace('.', '')}", "cpython-39")))
    world.variables["PYTHONPATH"] = str(other)


def pth(name: str, text: str) -> Plant:
    """Write a .pth file; ``{folder}`` is the scene's."""

    def plant(world: World) -> None:
        (world.site / name).write_text(text.format(folder=world.folder))

    return plant


def configured(key: str, value: str) -> Plant:
    """Change a setting of pyvenv.cfg."""

    def plant(world: World) -> None:
        file = world.prefix / "pyvenv.cfg"
        lines = [line for line in file.read_text().splitlines() if line.partition("=")[0].strip() != key]
        own = world.own(file)
        own.write_text("\n".join([*lines, f"{key} = {value.format(folder=world.folder)}"]) + "\n")

    return plant


def relinked(target: str) -> Plant:
    """Let the environment's interpreter lead elsewhere."""

    def plant(world: World) -> None:
        for link in (world.prefix / "bin").glob("python*"):
            link.unlink()
        for name in ("python", "python3"):
            (world.prefix / "bin" / name).symlink_to(target.format(folder=world.folder))

    return plant


def newer_beneath(world: World) -> None:
    """Let the installed Python be another version than the packages' folder says."""
    (world.prefix / "lib" / f"python{VERSION}").rename(world.prefix / "lib" / "python3.9")


def user_site(world: World) -> Path:
    """Return the folder of the person's own packages."""
    return world.home / ".local" / "lib" / f"python{VERSION}" / "site-packages"


def of_user(name: str, version: str, text: str) -> Plant:
    """Install a small package for the user, as ``pip install --user`` records it."""

    def plant(world: World) -> None:
        folder = user_site(world)
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(text)
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text(f"{name}/__init__.py,,{len(text)}\n")

    return plant


def starts(script: str) -> Callable[[World], Ran]:
    """Start one of the environment's scripts."""

    def oracle(world: World) -> Ran:
        try:
            done = world.run([world.prefix / "bin" / script, "--help"])
        except OSError as e:
            return Ran(ok=False, said=str(e))
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        return Ran(ok=done.returncode == 0, said=said[-2000:])

    return oracle


def moved_scripts(world: World) -> None:
    """Let the scripts name the folder that the environment had before it was moved."""
    for name in ("activate", "torchrun", "f2py"):
        file = world.prefix / "bin" / name
        if file.exists():
            old = file.read_text()
            own = world.own(file)
            first, _line, rest = old.partition("\n")
            own.write_text(
                f"#!/home/ada/old/bin/python\n{rest}" if first.startswith("#!") and name != "activate" else old
            )
    activate = world.own(world.prefix / "bin" / "activate")
    lines = [
        "VIRTUAL_ENV='/home/ada/old'" if line.strip().startswith("VIRTUAL_ENV=") else line
        for line in activate.read_text().splitlines()
    ]
    activate.write_text("\n".join(lines) + "\n")


TORCH = runs("import torch; torch.ones(2).sum()")
WITH_NUMPY = runs("import torch, numpy; torch.ones(2).numpy()")
JAX = runs("import jax; jax.devices()")
KERAS = runs("import tensorflow as tf; tf.keras.Sequential")
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)

SCENES = (
    # C: another file is found
    Scene("torch-py-in-working-folder", "C", "torch-2.6", TORCH, then(works_in("work"), writes("work", "torch.py", "x = 1\n")), SHADOWED, "torch", "torch.py"),
    Scene("torch-folder-in-working-folder", "C", "torch-2.6", TORCH, then(works_in("work"), writes("work", "torch/__init__.py")), SHADOWED, "torch", "work/torch"),
    Scene("torch-py-on-pythonpath", "C", "torch-2.6", TORCH, then(writes("tools", "torch.py", "x = 1\n"), sets(PYTHONPATH="{folder}/tools")), SHADOWED, "torch", "tools/torch.py"),
    Scene("numpy-py-in-working-folder", "C", "torch-2.6", WITH_NUMPY, then(works_in("work"), writes("work", "numpy.py")), SHADOWED, "", "numpy.py"),
    Scene("torch-py-by-pth-insert", "C", "torch-2.6", TORCH, then(writes("lib", "torch.py"), pth("first.pth", "import sys; sys.path.insert(0, '{folder}/lib')\n")), SHADOWED, "torch", "lib/torch.py"),
    Scene("random-py-in-working-folder", "C", "torch-2.6", TORCH, then(works_in("work"), writes("work", "random.py", "print('mine')\n")), SHADOWED, "torch", "random.py"),
    Scene("types-py-on-pythonpath", "C", "torch-2.6", TORCH, then(writes("tools", "dataclasses.py"), sets(PYTHONPATH="{folder}/tools")), SHADOWED, "torch", "dataclasses.py"),
    Scene("user-torch-shadows", "C", "torch-2.6", TORCH, then(configured("include-system-site-packages", "true"), of_user("torch", "1.13.0", "raise ImportError('an old one')\n"), pth("user.pth", "import sys, os; sys.path.insert(0, '{folder}/home/.local/lib/python" + VERSION + "/site-packages')\n")), SHADOWED, "torch", "1.13.0"),
    Scene("older-torch-on-pythonpath", "C", "torch-2.6", runs("import torch; assert torch.__version__.startswith('2.6')"), then(of_user("torch", "1.13.0", "__version__ = '1.13.0'\n"), sets(PYTHONPATH="{folder}/home/.local/lib/python" + VERSION + "/site-packages")), SHADOWED, "torch", "1.13.0"),
    Scene("jax-py-in-working-folder", "C", "jax", JAX, then(works_in("work"), writes("work", "jax.py")), SHADOWED, "jax", "jax.py"),
    Scene("onnxruntime-py-in-working-folder", "C", "onnxruntime-1.23", runs("import onnxruntime; onnxruntime.InferenceSession"), then(works_in("work"), writes("work", "onnxruntime.py")), SHADOWED, "onnxruntime-gpu", "onnxruntime.py"),
    Scene("torch-extension-for-another-python", "C", "torch-2.6", TORCH, renames("torch/_C.*", f"cpython-{VERSION.replace('.', '')}", "cpython-39"), ("package_for_another_python",), "torch", "cpython-39"),
    Scene("numpy-extension-for-another-processor", "C", "torch-2.6", runs("import numpy"), renames("numpy/_core/_multiarray_umath.*", "x86_64-linux-gnu", "aarch64-linux-gnu"), ("package_for_another_python",), "", "aarch64"),
    Scene("numpy-of-another-python-by-pythonpath", "C", "torch-2.6", runs("import torch, numpy"), numpy_of_another_python, ("package_for_another_python",), "", "PYTHONPATH"),
    Scene("torch-metadata-without-content", "C", "torch-2.6", runs("import importlib.metadata; importlib.metadata.version('torch') + ''"), empties_metadata, ("installation_interrupted",), "torch", "dist-info"),
    Scene("base-python-gone", "C", "torch-2.6", TORCH, then(relinked("/opt/python-gone/bin/python3.11"), configured("home", "/opt/python-gone/bin")), ("python_environment_broken",), "", "/opt/python-gone"),
    Scene("base-python-upgraded-beneath", "C", "torch-2.6", TORCH, newer_beneath, ("python_environment_broken",), "", "3.9"),
    Scene("pythonhome-names-nothing", "C", "torch-2.6", TORCH, sets(PYTHONHOME="/opt/none"), ("python_environment_broken",), "", "PYTHONHOME"),
    Scene("environment-was-moved", "C", "torch-2.6", starts("torchrun"), moved_scripts, ("python_environment_broken",), "", "/home/ada/old"),
    Scene("torch-renamed-by-an-interrupted-pip", "C", "torch-2.6", TORCH, renames("torch", "torch", "~orch"), ("installation_interrupted", "corrupt_or_truncated_file"), "torch", "torch"),
    Scene("torch-requires-what-is-gone", "C", "torch-2.6", TORCH, loses_trees("typing_extensions*"), ("requirement_broken",), "torch", "typing-extensions"),
    # E: variables that mean a contract
    Scene("jax-platforms-unknown", "E", "jax", JAX, sets(JAX_PLATFORMS="gpuu"), VALUE, "jax", "JAX_PLATFORMS", says="gpuu"),
    Scene("jax-switch-is-no-switch", "E", "jax", imports("jax"), sets(JAX_ENABLE_X64="maybe"), VALUE, "jax", "JAX_ENABLE_X64"),
    Scene("jax-traceback-filtering-unknown", "E", "jax", imports("jax"), sets(JAX_TRACEBACK_FILTERING="no"), VALUE, "jax", "JAX_TRACEBACK_FILTERING"),
    Scene("xla-flags-without-dashes", "E", "jax", JAX, sets(XLA_FLAGS="xla_gpu_autotune_level=0"), VALUE, "jax", "XLA_FLAGS"),
    Scene("keras-backend-unknown", "E", "tensorflow", KERAS, sets(KERAS_BACKEND="tensorflo"), VALUE, "", "KERAS_BACKEND"),
    Scene("keras-backend-not-installed", "E", "tensorflow", KERAS, sets(KERAS_BACKEND="torch"), VALUE, "", "KERAS_BACKEND"),
    Scene("tf-xla-flags-without-dashes", "E", "tensorflow", runs("import tensorflow as tf; tf.config.list_physical_devices(); tf.function(lambda x: x + 1)(tf.ones(2))"), sets(TF_XLA_FLAGS="tf_xla_auto_jit=2"), VALUE, "tensorflow", "TF_XLA_FLAGS"),
    Scene("torch-distributed-debug-unknown", "E", "torch-2.6", imports("torch", "torch.distributed"), sets(TORCH_DISTRIBUTED_DEBUG="verbose"), VALUE, "torch", "TORCH_DISTRIBUTED_DEBUG"),
    Scene("cupy-accelerator-unknown", "E", "cupy", imports("cupy"), sets(CUPY_ACCELERATORS="cub,tensorcore"), VALUE, "cupy-cuda12x", "CUPY_ACCELERATORS"),
    # odd, and in order
    Scene("torch-data-folder-in-working-folder", "healthy", "torch-2.6", TORCH, then(works_in("work"), writes("work", "torch/data.txt", "x"))),
    Scene("own-modules-in-working-folder", "healthy", "torch-2.6", TORCH, then(works_in("work"), writes("work", "model.py"), writes("work", "utils.py"), writes("work", "test/__init__.py"), writes("work", "my_torch.py"))),
    Scene("torch-py-but-safe-path", "healthy", "torch-2.6", TORCH, then(works_in("work"), writes("work", "torch.py"), sets(PYTHONSAFEPATH="1"))),
    Scene("project-on-pythonpath", "healthy", "torch-2.6", TORCH, then(writes("project", "package/__init__.py"), sets(PYTHONPATH="{folder}/project:{folder}/gone"))),
    Scene("torch-on-pythonpath-alone", "healthy", "torch-2.6", TORCH, then(moves("sympy", "shared/sympy"), sets(PYTHONPATH="{folder}/shared"))),
    Scene("user-packages-left-out", "healthy", "torch-2.6", TORCH, of_user("torch", "1.13.0", "raise ImportError\n")),
    Scene("torch-in-an-editable-project", "healthy", "torch-2.6", TORCH, then(writes("src", "mine/__init__.py"), pth("__editable__.mine-0.1.pth", "{folder}/src\n"))),
    Scene("system-packages-included", "healthy", "torch-2.6", TORCH, configured("include-system-site-packages", "true")),
    Scene("remains-beside-a-whole-torch", "healthy", "torch-2.6", TORCH, lambda world: (world.site / "~orch").mkdir()),
    Scene("good-values-for-jax", "healthy", "jax", JAX, sets(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_gpu_autotune_level=0", JAX_ENABLE_X64="True", XLA_PYTHON_CLIENT_MEM_FRACTION=".5")),
    Scene("values-that-nobody-reads", "healthy", "torch-2.6", TORCH, sets(JAX_PLATFORMS="gpuu", KERAS_BACKEND="nonsense", CUPY_ACCELERATORS="x")),
)  # fmt: skip
