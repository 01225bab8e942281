"""Contain failing rules: each failure becomes a finding, and the rest of the report remains."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from core.common.i18n import _
from core.model.findings import Evidence, Finding
from core.model.steps import Severity, Step

T = TypeVar("T")

TOPIC_STEPS = {
    "driver": Step.DRIVER,
    "toolkit": Step.TOOLKIT,
    "cudnn": Step.CUDNN,
    "frameworks": Step.FRAMEWORKS,
    "benchmark": Step.BENCHMARK,
}
"""Folder or module of a rule in core/rules -> its step; rules elsewhere belong to the environment."""


def run_guarded(work: Callable[[], T], name: str, failures: list[Finding], otherwise: T, step: Step | None = None) -> T:
    """Return ``work()``; if it fails, add a finding to ``failures`` and return ``otherwise``.

    ``name`` is the rule's name, or describes other work in the program's own terms.
    """
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - an unforeseen file must not cost the person the whole report
        failures.append(rule_failed(name, error, step))
        return otherwise


def rule_name(rule: Callable[..., object]) -> str:
    """Return a rule's name as findings show it: "cudnn.files.damaged"."""
    return f"{rule.__module__.removeprefix('core.rules.')}.{getattr(rule, '__name__', type(rule).__name__)}"


def rule_failed(name: str, error: Exception, step: Step | None = None) -> Finding:
    """Return the finding for a rule that failed. It names no cause, so it is never the primary finding."""
    step = step or TOPIC_STEPS.get(name.partition(".")[0], Step.ENVIRONMENT)
    return Finding(
        id=f"{step.value}.rule-failed",
        cause="",
        step=step,
        severity=Severity.UNKNOWN,
        title=_("Convalesce's rule {name} failed, so its question remains open.", name=name),
        why=_("This is a bug in Convalesce, not a fault of this machine. All other results are valid."),
        subject=name,
        evidence=(Evidence(label=_("What happened"), value=type(error).__name__, source=name),),
    )
