"""Machines made of real files and a writer in memory, for the tests of fixing."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from core.host import safe_folder
from core.model import changes
from core.model.changes import FileItem, FileSet, SetVariable, Value
from core.transaction.execute import Plan
from core.transaction.journal import Journal
from tests.transaction.memory_store import MemoryWriter


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tree(folder: Path) -> dict[str, object]:
    """Everything under a folder: bytes or link target, and mode."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        what = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        found[str(path.relative_to(folder))] = (what, path.lstat().st_mode)
    return found


@pytest.fixture(params=["by handle", "by path"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of opening folders: that of Linux, and that of Windows."""
    monkeypatch.setattr(safe_folder, "BY_HANDLE", request.param == "by handle")
    return request.param


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with a library set to come, one to replace, one to put aside, and a link."""
    return made(tmp_path)


def made(folder: Path) -> Path:
    """Make the fixture's machine below a folder."""
    root = Path(os.path.realpath(folder)) / "machine"
    for name, data in {
        "source/libcudnn.so.9.1": b"shim 9.1",
        "source/libcudnn_ops.so.9.1": b"ops 9.1" * 1000,
        "lib/libcudnn_ops.so.9.1": b"damaged",
        "lib/stray.so": b"stray",
        "home/.profile": b"# mine\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "lib/stray.so").chmod(0o640)
    (root / "lib/libcudnn.so.9").symlink_to("libcudnn.so.9.0")
    return root


def item(root: Path, name: str, source: str = "", after: str | None = None, text: str | None = None) -> FileItem:
    """A FileItem whose ``before`` is what is there now."""
    path = root / name
    before = (
        "" if not os.path.lexists(path) else f"-> {path.readlink()}" if path.is_symlink() else sha(path.read_bytes())
    )
    if text is not None:
        return FileItem(path=str(path), before=before, after=sha(text.encode()), size=len(text), text=text)
    if source:
        data = (root / source).read_bytes()
        return FileItem(path=str(path), before=before, after=sha(data), size=len(data), source=str(root / source))
    return FileItem(path=str(path), before=before, after=after or "")


def files(root: Path) -> FileSet:
    return FileSet(
        title="cuDNN 9.1",
        folders=(str(root / "own"), str(root / "own/lib")),
        items=(
            item(root, "own/lib/libcudnn.so.9.1", "source/libcudnn.so.9.1"),
            item(root, "own/lib/libcudnn.so.9", after="-> libcudnn.so.9.1"),
            item(root, "lib/libcudnn_ops.so.9.1", "source/libcudnn_ops.so.9.1"),
            item(root, "lib/libcudnn.so.9", after="-> libcudnn.so.9.1"),
            item(root, "lib/stray.so"),
            item(root, "own/note.conf", text="/own/lib\n"),
        ),
    )


def memory() -> MemoryWriter:
    return MemoryWriter(
        "windows",
        {
            ("PATH", "user", ""): Value(text="C:\\a;;%USERPROFILE%\\b", kind="REG_EXPAND_SZ"),
            ("CUDA_PATH", "machine", ""): Value(text="C:\\gone", kind="REG_SZ"),
        },
    )


def everything(root: Path, writer: MemoryWriter) -> Plan:
    path = writer.values["PATH", "user", ""]
    return Plan(
        title="Everything at once",
        finding="cudnn.not-on-search-path",
        changes=(
            files(root),
            changes.insert_entry(path, "C:\\cudnn\\bin", 0, "windows", name="PATH", scope="user"),
            SetVariable(name="CUDA_PATH", scope="machine", before=Value(text="C:\\gone"), after=None),
        ),
    )


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "state")


class Busy(MemoryWriter):
    """A machine on which a program holds every file."""

    def programs_using(self, paths: object) -> tuple[str, ...]:
        return tuple(f"python.exe (4711, {Path(p).name})" for p in paths)
