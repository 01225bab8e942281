"""Run the cure lab: python -m tests.curelab [NAME...] [--markdown]; exit status 1 on any miss."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from tests.curelab.rows import ROWS
from tests.curelab.run import Result, run


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rows that were named (patterns such as "cpu-build*"), or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.curelab", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="only list the rows")
    parser.add_argument("--markdown", action="store_true", help="print the page docs/cures.md")
    parser.add_argument(
        "--results", type=Path, help="a file that keeps what each row showed; rows not run come from it"
    )
    parser.add_argument("--lines", action="store_true", help="print what each press showed")
    parser.add_argument("--jobs", type=int, default=2, help="rows at a time (2)")
    options = parser.parse_args(argv)
    rows = [r for r in ROWS if not options.names or any(fnmatch(r.name, n) for n in options.names)]
    if options.list:
        print("\n".join(f"{r.name:34} {r.kind:18} {r.made.__name__}" for r in rows))
        return 0
    kept = json.loads(options.results.read_text()) if options.results and options.results.exists() else {}
    results = []
    for row, (wrong, finding, lines, seconds) in zip(rows, _results([r.name for r in rows], options.jobs), strict=True):
        results.append(Result(row, wrong, finding, lines, seconds))
        kept[row.name] = [wrong, finding, seconds]
        if options.results:
            options.results.write_text(json.dumps(kept, indent=1))
        print(line(results[-1]), flush=True, file=sys.stderr if options.markdown else sys.stdout)
        if options.lines:
            print("\n".join(f"    {text[:150]}" for text in results[-1].lines), flush=True)
    if options.markdown:
        from tests.curelab import system
        from tests.curelab.page import page

        every = [Result(r, *kept[r.name][:2], (), kept[r.name][2]) for r in ROWS if r.name in kept]
        print(page(every, system.run()), end="")
    return int(any(r.wrong for r in results))


def _results(names: Sequence[str], jobs: int) -> Iterator[tuple[list[str], str, tuple[str, ...], float]]:
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        yield from pool.map(_run, names)


def _run(name: str) -> tuple[list[str], str, tuple[str, ...], float]:
    """Run a row by its name, in a process of the pool."""
    result = run(next(r for r in ROWS if r.name == name))
    return result.wrong, result.finding, result.lines, result.seconds


def line(result: Result) -> str:
    """Return a row's result in one line."""
    words = (
        "; ".join(result.wrong) or f"cured in {result.seconds} s, undone"
        if result.row.kind != "advice"
        else "; ".join(result.wrong) or "advice only"
    )
    return f"{'WRONG' if result.wrong else 'right':6} {result.row.name:34} {result.row.kind:18} {result.finding:42} {words}"


if __name__ == "__main__":
    sys.exit(main())
