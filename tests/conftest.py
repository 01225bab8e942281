"""What holds for every test: English texts whatever the machine speaks; generated inputs alike in every run, untimed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from core.common import i18n

NEEDS_LINUX = (
    *(f"benchmark/test_{name}.py" for name in ("engine", "every_call", "frameworks", "probe")),
    *(f"fixing/test_{name}.py" for name in ("cures", "faults", "pkexec")),
    *(f"malice/test_{name}.py" for name in ("fuzz", "histories", "orders", "plans", "races")),
    *(f"probes/test_{name}.py" for name in ("driver_files", "frameworks_records")),
)
"""Files that import what only Linux has (its host, its users): Windows does not collect them."""

collect_ignore = [*NEEDS_LINUX] if sys.platform == "win32" else []

os.environ[i18n.LANGUAGE_VARIABLE] = i18n.ENGLISH  # for the programs that tests start, too
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Texts are English at the start of a test, and again after one that chose another language."""
    i18n.use_language(i18n.ENGLISH)
    yield
    os.environ[i18n.LANGUAGE_VARIABLE] = i18n.ENGLISH
    i18n.use_language(i18n.ENGLISH)


BY_HAND = ("world", "engines")
"""Markers of tests that install real frameworks (18 GB), or need engines of Debian's."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is run by hand, unless it is asked for by its marker."""
    unasked = [marker for marker in BY_HAND if marker not in config.getoption("markexpr")]
    left = [item for item in items if any(item.get_closest_marker(m) for m in unasked)]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)
