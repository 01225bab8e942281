"""Reading a file once: what is remembered within a run and between runs, and what is read again."""

from __future__ import annotations

import os
import sys
from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest

from core.common import fact_text
from core.loader import earlier_reads
from core.loader.earlier_reads import EarlierReads, cached_by_file, file_identity, using
from core.loader.image import Image
from core.loader.read_image import read_image

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
    monkeypatch.setattr("core.loader.earlier_reads.time.time_ns", lambda: later)


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
    monkeypatch.setattr("core.loader.earlier_reads.time.time_ns", lambda: born + 1_000_000_000)
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


# --- between runs -----------------------------------------------------------------------------------------------------


def typed_reader(calls: list[str]):
    """A reader whose results last between runs; each call makes another function, as each run does."""

    @cached_by_file
    def read(path: str, *, root: str = "/") -> tuple[str, ...] | None:
        calls.append(path)
        text = Path(path).read_text()
        return (text,) if text else None

    return read


def test_what_a_run_read_the_next_one_knows(tmp_path: Path, monkeypatch):
    path, calls = tmp_path / "a", []
    path.write_text("one")
    settle(monkeypatch, path)
    first = EarlierReads()
    with using(first):
        assert typed_reader(calls)(str(path)) == ("one",)
    assert first.has_news
    second = EarlierReads(first.to_bytes())
    with using(second):
        assert typed_reader(calls)(str(path)) == ("one",)
    assert len(calls) == 1
    assert not second.has_news
    assert typed_reader(calls)(str(path)) == ("one",)
    assert len(calls) == 2  # without the store


@pytest.mark.parametrize("change", ["bytes", "times", "another file", "mode"])
def test_a_file_of_another_identity_is_read(change, tmp_path: Path, monkeypatch):
    path, calls = tmp_path / "a", []
    path.write_text("one")
    settle(monkeypatch, path)
    with using(store := EarlierReads()):
        typed_reader(calls)(str(path))
    match change:
        case "bytes":
            path.write_text("two")
        case "times":
            os.utime(path, ns=(OLD, OLD))
        case "another file":
            (tmp_path / "b").write_text("two")
            (tmp_path / "b").replace(path)
        case "mode":
            path.chmod(0o400)
    settle(monkeypatch, path)
    with using(EarlierReads(store.to_bytes())):
        assert typed_reader(calls)(str(path)) == (path.read_text(),)
    assert len(calls) == 2


def test_nothing_is_kept_of_another_system_s_files_nor_of_what_was_not_read(tmp_path: Path, monkeypatch):
    (tmp_path / "a").write_text("")
    settle(monkeypatch, tmp_path / "a")
    with using(store := EarlierReads()):
        read = typed_reader([])
        assert read(str(tmp_path / "a")) is None
        read_image("/a", root=str(tmp_path))
        assert read_image(str(tmp_path / "none")).state == "missing"
    assert not store.has_news


def test_the_sentences_of_what_was_kept_can_be_translated(tmp_path: Path, monkeypatch):
    path = tmp_path / "lib.so"
    path.write_bytes(b"\x7fELF" + bytes(40))
    settle(monkeypatch, path)
    with using(store := EarlierReads()):
        problem = read_image(str(path)).problem
    data = store.to_bytes()
    fact_text.take_forms()
    assert fact_text.form_of(problem) is None
    with using(later := EarlierReads(data)):
        assert earlier_reads.earlier_or_new(next(iter(later._kept)), identity_of(later), Image, dict).problem == problem
    assert fact_text.form_of(problem)


def identity_of(store: EarlierReads) -> str:
    return next(iter(store._kept.values()))[0]


def kept() -> bytes:
    store = EarlierReads()
    store.keep("key", "identity", ("one", "two"))
    return store.to_bytes()


def resealed(body: object) -> bytes:
    data = msgspec.msgpack.encode(body)
    return blake2b(data, digest_size=4).digest() + data


BAD = {
    "nothing": b"",
    "cut short": kept()[:-3],
    "one byte another": kept()[:-2] + bytes([kept()[-2] ^ 1]) + kept()[-1:],
    "no such form": resealed({"key": 1}),
    "other readers": resealed(("0.0.0", {"key": ("identity", ("one",), [])})),
    "text": b"{}" * 100,
    "deep": b"\x91" * 100_000,
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_what_makes_no_sense_counts_as_not_kept(data: bytes):
    assert EarlierReads(data).find("key", "identity", tuple[str, ...]) is None


def test_a_value_of_another_kind_counts_as_not_kept():
    store = EarlierReads(kept())
    assert store.find("key", "identity", tuple[str, ...]) == ("one", "two")
    assert store.find("key", "identity", Image) is None
    assert store.find("key", "another identity", tuple[str, ...]) is None


def test_what_is_kept_is_bounded_and_what_was_used_goes_first(monkeypatch):
    old = EarlierReads()
    for number in range(100):
        old.keep(f"key {number}", "identity", "x" * 100)
    again = EarlierReads(old.to_bytes())
    assert again.find("key 99", "identity", str)
    monkeypatch.setattr(earlier_reads, "MAX_KEPT_BYTES", 6000)
    data = again.to_bytes()
    assert len(data) < 6000
    assert EarlierReads(data).find("key 99", "identity", str)
    assert not EarlierReads(data).find("key 98", "identity", str)


@pytest.mark.skipif(sys.platform == "win32", reason="another file system's times")
def test_a_further_hard_link_is_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installer that links packages from a store makes one for each environment."""
    path, calls = tmp_path / "a", []
    path.write_bytes(b"one")
    os.link(path, tmp_path / "store")
    settle(monkeypatch, path)
    read = reader(calls)
    assert read(path) == b"one"
    before = path.stat().st_ctime_ns
    while path.stat().st_ctime_ns == before:
        (tmp_path / "other environment").unlink(missing_ok=True)
        os.link(path, tmp_path / "other environment")
    assert file_identity(str(path)) == file_identity(str(tmp_path / "store"))
    assert (read(path), len(calls)) == (b"one", 1)
    path.write_bytes(b"two")
    settle(monkeypatch, path)
    assert (read(path), len(calls)) == (b"two", 2)


def test_a_python_without_zlib_reads_and_keeps_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its library may be what the machine lacks."""
    monkeypatch.setitem(sys.modules, "zlib", None)
    child, scan = EarlierReads(), EarlierReads()
    child.keep("a", "identity", 3)
    scan.take(child.news())
    assert EarlierReads(scan.to_bytes()).find("a", "identity", int) == 3
