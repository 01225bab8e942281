"""Proving: on the machine of each case the first proved cause is the true one."""

from __future__ import annotations

import pytest

from core.explain import explain
from tests.explain.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_the_first_proved_cause_is_the_true_one(name: str) -> None:
    case = CASES[name]
    explained = explain(case.text, case.machine())
    proved = [r.cause for r in explained.causes if r.verdict == "proved"]
    assert explained.foreign == ""
    assert proved[:1] == [case.cause]
    assert explained.causes[0].evidence
