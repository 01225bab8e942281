"""GitHub Actions: a workflow command for each fault, shown as an annotation.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Mapping

from core.common.text import printable
from core.report.check.outcome import Outcome, State, cut_line

STATUSES: Mapping[State, int] = {"ok": 0, "warning": 0, "critical": 1, "unknown": 1}
COMMANDS: Mapping[State, str] = {"critical": "error", "warning": "warning", "unknown": "notice"}


def render(outcome: Outcome, length: int) -> str:
    """Return the line for the log, then one annotation for each row that is not in order."""
    rows = [r for r in outcome.rows if r.kind != "step" and r.state in COMMANDS]
    lines = [cut_line(outcome.line, length)]
    lines += [
        f"::{COMMANDS[r.state]} title={_property(r.name)}::{_data(' '.join(t for t in (r.text, r.why) if t))}"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
