r"""Scenes of extension modules: packages that no table knows, judged by what CPython's own ``import`` says under wine.

The modules are built by mingw (``tables.MODULES``) and really imported; what PyTorch is among them is the stand-in of
``scenes.torch``. In-sample: written together with the code that examines such modules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, SYSTEM32, Machine, environment
from tests.windows.worldlab.held_out_2 import (
    ABI,
    CT2,
    ENVIRONMENT,
    OTHER_PYTHON,
    RUNTIME,
    WHOLE,
    does,
    then,
    whole,
    whole_python,
)
from tests.windows.worldlab.scenes import (
    BROKEN,
    FOREIGN,
    MISSING,
    NOT_SEARCHED,
    Plant,
    Scene,
    gone,
    required,
    spoilt,
    toolkit,
    torch,
)

assert sys.platform == "win32"

SYSTEMS = "system_library_missing"
CORE = "fastthing\\_core.cp311-win_amd64.pyd"
IMPORTS = "import fastthing"
PLAIN = "from fastthing._core import __name__\n"
REGISTERS = "import os\nif os.environ.get('CUDA_PATH'):\n    os.add_dll_directory(os.path.join(os.environ['CUDA_PATH'], 'bin'))\n"
ITS_LIBS = (
    "import os\nos.add_dll_directory(os.path.join(os.path.dirname(os.path.dirname(__file__)), 'fastthing.libs'))\n"
)
LOADS_OTHER = "import ctypes, os\nctypes.WinDLL(os.path.join(os.path.dirname(os.path.dirname(__file__)), 'another', 'inner-0f3a.dll'))\n"
AFTER_TORCH = """
import ctypes, glob, os, torch
folder = os.path.join(os.path.dirname(torch.__file__), 'lib')
os.add_dll_directory(folder)
k = ctypes.WinDLL('kernel32')
k.GetModuleHandleW.restype = ctypes.c_void_p
k.GetProcAddress.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
for name in glob.glob(os.path.join(folder, '*.dll')):
    ctypes.WinDLL(name)
import fastthing
import sys
sys.exit(0 if k.GetProcAddress(k.GetModuleHandleW('torch_cuda.dll'), {name!r}) else 127)
"""
"""PyTorch first, as everybody does. Wine imports a module whose function its DLL lacks, so that it is looked up."""


def package(
    m: Machine,
    site: Path,
    module: str,
    *,
    start: str = "",
    name: str = "fastthing",
    requires: str = "",
    file: str = CORE,
    more: tuple[str, ...] = (),
) -> Path:
    """Install a package of one extension module, and with ``more`` of these files."""
    m.place(Path(m.places["consumers"]) / "modules" / f"{module}.pyd", site / file)
    for each in more:
        m.place(Path(m.places["consumers"]) / "modules" / each.rpartition("\\")[2], site / each)
    m.write(site / "fastthing\\__init__.py", start + PLAIN)
    info = site / f"{name}-1.4.2.dist-info"
    wish = f"Requires-Dist: {requires}\n" if requires else ""
    m.write(info / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.4.2\n{wish}")
    m.write(info / "INSTALLER", "pip\n")
    files = ["fastthing/__init__.py", file, *more, f"{info.name}\\METADATA"]
    rows = [f"{f},,{(site / f).stat().st_size}\n".replace("\\", "/") for f in files]
    m.write(info / "RECORD", "".join([*rows, f"{info.name}/RECORD,,\n"]))
    return site


def alone(module: str, *, home: Path = HOME, **fields: object) -> Callable[[Machine], Path]:
    """Return an environment with CTranslate2's requirements and such a package."""

    def base(m: Machine) -> Path:
        site = environment(m, "ml", home=home)
        required(m, site)
        return package(m, site, module, **fields)

    return base


def behind_torch(module: str, *, start: str = "") -> Callable[[Machine], Path]:
    """Return an environment with PyTorch and an extension of it."""

    def base(m: Machine) -> Path:
        return package(m, torch(m), module, start=start, requires="torch")

    return base


def with_python(module: str, *plants: Plant) -> Callable[[Machine], Path]:
    """Return such a package in a Python of its own, which may lose files."""

    def base(m: Machine) -> Path:
        site = package(m, whole_python(m), module)
        for plant in plants:
            plant(m, site)
        return site

    return base


def aside(name: str) -> Plant:
    """Take one of Windows' own files away."""
    return lambda m, _made: m.put_aside(SYSTEM32 / name)


def emptied(m: Machine, made: Path) -> None:
    """Leave a file's size, and zeros for its bytes."""
    size = (made / CORE).stat().st_size
    m.write(made / CORE, bytes(size))


def on_path(m: Machine, _made: Path) -> None:
    """Install a toolkit whose folder is on PATH, as its installer does."""
    toolkit(m, "cublas-12", "cudart-12")


PYTHON = WHOLE / "python.exe"
TORCH = does(AFTER_TORCH.format(name=b"uses"))
LIBS = ("fastthing.libs\\inner-0f3a.dll",)

MODULES: tuple[Scene, ...] = (
    Scene("mod-runtime-absent", "module", (RUNTIME,), spoilt(alone("runtime"), aside("msvcp140_2.dll")), names="msvcp140_2.dll", runs=does(IMPORTS)),
    Scene("mod-openmp-absent", "module", (SYSTEMS, RUNTIME), spoilt(alone("openmp")), names="libomp140.x86_64.dll", runs=does(IMPORTS)),
    Scene("mod-media-features-absent", "module", (SYSTEMS,), spoilt(alone("media"), aside("mfplat.dll")), names="mfplat.dll", runs=does(IMPORTS)),
    Scene("mod-of-python-3.10", "module", (OTHER_PYTHON,), spoilt(alone("other_python", file="fastthing\\_core.pyd")), names="python310.dll", runs=does(IMPORTS)),
    Scene("mod-of-zeros", "module", (BROKEN,), spoilt(alone("plain"), emptied), names="_core", runs=does(IMPORTS)),
    Scene("mod-for-32-bit", "module", (FOREIGN,), spoilt(alone("plain"), lambda m, s: m.place(m.part("x86/zlibwapi.dll"), s / CORE)), names="_core", runs=does(IMPORTS)),
    Scene("mod-part-lost", "module", (BROKEN,), spoilt(alone("with_libs", start=ITS_LIBS, more=LIBS), gone(LIBS[0])), names="inner-0f3a.dll", runs=does(IMPORTS)),
    Scene("mod-part-for-32-bit", "module", (FOREIGN, BROKEN), spoilt(alone("with_libs", start=ITS_LIBS, more=LIBS), lambda m, s: m.place(m.part("x86/zlibwapi.dll"), s / LIBS[0])), names="inner-0f3a.dll", runs=does(IMPORTS)),
    Scene("mod-damaged-runtime-beside-python", "module", (RUNTIME, BROKEN, FOREIGN), spoilt(with_python("runtime", lambda m, _s: m.write(WHOLE / "msvcp140_2.dll", b"MZ" + bytes(300)))), names="msvcp140_2.dll", runs=does(IMPORTS, PYTHON)),
    Scene("mod-python-lost-libffi", "module", (ENVIRONMENT, BROKEN), spoilt(whole("numpy-1.26", "ctranslate2"), lambda _m, _s: next((WHOLE / "DLLs").glob("libffi*.dll")).unlink()), names="libffi", runs=does(CT2, PYTHON)),
    Scene("mod-toolkit-on-path-alone", "module", (NOT_SEARCHED, "python_dll_search_change"), spoilt(alone("of_cuda"), on_path), names="cublas64_12.dll", runs=does(IMPORTS), cured=True),
    Scene("mod-toolkit-absent", "module", (MISSING,), spoilt(alone("of_cuda")), names="cublas64_12.dll", runs=does(IMPORTS)),
    Scene("mod-of-another-torch", "module", (ABI,), spoilt(behind_torch("of_another_torch")), names="another", runs=does(AFTER_TORCH.format(name=b"another"))),
    Scene("mod-of-cuda-beside-another-torch", "module", (ABI,), spoilt(behind_torch("of_rocm_or_cpu")), names="c10_cuda.dll", runs=TORCH),
    # healthy
    Scene("mod-healthy", "module", (), then(alone("runtime", home=HOME / "Zoë [x] 猫")), runs=does(IMPORTS)),
    Scene("mod-healthy-registers-the-toolkit", "module", (), then(alone("of_cuda", start=REGISTERS), on_path), runs=does(IMPORTS)),
    Scene("mod-healthy-with-its-libs", "module", (), then(alone("with_libs", start=ITS_LIBS, more=LIBS)), runs=does(IMPORTS)),
    Scene("mod-healthy-loads-another-package-s", "module", (), then(alone("with_libs", start=LOADS_OTHER), lambda m, s: m.place(Path(m.places["consumers"]) / "modules\\inner-0f3a.dll", s / "another\\inner-0f3a.dll")), runs=does(IMPORTS)),
    Scene("mod-healthy-behind-torch", "module", (), spoilt(behind_torch("of_torch")), runs=TORCH),
)  # fmt: skip
