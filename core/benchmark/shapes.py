"""Convolutions to compute: shapes, number types, directions, and their plain Python reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from core.common.fact_text import fact_text, join_facts
from core.model.facts import Direction, Frozen, Layout, NumberType, Timing

DIRECTIONS: tuple[Direction, ...] = ("forward", "data gradient", "weight gradient")
BYTES_PER_NUMBER: dict[NumberType, int] = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "int8": 1}


class Shape(Frozen, frozen=True, kw_only=True):
    """A two-dimensional convolution: batch n, c channels of size x size, k filters of r x r, with padding that keeps the size."""

    name: str
    label: str = ""
    n: int
    c: int
    size: int
    k: int
    r: int
    stride: int = 1
    groups: int = 1

    @property
    def pad(self) -> int:
        """Padding on each side."""
        return self.r // 2

    @property
    def output_size(self) -> int:
        """Height and width of the result."""
        return (self.size + 2 * self.pad - self.r) // self.stride + 1

    @property
    def dimensions(self) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int], tuple[int, int, int, int]]:
        """Dimensions of the data, the filters and the result, in the order NCHW."""
        return (
            (self.n, self.c, self.size, self.size),
            (self.k, self.c // self.groups, self.r, self.r),
            (self.n, self.k, self.output_size, self.output_size),
        )

    @property
    def element_counts(self) -> tuple[int, int, int]:
        """Number of elements of data, filters and result."""
        x, w, y = (a * b * c * d for a, b, c, d in self.dimensions)
        return x, w, y

    @property
    def operations(self) -> int:
        """Multiplications and additions of the direct method; the same in every direction."""
        return 2 * self.element_counts[2] * (self.c // self.groups) * self.r * self.r

    @property
    def text(self) -> str:
        """The numbers, for a table: "64x256x56x56, 256 filters 3x3"."""
        groups = fact_text(", {groups} groups", groups=self.groups) if self.groups > 1 else ""
        if self.stride > 1:
            groups = join_facts((fact_text(", stride {stride}", stride=self.stride), groups), "")
        return fact_text(
            "{n}x{c}x{size}x{size}, {k} filters {r}x{r}{groups}",
            n=self.n,
            c=self.c,
            size=self.size,
            k=self.k,
            r=self.r,
            groups=groups,
        )


class Problem(Frozen, frozen=True, kw_only=True):
    """One convolution to compute: what, with which numbers, in which order in memory, in which direction."""

    shape: Shape
    type: NumberType
    layout: Layout = "NHWC"
    direction: Direction = "forward"

    @property
    def written_tensor(self) -> int:
        """Which of data, filters and result (0, 1, 2) is written."""
        return {"forward": 2, "data gradient": 0, "weight gradient": 1}[self.direction]

    @property
    def terms_per_element(self) -> int:
        """The maximum number of products that are summed for one element of the result."""
        s = self.shape
        counts = {
            "forward": s.c // s.groups * s.r * s.r,
            "data gradient": s.k // s.groups * s.r * s.r,
            "weight gradient": s.n * s.output_size * s.output_size,
        }
        return counts[self.direction]

    def tensor_bytes(self, which: int) -> int:
        """Bytes of one of the three tensors. The result of int8 is stored in fp32."""
        wide = self.type == "int8" and which == self.written_tensor
        return self.shape.element_counts[which] * (4 if wide else BYTES_PER_NUMBER[self.type])

    def untimed(self) -> Timing:
        """Return the row of a report that says what was computed, without a time."""
        return Timing(
            shape=self.shape.text, label=self.shape.label, type=self.type, direction=self.direction, layout=self.layout
        )

    @property
    def description(self) -> str:
        """For progress and messages: "fp16, NHWC, data gradient, 3x3, 64 channels"."""
        return f"{self.type}, {self.layout}, {self.direction}, {self.shape.label or self.shape.text}"


LARGE_SHAPE = Shape(name="large", label="3x3, 256 channels", n=64, c=256, size=56, k=256, r=3)
DEEP_SHAPE = Shape(name="deep", label="3x3, 512 channels", n=64, c=512, size=28, k=512, r=3)
RESNET_SHAPE = Shape(name="resnet", label="3x3, 64 channels", n=64, c=64, size=56, k=64, r=3)
POINTWISE_SHAPE = Shape(name="point", label="1x1, 256 to 64 channels", n=64, c=256, size=56, k=64, r=1)
DEPTHWISE_SHAPE = Shape(name="depth", label="3x3 depthwise, 256 channels", n=64, c=256, size=56, k=256, r=3, groups=256)
GROUPED_SHAPE = Shape(name="grouped", label="3x3, 32 groups, 256 channels", n=64, c=256, size=56, k=256, r=3, groups=32)
TIMED_SHAPES = (LARGE_SHAPE, DEEP_SHAPE, RESNET_SHAPE, POINTWISE_SHAPE, DEPTHWISE_SHAPE)
"""Shapes that are timed: two that fill the multiplying units, and three where memory or launches decide."""

SMALL_SHAPES = (
    Shape(name="small 3x3", n=2, c=16, size=6, k=16, r=3),
    Shape(name="small 1x1", n=2, c=32, size=8, k=16, r=1),
    Shape(name="small 3x3, stride 2", n=2, c=16, size=8, k=16, r=3, stride=2),
)
"""Shapes whose results are compared with ``reference_result`` bit for bit: at most 256 terms, so exact even in bf16."""

MIDDLE_SHAPE = Shape(name="middle 3x3", n=1, c=64, size=28, k=64, r=3)
"""The shape that two algorithms compute."""


def index_products(shape: Shape) -> Iterator[tuple[int, int, int]]:
    """Yield every product of a convolution: the element of the data, the filter's, and the result's (NCHW order).

    Each direction is a sum over the same triples, so one loop is the reference of all three.
    """
    per, filters = shape.c // shape.groups, shape.k // shape.groups
    taps = range(shape.r)
    for n in range(shape.n):
        for k in range(shape.k):
            first = k // filters * per
            for p in range(shape.output_size):
                for q in range(shape.output_size):
                    y = ((n * shape.k + k) * shape.output_size + p) * shape.output_size + q
                    for c in range(per):
                        for i in taps:
                            row = p * shape.stride - shape.pad + i
                            if not 0 <= row < shape.size:
                                continue
                            for j in taps:
                                column = q * shape.stride - shape.pad + j
                                if 0 <= column < shape.size:
                                    x = ((n * shape.c + first + c) * shape.size + row) * shape.size + column
                                    yield x, ((k * per + c) * shape.r + i) * shape.r + j, y


@cache
def _triples(shape: Shape) -> tuple[tuple[int, int, int], ...]:
    return tuple(index_products(shape))


def reference_result(shape: Shape, direction: Direction, first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Return a convolution's result in whole numbers, in NCHW order.

    ``first`` and ``second`` are data and filters (forward), result's gradient and filters (data gradient), or data and
    result's gradient (weight gradient).
    """
    a, b, target = {"forward": (0, 1, 2), "data gradient": (2, 1, 0), "weight gradient": (0, 2, 1)}[direction]
    sums = [0] * shape.element_counts[target]
    for triple in _triples(shape):
        sums[triple[target]] += first[triple[a]] * second[triple[b]]
    return sums


def to_layout(values: Sequence[int], dims: tuple[int, int, int, int], layout: Layout) -> list[int]:
    """Return values of NCHW order in the order of a layout."""
    if layout == "NCHW":
        return list(values)
    n, c, h, w = dims
    plane = h * w
    return [values[(i * c + k) * plane + at] for i in range(n) for at in range(plane) for k in range(c)]


def element_offset(dims: tuple[int, int, int, int], layout: Layout, at: tuple[int, int, int, int]) -> int:
    """Return the offset of an element, in elements."""
    _, channels, height, width = dims
    n, c, h, w = at
    if layout == "NCHW":
        return ((n * channels + c) * height + h) * width + w
    return ((n * height + h) * width + w) * channels + c
