"""Single elements of a large result, computed in plain Python from the same random data."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Iterator, Sequence

from core.benchmark.shapes import Problem, Shape, element_offset
from core.model.facts import Layout

MAX_PRODUCTS = 60_000
"""Maximum number of products that one check sums in plain Python: about 10 ms."""


def sample_positions(problem: Problem) -> list[tuple[int, int, int, int]]:
    """Return random elements of the result, including the first and the last; fewer if each is expensive."""
    dims = problem.shape.dimensions[problem.written_tensor]
    count = max(1, min(24, MAX_PRODUCTS // problem.terms_per_element))
    chance = random.Random(5)  # noqa: S311 - no secret
    a, b, c, d = dims
    inner = ((chance.randrange(a), chance.randrange(b), chance.randrange(c), chance.randrange(d)) for _ in range(count))
    return [(0, 0, 0, 0), (a - 1, b - 1, c - 1, d - 1), *inner][:count]


Line = tuple[range, range]
"""Offsets of elements of the two inputs that are multiplied in pairs."""


def product_lines(problem: Problem, at: tuple[int, int, int, int]) -> Iterator[Line]:
    """Yield the products that make up one element of the result, many at a time: along channels, filters or columns."""
    shape = problem.shape
    x, w, y = ((dims, problem.layout) for dims in shape.dimensions)
    per, filters = shape.c // shape.groups, shape.k // shape.groups
    taps = [(i, j) for i in range(shape.r) for j in range(shape.r)]
    if problem.direction == "forward":
        n, k, p, q = at
        first = k // filters * per
        for i, j in taps:
            row, column = p * shape.stride - shape.pad + i, q * shape.stride - shape.pad + j
            if 0 <= row < shape.size and 0 <= column < shape.size:
                yield _line(x, (n, first, row, column), 1, per), _line(w, (k, 0, i, j), 1, per)
    elif problem.direction == "data gradient":
        n, c, h, v = at
        group, inside = divmod(c, per)
        first = group * filters
        for i, j in taps:
            p, over = divmod(h + shape.pad - i, shape.stride)
            q, beside = divmod(v + shape.pad - j, shape.stride)
            if not over and not beside and 0 <= p < shape.output_size and 0 <= q < shape.output_size:
                yield (_line(y, (n, first, p, q), 1, filters), _line(w, (first, inside, i, j), 0, filters))
    else:
        k, c, i, j = at
        channel = k // filters * per + c
        columns = _rows_inside(shape, j)
        for n in range(shape.n):
            for p in _rows_inside(shape, i) if columns else ():
                start = (n, channel, p * shape.stride - shape.pad + i, columns[0] * shape.stride - shape.pad + j)
                line = _line(x, start, 3, len(columns), shape.stride)
                yield line, _line(y, (n, k, p, columns[0]), 3, len(columns))


def _rows_inside(shape: Shape, tap: int) -> range:
    """Return the rows (or columns) of the result for which a filter element lies within the data."""
    first = max(0, -((tap - shape.pad) // shape.stride))
    return range(first, min(shape.output_size, (shape.size - 1 + shape.pad - tap) // shape.stride + 1))


def _line(
    tensor: tuple[tuple[int, int, int, int], Layout], at: tuple[int, int, int, int], axis: int, count: int, by: int = 1
) -> range:
    """Return the offsets of ``count`` elements along an axis, ``by`` steps apart."""
    dims, layout = tensor
    start = element_offset(dims, layout, at)
    step = by * element_offset(dims, layout, (int(axis == 0), int(axis == 1), int(axis == 2), int(axis == 3)))
    return range(start, start + count * step, step)


def true_value(
    problem: Problem, at: tuple[int, int, int, int], a: Sequence[float], b: Sequence[float]
) -> tuple[float, float]:
    """Return an element's true value and the sum of its products' magnitudes; both inputs are periodic."""
    products: list[float] = []
    for one, other in product_lines(problem, at):
        products.extend(map(operator.mul, _take_line(a, one), _take_line(b, other)))
    return math.fsum(products), math.fsum(map(abs, products))


def _take_line(values: Sequence[float], where: range) -> Sequence[float]:
    start, last = where[0] % len(values), where[-1] % len(values)
    if last - start == where[-1] - where[0]:
        return values[start : last + 1 : where.step]
    return [values[i % len(values)] for i in where]
