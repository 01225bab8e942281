"""An independent checker of the resulting machine, written from docs/security.md alone, without a look at the broker.

It knows the machine before and after: the file of variables and every file of the tree. What it says is what the page
promises about an administrator's changes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HIDES = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}
NAMES_A_TOOLKIT = re.compile(r"^CUDA_(PATH|HOME|ROOT|PATH_V\d+_\d+)$")
STEMS = [
    "cudnn",
    "cublas",
    "cudart",
    "nvrtc",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "nvjitlink",
    "zlibwapi",
    "cuda",
]


OF_THE_TOOLS = {"ld.so.cache", "group-", "gshadow-", "passwd-", "shadow-", "subuid-", "subgid-", ".pwd.lock"}
"""What ldconfig and shadow's tools keep for themselves: a cache and the copies from before."""


@dataclass(frozen=True)
class Picture:
    """A machine at one moment."""

    variables: dict[str, str]
    files: dict[str, tuple[object, ...]]


def picture(root: Path, environment: Path, apart: tuple[Path, ...]) -> Picture:
    """Take everything below ``root`` but what lies in the folders ``apart`` (histories and orders)."""
    variables = dict(
        line.split("=", 1) for line in environment.read_text().splitlines() if "=" in line and line[0] != "#"
    )
    files: dict[str, tuple[object, ...]] = {}
    for folder, names, leaves in os.walk(root):
        names[:] = [n for n in names if Path(folder, n) not in apart]
        for name in [*names, *leaves]:
            path = f"{folder}/{name}"
            if path == str(environment) or name in OF_THE_TOOLS:
                continue
            found = os.lstat(path)
            what: object = ""
            if stat.S_ISLNK(found.st_mode):
                what = str(Path(path).readlink())
            elif stat.S_ISREG(found.st_mode):
                what = Path(path).read_bytes()
            files[path] = (stat.S_IFMT(found.st_mode), what)
    return Picture(variables, files)


def objections(before: Picture, after: Picture, programs: Path) -> list[str]:
    """Return everything about the change that the page rules out; ``programs``: below it libraries may change."""
    rows: list[str] = []
    for name in before.variables.keys() | after.variables.keys():
        old, new = before.variables.get(name), after.variables.get(name)
        if old != new:
            rows += _variable(name, old, new)
    for path in before.files.keys() | after.files.keys():
        if before.files.get(path) != after.files.get(path):
            own = _system(path, after.files.get(path), before.files.get(path))
            rows += _file(path, after.files.get(path), before, programs) if own is None else own
    return rows


def _variable(name: str, old: str | None, new: str | None) -> list[str]:
    if name in ("PATH", "LD_LIBRARY_PATH"):
        # an empty entry is the current folder; a variable that is not there has none
        was, now = (() if text is None else text.split(":") for text in (old, new))
        rows = [f"{name} got {e}" for e in _more(was, now) if not _administrator_s_folder(e)]
        if name == "PATH":
            rows += [
                f"PATH lost {e}"
                for e in _more(now, was)
                if Path(e).is_dir() and e.rstrip("/") not in [n.rstrip("/") for n in now]
            ]
        moved = [e for e in now if e in was]
        if moved != [e for e in was if e in now] and not any(_administrator_s_folder(e) for e in moved):
            rows.append(f"{name} was put into another order")
        return rows
    if name in HIDES:
        return [] if new is None else [f"{name} was set to {new}"]
    if NAMES_A_TOOLKIT.match(name):
        return [] if new is None or _administrator_s_folder(new) else [f"{name} names {new}"]
    return [f"{name} was {old} and is {new}"]


EDITABLE = re.compile(
    rf"export (LD_LIBRARY_PATH|LD_PRELOAD|{'|'.join(sorted(HIDES))}|CUDA_(?:PATH|HOME|ROOT|PATH_V\d+_\d+))=(.*)"
)


def _start_up_file(path: str, old: str, new: str) -> list[str]:
    """What may become of a start-up file of everybody's: a listed variable's line goes or loses folders, or names a toolkit."""
    if not _only_root_changes(path, inside=True):
        return [f"{path} is not the administrator's alone"]
    before, after = old.splitlines(), [r for r in new.splitlines() if not r.startswith("#")]
    gone = [r for r in before if r not in after]
    come = [r for r in after if r not in before]
    known = {found[1]: found[2] for r in gone if (found := EDITABLE.fullmatch(r))}
    rows = [f"{path} lost {r}" for r in gone if not EDITABLE.fullmatch(r)]
    for row in come:
        found = EDITABLE.fullmatch(row)
        if not found or found[1] not in known:
            rows.append(f"{path} got {row}")
        elif NAMES_A_TOOLKIT.match(found[1]):
            rows += [] if _administrator_s_folder(found[2].strip("'")) else [f"{path} names {found[2]}"]
        elif _more(known[found[1]].split(":"), found[2].split(":")):
            rows.append(f"{path} got {row}")
    return rows


def _more(fewer: Sequence[str], more: Sequence[str]) -> list[str]:
    left = list(fewer)
    found = []
    for entry in more:
        if entry in left:
            left.remove(entry)
        else:
            found.append(entry)
    return found


def _administrator_s_folder(text: str) -> bool:
    """An existing, absolute, plainly written folder, its whole way and every file directly in it the administrator's."""
    if not text.startswith("/") or not text.isprintable() or set("$`'\"\\%:") & set(text):
        return False
    if any(part in (".", "..") for part in text.split("/")) or not Path(text).is_dir():
        return False
    ways = [text, os.path.realpath(text)]
    for way in list(ways):
        part = Path(way)
        ways += [str(p) for p in part.parents]
    for link in [w for w in ways if Path(w).is_symlink()]:
        goal = os.path.realpath(link)
        ways += [goal, *(str(p) for p in Path(goal).parents)]
    if not all(_only_root_changes(w, inside=w in (text, os.path.realpath(text))) for w in ways):
        return False
    for entry in list(os.scandir(text)):
        if entry.is_dir():
            continue
        real = os.path.realpath(entry.path)
        if not all(_only_root_changes(p, inside=p == real) for p in (entry.path, real, *map(str, Path(real).parents))):
            return False
    return True


def _only_root_changes(path: str, *, inside: bool) -> bool:
    """Asked of the system, not of the modes: may an account without any rights of its own write here?"""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return True  # it went while we looked: a package manager is at work
    if found.st_uid != 0:
        return False
    if stat.S_ISLNK(found.st_mode):
        return True
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX and not inside
    open_to_others = found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid != 0)
    listed = "system.posix_acl_access" in os.listxattr(path) and found.st_mode & stat.S_IWGRP
    return bool(sticky) or not (open_to_others or listed)


def _system(path: str, now: tuple[object, ...] | None, old: tuple[object, ...] | None) -> list[str] | None:
    """Return what is wrong with a file of the system's that a system step writes; None for any other file."""
    name, text = Path(path).name, now[1] if now else None
    place = path.rpartition("/etc/")[2]
    if place == "ld.so.cache":
        return []
    if re.fullmatch(r"ld\.so\.conf\.d(/convalesce-[a-z0-9-]+\.conf)?", place):
        if now is None or now[0] == stat.S_IFDIR:
            return []
        folder = bytes(text).decode().removesuffix("\n") if isinstance(text, bytes) else "?"
        return [] if _administrator_s_folder(folder) else [f"{name} names {folder!r}"]
    if re.fullmatch(r"modprobe\.d(/convalesce-nouveau\.conf)?", place):
        fixed = [b"blacklist nouveau", b"options nouveau modeset=0"]
        lines = [w for w in text.splitlines() if w and w[:1] != b"#"] if isinstance(text, bytes) else fixed
        return [] if lines == fixed else [f"{name} holds {text!r}"]
    if place in ("group", "gshadow", "group-", "gshadow-", "group.lock", "gshadow.lock"):
        return _groups(old[1] if old else b"", text or b"") if place == "group" else []
    return None


def _groups(old: object, new: object) -> list[str]:
    was, now = (dict(w.rsplit(":", 1) for w in bytes(t).decode().splitlines()) for t in (old, new))
    changed = {k for k in was.keys() | now.keys() if was.get(k) != now.get(k)}
    return [f"group {k} is {now.get(k)}" for k in changed if k.partition(":")[0] not in ("video", "render")]


def _file(path: str, now: tuple[object, ...] | None, before: Picture, programs: Path) -> list[str]:
    name = Path(path).name
    below = path.startswith(f"{programs}/")
    was = before.files.get(path)
    if "/etc/profile.d/" in path and now is not None and was is not None and now[0] == was[0] == stat.S_IFREG:
        return _start_up_file(path, *(bytes(x[1]).decode() for x in (was, now)))
    if not below:
        return [f"{path} was changed, outside the folders of programs"]
    parent = str(Path(path).parent)
    if not os.path.lexists(parent):
        return [f"{path} went with its folder"]
    own = all(_only_root_changes(p, inside=p == parent) for p in (parent, *map(str, Path(parent).parents)))
    rows = [] if own else [f"{path} was changed in a folder of another's"]
    if now is not None and now[0] == stat.S_IFDIR:
        return rows
    stem = name.lower().removeprefix("lib")
    if not any(stem.startswith(s) for s in STEMS) or not re.search(r"\.so(\.\d+)*$|\.dll$", name.lower()):
        rows.append(f"{name} is none of NVIDIA's libraries")
    if now is not None and now[0] == stat.S_IFREG:
        donors = [p for p, what in before.files.items() if what == now and p.startswith(f"{programs}/")]
        if not any(os.lstat(p).st_uid == 0 if os.path.lexists(p) else True for p in donors):
            rows.append(f"the bytes of {path} are no administrator's library")
    if now is not None and now[0] == stat.S_IFLNK and "/" in str(now[1]):
        rows.append(f"{path} leads to {now[1]}")
    return rows
