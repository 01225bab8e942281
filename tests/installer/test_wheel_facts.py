"""Facts from wheels: what is required and brought, with few bytes read."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from installer.generate.wheels import BLOCK, contents, facts, main, one_each
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


def test_one_wheel_for_each_system_for_the_newest_python_and_none_that_was_withdrawn() -> None:
    names = (
        "a-1-cp39-cp39-manylinux_2_28_x86_64.whl",
        "a-1-cp312-cp312-manylinux_2_28_x86_64.whl",
        "a-1-cp312-cp312-win_amd64.whl",
    )
    files = [{"packagetype": "bdist_wheel", "yanked": False, "filename": n} for n in names]
    files += [{"packagetype": "bdist_wheel", "yanked": True, "filename": "a-1-cp313-cp313-win_amd64.whl"}]
    assert [(system, f["filename"]) for system, f in one_each(files)] == [("linux", names[1]), ("windows", names[2])]


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


def test_a_package_needs_an_index(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["torch"])
    assert "--index" in capsys.readouterr().err
