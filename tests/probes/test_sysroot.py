"""How files of the examined system are searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.probes.sysroot import Sysroot


@pytest.mark.parametrize(
    ("data", "limit", "found"),
    [
        (b"-" * ((1 << 20) - 3) + b"PyObject_", 2 << 20, True),  # across the end of a piece
        (b"PyObject_", 10, True),
        (b"PyObject_", 9, None),
        (b"Py" * 100, 1 << 20, False),
        (b"", 1, False),
    ],
)
def test_whether_a_file_contains_a_word(tmp_path: Path, data: bytes, limit: int, found: bool | None) -> None:
    """It is searched in pieces; one that is too long is not searched."""
    path = tmp_path / "library"
    path.write_bytes(data)
    assert Sysroot("linux").contains(str(path), b"PyObject_", limit) is found


def test_what_is_no_regular_file_is_not_searched(tmp_path: Path) -> None:
    """A folder, and a name that leads nowhere."""
    assert Sysroot("linux").contains(str(tmp_path), b"a", 9) is None
    assert Sysroot("linux").contains(str(tmp_path / "none"), b"a", 9) is None
