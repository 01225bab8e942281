"""A program that PyInstaller bundles with its real bootloader, once: it loads ONNX Runtime's provider as that does."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from installer.windows.environment import environment
from tests.faultlab.wheels import cache
from tests.lock import made_once

SOURCE = r"""
import ctypes, os, sys
k = ctypes.WinDLL("kernel32", use_last_error=True)
k.LoadLibraryExW.restype = ctypes.c_void_p
number = 0
for name in ("onnxruntime_providers_shared.dll", "onnxruntime_providers_cuda.dll"):
    ctypes.set_last_error(0)
    path = os.path.join(sys._MEIPASS, "onnxruntime", "capi", name)
    number = 0 if k.LoadLibraryExW(path, None, 8) else ctypes.get_last_error()
print(number, flush=True)
os._exit(0 if number in (0, 998, 1114) else 1)
"""
"""Outside its own program the provider does not start (998, 1114) once everything that it imports was found."""


def bundle() -> Path:
    """Return the folder with bundle.exe and _internal. Never alter it."""

    def freeze(folder: Path) -> None:
        with tempfile.TemporaryDirectory(dir=cache()) as scratch, environment() as builder:
            script = Path(scratch) / "bundle.py"
            script.write_text(SOURCE)
            places = ("--distpath", scratch, "--workpath", f"{scratch}/work", "--specpath", scratch)
            builder.run("-m", "PyInstaller", "--noconfirm", "--onedir", "--log-level", "WARN", *places, script)
            shutil.move(Path(scratch) / "bundle", folder)

    return made_once(cache() / "bundle-windows" / hashlib.sha256(SOURCE.encode()).hexdigest()[:16], freeze)
