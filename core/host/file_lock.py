"""A file that a process holds locked as long as it lives; the system itself lets go of the lock."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def hold(path: Path) -> int:
    """Lock a file of one's own that is there, and return the descriptor that holds it.

    Raises:
        OSError: it is not there, or another process holds it.
    """
    fd = try_hold(path)
    if fd is None:
        raise BlockingIOError(path)
    return fd


def try_hold(path: Path) -> int | None:
    """Do the same; None where another process holds it. OSError where it is not there."""
    fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    if _lock(fd):
        return fd
    os.close(fd)
    return None


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> bool:
        os.lseek(fd, 1 << 20, os.SEEK_SET)  # beyond what is read: a locked byte cannot be
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
