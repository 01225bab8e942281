"""System calls that fail: what was said about a change is true all the same. The whole: ``python -m tests.fixing.faults``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32" or not shutil.which("gcc"), reason="needs a compiler on Linux")

if sys.platform != "win32":
    from tests.fixing import faults

    NAMES = [*faults.WAYS]


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return faults.build(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("kind", NAMES if sys.platform != "win32" else [])
def test_what_is_said_is_true_whatever_call_fails(shim: Path, kind: str) -> None:
    found = faults.told([kind], 12, shim)
    assert found["trials"] >= 2 * 12 * len(faults.FAULTS) * 0.8
    assert found["rows"] == []
