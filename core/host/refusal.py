"""Why the system refuses: the true reason why this user may not read or change a file, worded to follow a colon.

Called only after a refusal. Reasons are examined in the system's own order: the path, the mount, the file's flags, its
owner, mode and access list; if none of these explains it, a security policy or a server does.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

from core.common.fact_text import fact_text
from core.host import ownership
from core.host.provenance import outside_accounts

Wish = Literal["read", "change", "enter"]


def why_refused(path: str, wish: Wish) -> str:
    """Return why this user may not read or change ``path`` (or enter the folder); never raises."""
    try:
        folder = _closed_folder(path)
        if folder:
            return fact_text(
                "the folder {folder} is closed to this user: {reason}", folder=folder, reason=_own(folder, "enter")
            )
        return _own(path, wish)
    except (OSError, ValueError) as e:
        return fact_text("the system answered: {reason}", reason=getattr(e, "strerror", None) or str(e))


def _closed_folder(path: str) -> str:
    """Return the first folder of the path that may not be entered."""
    for folder in reversed(Path(path).parents):
        if not os.access(folder, os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            return str(folder)
    return ""


def windows_reason(attributes: int, wish: Wish, *, folder: bool) -> str:
    """Return why Windows refuses, as far as a file's attributes show it: only the owner can read its access list."""
    # On a folder, the attribute only says that it has an icon.
    if wish == "change" and not folder and attributes & stat.FILE_ATTRIBUTE_READONLY:
        return fact_text("it has the read-only attribute")
    if wish == "read" and not folder:
        return fact_text("its access list does not allow it, or another program has it open for itself alone")
    return fact_text("its access list does not allow it")


if sys.platform == "win32":

    def _own(path: str, wish: Wish) -> str:
        found = Path(path).stat()
        return windows_reason(found.st_file_attributes, wish, folder=stat.S_ISDIR(found.st_mode))

else:
    import fcntl
    import pwd

    GET_FLAGS, IMMUTABLE, ONLY_APPENDED = 0x80086601, 0x10, 0x20
    """FS_IOC_GETFLAGS and its flags: ioctl_iflags(2)."""
    RIGHTS: dict[Wish, int] = {"read": 4, "change": 2, "enter": 1}

    def _own(path: str, wish: Wish) -> str:
        found = Path(path).stat()
        if wish == "change" and os.statvfs(path).f_flag & os.ST_RDONLY:
            return fact_text("its file system is mounted read-only")
        flags = _flags(path) if wish == "change" else 0
        if flags & IMMUTABLE:
            return fact_text("it is immutable (chattr +i)")
        if flags & ONLY_APPENDED:
            return fact_text("it may only be appended to (chattr +a)")
        uid, gids = os.geteuid(), frozenset((os.getegid(), *os.getgroups()))
        if ownership.allows(path, found, uid, gids, RIGHTS[wish]):
            return fact_text(
                "its owner and mode allow it, so a policy of the system (SELinux, AppArmor, a container's) or a file server refuses it"
            )
        if f"uid:{found.st_uid}" in outside_accounts():
            return fact_text("it belongs to an account outside this container (mode {mode})", mode=_mode(found))
        if _has_list(path):
            return fact_text(
                "it belongs to {owner}, has the mode {mode} and an access list (getfacl)",
                owner=_name(found.st_uid), mode=_mode(found),
            )  # fmt: skip
        return fact_text("it belongs to {owner} and has the mode {mode}", owner=_name(found.st_uid), mode=_mode(found))

    def _flags(path: str) -> int:
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
            try:
                return int(struct.unpack("l", fcntl.ioctl(descriptor, GET_FLAGS, bytes(8)))[0])
            finally:
                os.close(descriptor)
        return 0

    def _has_list(path: str) -> bool:
        with suppress(OSError):
            return bool(os.getxattr(path, ownership.ACCESS_LIST))
        return False

    def _name(uid: int) -> str:
        with suppress(KeyError, OSError):
            return pwd.getpwuid(uid).pw_name
        return str(uid)

    def _mode(found: os.stat_result) -> str:
        return f"{found.st_mode & 0o7777:04o}"
