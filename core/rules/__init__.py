"""Rules: pure functions from a Snapshot to Findings. No os, no subprocess, no ctypes, no clock.

A rule is ``rule(snapshot) -> Iterator[Finding]``; each topic's module lists its own in ``RULES``, under the same name
that its probe and its tests have. Beside them lie what rules share: ``view`` and ``loads`` (questions to a Snapshot),
``known`` (the tables), ``words`` and ``cures`` (how it is said, what to do), and the reasons that a topic chooses from
(``driver_reasons``, ``driver_module``, ``cudnn_files``, ``loading_search``, ``loading_cuda``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from core.model.facts import Snapshot
from core.model.findings import Finding
from core.rules import environment, newer, not_run, toolkit
from core.rules import incomplete_scan as scan
from core.rules.benchmark import results as benchmark
from core.rules.cudnn import copies as cudnn
from core.rules.cudnn import loading
from core.rules.driver import compatibility as gpu_fit
from core.rules.driver import gpu_access as devices
from core.rules.driver import status as driver
from core.rules.frameworks import environments as frameworks

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
    *not_run.RULES,
)
