"""A wheel's RECORD: rows, verdicts, hashes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from core.common.progress import CancelledError, Progress
from core.model.facts import Distribution
from core.probes.hashing import hash_files
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import RecordRow, record_rows, record_state
from tests.probes.request import write

WHEEL = Distribution(name="nvidia-cudnn-cu12", version="9.1.0.70", location="/site")
RECORD = "/site/nvidia_cudnn_cu12-9.1.0.70.dist-info/RECORD"


def test_rows_of_a_record(tmp_path: Path) -> None:
    lines = (
        "nvidia/cudnn/lib/libcudnn.so.9,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,7",
        '"nvidia/cudnn/lib/libcudnn_a,b.so.9",md5=x,',
        "nvidia/cudnn/../../libcudnn_up.so.9,sha256=???,-3",
        "nvidia/cudnn/lib/half-a-line",
        "nvidia/other/x.so,sha256=x,1",
        "nvidia_cudnn_cu12-9.1.0.70.dist-info/RECORD,,",
    )
    write(tmp_path, RECORD, "\n".join(lines).encode() + b"\n\xff\xfecudnn,,\n")
    found = record_rows(WHEEL, "cudnn", Sysroot("linux", str(tmp_path)))
    empty = hashlib.sha256(b"").hexdigest()
    assert found["/site/nvidia/cudnn/lib/libcudnn.so.9"] == RecordRow(sha256=empty, size=7)
    assert found["/site/nvidia/cudnn/lib/libcudnn_a,b.so.9"] == RecordRow()
    assert found["/site/libcudnn_up.so.9"].size is None
    assert not any("other" in path for path in found)


def test_no_record(tmp_path: Path) -> None:
    assert record_rows(WHEEL, "cudnn", Sysroot("linux", str(tmp_path))) == {}


@pytest.mark.parametrize(
    ("row", "size", "sha256", "expected"),
    [
        (None, 7, "", "not listed"),
        (RecordRow(sha256="aa", size=7), 7, "", "unchecked"),
        (RecordRow(sha256="aa", size=7), 8, "", "size differs"),
        (RecordRow(sha256="aa", size=7), 8, "aa", "size differs"),
        (RecordRow(sha256="aa", size=7), 7, "aa", "matches"),
        (RecordRow(sha256="aa", size=7), 7, "bb", "hash differs"),
        (RecordRow(size=7), 7, "bb", "unchecked"),
        (RecordRow(sha256="aa", size=7), None, "", "unchecked"),
    ],
)
def test_a_verdict(row: RecordRow | None, size: int | None, sha256: str, expected: str) -> None:
    assert record_state(row, size, sha256) == expected


def test_hashes_of_regular_files_only(tmp_path: Path) -> None:
    write(tmp_path, "/a", b"x" * 9_000_000)
    write(tmp_path, "/b", b"yy")
    write(tmp_path, "/folder/empty", b"")
    found = hash_files(("/a", "/b", "/none", "/folder", "/folder/empty"), Sysroot("linux", str(tmp_path)), Progress())
    assert found == {"/a": hashlib.sha256(b"x" * 9_000_000).hexdigest(), "/b": hashlib.sha256(b"yy").hexdigest()}


def test_hashing_can_be_cancelled(tmp_path: Path) -> None:
    write(tmp_path, "/a", b"x")
    watch = Progress()
    watch.cancel()
    with pytest.raises(CancelledError):
        hash_files(("/a",), Sysroot("linux", str(tmp_path)), watch)
