"""How long triage takes over ten thousand reports: ``python -m tests.benchmarks.triage [COUNT]``."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from pathlib import Path

from core.report.triage import triage_folder
from tests.test_snapshots import RECORDED

LIMIT = 10.0
"""Seconds."""


def fill(folder: Path, count: int) -> None:
    """Write ``count`` reports, in folders of a thousand: copies of the recorded machines, every 500th malformed."""
    texts = [p.read_bytes() for p in RECORDED]
    pick = random.Random(1)
    for n in range(count):
        at = folder / f"{n // 1000:02}"
        at.mkdir(exist_ok=True)
        text = pick.choice(texts)
        (at / f"machine-{n:05}.json").write_bytes(text[: len(text) // 2] if n % 500 == 499 else text)


def main(count: int = 10_000) -> int:
    """Print the time; fail when it is longer than the limit."""
    with tempfile.TemporaryDirectory() as made:
        fill(Path(made), count)
        size = sum(p.stat().st_size for p in Path(made).rglob("*.json"))
        print(f"{count} reports, {size / 1e6:.0f} MB, {os.cpu_count()} cores")
        start = time.perf_counter()
        table = triage_folder(Path(made))
        took = time.perf_counter() - start
        print(f"{took:.2f} s, {table.reports} reports, {len(table.malformed)} passed over")
    print("within the limit" if took < LIMIT else f"longer than {LIMIT} s")
    return int(took >= LIMIT)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:2])))
