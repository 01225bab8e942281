"""A folder that several runs share is made once, and whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from tests.lock import made_once


def test_runs_that_start_together_make_a_folder_once(tmp_path: Path) -> None:
    together, made = Barrier(4), list[Path]()

    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "part").touch()
        made.append(folder)

    def run(_number: int) -> Path:
        together.wait()
        return made_once(tmp_path / "cache" / "folder", make)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(run, range(4))) == {tmp_path / "cache" / "folder"}
    assert len(made) == 1
    assert (tmp_path / "cache/folder/part").exists()


def test_what_an_ended_run_left_half_made_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / ".half-folder").mkdir()
    (tmp_path / ".half-folder" / "old").touch()
    assert [*made_once(tmp_path / "folder", lambda folder: folder.mkdir()).iterdir()] == []
