"""The framework's own convolution, in the person's interpreter: the same shapes, and the files that it mapped."""

from __future__ import annotations

import json
from typing import Any

from core.benchmark.events import Which
from core.benchmark.numbers import whole
from core.benchmark.plan import Chosen
from core.benchmark.shapes import LARGE, SMALL, TIMED, Problem, reference
from core.benchmark.torch_script import SCRIPT
from core.facts import FrameworkRun, Mapped, PythonEnvironment, Timing
from core.host import Completed
from core.probes.loading_roll import origin
from core.probes.places import places
from core.probes.request import Request
from core.probes.roll_call import is_cuda_file

SECONDS = 9.0
"""For the framework's timings; importing it comes on top."""
PATIENCE = 60.0


def run_frameworks(request: Request, chosen: Chosen, gpu: Which, prefix: str) -> tuple[FrameworkRun, ...]:
    """Run every framework of the consumer's environment that can be asked; empty where there is none."""
    python = chosen.want.python
    if python is None or not python.executable:
        return ()
    torch = next((d for d in python.distributions if d.name == "torch"), None)
    if torch is None:
        return ()
    request.watch.say(f"{prefix}PyTorch's own convolution, in {python.prefix}")
    problems = (
        *(Problem(shape=s, type=t) for s in TIMED for t in ("fp16", "bf16", "tf32")),
        Problem(shape=LARGE, type="fp32", layout="NCHW"),
    )
    completed = request.host.run(
        [python.executable, "-c", SCRIPT],
        timeout=PATIENCE,
        env=request.env,
        input=json.dumps(_order(problems, gpu)).encode(),
        watch=request.watch,
    )
    return (_read(completed, problems, request, python, f"torch {torch.version}"),)


def _order(problems: tuple[Problem, ...], gpu: Which) -> dict[str, Any]:
    small = SMALL[0]
    return {
        "uuid": gpu.uuid,
        "ordinal": gpu.ordinal,
        "seconds": SECONDS,
        "small": {"counts": small.counts, "dims": small.dims, "pad": small.pad},
        "timed": [
            {
                "words": p.words,
                "type": p.type,
                "dims": p.shape.dims[:2],
                "pad": p.shape.pad,
                "groups": p.shape.groups,
                "last": p.layout == "NHWC",
            }
            for p in problems
        ],
    }


def _read(
    completed: Completed, problems: tuple[Problem, ...], request: Request, python: PythonEnvironment, name: str
) -> FrameworkRun:
    """Return what the script said, as far as it came."""
    found: dict[str, Any] = {}
    timings: list[Timing] = []
    for said in _lines(completed.out):
        found |= said
        number = said.get("number")
        if isinstance(number, int) and 0 <= number < len(problems):
            timings.append(_timing(problems[number], said, name))
    where = places(request.host)
    mapped = tuple(
        Mapped(path=p, name=where.name(p), origin=origin(p, python.prefix, request.env, where))
        for p in found.get("mapped", ())
        if isinstance(p, str) and is_cuda_file(where.name(p))
    )
    right, detail = _judged(found.get("small"))
    problem = str(found.get("problem", ""))
    if not found.get("done") and not problem:
        last = _last_line(completed.err)
        during = f" while it did this: {found['begin']}" if "begin" in found else ""
        problem = f"The process {completed.ended or 'stopped early'}{during}. {last}".strip()
    return FrameworkRun(
        framework=str(found.get("framework", name)),
        python=python.executable,
        right=right,
        detail=detail,
        timings=tuple(timings),
        mapped=mapped,
        cudnn=str(found.get("cudnn") or ""),
        problem=problem if not timings or not found.get("done") else "",
    )


def _lines(out: str) -> list[dict[str, Any]]:
    found = []
    for line in out.splitlines():
        if line.startswith("="):
            try:
                said = json.loads(line[1:])
            except ValueError:
                continue
            if isinstance(said, dict):
                found.append(said)
    return found


def _timing(problem: Problem, said: dict[str, Any], name: str) -> Timing:
    about = Timing(
        shape=problem.shape.text,
        label=problem.shape.label,
        type=problem.type,
        direction=problem.direction,
        layout=problem.layout,
        by=name,
    )
    times = said.get("milliseconds")
    if not (isinstance(times, list) and times and all(isinstance(t, float) and t > 0 for t in times)):
        return Timing(**{**_fields(about), "problem": str(said.get("problem", "It gave no times."))})
    median = times[len(times) // 2]
    spread = (times[3 * len(times) // 4] - times[len(times) // 4]) / 2 / median
    teraflops = problem.shape.operations / median / 1e9
    return Timing(**{**_fields(about), "milliseconds": median, "spread": spread, "teraflops": teraflops})


def _fields(timing: Timing) -> dict[str, Any]:
    return {n: getattr(timing, n) for n in timing.__struct_fields__}


def _judged(small: object) -> tuple[bool | None, str]:
    """Compare the framework's small convolution with plain Python, bit for bit."""
    if not isinstance(small, list):
        return None, ""
    shape = SMALL[0]
    values = [whole(count, seed) for seed, count in enumerate(shape.counts)]
    true = reference(shape, "forward", values[0], values[1])
    if len(small) != len(true):
        return False, f"it returned {len(small)} elements instead of {len(true)}"
    wrong = [i for i, (a, b) in enumerate(zip(small, true, strict=True)) if a != b]
    return (not wrong), f"{len(wrong)} of {len(true)} elements are wrong" if wrong else ""


def _last_line(err: str) -> str:
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
