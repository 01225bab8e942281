"""Other running programs, from /proc: which ones still have old variables, and which files a process has mapped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from core.model.changes import Change, EditPath, SetVariable

MAX_PROC_ENVIRONMENT_BYTES = 1 << 20
"""Bytes of one program's environment that are read."""


class OwnProgram(NamedTuple):
    """A running program of this user."""

    pid: int
    name: str
    """The script's name for an interpreter, else the program's own."""
    command: str


def own_programs(starts: tuple[str, ...], proc: str = "/proc") -> tuple[OwnProgram, ...]:
    """Return this user's running programs whose names start with ``starts``, the newest first; empty if the system does not tell."""
    if sys.platform == "win32":
        return ()
    found = []
    try:
        for folder in Path(proc).iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                found += _own_program(folder, starts)
    except OSError:
        return ()
    return tuple(sorted(found, key=lambda p: -p.pid))


def _own_program(folder: Path, starts: tuple[str, ...]) -> list[OwnProgram]:
    try:
        if folder.stat().st_uid != os.getuid() or not (folder / "comm").read_text(errors="replace").startswith(starts):
            return []
        words = (folder / "cmdline").read_bytes()[:4096].decode(errors="replace").split("\0")
    except OSError:
        return []
    if not words[0]:
        return []  # The program has ended.
    module = words[words.index("-m") + 1] if "-m" in words[1:-1] else words[0]
    script = next((w for w in words[1:] if w.endswith(".py") and not w.startswith("-")), module)
    return [OwnProgram(int(folder.name), Path(script).name, " ".join(words).strip())]


def with_old_variables(changes: tuple[Change, ...], proc: str = "/proc") -> tuple[str, ...] | None:
    """Return the names of programs with old variables, sorted; None if this system does not tell (Windows)."""
    wanted: dict[str, str | None] = {}
    for change in changes:
        if not isinstance(change, SetVariable | EditPath):
            continue
        if change.scope == "environment":
            wanted["VIRTUAL_ENV"] = change.at  # Only a shell in which this environment is active has its old steps.
        else:
            wanted[change.name] = change.after.text if change.after else None
    if not wanted:
        return ()
    if sys.platform == "win32":
        return None
    try:
        numbers = [p for p in Path(proc).iterdir() if p.name.isdigit() and p.name != str(os.getpid())]
    except OSError:
        return None
    environment = any(isinstance(c, SetVariable | EditPath) and c.scope == "environment" for c in changes)
    return tuple(sorted({name for p in numbers if (name := _name(p, wanted, same_is_old=environment))}))


def _name(process: Path, wanted: dict[str, str | None], *, same_is_old: bool) -> str:
    """Return a process' name if it has the old variables; empty if not, or if it may not be inspected."""
    try:
        with (process / "environ").open("rb") as stream:
            pairs = (pair.partition(b"=") for pair in stream.read(MAX_PROC_ENVIRONMENT_BYTES).split(b"\0") if pair)
            has = {os.fsdecode(name): os.fsdecode(value) for name, _equals, value in pairs}
        if not has:
            return ""  # the kernel's own threads
        same = all(has.get(name) == value for name, value in wanted.items())
        if same is not same_is_old:
            return ""
        return (process / "comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def mapped_files(process: int, proc: str = "/proc") -> Iterator[str]:
    """Yield the files that a process and its children have mapped; nothing if the system does not allow it.

    Children count because an environment's interpreter may be a script that starts the real one.
    """
    with suppress(OSError), open(f"{proc}/{process}/maps", "rb") as maps:  # noqa: PTH123 - bytes, many times a scan
        rows = dict.fromkeys(line[73:] for line in maps.read().split(b"\n"))  # a library has several rows
        paths = dict.fromkeys(row.strip() for row in rows)
        yield from (path.decode("utf-8", "backslashreplace") for path in paths if path.startswith(b"/"))
    with suppress(OSError), open(f"{proc}/{process}/task/{process}/children", "rb") as numbers:  # noqa: PTH123 - as above
        for number in numbers.read().split():
            yield from mapped_files(int(number), proc)
