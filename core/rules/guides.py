"""Guides as text: a person's steps, numbered, each with how to check its success."""

from __future__ import annotations

from core.common.i18n import _
from core.knowledge.guides import GuideName, guide_steps
from core.model.facts import Snapshot


def numbered_steps(guide: GuideName, seen: Snapshot, *, branch: str = "", library: str = "") -> list[str]:
    """Return a guide's steps for this system, one per line; empty if there is none."""
    return [
        _("{n}. {do}   (check: {check})", n=n, do=step.do, check=step.check)
        for n, step in enumerate(guide_steps(guide, seen.machine, branch=branch, library=library), 1)
    ]
