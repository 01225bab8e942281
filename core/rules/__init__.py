"""Rules: pure functions from a Snapshot to Findings. No os, no subprocess, no ctypes, no clock.

A rule is ``rule(snapshot) -> Iterator[Finding]``; each topic's module lists its own in ``RULES``, under the same name
that its probe and its tests have. Beside them lie what rules share: ``view`` and ``loads`` (questions to a Snapshot),
``known`` (the tables), ``words`` and ``cures`` (how it is said, what to do), and the reasons that a topic chooses from
(``driver_reasons``, ``driver_module``, ``cudnn_files``, ``loading_search``, ``loading_cuda``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from core.facts import Snapshot
from core.findings import Finding
from core.rules import (
    benchmark,
    cudnn,
    devices,
    driver,
    environment,
    frameworks,
    gpu_fit,
    loading,
    newer,
    scan,
    toolkit,
)

Rule = Callable[[Snapshot], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    *driver.RULES,
    *devices.RULES,
    *gpu_fit.RULES,
    *toolkit.RULES,
    *loading.RULES,
    *cudnn.RULES,
    *environment.RULES,
    *frameworks.RULES,
    *benchmark.RULES,
    *newer.RULES,
    *scan.RULES,
)
