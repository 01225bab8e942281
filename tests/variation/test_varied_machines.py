"""With one fact another, a made machine gives what is written down; ``python -m tests.variation`` writes it anew.

Which facts: ``tests.variation.search`` looked for those that show a sentence, or an outcome of a condition in the rules, that nothing
else shows. Read the difference before you commit it.
"""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.test_same_everywhere import MACHINES
from tests.variation import written

MANY = 25
"""Variations of one test, which stays quick."""

GROUPS = {
    f"{name} {start // MANY}" if start else name: rows[start : start + MANY]
    for name, group in groupby(written.written(), key=lambda row: row[0].machine)
    for rows in [list(group)]
    for start in range(0, len(rows), MANY)
}


@pytest.mark.parametrize("name", GROUPS)
def test_a_machine_with_another_fact_gives_what_is_written_down(name: str) -> None:
    for variation, said in GROUPS[name]:
        assert written.said_otherwise(variation) == said, variation.line


def test_what_is_written_down_is_of_machines_that_there_are() -> None:
    assert len(GROUPS) > 100
    assert {variation.machine for variation, _said in written.written()} <= set(MACHINES)
