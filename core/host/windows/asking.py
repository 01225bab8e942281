"""Repeat a Windows call with a larger buffer after ERROR_MORE_DATA. Pure, so it can be tested on any system."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def whole_answer(ask: Callable[[int], tuple[T, int]], room: int, most: int) -> T:
    """Return the answer of ``ask`` once there is room for all of it, or for ``most``.

    ``ask`` receives the room and returns its answer and the room that the complete answer needs. (winreg does this by
    itself.)
    """
    while True:
        answer, needed = ask(room)
        if needed <= room or room >= most:
            return answer
        # More entries may have appeared since, so ask for more room than needed, and for more each time.
        room = min(max(needed + needed // 8, room + 1), most)
