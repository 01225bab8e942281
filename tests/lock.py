"""One at a time, among processes, on every system: for what several test runs share, and folders that the first of them makes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time(file: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made where it is not there; wait for whoever holds it."""
    with file.open("w") as lock:
        _wait_for(lock.fileno())
        yield


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Return a folder of the cache, made first where it is not there; ``make`` makes a folder of the name that it is given."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(folder.with_name(f".lock-{folder.name}")):
            if not folder.is_dir():
                half = folder.with_name(f".half-{folder.name}")
                shutil.rmtree(half, ignore_errors=True)
                make(half)
                half.rename(folder)
    return folder


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
