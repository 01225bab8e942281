"""Ownership: who can change a file or a path's target, from owners, modes and access lists of every part of the path.

Principals are texts: "uid:1000", "gid:27" and "everyone" on Linux, security identifiers ("S-1-5-11") on Windows.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from core.common.patience import call_patiently
from core.model.facts import Frozen

EVERYONE = "everyone"
ADMINISTRATORS: frozenset[str]
"""Who is trusted with everything: root, or Windows' SYSTEM, administrators and TrustedInstaller."""
MAX_LINKS = 40
"""Maximum number of links that Linux follows on one path (path_resolution(7))."""
ACCESS_LIST = "system.posix_acl_access"


class PathPart(Frozen, frozen=True, kw_only=True):
    """One part of the path to a file: a folder, a link, or the file itself."""

    path: str
    kind: Literal["folder", "file", "link", "other", "missing"]
    owner: str = ""
    writers: tuple[str, ...] = ()
    """Who else may change its bytes, or make something new in it."""
    movers: tuple[str, ...] = ()
    """Who else may replace its content: not the writers of a sticky folder (/tmp)."""


def who_can_write(path: str) -> tuple[PathPart, ...]:
    """Return every part of an absolute path from the root on, links resolved, and who may change each.

    The last part is "missing" if the path ends early.

    Raises:
        OSError: a part cannot be examined, or links form a loop.
        ValueError: the path is not absolute.
    """
    if not Path(path).is_absolute() or "\0" in path:
        raise ValueError(path)
    return tuple(_walk(path))


def first_loose(path: str, trusted: frozenset[str] = frozenset()) -> str:
    """Return the first part of a path that somebody other than an administrator or ``trusted`` can change; empty if
    there is none.

    A part that cannot be examined counts as changeable.
    """
    try:
        return loose_part(who_can_write(path), ADMINISTRATORS | trusted)
    except OSError as e:
        return os.fsdecode(e.filename) if e.filename else path
    except ValueError:
        return path


def loose_part(parts: tuple[PathPart, ...], trusted: frozenset[str]) -> str:
    """Return the first part that somebody other than ``trusted`` can change; empty if there is none."""
    last = next((i for i in range(len(parts) - 1, -1, -1) if parts[i].kind != "missing"), -1)
    for i, part in enumerate(parts[: last + 1]):
        able = {part.owner, *part.movers, *(part.writers if i == last else ())}
        if any(not is_trusted(who, trusted) for who in able):
            return part.path
    return ""


def is_trusted(who: str, trusted: frozenset[str]) -> bool:
    """Whether a principal is in ``trusted``, or is a group whose members all are."""
    if who in trusted:
        return True
    if not who.startswith("gid:"):
        return False
    members = _members(int(who[4:]))
    return members is not None and members <= trusted


def may_read(path: str, uid: int, gids: frozenset[int]) -> bool:
    """Whether a user may read a file and enter its folder, by owner, mode and access list (Linux)."""
    file, folder = Path(path), Path(path).parent
    return allows(path, file.stat(), uid, gids, 4) and allows(str(folder), folder.stat(), uid, gids, 1)


def may_enter(folder: str, uid: int, gids: frozenset[int]) -> bool:
    """Whether a user may enter a folder, by owner, mode and access list (Linux)."""
    return allows(folder, Path(folder).stat(), uid, gids, 1)


if sys.platform == "win32":
    from core.host.windows.ownership import ADMINISTRATOR_SIDS, owner_and_rights

    ADMINISTRATORS = ADMINISTRATOR_SIDS

    def _walk(path: str) -> Iterator[PathPart]:
        """Yield the path as it is written, then the real one where links or junctions lead elsewhere."""
        ways = dict.fromkeys((os.path.normpath(path), os.path.realpath(path)))
        for way in ways:
            anchor, rest = os.path.splitdrive(way)
            here = anchor + "\\"
            yield _part(here)
            for name in [n for n in rest.split("\\") if n]:
                here = os.path.join(here, name)  # noqa: PTH118 - no object for each step
                if not os.path.lexists(here):
                    yield PathPart(path=here, kind="missing")
                    break
                yield _part(here)

    def _part(path: str) -> PathPart:
        found = call_patiently(os.lstat, path)
        kind = _kind(found.st_mode)
        owner, writers, movers = owner_and_rights(path, folder=kind == "folder")
        return PathPart(path=path, kind=kind, owner=owner, writers=writers, movers=movers)

    def last_part(path: str) -> PathPart:
        """Return the last part of a path that exists, without those above it; a junction or another reparse point is no folder."""
        part = _part(path)
        leads_on = os.lstat(path).st_file_attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT
        return replace(part, kind="link") if leads_on else part

    def _members(_gid: int) -> frozenset[str] | None:
        return None

    def groups_of(_uid: int, gid: int) -> frozenset[int]:
        """Return the group alone."""
        return frozenset({gid})

    def allows(_path: str, _found: os.stat_result, _uid: int, _gids: frozenset[int], _wanted: int) -> bool:
        """Say yes: Windows has no modes."""
        return True

else:
    import grp
    import pwd

    ADMINISTRATORS = frozenset({"uid:0"})

    def _walk(path: str) -> Iterator[PathPart]:
        here, links = "/", 0
        yield _part(here, os.lstat(here))
        names = path.split("/")[::-1]
        while names:
            name = names.pop()
            if name in ("", "."):
                continue
            if name == "..":
                here = os.path.dirname(here)  # noqa: PTH120 - the hot path of every check
                continue
            there = here.rstrip("/") + "/" + name
            try:
                found = call_patiently(os.lstat, there)
            except (FileNotFoundError, NotADirectoryError):
                yield PathPart(path=there, kind="missing")
                return
            yield _part(there, found)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), there)
                target = os.readlink(there)  # noqa: PTH115 - the same
                names += target.split("/")[::-1]
                here = "/" if target.startswith("/") else here
            else:
                here = there

    def last_part(path: str) -> PathPart:
        """Return the last part of a path that exists, without those above it."""
        return _part(path, os.lstat(path))

    def _part(path: str, found: os.stat_result) -> PathPart:
        kind, owner = _kind(found.st_mode), f"uid:{found.st_uid}"
        if kind == "link":
            return PathPart(path=path, kind=kind, owner=owner)
        writers = tuple(sorted(_accounts_with_right(path, found, 2) - {owner}))
        sticky = kind == "folder" and found.st_mode & stat.S_ISVTX
        return PathPart(path=path, kind=kind, owner=owner, writers=writers, movers=() if sticky else writers)

    def _accounts_with_right(path: str, found: os.stat_result, wanted: int) -> set[str]:
        """Return who has a right (4 read, 2 write, 1 enter) by the mode or the access list, the owner apart."""
        able = {EVERYONE} if found.st_mode & wanted else set()
        rows = _access_list(path) if found.st_mode & (wanted << 3) else []
        if not rows:
            return able | ({f"gid:{found.st_gid}"} if found.st_mode & (wanted << 3) else set())
        mask = next((right for tag, right, _ in rows if tag == 0x10), 7)
        for tag, right, who in rows:
            if right & mask & wanted and tag in (2, 4, 8):
                able.add(f"uid:{who}" if tag == 2 else f"gid:{found.st_gid if tag == 4 else who}")
        return able

    def _access_list(path: str) -> list[tuple[int, int, int]]:
        """Return (tag, rights, who) of a POSIX access list; none where there is only the mode (acl(5)).

        The form is the kernel's, linux/posix_acl_xattr.h: a version, then entries of two shorts and a number.
        """
        try:
            data = os.getxattr(path, ACCESS_LIST)
        except OSError as e:
            if e.errno in (errno.ENODATA, errno.ENOTSUP):
                return []
            raise
        if len(data) < 4 or struct.unpack_from("<I", data)[0] != 2 or (len(data) - 4) % 8:
            raise OSError(errno.EINVAL, "the access list has another form", path)
        return list(struct.iter_unpack("<HHI", data[4:]))

    def _members(gid: int) -> frozenset[str] | None:
        """Return the members of a group; None where the system knows no such group."""
        try:
            named = grp.getgrgid(gid).gr_mem
        except KeyError:
            return None
        first = {f"uid:{p.pw_uid}" for p in pwd.getpwall() if p.pw_gid == gid and p.pw_uid != 0}
        numbers = set()
        for name in named:
            try:
                numbers.add(f"uid:{pwd.getpwnam(name).pw_uid}")
            except KeyError:
                continue  # an account that no longer exists
        return frozenset(first | numbers)

    def groups_of(uid: int, gid: int) -> frozenset[int]:
        """Return the groups of an account; ``gid`` alone where the system does not know it."""
        try:
            user = pwd.getpwuid(uid)
        except KeyError:
            return frozenset({gid})
        return frozenset(os.getgrouplist(user.pw_name, user.pw_gid))

    def allows(path: str, found: os.stat_result, uid: int, gids: frozenset[int], wanted: int) -> bool:
        """Whether owner, mode and access list give a user a right (4 read, 2 write, 1 enter)."""
        if uid == 0:
            return True
        if found.st_uid == uid:
            return bool(found.st_mode & (wanted << 6))
        able = _accounts_with_right(path, found, wanted)
        groups = {f"gid:{g}" for g in gids}
        if f"uid:{uid}" in able or groups & able:
            return True
        return found.st_gid not in gids and EVERYONE in able


def _kind(mode: int) -> Literal["folder", "file", "link", "other"]:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "other"
