"""Run the fault lab by hand: python -m tests.faultlab [NAME...]; a table on stdout, exit status 1 on any miss."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import get_args

from tests.faultlab.faults import Fault, Offer, table
from tests.faultlab.run import NoMachineError, Outcome, check, examine

NO_MACHINE, USAGE = 3, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rows that were named (patterns such as "truncated*"), or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.faultlab", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help='a row, or a pattern such as "truncated*"')
    parser.add_argument("--list", action="store_true", help="only list the rows")
    parser.add_argument("--json", action="store_true", help="print one JSON document with every report")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave machines and reports in FOLDER")
    parser.add_argument("--jobs", type=int, default=2, help="rows at a time (2)")
    options = parser.parse_args(argv)
    rows = chosen(options.names)
    if not rows:
        print("No row has that name; --list shows them.", file=sys.stderr)
        return USAGE
    if options.list:
        for row in rows:
            print(f"{row.name:34} {row.cause or '(healthy)':30} {row.offered:8} {row.why}")
        return 0
    return _run(rows, options)


def chosen(names: Sequence[str]) -> tuple[Fault, ...]:
    """Return the rows whose names match any of the patterns; all without a pattern."""
    return tuple(row for row in table() if not names or any(fnmatch(row.name, n) for n in names))


def _run(rows: Sequence[Fault], options: argparse.Namespace) -> int:
    if options.keep:
        options.keep = options.keep.resolve()
    outcomes: list[Outcome] = []
    try:
        check()
        with ThreadPoolExecutor(max_workers=max(1, min(2, options.jobs))) as pool:
            for outcome in pool.map(lambda row: examine(row, options.keep), rows):
                outcomes.append(outcome)
                if not options.json:
                    print(line(outcome), flush=True)
    except NoMachineError as e:
        print(f"{e}\nThe lab needs root, or unprivileged user namespaces: see docs/fault-lab.md.", file=sys.stderr)
        return NO_MACHINE
    wrong = [o for o in outcomes if not o.right]
    if options.json:
        fields = ("name", "expected", "found", "right", "offer", "seconds", "detail", "report")
        print(json.dumps([{f: getattr(o, f) for f in fields} for o in outcomes], indent=1))
    else:
        counts = Counter(o.offer for o in outcomes)
        offers = ", ".join(f"{kind} {counts[kind]}" for kind in get_args(Offer) if kind)
        print(f"\n{len(outcomes) - len(wrong)} of {len(outcomes)} right; offered: {offers}")
    return 1 if wrong else 0


def line(outcome: Outcome) -> str:
    """Return one row of the table; a miss says what the scan saw instead."""
    verdict = "right" if outcome.right else "WRONG"
    row = f"{verdict}  {outcome.name:34} {outcome.expected:30} {outcome.found:30} {outcome.offer:8} {outcome.seconds:6.2f} s"
    return row if outcome.right else f"{row}\n       {outcome.detail}"


if __name__ == "__main__":
    sys.exit(main())
