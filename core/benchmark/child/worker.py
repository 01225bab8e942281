"""The main part of the benchmark, in a child process: load cuDNN as the consumer does, convolve, check the result, and time it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from msgspec.structs import replace

from core.benchmark.child.c_api import CallError, Library, context_is_lost, describe_call_error
from core.benchmark.child.correctness import check_algorithms_agree, check_exact
from core.benchmark.child.cuda_api import CLOCK_RATE, MULTIPROCESSORS
from core.benchmark.child.cudnn import api as cudnn_api
from core.benchmark.child.cudnn.api import ConvolutionApi, create_handle, is_supported
from core.benchmark.child.cudnn.graph_api import GraphApi
from core.benchmark.child.cudnn.legacy_api import LegacyApi
from core.benchmark.child.ladder import DriverLadder, Step, WrongResultError, failed_rung, rung_runner
from core.benchmark.child.session import CudnnSession
from core.benchmark.child.timing import fit_shape, time_problem
from core.benchmark.protocol import BenchmarkEvent, BenchmarkJob, LadderRequest, step_id
from core.benchmark.shapes import SMALL_SHAPES, Problem
from core.common.fact_text import fact_text
from core.knowledge.cudnn_file_names import version_numbers
from core.model.facts import Check, GpuCard, Layer
from core.probes.loading.roll_call.linux_loader import Loader, system_loader

SIMPLEST_PROBLEM = Problem(shape=SMALL_SHAPES[0], type="fp32", layout="NCHW")
"""The convolution that every GPU and every cuDNN supports."""
MIN_MEASUREMENT_SECONDS = 0.15
"""Minimum seconds for a measurement while others are waiting."""
NO_TIME = fact_text("not measured: the time was used up")


def run_job(job: BenchmarkJob, emit: Callable[[BenchmarkEvent | None], None]) -> None:
    """Do a job. Runs in a child process, which any step may end."""
    end = time.monotonic() + job.seconds
    upper = _Upper(job, emit)
    take = rung_runner(emit)
    for name, layer, call, step in upper.rungs():
        if not take(name, layer, call, step):
            return
    try:
        for said in _steps(job, upper.bench, end):
            emit(said)
    except CallError as e:
        emit(BenchmarkEvent(rung=failed_rung(fact_text("the GPU stays in order"), "device", e)))
    emit(None)  # The parent reads the mapped files.


def _steps(job: BenchmarkJob, bench: CudnnSession, end: float) -> Iterator[BenchmarkEvent]:
    """Yield the start and the outcome of each step.

    Raises:
        CallError: the GPU failed so that this process can do nothing more.
    """
    for problem in job.exact:
        yield BenchmarkEvent(
            begin=fact_text("Checking {words}", words=problem.description), id=step_id("exact", problem)
        )
        yield from (BenchmarkEvent(check=c) for c in _make_check(check_exact, bench, problem, end))
    for problem in job.compared:
        yield BenchmarkEvent(
            begin=fact_text("Comparing algorithms: {words}", words=problem.description), id=step_id("compared", problem)
        )
        yield from (BenchmarkEvent(check=c) for c in _make_check(check_algorithms_agree, bench, problem, end))
    for n, problem in enumerate(job.timed):
        yield BenchmarkEvent(
            begin=fact_text("Measuring {words}", words=problem.description), id=step_id("timed", problem)
        )
        # Time that one problem does not need, because few algorithms support it, is available to later ones.
        share = max(0.0, end - time.monotonic()) / (len(job.timed) - n)
        seconds = min(job.each, max(share, MIN_MEASUREMENT_SECONDS))
        yield from _time_problem(bench, problem, end, seconds, job.rest)


def _make_check(
    look: Callable[[CudnnSession, Problem], tuple[Check, ...]], bench: CudnnSession, problem: Problem, end: float
) -> tuple[Check, ...]:
    """Run a check; one that cannot be run decides nothing."""
    about = Check(
        kind="exact" if look is check_exact else "two algorithms",
        type=problem.type,
        direction=problem.direction,
        layout=problem.layout,
        shape=problem.shape.text,
    )
    if not is_supported(problem, bench.capability, bench.major):
        return (replace(about, detail=fact_text("this GPU or this cuDNN does not have this kind of number")),)
    if time.monotonic() > end:
        return (replace(about, detail=NO_TIME),)
    try:
        return look(bench, problem)
    except CallError as e:
        if context_is_lost(e):
            raise
        return (replace(about, detail=describe_call_error(e)),)
    finally:
        bench.close()


def _time_problem(
    bench: CudnnSession, problem: Problem, end: float, each: float, rest: float
) -> tuple[BenchmarkEvent, ...]:
    if not is_supported(problem, bench.capability, bench.major):
        return ()
    problem = replace(problem, shape=fit_shape(problem, bench))
    about = problem.untimed()
    left = end - time.monotonic()
    if left < 0.1:
        return (BenchmarkEvent(timing=replace(about, problem=NO_TIME)),)
    try:
        start = time.monotonic()
        said = tuple(time_problem(bench, problem, about, min(each, left), rest))
        seconds = round(time.monotonic() - start, 3)
        return tuple(replace(s, timing=replace(s.timing, seconds=seconds)) if s.timing else s for s in said)
    except CallError as e:
        if context_is_lost(e):
            raise
        return (BenchmarkEvent(timing=replace(about, problem=describe_call_error(e))),)
    finally:
        bench.close()


class _Upper:
    """The upper part of the ladder: load cuDNN, create its handle, convolve."""

    bench: CudnnSession

    def __init__(self, job: BenchmarkJob, emit: Callable[[BenchmarkEvent | None], None]) -> None:
        self._job, self._emit = job, emit
        self._loader: Loader = system_loader(job.folders)
        self._lower = DriverLadder(LadderRequest(gpu=job.gpu))
        self._cudnn: Library

    def rungs(self) -> tuple[tuple[str, Layer, str, Step], ...]:
        """Return the steps; the first ones only open the GPU again, in this process."""
        return (
            *self._lower.opening_rungs(),
            ("cuDNN loads", "cudnn", "cudnnGetVersion", self._load),
            (fact_text("cuDNN makes its handle"), "cudnn", "cudnnCreate", self._create),
            (fact_text("cuDNN convolves rightly"), "cudnn", "cudnnConvolutionForward", self._convolve),
        )

    def _load(self) -> str:
        for path in self._job.preload:
            self._loader.load(path)
        self._cudnn = cudnn_api.load_cudnn(self._job.cudnn, self._loader)
        self._emit(BenchmarkEvent(version=cudnn_api.cudnn_version(self._cudnn), library=self._cudnn.path))
        device = self._lower.device
        capability = device.compute_capability
        card = GpuCard(
            compute_capability=f"{capability // 10}.{capability % 10}",
            multiprocessors=device.attribute(MULTIPROCESSORS),
            max_clock=device.attribute(CLOCK_RATE) // 1000,
        )
        self._emit(BenchmarkEvent(card=card))
        return self._cudnn.path

    def _create(self) -> str:
        handle = create_handle(self._cudnn)
        device = self._lower.device
        self._cudnn.call("cudnnSetStream", handle, device.stream)
        major = (version_numbers(cudnn_api.cudnn_version(self._cudnn)) or (0,))[0]
        ways: list[Callable[[], ConvolutionApi]] = [partial(LegacyApi, self._cudnn, handle, major)]
        if self._cudnn.exports("cudnnBackendExecute"):
            ways.insert(0, partial(GraphApi, self._cudnn, handle))
        self.bench = CudnnSession(device, self._cudnn, major, tuple(ways))
        self._emit(None)
        return ""

    def _convolve(self) -> str:
        """Use whichever interface works: programs use either."""
        try:
            checks = check_exact(self.bench, SIMPLEST_PROBLEM)
        finally:
            self.bench.close()
            self._emit(None)
        for check in checks:
            self._emit(BenchmarkEvent(check=check))
        if wrong := next((c for c in checks if c.right is False), None):
            raise WrongResultError(f"{wrong.algorithm}: {wrong.detail}")
        if not any(c.right for c in checks):
            raise self.bench.most_telling_error or CallError("cudnnConvolutionForward", None, detail=checks[0].detail)
        return ""
