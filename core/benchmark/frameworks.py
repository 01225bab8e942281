"""The frameworks' own convolutions, in the person's interpreter: the same shapes, and the files that they mapped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from core.benchmark.deadline import Deadline
from core.benchmark.extent import Extent
from core.benchmark.framework_script import FRAMEWORK_SCRIPT
from core.benchmark.number_types import random_integers
from core.benchmark.plan import ChosenConsumer
from core.benchmark.protocol import GpuSelector
from core.benchmark.shapes import LARGE_SHAPE, SMALL_SHAPES, TIMED_SHAPES, Problem, Shape, reference_result
from core.common.fact_text import fact_text, join_facts
from core.common.i18n import _
from core.host.child import ChildAnswer, read_answer
from core.host.provenance import environment_for
from core.model.facts import Direction, FrameworkBuild, FrameworkRun, Layout, Mapped, NumberType, Timing, full_id
from core.probes.loading.origin import file_origin
from core.probes.loading.roll_call.linux_loader import is_cuda_file
from core.probes.probe import ProbeRequest
from core.probes.python.trials.probe import installed_frameworks
from core.probes.python.trials.run import Trial, cudnn_version
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.trust import interpreter_verdict, record_execution

MIN_FRAMEWORK_SECONDS = 4.0
"""Seconds that are always allowed: enough for the small convolution and one timing."""
CPU_BUILD_SECONDS = 2.0
"""Seconds for a build without GPU support; only whether that is true is tested."""
SCRIPT_OVERHEAD_SECONDS = 0.8
"""Seconds of these for the start and end of the process."""
SCRIPT_MARGIN_SECONDS = 45.0
"""Seconds beyond the script's own limit: for an import from a slow disk, and the convolution that it is in."""


@dataclass(frozen=True)
class Ability:
    """Which of a framework's convolutions can be timed."""

    name: str
    types: tuple[NumberType, ...] = ("fp16", "bf16", "tf32")
    layout: Layout = "NHWC"
    exact: Layout = "NCHW"
    """The layout of fp32 without tensor cores, for the large shape."""
    gradients: bool = True


ABILITIES = {
    "torch": Ability("PyTorch"),
    "tensorflow": Ability("TensorFlow", exact="NHWC"),  # Its convolutions on a CPU support no other.
    "jax": Ability("JAX", exact="NHWC"),
    "onnxruntime": Ability(
        "ONNX Runtime", ("fp16", "tf32"), "NCHW", gradients=False
    ),  # ONNX supports no other layout; numpy has no bf16.
}
"""In order of importance: most people use the first."""


class FrameworkEvent(msgspec.Struct, frozen=True):
    """One line that the script emitted."""

    begin: str = ""
    framework: str = ""
    cuda: str = ""
    cudnn: str = ""
    gpu: bool | None = None
    small: tuple[float | None, ...] | None = None
    number: int | None = None
    milliseconds: tuple[float, ...] = ()
    kernel: str = ""
    """With ``number``: the kernel that computed it, as reported by the framework's own profiler or compiler."""
    problem: str = ""
    at: float | None = None
    """Seconds since the script started."""


def frameworks_to_run(chosen: ChosenConsumer, where: Sysroot, builds: tuple[FrameworkBuild, ...]) -> tuple[Trial, ...]:
    """Return the frameworks of the consumer's environment that can be run, builds without GPU support last."""
    python = chosen.want.python
    if python is None or not python.executable:
        return ()
    trials = [t for t in installed_frameworks(python, where) if t.module in ABILITIES]
    order = list(ABILITIES)
    return tuple(sorted(trials, key=lambda t: (without_gpu(t, builds), order.index(t.module))))


def without_gpu(trial: Trial, builds: tuple[FrameworkBuild, ...]) -> bool:
    """Whether a framework is known to be a CPU-only build."""
    its = (b for b in builds if b.prefix == trial.python.prefix and b.distribution == trial.distribution)
    return trial.distribution == "onnxruntime" or any(b.cuda == "" for b in its)


def seconds_needed(
    trials: tuple[Trial, ...], extent: Extent, builds: tuple[FrameworkBuild, ...] = ()
) -> tuple[float, ...]:
    """Return the seconds to reserve for each of these frameworks."""
    return tuple(
        CPU_BUILD_SECONDS
        if without_gpu(t, builds)
        else extent.further_seconds
        if any(not without_gpu(e, builds) for e in trials[:n])
        else extent.first_seconds
        for n, t in enumerate(trials)
    )


def run_frameworks(
    request: ProbeRequest,
    chosen: ChosenConsumer,
    trials: tuple[Trial, ...],
    gpu: GpuSelector,
    until: Deadline,
    *,
    extent: Extent,
    prefix: str,
) -> tuple[FrameworkRun, ...]:
    """Run each framework in its own process, one after another; time that one does not use is available to the next."""
    runs = []
    kept = seconds_needed(trials, extent, request.seen.builds)
    for n, trial in enumerate(trials):
        request.watch.check()
        seconds = max(MIN_FRAMEWORK_SECONDS, until.seconds_left() - sum(kept[n + 1 :]) - SCRIPT_OVERHEAD_SECONDS)
        predicted = chosen.want.wish.framework.partition(" ")[0] == trial.distribution
        runs.append(_run(request, trial, gpu, seconds, extent=extent, predicted=predicted, prefix=prefix))
    return tuple(runs)


def _run(
    request: ProbeRequest,
    trial: Trial,
    gpu: GpuSelector,
    seconds: float,
    *,
    extent: Extent,
    predicted: bool,
    prefix: str,
) -> FrameworkRun:
    name = ABILITIES[trial.module].name
    request.watch.say(
        _("{prefix}{name}'s own convolution, in {place}", prefix=prefix, name=name, place=trial.python.prefix)
    )
    problems = problems_of(ABILITIES[trial.module], extent)
    verdict = interpreter_verdict(trial.python, sysroot_of(request.host))
    record_execution(
        "framework", trial.python.executable, verdict, request, full_id(trial.python.prefix, trial.distribution)
    )
    if not verdict.may:
        return FrameworkRun(
            framework=f"{trial.distribution} {trial.version}", python=trial.python.executable, predicted=predicted,
            problem=fact_text("Others can change it, so it was not run with an administrator's rights."),
        )  # fmt: skip
    # Selects the GPU by UUID, so that a variable that hides others has no effect.
    only = {"CUDA_VISIBLE_DEVICES": gpu.uuid} if gpu.uuid else {}
    asked = script_request(problems, 0 if only else gpu.ordinal, seconds, kernels=extent.kernels, rest=extent.rest)
    start = time.monotonic()
    completed = request.host.run(
        [trial.python.executable, "-B", "-c", FRAMEWORK_SCRIPT, trial.module],
        timeout=seconds + SCRIPT_MARGIN_SECONDS,
        env={**environment_for(verdict, request.env), **only},
        input=json.dumps(asked).encode(),
        watch=request.watch,
        account=verdict.account,
        kind="answering",
    )
    run = read_script_answer(read_answer(completed, FrameworkEvent), problems, request, trial, predicted=predicted)
    return replace(run, seconds=round(time.monotonic() - start, 2))


def problems_of(able: Ability, extent: Extent) -> tuple[Problem, ...]:
    """Return the problems that a framework times: those of a run's own list that it can compute, else every shape forward."""
    if extent.beside is None:
        return tuple(_every_shape(able))
    return tuple(
        replace(p, layout=able.layout)
        for p in extent.beside
        if p.type in able.types and (p.direction == "forward" or able.gradients)
    )


def _every_shape(able: Ability) -> Iterator[Problem]:
    """Yield every shape by importance: the large shape in every type, the other shapes type by type."""
    for kind in able.types:
        yield Problem(shape=LARGE_SHAPE, type=kind, layout=able.layout)
    for kind in able.types:
        for shape in TIMED_SHAPES[1:]:
            yield Problem(shape=shape, type=kind, layout=able.layout)
    yield Problem(shape=LARGE_SHAPE, type="fp32", layout=able.exact)


def script_request(
    problems: tuple[Problem, ...],
    ordinal: int,
    seconds: float,
    *,
    anywhere: bool = False,
    kernels: bool = False,
    rest: float = 0.0,
) -> dict[str, Any]:
    """Return the request for the script.

    ``anywhere``: time on a processor, too; ``kernels``: also report the kernel. ``rest``: seconds of idle time before
    each measurement.
    """
    small = SMALL_SHAPES[0]
    return {
        "ordinal": ordinal,
        "seconds": seconds,
        "anywhere": anywhere,
        "kernels": kernels,
        "rest": rest,
        "counts": small.element_counts,
        "small": _script_convolution(small, "forward") | {"last": False},
        "timed": [
            _script_convolution(p.shape, p.direction)
            | {"words": p.description, "type": p.type, "last": p.layout == "NHWC"}
            for p in problems
        ],
    }


def _script_convolution(shape: Shape, direction: Direction) -> dict[str, Any]:
    """Return a convolution as the script expects it; ``dims``: of data, filters and result, in NCHW order."""
    return {
        "dims": shape.dimensions,
        "pad": shape.pad,
        "stride": shape.stride,
        "groups": shape.groups,
        "direction": direction,
    }


def read_script_answer(
    answer: ChildAnswer[FrameworkEvent],
    problems: tuple[Problem, ...],
    request: ProbeRequest,
    trial: Trial,
    *,
    predicted: bool,
) -> FrameworkRun:
    """Return the script's results up to its end."""
    said = answer.events

    def last(field: str) -> str:
        return next((str(v) for s in reversed(said) if (v := getattr(s, field))), "")

    name = last("framework") or f"{trial.distribution} {trial.version}"
    numbered = [s for s in said if s.number is not None and 0 <= s.number < len(problems) and not s.kernel]
    kernels = {s.number: s.kernel for s in said if s.kernel}
    where = sysroot_of(request.host)
    paths = (p for p in answer.mapped if is_cuda_file(where.name(p)))
    small = next((s.small for s in said if s.small is not None), None)
    right, detail = _check_small(small)
    problem = next((s.problem for s in reversed(said) if s.problem and s.number is None), "")
    if answer.ended and not problem:
        during = last("begin")
        what = fact_text(" while it did this: {during}", during=during) if during else ""
        output = _last_line(answer.output)
        problem = (
            fact_text("The process {ended}{what}. {output}", ended=answer.ended, what=what, output=output)
            if output
            else fact_text("The process {ended}.", ended=join_facts((answer.ended, what), ""))
        )
    gpu = next((s.gpu for s in said if s.gpu is not None), None)
    return FrameworkRun(
        framework=name,
        python=trial.python.executable,
        gpu=gpu,
        cuda=last("cuda"),
        predicted=predicted,
        right=right,
        detail=detail,
        timings=tuple(_timing(problems[s.number or 0], s, name, kernels.get(s.number, "")) for s in numbered),
        mapped=tuple(
            Mapped(path=p, name=where.name(p), origin=file_origin(p, trial.python.prefix, request.env, where))
            for p in dict.fromkeys(paths)
        ),
        cudnn=cudnn_version(last("cudnn")),
        problem=problem,
        steps=tuple(_steps(said)),
        output=answer.output[-2000:] if gpu is False and last("cuda") else "",
    )


def _steps(said: tuple[FrameworkEvent, ...]) -> Iterator[tuple[str, float]]:
    """Yield each step with its duration in seconds."""
    marked = [(s.begin, s.at) for s in said if s.at is not None]
    for (begin, start), (_then, end) in pairwise(marked):
        yield begin, round(end - start, 3)


def _timing(problem: Problem, said: FrameworkEvent, name: str, kernel: str) -> Timing:
    about = replace(problem.untimed(), by=name, algorithm=kernel)
    times = said.milliseconds
    if not times or not all(t > 0 for t in times):
        return replace(about, problem=said.problem or fact_text("It gave no times."))
    median = times[len(times) // 2]
    spread = (times[3 * len(times) // 4] - times[len(times) // 4]) / 2 / median
    return replace(about, milliseconds=median, spread=spread, teraflops=problem.shape.operations / median / 1e9)


def _check_small(small: tuple[float | None, ...] | None) -> tuple[bool | None, str]:
    """Compare the framework's small convolution with plain Python, bit for bit."""
    if small is None:
        return None, ""
    shape = SMALL_SHAPES[0]
    values = [random_integers(count, seed) for seed, count in enumerate(shape.element_counts)]
    true = reference_result(shape, "forward", values[0], values[1])
    if len(small) != len(true):
        return False, fact_text("it returned {small} elements instead of {true}", small=len(small), true=len(true))
    wrong = [i for i, (a, b) in enumerate(zip(small, true, strict=True)) if a != b]
    return (not wrong), fact_text(
        "{wrong} of {true} elements are wrong", wrong=len(wrong), true=len(true)
    ) if wrong else ""


def _last_line(err: str) -> str:
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
