"""Reading a file once: what is remembered, and what is read again."""

from __future__ import annotations

import os
from pathlib import Path

from core.loader.files import cached_by_file

OLD = 1_000_000_000
"""A moment long ago, in nanoseconds; a file system may tell moments two seconds apart."""


def reader(calls: list[str]):
    @cached_by_file
    def read(path, *, root="/"):
        calls.append(str(path))
        return Path(root, str(path).lstrip("/")).read_bytes()

    return read


def settle(monkeypatch, path: Path) -> None:
    """Let the clock be far behind the file's times: no change of it can be missed any more."""
    later = path.stat().st_ctime_ns + 10**10
    monkeypatch.setattr("core.loader.files.time.time_ns", lambda: later)


def test_a_settled_file_is_read_once(tmp_path: Path, monkeypatch):
    path, calls = tmp_path / "a", []
    path.write_bytes(b"one")
    settle(monkeypatch, path)
    read = reader(calls)
    assert [read(path), read(str(path)), read(path, root="/")] == [b"one"] * 3
    assert len(calls) == 1


def test_a_young_file_is_read_each_time(tmp_path: Path, monkeypatch):
    path, calls = tmp_path / "a", []
    read = reader(calls)
    path.write_bytes(b"one")
    born = path.stat().st_ctime_ns
    monkeypatch.setattr("core.loader.files.time.time_ns", lambda: born + 1_000_000_000)
    assert read(path) == b"one"
    path.write_bytes(b"two")
    assert read(path) == b"two"
    assert len(calls) == 2


def test_a_changed_file_is_read_again(tmp_path: Path, monkeypatch):
    path, calls = tmp_path / "a", []
    read = reader(calls)
    path.write_bytes(b"one")
    os.utime(path, ns=(OLD, OLD))
    settle(monkeypatch, path)
    assert read(path) == b"one"
    path.write_bytes(b"two")
    os.utime(path, ns=(5 * OLD, 5 * OLD))  # of the same size, and old as well
    settle(monkeypatch, path)
    assert read(path) == b"two"


def test_another_file_in_its_place_is_read(tmp_path: Path, monkeypatch):
    path, other, calls = tmp_path / "a", tmp_path / "b", []
    read = reader(calls)
    path.write_bytes(b"one")
    other.write_bytes(b"two")
    settle(monkeypatch, other)
    assert read(path) == b"one"
    other.replace(path)
    settle(monkeypatch, path)
    assert read(path) == b"two"


def test_the_same_path_below_another_root_is_another_file(tmp_path: Path, monkeypatch):
    calls: list[str] = []
    read = reader(calls)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_bytes(name.encode())
    settle(monkeypatch, tmp_path / "two" / "a")
    assert read("/a", root=str(tmp_path / "one")) == b"one"
    assert read("/a", root=str(tmp_path / "two")) == b"two"


def test_what_is_not_there_is_asked_for_each_time(tmp_path: Path):
    asked: list[str] = []

    @cached_by_file
    def read(path, *, root="/"):
        asked.append(path)
        return root

    for _time in range(2):
        assert read(str(tmp_path / "none"), root="/") == "/"
    assert len(asked) == 2
