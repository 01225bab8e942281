"""Number types without numpy: bytes of fp32, fp16, bf16 and int8 from Python numbers and back, and random data."""

from __future__ import annotations

import math
import random
import struct
from array import array
from collections.abc import Sequence
from functools import lru_cache

from core.model.facts import NumberType

RANDOM_PERIOD = 1_048_573
"""Length of random data before it repeats: a prime, so that no dimension of a tensor is a multiple of it."""

_RANDOM: dict[NumberType, tuple[str, int, int]] = {
    "fp32": ("I", 0x807FFFFF, 0x3F000000),
    "tf32": ("I", 0x807FFFFF, 0x3F000000),
    "fp16": ("H", 0x83FF, 0x3800),
    "bf16": ("H", 0x807F, 0x3F00),
    "int8": ("B", 0xFF, 0x00),
}
"""Mask of the random bits, and the bits that are set: the exponent of [0.5, 1), so that no value exceeds 1."""


def encode_numbers(values: Sequence[int], type: NumberType) -> bytes:
    """Return small integers as bytes of a type; exact if the type can represent them."""
    if type == "int8":
        return array("b", values).tobytes()
    if type == "fp16":
        return struct.pack(f"={len(values)}e", *values)
    wide = array("f", values)
    return wide.tobytes() if type != "bf16" else array("H", memoryview(wide).cast("B").cast("H")[1::2]).tobytes()


def decode_numbers(data: bytes, type: NumberType) -> Sequence[float]:
    """Return the numbers of a type's bytes."""
    if type == "int8":
        return array("b", data)
    if type == "fp16":
        return struct.unpack(f"={len(data) // 2}e", data)
    if type == "bf16":
        wide = array("H", bytes(2 * len(data)))
        wide[1::2] = array("H", data)
        data = wide.tobytes()
    return array("f", data)


def random_bytes(type: NumberType, seed: int, count: int = RANDOM_PERIOD) -> bytes:
    """Return random numbers of either sign with a magnitude in [0.5, 1); of any value for int8."""
    letter, mask, base = _RANDOM[type]
    width = struct.calcsize(letter)
    raw = int.from_bytes(random.Random(seed).randbytes(count * width), "little")  # noqa: S311 - no secret
    every = int.from_bytes(mask.to_bytes(width, "little") * count, "little")
    base_every = int.from_bytes(base.to_bytes(width, "little") * count, "little")
    return (raw & every | base_every).to_bytes(count * width, "little")


@lru_cache(maxsize=15)
def random_data(type: NumberType, which: int) -> bytes:
    """Return one period of random data for one of a problem's three tensors. Cached for every type and tensor: 50 MB, 0.1 s each."""
    return random_bytes(type, which)


def random_integers(count: int, seed: int) -> list[int]:
    """Return ``count`` random numbers from -1, 0 and 1: a sum of up to 256 products is exact in every type."""
    return random.Random(seed).choices((-1, 0, 1, 1, -1), k=count)  # noqa: S311 - no secret


ROUNDING_ERRORS: dict[NumberType, tuple[float, float]] = {
    "fp32": (0.0, 2.0**-24),
    "tf32": (2.0**-10, 2.0**-24),
    "fp16": (0.0, 2.0**-11),
    "bf16": (0.0, 2.0**-8),
    "int8": (0.0, 2.0**-24),
}
"""Relative error of reading an input (tf32 drops 13 bits of the mantissa, by truncation at worst) and of writing a result."""


INDIRECT_FACTOR = 100.0
"""Factor by which a Winograd or FFT algorithm may err more than a direct sum: its transforms add and subtract numbers
of different sizes (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, section 4).
"""


def error_bound(type: NumberType, terms: int, magnitude: float, value: float, *, direct: bool = True) -> float:
    """Return how far a computed sum of products may be from the true one.

    ``magnitude`` is the sum of the products' sizes (or more), ``value`` the true result. A sum of n terms in fp32 errs
    by at most n u magnitude (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, section 3.1). u is
    taken as 2**-21 instead of 2**-24 wherever tensor cores may add: they align and truncate the terms of a block (Fasi,
    Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021). For algorithms that are not
    ``direct`` that worst case would allow anything, so the probable error sqrt(n) u (Higham and Mary, "A New Approach to
    Probabilistic Rounding Error Analysis", 2019) is taken, times INDIRECT.
    """
    taken, written = ROUNDING_ERRORS[type]
    adding = 0.0 if type == "int8" else 2.0**-24 if type == "fp32" else 2.0**-21
    summed = terms * adding if direct else INDIRECT_FACTOR * math.sqrt(terms) * max(adding, taken / INDIRECT_FACTOR)
    error = magnitude * (summed + 2 * taken + taken * taken)
    return error + written * (abs(value) + error) * 1.01
