"""How long triage takes over a hundred thousand reports, and in how much memory: ``python -m tests.benchmarks.triage [COUNT]``.

Processor time stands beside it: on a busy machine it alone says what the program does. The reports are links to a few files, which
lie in memory after the first thousand: what a disk takes to deliver a hundred thousand others is not in it.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from installer.by_hand import by_hand
from tests.test_snapshots import RECORDED

ROOT = Path(__file__).parents[2]
SECONDS, MEGABYTES = 60.0, 200.0
"""What a hundred thousand reports may take."""
MEASURED = """
import resource, sys, time
from pathlib import Path
from core.report.triage.reading import read_all
from core.report.triage.table import tabulate_reports
start, worked = time.perf_counter(), time.process_time()
table = tabulate_reports(read_all(Path(sys.argv[1])))
took, worked = time.perf_counter() - start, time.process_time() - worked
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(took, worked, peak, table.reports, len(table.malformed))
"""


@contextmanager
def filled(count: int) -> Iterator[Path]:
    """Yield a folder with ``count`` reports, in folders of a thousand: links to the recorded machines, every 500th malformed."""
    pick = random.Random(1)
    with tempfile.TemporaryDirectory() as made:
        pool = Path(made) / "pool"
        pool.mkdir()
        whole, half = [], []
        for number, recorded in enumerate(RECORDED):
            text = recorded.read_bytes()
            for kind, data in ((whole, text), (half, text[: len(text) // 2])):
                path = pool / f"{number}-{len(data)}.txt"
                path.write_bytes(data)
                kind.append(path)
        folder = Path(made) / "reports"
        for number in range(count):
            at = folder / f"{number // 1000:03}"
            at.mkdir(parents=True, exist_ok=True)
            os.link(pick.choice(half if number % 500 == 499 else whole), at / f"machine-{number:06}.json")
        yield folder


def main(count: int = 100_000) -> int:
    """Print time and memory; fail when either is more than its share of the limits."""
    with filled(count) as folder:
        size = sum(p.stat().st_size for p in folder.rglob("*.json"))
        print(f"{count} reports, {size / 1e6:.0f} MB, {os.cpu_count()} cores")
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, str(folder)], capture_output=True, text=True, check=True, cwd=ROOT
        )
    took, worked, peak, reports, malformed = map(float, done.stdout.split())
    print(
        f"{took:.2f} s, {worked:.2f} s of a processor, peak {peak:.0f} MB, "
        f"{reports:.0f} reports, {malformed:.0f} passed over"
    )
    within = took < max(SECONDS * count / 100_000, 5) and peak < MEGABYTES
    print("within the limits" if within else f"more than {SECONDS:g} s a hundred thousand, or than {MEGABYTES:g} MB")
    return int(not within)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, by_hand(__doc__, "[COUNT]"))))
