"""Every case's text on the machine of every other: the causes, what proves and what refutes them, and the faults beside them.

One file holds it; ``python -m tests.explain.test_every_machine`` writes it anew. Read the difference before you commit it.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from core.doctor.examine import diagnose_snapshot
from core.explain import explain
from core.model.facts import Snapshot
from core.model.findings import Finding
from installer.by_hand import by_hand
from tests.explain.cases import CASES
from tests.explain.threads import SETS, all_threads

WRITTEN = Path(__file__).with_name("every_machine.txt")


def texts() -> dict[str, str]:
    """Return the texts: of each case, and the shortest of a thread for each cause."""
    found = {name: case.text for name, case in CASES.items()}
    for thread in sorted(all_threads(SETS[:5]), key=lambda t: (len(t.text), t.url)):
        found.setdefault(f"thread: {thread.cause}", thread.text)
    return found


TEXTS = texts()


@functools.cache
def machine(name: str) -> tuple[Snapshot, tuple[Finding, ...]]:
    """Return the machine of a case, and what is found on it."""
    seen = CASES[name].machine()
    return seen, diagnose_snapshot(seen).findings


def said(text: str, name: str) -> str:
    """Return what a text comes to on a machine, a line."""
    explained = explain(text, *machine(name))
    causes = [
        f"{c.cause} {'may' if c.may else c.verdict}{f' by {c.finding.id}' if c.finding else ''}"
        for c in explained.causes
        if c.verdict != "open" or c.may
    ]
    faults = [f"{f.finding} {f.link}{f' ({f.against})' if f.against else ''}" for f in explained.shows]
    open_causes = [c.cause for c in explained.causes if c.verdict == "open" and not c.may][:2]
    parts = (explained.link, explained.foreign, "; ".join(causes), "; ".join(open_causes), "; ".join(faults))
    return " | ".join(" ".join(p.split()) or "-" for p in parts)


def shown(name: str) -> str:
    """Return the rows of one text: what is said, and on which machines."""
    rows: dict[str, list[str]] = {}
    for where in [*CASES] if name in CASES else [*CASES][::4]:
        rows.setdefault(said(TEXTS[name], where), []).append(where)
    return "\n".join("\n".join((row, *(f"    {where}" for where in places))) for row, places in rows.items())


def written() -> dict[str, str]:
    """Return what is written down: text -> rows."""
    blocks = WRITTEN.read_text(encoding="utf-8").split("\n== ")[1:]
    return dict(block.partition("\n")[::2] for block in blocks)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_comes_to_what_is_written_down(name: str) -> None:
    assert shown(name) == written()[name].rstrip("\n")


def write() -> None:
    """Write the file anew."""
    WRITTEN.write_text("".join(f"\n== {name}\n{shown(name)}\n" for name in TEXTS), encoding="utf-8")


if __name__ == "__main__":
    by_hand(__doc__)
    write()
