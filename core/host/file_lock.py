"""A lock on an open file. The system lets go of it when its holder ends, however it ends."""

from __future__ import annotations

import sys

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
        """Take the lock; False where another program holds it.

        Raises:
            OSError: the file system has no locks.
        """
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            if e.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        return True
