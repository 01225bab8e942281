"""Turns: only one of the threads that examine the machine works at a time; others continue while it waits for a
program.

The interpreter runs only one of them at a time in any case, but switches between them at nearly every system call,
which took a tenth of a scan's processor time. A turn is a courtesy, not a lock: a thread that has waited too long
continues without one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_WAIT_SECONDS = 0.1
"""Longer than any probe works on a healthy machine without waiting itself."""

_free = threading.Condition(threading.Lock())
_holder = [0]
"""The thread whose turn it is; 0 for none."""
_begun = [0]
"""Threads that wait and have begun their work before: they come first, since others wait for what they find."""


@contextmanager
def turn(*, first: bool = False) -> Iterator[None]:
    """Wait until no other thread works, or for too long. ``first``: ahead of threads that have not begun yet."""
    _take(first=first)
    try:
        yield
    finally:
        _pass_on()


@contextmanager
def others_turn() -> Iterator[None]:
    """Let other threads work while this one only waits."""
    if not _pass_on():
        yield
        return
    try:
        yield
    finally:
        _take(first=True)


def _take(*, first: bool) -> None:
    with _free:
        _begun[0] += first
        _free.wait_for(lambda: not _holder[0] and (first or not _begun[0]), LONGEST_WAIT_SECONDS)
        _begun[0] -= first
        _holder[0] = threading.get_ident()


def _pass_on() -> bool:
    """End this thread's turn; return whether it had one."""
    with _free:
        if _holder[0] != threading.get_ident():
            return False
        _holder[0] = 0
        _free.notify_all()
        return True
