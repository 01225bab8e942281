"""The table in docs/mutation.md."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec

from .mutants import Mutant

REMARKS = Path(__file__).with_name("remarks.json")
"""What is known of a change that nothing notices: its name -> a sentence."""

EARLIER = (
    ("2026-11-23, seed 31, out of sample, before rows were written for what it showed", 293, 330),
    ("2026-11-23, seed 29, out of sample, before rows were written for what it showed", 281, 330),
    ("2026-11-22, seed 23, out of sample, before rows were written for what it showed", 280, 330),
    ("2026-11-22, seed 21, in sample, after rows were written for what it showed", 282, 330),
    ("2026-11-22, seed 21, out of sample, before rows were written for what it showed", 239, 330),
    ("2026-11-22, seed 19, out of sample, before machines, plans and texts were varied", 232, 330),
    ("2026-11-22, seed 16, out of sample; stopped before the 330 that were planned", 99, 137),
)
"""Earlier runs, by hand: when, how many were noticed, of how many."""

HEAD = """# What the tests see

Made by hand with `python -m tests.mutation`: small wrong changes to the conditions of the modules that decide (a comparison
turned round, `and` for `or`, a condition denied, a loop left out), made by the operators of Cosmic Ray {version}, one at a time.
The quick tests (at most {quick} s each) that come through the changed line run until one fails.

The figure is out of sample as long as nobody wrote tests for the changes of its seed: a next run takes a new seed. Most of what is
noticed is written down in four files: what the rules say of every made machine (`tests/rules/made_machines.txt`) and of machines
with one fact another (`tests/variation`), what is said of every plan with one field another (`tests/transaction`), and what every
error text comes to on every machine (`tests/explain/every_machine.txt`).

Seed {seed}; {number} of {places} places drawn, one change each. **{noticed} of {number} noticed ({share:.1f} %)**, {when}.
"""

WHEN = "2026-11-23, out of sample, before rows were written for what it showed"
"""Of the run that the table shows, by hand: its day, whether tests were written for its changes, and what was left out."""


def table(known: list[tuple[Mutant, str]], seed: int, places: int) -> str:
    """The whole page."""
    from importlib.metadata import version

    from .trial import QUICK

    by_package: dict[str, list[bool]] = defaultdict(list)
    for mutant, by in known:
        by_package[package(mutant.path)].append(bool(by))
    noticed = sum(bool(by) for _, by in known)
    head = HEAD.format(
        version=version("cosmic-ray"),
        quick=QUICK,
        seed=seed,
        number=len(known),
        places=places,
        noticed=noticed,
        share=100 * noticed / len(known),
        when=WHEN,
    )
    rows = [f"| {name} | {len(told)} | {sum(told)} |" for name, told in sorted(by_package.items())]
    remarks = msgspec.json.decode(REMARKS.read_bytes(), type=dict[str, str])
    left = [
        f"| `{m.path}` {m.function} | `{cell(m.before)}` | `{cell(m.after)}` | {remarks.get(m.name, 'wants a row')} |"
        for m, by in sorted(known, key=lambda k: (k[0].path, k[0].line))
        if not by
    ]
    return "\n".join(
        [
            head,
            *(
                f"Earlier: {noticed} of {tried} ({100 * noticed / tried:.1f} %), {when}."
                for when, noticed, tried in EARLIER
            ),
            "",
            "| part | changes | noticed |",
            "|---|---|---|",
            *rows,
            "",
            "## What nothing notices",
            "",
            "| where | before | after | remark |",
            "|---|---|---|---|",
            *left,
            "",
        ]
    )


def package(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[:3]) if parts[1] in ("rules",) and len(parts) > 3 else "/".join(parts[:2])


def cell(text: str) -> str:
    return text.replace("|", "\\|")
