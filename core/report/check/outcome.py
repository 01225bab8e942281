"""What a check concluded: one state, one line, and a row for each step, expectation and fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from core.common.i18n import _, n_
from core.common.text import printable
from core.common.text_width import column_count
from core.model.facts import Frozen
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.report.check.expectations import Answer
from core.report.standing import looked_at, step_standing

State = Literal["ok", "warning", "critical", "unknown"]
STATES: tuple[State, ...] = ("ok", "unknown", "warning", "critical")
"""Every state, best first."""
OF_SEVERITY: dict[Severity, State] = {Severity.WARNING: "warning", Severity.ERROR: "critical"}
LINE_LENGTH, LONGEST_LINE = 80, 2048
"""Columns of the line: the default (node-problem-detector keeps 80 by default), and the limit (Intune keeps 2,048)."""


class CheckRow(Frozen, frozen=True, kw_only=True):
    """One thing that was checked."""

    kind: Literal["step", "finding", "expectation"]
    name: str
    """The step's name, the finding's id, or the expectation's key."""
    state: State
    text: str
    """One sentence."""
    why: str = ""
    cause: str = ""
    subject: str = ""


class Outcome(Frozen, frozen=True, kw_only=True):
    """What a check concluded about one machine."""

    state: State
    line: str
    rows: tuple[CheckRow, ...] = ()
    seconds: float = 0.0
    version: str = ""

    def count(self, state: State) -> int:
        """Return how many findings and expectations have a state; steps only repeat them."""
        return sum(r.state == state for r in self.rows if r.kind != "step")


def check_outcome(report: Report, answers: tuple[Answer, ...], accepted: tuple[str, ...], seconds: float) -> Outcome:
    """Return the outcome of a report and the answers to a policy. Causes in ``accepted`` do not count."""
    findings = tuple(f for f in report.findings if f.cause not in accepted or not f.cause)
    rows = (
        *(_expectation_row(a) for a in answers),
        *(_finding_row(f, report) for f in findings if _state(f, report) != "ok"),
        *(_step_row(report, s, accepted) for s in Step if looked_at(report.snapshot, s)),
    )
    states: list[State] = ["ok", *(r.state for r in rows if r.kind != "step")]
    state = max(states, key=STATES.index)
    return Outcome(state=state, line=_line(report, rows, state), rows=rows, seconds=seconds, version=report.version)


def no_answer(seconds: float, limit: float, version: str) -> Outcome:
    """Return the outcome of a check that did not end within its time limit."""
    line = _("The check did not end within {limit} seconds; nothing is known.", limit=f"{limit:g}")
    return not_checked(line, seconds, version)


def not_checked(line: str, seconds: float, version: str) -> Outcome:
    """Return the outcome of a check that could not be made, and why."""
    return Outcome(state="unknown", line=line, seconds=seconds, version=version)


def count_columns(character: str) -> int:
    """Return how many columns a character takes, at least one: so no line has more characters than columns."""
    return max(column_count(character), 1)


def cut_line(line: str, length: int, size: Callable[[str], int] = count_columns) -> str:
    """Return a line of printable characters, cut to ``length`` at most: columns, or what ``size`` says of a character."""
    flat = " ".join(printable(line).split())
    if sum(map(size, flat)) <= length:
        return flat
    room = max(length - 3, 0)
    for end, character in enumerate(flat):
        room -= size(character)
        if room < 0:
            return flat[:end].rstrip() + "..."[:length]
    return flat


def _line(report: Report, rows: tuple[CheckRow, ...], state: State) -> str:
    bad = [r for r in rows if r.kind != "step" and r.state == state]
    if state == "ok" or not bad:
        return _("Nothing wrong was found.")
    headline = report.headline
    first = next((r for r in bad if headline and r.name == headline.id and r.subject == headline.subject), bad[0])
    more = len(bad) - 1
    return first.text + (" " + n_("({n} more)", "({n} more)", more) if more else "")


def _state(finding: Finding, report: Report) -> State:
    if finding.severity is Severity.UNKNOWN:
        return "unknown" if finding in report.not_examined or finding.headline else "ok"
    return OF_SEVERITY.get(finding.severity, "ok")


def _finding_row(finding: Finding, report: Report) -> CheckRow:
    return CheckRow(
        kind="finding",
        name=finding.id,
        state=_state(finding, report),
        text=finding.title,
        why=finding.why,
        cause=finding.cause,
        subject=finding.subject,
    )


def _expectation_row(answer: Answer) -> CheckRow:
    return CheckRow(
        kind="expectation", name=answer.key, state="ok" if answer.held else "critical", text=answer.text, why=answer.why
    )


def _step_row(report: Report, step: Step, accepted: tuple[str, ...]) -> CheckRow:
    severity, text = step_standing(report, step)
    if all(f.cause in accepted for f in report.findings_for(step) if f.severity >= Severity.WARNING and f.cause):
        severity = min(severity, Severity.NOTE) if accepted else severity
    return CheckRow(kind="step", name=step.value, state=OF_SEVERITY.get(severity, "ok"), text=text)
