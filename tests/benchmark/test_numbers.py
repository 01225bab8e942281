"""Numbers without numpy, the reference convolution and the bounds: from first principles."""

from __future__ import annotations

import math
import random
import struct
from fractions import Fraction

import pytest

from core.benchmark.child.spot_check import product_lines, sample_positions, true_value
from core.benchmark.number_types import decode_numbers, encode_numbers, error_bound, random_bytes, random_integers
from core.benchmark.shapes import DIRECTIONS, SMALL_SHAPES, Problem, Shape, element_offset, reference_result, to_layout
from core.model.facts import Layout, NumberType

TYPES: tuple[NumberType, ...] = ("fp32", "tf32", "fp16", "bf16", "int8")
GROUPED = Shape(name="grouped", n=2, c=4, size=5, k=6, r=3, stride=2, groups=2)


@pytest.mark.parametrize("kind", TYPES)
def test_small_whole_numbers_survive_every_type(kind: NumberType) -> None:
    values = list(range(-127, 128))
    assert list(decode_numbers(encode_numbers(values, kind), kind)) == values


@pytest.mark.parametrize("kind", TYPES[:4])
def test_noise_is_of_either_sign_below_one_and_not_small(kind: NumberType) -> None:
    values = decode_numbers(random_bytes(kind, 1, 4001), kind)
    assert len(values) == 4001
    assert all(0.5 <= abs(v) < 1 for v in values)
    assert 1700 < sum(v > 0 for v in values) < 2300
    assert len({round(v, 2) for v in values}) > 80
    assert random_bytes(kind, 1, 64) != random_bytes(kind, 2, 64)


def test_poison_is_nan_in_every_floating_type() -> None:
    for kind in TYPES[:4]:
        assert all(map(math.isnan, decode_numbers(b"\xff" * 8, kind)))


def by_definition(shape: Shape, x: list[int], w: list[int], n: int, k: int, p: int, q: int) -> int:
    """One element, written down as the textbook does, with padding as zeros."""
    per = shape.c // shape.groups
    first = k // (shape.k // shape.groups) * per
    total = 0
    for c in range(per):
        for i in range(shape.r):
            for j in range(shape.r):
                row, column = p * shape.stride - shape.pad + i, q * shape.stride - shape.pad + j
                inside = 0 <= row < shape.size and 0 <= column < shape.size
                value = x[((n * shape.c + first + c) * shape.size + row) * shape.size + column] if inside else 0
                total += value * w[((k * per + c) * shape.r + i) * shape.r + j]
    return total


@pytest.mark.parametrize("shape", [*SMALL_SHAPES, GROUPED], ids=lambda s: s.name)
def test_the_forward_reference_is_the_definition(shape: Shape) -> None:
    x, w = (random_integers(n, seed) for seed, n in enumerate(shape.element_counts[:2]))
    got = reference_result(shape, "forward", x, w)
    ranges = (range(n) for n in shape.dimensions[2])
    n_, k_, p_, q_ = ranges
    assert got == [by_definition(shape, x, w, n, k, p, q) for n in n_ for k in k_ for p in p_ for q in q_]


@pytest.mark.parametrize("shape", [*SMALL_SHAPES, GROUPED], ids=lambda s: s.name)
def test_the_gradients_are_the_forward_directions_adjoints(shape: Shape) -> None:
    """<conv(x, w), g> = <x, data gradient(g, w)> = <w, weight gradient(x, g)>: what defines them."""
    x, w, g = (random_integers(n, seed) for seed, n in enumerate(shape.element_counts))
    forward = sum(a * b for a, b in zip(reference_result(shape, "forward", x, w), g, strict=True))
    data = sum(a * b for a, b in zip(reference_result(shape, "data gradient", g, w), x, strict=True))
    weight = sum(a * b for a, b in zip(reference_result(shape, "weight gradient", x, g), w, strict=True))
    assert forward == data == weight != 0


@pytest.mark.parametrize("shape", SMALL_SHAPES, ids=lambda s: s.name)
def test_exact_results_fit_even_bf16(shape: Shape) -> None:
    values = [random_integers(n, seed) for seed, n in enumerate(shape.element_counts)]
    inputs = {"forward": (0, 1), "data gradient": (2, 1), "weight gradient": (0, 2)}
    for direction in DIRECTIONS:
        first, second = inputs[direction]
        result = reference_result(shape, direction, values[first], values[second])
        assert max(map(abs, result)) <= 256
        assert Problem(shape=shape, type="bf16", direction=direction).terms_per_element <= 256
        assert len(set(result)) > 5


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_arranging_and_positions_agree(layout: Layout) -> None:
    dims = (2, 3, 4, 5)
    values = list(range(120))
    ordered = to_layout(values, dims, layout)
    for value, (n, c, h, w) in enumerate(
        (n, c, h, w) for n in range(2) for c in range(3) for h in range(4) for w in range(5)
    ):
        assert ordered[element_offset(dims, layout, (n, c, h, w))] == value


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("shape", [SMALL_SHAPES[0], GROUPED], ids=lambda s: s.name)
def test_a_samples_products_are_the_references(shape: Shape, layout: Layout, direction: str) -> None:
    problem = Problem(shape=shape, type="fp32", layout=layout, direction=direction)
    values = [random_integers(n, seed) for seed, n in enumerate(shape.element_counts)]
    a, b = {"forward": (0, 1), "data gradient": (2, 1), "weight gradient": (0, 2)}[direction]
    expected = reference_result(shape, problem.direction, values[a], values[b])
    laid = [to_layout(values[i], shape.dimensions[i], layout) for i in (a, b)]
    dims = shape.dimensions[problem.written_tensor]
    for at in sample_positions(problem):
        value, magnitude = true_value(problem, at, *laid)
        assert value == expected[element_offset(dims, "NCHW", at)]
        assert magnitude >= abs(value)
        assert all(len(one) == len(other) for one, other in product_lines(problem, at))
        assert sum(len(one) for one, _ in product_lines(problem, at)) <= problem.terms_per_element
        short = [values[:101] for values in laid]  # data repeat, and a line may run over their end
        repeated = [[v[i % 101] for i in range(len(full))] for v, full in zip(short, laid, strict=True)]
        assert true_value(problem, at, *short) == true_value(problem, at, *repeated)


def rounded(value: float, letter: str) -> float:
    return float(struct.unpack(letter, struct.pack(letter, value))[0])


@pytest.mark.parametrize("seed", range(4))
def test_an_honest_fp32_sum_keeps_within_the_bound_and_a_wrong_one_does_not(seed: int) -> None:
    chance = random.Random(seed)
    a, b = ([rounded(chance.uniform(-1, 1), "f") for _ in range(2000)] for _ in range(2))
    exact = float(sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)))
    magnitude = math.fsum(abs(x * y) for x, y in zip(a, b, strict=True))
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total = rounded(total + rounded(x * y, "f"), "f")
    allowed = error_bound("fp32", 2000, magnitude, exact)
    assert abs(total - exact) <= allowed
    assert allowed < 0.1
    left_out = max(x * y for x, y in zip(a, b, strict=True))
    assert abs(total - left_out - exact) > allowed


def test_bounds_grow_with_the_coarseness_of_the_numbers() -> None:
    at = [error_bound(kind, 100, 50.0, 10.0) for kind in ("int8", "fp32", "fp16", "bf16")]
    assert at == sorted(at)
    assert error_bound("tf32", 100, 50.0, 10.0) > error_bound("fp32", 100, 50.0, 10.0)
    assert error_bound("fp32", 100, 50.0, 10.0, direct=False) > error_bound("fp32", 100, 50.0, 10.0)
