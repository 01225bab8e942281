"""Running the benchmark's children over the stand-ins."""

from __future__ import annotations

import os
from pathlib import Path

from core.benchmark.child import ladder, worker
from core.benchmark.protocol import BenchmarkEvent, BenchmarkJob, GpuSelector, LadderRequest
from core.benchmark.shapes import SMALL_SHAPES, Problem, Shape
from core.host.child import ChildAnswer, ask_child
from core.host.linux.host import LinuxHost
from core.model.facts import Check, Rung, Timing
from tests.benchmark.standin import built

TINY = Shape(name="tiny", label="tiny", n=2, c=16, size=6, k=16, r=3)
ONE = Problem(shape=TINY, type="fp16")


def env(folder: Path, **switches: str) -> dict[str, str]:
    """Return an environment that finds the stand-ins first, with some of their switches."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("STANDIN_", "LD_", "CUDA_"))}
    return {**kept, "LD_LIBRARY_PATH": str(folder), **switches}


def climb(major: int = 9, timeout: float = 60, **switches: str) -> ChildAnswer[BenchmarkEvent]:
    """Climb the lower part."""
    order = LadderRequest(gpu=GpuSelector(), nvrtc=("libnvrtc.so.12",), cublas=("libcublas.so.12",))
    return ask_child(
        ladder.run_ladder, order, BenchmarkEvent, host=LinuxHost(), env=env(built(major), **switches), timeout=timeout
    )


def convolve(
    major: int = 9,
    timeout: float = 60,
    exact: tuple[Problem, ...] = (),
    compared: tuple[Problem, ...] = (),
    timed: tuple[Problem, ...] = (),
    seconds: float = 50,
    **switches: str,
) -> ChildAnswer[BenchmarkEvent]:
    """Run the engine."""
    main = f"libcudnn.so.{major}"
    job = BenchmarkJob(
        gpu=GpuSelector(), cudnn=(main,), exact=exact, compared=compared, timed=timed, seconds=seconds, each=20
    )
    return ask_child(
        worker.run_job, job, BenchmarkEvent, host=LinuxHost(), env=env(built(major), **switches), timeout=timeout
    )


def rungs(answer: ChildAnswer[BenchmarkEvent]) -> list[Rung]:
    """Return the rungs that were told."""
    return [e.rung for e in answer.events if e.rung]


def checks(answer: ChildAnswer[BenchmarkEvent]) -> list[Check]:
    """Return the checks beyond the ladder's own."""
    found = [e.check for e in answer.events if e.check]
    return [
        c for c in found if (c.type, c.layout, c.shape) != ("fp32", "NCHW", SMALL_SHAPES[0].text) or c.kind != "exact"
    ]


def timings(answer: ChildAnswer[BenchmarkEvent]) -> list[Timing]:
    """Return the timings."""
    return [e.timing for e in answer.events if e.timing]
