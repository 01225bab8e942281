"""Run the environment lab: python -m tests.envlab [NAME...] [--env PATH...]; a table, exit status 1 on any miss.

``--env`` adds real environments, however large, that are only shown. ``--sweep N`` times the static sweep of N
environments. ``--make FOLDER`` leaves the environments there for other tools.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from msgspec.structs import replace

from core.common.progress import Progress
from core.host.this_host import this_host
from core.model.facts import Snapshot
from core.probes.probe import ProbeRequest
from core.probes.python import builds
from core.probes.python.installed import records
from tests.envlab.rows import ROWS, Row
from tests.envlab.run import WITHOUT_TRIALS, LabHost, cause, cells, examine, examined, wrong


def main(argv: Sequence[str] | None = None) -> int:
    """Make and examine the rows named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.envlab", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--env", action="append", default=[], type=Path, metavar="PATH")
    parser.add_argument("--sweep", type=int, metavar="N")
    parser.add_argument("--make", type=Path, metavar="FOLDER")
    options = parser.parse_args(argv)
    rows = [r for r in ROWS if not options.names or any(fnmatch(r.name, n) for n in options.names)]
    if options.make:
        for row in rows:
            row.make(options.make / row.name)
        return 0
    if options.sweep:
        return sweep(options.sweep)
    if options.env:
        return real(options.env)
    with tempfile.TemporaryDirectory(prefix="envlab-") as work:
        misses = [show(row, Path(work) / row.name) for row in rows]
    print(f"\n{len(rows) - sum(misses)} of {len(rows)} as expected")
    return 1 if any(misses) else 0


def show(row: Row, prefix: Path) -> bool:
    """Print one row; return whether it missed."""
    report = examined(row, prefix)
    faults = wrong(row, report, prefix)
    shown = "; ".join(f"{n}: {v}" for n, (v, _) in cells(report, prefix).items())
    print(f"{'MISS' if faults else 'ok  '} {row.name:<30} {shown:<34} {cause(report, prefix) or '-'}", flush=True)
    for fault in faults:
        print(f"       {fault}")
    return bool(faults)


def real(prefixes: Sequence[Path]) -> int:
    """Print the cells of real environments beside the made-up card."""
    for prefix in prefixes:
        start = time.perf_counter()
        report = examine((prefix,), {}, WITHOUT_TRIALS)
        took = time.perf_counter() - start
        print(f"{prefix.name}  ({took:.1f} s; {cause(report, prefix) or 'no fault'})")
        for name, (verdict, reason) in cells(report, prefix).items():
            print(f"    {name}: {verdict}. {reason}")
    return 0


def sweep(count: int) -> int:
    """Print how long the static sweep of ``count`` environments takes, three times."""
    kinds = [r for r in ROWS if not r.variables]
    with tempfile.TemporaryDirectory(prefix="envlab-") as work:
        home = Path(work)
        for n in range(count):
            kinds[n % len(kinds)].make(home / "projects" / f"p{n}" / "venv")
        host = LabHost(this_host(), {"PATH": "/usr/bin:/bin", "HOME": work})
        for _ in range(3):
            request = ProbeRequest(
                host=host, seen=Snapshot(machine=host.machine()), env=host.fresh_environment(), watch=Progress()
            )
            start = time.perf_counter()
            found = builds.look(request)
            took = time.perf_counter() - start
            recorded = records.look(replace(request, seen=replace(request.seen, frameworks=found)))
            files = sum(r.files for r in recorded)
            more = time.perf_counter() - start - took
            mine = [p for p in found.others if p.prefix.startswith(work)]
            print(
                f"{len(mine)} environments, {len(found.builds)} builds: {took:.2f} s; {files} libraries by RECORD: {more:.2f} s"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
