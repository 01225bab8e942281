"""The wording of Findings: one place for ids, evidence lists and advice."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from core.common.i18n import N_, _, translate_fact
from core.common.text import join_names
from core.knowledge.causes import OptionalCause, home_step
from core.model.facts import Changeable, Consumer, Variable
from core.model.findings import Evidence, Finding, Fix, Restart
from core.model.remedies import Remedy
from core.model.steps import Severity, Step
from core.rules.snapshot_queries import limit_rows

ERROR, WARNING, UNKNOWN, NOTE, GOOD = (Severity.ERROR, Severity.WARNING, Severity.UNKNOWN, Severity.NOTE, Severity.GOOD)

CONCERNS_LABEL = N_("Concerns")


class Concern(Evidence, frozen=True, kw_only=True):
    """The evidence row that names whom a finding concerns. ``make_finding`` also stores its id as data."""

    consumer: str
    """``Consumer.full_id``."""


class Cure(Fix, frozen=True, kw_only=True):
    """Advice together with what Convalesce would do itself.

    ``make_finding`` stores the remedy as data beside the Fix.
    """

    its: Remedy


def make_finding(
    id: str,
    severity: Severity,
    title: str,
    *,
    cause: OptionalCause = "",
    why: str = "",
    evidence: Iterable[Evidence] = (),
    fix: Fix | None = None,
    subject: str = "",
    remedy: Remedy | None = None,
    subjects: Iterable[str] = (),
) -> Finding:
    """Return a Finding whose id begins with its step: "driver.no-gpu"; its first subject stands for several."""
    step = Step(id.partition(".")[0])
    rows, several = list(evidence), tuple(dict.fromkeys(subjects))
    if isinstance(fix, Cure):
        remedy, fix = remedy or fix.its, Fix(title=fix.title, advice=fix.advice, restart=fix.restart)
    told = Finding(
        id=id,
        cause=cause,
        step=step,
        severity=severity,
        title=title,
        why=why,
        subject=subject or next(iter(several), ""),
        subjects=several if len(several) > 1 else (),
        evidence=limit_rows([row for row in rows if not isinstance(row, Concern)]),
        fix=fix,
        remedy=remedy,
        also=_further_steps(step, cause),
    )
    return with_concerns(told, *(row for row in rows if isinstance(row, Concern)))


STEPS_SHOWN_ELSEWHERE = (Step.DRIVER, Step.ENVIRONMENT)
"""Steps whose causes show in other steps: a search path that leads to the wrong file, a GPU that no program sees."""
STEPS_SHOWING_OTHERS = (Step.FRAMEWORKS, Step.BENCHMARK)
"""Steps in which causes of every other step show. In the others, faulty files belong where they are."""


def _further_steps(step: Step, cause: str) -> tuple[Step, ...]:
    """Return the further step to which a finding belongs: that of its cause."""
    at = home_step(cause)
    return (at,) if at and at is not step and (at in STEPS_SHOWN_ELSEWHERE or step in STEPS_SHOWING_OTHERS) else ()


def with_concerns(told: Finding, *concerns: Concern) -> Finding:
    """Return the finding with these consumers: as a row for the reader, and as data."""
    new = tuple(c for c in concerns if c.consumer not in told.consumers)
    rows = dict.fromkeys(Evidence(label=c.label, value=c.value, source=c.source) for c in new)
    ids = dict.fromkeys((*told.consumers, *(c.consumer for c in new if c.consumer)))
    return replace(told, evidence=(*told.evidence, *rows), consumers=tuple(ids))


def concern_row(consumer: Consumer) -> Concern:
    """Return the evidence row that names whom a finding concerns."""
    return Concern(label=CONCERNS_LABEL, value=consumer.description, consumer=consumer.full_id)


def observation(label: str, value: object, source: str = "") -> Evidence:
    """Return one observation as evidence."""
    return Evidence(label=label, value=str(value), source=translate_fact(source))


def variable_row(variable: Variable) -> Evidence:
    """Return a variable, its value, and where it is set as evidence."""
    return observation(variable.name, repr(variable.value), variable.source or variable.scope)


def manual_fix(title: str, *steps: str, restart: Restart = "", remedy: Remedy | None = None) -> Fix:
    """Return a Fix that the person carries out, one line for each step; empty steps are dropped.

    ``remedy``: what Convalesce would do instead.
    """
    advice = "\n".join(step for step in steps if step)
    if remedy is not None:
        return Cure(title=title, advice=advice, restart=restart, its=remedy)
    return Fix(title=title, advice=advice, restart=restart)


def changeable_evidence(at: Changeable) -> list[Evidence]:
    """Return who else can change something, as evidence."""
    rows = [observation(_("Others can change"), f"{at.path} {at.mode}".strip())]
    return rows + ([observation(_("Who"), join_names(at.writers))] if at.writers else [])
