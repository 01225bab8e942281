"""Try ladder and engine with every call in turn dying, or failing: one forked process each. A program for the tests.

``python -m tests.benchmark.every_call MAJOR`` with an environment that finds the stand-ins; it prints one JSON document.
Which calls there are is not written anywhere: the stand-ins note what is called in runs that go well and in runs that fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import msgspec

from core.benchmark.child import ladder, timing, worker
from core.benchmark.protocol import BenchmarkEvent, BenchmarkJob, GpuSelector, LadderRequest
from core.benchmark.shapes import DIRECTIONS, SMALL_SHAPES, Problem, Shape, reference_result

TINY = Shape(name="tiny", label="tiny", n=1, c=4, size=4, k=4, r=3)
WHOLE = tuple(Problem(shape=TINY, type="fp16", direction=d) for d in DIRECTIONS)
WIDE = Shape(name="wide", label="wide", n=1, c=48, size=12, k=2, r=1)
"""More data than any before it, so that memory is given back and asked for anew."""
GPU = GpuSelector(uuid="gpu-10101010-1010-1010-1010-101010101010")
CHILDREN: dict[str, Callable[[int, Callable[[BenchmarkEvent], None]], None]] = {
    "ladder": lambda _major, emit: ladder.run_ladder(
        LadderRequest(gpu=GPU, nvrtc=("libnvrtc.so.12",), cublas=("libcublas.so.12",)), emit
    ),
    "engine": lambda major, emit: worker.run_job(
        BenchmarkJob(
            gpu=GPU,
            cudnn=(f"libcudnn.so.{major}",),
            exact=(*WHOLE, Problem(shape=WIDE, type="fp16")),
            compared=WHOLE[:1],
            timed=WHOLE[:1],
            seconds=50,
            each=9,
        ),
        emit,
    ),
}
"""The two programs, as the benchmark starts them."""

LAST = {
    "ladder": ("cuMemAlloc_v2:2", "nvrtcCompileProgram:5", "cublasSgemm_v2:13"),
    "engine": ("cuMemAlloc_v2:2", "cudnnCreate:4"),
}
"""Failures, in which each asks for the names of statuses."""


class Tried(msgspec.Struct, frozen=True):
    """What one process said, and how it ended."""

    child: str
    call: str
    mode: str
    signal: int
    problem: str
    said: tuple[BenchmarkEvent, ...]


def in_a_fork(child: str, major: int, call: str, mode: str, switches: dict[str, str]) -> Tried:
    """Run ``child`` in a process of its own with the stand-ins' switches set."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.environ.update(switches)
        try:
            CHILDREN[child](major, lambda said: said and _write(writer, msgspec.json.encode(said)))
        except BaseException:  # noqa: BLE001 - the edge of the process
            _write(writer, b"!" + traceback.format_exc().replace("\n", " | ").encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        lines = pipe.read().splitlines()
    _, status = os.waitpid(pid, 0)
    said = tuple(msgspec.json.decode(line, type=BenchmarkEvent) for line in lines if not line.startswith(b"!"))
    problem = next((line[1:].decode() for line in lines if line.startswith(b"!")), "")
    return Tried(child, call, mode, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, problem, said)


def _write(writer: int, line: bytes) -> None:
    os.write(writer, line + b"\n")


def made(child: str, major: int, fail: str = "") -> set[str]:
    """Return the names of all calls that a run makes."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace")
        in_a_fork(child, major, "", "", {"STANDIN_TRACE": str(trace), **({"STANDIN_FAIL": fail} if fail else {})})
        return set(trace.read_text().split())


def exported(major: int) -> set[str]:
    """Return every function of the stand-ins' export tables, but their own switches."""
    folder = Path(os.environ["LD_LIBRARY_PATH"])
    names = ("libcuda.so.1", f"libcudnn.so.{major}", "libnvrtc.so.12", "libcublas.so.12")
    tables = (subprocess.check_output(["nm", "-D", "--defined-only", folder / n], text=True) for n in names)
    functions = (line.split()[2] for table in tables for line in table.splitlines() if line.split()[1] == "T")
    return {f for f in functions if not f.startswith("standin_")}


def cases(child: str, major: int) -> Iterator[tuple[str, int, str, str, dict[str, str]]]:
    """Yield what to try: every call that the child makes dies, and fails; what only failures ask for dies then."""
    usual = made(child, major)
    for call in sorted(usual):
        yield child, major, call, "dies", {"STANDIN_DIE": call}
        yield child, major, call, "fails", {"STANDIN_FAIL": f"{call}:{1000 + len(call)}"}
    asked: set[str] = set()
    for fail in LAST[child]:
        for call in sorted(made(child, major, fail) - usual - asked):
            asked.add(call)
            yield child, major, call, "dies", {"STANDIN_DIE": call, "STANDIN_FAIL": fail}


def _prepare() -> None:
    """Compute once for all forks what the children keep, and make the ladder's arithmetic small."""
    for shape in (TINY, SMALL_SHAPES[0]):
        reference_result(shape, "forward", [0] * shape.element_counts[0], [0] * shape.element_counts[1])
    for which in (0, 1):
        timing._decode_elements("fp16", which)
    ladder.COPY_BYTES, ladder.MATRIX_SIDE = 1 << 16, 4


def main() -> None:
    """Try everything, two at a time, and print what came of it."""
    major = int(sys.argv[1])
    _prepare()
    with get_context("fork").Pool(os.cpu_count()) as pool:
        tried = pool.starmap(in_a_fork, [c for child in CHILDREN for c in cases(child, major)], chunksize=1)
    sys.stdout.buffer.write(msgspec.json.encode({"exported": sorted(exported(major)), "tried": tried}))


if __name__ == "__main__":
    main()
