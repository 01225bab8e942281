"""When the installers are built and tried: whenever something that they depend on has changed, and for a release.

Each system has a record, ``installer/tested-SYSTEM.txt``: the signature of what its artefacts were last built from and
tried with. A full test run (``dev.py test``) compares; where the signature differs it builds and tries the artefacts
anew, and the record is written when they pass. Commit it with the change: until then every run builds again.

A signature covers whole files where every word matters to an installer (the recipes, the locked requirements, the
program's start, how children are started), and of the rest of the program what a packager reads from it: which files
there are and what they import. So a corrected sentence builds nothing, a new module or a new import does. The version
belongs to it, hence every release, which begins with a new version, and every tagged commit is built.
"""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = ("linux", "windows")
WHOLE = (
    *("installer", "tests/installer", "requirements/app.txt", "requirements/build.txt", "pyproject.toml", "LICENSE"),
    *(
        "core/__init__.py",
        "core/__main__.py",
        "core/host/child.py",
        "gui/display.py",
        "core/transaction/elevation.py",
        "core/common/i18n.py",
    ),
    *(
        "core/host/process.py",
        "core/host/windows/job.py",
        "core/host/linux/files.py",
        "gui/window/app.py",
        "resources/__init__.py",
    ),
)
"""Files, and folders with all that is in them, of which every byte counts."""
SKETCHED = ("core", "gui", "resources")
"""Folders of which only the files' names and their imports count."""
OF_ONE_SYSTEM = {"linux": ("linux",), "windows": ("windows", "tests/windows/lab.py")}
"""What concerns one system alone; in ``installer`` and ``tests/installer`` a file's or folder's name says it."""


def signature(system: str) -> str:
    """Return the SHA-256 of everything that the artefacts of a system are built from and tried with."""
    digest = hashlib.sha256()
    for line in sorted((*_contents(system), *_sketch())):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def record(system: str) -> Path:
    """Return the file that keeps the signature of the last artefacts of a system that passed."""
    return ROOT / "installer" / f"tested-{system}.txt"


def due(system: str) -> str:
    """Return why the artefacts of a system must be built and tried now; empty if they need not be."""
    file = record(system)
    if os.environ.get("CONVALESCE_RELEASE"):
        return "this is a release"
    if tags := _tags():
        return f"this commit is tagged {tags}"
    if not file.exists():
        return "they were never tried"
    if file.read_text(encoding="utf-8").strip() != signature(system):
        return "something that they are made of has changed"
    return ""


def passed(system: str, made_of: str) -> None:
    """Record that the artefacts whose parts had the signature ``made_of`` were built and passed."""
    record(system).write_text(made_of + "\n", encoding="utf-8")


def _contents(system: str) -> Iterator[str]:
    for name in (*WHOLE, *OF_ONE_SYSTEM[system][1:]):
        place = ROOT / name
        for file in _files(place) if place.is_dir() else (place,):
            path = file.relative_to(ROOT).as_posix()
            if file.exists() and not _of_another(path, system) and file not in map(record, SYSTEMS):
                data = file.read_bytes().replace(b"\r\n", b"\n")  # as Windows checks text out
                yield f"{path} {hashlib.sha256(data).hexdigest()}"


def _of_another(path: str, system: str) -> bool:
    """Whether a file of the installers is of another system: installer/windows/..., tests/installer/windows_lab.py."""
    others = {s for s in SYSTEMS if s != system}
    inside = path.startswith(("installer/", "tests/installer/"))
    return inside and any(
        part.removeprefix("build_").removeprefix("test_").startswith(o) for o in others for part in path.split("/")
    )


def _sketch() -> Iterator[str]:
    imported: set[str] = set()
    for folder in SKETCHED:
        for file in _files(ROOT / folder):
            yield file.relative_to(ROOT).as_posix()
            if file.suffix == ".py":
                imported |= _imports(file)
    yield from (f"import {name}" for name in imported)


def _imports(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} if node.module != "PySide6" else {f"PySide6.{a.name}" for a in node.names}
    return found


def _files(folder: Path) -> Iterator[Path]:
    return (f for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts)


def _tags() -> str:
    done = subprocess.run(["git", "tag", "--points-at", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split()) if done.returncode == 0 else ""
