"""A form by its name. A new engine is one module beside this one, and one row in the package's first lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

from core.common.exit_codes import FOUND, OK, UNEXAMINED
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


def form_of(name: str) -> Form:
    """Return the form of one of ``FORMS``; the others are not imported."""
    module = import_module(f"{__package__}.{name}")
    return Form(module.render, module.STATUSES)
