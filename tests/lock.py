"""One at a time, among processes, on every system: for what several test runs share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time(file: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made where it is not there; wait for whoever holds it."""
    with file.open("w") as lock:
        _wait_for(lock.fileno())
        yield


def _wait_for(descriptor: int) -> None:
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    import msvcrt

    while True:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # tries for ten seconds
        except OSError:
            continue
        return
