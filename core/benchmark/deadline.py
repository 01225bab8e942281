"""How long a run may still take, counted from when the person asked for it."""

from __future__ import annotations

import time

from core.model.facts import Frozen

QUICK_SECONDS, FULL_SECONDS = 9.3, 55.0
"""Seconds from the command to its end that a run keeps to, the scan before it included: under 10 and under 60."""


class Deadline(Frozen, frozen=True, kw_only=True):
    """A moment of ``time.monotonic``."""

    end: float

    def left(self) -> float:
        """Return the seconds that are left; never less than nothing."""
        return max(0.0, self.end - time.monotonic())


def deadline_for(began: float, *, quick: bool) -> Deadline:
    """Return when a run that began at this moment is to have ended."""
    return Deadline(end=began + (QUICK_SECONDS if quick else FULL_SECONDS))
