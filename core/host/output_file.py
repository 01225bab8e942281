"""Write an output file that the person named: at exactly that path, and never where another account redirects it.

In a folder that others can write, somebody may have planted a symbolic link to one of the person's files, a hard link,
or a pipe.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from core.common.i18n import _
from core.host import ownership, provenance, safe_folder
from core.model.changes import ChangeError


def write_output(path: Path, data: bytes) -> None:
    """Write a file; the person's own links are followed, pipes and devices of the person or the system are written to.

    Raises:
        ChangeError: another account would choose what is written.
        OSError: it cannot be written.
    """
    refuse_planted(path)
    if sys.platform == "win32" or (path.exists() and not path.is_file()) or _is_the_system_s(path):
        path.write_bytes(data)
        return
    with (
        safe_folder.open_parent(os.path.realpath(path)) as (place, name),
        os.fdopen(place.open_output(name), "wb") as file,
    ):
        refuse_planted(path)  # Check again what is open now.
        file.truncate()
        file.write(data)


def refuse_planted(path: Path) -> None:
    """Refuse a path that another account controls.

    With an administrator's rights, no link of another account anywhere on the path is followed, and no file of another
    account is written.

    Raises:
        ChangeError: names the part that belongs to another account.
    """
    if sys.platform == "win32":
        return  # Only an administrator can create links there.
    me = provenance.this_person()
    trusted = me.trusted | ({f"uid:{me.behind.uid}"} if me.behind else set())
    whole = path.absolute()
    try:
        way = ownership.who_can_write(str(whole))
        there = os.lstat(whole)
    except (OSError, ValueError):
        way, there = _way_above(whole), None
    last = str(whole)
    foreign = [p.path for p in way if p.kind == "link" and p.owner not in trusted and (me.elevated or p.path == last)]
    end = way[-1] if way else None
    if end and end.kind in ("file", "other"):
        strange = end.kind == "other" and end.owner not in trusted
        hers = me.elevated and end.owner not in trusted
        if strange or hers or _may_be_their_hard_link(way, there, trusted):
            foreign.append(end.path)
    if foreign:
        raise ChangeError(
            _("Another account controls where {path} leads, so nothing is written there.", path=foreign[0])
        )


def _way_above(path: Path) -> tuple[ownership.PathPart, ...]:
    """Return the parts of the path to a file's folder; empty if they cannot be examined."""
    try:
        return ownership.who_can_write(str(path.parent))
    except (OSError, ValueError):
        return ()


def _may_be_their_hard_link(
    way: tuple[ownership.PathPart, ...], there: os.stat_result | None, trusted: frozenset[str]
) -> bool:
    """Whether a file has a second name, and is in a folder (sticky or not) in which others could have given it one."""
    if there is None or not stat.S_ISREG(there.st_mode) or there.st_nlink < 2 or len(way) < 2:
        return False
    return any(not ownership.is_trusted(who, trusted) for who in (way[-2].owner, *way[-2].writers))


def _is_the_system_s(path: Path) -> bool:
    """Whether a path leads through the kernel's own file systems, whose links have no target text (/dev/fd/63)."""
    return os.path.realpath(path.parent).startswith(("/proc/", "/dev/fd"))
