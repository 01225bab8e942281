"""Nagios, Icinga, Naemon and their like: a line with performance data.

Source: Monitoring Plugins Development Guidelines, "Plugin Output" and "Plugin Return Codes",
https://www.monitoring-plugins.org/doc/guidelines.html
"""

from __future__ import annotations

from collections.abc import Mapping

from core.report.check.outcome import LONGEST_LINE, Outcome, State, cut_line

STATUSES: Mapping[State, int] = {"ok": 0, "warning": 1, "critical": 2, "unknown": 3}


def render(outcome: Outcome, length: int) -> str:
    """Return ``CONVALESCE STATE - sentence | data``; what follows the bar is for machines and is never cut."""
    data = f" | faults={outcome.count('critical')} warnings={outcome.count('warning')} time={outcome.seconds:.3f}s"
    room = min(length, LONGEST_LINE - len(data))
    return cut_line(f"CONVALESCE {outcome.state.upper()} - {outcome.line}", room).replace("|", "/") + data + "\n"
