"""Class C: what stands in front of the packages, or beside them: another Python's library, a checkout, a stale record, odd tools."""

from __future__ import annotations

import os
import py_compile
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.worldlab.environments import VERSION
from tests.worldlab.random_paths import another_python
from tests.worldlab.scene import Scene, World, installs, runs, then
from tests.worldlab.scenes.held_out_8 import JAX, TORCH, Plant, layered, searches, sets, writes

SESSION = runs("import onnxruntime; onnxruntime.InferenceSession")
ARRAYS = runs(JAX + "; import jax.numpy as jnp; jnp.ones(3).sum()")
TRANSFORMERS = runs("import transformers")
CONTRACTS = runs("import jax.numpy as jnp; jnp.einsum('ij,jk->ik', jnp.ones((2, 2)), jnp.ones((2, 2)))")


def behind(folder: str) -> Plant:
    """Put a folder on PYTHONPATH; {other}: the prefix of a Python of another minor version."""

    def plant(world: World) -> None:
        other, own = another_python(), Path(sys.base_prefix)
        value = folder.replace("{other}", str(other)).replace("{base}", str(own)).replace("{home}", str(world.home))
        world.variables["PYTHONPATH"] = value

    return plant


def copies_library(where: str, *, of: Callable[[], Path], without: Iterable[str] = ()) -> Plant:
    """Copy the modules of a Python's library, as somebody does who builds an application or unpacks one."""

    def plant(world: World) -> None:
        source = next(p for p in sorted((of() / "lib").glob("python3*")) if (p / "os.py").is_file())
        unwanted = shutil.ignore_patterns("site-packages", "test", "lib-dynload", "__pycache__", "config-*", "idlelib", "ensurepip", "lib2to3", *without)  # fmt: skip
        shutil.copytree(source, world.home / where, ignore=unwanted)

    return plant


def checked_out(
    package: str, where: str, *, without: Iterable[str] = (), edits: tuple[str, str, str] | None = None
) -> Plant:
    """Work in a clone of a project: its package as it is installed, without some modules, or with a text in one replaced."""

    def plant(world: World) -> None:
        target = world.home / where / package
        shutil.copytree(world.site / package, target, copy_function=os.link, ignore=shutil.ignore_patterns("__pycache__", *without))  # fmt: skip
        (world.home / where / "pyproject.toml").write_text(f'[project]\nname = "{package}"\nversion = "99.0"\n')
        (world.home / where / ".git").mkdir()
        if edits:
            inner, old, new = edits
            path = world.own(target / inner)
            text = path.read_text(encoding="utf-8")
            if old not in text:
                raise LookupError(f"{inner} has no {old!r}")
            path.write_text(text.replace(old, new), encoding="utf-8")
        world.cwd = world.home / where

    return plant


def recorded(name: str, version: str, where: str) -> Plant:
    """Have the record of another release in a folder, without its package: what is left of a build, or of an unpacked wheel."""
    info = f"{name}-{version}.dist-info"
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    return writes({f"{where}/{info}/METADATA": text, f"{where}/{info}/RECORD": f"{info}/METADATA,,\n"})


def zipped_folder(package: str, archive: str) -> Plant:
    """Pack an installed package into an archive on PYTHONPATH."""

    def plant(world: World) -> None:
        with zipfile.ZipFile(world.home / archive, "w") as packed:
            for path in sorted((world.site / package).rglob("*.py")):
                packed.write(path, path.relative_to(world.site))
        world.variables["PYTHONPATH"] = str(world.home / archive)

    return plant


def linked_site(world: World) -> None:
    """Have the folder of packages on another drive, with a link in its place."""
    target = world.folder / "drive/site-packages"
    target.parent.mkdir()
    world.site.rename(target)
    world.site.symlink_to(target)


def only_byte_code(module: str) -> Plant:
    """Ship a module without its source, as an application does that hides it."""

    def plant(world: World) -> None:
        path = world.site / module
        py_compile.compile(str(path), cfile=str(path.with_suffix(".pyc")), dfile=module)
        path.unlink()

    return plant


SHADOWED = ("module_shadowed", "package_for_another_python", "python_environment_broken")
OTHERS = ("module_shadowed", "requirement_broken")

SCENES = (
    # --- another Python's library ---------------------------------------------------------------------------------
    Scene("torch-behind-another-library", "C", "torch-2.6", TORCH, behind("{other}/lib/python3.10"), SHADOWED, names="python3.10"),
    Scene("onnxruntime-behind-copied-library", "C", "onnxruntime-1.23", SESSION,
          then(searches, copies_library("Lib", of=another_python), behind("{home}/Lib")), SHADOWED, names="home/Lib"),
    Scene("jax-behind-another-library-second", "C", "jax", ARRAYS, behind("/opt/gone:{other}/lib/python3.10"), SHADOWED, names="python3.10"),
    Scene("torch-behind-its-own-library", "healthy", "torch-2.6", TORCH, behind("{base}/lib/python" + VERSION)),
    Scene("jax-behind-a-copy-of-its-library", "healthy", "jax", ARRAYS,
          then(copies_library("Lib", of=lambda: Path(sys.base_prefix)), behind("{home}/Lib"))),
    # --- checkouts ------------------------------------------------------------------------------------------------
    Scene("jax-in-its-clone", "healthy", "jax", ARRAYS, checked_out("jax", "code/jax", without=("jax2tf", "tools"))),
    Scene("onnxruntime-in-its-clone", "healthy", "onnxruntime-1.23", SESSION,
          then(searches, checked_out("onnxruntime", "code/ort", without=("quantization", "transformers")))),
    Scene("torch-in-its-clone", "healthy", "torch-2.6", TORCH,
          checked_out("torch", "code/torch", without=("tensorboard", "_numpy", "bottleneck"))),
    Scene("jax-in-a-clone-that-lacks-a-module", "C", "jax", ARRAYS, checked_out("jax", "code/jax", without=("cloud_tpu_init.py",)), ("module_shadowed",), names="code/jax"),
    Scene("jax-in-a-clone-of-another-jaxlib", "C", "jax", ARRAYS,
          checked_out("jax", "code/jax", edits=("version.py", "_minimum_jaxlib_version = ", "_minimum_jaxlib_version = '99.0.0' or ")), ("module_shadowed", "requirement_broken")),
    # --- a release that lacks something ---------------------------------------------------------------------------
    Scene("jax-behind-old-opt-einsum", "C", "jax", CONTRACTS, then(layered("deps", "--no-deps", "opt-einsum==2.0"), sets(PYTHONPATH="{home}/deps")), OTHERS, names="opt"),
    Scene("jax-with-old-opt-einsum", "C", "jax", CONTRACTS, installs("--no-deps", "opt-einsum==2.0"), OTHERS, names="opt"),
    Scene("jax-with-opt-einsum-3.3", "healthy", "jax", CONTRACTS, installs("--no-deps", "opt-einsum==3.3.0")),
    # --- records --------------------------------------------------------------------------------------------------
    Scene("transformers-beside-old-record", "C", "hub", TRANSFORMERS, then(recorded("tokenizers", "0.10.3", "work"), writes({}, cwd="work")), ("requirement_broken", "module_shadowed", "duplicate_framework_packages"), names="tokenizers"),
    Scene("transformers-behind-old-record", "C", "hub", TRANSFORMERS, then(recorded("tokenizers", "0.10.3", "deps"), sets(PYTHONPATH="{home}/deps")), ("requirement_broken", "module_shadowed", "duplicate_framework_packages"), names="tokenizers"),
    Scene("transformers-beside-fitting-record", "healthy", "hub", TRANSFORMERS, then(recorded("tokenizers", "0.21.1", "work"), writes({}, cwd="work"))),
    # --- fresh ones, class C --------------------------------------------------------------------------------------
    Scene("torch-beside-own-queue", "C", "torch-2.6", TORCH, writes({"work/queue.py": "jobs = []\n\n\ndef add(job):\n    jobs.append(job)\n"}, cwd="work"), SHADOWED, names="queue.py"),
    Scene("jax-beside-own-code", "healthy", "jax", ARRAYS, writes({"work/code.py": "LANGUAGE = 'en'\n"}, cwd="work")),
    Scene("jax-beside-own-types-as-program", "C", "jax", ARRAYS, then(writes({"lib/types.py": "class Item:\n    pass\n"}), sets(PYTHONPATH="{home}/lib")), SHADOWED, names="types.py"),
    Scene("torch-path-in-quotes", "healthy", "torch-2.6", TORCH, then(writes({"lib/torch.py": "x = 1\n"}), sets(PYTHONPATH="'{home}/lib'"))),
    Scene("torch-path-with-tilde", "healthy", "torch-2.6", TORCH, then(writes({"lib/torch/__init__.py": "raise ImportError('mine')\n"}), sets(PYTHONPATH="~/lib"))),
    Scene("torch-path-relative", "C", "torch-2.6", TORCH, then(writes({"work/lib/numpy.py": "x = 1\n", "work/lib/typing_extensions.py": "x = 1\n"}, cwd="work"), sets(PYTHONPATH="lib")), SHADOWED, names="lib"),
    Scene("torch-path-ends-in-a-colon", "C", "torch-2.6", TORCH, then(writes({"work/sympy.py": "x = 1\n", "work/typing_extensions.py": "x = 1\n"}, cwd="work"), sets(PYTHONPATH="/opt/none:")), SHADOWED, names="typing_extensions.py"),
    Scene("torch-safe-path-beside-own-queue", "healthy", "torch-2.6", TORCH, then(writes({"work/queue.py": "jobs = []\n"}, cwd="work"), sets(PYTHONSAFEPATH="1"))),
    Scene("jax-by-a-pth-in-front", "C", "jax", ARRAYS, then(writes({"shared/ml_dtypes.py": "x = 1\n"}), lambda w: (w.site / "zz.pth").write_text(f"import sys; sys.path.insert(0, {str(w.home / 'shared')!r})\n") and None), SHADOWED, names="ml_dtypes"),
    Scene("jax-of-another-case", "healthy", "jax", ARRAYS, writes({"work/JAX.py": "x = 1\n", "work/Numpy.py": "x = 1\n"}, cwd="work")),
    Scene("torch-with-linked-packages", "healthy", "torch-2.6", TORCH, linked_site),
    Scene("torch-with-byte-code-alone", "healthy", "torch-2.6", TORCH, only_byte_code("torch/types.py")),
    Scene("jax-in-an-archive", "healthy", "jax", ARRAYS, zipped_folder("opt_einsum", "deps.zip")),
    Scene("torch-behind-a-target-for-3.12", "C", "torch-2.6", runs("import torch, numpy; torch.ones(3).numpy()"), then(layered("deps", "--no-deps", "--python-version", "3.12", "numpy==2.2.6"), sets(PYTHONPATH="{home}/deps")), (*SHADOWED, "numpy_abi_mismatch"), names="deps"),
    Scene("jax-behind-an-archive-with-old-ml-dtypes", "C", "jax", ARRAYS, zipped_folder("ml_dtypes", "deps.zip"), SHADOWED, names="deps.zip"),
    Scene("torch-without-user-site-of-another", "healthy", "torch-2.6", TORCH, writes({f".local/lib/python{VERSION}/site-packages/torch/__init__.py": "raise ImportError('mine')\n"})),
    Scene("jax-with-namespace-folder-of-its-name", "healthy", "jax", ARRAYS, writes({"work/jax/notes.md": "", "work/jax/runs/run.py": ""}, cwd="work")),
    Scene("transformers-beside-record-of-another", "healthy", "hub", TRANSFORMERS, then(recorded("left", "0.1", "work"), writes({}, cwd="work"))),
)  # fmt: skip
