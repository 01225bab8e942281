"""Second measurements for rows in which a framework is faster: both sides again, one directly after the other.

A card near its power limit changes its clocks constantly: on an H200, equal runs of one kernel, minutes apart, differ
by up to 15 %. Which side is faster in such a row only shows if each measurement follows a rest, both are seconds apart,
and each is repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from core.benchmark.shapes import Problem
from core.model.facts import FrameworkRun, Timing

MARGIN = 0.02
"""Lead by which a framework must be faster for a second measurement; a smaller one is the spread of an idle card."""

Row = tuple[str, str, str, str]
"""Shape, type, direction and layout of a timing."""


def slower_problems(
    problems: Iterable[Problem], ours: Iterable[Timing], runs: Iterable[FrameworkRun]
) -> tuple[Problem, ...]:
    """Return the problems in which some framework is faster than our own timing, in the given order."""
    own = {_row(t): t.teraflops for t in ours if t.teraflops}
    best: dict[tuple[str, str, str], float] = {}
    for timing in (t for run in runs for t in run.timings if t.teraflops):
        key = timing.label, timing.type, timing.direction
        best[key] = max(best.get(key, 0.0), timing.teraflops or 0.0)
    return tuple(
        p
        for p in problems
        if (speed := own.get((p.shape.label, p.type, p.direction, p.layout)))
        and speed < (1 - MARGIN) * best.get((p.shape.label, p.type, p.direction), 0.0)
    )


def fastest_timings(timings: Iterable[Timing]) -> tuple[Timing, ...]:
    """Return one timing for each row, the fastest, in the order of the first; a failed one gives way to any that succeeded."""
    kept: dict[Row, Timing] = {}
    for timing in timings:
        first = kept.setdefault(_row(timing), timing)
        if (timing.teraflops or 0.0) > (first.teraflops or 0.0):
            kept[_row(timing)] = replace(timing, algorithm=timing.algorithm or first.algorithm)
    return tuple(kept.values())


def with_second_timings(runs: Iterable[FrameworkRun], again: Iterable[FrameworkRun]) -> Iterator[FrameworkRun]:
    """Yield the first runs, each with the faster timings of its second; everything else stays as in the first run."""
    second = {run.framework: run for run in again}
    for run in runs:
        other = second.get(run.framework)
        if other is None:
            yield run
        else:
            seconds = round((run.seconds or 0.0) + (other.seconds or 0.0), 2)
            yield replace(run, timings=fastest_timings((*run.timings, *other.timings)), seconds=seconds)


def _row(timing: Timing) -> Row:
    return timing.label or timing.shape, timing.type, timing.direction, timing.layout
