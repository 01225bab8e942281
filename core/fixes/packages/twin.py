"""Twin: a copy of an environment that shares its files, to install and try out in before anything is changed.

Where the file system can share blocks (reflinks), every file is such a copy. Elsewhere it is a hard link, but for what
programs rewrite in place: scripts, records, configurations and .pth files. Installers unlink a file before they write
it anew, and Python replaces byte code by renaming, so that a link's other end stays as it was. Byte code is included: it
names the place of the environment, which is where it will be.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from core.common.i18n import _
from core.common.progress import Progress
from core.model.changes import ChangeError

PARTS = ("bin", "Scripts", "lib", "lib64", "Lib", "include", "Include", "share", "etc", "man", "pyvenv.cfg")
"""What a virtual environment consists of; anything else in its folder is the person's."""
_COPIED_ENDS = (".pth", ".egg-link", ".cfg", ".dist-info", ".egg-info")
_CLONE = 0x40049409
"""FICLONE of ioctl_ficlone(2)."""
_CANNOT_CLONE = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY, errno.EXDEV, errno.ENOSYS, errno.EPERM)


class _Sharing:
    """How files are shared on this file system; the first file that cannot be cloned decides for the others."""

    def __init__(self) -> None:
        self.clones = sys.platform == "linux"

    def share(self, source: str, target: str, *, apart: bool) -> None:
        if self.clones and self._clone(source, target):
            return
        if not apart:
            try:
                os.link(source, target, follow_symlinks=False)
                return
            except OSError as e:
                if e.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
                    raise
        shutil.copy2(source, target, follow_symlinks=False)

    def _clone(self, source: str, target: str) -> bool:
        import fcntl

        with open(source, "rb") as origin, open(target, "xb") as copy:  # noqa: PTH123 - thousands of files
            try:
                fcntl.ioctl(copy.fileno(), _CLONE, origin.fileno())
            except OSError as e:
                if e.errno not in _CANNOT_CLONE:
                    raise
                self.clones = False
        if not self.clones:
            Path(target).unlink()
            return False
        shutil.copystat(source, target)
        return True


def copy_environment(prefix: str, root: Path, watch: Progress) -> None:
    """Make ``root``, which is an empty folder, a twin of an environment.

    Raises:
        ChangeError, OSError: it cannot be made. CancelledError: the person asked to stop.
    """
    sharing = _Sharing()
    for name in _parts_of(prefix):
        apart = name.lower() in ("bin", "scripts", "pyvenv.cfg")
        _copy(str(Path(prefix) / name), str(root / name), sharing, watch, apart=apart)


def _parts_of(prefix: str) -> list[str]:
    """Return the existing parts of an environment, each once: on Windows, Lib and lib are the same folder."""
    wanted = {os.path.normcase(name) for name in PARTS}
    return sorted(name for name in os.listdir(prefix) if os.path.normcase(name) in wanted)  # noqa: PTH208 - names alone


def _copy(source: str, target: str, sharing: _Sharing, watch: Progress, *, apart: bool) -> None:
    found = os.lstat(source)
    if stat.S_ISLNK(found.st_mode):
        Path(target).symlink_to(os.readlink(source))  # noqa: PTH115 - the exact text
    elif stat.S_ISREG(found.st_mode):
        sharing.share(source, target, apart=apart)
    elif stat.S_ISDIR(found.st_mode):
        os.mkdir(target)  # noqa: PTH102 - thousands of folders
        _copy_folder(source, target, sharing, watch, apart=apart)
        shutil.copystat(source, target)
    else:
        raise ChangeError(_("{path} is neither a file nor a folder.", path=source))


def _copy_folder(source: str, target: str, sharing: _Sharing, watch: Progress, *, apart: bool) -> None:
    watch.check()
    with os.scandir(source) as entries:
        for entry in entries:
            own = apart or entry.name.endswith(_COPIED_ENDS)
            to = f"{target}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                os.mkdir(to)  # noqa: PTH102 - thousands of folders
                _copy_folder(entry.path, to, sharing, watch, apart=own)
                shutil.copystat(entry.path, to)
            elif entry.is_file(follow_symlinks=False):
                sharing.share(entry.path, to, apart=own)
            else:
                _copy(entry.path, to, sharing, watch, apart=own)


def files_below(folder: str, *, without: str = "") -> Iterator[str]:
    """Yield the path of every file and link below a folder; ``without``: a folder that is left out."""
    for here, inner, names in os.walk(folder):
        inner[:] = sorted(n for n in inner if n != "__pycache__" and f"{here}/{n}" != without)
        links = [n for n in inner if Path(here, n).is_symlink()]
        yield from (f"{here}/{n}" for n in sorted((*names, *links)))


def records_of(folder: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each distribution of a folder, and the rows of its RECORD."""
    for record in Path(folder).glob("*.dist-info/RECORD"):
        name = canonicalize_name(record.parent.name.removesuffix(".dist-info").rsplit("-", 1)[0])
        yield name, record.read_text(encoding="utf-8", errors="replace").splitlines()
