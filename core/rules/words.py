"""How rules put a Finding into words: one place for ids, evidence lists and advice."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from core.causes import OptionalCause
from core.findings import Evidence, Finding, Fix, Restart
from core.i18n import _, told
from core.remedies import Remedy
from core.rules.view import shown
from core.steps import Severity, Step

ERROR, WARNING, UNKNOWN, NOTE, GOOD = (
    Severity.ERROR,
    Severity.WARNING,
    Severity.UNKNOWN,
    Severity.NOTE,
    Severity.GOOD,
)


def finding(
    step: Step,
    severity: Severity,
    name: str,
    title: str,
    *,
    cause: OptionalCause = "",
    why: str = "",
    evidence: Iterable[Evidence] = (),
    fix: Fix | None = None,
    subject: str = "",
    remedy: Remedy | None = None,
) -> Finding:
    """Return a Finding whose id is the step and the name: "driver.no-gpu"."""
    return Finding(
        id=f"{step.value}.{name}",
        cause=cause,
        step=step,
        severity=severity,
        title=title,
        why=why,
        subject=subject,
        evidence=shown(list(evidence)),
        fix=fix,
        remedy=remedy,
    )


def saw(label: str, value: object, source: str = "") -> Evidence:
    """Return one thing that was seen."""
    return Evidence(label=label, value=str(value), source=told(source))


def advice(title: str, *steps: str, restart: Restart = "") -> Fix:
    """Return a Fix that the person does, one line a step; empty steps are dropped."""
    return Fix(title=title, advice="\n".join(step for step in steps if step), restart=restart)


def listed(items: Iterable[str], most: int = 5) -> str:
    """Return names as a readable list: "a, b and c"; beyond ``most`` the rest is counted."""
    names = list(items)
    if len(names) > most:
        return _("{names} and {count} more", names=_row(names[:most]), count=len(names) - most)
    return _("{names} and {last}", names=_row(names[:-1]), last=names[-1]) if len(names) > 1 else "".join(names)


def _row(names: list[str]) -> str:
    return functools.reduce(lambda row, name: _("{names}, {next}", names=row, next=name), names)


def sentence(text: str) -> str:
    """Return a text with a capital letter at its start."""
    return text[:1].upper() + text[1:]
