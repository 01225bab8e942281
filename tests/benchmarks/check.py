"""Time and memory of check and explain beside what others offer: ``python -m tests.benchmarks.check --python ENV``.

ENV is a Python environment with PyTorch, and with bitsandbytes, xformers, env-doctor and cuda-doctor where their own reports
shall stand beside. Run it as
``tests.benchmarks.scan``: with the interpreter of an environment that holds requirements/app.txt alone, with nothing else to do. Every
program runs in turn, on two cores; each number is the least of its rounds. Bounds:

* ``convalesce check`` at most 0.25 s and 50 MB (its own process, or its largest child);
* ``convalesce explain`` of a text together with a scan: under 0.6 s; of a log of 10 MB alone: under 1 s;
* ``convalesce --version`` under three times ``python -c pass``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.explain import LOG, SIZE
from tests.benchmarks.scan import ROOT, SELF

MESSAGE = "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED\n"
TOOLS = (("env-doctor", "check"), ("cuda-doctor", "diagnose"))
LAUNCHER = """
import os, sys, time
null = os.open(os.devnull, os.O_WRONLY)
start = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, n) for n in (1, 2)])
usage = os.wait4(child, 0)[2]
print(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
"""A program's peak counts what started it: so that is as small as can be."""


class Row(NamedTuple):
    """A program, and the most that it may take; 0 for what stands beside."""

    name: str
    command: list[str]
    seconds: float = 0
    megabytes: float = 0
    given: bytes = b""


def main() -> int:
    """Print the table; exit 1 when a bound is missed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", type=Path, required=True, metavar="ENV")
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    python = str(given.python.absolute() / "bin" / "python")
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        log.write((LOG * (SIZE // len(LOG))).encode())
        log.flush()
        rows = [
            Row("convalesce check", [*SELF, "check"], 0.25, 50),
            Row("convalesce check --python ENV", [*SELF, "check", "--python", python]),
            Row("convalesce explain, with a scan", [*SELF, "explain", "-"], 0.6, given=MESSAGE.encode()),
            Row("convalesce explain --text-only, 10 MB", [*SELF, "explain", "--text-only", log.name], 1.0),
            Row("convalesce --version", [*SELF, "--version"]),
            Row("python -c pass", [sys.executable, "-c", "pass"]),
            Row("torch.utils.collect_env", [python, "-m", "torch.utils.collect_env"]),
            *(Row(f"python -m {name}", [python, "-m", name]) for name in ("bitsandbytes", "xformers.info")),
            *(
                Row(" ".join(words), [str(at), *words[1:]])
                for words in TOOLS
                if (at := Path(python).with_name(words[0])).exists()
            ),
            *([Row("nvidia-smi", ["nvidia-smi"])] if shutil.which("nvidia-smi") else []),
        ]
        best = measured(rows, given.rounds)
    missed = False
    print(f"{'':<40} {'time':>9} {'processor':>11} {'peak':>10}")
    for row, (seconds, processor, megabytes) in zip(rows, best, strict=True):
        bad = (row.seconds and seconds > row.seconds) or (row.megabytes and megabytes > row.megabytes)
        bound = f"bound {row.seconds} s" * bool(row.seconds) + f", {row.megabytes} MB" * bool(row.megabytes)
        print(f"{row.name:<40} {seconds:7.3f} s {processor:9.3f} s {megabytes:7.1f} MB  {'MISS ' * bool(bad)}{bound}")
        missed = missed or bool(bad)
    ratio = best[4][0] / best[5][0]
    print(f"--version / python -c pass: {ratio:.2f}, bound 3")
    return int(missed or ratio >= 3)


def measured(rows: list[Row], rounds: int) -> list[tuple[float, float, float]]:
    """Run all in turn, so that the machine's mood falls on all; return each one's least seconds, processor seconds and MB."""
    for row in rows:
        run(row)  # warm the page cache, and what is kept between runs
    taken = [[run(row) for row in rows] for _ in range(rounds)]
    return [
        (min(t[0] for t in its), min(t[1] for t in its), max(t[2] for t in its)) for its in zip(*taken, strict=True)
    ]


def run(row: Row) -> tuple[float, float, float]:
    """Return a program's seconds, processor seconds (its children's, too), and the largest resident set of it or a child in MB."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # installed programs have their byte code
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, *row.command]
    with tempfile.TemporaryDirectory() as empty:  # env-doctor reads all that lies below the working folder
        done = subprocess.run(launcher, env=env, cwd=empty, input=row.given, capture_output=True, check=True)
    seconds, processor, kilobytes = map(float, done.stdout.split()[-3:])
    return seconds, processor, kilobytes / 1024


if __name__ == "__main__":
    raise SystemExit(main())
