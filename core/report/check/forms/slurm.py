"""Slurm: the reason for which a prolog or HealthCheckProgram drains the node; nothing where it may go on.

Source: https://slurm.schedmd.com/prolog_epilog.html (a prolog that ends with another status than 0 drains its node) and
https://slurm.schedmd.com/slurm.conf.html#OPT_HealthCheckProgram
"""

from __future__ import annotations

from collections.abc import Mapping

from core.report.check.outcome import Outcome, State, cut_line

STATUSES: Mapping[State, int] = {"ok": 0, "warning": 0, "critical": 1, "unknown": 0}
""""Not known" drains no node."""


def render(outcome: Outcome, length: int) -> str:
    """Return the reason, or nothing."""
    return cut_line(f"convalesce: {outcome.line}", length) + "\n" if outcome.state == "critical" else ""
