"""Rules about the scan itself: what could not be looked at is said, not guessed."""

from __future__ import annotations

from collections.abc import Iterator

from core.facts import Snapshot
from core.findings import Finding, Step
from core.rules.words import UNKNOWN, advice, finding, saw

PROBES = {
    "driver": (Step.DRIVER, "the GPU and its driver"),
    "environment": (Step.ENVIRONMENT, "the variables and search paths"),
    "pythons": (Step.FRAMEWORKS, "the Python environments"),
    "toolkits": (Step.TOOLKIT, "CUDA's libraries"),
    "cudnn": (Step.CUDNN, "the copies of cuDNN"),
    "loads": (Step.CUDNN, "whether cuDNN loads"),
}
"""Section of the Snapshot -> its step, and what is not decided without it."""


def errors(seen: Snapshot) -> Iterator[Finding]:
    """A probe that crashed, was refused or ran out of time."""
    for error in seen.errors:
        step, what = PROBES.get(error.probe, (Step.ENVIRONMENT, error.probe))
        yield finding(
            step,
            UNKNOWN,
            "not-examined",
            f"Not decided: {what}. The examination {_ended(error.kind)}.",
            why="Nothing is said about it, neither good nor bad. The scan has to be run again to decide it.",
            evidence=[saw("What happened", error.message or error.kind, f"probe {error.probe}")],
            subject=error.probe,
            fix=advice("Scan again", "convalesce scan"),
        )


def _ended(kind: str) -> str:
    return {"crash": "broke off", "time-out": "ran out of time", "cancelled": "was cancelled"}.get(kind, "was refused")


RULES = (errors,)
