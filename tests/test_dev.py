"""What dev.py says before it runs the tests."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

import dev


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_folder_that_a_second_user_cannot_enter_is_named() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        closed, checkout = Path(made), Path(made, "checkout")
        checkout.mkdir(mode=0o755)
        assert dev.closed_folder(checkout) == closed
        closed.chmod(0o755)
        assert dev.closed_folder(checkout) is None
