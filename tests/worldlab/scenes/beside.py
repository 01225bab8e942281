"""Packages beside a framework: files that their RECORD lists and that are gone, libraries that their code opens, extensions of another torch.

The rules were made with these scenes. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Scene, World, imports, installs, loses, runs, then
from tests.worldlab.scenes.held_out_3 import hides
from tests.worldlab.scenes.held_out_4 import drops

LOST = ("corrupt_or_truncated_file", "installation_interrupted")
TRANSFORMERS = installs("transformers==4.51.3", "numpy==2.2.6")
NO_LONGER = "_ZN3c1022a_function_of_old_timesEv"
STILL = "_ZN3c104warnERKNS_7WarningE"


def extension(name: str, function: str, *, declared: bool) -> Callable[[World], None]:
    """Build an extension of PyTorch that calls a function of libc10; ``declared``: its metadata require torch."""

    def plant(world: World) -> None:
        folder = world.folder / "build"
        folder.mkdir()
        (folder / "c10.c").write_text(f"void {function}(void) {{}}\n")
        made = folder / "libc10.so"
        words = ["gcc", "-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libc10.so", "-o", made, folder / "c10.c"]
        subprocess.run([str(w) for w in words], check=True)
        (folder / "m.c").write_text(
            f"#include <Python.h>\nvoid {function}(void);\nstatic void (*volatile f)(void) = {function};\n"
            'static PyModuleDef d = {PyModuleDef_HEAD_INIT, "_C", 0, -1, 0};\n'
            "PyMODINIT_FUNC PyInit__C(void) { return f ? PyModule_Create(&d) : 0; }\n"
        )
        package, info = world.site / name, world.site / f"{name}-1.0.dist-info"
        package.mkdir()
        file = f"{name}/_C.cpython-{VERSION.replace('.', '')}-x86_64-linux-gnu.so"
        include = Path(sys.base_prefix) / "include" / f"python{VERSION}"
        words = ["gcc", "-shared", "-fPIC", f"-I{include}", "-o", world.site / file, folder / "m.c", made]
        subprocess.run([*map(str, words), "-Wl,--allow-shlib-undefined"], check=True)
        (package / "__init__.py").write_text(f"import torch\nfrom {name} import _C\n")
        info.mkdir()
        requires = "Requires-Dist: torch\n" if declared else ""
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}")
        rows = (file, f"{name}/__init__.py", f"{info.name}/METADATA", f"{info.name}/RECORD")
        (info / "RECORD").write_text("".join(f"{row},,\n" for row in rows))

    return plant


SCENES: tuple[Scene, ...] = (
    # --- what RECORD lists and is gone
    # class only
    Scene("tokenizers-lost-its-core", "A", "torch-2.6", imports("torch", "tokenizers"), then(TRANSFORMERS, loses("tokenizers/tokenizers*.so")), LOST, "", "tokenizers", "tokenizers"),
    # class only: a cleaner of temporary files went through a folder of packages
    Scene("pillow-lost-its-jpeg", "A", "torch-2.6", runs("import torch; from PIL import Image; Image.core.new"), loses("pillow.libs/libjpeg-*"), LOST, "", "libjpeg", "libjpeg"),
    # class only
    Scene("scipy-lost-a-module", "A", "torch-2.6", imports("torch", "scipy.linalg"), then(installs("scipy==1.15.3", "numpy==2.2.6"), loses("scipy/_lib/_util.py")), LOST, "", "scipy", "_util"),
    # class only
    Scene("torch-lost-its-manager", "A", "torch-2.6", imports("torch"), loses("torch/bin/torch_shm_manager"), LOST, "torch", "torch_shm_manager", "torch_shm_manager"),
    # --- libraries that Python code opens
    # https://github.com/spatialaudio/python-sounddevice/issues/6: an image without PortAudio
    Scene("sounddevice-lost-portaudio", "A", "torch-2.6", imports("torch", "sounddevice"), then(installs("sounddevice==0.5.2"), hides("libportaudio")), ("system_library_missing",), "", "libportaudio", "PortAudio"),
    # --- extensions of another torch
    # https://github.com/Dao-AILab/flash-attention/issues/667
    Scene("extension-of-another-torch", "B", "torch-2.6", imports("fused_attention"), extension("fused_attention", NO_LONGER, declared=True), ("extension_abi_mismatch",), "", NO_LONGER, NO_LONGER),
    # class only: setup.py without install_requires
    Scene("extension-of-another-torch-undeclared", "B", "torch-2.6", imports("own_ops"), extension("own_ops", NO_LONGER, declared=False), ("extension_abi_mismatch",), "", NO_LONGER, NO_LONGER),
    # --- healthy
    # class only
    Scene("beside-extension-of-this-torch", "healthy", "torch-2.6", imports("own_ops"), extension("own_ops", STILL, declared=False)),
    # class only: a small image
    Scene("beside-slim-packages", "healthy", "torch-2.6", imports("torch", "scipy.linalg", "pandas", "transformers"), then(TRANSFORMERS, installs("scipy==1.15.3", "pandas==2.2.3", "numpy==2.2.6"), drops("scipy/*/tests", "scipy/datasets", "pandas/tests", "torch/include", "numpy/_pyinstaller", "*/__pycache__"))),
    # class only: the system's library serves as well
    Scene("beside-soundfile-of-the-system", "healthy", "torch-2.6", imports("torch", "soundfile"), then(installs("soundfile==0.13.1"), loses("_soundfile_data/libsndfile_x86_64.so"))),
    # class only: removed on purpose, and nobody imports it
    Scene("beside-a-package-taken-away", "healthy", "torch-2.6", imports("torch", "transformers"), then(TRANSFORMERS, installs("boto3==1.38.0"), drops("boto3", "s3transfer"))),
)  # fmt: skip
