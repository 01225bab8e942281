"""Where the lab's stand-in DLLs lie, for tests that plant them in this Windows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import pytest

PLACES = "CONVALESCE_PLACES"
"""The variable by which ``python -m tests.windows`` says where they are."""

in_the_lab = pytest.mark.skipif(
    PLACES not in os.environ, reason="plants a driver in System32 and DLLs in Program Files: in the wine lab alone"
)


def places() -> Mapping[str, str]:
    """Return the folders of stand-ins by their names."""
    found: Mapping[str, str] = json.loads(os.environ[PLACES])
    return found
