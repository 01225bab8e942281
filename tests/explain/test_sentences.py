"""Sentences as programs print them, and symptoms as people write them: which causes lead, and which are in sight.

``sentences.jsonl`` has a row for each: what it is about, the text as a person would paste it, the causes of which one must be
among the first three, and those of which half must be among the first five: the order within moves whenever words are learned anew.
The sentences were read from the programs' sources.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.explain import explain
from core.knowledge.causes import cause_rows

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("sentences.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=[row["text"][:60] for row in ROWS])
def test_a_sentence_leads_to_its_causes(row: dict[str, Any]) -> None:
    causes = [r.cause for r in explain(row["text"]).causes[:5]]
    assert {*causes[:3]} & {*row["first"]}
    assert len({*causes} & {*row["among_five"]}) * 2 >= len(row["among_five"])


def test_the_rows_name_known_causes_once() -> None:
    known = {row.cause for row in cause_rows()}
    assert [row["text"] for row in ROWS if not {*row["first"], *row["among_five"]} <= known] == []
    assert len({row["text"] for row in ROWS}) == len(ROWS) > 500
