"""Single elements of a large result, computed in plain Python from the same random data."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from core.benchmark.shapes import Problem, position

MOST_PRODUCTS = 60_000
"""Products that one check sums in plain Python: about 20 ms."""


def places(problem: Problem, seed: int = 5) -> list[tuple[int, int, int, int]]:
    """Return some elements of the result, spread by chance, with its first and last; fewer where each costs more."""
    dims = problem.shape.dims[problem.result]
    count = max(1, min(24, MOST_PRODUCTS // problem.terms))
    chance = random.Random(seed)  # noqa: S311 - no secret
    a, b, c, d = dims
    inner = ((chance.randrange(a), chance.randrange(b), chance.randrange(c), chance.randrange(d)) for _ in range(count))
    return [(0, 0, 0, 0), (a - 1, b - 1, c - 1, d - 1), *inner][:count]


def pairs(problem: Problem, at: tuple[int, int, int, int]) -> Iterator[tuple[int, int]]:
    """Yield the elements of the two inputs whose products make up one element of the result, as they lie in memory."""
    shape, layout = problem.shape, problem.layout
    x, w, y = shape.dims
    per, filters = shape.c // shape.groups, shape.k // shape.groups
    taps, steps = range(shape.r), range(shape.out)
    if problem.direction == "forward":
        n, k, p, q = at
        for c in range(per):
            for i, j in ((i, j) for i in taps for j in taps):
                row, column = p * shape.stride - shape.pad + i, q * shape.stride - shape.pad + j
                if 0 <= row < shape.size and 0 <= column < shape.size:
                    yield (
                        position(x, layout, (n, k // filters * per + c, row, column)),
                        position(w, layout, (k, c, i, j)),
                    )
    elif problem.direction == "data gradient":
        n, c, h, v = at
        group, inside = divmod(c, per)
        for k in range(group * filters, (group + 1) * filters):
            for i, j in ((i, j) for i in taps for j in taps):
                p, over = divmod(h + shape.pad - i, shape.stride)
                q, beside = divmod(v + shape.pad - j, shape.stride)
                if not over and not beside and 0 <= p < shape.out and 0 <= q < shape.out:
                    yield position(y, layout, (n, k, p, q)), position(w, layout, (k, inside, i, j))
    else:
        k, c, i, j = at
        channel = k // filters * per + c
        for n in range(shape.n):
            for p, q in ((p, q) for p in steps for q in steps):
                row, column = p * shape.stride - shape.pad + i, q * shape.stride - shape.pad + j
                if 0 <= row < shape.size and 0 <= column < shape.size:
                    yield position(x, layout, (n, channel, row, column)), position(y, layout, (n, k, p, q))


def true(
    problem: Problem, at: tuple[int, int, int, int], a: Sequence[float], b: Sequence[float]
) -> tuple[float, float]:
    """Return an element's true value and the sum of its products' sizes; both inputs repeat with their period."""
    products = [a[i % len(a)] * b[j % len(b)] for i, j in pairs(problem, at)]
    return math.fsum(products), math.fsum(map(abs, products))
