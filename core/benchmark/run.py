"""Benchmark probe, on demand only: each GPU's ladder, checks and speed, in child processes that may crash at any step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from core.benchmark import frameworks as framework
from core.benchmark.child import ladder, nvml_sampler, worker
from core.benchmark.deadline import Deadline
from core.benchmark.extent import Extent
from core.benchmark.plan import ChosenConsumer, choose_consumer, gpu_selector, make_job
from core.benchmark.protocol import (
    BackgroundTask,
    BenchmarkEvent,
    BenchmarkJob,
    LadderRequest,
    report_progress,
    step_id,
)
from core.benchmark.second_timing import fastest_timings, slower_problems, with_second_timings
from core.benchmark.status_names import with_status_name
from core.common.fact_text import fact_text
from core.common.progress import Progress
from core.host.child import ChildAnswer, ask_child
from core.host.provenance import Verdict, environment_for, trusted_environment
from core.knowledge.cudnn_file_names import version_numbers, version_text
from core.knowledge.gpu_rates import gpu_rates, rate_limits
from core.model.facts import (
    Benchmark,
    Check,
    Driver,
    FrameworkRun,
    Gpu,
    GpuCard,
    GpuRun,
    GpuState,
    Mapped,
    Rung,
    Timing,
)
from core.probes.driver.kernel_log import kernel_log
from core.probes.loading.origin import file_origin
from core.probes.loading.roll_call.linux_loader import is_cuda_file
from core.probes.probe import ProbeRequest
from core.probes.python.trials.run import Trial
from core.probes.sysroot import Sysroot, sysroot_of

LADDER_TIMEOUT_SECONDS = 45.0
"""Seconds for the ladder's lower part; opening a GPU without persistence mode takes several."""
JOB_MARGIN_SECONDS = 40.0
"""Seconds beyond a job's own time, for opening the GPU and loading cuDNN from a slow disk."""
MIN_ENGINE_SECONDS = 1.5
"""Minimum seconds for a worker, whatever time is left: enough for the most important checks."""
ENGINE_OVERHEAD_SECONDS = 0.8
"""Seconds for starting a child, ending it and judging its results."""
REST_SECONDS = 0.5
"""Seconds without work before each second measurement: trying algorithms heats a card, which lowers its clock."""
MAX_ENGINES = 4
"""Maximum number of workers: one, and one more for each step that crashed it."""

CUDNN_RUNGS = (
    ("cuDNN loads", "cudnnGetVersion"),
    (fact_text("cuDNN makes its handle"), "cudnnCreate"),
    (fact_text("cuDNN convolves rightly"), "cudnnConvolutionForward"),
)


def run_benchmark(
    request: ProbeRequest, extent: Extent, *, gpu: int | None = None, began: float | None = None
) -> Benchmark:
    """Benchmark every GPU, or the one of this index, with the cuDNN of the chosen consumer.

    ``began``: the moment (``time.monotonic``) from which the first GPU's time counts, if a scan came first.
    """
    start = time.monotonic()
    gpus = gpus_to_try(request.seen.driver)
    if problem := _nothing_to_run(request, gpus, gpu):
        return Benchmark(quick=extent.quick, problem=problem)
    where = sysroot_of(request.host)
    chosen = choose_consumer(request, where)
    runs: list[GpuRun] = []
    for one in gpus:
        if gpu is None or one.index == gpu:
            request.watch.check()
            start_of_gpu = time.monotonic() if runs or began is None else began
            end = Deadline(end=start_of_gpu + extent.seconds)
            runs.append(_GpuBenchmark(request, where, chosen, one, end, extent=extent).run())
    return Benchmark(quick=extent.quick, gpus=tuple(runs), seconds=round(time.monotonic() - start, 2))


def gpus_to_try(driver: Driver | None) -> tuple[Gpu, ...]:
    """Return the GPUs to try: NVML's, else as many as CUDA counts; one if there is a driver but neither answers."""
    if driver is None:
        return ()
    if driver.gpus:
        return driver.gpus
    cuda = driver.cuda
    if cuda is None or not cuda.library:
        return ()
    if cuda.status == 100 and not driver.pci:
        return ()
    return tuple(Gpu(index=n, name="", source="CUDA driver") for n in range(max(1, cuda.device_count or 0)))


def _nothing_to_run(request: ProbeRequest, gpus: tuple[Gpu, ...], gpu: int | None) -> str:
    driver = request.seen.driver
    if driver is None:
        return fact_text("The driver could not be looked at, so nothing was measured.")
    if not gpus:
        nvidia = [d for d in driver.pci or () if d.vendor_id == "10de"]
        if nvidia:
            return fact_text(
                "There is an NVIDIA GPU, but no driver that a program could use it with, so nothing was measured."
            )
        return fact_text(
            "No NVIDIA GPU that programs can use was found on this machine, so there is nothing to measure."
        )
    if gpu is not None and all(g.index != gpu for g in gpus):
        return fact_text(
            "There is no GPU number {gpu}; this machine's are {gpus}.",
            gpu=gpu,
            gpus=", ".join(str(g.index) for g in gpus),
        )
    return ""


@dataclass
class _GpuEvents:
    """The reports so far from the children of one GPU's run."""

    rungs: dict[str, Rung] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    mapped: dict[str, None] = field(default_factory=dict)
    card: GpuCard | None = None
    version: int | None = None
    output: str = ""
    during: str = ""
    ended: str = ""

    def record_answer(self, answer: ChildAnswer[BenchmarkEvent]) -> str:
        """Take one child's answer; return the id of the step in which it crashed, empty if it did not."""
        begun = begin = ""
        for said in answer.events:
            if said.begin:
                begun, begin = said.id, said.begin
            if said.rung:
                self.rungs.setdefault(said.rung.name, said.rung)
                begun = ""
            if said.check:
                self.checks.append(said.check)
            if said.timing:
                self.timings.append(said.timing)
            self.card = said.card or self.card
            self.version = said.version or self.version
        self.mapped |= dict.fromkeys(answer.mapped)
        if answer.output and answer.output not in self.output:
            self.output = (self.output + answer.output)[:4096]
        if not answer.ended:
            return ""
        self.ended = self.ended or fact_text("The process {ended}.", ended=answer.ended)
        self.during = self.during or begin
        return begun or "?"

    def break_rung(self, name: str, layer: Any, call: str, ended: str) -> None:
        """Record a rung that ended the process."""
        self.rungs.setdefault(name, Rung(name=name, layer=layer, state="failed", call=call, meaning=ended))


class _GpuBenchmark:
    """One GPU's run."""

    def __init__(
        self,
        request: ProbeRequest,
        where: Sysroot,
        chosen: ChosenConsumer | None,
        gpu: Gpu,
        until: Deadline,
        *,
        extent: Extent,
    ) -> None:
        self._request, self._where, self._chosen, self._gpu, self._extent = request, where, chosen, gpu, extent
        self._until = until
        builds = request.seen.builds
        self._trials = framework.frameworks_to_run(chosen, where, builds) if chosen and extent.frameworks else ()
        self._kept = sum(framework.seconds_needed(self._trials, extent, builds))
        self._heard = _GpuEvents()
        self._states: list[GpuState] = []
        self._card: GpuCard | None = None
        self._first = threading.Event()

    def run(self) -> GpuRun:
        """Examine the card, climb the ladder, check and time; return everything that was learnt, whatever happens."""
        start = time.monotonic()
        watch, gpu = self._request.watch, self._gpu
        watch.say(fact_text("GPU {index}: looking at {name}", index=gpu.index, name=gpu.name or fact_text("the card")))
        frameworks = None
        with BackgroundTask(self._observe, self._take_observation):
            self._first.wait(3)
            if self._climb() and self._chosen:
                self._engine(make_job(self._chosen, gpu, self._extent), self._kept)
                watch.check()
                if self._extent.frameworks:
                    frameworks = self._time_frameworks(self._chosen, self._trials, self._extent)
                    for _n in range(self._extent.second_timings):
                        frameworks = self._time_again(self._chosen, frameworks)
        watch.check()
        told = replace(self._collect_run(), frameworks=frameworks, xids=self._kernel_messages())
        return replace(told, seconds=round(time.monotonic() - start, 2))

    def _time_frameworks(
        self, chosen: ChosenConsumer, trials: tuple[Trial, ...], extent: Extent
    ) -> tuple[FrameworkRun, ...]:
        return framework.run_frameworks(
            self._request, chosen, trials, gpu_selector(self._gpu), self._until, extent=extent, prefix=self._name
        )

    def _time_again(self, chosen: ChosenConsumer, runs: tuple[FrameworkRun, ...]) -> tuple[FrameworkRun, ...]:
        """Measure both sides again where a framework is faster and time allows; each keeps its faster timings."""
        extent, ours = self._extent, self._heard.timings
        slower = slower_problems(extent.timed, ours, runs)
        faster = tuple(t for t, run in zip(self._trials, runs, strict=True) if slower_problems(slower, ours, (run,)))
        each = len(slower) * (extent.each_seconds + 2 * REST_SECONDS) + framework.MIN_FRAMEWORK_SECONDS
        if not slower or self._until.seconds_left() < each * (1 + len(faster)):
            return runs
        self._request.watch.check()
        rested = replace(
            extent,
            exact=(),
            compared=(),
            timed=slower,
            beside=slower,
            engine_seconds=each,
            kernels=False,
            rest=REST_SECONDS,
        )
        self._engine(make_job(chosen, self._gpu, rested), each * len(faster))
        self._heard.timings = list(fastest_timings(ours))
        again = self._time_frameworks(chosen, faster, rested)
        return tuple(with_second_timings(runs, again))

    def _kernel_messages(self) -> tuple[str, ...]:
        """Return the kernel's messages about the GPU since the scan; read only if something went wrong."""
        heard = self._heard
        bad = any(r.state == "failed" for r in heard.rungs.values()) or any(c.right is False for c in heard.checks)
        if self._where.system != "linux" or not (bad or heard.ended):
            return ()
        log = kernel_log(self._request, self._where)
        driver = self._request.seen.driver
        before = set(driver.kernel_log or () if driver else ())
        return tuple(line for line in (log.lines if log else ()) if "Xid" in line and line not in before)

    @property
    def _name(self) -> str:
        return f"GPU {self._gpu.index}: "

    def _ask(self, work: Callable[..., None], request: Any, timeout: float) -> ChildAnswer[BenchmarkEvent]:
        """Ask a child, reporting its steps as it goes; the person's cancellation ends it."""
        outer = self._request.watch
        inner = report_progress(outer, self._name)
        verdict = self._chosen.verdict if self._chosen else Verdict(may=True)
        given = environment_for(verdict, self._request.env)
        env = {"CUDA_MODULE_LOADING": "LAZY", **given}  # The default of newer drivers; older ones load everything.
        with outer.on_cancel(inner.cancel):
            answer = ask_child(
                *(work, request, BenchmarkEvent), host=self._request.host, env=env, timeout=timeout, watch=inner,
                account=verdict.account,
            )  # fmt: skip
        outer.check()
        return answer

    def _observe(self, watch: Progress) -> None:
        about = nvml_sampler.SamplerRequest(index=self._gpu.index)
        host, env = self._request.host, trusted_environment(self._request.env)
        ask_child(
            nvml_sampler.sample_gpu, about, BenchmarkEvent, host=host, env=env, timeout=about.seconds, watch=watch
        )
        self._first.set()

    def _take_observation(self, said: BenchmarkEvent) -> None:
        if said.state:
            self._states.append(said.state)
            self._first.set()
        self._card = said.card or self._card

    def _climb(self) -> bool:
        """Climb the lower part; return whether cuDNN is worth trying afterwards."""
        chosen = self._chosen
        roll = chosen.plan.roll if chosen else None
        climb = LadderRequest(
            gpu=gpu_selector(self._gpu),
            nvrtc=chosen.nvrtc if chosen else (),
            cublas=chosen.cublas if chosen else (),
            folders=roll.folders if roll else (),
        )
        answer = self._ask(ladder.run_ladder, climb, LADDER_TIMEOUT_SECONDS)
        if self._heard.record_answer(answer):
            last = next((s for s in reversed(answer.events) if s.begin), None)
            rungs = {name: (layer, call) for name, layer, call, _ in ladder.DriverLadder(climb).rungs()}
            if last and last.begin in rungs and last.begin not in self._heard.rungs:
                self._heard.break_rung(last.begin, *rungs[last.begin], self._heard.ended)
        return all(r.state != "failed" or r.layer == "toolkit" for r in self._heard.rungs.values()) and bool(
            self._heard.rungs
        )

    def _engine(self, todo: BenchmarkJob, kept: float) -> None:
        """Run a job, and again without the step that crashed it; ``kept``: seconds to reserve for what follows."""
        most, later = todo.seconds, kept + ENGINE_OVERHEAD_SECONDS
        for _n in range(MAX_ENGINES):
            todo = replace(
                todo, seconds=round(min(most, max(MIN_ENGINE_SECONDS, self._until.seconds_left() - later)), 2)
            )
            answer = self._ask(worker.run_job, todo, todo.seconds + JOB_MARGIN_SECONDS)
            fatal = self._heard.record_answer(answer)
            if not fatal:
                return
            begun = [s for s in answer.events if s.begin]
            names, ended = dict(CUDNN_RUNGS), fact_text("The process {ended}.", ended=answer.ended)
            if not begun or (begun[-1].begin in names and begun[-1].begin not in self._heard.rungs):
                name = begun[-1].begin if begun else CUDNN_RUNGS[0][0]
                self._heard.break_rung(name, "cudnn", names[name], ended)
                return
            self._record_fatal(begun[-1], todo, ended)
            todo = _without_begun_steps(todo, {s.id for s in begun})
            if answer.timed_out or not (todo.exact or todo.compared or todo.timed):
                return

    def _record_fatal(self, begun: BenchmarkEvent, todo: BenchmarkJob, ended: str) -> None:
        """Record a timing that names the convolution that ended the process."""
        steps = (("exact", todo.exact), ("compared", todo.compared), ("timed", todo.timed))
        what = next((p for kind, problems in steps for p in problems if step_id(kind, p) == begun.id), None)
        self._heard.timings.append(
            Timing(shape=what.description, type=what.type, problem=ended)
            if what
            else Timing(shape=begun.begin, type="fp32", problem=ended)
        )

    def _collect_run(self) -> GpuRun:
        heard, chosen, gpu = self._heard, self._chosen, self._gpu
        number = heard.version or 0
        major = (version_numbers(number) or (0,))[0]
        card = _merge_card(self._card, heard.card, gpu)
        roll = chosen.plan.roll if chosen else None
        prefix = chosen.want.consumer.prefix if chosen else ""
        return GpuRun(
            index=gpu.index,
            card=card,
            consumer=chosen.label if chosen else "",
            consumer_id=chosen.want.consumer.full_id if chosen else "",
            library=roll.main if roll else "",
            version=version_text(number),
            rungs=self._rungs(major or (chosen.want.wish.major if chosen else 9)),
            checks=tuple(heard.checks),
            timings=tuple(heard.timings),
            limits=rate_limits(card, gpu_rates()),
            mapped=tuple(
                Mapped(path=p, name=self._where.name(p), origin=file_origin(p, prefix, self._request.env, self._where))
                for p in heard.mapped
                if is_cuda_file(self._where.name(p))
            ),
            predicted=chosen.predicted if chosen else (),
            before=self._states[0] if self._states else None,
            states=tuple(self._states[1:]),
            during=heard.during,
            ended=heard.ended,
            output=heard.output,
        )

    def _rungs(self, major: int) -> tuple[Rung, ...]:
        """Return every rung in order: those that were reached, then those that were not."""
        lower = [
            (name, layer, call)
            for name, layer, call, _ in ladder.DriverLadder(LadderRequest(gpu=gpu_selector(self._gpu))).rungs()
        ]
        every = [*lower, *((name, "cudnn", call) for name, call in CUDNN_RUNGS)]
        told = [with_status_name(r, major) for r in self._heard.rungs.values()]
        missing = [
            Rung(name=name, layer=layer, state="not reached", call=call)
            for name, layer, call in every
            if name not in self._heard.rungs
        ]
        return (*told, *missing)


def _without_begun_steps(todo: BenchmarkJob, done: set[str]) -> BenchmarkJob:
    """Return a job without the steps that were already started."""
    return replace(
        todo,
        exact=tuple(p for p in todo.exact if step_id("exact", p) not in done),
        compared=tuple(p for p in todo.compared if step_id("compared", p) not in done),
        timed=tuple(p for p in todo.timed if step_id("timed", p) not in done),
    )


def _merge_card(managed: GpuCard | None, driven: GpuCard | None, gpu: Gpu) -> GpuCard:
    """Return NVML's data of the card, completed by the driver's and the scan's."""
    card = managed or GpuCard()
    extra = driven or GpuCard()
    return replace(
        card,
        name=card.name or extra.name or gpu.name,
        uuid=card.uuid or gpu.uuid,
        compute_capability=card.compute_capability or extra.compute_capability or gpu.compute_capability,
        max_clock=card.max_clock or extra.max_clock,
        multiprocessors=extra.multiprocessors or card.multiprocessors,
        memory_total=card.memory_total or gpu.memory_total,
    )
