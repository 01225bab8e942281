"""Speed: try plans, time the best one in batches between events, and check some elements of its result. Child process only."""

from __future__ import annotations

import math
import statistics
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from msgspec.structs import replace

from core.benchmark.child.c_api import CallError, context_is_lost
from core.benchmark.child.correctness import result_type
from core.benchmark.child.cuda_api import CLOCK_RATE, MULTIPROCESSORS, Recording
from core.benchmark.child.cudnn.api import Buffers, Plan
from core.benchmark.child.session import CudnnSession
from core.benchmark.child.spot_check import sample_positions, true_value
from core.benchmark.number_types import decode_numbers, error_bound, random_data
from core.benchmark.protocol import BenchmarkEvent
from core.benchmark.shapes import BYTES_PER_NUMBER, Problem, Shape, element_offset
from core.common.fact_text import fact_text
from core.model.facts import Check, NumberType, Timing

BATCH_MILLISECONDS = 8.0
"""Milliseconds of GPU work between two events: long compared with the events' resolution and a late start."""
TRIAL_MILLISECONDS = 1.5
BATCH_COUNT = 9
MAX_BATCH_COUNT = 45
"""Maximum number of batches if they differ: a card near its power limit changes its clocks constantly."""
STEADY_SPREAD = 0.01
"""Half the interquartile range divided by the median, below which further batches would show nothing new."""
WARM_UP_MILLISECONDS = 150.0
"""Milliseconds of work before the first measurement, in which an idle GPU raises its clocks."""
MAX_LAUNCH_MILLISECONDS = 25.0
"""Maximum milliseconds for one launch; the batch size is reduced for slower cards."""


def fit_shape(problem: Problem, bench: CudnnSession) -> Shape:
    """Return the problem's shape with a batch size that suits this card's memory and speed, the same for every type."""
    shape = problem.shape
    device = bench.device
    # Two operations per clock on 64 lanes of each multiprocessor, at half efficiency: a card's slowest type.
    rate = device.attribute(MULTIPROCESSORS) * device.attribute(CLOCK_RATE) * 1e3 * 64
    slow = int(MAX_LAUNCH_MILLISECONDS / 1e3 * rate * shape.n / shape.operations)
    each = 4 * (shape.element_counts[0] + shape.element_counts[2]) // shape.n
    free = device.free_and_total_memory()[0] + sum(size for _, size in bench.allocated_blocks())
    wide = int(free * 0.6 - 8 * shape.element_counts[1]) // max(each, 1)
    return replace(shape, n=max(1, min(shape.n, slow, wide)))


@dataclass
class _Try:
    plan: Plan
    name: str
    milliseconds: float


def time_problem(
    bench: CudnnSession, problem: Problem, about: Timing, seconds: float, rest: float
) -> Iterator[BenchmarkEvent]:
    """Time one problem for at most about ``seconds``; yield its check and its timing.

    ``rest``: seconds of idle time before each measurement, in addition to those.

    Raises:
        CallError: no plan could do it, or the GPU failed.
    """
    end = time.monotonic() + seconds
    buffers = bench.filled_buffers(problem)
    tries, failed = _try_plans(bench, problem, buffers, end)
    if not tries:
        raise failed or bench.nothing_offered()
    measured = []
    for fast in sorted(tries, key=lambda t: t.milliseconds)[:2]:
        time.sleep(rest)  # Not for another process: trying plans heated the card, which lowers its clock.
        end += rest
        measured.append((fast, _measure(bench, fast, end)))
    best, times = min(measured, key=lambda m: statistics.median(m[1]))
    yield BenchmarkEvent(check=_check_samples(bench, problem, buffers, best))
    median = statistics.median(times)
    moved = sum(problem.tensor_bytes(which) for which in range(3))
    yield BenchmarkEvent(
        timing=replace(
            about,
            milliseconds=median,
            spread=_spread(times),
            teraflops=problem.shape.operations / median / 1e9,
            gigabytes_per_second=moved / median / 1e6,
            algorithm=best.name,
            tensor_cores=best.plan.tensor_cores,
            algorithms=len(tries),
        )
    )


def _try_plans(
    bench: CudnnSession, problem: Problem, buffers: Buffers, end: float
) -> tuple[list[_Try], CallError | None]:
    """Run each plan once to load it and then briefly, until most of the time is used; also return the last failure."""
    stop = time.monotonic() + 0.6 * (end - time.monotonic())
    tries: list[_Try] = []
    failed: CallError | None = None
    for way, plan in bench.plans(problem, buffers):
        if tries and time.monotonic() > stop:
            break
        try:
            bench.run(plan)
            bench.device.synchronize()
            once = bench.device.measure_milliseconds(lambda plan=plan: bench.run(plan))  # type: ignore[misc]  # bound now
            _warm_up(bench, plan, once)
            best = min((t.milliseconds for t in tries), default=once)
            count = max(1, int(TRIAL_MILLISECONDS / max(once, 1e-3)))
            if once < 3 * best and count > 1:
                once = _batch(bench, plan, count)
        except CallError as e:
            if e.status is None or context_is_lost(e):
                raise
            failed = e
            continue
        tries.append(_Try(plan, f"{way}: {plan.name}", once))
    return tries, failed


def _warm_up(bench: CudnnSession, plan: Plan, once: float) -> None:
    if not bench.warm:
        bench.warm = True
        for _ in range(max(1, min(2000, int(WARM_UP_MILLISECONDS / max(once, 1e-3))))):
            bench.run(plan)
        bench.device.synchronize()


def _launches(bench: CudnnSession, plan: Plan, count: int) -> Callable[[], None]:
    address = bench.workspace(plan)

    def launch() -> None:
        for _ in range(count):
            plan.launch(address, plan.workspace)

    return launch


def _batch(bench: CudnnSession, plan: Plan, count: int) -> float:
    return bench.device.measure_milliseconds(_launches(bench, plan, count)) / count


def _measure(bench: CudnnSession, its: _Try, end: float) -> list[float]:
    """Return the time of one launch in each of several batches; recorded as a graph if launching is the slower part."""
    count = max(1, min(1000, int(BATCH_MILLISECONDS / max(its.milliseconds, 1e-3))))
    start = time.perf_counter()
    times = [_batch(bench, its.plan, count)]
    busy = (time.perf_counter() - start) * 1e3
    replay = _record_batch(bench, its.plan, count) if count > 20 and times[0] < 0.2 else None
    work: Callable[[], float] = lambda: _batch(bench, its.plan, count)  # noqa: E731 - two forms of one thing
    if replay is not None:
        recording = replay
        bench.device.measure_milliseconds(recording.replay)
        work = lambda: bench.device.measure_milliseconds(recording.replay) / count  # noqa: E731 - the other form
        times = []
    while _wants_more(times) and (len(times) < 3 or time.monotonic() + busy / 1e3 < end):
        times.append(work())
    if replay is not None:
        replay.close()
    return times


def _wants_more(times: Sequence[float]) -> bool:
    return len(times) < BATCH_COUNT or (len(times) < MAX_BATCH_COUNT and _spread(times) > STEADY_SPREAD)


def _spread(times: Sequence[float]) -> float:
    """Return half the interquartile range divided by the median."""
    if len(times) < 2:
        return 0.0
    first, median, third = statistics.quantiles(times, n=4)
    return (third - first) / 2 / median


def _record_batch(bench: CudnnSession, plan: Plan, count: int) -> Recording | None:
    """Return a batch as a CUDA graph, so that small convolutions measure the GPU and not the processor; None if refused."""
    try:
        return bench.device.record_graph(_launches(bench, plan, count))
    except CallError:
        return None


@lru_cache(maxsize=15)
def _decode_elements(type: NumberType, which: int) -> Sequence[float]:
    return array("b" if type == "int8" else "f", decode_numbers(random_data(type, which), type))


def _check_samples(bench: CudnnSession, problem: Problem, buffers: Buffers, best: _Try) -> Check:
    """Run the best plan once more into poisoned memory and compare some elements with plain Python."""
    device, out, type_ = bench.device, buffers[problem.written_tensor], result_type(problem)
    device.fill_with_nan(out, problem.tensor_bytes(problem.written_tensor))
    bench.run(best.plan)
    a, b = {"forward": (0, 1), "data gradient": (2, 1), "weight gradient": (0, 2)}[problem.direction]
    inputs = _decode_elements(problem.type, a), _decode_elements(problem.type, b)
    worst, allowed, wrong, detail = 0.0, 0.0, 0, ""
    dims, width = problem.shape.dimensions[problem.written_tensor], BYTES_PER_NUMBER[type_]
    for at in sample_positions(problem):
        value, magnitude = true_value(problem, at, *inputs)
        got = decode_numbers(device.download(out + width * element_offset(dims, problem.layout, at), width), type_)[0]
        may = error_bound(problem.type, problem.terms_per_element, magnitude, value, direct=best.plan.direct)
        off = abs(got - value)
        if off / max(may, 1e-30) > worst / max(allowed, 1e-30) or not allowed:
            worst, allowed = off, may
        if not off <= may:  # NaN, too
            wrong, detail = (
                wrong + 1,
                detail or fact_text("element {at} is {got}, not {value}", at=at, got=f"{got:g}", value=f"{value:g}"),
            )
    return Check(
        kind="samples",
        type=problem.type,
        direction=problem.direction,
        layout=problem.layout,
        shape=problem.shape.text,
        algorithm=best.name,
        right=not wrong,
        worst=worst if math.isfinite(worst) else None,
        bound=allowed,
        detail=detail,
    )
