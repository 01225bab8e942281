"""A sample of the cure lab's rows, and the page that the whole of it writes. All rows: python -m tests.curelab."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from tests.curelab import system
from tests.curelab.page import CASES, CURES
from tests.curelab.rows import ROWS
from tests.curelab.run import run

SAMPLE = ("cpu-build-uv", "cudnn-pin-broken-uv", "module-lost-user-site", "jax-takes-all-memory")
PAGE = Path(__file__).parents[2] / "docs" / "cures.md"


@pytest.mark.parametrize("name", SAMPLE)
def test_one_press_cures_and_undo_brings_every_byte_back(name: str) -> None:
    assert run(next(r for r in ROWS if r.name == name)).wrong == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace of one's own is root's")
def test_wsls_folder_is_searched_after_one_press_and_forgotten_again() -> None:
    assert system.run() == ""


def test_the_page_counts_the_threads_and_has_every_row() -> None:
    text = PAGE.read_text(encoding="utf-8")
    counts = Counter(case["kind"] for case in json.loads(CASES.read_text(encoding="utf-8")))
    assert counts.total() == 206
    for kind in CURES:
        assert f"| {kind.words} | {counts[kind.name]} |" in text
    for row in ROWS:
        assert f"| {row.name} |" in text, "run: python -m tests.curelab --markdown > docs/cures.md"
