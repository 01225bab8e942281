"""Attributes of a file beside its bytes (owner, mode, access list, extended attributes): read and apply them."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable

from core.common.i18n import _
from core.model.changes import ChangeError
from core.model.facts import Frozen

CAPABILITY_ATTRIBUTE = "security.capability"
"""Privileges of one program's exact bytes (capabilities(7)); never given to other bytes."""
SYSTEM_S = ("trusted.", "security.ima", "security.evm")
"""Prefixes of attributes that the kernel and file systems manage."""


class FileAttributes(Frozen, frozen=True, kw_only=True):
    """A file's attributes. On Windows only its mode: there, access lists are inherited from the folder."""

    mode: int
    """Permission bits."""
    uid: int = 0
    gid: int = 0
    extended: tuple[tuple[str, bytes], ...] = ()
    """Extended attributes by name: the access list (system.posix_acl_access) and the SELinux label are among them."""
    modified: int | None = None
    """Time of the last change in nanoseconds; None: it is a new file's own."""


if sys.platform == "win32":

    def read_attributes(fd: int) -> FileAttributes:
        """Return the attributes of an open file."""
        found = os.fstat(fd)
        return FileAttributes(mode=stat.S_IMODE(found.st_mode), modified=found.st_mtime_ns)

    def set_attributes(fd: int, wanted: FileAttributes) -> None:
        """Do nothing: Windows gives a new file its folder's access list."""

else:

    def read_attributes(fd: int) -> FileAttributes:
        """Return the attributes of an open file. Raises OSError if they cannot be read."""
        found = os.fstat(fd)
        return FileAttributes(
            mode=stat.S_IMODE(found.st_mode),
            uid=found.st_uid,
            gid=found.st_gid,
            extended=_extended_attributes(fd),
            modified=found.st_mtime_ns,
        )

    def _extended_attributes(fd: int) -> tuple[tuple[str, bytes], ...]:
        try:
            names = sorted(os.listxattr(fd))
        except OSError as e:
            if e.errno == errno.ENOTSUP:
                return ()
            raise
        return tuple((name, os.getxattr(fd, name)) for name in names if not name.startswith(SYSTEM_S))

    def set_attributes(fd: int, wanted: FileAttributes) -> None:
        """Set an open file's attributes; the owner and the system's own only as an administrator. Raises ChangeError if others remain, and OSError."""
        root = os.geteuid() == 0
        found = os.fstat(fd)
        if (found.st_uid, found.st_gid) != (wanted.uid, wanted.gid):
            try:
                os.fchown(fd, wanted.uid if root else -1, wanted.gid)
            except PermissionError:
                if root:
                    raise
        os.fchmod(fd, wanted.mode)
        have = dict(_extended_attributes(fd))
        for name in have.keys() - dict(wanted.extended).keys():
            if not name.startswith("security."):
                _try(root, os.removexattr, fd, name)
        for name, value in wanted.extended:
            if have.get(name) != value:
                _try(root, os.setxattr, fd, name, value)
        if wanted.modified is not None:
            os.utime(fd, ns=(wanted.modified, wanted.modified))
        now = read_attributes(fd)
        same = now.mode == wanted.mode and (
            not root or (now.uid, now.gid, now.extended) == (wanted.uid, wanted.gid, wanted.extended)
        )
        if not same:
            raise ChangeError(_("The file's owner, permissions or attributes cannot be kept here."))

    def _try(root: bool, call: Callable[..., object], *arguments: object) -> None:
        """Change an extended attribute; without an administrator's rights, ignore a refusal for the system's own attributes."""
        try:
            call(*arguments)
        except OSError as e:
            if root or e.errno not in (errno.EPERM, errno.EACCES, errno.ENOTSUP):
                raise


def for_other_bytes(old: FileAttributes) -> FileAttributes:
    """Return the attributes for a file that replaces one: all but its time and the rights tied to the old bytes."""
    return FileAttributes(
        mode=old.mode & ~(stat.S_ISUID | stat.S_ISGID),
        uid=old.uid,
        gid=old.gid,
        extended=tuple((name, value) for name, value in old.extended if name != CAPABILITY_ATTRIBUTE),
    )
