"""The nearest folder that exists, for whoever asks what a new file would lie in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.host.safe_folder import nearest_existing


def test_the_folder_above_what_is_not_there_yet(tmp_path: Path) -> None:
    assert nearest_existing(str(tmp_path)) == str(tmp_path)
    assert nearest_existing(str(tmp_path / "a" / "b" / "c")) == str(tmp_path)


def test_a_link_that_leads_nowhere_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert nearest_existing(str(tmp_path / "gone" / "file")) == str(tmp_path)


def test_a_file_in_the_way_is_what_exists(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert nearest_existing(str(tmp_path / "file" / "below")) == str(tmp_path / "file")


def test_where_nobody_may_look_it_ends_at_what_can_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pathlib raises there, so that a plan ended in a traceback instead of asking for an administrator."""
    closed = tmp_path / "closed"
    closed.mkdir()
    stat = os.stat

    def refused(path: str, *arguments: object, **named: object) -> os.stat_result:
        if os.fspath(path).startswith(f"{closed}{os.sep}"):
            raise PermissionError(13, "Permission denied", path)
        return stat(path, *arguments, **named)

    monkeypatch.setattr(os, "stat", refused)
    assert nearest_existing(str(closed / "inside" / "file")) == str(closed)


def test_where_not_even_a_root_exists_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drive that is gone: one of three look-alikes went up for ever."""
    monkeypatch.setattr(os.path, "exists", lambda _path: False)
    assert nearest_existing(str(Path("/z/a/b"))) == os.sep
