"""node-problem-detector's custom plugin monitor: the message on standard output, the condition as exit status.

Source: https://github.com/kubernetes/node-problem-detector/blob/master/docs/custom_plugin_monitor.md (0 OK, 1 NonOK, 2 Unknown)
"""

from __future__ import annotations

from collections.abc import Mapping

from core.report.check.outcome import Outcome, State, cut_line

STATUSES: Mapping[State, int] = {"ok": 0, "warning": 0, "critical": 1, "unknown": 2}


def render(outcome: Outcome, length: int) -> str:
    """Return one line; the monitor cuts it after ``max_output_length`` bytes, even within a character."""
    return cut_line(outcome.line, length, _bytes) + "\n"


def _bytes(character: str) -> int:
    return len(character.encode("utf-8", "backslashreplace"))
