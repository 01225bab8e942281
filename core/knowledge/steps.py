"""Cures for a cause with a particular framework or system, each with a check of its success, in addition to the help
pages.
"""

from __future__ import annotations

from core.knowledge.causes import Cause
from core.knowledge.tables import read_table
from core.model.facts import Frozen


class CureStep(Frozen, frozen=True, kw_only=True):
    """One exact step."""

    cause: Cause
    when: tuple[str, ...]
    """Marks of the text for which it holds, as with clues."""
    step: str


class PageItem(Frozen, frozen=True, kw_only=True):
    """A step of a cause's help page that is for some messages, or one system, only."""

    cause: Cause
    item: int
    """Its number on the page, from 1."""
    when: tuple[str, ...]
    """Marks of the text for which it is, as with clues; empty for every text of its system."""
    system: str = ""
    """"linux" or "windows"; empty for both."""


class CureSteps(Frozen, frozen=True, kw_only=True):
    """steps.json."""

    known_until: str
    source: str
    checks: dict[Cause, str]
    """How to check that a cause is gone, for causes whose help pages do not say it."""
    steps: tuple[CureStep, ...]
    only: tuple[PageItem, ...]


def cure_steps() -> CureSteps:
    """Read steps.json."""
    return read_table("steps", CureSteps)
