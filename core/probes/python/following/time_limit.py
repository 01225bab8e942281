"""How long the imports of one environment are followed."""

from __future__ import annotations

import time

MOST_SECONDS = 5.0
"""Processor time for one environment: a busy machine finds what a quiet one does."""

FRAMEWORK_SECONDS = 15.0
"""The same for the frameworks themselves, which take a fraction of a second here: where a sandbox or a virtual machine slows each call of the
kernel, it was above 5 s.
"""

MOST_WAITING = 45.0
"""Seconds by the clock, which a slow disk takes, or a machine with a dozen other programs at work."""

STEPS = 30
"""The clock is asked at each of so many steps, for it takes longer than many of them."""


class TimeLimit:
    """The end of this thread's processor time, and of the clock's; ``end``: both moments, else from now on."""

    def __init__(self, end: tuple[float, float] | None) -> None:
        self._end_of_work, self._end_of_time = end or (
            time.thread_time() + MOST_SECONDS,
            time.monotonic() + MOST_WAITING,
        )
        self._steps, self._is_late = 0, False

    @property
    def had_time(self) -> bool:
        """Whether the clock has stopped nothing."""
        return time.thread_time() < self._end_of_work and time.monotonic() < self._end_of_time

    @property
    def is_exhausted(self) -> bool:
        """Whether all processor time is used; the clock may also stop what merely waits."""
        return time.thread_time() >= self._end_of_work

    def allows_a_step(self) -> bool:
        """Whether there is time for one step more."""
        self._steps += 1
        if self._steps % STEPS == 0:
            self._is_late = not self.had_time
        return not self._is_late
