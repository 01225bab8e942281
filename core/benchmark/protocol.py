"""What the benchmark's children are asked, and what they say as they go."""

from __future__ import annotations

from typing import Literal

from core.benchmark.shapes import Problem
from core.model.facts import Check, Frozen, GpuCard, GpuState, Rung, Timing

Kind = Literal["exact", "two algorithms"]


class Which(Frozen, frozen=True, kw_only=True):
    """A GPU: by UUID where one is known, else by the driver's number."""

    uuid: str = ""
    ordinal: int = 0
    library: str = ""
    """The driver's library; empty for its usual name."""


class Climb(Frozen, frozen=True, kw_only=True):
    """The ladder's lower part: which GPU, and where NVRTC and cuBLAS may be (paths or bare names, in order)."""

    gpu: Which
    nvrtc: tuple[str, ...] = ()
    cublas: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """Windows: what the consumer gives to add_dll_directory."""


class Job(Frozen, frozen=True, kw_only=True):
    """What the engine is to do with one GPU and one cuDNN."""

    gpu: Which
    cudnn: tuple[str, ...]
    preload: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    exact: tuple[Problem, ...] = ()
    compared: tuple[Problem, ...] = ()
    timed: tuple[Problem, ...] = ()
    seconds: float = 50.0
    """For everything; what does not fit is left out and said."""
    each: float = 1.0
    """For one timed problem."""


class Said(Frozen, frozen=True, kw_only=True):
    """One thing that a child says. ``begin`` stands before each step, because it may be the child's last."""

    begin: str = ""
    id: str = ""
    """With ``begin``: the step's name for a second child, which leaves out what killed the first."""
    rung: Rung | None = None
    check: Check | None = None
    timing: Timing | None = None
    card: GpuCard | None = None
    state: GpuState | None = None
    version: int | None = None
    library: str = ""
    mapped: str = ""


def identity(kind: str, problem: Problem) -> str:
    """Return the id of a step."""
    return f"{kind}: {problem.words} ({problem.shape.name})"
