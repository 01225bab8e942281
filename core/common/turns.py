"""Turns: only one of the threads that examine the machine works at a time; others continue while it waits for a
program.

The interpreter runs only one of them at a time in any case, but switches between them at nearly every system call,
which took a tenth of a scan's processor time. A turn is a courtesy, not a lock: a thread that has waited too long
continues without one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")

LONGEST_WAIT_SECONDS = 5.0
"""Longer than one probe works on a slow machine; whoever waits for the file system loses its turn before (``core.common.patience``).
With threads that work without a turn, each system call makes two more, which wait for the interpreter.
"""

LONGEST_MAKING_SECONDS = 60.0

FIRST = -1
"""The rank of a part of what has begun: others wait for what it finds."""
LAST = 1000

_here = threading.local()
"""The turns that this thread takes part in, kept per thread: what starts a program gets no ``Turns`` as an argument."""


class Turns:
    """The turns of one examination's threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[threading.Lock, int] = {}
        """What a thread waits at -> its rank; in the order in which they came."""
        self.holder = 0
        """The thread whose turn it is; 0 for none, -1 for one that is about to wake."""

    @contextmanager
    def turn(self, rank: int = LAST) -> Iterator[None]:
        """Wait until no other thread works, and none of a lower rank waits; or for too long."""
        self._take(rank)
        _here.turns = self
        try:
            yield
        finally:
            _here.turns = None
            self.pass_on(threading.get_ident())

    @contextmanager
    def others_turn(self) -> Iterator[None]:
        """See the function."""
        if not self.pass_on(threading.get_ident()):
            yield
            return
        try:
            yield
        finally:
            self._take(FIRST)

    def _take(self, rank: int) -> None:
        gate = threading.Lock()
        gate.acquire()
        with self._lock:
            if not self.holder:
                self.holder = threading.get_ident()
                return
            self._waiting[gate] = rank
        gate.acquire(timeout=LONGEST_WAIT_SECONDS)
        with self._lock:
            self._waiting.pop(gate, None)
            self.holder = threading.get_ident()

    def pass_on(self, thread: int) -> bool:
        """End a thread's turn and wake the next one, and no other; return whether it had a turn."""
        with self._lock:
            if self.holder != thread:
                return False
            self.holder = 0
            if self._waiting:
                first = min(self._waiting, key=self._waiting.__getitem__)
                del self._waiting[first]
                self.holder = -1
                first.release()
            return True


class MadeOnce(Generic[T]):
    """Results that several threads ask for: each is made once, and a thread that asks for it meanwhile waits."""

    def __init__(self) -> None:
        self._made: dict[Hashable, T] = {}
        self._gates: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of this key; where it takes too long elsewhere, it is made here, too."""
        gate = self._gates.setdefault(key, threading.Lock())
        mine = gate.acquire(blocking=False)
        if not mine:
            with others_turn():
                mine = gate.acquire(timeout=LONGEST_MAKING_SECONDS)
        try:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]
        finally:
            if mine:
                gate.release()


@contextmanager
def others_turn() -> Iterator[None]:
    """Let other threads work while this one only waits; nothing happens where it has no turn."""
    turns: Turns | None = getattr(_here, "turns", None)
    if turns is None:
        yield
        return
    with turns.others_turn():
        yield
