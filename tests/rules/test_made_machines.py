"""Every made machine gives the findings that are written down; ``python -m tests.rules.test_made_machines`` writes them anew.

One file holds what each rule says of each machine of the tests' tables, without its sentences: which finding, whom it concerns, what
stands as evidence, what follows from what, and which cure is offered. Read the difference before you commit it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.doctor.examine import diagnose_snapshot
from core.model.findings import Finding, Report
from installer.by_hand import by_hand
from tests.test_same_everywhere import MACHINES

WRITTEN = Path(__file__).with_name("made_machines.txt")


def lines(report: Report) -> Iterator[str]:
    """Yield what a report says, a line each."""
    for f in report.findings:
        yield from finding_lines(f)
    for row in report.grid.rows if report.grid else ():
        for cell in row.cells:
            yield f"  {row.prefix} {row.importance} | {cell.framework} {cell.version} | {cell.verdict} | {cell.finding}"
            yield f"    because: {' '.join(cell.reason.split())}"
    for framework, prefix in report.grid.best if report.grid else ():
        yield f"  best for {framework}: {prefix}"


def finding_lines(f: Finding) -> Iterator[str]:
    """Yield what a finding says."""
    marks = "".join(mark for mark, is_so in (("*", f.primary), ("!", f.headline and not f.primary)) if is_so)
    also = " ".join((f.step.value, *(s.value for s in f.also)))
    yield f"  {f.severity.word}{marks} {f.id} | {f.cause or '-'} | {also} | {' + '.join(f.all_subjects) or '-'}"
    for word, text in (("title", f.title), ("why", f.why)):
        if text:
            yield f"    {word}: {' '.join(text.split())}"
    for way in f.ways:
        yield f"    way: {way}"
    if f.follows_from:
        yield f"    from {f.follows_from}"
    for consumer in f.consumers:
        yield f"    for {consumer}"
    for e in f.evidence:
        yield "    " + " | ".join(" ".join(text.split()) for text in (e.label, e.value, e.source) if text)
    if f.fix:
        yield f"    cure: {' '.join(f.fix.title.split())}{f' (then restart the {f.fix.restart})' if f.fix.restart else ''}"
        for line in f.fix.advice.split("\n") if f.fix.advice else ():
            yield f"      > {' '.join(line.split())}"
        for change in f.fix.changes:
            yield f"      {type(change).__name__}: {'; '.join(' '.join(line.split()) for line in change.lines())}"


@functools.cache
def written() -> dict[str, str]:
    """Return what is written down: machine -> lines."""
    blocks = WRITTEN.read_text(encoding="utf-8").split("\n== ")[1:]
    return dict(block.partition("\n")[::2] for block in blocks)


def shown(name: str) -> str:
    """Return the lines of a machine as they are written down."""
    return "\n".join(lines(diagnose_snapshot(MACHINES[name]())))


@pytest.mark.parametrize("name", MACHINES)
def test_a_made_machine_gives_what_is_written_down(name: str) -> None:
    assert shown(name).rstrip("\n") == written().get(name, "").rstrip("\n")


def test_nothing_is_written_down_of_a_machine_that_is_gone() -> None:
    assert written().keys() - MACHINES.keys() == set()


def write() -> None:
    """Write the file anew."""
    blocks = (f"\n== {name}\n{shown(name)}\n" for name in MACHINES)
    WRITTEN.write_text("".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    by_hand(__doc__)
    write()
