"""What a service's own settings keep from its program: the GPU's device nodes, memory for code, address space, folders.

Sources: systemd.exec(5), systemd.resource-control(5), and what real programs did with each of these: an H200 with driver 580 (cuInit
ends with 2 up to 8 GiB of address space, the import of torch 2.8 and JAX's first array up to 4 GiB; with 999 without /dev/nvidia-uvm, with 100 without /dev/nvidiactl; RLIMIT_MEMLOCK, RLIMIT_DATA and
MemoryDenyWriteExecute= change nothing), and JAX 0.10 and TensorFlow 2.21, which crash as they compile under MemoryDenyWriteExecute=.
"""

from __future__ import annotations

import fnmatch
import os
import posixpath
import re
import stat
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from core.common.patience import call_patiently
from core.common.versions import whole_number
from core.host.ownership import ACCESS_LIST
from core.host.startup.units import Row, Unit, quoted_words
from core.model.facts import Confinement, ConfinementKind, path_text
from core.probes.starting.machine import Ground

NODES = {"/dev/nvidiactl": ("nvidia", "nvidiactl", "nvidia-frontend"), "/dev/nvidia-uvm": ("nvidia-uvm",)}
"""Device node that CUDA opens -> the groups of devices (/proc/devices) that it can belong to, by release of the driver."""
LEAST_ADDRESSES = 8 << 30
"""Bytes of address space with which CUDA does not start."""
UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
HOMES = ("/home", "/root", "/run/user")
"""What ProtectHome= hides."""
TRUE = ("1", "yes", "y", "true", "t", "on")


def confinements(unit: Unit, prefix: str, ground: Ground, *, own: bool) -> Iterator[Confinement]:
    """Yield what the settings of a service keep from the Python of an environment. ``own``: of the person's own manager."""
    its = unit.settings
    yield from _code(its)
    yield from _memory(its)
    if own:  # the person's manager cannot close devices or folders, and has the person's account
        return
    yield from _devices(its)
    needed = _needed(unit, prefix, ground)
    yield from _places(its, needed)
    yield from _user(unit, needed, ground)


def _last(settings: Mapping[str, tuple[Row, ...]], key: str) -> Row | None:
    rows = settings.get(key)
    return rows[-1] if rows else None


def _is_true(row: Row | None) -> bool:
    return row is not None and row.value.lower() in TRUE


def _confinement(row: Row, kind: ConfinementKind, path: str = "", needed: str = "") -> Confinement:
    told = f"{row.key}={row.value}"
    return Confinement(
        kind=kind, setting=told, file=row.file, line=row.line, path=path_text(path), needed=path_text(needed)
    )


# --- devices ---------------------------------------------------------------------------------------------------------


def _devices(settings: Mapping[str, tuple[Row, ...]]) -> Iterator[Confinement]:
    """Yield the device node of CUDA's that a service may not open.

    DeviceAllow= alone closes every other device, as DevicePolicy=closed does; PrivateDevices= also takes the nodes out of /dev.
    """
    bound = [w for key in ("BindPaths", "BindReadOnlyPaths") for r in settings.get(key, ()) for w in r.value.split()]
    private = _last(settings, "PrivateDevices")
    if private is not None and _is_true(private) and not any("/dev" in w for w in bound):
        yield _confinement(private, "devices", next(iter(NODES)))
        return
    policy, allowed = _last(settings, "DevicePolicy"), settings.get("DeviceAllow", ())
    closing = policy if policy and policy.value in ("closed", "strict") else allowed[-1] if allowed else None
    if closing is not None:
        lacking = next((n for n in NODES if not any(_allows(r.value, n) for r in allowed)), "")
        if lacking:
            yield _confinement(closing, "devices", lacking)


def _allows(value: str, node: str) -> bool:
    name = value.split(maxsplit=1)[0].strip("\"'")
    if name.startswith("char-"):
        return any(fnmatch.fnmatchcase(group, name[5:]) for group in NODES[node])
    return posixpath.normpath(name) == node


# --- memory ----------------------------------------------------------------------------------------------------------


def _code(settings: Mapping[str, tuple[Row, ...]]) -> Iterator[Confinement]:
    row = _last(settings, "MemoryDenyWriteExecute")
    if row is not None and _is_true(row):
        yield _confinement(row, "code")


def _memory(settings: Mapping[str, tuple[Row, ...]]) -> Iterator[Confinement]:
    row = _last(settings, "LimitAS")
    found = re.fullmatch(r"(\d+)([KMGTPE]?)", row.value.partition(":")[0]) if row else None
    size = whole_number(found[1]) if found else None
    if row is not None and found is not None and size is not None and size << UNITS[found[2]] <= LEAST_ADDRESSES:
        yield replace(_confinement(row, "memory"), size=size << UNITS[found[2]])


# --- folders ---------------------------------------------------------------------------------------------------------


def _needed(unit: Unit, prefix: str, ground: Ground) -> tuple[str, ...]:
    """Return the files without which the service's program does not start: what it calls, and its Python, links followed."""
    first = next(iter(quoted_words(unit.command)), "")
    python = posixpath.join(prefix, "bin", "python")
    named = (first if first.startswith("/") else "", python)
    return tuple(dict.fromkeys(p for n in named if n for p in (n, ground.where.real_path(n))))


def _places(settings: Mapping[str, tuple[Row, ...]], needed: tuple[str, ...]) -> Iterator[Confinement]:
    """Yield the first folder that a setting hides, and that a needed file lies in."""
    opened = [
        word.lstrip("-+").partition(":")[2].partition(":")[0] or word.lstrip("-+").partition(":")[0]
        for key in ("BindPaths", "BindReadOnlyPaths")
        for row in settings.get(key, ())
        for word in quoted_words(row.value)
    ]
    for row, folder in _hidden(settings):
        for path in needed:
            if _inside(path, folder) and not any(_inside(path, o) and _inside(o, folder) for o in opened):
                yield _confinement(row, "place", folder, path)
                return


def _hidden(settings: Mapping[str, tuple[Row, ...]]) -> Iterator[tuple[Row, str]]:
    home = _last(settings, "ProtectHome")
    if home is not None and (_is_true(home) or home.value == "tmpfs"):
        yield from ((home, folder) for folder in HOMES)
    for key in ("InaccessiblePaths", "TemporaryFileSystem"):
        for row in settings.get(key, ()):
            for word in quoted_words(row.value):
                folder = posixpath.normpath(word.lstrip("-+").partition(":")[0])
                if folder.startswith("/"):
                    yield row, folder


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _user(unit: Unit, needed: tuple[str, ...], ground: Ground) -> Iterator[Confinement]:
    """Yield the first folder that the service's account may not enter, above a needed file."""
    settings = unit.settings
    row = _last(settings, "User")
    if row is None or "AmbientCapabilities" in settings:
        return
    account = _account(unit.user, settings, ground)
    if account is None or account[0] == 0:
        return
    for path in needed:
        parts = posixpath.dirname(path).split("/")[1:]
        for number in range(1, len(parts) + 1):
            folder = "/" + "/".join(parts[:number])
            if _is_closed(folder, *account, ground):
                yield _confinement(row, "user", folder, path)
                return


def _account(user: str, settings: Mapping[str, tuple[Row, ...]], ground: Ground) -> tuple[int, frozenset[int]] | None:
    """Return the number of an account and those of its groups; None where the files do not tell."""
    rows = [line.split(":") for line in (ground.read("/etc/passwd") or "").splitlines()]
    found = next((r for r in rows if len(r) > 3 and user in (r[0], r[2])), None)
    uid, gid = (whole_number(found[2]), whole_number(found[3])) if found else (None, None)
    if found is None or uid is None or gid is None:
        return None
    named = {w for key in ("Group", "SupplementaryGroups") for r in settings.get(key, ()) for w in r.value.split()}
    groups = {gid}
    for line in (ground.read("/etc/group") or "").splitlines():
        parts = line.split(":")
        number = whole_number(parts[2]) if len(parts) > 3 else None
        if number is not None and (found[0] in parts[3].split(",") or named & {parts[0], parts[2]}):
            groups.add(number)
    return uid, frozenset(groups)


def _is_closed(folder: str, uid: int, groups: frozenset[int], ground: Ground) -> bool:
    """Whether an account may not enter a folder, by its mode; a folder with an access list is taken as open."""
    seen = ground.where.stat(folder)
    if seen is None:
        return False
    bit = stat.S_IXUSR if seen.st_uid == uid else stat.S_IXGRP if seen.st_gid in groups else stat.S_IXOTH
    if seen.st_mode & bit:
        return False
    try:
        call_patiently(os.getxattr, ground.where.local_path(folder), ACCESS_LIST)
    except (OSError, ValueError, AttributeError):
        return True
    return False
