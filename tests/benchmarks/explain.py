"""Time of explain over large and hostile texts: ``python -m tests.benchmarks.explain``; prints seconds and ratios.

Work must grow linearly: ten times the text may take about ten times as long, whatever it is made of. An unrelated log
of 10 MB must take less than one second.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from core.explain import explain, render_text
from core.explain.engine import NOTHING_TEXT

SIZE = 10_000_000
LOG = "2024-05-01 12:00:01 INFO service.Handler - request 12345 handled in 12 ms, permission denied, service resumed\n"
HOSTILE = (
    *("cuda ", "cudnn64_8.dll missing ", "error code 126 ", "\x1b[31m", "\x1b]0;", "<b>", "&lt;", "a.dll", "lib.so"),
    *("sm_", "(8, 1, 2) cudnn compiled ", "C:\\a\\é[", "/home/é", "/usr/lib/", "1" * 50, "copy cudnn", "ln -s ", "\u202e", "_"),
)  # fmt: skip


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes, the better of two."""
    took = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took)


def main() -> int:
    """Print the table; 0 when every limit holds."""
    log = LOG * (SIZE // len(LOG))
    took = seconds(lambda: explain(log))
    print(f"unrelated log of {len(log) / 1e6:.0f} MB: {took:.2f} s, {explain(log).sentence!r}")
    good = took < 1 and explain(log).sentence == NOTHING_TEXT
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
    raise SystemExit(main())
