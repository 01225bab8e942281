"""The messages between the benchmark and its child processes, and how the parent receives them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from core.benchmark.shapes import Problem
from core.common.progress import Progress
from core.host.child import TOKEN
from core.model.facts import Check, Frozen, GpuCard, GpuState, Rung, Timing


class GpuSelector(Frozen, frozen=True, kw_only=True):
    """A GPU: by UUID if known, else by the driver's index."""

    uuid: str = ""
    ordinal: int = 0
    library: str = ""
    """The driver's library; empty for its usual name."""


class LadderRequest(Frozen, frozen=True, kw_only=True):
    """The request for the ladder's lower part: the GPU, and candidates for NVRTC and cuBLAS (paths or bare names, in order)."""

    gpu: GpuSelector
    nvrtc: tuple[str, ...] = ()
    cublas: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """Windows: folders that the consumer passes to add_dll_directory."""


class BenchmarkJob(Frozen, frozen=True, kw_only=True):
    """The worker's job for one GPU and one cuDNN."""

    gpu: GpuSelector
    cudnn: tuple[str, ...]
    preload: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    exact: tuple[Problem, ...] = ()
    compared: tuple[Problem, ...] = ()
    timed: tuple[Problem, ...] = ()
    seconds: float = 50.0
    """Seconds for everything; what does not fit is left out, and reported."""
    each: float = 1.0
    """Seconds for one timed problem."""
    rest: float = 0.0
    """Seconds without work before a measurement, in which a card at its power limit recovers its clock."""


class BenchmarkEvent(Frozen, frozen=True, kw_only=True):
    """One message from a child. ``begin`` is sent before each step, since the step may crash the child."""

    begin: str = ""
    id: str = ""
    """With ``begin``: the step's name, with which a second child leaves out the step that crashed the first."""
    rung: Rung | None = None
    check: Check | None = None
    timing: Timing | None = None
    card: GpuCard | None = None
    state: GpuState | None = None
    version: int | None = None
    library: str = ""


def step_id(kind: str, problem: Problem) -> str:
    """Return the id of a step."""
    return f"{kind}: {problem.description} ({problem.shape.name})"


class EventDecoder:
    """Receives a child's bytes as they arrive and passes each complete event on."""

    def __init__(self, heard: Callable[[BenchmarkEvent], None]) -> None:
        self._heard = heard
        self._rest = b""
        self._decoder = msgspec.json.Decoder(BenchmarkEvent)

    def __call__(self, data: bytes) -> None:
        """Take some bytes. Anything but an event is skipped: the parent reads everything again at the end."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            token, plus, event = line.partition(b"+")
            if plus and len(token) <= TOKEN:
                try:
                    said = self._decoder.decode(event)
                except msgspec.DecodeError:
                    continue
                self._heard(said)


def report_progress(watch: Progress, prefix: str) -> Progress:
    """Return a watch that reports a child's steps through ``watch``; use it with ``following``."""
    return Progress(
        watch.say, heard=EventDecoder(lambda said: watch.say(prefix + _sentence(said.begin)) if said.begin else None)
    )


def _sentence(begin: str) -> str:
    return begin if begin.startswith("cu") else begin[:1].upper() + begin[1:]


class BackgroundTask:
    """Work in a thread with its own watch, which ends it when the block is left, by cancelling as well."""

    def __init__(self, work: Callable[[Progress], object], heard: Callable[[BenchmarkEvent], None]) -> None:
        self._watch = Progress(heard=EventDecoder(heard))
        self._result: list[object] = []
        self._thread = threading.Thread(target=lambda: self._result.append(work(self._watch)), daemon=True)

    def __enter__(self) -> BackgroundTask:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._watch.cancel()
        self._thread.join(10)
