"""Asking a real framework, in a folder or an interpreter of its own, for small convolutions on the processor.

``python -m tests.benchmark.frameworks PYTHON MODULE...`` asks the frameworks of an interpreter, for instance one with TensorFlow.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from core.benchmark.framework_script import FRAMEWORK_SCRIPT
from core.benchmark.frameworks import FrameworkEvent, read_script_answer, script_request
from core.benchmark.shapes import DIRECTIONS, Problem, Shape
from core.common.progress import Progress
from core.host.child import read_answer
from core.host.linux.host import LinuxHost
from core.model.facts import Direction, FrameworkRun, Machine, PythonEnvironment, Snapshot
from core.probes.probe import ProbeRequest
from core.probes.python.trials.run import Trial
from installer.by_hand import by_hand
from tests.faultlab.wheels import cache
from tests.lock import made_once

ONNX = ("onnxruntime==1.22.1", "numpy==2.2.6")
FEW = Shape(name="few", n=2, c=16, size=12, k=16, r=3)
HALF = Shape(name="half", n=2, c=16, size=12, k=16, r=3, stride=2, groups=2)
EACH = Shape(name="each", n=2, c=16, size=12, k=16, r=3, groups=16)


def problems(*types: str, directions: tuple[Direction, ...] = DIRECTIONS) -> tuple[Problem, ...]:
    """Return small shapes in each type and direction."""
    return tuple(Problem(shape=s, type=t, direction=d) for s in (FEW, EACH, HALF) for d in directions for t in types)


def run(python: str, module: str, todo: tuple[Problem, ...], env: dict[str, str] | None = None) -> FrameworkRun:
    """Run the script in an interpreter, with timings on its processor."""
    host = LinuxHost()
    request = ProbeRequest(host=host, seen=Snapshot(machine=Machine(system="linux")), env={}, watch=Progress())
    trial = Trial(PythonEnvironment(prefix="/e", executable=python), module, "", module)
    completed = host.run(
        [python, "-B", "-c", FRAMEWORK_SCRIPT, module],
        timeout=120,
        env={**os.environ, **(env or {})},
        input=json.dumps(script_request(todo, 0, 60, anywhere=True)).encode(),
        kind="answering",
    )
    return read_script_answer(read_answer(completed, FrameworkEvent), todo, request, trial, predicted=False)


@functools.cache
def onnxruntime() -> Path:
    """Return a folder with ONNX Runtime for this interpreter, kept in the cache."""

    def install(folder: Path) -> None:
        options = ("--quiet", "--no-deps", "--only-binary=:all:", "--target", str(folder))
        subprocess.run([sys.executable, "-m", "pip", "install", *options, *ONNX], check=True, stdout=sys.stderr)

    return made_once(cache() / "unpacked" / f"{'-'.join(ONNX)}-{sys.implementation.cache_tag}", install)


if __name__ == "__main__":
    python, *names = by_hand(__doc__, "PYTHON", "MODULE...")
    for name in names:
        start = time.monotonic()
        its = run(python, name, problems("fp16", "bf16", "tf32", "fp32"))
        print(
            f"{its.framework}: right {its.right}, on a GPU {its.gpu}, CUDA {its.cuda!r}, {time.monotonic() - start:.1f} s"
        )
        for t in its.timings:
            print(f"    {t.shape:<40} {t.type:<5} {t.milliseconds or t.problem}")
        print(f"    {its.problem or len(its.mapped)}")
