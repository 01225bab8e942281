"""The messages that the field meets most (best_known.json, counted before any rule was written for them) are all understood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.explain import explain

BEST_KNOWN = [row["message"] for row in json.loads((Path(__file__).parent / "best_known.json").read_bytes())]


@pytest.mark.parametrize("message", BEST_KNOWN)
def test_a_well_known_message_is_understood_and_leads_on(message: str) -> None:
    told = explain(message)
    best = told.causes[0]
    assert told.says.meaning
    assert best.because
    assert best.steps
    assert best.score >= 0.7 or told.decide


def test_a_bare_message_leads_to_one_question_or_a_likely_cause() -> None:
    led = [m for m in BEST_KNOWN if explain(m).causes[0].score >= 0.7 or "\n" in explain(m).decide]
    assert len(led) >= 0.85 * len(BEST_KNOWN)


def test_a_drivers_number_is_read_as_a_version() -> None:
    assert (
        "CUDA up to 11.4" in explain("The NVIDIA driver on your system is too old (found version 11040).").says.meaning
    )
