"""The extent of a run and its time limits: a quick run, a full one, everything, or a person's own layers."""

from __future__ import annotations

from msgspec.structs import replace

from core.benchmark.shapes import (
    DIRECTIONS,
    GROUPED_SHAPE,
    LARGE_SHAPE,
    MIDDLE_SHAPE,
    RESNET_SHAPE,
    SMALL_SHAPES,
    TIMED_SHAPES,
    Problem,
    Shape,
)
from core.model.facts import Frozen, Layout, NumberType

NUMBER_TYPES: tuple[NumberType, ...] = ("fp16", "bf16", "tf32", "fp32", "int8")
TRAINING_TYPES: tuple[NumberType, ...] = ("fp16", "bf16", "tf32")
"""Types that programs train with on tensor cores: their gradients are timed."""
Problems = tuple[Problem, ...]


class Extent(Frozen, frozen=True, kw_only=True):
    """What one run computes on a GPU.

    Times are upper limits in seconds; what does not fit is left out, and reported.
    """

    quick: bool = False
    exact: Problems
    """Problems compared with plain Python, bit for bit."""
    compared: Problems
    """Problems computed by two algorithms."""
    timed: Problems
    seconds: float
    """Seconds for this GPU, from the command or from the end of the GPU before it."""
    engine_seconds: float
    """Seconds for cuDNN alone."""
    each_seconds: float
    """Seconds for one timed problem."""
    frameworks: bool = True
    """Whether the environment's frameworks run the same convolutions."""
    beside: Problems | None = None
    """Problems that the frameworks time if they can; None: every shape forward, the large one first."""
    first_seconds: float = 15.0
    """Seconds for the first framework: its import, and all its timings.

    The next framework gets what it does not need.
    """
    further_seconds: float = 8.0
    """Seconds for each further one."""
    kernels: bool = False
    """Whether the frameworks report the kernel that they ran."""
    second_timings: int = 0
    """Number of repeated measurements, on both sides, of rows in which a framework is faster."""
    rest: float = 0.0
    """Seconds without work before each measurement, on both sides."""


def usual_layout(kind: NumberType) -> Layout:
    """Return the fastest layout for a number type: NCHW for fp32 without tensor cores."""
    return "NCHW" if kind == "fp32" else "NHWC"


def quick_run() -> Extent:
    """Return a run of less than ten seconds: every type and direction checked, and the speed of the large shape."""
    timed = (
        *(Problem(shape=LARGE_SHAPE, type=t, layout=usual_layout(t)) for t in NUMBER_TYPES),
        Problem(shape=RESNET_SHAPE, type="fp16"),
    )
    return Extent(
        quick=True,
        exact=_exact(SMALL_SHAPES[:1]),
        compared=(Problem(shape=MIDDLE_SHAPE, type="fp16"),),
        timed=timed,
        seconds=9.3,
        engine_seconds=4.0,
        each_seconds=0.28,
        frameworks=False,
    )


def full_run() -> Extent:
    """Return a run of less than a minute: both layouts, every shape and type forward, the large shape's gradients."""
    timed = (
        *(Problem(shape=s, type=t, layout=usual_layout(t)) for s in TIMED_SHAPES for t in NUMBER_TYPES),
        *(Problem(shape=LARGE_SHAPE, type=t, direction=d) for t in TRAINING_TYPES for d in DIRECTIONS[1:]),
        Problem(shape=LARGE_SHAPE, type="fp16", layout="NCHW"),
    )
    return Extent(
        exact=_exact(SMALL_SHAPES, both_layouts=True),
        compared=_comparison_problems(),
        timed=timed,
        seconds=55.0,
        engine_seconds=40.0,
        each_seconds=0.9,
    )


def thorough_run() -> Extent:
    """Return a run of everything, which takes minutes: also grouped convolutions, and the gradients of every shape."""
    shapes = (*TIMED_SHAPES, GROUPED_SHAPE)
    forward = tuple(Problem(shape=s, type=t, layout=usual_layout(t)) for s in shapes for t in NUMBER_TYPES)
    return Extent(
        exact=_exact(SMALL_SHAPES, both_layouts=True),
        compared=_comparison_problems(),
        timed=(*forward, *_gradients(shapes), Problem(shape=LARGE_SHAPE, type="fp16", layout="NCHW")),
        beside=_training(shapes),
        seconds=420.0,
        engine_seconds=130.0,
        each_seconds=1.6,
        first_seconds=120.0,
        further_seconds=80.0,
        kernels=True,
        second_timings=3,
    )


def run_of_layers(layers: tuple[Shape, ...]) -> Extent:
    """Return a run of a person's own layers: every direction, in the types that training uses."""
    problems = _training(layers)
    return replace(thorough_run(), exact=_exact(SMALL_SHAPES[:1]), compared=(), timed=problems, beside=problems)


def _exact(shapes: tuple[Shape, ...], *, both_layouts: bool = False) -> Problems:
    return tuple(
        Problem(shape=s, type=t, layout=layout, direction=d)
        for s in shapes
        for t in NUMBER_TYPES
        for layout in (("NHWC", "NCHW") if both_layouts else (usual_layout(t),))
        for d in DIRECTIONS
        if t != "int8" or (d, layout) == ("forward", "NHWC")
    )


def _comparison_problems() -> Problems:
    return tuple(
        Problem(shape=MIDDLE_SHAPE, type=t, layout=usual_layout(t), direction=d)
        for t in NUMBER_TYPES
        for d in DIRECTIONS
        if t != "int8" or d == "forward"
    )


def _training(shapes: tuple[Shape, ...]) -> Problems:
    return (*(Problem(shape=s, type=t) for s in shapes for t in TRAINING_TYPES), *_gradients(shapes))


def _gradients(shapes: tuple[Shape, ...]) -> Problems:
    return tuple(Problem(shape=s, type=t, direction=d) for s in shapes for d in DIRECTIONS[1:] for t in TRAINING_TYPES)
