"""Changes: compare-and-set data that knows what was there before, each with its inverse."""

from __future__ import annotations

from core.facts import Fact


class Change(Fact, frozen=True, kw_only=True):
    """Base of all changes. A Change is data: it is shown, journalled, sent to an elevated helper and undone."""
