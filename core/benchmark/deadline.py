"""A deadline for a run, counted from the person's request."""

from __future__ import annotations

import time

from core.model.facts import Frozen


class Deadline(Frozen, frozen=True, kw_only=True):
    """A moment of ``time.monotonic``."""

    end: float

    def seconds_left(self) -> float:
        """Return the seconds that are left; never negative."""
        return max(0.0, self.end - time.monotonic())
