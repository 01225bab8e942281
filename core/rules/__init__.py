"""Rules: pure functions from a Snapshot to Findings. No os, no subprocess, no ctypes, no clock.

A rule is ``rule(snapshot) -> Iterator[Finding]``; each topic's module lists its own in ``RULES``, under the same name
that its probe and its tests have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from core.facts import Snapshot
from core.findings import Finding
from core.rules import devices, driver

Rule = Callable[[Snapshot], Iterator[Finding]]

RULES: tuple[Rule, ...] = driver.RULES + devices.RULES
