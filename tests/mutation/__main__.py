"""Draw a sample of changes, try each, keep what was seen, and write docs/mutation.md.

    python -m tests.mutation [--number 300] [--seed 16] [--again] [--table] [TESTS]

`--again` tries the changes once more that nothing noticed; `--table` writes the table alone. It takes an hour on two cores;
what was seen is kept in build/mutation, and a run goes on where the last one stopped.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import msgspec
import pytest

from . import trial
from .mutants import Mutant, sample
from .table import table

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / "build" / "mutation"


def main() -> int:
    """Run, and print the share that was noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    chosen = parser.parse_args()
    mutants, places = sample(ROOT, chosen.seed, chosen.number)
    seen = load(STATE / "seen.json")
    todo = [m for m in mutants if m.name not in seen or (chosen.again and not seen[m.name])]
    if todo and not chosen.table:
        STATE.mkdir(parents=True, exist_ok=True)

        def tell(mutant: Mutant, by: str) -> None:
            seen[mutant.name] = by
            (STATE / "seen.json").write_bytes(msgspec.json.encode(seen))
            print(f"{'noticed ' if by else 'SURVIVED'} {mutant.name}  [{by}]", flush=True)

        tests = [*chosen.tests] or [*trial.TESTS]
        os.chdir(ROOT)
        pytest.main(["-q", "-s", "-p", "no:cacheprovider", *tests], [trial.Trial(ROOT, todo, chosen.jobs, tell)])
    known = [(m, seen[m.name]) for m in mutants if m.name in seen]
    print(f"{sum(bool(by) for _, by in known)} of {len(known)} noticed")
    if len(known) == len(mutants):
        (ROOT / "docs" / "mutation.md").write_text(table(known, chosen.seed, places), encoding="utf-8")
    return 0


def load(path: Path) -> dict[str, str]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, str]) if path.exists() else {}


if __name__ == "__main__":
    raise SystemExit(main())
