"""Facts from wheels: what is required and brought, with few bytes read."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path

import pytest

from installer.generate import index as index_module
from installer.generate.index import BLOCK, ONWARD, IndexFile, Ranged, pip_index
from installer.generate.wheels import Asked, changes, contents, facts, gpu_code, harvest, main, one_each
from tests.standin import build_library

METADATA = b"Metadata-Version: 2.1\nName: x\nRequires-Dist: nvidia-cudnn-cu12==9.1.0.70\nRequires-Dist: requests\n\n"


def wheel() -> bytes:
    """Return a wheel with one large library."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("x/lib/libcudnn.so.9", b"\x7fELF" + b"\0" * (20 * BLOCK))
        archive.writestr("x/__init__.py", "")
        archive.writestr("x-1.0.dist-info/METADATA", METADATA)
    return data.getvalue()


def test_only_the_end_of_a_wheel_is_read() -> None:
    data, asked = wheel(), []

    def fetch(start: int, stop: int) -> bytes:
        asked.append((start, stop))
        return data[start:stop]

    told = facts(*contents(fetch, len(data)))
    assert told == {"requires": ["nvidia-cudnn-cu12==9.1.0.70"], "libraries": ["libcudnn.so.9"]}
    assert sum(stop - start for start, stop in asked) <= 3 * BLOCK < len(data)


def listed(name: str) -> IndexFile:
    return IndexFile(name=name, url=f"https://index.invalid/{name}", size=1, sha256="0", uploaded="2026-01-01")


def test_one_wheel_for_each_system_for_the_newest_python() -> None:
    names = (
        "a-1-cp39-cp39-manylinux_2_28_x86_64.whl",
        "a-1-cp312-cp312-manylinux_2_28_x86_64.whl",
        "a-1-cp312-cp312t-manylinux_2_28_x86_64.whl",
        "a-1-cp312-cp312-win_amd64.whl",
    )
    chosen = [(system, f.name, pythons) for system, f, pythons in one_each([listed(n) for n in names])]
    assert chosen == [("linux", names[1], ["cp39", "cp312"]), ("windows", names[3], ["cp312"])]


def test_who_reads_on_asks_for_more_at_once() -> None:
    asked: list[int] = []

    def fetch(start: int, stop: int) -> bytes:
        asked.append(stop - start)
        return bytes(stop - start)

    assert len(Ranged(fetch, 20 * BLOCK).read()) == 20 * BLOCK
    assert asked == [BLOCK, ONWARD * BLOCK, 3 * BLOCK]


def test_an_index_is_asked_for_its_list_and_then_for_pieces_of_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    data, name = wheel(), "x-2.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    old, gone, early = name.replace("2.0", "1.9"), name.replace("2.0", "2.1"), name.replace("2.0", "3.0rc1")
    files = [
        {"filename": n, "url": f"../files/{n}", "size": len(data), "hashes": {"sha256": "ab"}, "yanked": n == gone}
        for n in (name, old, gone, early)
    ]
    asked: list[str] = []

    def get(url: str, **headers: str) -> bytes:
        asked.append(url)
        if "Range" not in headers:
            return json.dumps({"files": files}).encode()
        first, last = headers["Range"].removeprefix("bytes=").split("-")
        return data[int(first) : int(last) + 1]

    monkeypatch.setattr(index_module, "get", get)
    rows = list(harvest("x", "https://index.invalid/simple", Asked(newest=1)))
    assert [(r["version"], r["system"], r["pythons"], r["source"]) for r in rows] == [("2.0", "linux", ["cp312"], name)]
    assert rows[0]["requires"] == ["nvidia-cudnn-cu12==9.1.0.70"]
    assert asked[0] == "https://index.invalid/simple/x/"
    assert set(asked[1:]) == {f"https://index.invalid/simple/files/{name}"}


def test_a_library_that_is_too_large_is_named_and_what_a_small_one_was_built_for_is_read(tmp_path: Path) -> None:
    built = tmp_path / "x.so"
    built.write_bytes(random.Random(1).randbytes(1 << 17) + b"\0sm_75 sm_80 sm_90a compute_90\0")
    file = tmp_path / "x.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.write(built, "x/small.so")
        archive.writestr("x/large.so", random.Random(2).randbytes(1 << 19))
    with zipfile.ZipFile(file) as archive:
        told = gpu_code(archive, 1 << 18)
    assert told["large"] == ["x/large.so"]
    assert told["built_for"] == {"x/small.so": ["sm_75", "sm_80", "sm_90a", "compute_90"]}


def test_what_changed_since_is_said() -> None:
    row = {"package": "x", "version": "1.0", "system": "linux", "pythons": ["cp312"]}
    now = [row | {"pythons": ["cp312", "cp313"]}, row | {"version": "2.0"}]
    assert list(changes([row, row | {"version": "0.9"}], now)) == [
        "- x 0.9 linux",
        '~ x 1.0 linux: pythons: ["cp312"] -> ["cp312", "cp313"]',
        "+ x 2.0 linux",
    ]


def test_the_index_is_the_one_that_pip_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.invalid/simple")
    assert pip_index() == "https://index.invalid/simple"


def test_a_wheel_on_disk_is_read_whole_and_nobody_learns_where_it_lay(tmp_path: Path) -> None:
    cudart = build_library(tmp_path / "libcudart.so.12")
    built = build_library(tmp_path / "libx.so", needed=(cudart,))
    file = tmp_path / "x-1.0-py3-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.write(built, "x/libx.so")
        archive.writestr("x-1.0.dist-info/METADATA", METADATA.replace(b"Name: x", b"Name: x\nVersion: 1.0"))
    out = tmp_path / "table.json"
    assert main([str(file), "--out", str(out)]) == 0
    row = json.loads(out.read_text())["wheels"][0]
    assert (row["package"], row["version"], row["system"]) == ("x", "1.0", "linux")
    assert (row["needs"], row["libraries"]) == (["libcudart.so.12"], ["x/libx.so"])
    assert len(row["processors"]) == 1
    assert str(tmp_path) not in out.read_text()
