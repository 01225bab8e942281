"""What several loader tests need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[None]:
    """Run the test as a user whom permissions hold back: as root, everything may be read."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        yield
        return
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
