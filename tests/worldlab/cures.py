"""What became of the cures of the world lab's faults: the newest result of each scene, and the table of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tests.worldlab.run import CHECKOUT, Outcome

RECORD = CHECKOUT / "tests" / "worldlab" / "cures.json"
"""Scene -> class, result, day."""
PAGE = CHECKOUT / "docs" / "world-lab.md"
MARK = "<!-- table: python -m tests.worldlab --cures --markdown -->"

RESULTS: Mapping[str, str] = {
    "works": "works, and was undone",
    "advice": "advice alone",
    "nothing offered": "nothing offered",
    "refused": "refused, nothing changed",
    "LEAVES THE FAULT": "leaves the fault",
    "NOT UNDONE": "not undone",
    "missed": "another cause was named",
}
"""Word of a result -> its heading."""


def note(outcomes: Sequence[Outcome]) -> None:
    """Put results into the record, and its table into the page. A scene that the real program refutes has none."""
    record: dict[str, list[str]] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    for o in outcomes:
        if o.scene.causes and (word := result(o)):
            record[o.scene.name] = [o.scene.kind, word, day]
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(its)}" for name, its in sorted(record.items()))
    RECORD.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, _mark, after = page.partition(MARK)
    rest = after[after.index("\n\n", 2) :]
    PAGE.write_text(f"{before}{MARK}\n\n{table(record)}{rest}", encoding="utf-8")


def result(o: Outcome) -> str:
    """Return the word of what became of a fault's cure; empty where none was to be had (a wrong scene, no report)."""
    if not o.cure:
        return ""
    return "missed" if o.verdict != "named first" else o.cure.partition(",")[0]


def table(record: Mapping[str, Sequence[str]]) -> str:
    """Return the table of a record."""
    head = ("class", "faults", *RESULTS.values())
    rows = [_row(kind, [its for its in record.values() if its[0] == kind]) for kind in "ABCDE"]
    return "\n".join((_line(head), "|---" * len(head) + "|", *rows, _row("all", list(record.values()))))


def _row(name: str, its: Sequence[Sequence[str]]) -> str:
    counts = Counter(word for _kind, word, _day in its)
    return _line((name, str(len(its)), *(str(counts[word]) for word in RESULTS)))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
