"""Every form. A new engine is one module beside this one, and one row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from core.common.exit_codes import FOUND, OK, UNEXAMINED
from core.report.check.forms import github, intune, junit, nagios, npd, prom, sarif, slurm
from core.report.check.outcome import Outcome, State, cut_line


class Form(NamedTuple):
    """One engine's form."""

    render: Callable[[Outcome, int], str]
    """The outcome and the characters that a line may have -> what is printed; ends with a line feed, or is empty."""
    statuses: Mapping[State, int]
    """The exit status for each state."""


def one_line(outcome: Outcome, length: int) -> str:
    """Return the line alone."""
    return cut_line(outcome.line, length) + "\n"


PLAIN = Form(one_line, {"ok": OK, "warning": OK, "critical": FOUND, "unknown": UNEXAMINED})
"""Without ``--form``: the exit statuses of a scan."""

FORMS: dict[str, Form] = {
    "nagios": Form(nagios.render, nagios.STATUSES),
    "npd": Form(npd.render, npd.STATUSES),
    "prom": Form(prom.render, prom.STATUSES),
    "junit": Form(junit.render, junit.STATUSES),
    "sarif": Form(sarif.render, sarif.STATUSES),
    "github": Form(github.render, github.STATUSES),
    "intune": Form(intune.render, intune.STATUSES),
    "slurm": Form(slurm.render, slurm.STATUSES),
}
