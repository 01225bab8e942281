"""What the trust boundary costs a scan: ``python -m tests.benchmarks.boundary [--rounds N] [SCAN'S OPTIONS]``.

Scans with and without it in turn. Without: everything may run, nobody looks whose files are whose, and a library is called in no
sandbox. Processor time with all children, since the wall time of a busy machine says little; the ratio is the median of the pairs.
An administrator's scan looks at more than another account's: ``--user NUMBER`` (as root) scans as that one.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WANTED = 1.05
WITH = "import sys; from core.cli.main import main; sys.exit(main(sys.argv[1:]))"
WITHOUT = """
import sys
from core.host import child, provenance
provenance.may_run = lambda paths, person=None: provenance.Verdict(may=True)
provenance.trusted_environment = lambda env, person=None: dict(env)
begin = "from core.host.child_main import main"
child._START = child._START.replace(begin, "from core.host import sandbox; sandbox.enter = lambda: (); " + begin)
assert "sandbox.enter" in child._START
from core.probes import trust
trust.odd_files = lambda folder: ()
from core.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def processor_time(script: str, options: list[str], user: int | None) -> float:
    """Return the seconds of processor time that a scan and its children take."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", script, "scan", "--json", *options], cwd="/", env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, user=user, group=user,
    )  # fmt: skip
    if done.returncode not in (0, 1, 5):
        sys.exit(f"the scan ended with status {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the ratio; exit 1 when it is beyond what is wanted."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--user", type=int)
    given, rest = options.parse_known_args()
    pairs = []
    for n in range(given.rounds + 1):
        order = (WITH, WITHOUT) if n % 2 else (WITHOUT, WITH)
        took = {script: processor_time(script, rest, given.user) for script in order}
        pairs.append((took[WITH], took[WITHOUT]))
    pairs = pairs[1:]  # the first one fills the caches
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"with {ours:.3f} s, without {theirs:.3f} s of processor time: {ratio:.3f} (wanted {WANTED})")
    return 0 if ratio <= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
