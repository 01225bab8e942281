"""Recorded machines replay to the same findings on any machine; ``python -m tests.test_snapshots`` writes them anew.

Each ``tests/snapshots/**/NAME.json`` is a redacted report, and ``NAME.txt`` beside it holds its findings, one a line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from core.doctor.examine import diagnose_snapshot
from core.model.findings import Report
from core.model.steps import Severity
from core.report.json_form import from_json, to_json
from installer.by_hand import by_hand

SNAPSHOTS = Path(__file__).parent / "snapshots"
RECORDED = sorted(SNAPSHOTS.rglob("*.json"))


def lines(report: Report) -> str:
    """Return the findings as text: severity, the primary's mark, cause, step and title."""
    rows = [
        f"{f.severity.word:<8}{'*' if f.primary else ' '} {f.cause or '-':<28} {f.step.value:<12} {f.title}"
        for f in report.findings
    ]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda p: str(p.relative_to(SNAPSHOTS)))
def test_a_recorded_machine_gives_the_same_findings(recorded: Path) -> None:
    report = diagnose_snapshot(from_json(recorded.read_bytes()).snapshot)
    assert lines(report) == recorded.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda p: str(p.relative_to(SNAPSHOTS)))
def test_a_recorded_machine_survives_the_way_through_json(recorded: Path) -> None:
    report = diagnose_snapshot(from_json(recorded.read_bytes()).snapshot)
    assert from_json(to_json(report)) == report


def test_there_are_recorded_machines_in_order_and_broken() -> None:
    worst = {diagnose_snapshot(from_json(p.read_bytes()).snapshot).worst_severity for p in RECORDED}
    assert Severity.ERROR in worst
    assert min(worst) <= Severity.NOTE


def write() -> None:
    """Write every NAME.txt anew; read the difference before you commit it."""
    for recorded in RECORDED:
        report = diagnose_snapshot(from_json(recorded.read_bytes()).snapshot)
        recorded.with_suffix(".txt").write_text(lines(report), encoding="utf-8")


if __name__ == "__main__":
    by_hand(__doc__)
    write()
