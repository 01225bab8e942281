"""``installer/build_windows.sh [FOLDER]``: from this checkout to Setup.exe, the portable zip and, on Debian, the MSI.

A clean environment gets the locked packages of requirements/build.txt and the project's wheel, PyInstaller freezes both
programs there, and makensis packs them. Two builds of one commit give the same files.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

from core import __version__
from core.common.frozen import PORTABLE_MARKER
from installer.by_hand import by_hand
from installer.windows.environment import Environment, environment
from installer.windows.msi import make_msi
from installer.windows.nsis import make_setup

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("convalesce.exe", "convalesce-gui.exe")


def main(arguments: list[str]) -> int:
    """Build into the folder named, else build/windows."""
    folder = Path(arguments[0]).resolve() if arguments else ROOT / "build/windows"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch())
    with environment() as builder:
        frozen = freeze(builder, folder / "work")
        for name in PROGRAMS:
            sign(frozen / name)
        pin(frozen, epoch())
        pin(icon(folder).parent, epoch())  # Setup.exe keeps its picture's time, too
        portable = folder / f"Convalesce-{__version__}-portable.zip"
        pack(frozen, portable, epoch())
        setup = folder / f"Convalesce-{__version__}-Setup.exe"
        make_setup(frozen, icon(folder), setup, __version__, sign=os.environ.get("CONVALESCE_SIGN", ""))
        packages = [setup, portable]
        if sys.platform != "win32":  # wixl is Debian's; elsewhere: python -m installer.windows.msi
            packages.append(make_msi(frozen, icon(folder), folder / f"Convalesce-{__version__}.msi", __version__))
            sign(packages[-1])
        builder.run("-m", "installer.windows.bills", frozen, *packages)
    made = sorted(f for f in folder.iterdir() if f.is_file())
    sums = "".join(f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in made)
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
    for file in made:
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB", flush=True)
    return 0


def epoch() -> int:
    """Return the time that all files get, in seconds since 1970: that of the commit, or SOURCE_DATE_EPOCH."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    return int(subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True))


def sources(folder: Path) -> Path:
    """Copy what git knows of the program into a folder, so that nothing else gets into the wheel."""
    parts = (
        "core",
        "gui",
        "resources",
        "installer/convalesce",
        "installer/wheel.py",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    )
    listed = subprocess.check_output(["git", "ls-files", "-z", *parts], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def freeze(builder: Environment, work: Path) -> Path:
    """Freeze the project in a clean environment; return the folder with both programs."""
    builder.install(builder.wheel(sources(work / "source"), work / "wheel"))
    spec = ROOT / "installer/convalesce.spec"
    places = ("--distpath", work / "frozen", "--workpath", work / "pyinstaller")
    builder.run("-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "WARN", *places, spec)
    frozen = work / "frozen/convalesce"
    shutil.copy(ROOT / "LICENSE", frozen / "LICENSE.txt")
    return frozen


def icon(folder: Path) -> Path:
    """Return the icon that was made while freezing."""
    return folder / "work/pyinstaller/convalesce/convalesce.ico"


def sign(file: Path) -> None:
    """Sign a file in place with the program that CONVALESCE_SIGN names, if there is one."""
    if program := os.environ.get("CONVALESCE_SIGN"):
        subprocess.run([program, file], check=True)


def pin(folder: Path, seconds: int) -> None:
    """Give every file the same time of change."""
    for path in (*files(folder), folder):
        os.utime(path, (seconds, seconds))


def files(folder: Path) -> Iterable[Path]:
    """Return all files below a folder, in an order that no file system decides."""
    return sorted((p for p in folder.rglob("*") if p.is_file()), key=lambda p: p.relative_to(folder).as_posix())


def pack(folder: Path, target: Path, seconds: int) -> None:
    """Write the portable zip: the folder "Convalesce", with the mark that keeps settings in it."""
    when = _dos_time(seconds)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        parts = [(f.relative_to(folder).as_posix(), f.read_bytes()) for f in files(folder)]
        for name, data in (*parts, (PORTABLE_MARKER, b"The window keeps its settings in this folder.\r\n")):
            entry = zipfile.ZipInfo(f"Convalesce/{name}", when)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(entry, data)


def _dos_time(seconds: int) -> tuple[int, int, int, int, int, int]:
    from datetime import UTC, datetime

    when = datetime.fromtimestamp(seconds, UTC)
    return (max(when.year, 1980), when.month, when.day, when.hour, when.minute, when.second // 2 * 2)


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "[FOLDER]")))
