"""What an upgrade, a power cut or an image's last step leaves behind: a second record of a package, zeros in a module; and variables
that nobody reads.

Each fault has a twin that does no harm.
"""

from __future__ import annotations

import shutil

from tests.worldlab.scene import Scene, World, then
from tests.worldlab.scenes.held_out_8 import Plant, layered, sets, writes
from tests.worldlab.scenes.held_out_15 import by_run
from tests.worldlab.scenes.starters import program, started

MODELS = "from transformers import AutoTokenizer, PreTrainedModel"
TRAINS = "from transformers import TrainingArguments\nTrainingArguments('out', use_cpu=True, report_to='none').device"
TWICE = ("duplicate_framework_packages", "installation_interrupted", "requirement_broken")
ZEROS = ("corrupt_or_truncated_file", "installation_interrupted")
VALUE = ("variable_value_wrong",)


def recorded(name: str, *versions: str, into: str = "") -> Plant:
    """Leave the whole record of another release, where Python finds it first; ``into``: a folder of the home, on PYTHONPATH."""

    def plant(world: World) -> None:
        (real,) = world.site.glob(f"{name}-*.dist-info")
        folder = world.home / into if into else world.site
        folder.mkdir(parents=True, exist_ok=True)
        for version in versions:
            stale = folder / f"{name}-{version}.dist-info"
            shutil.copytree(real, stale)
            old = real.name.removesuffix(".dist-info").rpartition("-")[2]
            text = (stale / "METADATA").read_text().replace(f"\nVersion: {old}\n", f"\nVersion: {version}\n", 1)
            (stale / "METADATA").unlink()
            (stale / "METADATA").write_text(text)
            listed = [path.name for path in folder.iterdir()]
            if into:
                world.variables["PYTHONPATH"] = str(folder)
                return
            if listed.index(stale.name) < listed.index(real.name):
                return
            shutil.rmtree(stale)
        raise LookupError(f"every other record of {name} comes behind {real.name} here")

    return plant


def left_over(name: str, version: str) -> Plant:
    """Leave the record that an older release really has: the files are those of the newer one."""

    def plant(world: World) -> None:
        layered("old", "--no-deps", f"{name}=={version}")(world)
        (stale,) = (world.home / "old").glob("*.dist-info")
        shutil.move(stale, world.site)

    return plant


def zeros(pattern: str, part: float = 0.5) -> Plant:
    """Leave zeros behind a part of a file, as a power cut does."""

    def plant(world: World) -> None:
        path = world.own(world.library(pattern))
        content = path.read_bytes()
        size = int(len(content) * part)
        path.write_bytes(content[:size] + bytes(len(content) - size))

    return plant


MAKE = "export TRITON_OVERRIDE_ARCH = 90\n\n.PHONY: run\nrun:\n\t{env}/bin/python main.py\n"
TABLE = ("0.19.1", "0.20.0", "0.19.0", "0.20.1", "0.20.3", "0.15.2", "0.14.1", "0.13.3", "0.19.4", "0.18.0")


SCENES: tuple[Scene, ...] = (
    # --- a second record
    Scene("record-of-older-tokenizers", "C", "hub", by_run, then(program(MODELS), recorded("tokenizers", *TABLE)), TWICE, "", "tokenizers", "but found tokenizers=="),
    Scene("record-of-an-older-accelerate", "C", "hub", by_run, then(program(TRAINS), recorded("accelerate", *TABLE)), TWICE, "", "accelerate", "accelerate>=0.26"),
    Scene("record-of-an-older-hub-in-a-folder", "C", "hub", by_run, then(program(MODELS), recorded("huggingface_hub", "0.19.4", into="libs")), (*TWICE, "module_shadowed"), "", "libs", "huggingface-hub"),
    Scene("odd-record-of-an-older-numpy", "healthy", "hub", by_run, then(program(MODELS), recorded("numpy", "2.2.5", "2.2.4", "2.2.3", "2.2.2", "2.1.3", "2.1.2", "2.1.1", "2.1.0"))),
    Scene("odd-record-of-an-older-requests", "healthy", "hub", by_run, then(program(MODELS), left_over("requests", "2.31.0"))),
    Scene("odd-record-of-an-older-requests-in-a-folder", "healthy", "hub", by_run, then(program(MODELS), recorded("requests", "2.32.3", into="libs"))),
    # --- zeros
    Scene("zeros-in-the-middle-of-charset-normalizer", "A", "hub", by_run, then(program("from datasets import Dataset"), zeros("charset_normalizer/api.py")), ZEROS, "", "charset_normalizer", "null bytes"),
    Scene("zeros-in-the-middle-of-tqdm", "A", "hub", by_run, then(program("import transformers.trainer_utils"), zeros("tqdm/std.py", 0.9)), ZEROS, "", "tqdm", "null bytes"),
    Scene("zeros-in-the-middle-of-sympy", "A", "torch-2.8", by_run, then(program("import torch, sympy"), zeros("sympy/core/expr.py", 0.3)), ZEROS, "", "sympy", "null bytes"),
    Scene("zeros-in-the-middle-of-networkx", "A", "torch-2.8", by_run, then(program("import torch\nimport networkx as nx"), zeros("networkx/classes/graph.py", 0.7)), ZEROS, "", "networkx", "null bytes"),
    Scene("zeros-in-the-middle-of-a-package-of-jax", "A", "jax", by_run, then(program("import jax\nfrom scipy import linalg"), zeros("scipy/linalg/_basic.py", 0.4)), ZEROS, "", "scipy", "null bytes"),
    # --- variables
    Scene("jax-guard-of-another-word", "E", "jax", by_run, then(program("import jax; jax.devices('cpu')"), sets(JAX_TRANSFER_GUARD="verbose")), VALUE, "", "JAX_TRANSFER_GUARD", "verbose"),
    Scene("odd-jax-guard-that-logs", "healthy", "jax", by_run, then(program("import jax; jax.devices('cpu')"), sets(JAX_TRANSFER_GUARD="log"))),
    Scene("jax-bits-of-another-number", "E", "jax", by_run, then(program("import jax; jax.devices('cpu')"), sets(JAX_DEFAULT_DTYPE_BITS="16")), VALUE, "", "JAX_DEFAULT_DTYPE_BITS", "16"),
    Scene("odd-architecture-of-triton-for-a-program-without-it", "healthy", "torch-2.8", started("make", "run"), then(program("import numpy; numpy.ones(3)"), writes({"work/Makefile": MAKE}))),
    Scene("odd-backend-of-keras-for-a-program-without-it", "healthy", "tensorflow", started("make", "run"), then(program("import numpy; numpy.ones(3)"), writes({"work/Makefile": MAKE.replace("TRITON_OVERRIDE_ARCH = 90", "KERAS_BACKEND = pytorch")}))),
)  # fmt: skip
