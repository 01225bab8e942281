"""Intune's remediations: the detection script's line, and exit status 1 where the remediation is to run.

Source: https://learn.microsoft.com/mem/intune/fundamentals/remediations (1 starts the remediation; 2,048 characters are kept)
"""

from __future__ import annotations

from collections.abc import Mapping

from core.report.check.outcome import Outcome, State, cut_line

STATUSES: Mapping[State, int] = {"ok": 0, "warning": 0, "critical": 1, "unknown": 0}
""""Not known" starts no remediation; its line still appears in Intune's table."""


def render(outcome: Outcome, length: int) -> str:
    """Return the state's word and the sentence."""
    return cut_line(f"{outcome.state}: {outcome.line}", length) + "\n"
