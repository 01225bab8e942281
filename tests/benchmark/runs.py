"""Running the benchmark's children over the stand-ins."""

from __future__ import annotations

import os
from pathlib import Path

from core.benchmark.child import ladder
from core.benchmark.child import worker as engine
from core.benchmark.protocol import BenchmarkEvent, Climb, Job, Which
from core.benchmark.shapes import SMALL, Problem, Shape
from core.host.child import Answer, ask
from core.host.linux import LinuxHost
from core.model.facts import Check, Rung, Timing
from tests.benchmark.standin import built

TINY = Shape(name="tiny", label="tiny", n=2, c=16, size=6, k=16, r=3)
ONE = Problem(shape=TINY, type="fp16")


def env(folder: Path, **switches: str) -> dict[str, str]:
    """Return an environment that finds the stand-ins first, with some of their switches."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("STANDIN_", "LD_", "CUDA_"))}
    return {**kept, "LD_LIBRARY_PATH": str(folder), **switches}


def climb(major: int = 9, timeout: float = 60, **switches: str) -> Answer[BenchmarkEvent]:
    """Climb the lower part."""
    order = Climb(gpu=Which(), nvrtc=("libnvrtc.so.12",), cublas=("libcublas.so.12",))
    return ask(
        ladder.climb, order, BenchmarkEvent, host=LinuxHost(), env=env(built(major), **switches), timeout=timeout
    )


def convolve(
    major: int = 9,
    timeout: float = 60,
    exact: tuple[Problem, ...] = (),
    compared: tuple[Problem, ...] = (),
    timed: tuple[Problem, ...] = (),
    seconds: float = 50,
    **switches: str,
) -> Answer[BenchmarkEvent]:
    """Run the engine."""
    main = f"libcudnn.so.{major}"
    job = Job(gpu=Which(), cudnn=(main,), exact=exact, compared=compared, timed=timed, seconds=seconds, each=20)
    return ask(engine.work, job, BenchmarkEvent, host=LinuxHost(), env=env(built(major), **switches), timeout=timeout)


def rungs(answer: Answer[BenchmarkEvent]) -> list[Rung]:
    """Return the rungs that were told."""
    return [e.rung for e in answer.events if e.rung]


def checks(answer: Answer[BenchmarkEvent]) -> list[Check]:
    """Return the checks beyond the ladder's own."""
    found = [e.check for e in answer.events if e.check]
    return [c for c in found if (c.type, c.layout, c.shape) != ("fp32", "NCHW", SMALL[0].text) or c.kind != "exact"]


def timings(answer: Answer[BenchmarkEvent]) -> list[Timing]:
    """Return the timings."""
    return [e.timing for e in answer.events if e.timing]
