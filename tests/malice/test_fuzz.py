"""Tampered plans by the hundred: none is accepted that the independent checker refuses. All: ``python -m tests.malice.fuzz``."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from core.model.changes import Change
from core.transaction.broker import closed_list
from tests.malice import fuzz
from tests.malice.conftest import needs_root

pytestmark = needs_root


@pytest.mark.parametrize("seed", range(3))
def test_no_tampered_plan_is_accepted_that_the_checker_refuses(seed: int) -> None:
    ends, rows = fuzz.run(200, 1000 + seed)
    assert rows == []
    assert ends["done"] >= 5, "a fuzzer that finds nothing honest shows nothing"
    assert ends["refused"] >= 100


def test_the_checker_refuses_what_the_broker_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the broker's judgement the same plans make machines that the checker objects to."""
    monkeypatch.setattr(closed_list, "refusal_sentences", lambda *_a, **_k: ())
    ends, rows = fuzz.run(400, 1001)
    assert ends["done"] >= 20
    assert len(rows) >= 10
    for word in ("PATH got ", "was changed, outside", "LD_PRELOAD was None"):
        assert any(word in row for row in rows), word


def test_every_change_is_tried_and_has_a_row_of_its_own(tmp_path: Path) -> None:
    fuzzer = fuzz.Fuzzer(tmp_path, 1)
    made = [change for _ in range(400) for change in fuzzer.plan()]
    assert {type(change) for change in made} == set(get_args(Change))
    assert all(closed_list.kind_of(change).of(change) for change in made)
