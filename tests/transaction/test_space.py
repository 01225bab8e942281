"""The room that a plan needs: a file that is put aside is renamed and needs none, unless it has a second name or changes disks."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from core.model.changes import FileItem, FileSet
from core.transaction.file_preconditions import _space
from core.transaction.journal import Journal

MIB = 1 << 20


class Usage(NamedTuple):
    """As shutil tells it."""

    total: int
    used: int
    free: int


@pytest.mark.parametrize(
    ("size", "free", "second_name", "enough"),
    [(50, 100, False, True), (50, 100, True, False), (50, 120, True, True), (0, 0, True, True)],
)
def test_what_is_put_aside_needs_room_only_where_it_is_copied(
    size: int, free: int, second_name: bool, enough: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "libcudnn.so.9"
    with file.open("wb") as stream:
        stream.truncate(size * MIB)
    if second_name:
        (tmp_path / "libcudnn.so").hardlink_to(file)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(1 << 40, 0, free * MIB))
    plan = FileSet(title="x", items=(FileItem(path=str(file), before="?", after=""),))
    assert (_space(plan, Journal(tmp_path / "journal")) == []) is enough


@pytest.mark.parametrize(("size", "free", "enough"), [(50, 115, True), (50, 113, False), (0, 1, True)])
def test_what_is_placed_needs_its_size_and_a_margin(
    size: int, free: int, enough: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(1 << 40, 0, free * MIB))
    item = FileItem(path=str(tmp_path / "new" / "libcudnn.so.9"), after="0" * 64, size=size * MIB, source="/x")
    assert (_space(FileSet(title="x", items=(item,)), Journal(tmp_path / "journal")) == []) is enough
