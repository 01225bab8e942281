"""Time of explain over every thread, large and hostile texts: ``python -m tests.benchmarks.explain``; prints seconds and ratios.

All are seconds of processor time, which a busy machine does not lengthen much. A thread's text must take less than 20 ms, an
unrelated log of 10 MB less than one second, and the command with its scan of this machine less than 0.6 s. Work must grow
linearly: ten times the text may take about ten times as long, whatever it is made of.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

from core.explain import explain, render_text
from core.explain.engine import NOTHING_TEXT
from installer.by_hand import by_hand
from tests.explain.threads import all_threads

SIZE = 10_000_000
LIMIT_TEXT, LIMIT_LOG, LIMIT_SCAN = 0.020, 1.0, 0.6
SETS = ("first", "second", "third", "fourth", "sixth", "held out")
MESSAGE = "/usr/bin/ld: cannot find -lcuda: No such file or directory"
LOG = "2024-05-01 12:00:01 INFO service.Handler - request 12345 handled in 12 ms, permission denied, service resumed\n"
HOSTILE = (
    *("cuda ", "cudnn64_8.dll missing ", "error code 126 ", "\x1b[31m", "\x1b]0;", "<b>", "&lt;", "a.dll", "lib.so"),
    *("sm_", "(8, 1, 2) cudnn compiled ", "C:\\a\\é[", "/home/é", "/usr/lib/", "1" * 50, "copy cudnn", "ln -s ", "\u202e", "_"),
)  # fmt: skip


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes, the better of two."""
    took = []
    for _ in range(2):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


def with_scan() -> float:
    """Return how long the command takes with its scan and all its children, the best of three after one that fills caches."""
    took = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "core", "explain", "-"]
        subprocess.run(command, input=MESSAGE.encode(), capture_output=True, timeout=120, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took[1:])


def main() -> int:
    """Print the table; 0 when every limit holds."""
    texts = [t.paste for t in all_threads(SETS)]
    each = sorted(seconds(lambda t=text: explain(t)) for text in texts)
    print(f"{len(texts)} threads: median {each[len(each) // 2] * 1000:.1f} ms, slowest {each[-1] * 1000:.1f} ms")
    scan = with_scan()
    print(f"explain with a scan of this machine: {scan:.3f} s")
    log = LOG * (SIZE // len(LOG))
    took = seconds(lambda: explain(log))
    print(f"unrelated log of {len(log) / 1e6:.0f} MB: {took:.2f} s, {explain(log).sentence!r}")
    good = each[-1] < LIMIT_TEXT and scan < LIMIT_SCAN and took < LIMIT_LOG and explain(log).sentence == NOTHING_TEXT
    for unit in HOSTILE:
        small, large = unit * (SIZE // 10 // len(unit)), unit * (SIZE // len(unit))
        first, second = (
            seconds(lambda s=small: render_text(explain(s))),
            seconds(lambda s=large: render_text(explain(s))),
        )
        print(f"{unit[:30]!r:40} 1 MB {first:.3f} s   10 MB {second:.3f} s   ratio {second / first:5.1f}")
        good = good and second / first < 25
    return 0 if good else 1


if __name__ == "__main__":
    by_hand(__doc__)
    raise SystemExit(main())
