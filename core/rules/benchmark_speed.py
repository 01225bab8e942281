"""Rules about the benchmark's speed: slower than such a card should be, and what was seen that explains it; memory."""

from __future__ import annotations

from collections.abc import Iterator

from core.benchmark.limits import gpu_rates
from core.facts import GpuRun, Snapshot
from core.findings import Evidence, Finding, Step
from core.rules.benchmark_words import (
    busy,
    fractions,
    free_memory,
    holders,
    memory_short,
    named,
    runs,
    slowing,
    subject,
    working,
)
from core.rules.words import GOOD, NOTE, UNKNOWN, WARNING, finding, listed, saw

SLOW = 0.7
"""Part of what such a card typically reaches below which it is called slow: far outside the spread of repeated runs."""


def slow(seen: Snapshot) -> Iterator[Finding]:
    """The card reaches much less than such cards do; with what was seen that explains it."""
    known = gpu_rates()
    for run in runs(seen):
        reached = fractions(run)
        if not reached:
            continue
        judged = [(t, limit, f, f / limit.typical) for t, limit, f in reached if limit.typical]
        low = [j for j in judged if j[3] < SLOW]
        reasons = list(slowing(run, known))
        rows = [
            saw(
                f"{t.type}, {t.label}",
                f"{t.teraflops:.0f} TFLOP/s, {f:.0%} of the limit; such a card reaches {limit.typical:.0%}",
            )
            for t, limit, f, _ in low
        ]
        if low and busy(run):
            yield _slow(run, "busy", "another program computes on it at the same time", [*rows, *reasons])
        elif low and reasons:
            yield _slow(run, "slow", "what was seen during the run explains it", [*rows, *reasons])
        elif low:
            yield _slow(run, "slow", "nothing that was seen explains it", rows)
        elif busy(run):
            yield finding(
                Step.BENCHMARK, WARNING, "busy", f"{named(run)}: another program computes on it, so the figures are no measure.",
                subject=subject(run), evidence=reasons,
            )  # fmt: skip
        elif judged:
            text = listed(f"{t.type} {f:.0%}" for t, _, f, _ in judged)
            yield finding(
                Step.BENCHMARK,
                GOOD,
                "speed",
                f"{named(run)} is as fast as such a card should be: {text} of its limit.",
                subject=subject(run),
            )
        else:
            text = listed(f"{t.type} {f:.0%}" for t, _, f in reached)
            yield finding(
                Step.BENCHMARK, NOTE, "speed-unjudged",
                f"{named(run)} reaches these parts of its limit: {text}. What such a card usually reaches is not known here.",
                subject=subject(run), evidence=reasons,
            )  # fmt: skip


def _slow(run: GpuRun, name: str, what: str, rows: list[Evidence]) -> Finding:
    samples = f"{len(working(run))} looks at the card during the work"
    return finding(
        Step.BENCHMARK,
        WARNING if what != "nothing that was seen explains it" else UNKNOWN,
        name,
        f"{named(run)} is slower than such a card should be; {what}.",
        cause="gpu_busy" if name == "busy" else "",
        why="The results are right; only the speed is low. What would decide, where nothing explains it: the same benchmark "
        "after a cold start, with nothing else running." if name == "slow" else "End the other program, or measure when it has finished.",
        subject=subject(run),
        evidence=[*rows, saw("Based on", samples)],
    )  # fmt: skip


def memory(seen: Snapshot) -> Iterator[Finding]:
    """Nearly all of the card's memory is taken, though the run came through."""
    for run in runs(seen):
        failed = any(r.state == "failed" for r in run.rungs)
        if memory_short(run) and not failed:
            yield finding(
                Step.BENCHMARK,
                WARNING,
                "memory",
                f"{named(run)}: nearly all of its memory is taken.",
                cause="gpu_memory_exhausted",
                why="The benchmark came through with less; a training run would fail with CUDA_ERROR_OUT_OF_MEMORY or CUDNN_STATUS_INTERNAL_ERROR.",
                subject=subject(run),
                evidence=holders(run),
                fix=free_memory(run),
            )


RULES = (slow, memory)
