"""Names that must not leave the machine, taken from facts: owners of the examined paths, and mounted servers.

No directory service is enumerated: accounts are looked up one at a time, by the numbers on files.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from core.common.late_pattern import late_pattern
from core.common.patience import call_patiently
from core.model.facts import Snapshot, path_text

FIRST_PERSON = 500
"""Smaller numbers belong to the system and its services on every distribution (login.defs: UID_MIN 1000, formerly 500)."""
MOST_FOLDERS = 4000
"""Maximum number of folders whose owner is looked up."""
MOST_WINDOWS_FOLDERS = 300
"""The same for Windows, where reading an access list takes longer."""
_WINDOWS_PATH = late_pattern(r"[A-Za-z]:\\[^\0:;,\"'<>|*?]{1,1024}")
_UNC = late_pattern(r"(?<![\\\w:)\]])\\{2}(?:\?\\UNC\\)?([A-Za-z\d][\w.-]*)\\[^\\\s]")
_PATH = late_pattern(r"/[^\0:;,\"'<>|]{1,1024}")
_REMOTE = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "lustre",
        "ceph",
        "9p",
        "afs",
        "gpfs",
        "beegfs",
        "panfs",
        "glusterfs",
        "fuse.glusterfs",
        "fuse.sshfs",
        "fuse.beegfs",
    ]
)
_OPTION = late_pattern(r"(?:^|,)(?:mon_addr|addr|servers?)=([^,]+)")


def with_known_names(seen: Snapshot, root: Path, env: Mapping[str, str]) -> Snapshot:
    """Return the Snapshot with the names of people and servers that occur in it; unchanged for another system."""
    if sys.platform == "win32":
        return _on_windows(seen) if seen.machine.system == "windows" else seen
    if seen.machine.system != "linux":
        return seen
    people = dict.fromkeys(name for name in (*_owners(_folders(seen), root), *_account_behind(env)) if name)
    try:
        mounts = (root / "proc/self/mountinfo").read_bytes()
    except OSError:
        mounts = b""
    servers, users = _of_mounts(mounts)
    own = {seen.machine.user, "root"}
    machine = msgspec.structs.replace(
        seen.machine, people=tuple(p for p in dict.fromkeys((*people, *users)) if p not in own), servers=servers
    )
    # as it was where nothing is new: rules that have run need not run again
    return seen if machine == seen.machine else msgspec.structs.replace(seen, machine=machine)


def _on_windows(seen: Snapshot) -> Snapshot:
    if sys.platform == "win32":
        from core.host.windows.names import folder_owners, mapped_shares

        told = _texts(seen)
        people = tuple(dict.fromkeys(n for n in folder_owners(_windows_folders(told)) if n and n != seen.machine.user))
        servers = tuple(dict.fromkeys(servers_in((*mapped_shares(), *told))))
        return msgspec.structs.replace(
            seen, machine=msgspec.structs.replace(seen.machine, people=people, servers=servers)
        )
    return seen


def servers_in(texts: Iterable[str]) -> Iterator[str]:
    r"""Yield the servers of Windows' network paths (\\server\share); WSL's own is not one."""
    for told in texts:
        if "\\\\" in told:
            yield from (found[1] for found in _UNC.finditer(told) if not found[1].lower().startswith("wsl"))


def _windows_folders(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of all paths, those near the drive's root first: people's own folders start there."""
    found: dict[str, None] = {}
    for told in texts:
        for match in _WINDOWS_PATH.finditer(told) if ":\\" in told else ():
            way = match[0]
            while (way := way.rpartition("\\")[0]).count("\\") and way not in found:
                found[way] = None
    return tuple(sorted(found, key=lambda way: (way.count("\\"), way))[:MOST_WINDOWS_FOLDERS])


def _texts(value: Any) -> list[str]:
    found: list[str] = []
    seen: set[int] = set()
    """Structs that several results share."""

    def walk(item: Any) -> None:  # not a generator: a snapshot holds ten thousand values
        kind = type(item)
        if kind is str:
            found.append(item)
        elif kind is tuple:
            for one in item:
                walk(one)
        elif isinstance(item, msgspec.Struct) and id(item) not in seen:
            seen.add(id(item))
            for name in item.__struct_fields__:
                if held := getattr(item, name):
                    walk(held)

    walk(value)
    return found


def _folders(seen: Snapshot) -> tuple[str, ...]:
    """Return the folders of all examined paths, and all their parents."""
    found: dict[str, None] = {}
    for told in dict.fromkeys(_texts(seen)):
        for match in _PATH.finditer(told) if "/" in told else ():
            way = match[0]
            while (way := way.rpartition("/")[0]) and way not in found and len(found) < MOST_FOLDERS:
                found[way] = None
    return tuple(found)


def _owners(folders: Iterable[str], root: Path) -> Iterator[str]:
    numbers: dict[int, None] = {}
    for folder in folders:
        with suppress(OSError, ValueError):
            numbers[call_patiently(os.lstat, str(root) + folder if str(root) != "/" else folder).st_uid] = None
    for number in numbers:
        yield from _account(number)


def _account(number: int) -> Iterator[str]:
    """Yield an account's name, and the person's, if it has several words (the first part of GECOS)."""
    import pwd

    if number >= FIRST_PERSON:
        with suppress(KeyError, OSError, OverflowError):
            found = pwd.getpwuid(number)
            yield path_text(found.pw_name)
            person = found.pw_gecos.partition(",")[0].strip()
            if " " in person:
                yield path_text(person)


def _account_behind(env: Mapping[str, str]) -> Iterator[str]:
    """Yield the account that called sudo or pkexec."""
    yield env.get("SUDO_USER", "")
    for name in ("SUDO_UID", "PKEXEC_UID"):
        if re.fullmatch(r"\d{1,9}", env.get(name, "")):
            yield from _account(int(env[name]))
    yield from _account(os.geteuid())


def _of_mounts(mountinfo: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the servers of all network mounts, and the users named in them (proc_pid_mountinfo(5))."""
    servers: dict[str, None] = {}
    users: dict[str, None] = {}
    for line in mountinfo.decode("utf-8", "replace").splitlines():
        kind, _, rest = line.partition(" - ")[2].partition(" ")
        source, _, options = rest.partition(" ")
        if kind not in _REMOTE:
            continue
        where = source.lstrip("/").partition("/")[0] if source.startswith("//") else source.partition(":/")[0]
        more = ",".join(found[1].replace("/", ",") for found in _OPTION.finditer(options))
        for part in re.split(r"[,:;]", where if ":/" in source or source.startswith("//") else "") + more.split(","):
            user, at, host = part.rpartition("@")
            if at and re.fullmatch(r"(?:tcp|o2ib)\d*", host):  # Lustre's form: 10.0.0.1@tcp
                user, host = "", user
            host = host.partition(":")[0] if host.count(":") == 1 else host
            if len(host) > 1 and not host.isdigit():
                servers[host] = None
            if user:
                users[user] = None
    return tuple(servers), tuple(users)
