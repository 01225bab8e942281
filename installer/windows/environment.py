"""A clean Windows Python with exactly the locked packages of requirements/build.txt: native, or under wine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[2]
LOCKED = ROOT / "requirements/build.txt"
HASH_SEED = {"PYTHONHASHSEED": "1"}
"""PyInstaller's manual, "Creating a reproducible build": the order of sets gets into the byte code."""
WHEEL = """
import os, sys
os.chdir(sys.argv[1])
from setuptools import build_meta
build_meta.build_wheel(sys.argv[2], {"--global-option": "--quiet"})
"""


class Environment(Protocol):
    """What the build asks of it."""

    def run(self, *arguments: str | Path) -> None:
        """Run its Python with these arguments. Ends the build when that fails."""

    def wheel(self, source: Path, target: Path) -> Path:
        """Build the wheel of a source folder into another folder and return it."""

    def install(self, wheel: Path) -> None:
        """Install a wheel, without what it depends on: that is there."""


@contextmanager
def environment() -> Iterator[Environment]:
    """Give a new environment for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="convalesce-build-") as folder:
        if sys.platform == "win32":
            yield _Native(Path(folder))
        else:
            from tests.windows.lab import session

            with session("builder") as (lab, display):
                yield _UnderWine(Path(folder), lab, display)


def _build_wheel(builder: Environment, source: Path, target: Path) -> Path:
    target.mkdir(parents=True)
    builder.run("-c", WHEEL, source, target)
    (wheel,) = target.glob("*.whl")
    return wheel


class _Native:
    """On Windows: a virtual environment."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self._python = folder / "Scripts/python.exe"
        self.run("-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary=:all:", "-r", LOCKED)

    def run(self, *arguments: str | Path) -> None:
        clean = {n: v for n, v in os.environ.items() if not n.upper().startswith(("PYTHON", "QT_", "VIRTUAL_ENV"))}
        subprocess.run([self._python, *arguments], cwd=ROOT, env={**clean, **HASH_SEED}, check=True)

    def wheel(self, source: Path, target: Path) -> Path:
        return _build_wheel(self, source, target)

    def install(self, wheel: Path) -> None:
        self.run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)


class _UnderWine:
    """Elsewhere: a copy of the wine lab's Windows Python without the lab's packages."""

    def __init__(self, folder: Path, lab: object, display: dict[str, str]) -> None:
        from tests.windows.lab import Lab, windows_lock

        assert isinstance(lab, Lab)
        self._lab, self._display = lab, display
        self._python = folder / "python/python.exe"
        self._site = folder / "python/Lib/site-packages"
        shutil.copytree(lab.python.parent, self._python.parent, ignore=shutil.ignore_patterns("site-packages"))
        locked = folder / "requirements.txt"
        locked.write_text(windows_lock(LOCKED.read_text()))
        self._pip("--require-hashes", "-r", locked)
        # one C++ run time for the whole process: the newest, which comes with Qt's modules
        for newer in (self._site / "shiboken6").glob("*.dll"):
            if newer.name.lower() in ("vcruntime140.dll", "vcruntime140_1.dll"):
                shutil.copy(newer, self._python.with_name(newer.name.lower()))

    def _pip(self, *arguments: str | Path) -> None:
        minor = f"{sys.version_info.major}.{sys.version_info.minor}"
        options = ("--no-deps", "--only-binary=:all:", "--platform", "win_amd64", "--python-version", minor)
        pip = (sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-compile")
        subprocess.run([*pip, *options, "--target", self._site, *arguments], check=True)

    def run(self, *arguments: str | Path) -> None:
        extra = {**self._display, **HASH_SEED, "QT_QPA_PLATFORM": "offscreen", "PYTHONDONTWRITEBYTECODE": "1"}
        with self._lab.start([self._python, *arguments], extra) as process:
            assert process.stdout is not None
            for line in process.stdout:
                sys.stdout.write(line.decode("utf-8", "replace"))
        if process.returncode:
            raise SystemExit(f"{arguments[0]} ended with status {process.returncode} under wine")

    def wheel(self, source: Path, target: Path) -> Path:
        return _build_wheel(self, source, target)

    def install(self, wheel: Path) -> None:
        self._pip("--no-index", wheel)
