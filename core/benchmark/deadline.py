"""How long a run may still take, counted from when the person asked for it."""

from __future__ import annotations

import time

from core.model.facts import Frozen


class Deadline(Frozen, frozen=True, kw_only=True):
    """A moment of ``time.monotonic``."""

    end: float

    def seconds_left(self) -> float:
        """Return the seconds that are left; never less than nothing."""
        return max(0.0, self.end - time.monotonic())
