"""Temporary folders of one process, removed when it ends; what a killed process left is removed at the next start."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.host.file_lock import take_lock

LOCK_SUFFIX = ".in-use"
"""Suffix of a file that the process keeps locked while it runs; the system releases the lock at its end."""
_NAME = re.compile(r"convalesce-[0-9a-f]{8}(?:\.in-use)?")
_locks: dict[Path, int] = {}
"""Folder of ``make_scratch`` -> the descriptor that holds its lock. One per process, as descriptors and ``atexit`` are."""


def make_scratch(parent: str | os.PathLike[str] | None) -> Path:
    """Create a private temporary folder below ``parent`` (None: the system's place for these).

    It is removed when the program ends; call ``drop_scratch`` to remove it earlier.
    """
    folder, fd = _make_locked(parent)
    _locks[folder] = fd
    atexit.register(drop_scratch, folder)
    return folder


def drop_scratch(place: Path) -> None:
    """Remove a folder of ``make_scratch``, and release its lock: Windows keeps the name of an open file."""
    fd = _locks.pop(place, None)
    if fd is not None:
        _remove_folder(place, fd)


def drop_all(parent: str | os.PathLike[str]) -> None:
    """Remove every folder that this process created below ``parent``."""
    for place in [p for p in _locks if p.parent == Path(os.path.realpath(parent))]:
        drop_scratch(place)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder, which is removed at the end of the block."""
    place, fd = _make_locked(None)
    try:
        yield place
    finally:
        _remove_folder(place, fd)


def _make_locked(parent: str | os.PathLike[str] | None) -> tuple[Path, int]:
    base = Path(os.path.realpath(parent or tempfile.gettempdir()))
    while True:
        place = base / f"convalesce-{os.urandom(4).hex()}"
        fd = os.open(lock_path(place), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            # Otherwise another process may clear it meanwhile as an abandoned folder.
            if take_lock(fd) and os.fstat(fd).st_nlink:
                place.mkdir(mode=0o700)
                return place, fd
        except OSError:  # The file system has no locks, so retrying would never end.
            os.close(fd)
            raise
        os.close(fd)


def lock_path(place: Path) -> Path:
    """Return the file that says whether a scratch folder is in use."""
    return place.parent / (place.name + LOCK_SUFFIX)


def clear_abandoned(parent: str | os.PathLike[str] | None = None) -> None:
    """Remove the folders below ``parent`` whose processes have ended. Never raises; other users' folders stay."""
    with suppress(OSError):  # There may be no folder for temporary files.
        base = Path(parent or tempfile.gettempdir())
        with os.scandir(base) as entries:
            names = {e.name.removesuffix(LOCK_SUFFIX) for e in entries if _NAME.fullmatch(e.name) and _is_mine(e)}
        for place in (base / name for name in sorted(names)):
            with suppress(OSError):
                fd = os.open(lock_path(place), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
                if take_lock(fd):
                    _remove_folder(place, fd)
                else:
                    os.close(fd)


def _remove_folder(place: Path, fd: int) -> None:
    shutil.rmtree(place, ignore_errors=True)
    if sys.platform == "win32":  # Windows keeps the name of an open file.
        os.close(fd)
    with suppress(OSError):
        lock_path(place).unlink()
    if sys.platform != "win32":
        os.close(fd)


def _is_mine(entry: os.DirEntry[str]) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:  # Its own process has just removed it.
        return False
    kind = stat.S_ISREG if entry.name.endswith(LOCK_SUFFIX) else stat.S_ISDIR
    return kind(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.geteuid())
