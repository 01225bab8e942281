"""Speed and memory of a scan, as ratios measured in one run: ``python -m tests.benchmarks.scan --python ENV``.

ENV is a Python environment with PyTorch and a cuDNN wheel. Two more copies of cuDNN, named by ``--copy``, become the toolkits of
CUDA_HOME and CUDA_PATH. Run it with the interpreter of an environment that holds requirements/app.txt alone, on a machine with
nothing else to do. Beside each number stands what a user would run instead:

* ``convalesce scan`` against ``python -m torch.utils.collect_env`` in that environment: at most a quarter of the time
  (below it the processor time of both, which tells two revisions apart on a busy machine, too);
* ``convalesce scan --thorough``'s hashing against ``sha256sum`` over the same files, all in the page cache: at least three
  times the rate;
* peak memory of the scan (its own process and its largest child): under 150 MB;
* ``convalesce --version`` against ``python -c pass``: under three times.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from core.common.progress import Progress
from core.host.this_host import this_host
from core.probes.hashing import hash_files
from core.probes.sysroot import sysroot_of

ROOT = Path(__file__).resolve().parents[2]
SELF = [sys.executable, "-m", "core"]


def main() -> int:
    """Print the table; exit 1 when a bound is missed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", type=Path, required=True, metavar="ENV")
    options.add_argument("--copy", type=Path, action="append", default=[], metavar="FOLDER")
    options.add_argument("--rounds", type=int, default=9)
    given = options.parse_args()
    given.python, given.copy = given.python.absolute(), [folder.absolute() for folder in given.copy]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # an installed program has its bytecode, as the other tools here have theirs
    work = tempfile.TemporaryDirectory(prefix="benchmark-")
    for variable, copy in zip(("CUDA_HOME", "CUDA_PATH"), given.copy, strict=False):
        folder = Path(work.name, variable)
        folder.mkdir()
        (folder / "lib64").symlink_to(copy)
        env[variable] = str(folder)
    scan = [*SELF, "scan", "--json", "--python", str(given.python)]
    python = given.python / "bin" / "python"
    other = [str(python), "-m", "torch.utils.collect_env"]
    ours, theirs = alternate(lambda: timed(scan, env), lambda: timed(other, env), given.rounds)
    rows = [row("scan / collect_env", ours, theirs, at_most=0.25)]
    ours, theirs = alternate(lambda: processor_time(scan, env), lambda: processor_time(other, env), given.rounds)
    rows.append((f"{'the same, processor time':<30} {ours:8.3f} s / {theirs:8.3f} s = {ours / theirs:6.3f}", True))
    files = sorted({f.resolve() for folder in (given.python, *given.copy) for f in folder.rglob("libcudnn*.so*")})
    ours, theirs = alternate(lambda: hashed(files), lambda: timed(["sha256sum", *map(str, files)], env), given.rounds)
    rows.append(row("hashing / sha256sum (time)", ours, theirs, at_most=1 / 3))
    ours, theirs = alternate(
        lambda: timed([*SELF, "--version"], env), lambda: timed([sys.executable, "-c", "pass"], env), 4 * given.rounds
    )
    rows.append(row("--version / python -c pass", ours, theirs, at_most=3))
    peak = peak_memory(scan, env)
    rows.append((f"{'peak memory of a scan':<30} {peak:8.1f} MB {'':>22} bound 150 MB", peak < 150))
    for line, good in rows:
        print(f"{'ok ' if good else 'MISS'} {line}")
    return 0 if all(good for _, good in rows) else 1


def alternate(ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Run both in turn, so that the machine's mood falls on both; return each one's quickest run in seconds.

    The quickest is the one that other programs disturbed least.
    """
    ours(), theirs()  # warm the page cache
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def row(name: str, ours: float, theirs: float, at_most: float) -> tuple[str, bool]:
    """Return a line of the table, and whether the bound is held."""
    ratio = ours / theirs
    return f"{name:<30} {ours:8.3f} s / {theirs:8.3f} s = {ratio:6.3f}  bound {at_most:.3f}", ratio <= at_most


def timed(command: list[str], env: dict[str, str]) -> float:
    """Return the wall time of a command in seconds; it must not fail by a fault of its own."""
    start = time.perf_counter()
    done = subprocess.run(command, env=env, cwd="/", capture_output=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1, 5):
        raise SystemExit(f"{command}: {done.stderr.decode(errors='replace')[-2000:]}")
    return seconds


def processor_time(command: list[str], env: dict[str, str]) -> float:
    """Return the processor time of a command and its children in seconds: a busy machine changes it less than wall time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    timed(command, env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def hashed(files: list[Path]) -> float:
    """Return the seconds that the scan's own hashing takes over the files."""
    start = time.perf_counter()
    found = hash_files(map(str, files), sysroot_of(this_host()), Progress())
    assert len(found) == len(files)
    return time.perf_counter() - start


def peak_memory(command: list[str], env: dict[str, str]) -> float:
    """Return the largest resident set of the command or any one of its children, in MB (files that it maps included)."""
    process = subprocess.Popen(command, env=env, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _pid, _status, usage = os.wait4(process.pid, 0)
    return usage.ru_maxrss / 1024


if __name__ == "__main__":
    raise SystemExit(main())
