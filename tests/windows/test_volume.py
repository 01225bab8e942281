"""A volume without free space: the plan is refused, and where the space ends on the way everything is as before."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import winreg
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.model.changes import FileItem, FileSet, SetVariable, Value
from core.transaction.execute import Plan, execute
from core.transaction.journal import Journal
from core.transaction.windows_variable_store import WindowsVariables

assert sys.platform == "win32"

DRIVE = os.environ.get("CONVALESCE_SMALL_DRIVE", "")
KEY = r"Software\ConvalesceVolumeTest"
pytestmark = pytest.mark.skipif(not DRIVE, reason="the lab mounts a drive of half a megabyte, as root")


@pytest.fixture
def drive() -> Iterator[Path]:
    """An empty drive."""
    root = Path(DRIVE)
    yield root
    for entry in root.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def placed(drive: Path, source: Path, number: int) -> FileSet:
    """Files of 150 KB each, in a folder of their own on the drive."""
    data = bytes(150_000)
    source.write_bytes(data)
    sha, folder = hashlib.sha256(data).hexdigest(), drive / "cudnn"
    items = tuple(
        FileItem(path=str(folder / f"{n}.dll"), after=sha, size=len(data), source=str(source)) for n in range(number)
    )
    return FileSet(title="a set", items=items, folders=(str(folder),))


def test_a_plan_for_a_full_volume_is_refused_before_anything_is_written(drive: Path, tmp_path: Path) -> None:
    plan = Plan(title="x", changes=(placed(drive, tmp_path / "a.dll", 2),))
    done = execute(plan, writer=WindowsVariables(), journal=Journal(tmp_path / "state"), verify=lambda: "")
    assert done.kind == "refused"
    assert "MiB free" in done.sentence
    assert list(drive.iterdir()) == []


def test_space_that_ends_on_the_way_leaves_nothing_behind(
    drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(title="x", changes=(placed(drive, tmp_path / "a.dll", 6),))
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1 << 40))
    done = execute(plan, writer=WindowsVariables(), journal=Journal(tmp_path / "state"), verify=lambda: "")
    assert done.kind in ("refused", "rolled back"), done
    assert list(drive.iterdir()) == []


def test_without_room_for_the_journal_nothing_is_changed(drive: Path, tmp_path: Path) -> None:
    winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, KEY).Close()
    try:
        writer = WindowsVariables(user_key=KEY)
        with pytest.raises(OSError, match="space"), (drive / "full").open("wb") as stream:  # noqa: PT012 - filled to the end
            while True:
                stream.write(bytes(4096))
                stream.flush()
        change = SetVariable(name="CUDA_PATH", scope="user", before=None, after=Value(text="C:\\x", kind="REG_SZ"))
        plan = Plan(title="x", changes=(change,))
        done = execute(plan, writer=writer, journal=Journal(drive / "state"), verify=lambda: "")
        assert done.kind == "refused", done
        assert writer.read("CUDA_PATH", "user", "") is None
    finally:
        winreg.DeleteKey(winreg.HKEY_CURRENT_USER, KEY)
