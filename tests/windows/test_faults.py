"""A few rows of the fault lab on stand-in DLLs: planted, found, cured in the real registry and files, and taken back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatch

import pytest

from tests.windows.planted import in_the_lab, places

assert sys.platform == "win32"
# ruff: noqa: E402 - type checkers on Linux stop at the assertion; what follows is known on Windows alone

from tests.windows.faultlab.inside import examined
from tests.windows.faultlab.machine import Machine
from tests.windows.faultlab.rows import ROWS, Row

CHOSEN = (
    *("not-on-path", "entry-unexpanded", "user-path-absent", "cuda-13-bin-on-path", "cuda-path-dangling"),
    *("older-8-cnn-32-bit", "9-ops-missing", "9-start-fails", "nowhere", "system32-older-set", "runtime-missing"),
    *("driver-sees-no-gpu", "healthy-installer-9", "healthy-8-in-toolkit", "healthy-shim-in-wheel"),
)
"""One row of each kind of fault and of each kind of cure; the whole lab has them all, on NVIDIA's own DLLs."""


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Give the process its variables back: a row replaces them by those of a new program."""
    ours = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(ours)


@in_the_lab
@pytest.mark.parametrize("row", [r for r in ROWS if any(fnmatch(r.name, c) for c in CHOSEN)], ids=lambda r: r.name)
def test_a_planted_fault_is_found_cured_and_taken_back(row: Row) -> None:
    result = examined(row, Machine(places()), "")
    assert result["right"], result
    if row.cured:
        assert "undone" in result["proof"]
