"""Exchange two folders on one file system: atomically where the system can, else by renames that can be resumed."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

from core.common.i18n import _
from core.model.changes import ChangeError

_AT_CURRENT, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of renameat2(2)."""
_WITHOUT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)
"""Errors of the call if the kernel or the file system does not support it."""


def folder_number(path: str) -> int:
    """Return a folder's inode number; 0 if nothing, or something other than a folder, is there."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return 0
    return found.st_ino if Path(path).is_dir() and not Path(path).is_symlink() else 0


def bring_folder(number: int, place: str, other: str) -> None:
    """Make ``place`` the folder with this inode number, and ``other`` the folder that was at ``place``.

    It can be repeated after a kill.

    Raises:
        ChangeError: neither is that folder.
        OSError: the system refused.
    """
    aside = f"{other}.aside"
    at = next((p for p in (place, other, aside) if folder_number(p) == number), "")
    if not at:
        raise ChangeError(_("{place} is now another folder.", place=place))
    if at != place and not (folder_number(place) and at == other and _exchange(place, other)):
        if folder_number(place):
            Path(place).rename(aside if at == other else other)
        Path(at).rename(place)
    if folder_number(aside):
        Path(aside).rename(other)
    for folder in {str(Path(place).parent), str(Path(other).parent)}:
        _sync(folder)


def _exchange(one: str, other: str) -> bool:
    """Exchange two names atomically; False if the system or the file system cannot."""
    if sys.platform != "linux":
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(_AT_CURRENT, os.fsencode(one), _AT_CURRENT, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _WITHOUT:
        return False
    raise OSError(number, os.strerror(number), one)


def _sync(folder: str) -> None:
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
