"""What children read ahead of a scan: which parts, and when they are there. ``core.probes.python.following.reading_children`` starts them."""

from __future__ import annotations

import threading

from core.common.progress import Progress
from core.common.turns import others_turn
from core.probes.probe import ProbeRequest

EXTENSIONS, BYTE_CODE, FOLLOWED = "extensions", "byte code", "followed"
"""The parts: extension modules, byte code, and where imports end if all of it is whole."""

LONGEST_WAIT_SECONDS = 20.0
"""Seconds that a scan waits for a child. What it has not done by then, the scan does itself."""

KEY = "read ahead"


class Ahead:
    """The parts that one child does."""

    def __init__(self, parts: tuple[str, ...]) -> None:
        self.parts = parts
        self.watch = Progress()
        """Cancelling it ends the child."""
        self.ended = threading.Event()

    def wait(self) -> None:
        """Wait until the child has ended; end it where that takes too long."""
        if not self.ended.is_set():
            with others_turn():
                if not self.ended.wait(LONGEST_WAIT_SECONDS):
                    self.watch.cancel()


class ReadAhead:
    """The children of one scan that read ahead."""

    def __init__(self, children: tuple[Ahead, ...] = ()) -> None:
        self._children = children
        self._seconds: dict[str, float] = {}
        self._spent: dict[str, list[float]] = {}

    @property
    def is_at_work(self) -> bool:
        """Whether a child has not ended."""
        return not all(one.ended.is_set() for one in self._children)

    def does(self, part: str) -> bool:
        """Whether a child does this part."""
        return any(part in one.parts for one in self._children)

    def wait(self, part: str) -> None:
        """Wait until a child has done this part; not at all where none does."""
        for one in self._children:
            if part in one.parts:
                one.wait()

    def add(self, prefix: str, seconds: float, spent: tuple[float, ...]) -> None:
        """Note the processor time that an environment took a child, and that of packages that use a framework."""
        self._seconds[prefix] = self._seconds.get(prefix, 0.0) + seconds
        self._spent.setdefault(prefix, []).extend(spent)

    def seconds(self, prefix: str) -> float:
        """Return the processor time that an environment took the children."""
        return self._seconds.get(prefix, 0.0)

    def take_spent(self, prefix: str) -> list[float]:
        """Return the processor time that packages took that use a framework, once."""
        return self._spent.pop(prefix, [])

    def end(self) -> None:
        """End the children that are still at work: nobody waits for them any more."""
        for one in self._children:
            one.watch.cancel()


NONE_AHEAD = ReadAhead()


def read_ahead(request: ProbeRequest) -> ReadAhead:
    """Return the children of this scan that read ahead."""
    found: ReadAhead = request.shared.get(KEY, NONE_AHEAD)
    return found
