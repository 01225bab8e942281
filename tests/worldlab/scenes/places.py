"""Class C: a project's folder before an installed package, byte code that Python believes, eggs, two releases in one folder, plug-ins.

The rules were made with these scenes. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

import compileall
import os
import py_compile
from pathlib import Path

from tests.worldlab.scene import Oracle, Scene, World, imports, installs, runs, then
from tests.worldlab.scenes.held_out import Plant, sets, writes
from tests.worldlab.scenes.held_out_6 import MODULE, SHADOWED, TF, TORCH, listed, shared

DATASETS = installs("datasets==3.6.0", "numpy==2.2.6")
LOADS = "import torch\nfrom datasets import load_dataset\n"
OWN = {"work/datasets/__init__.py": "", "work/datasets/coco.py": "import torch\n\n\nclass Coco:\n    pass\n"}


def main(name: str = "main") -> Oracle:
    """Run a program of the working folder."""
    return runs(f"import {name}")


def compiled(name: str, how: str = "timestamp", text: str = "", part: float = 1.0) -> Plant:
    """Compile a module (``text``: as it was before), and leave a part of the byte code."""

    def plant(world: World) -> None:
        source = world.own(world.site / name)
        now = source.read_text()
        at = source.stat().st_mtime
        source.write_text(text or now)
        os.utime(source, (at, at))
        made = Path(py_compile.compile(str(source), invalidation_mode=MODES[how]) or "")
        source.write_text(now)
        os.utime(source, (at, at))
        os.truncate(made, int(made.stat().st_size * part))

    return plant


def all_compiled(world: World) -> None:
    """Compile everything, as pip does."""
    compileall.compile_dir(world.site / "torch", quiet=2, workers=2)


def byte_code_alone(name: str, magic: bytes = b"") -> Plant:
    """Keep a module's byte code in the place of its source; ``magic``: of another Python."""

    def plant(world: World) -> None:
        source = world.site / name
        made = source.with_suffix(".pyc")
        py_compile.compile(str(source), cfile=str(made))
        source.unlink()
        made.write_bytes((magic or made.read_bytes()[:2]) + made.read_bytes()[2:])

    return plant


def plugin(entry: str, text: str | None) -> Plant:
    """Install a package that torch imports by itself; without a text its files are gone."""

    def plant(world: World) -> None:
        files = []
        if text is not None:
            (world.site / "torch_own").mkdir()
            (world.site / "torch_own" / "__init__.py").write_text(text)
            files = ["torch_own/__init__.py"]
        listed(
            world, "torch_own", "1.0", files, f"[console_scripts]\nown = own:main\n[torch.backends]\nown = {entry}\n"
        )

    return plant


def device_of_tensorflow(*needed: str) -> Plant:
    """Install a plug-in of TensorFlow's that calls its functions as they are today."""

    def plant(world: World) -> None:
        folder = world.site / "tensorflow-plugins"
        folder.mkdir()
        code = "char *TF_Version(void);\nint SE_InitPlugin(void *a, void *b) { return a || b ? 0 : TF_Version()[0]; }\n"
        (folder / "own.c").write_text(code)
        for name in needed:
            (folder / name).write_bytes(b"")
        shared(folder / "libown.so", "void TF_InitKernel(void) {}\n", *needed)
        listed(world, "tensorflow_own", "1.0", ["tensorflow-plugins/libown.so"], requires="tensorflow")

    return plant


MODES = {
    "timestamp": py_compile.PycInvalidationMode.TIMESTAMP,
    "unchecked": py_compile.PycInvalidationMode.UNCHECKED_HASH,
}
BROKEN = ("corrupt_or_truncated_file", "installation_interrupted", "package_for_another_python")

SCENES: tuple[Scene, ...] = (
    # --- a name that an installed package has, too
    # https://github.com/huggingface/datasets/issues/6553
    Scene("places-own-datasets-for-a-program", "C", "torch-2.6", main(), then(DATASETS, writes({**OWN, "work/main.py": LOADS}, "work")), SHADOWED, "", "work/datasets", "load_dataset"),
    # class only: what another package imports
    Scene("places-own-datasets-for-evaluate", "C", "torch-2.6", imports("torch", "evaluate"), then(installs("datasets==3.6.0", "evaluate==0.4.5", "numpy==2.2.6"), writes(OWN, "work")), SHADOWED, "", "work/datasets", "datasets"),
    # class only
    Scene("places-own-evaluate-by-pythonpath", "C", "torch-2.6", runs("import torch, evaluate; evaluate.load"), then(installs("evaluate==0.4.5", "numpy==2.2.6"), writes({"tools/evaluate.py": "def score():\n    return 1\n"}), sets(PYTHONPATH="{home}/tools")), SHADOWED, "", "tools/evaluate.py", "load"),
    # --- byte code that Python believes
    # class only
    Scene("places-cut-byte-code-of-another", "C", "torch-2.8", TORCH, compiled("typing_extensions.py", part=0.7), BROKEN, "torch", "typing_extensions", "marshal data"),
    # class only: an image whose byte code is never compared, with a source of another release copied over
    Scene("places-byte-code-of-old", "C", "torch-2.6", TORCH, compiled("typing_extensions.py", "unchecked", "import typing\nAny = typing.Any\n"), BROKEN, "torch", "typing_extensions", "typing_extensions"),
    # class only: byte code without sources, from a builder with another Python
    Scene("places-byte-code-of-another-python", "C", "torch-2.6", TORCH, byte_code_alone("torch/serialization.py", b"\x61\x0d"), BROKEN, "torch", "serialization", "bad magic number"),
    # --- plug-ins that a framework imports by itself
    # class only: a folder was deleted, its record stayed
    Scene("places-plugin-of-torch-gone", "C", "torch-2.6", TORCH, plugin("torch_own:start", None), (*MODULE, *BROKEN), "torch", "torch_own", "torch_own"),
    # class only: made for a torch that had this name
    Scene("places-plugin-of-another-torch", "C", "torch-2.6", TORCH, plugin("torch_own:start", "from torch.utils import rename_everything\n\n\ndef start():\n    pass\n"), (*MODULE, *BROKEN), "torch", "rename_everything", "own"),
    # class only
    Scene("places-plugin-of-tensorflow-lacks-a-library", "C", "tensorflow", TF, device_of_tensorflow("libown_driver.so.1"), (*MODULE, "system_library_missing", "cuda_runtime_missing", *BROKEN), "tensorflow", "libown_driver", "libown_driver"),
    # --- a module of Python itself
    # class only
    Scene("places-own-inspect-by-pythonpath", "C", "torch-2.6", TORCH, then(writes({"tools/inspect.py": "def look():\n    return 1\n"}), sets(PYTHONPATH="{home}/tools")), SHADOWED, "torch", "tools", "inspect"),
    # --- two distributions that own one package
    # class only: both are imported as jwt
    Scene("places-jwt-over-pyjwt", "C", "torch-2.6", runs("import torch, jwt; jwt.encode"), then(installs("pyjwt==2.10.1"), installs("jwt==1.3.1")), (*MODULE, "duplicate_framework_packages"), "", "jwt", "encode"),
    # --- healthy
    Scene("places-opencv-contrib-twin", "healthy", "torch-2.6", imports("torch", "cv2"), then(installs("numpy==1.26.4"), installs("--no-deps", "opencv-python-headless==4.9.0.80"), installs("--no-deps", "opencv-contrib-python-headless==4.9.0.80"))),
    Scene("places-plugin-of-torch-works", "healthy", "torch-2.6", TORCH, plugin("torch_own:start", "import torch\nfrom torch.utils import data\n\n\ndef start():\n    torch.ones(1)\n")),
    Scene("places-plugin-of-tensorflow-works", "healthy", "tensorflow", TF, device_of_tensorflow()),
    Scene("places-byte-code-of-an-edited-text", "healthy", "torch-2.6", TORCH, compiled("torch/nn/functional.py", "unchecked")),
    Scene("places-byte-code-everywhere", "healthy", "torch-2.6", TORCH, all_compiled),
    Scene("places-byte-code-without-a-source", "healthy", "torch-2.6", TORCH, byte_code_alone("torch/serialization.py")),
    Scene("places-own-datasets-is-meant", "healthy", "torch-2.6", main(), then(DATASETS, writes({**OWN, "work/main.py": "import torch\nfrom datasets.coco import Coco\n"}, "work"))),
    Scene("places-datasets-of-data", "healthy", "torch-2.6", runs(LOADS), then(DATASETS, writes({"work/datasets/coco/labels.txt": "x", "work/main.py": LOADS}, "work"))),
    Scene("places-own-optional-names", "healthy", "torch-2.6", imports("torch", "accelerate"), then(installs("accelerate==1.6.0", "numpy==2.2.6"), writes({"work/utils/__init__.py": "", "work/yaml_tools.py": "", "work/networkx.py": "x = 1\n", "work/tests/__init__.py": ""}, "work"))),
)  # fmt: skip
