"""A lock on an open file. The system releases it when its holder ends, however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def lock_file(path: Path) -> int:
    """Lock an existing file of this user, and return the descriptor that holds the lock.

    Raises:
        OSError: the file is not there, or another process holds the lock.
    """
    fd = try_hold(path)
    if fd is None:
        raise BlockingIOError(path)
    return fd


def try_hold(path: Path) -> int | None:
    """Like ``lock_file``, but return None if another process holds the lock. OSError if the file is not there."""
    fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    os.lseek(fd, 1 << 20, os.SEEK_SET)  # Windows lets nobody read a locked byte: one beyond what is read
    held = False
    try:
        held = take_lock(fd)
    finally:
        if not held:
            os.close(fd)
    return fd if held else None


if sys.platform == "win32":
    import msvcrt

    def take_lock(fd: int) -> bool:
        """Take the lock; False where another program holds it."""
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import errno
    import fcntl

    def take_lock(fd: int) -> bool:
        """Take the lock; False where another program holds it. Raises OSError if the file system has no locks."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            if e.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        return True
