"""Frameworks that reserve most of a GPU's memory when they start, and the setting with which they take only what they need."""

from __future__ import annotations

import fnmatch

from msgspec import Struct


class Growth(Struct, frozen=True):
    """The variable and the value with which a framework takes only what it needs."""

    distribution: str
    variable: str
    value: str
    share: float
    """Of a GPU's memory, that it takes by itself."""


_GROWTH = (
    Growth("tensorflow*", "TF_FORCE_GPU_ALLOW_GROWTH", "true", 1.0),
    Growth("jax", "XLA_PYTHON_CLIENT_PREALLOCATE", "false", 0.75),
)
"""Sources: tensorflow.org/guide/gpu#limiting_gpu_memory_growth, docs.jax.dev/en/latest/gpu_memory_allocation.html."""


def growth_of(distribution: str) -> Growth | None:
    """Return the setting with which a framework takes only the memory that it needs; None if it always does."""
    return next((g for g in _GROWTH if fnmatch.fnmatchcase(distribution, g.distribution)), None)
