"""A Dockerfile whose program is an environment's: lines that set a variable for nothing, because each RUN has a shell of its own.

Source: Docker's documentation, "Dockerfile reference" (RUN, ENV, CMD, ENTRYPOINT). What the base image sets does not show, so a way is
told only where such a line would have set a variable that no ENV sets.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.plain import json_value
from core.host.startup.state import fill
from core.model.facts import PythonEnvironment, StartedPython, StartLine
from core.probes.starting.commands import Line, python_of_command
from core.probes.starting.machine import Ground
from core.probes.starting.runners import words_of
from core.probes.starting.started_code import own_prefix
from core.probes.starting.ways import Reached

NAMES = late_pattern(r"(?:Dockerfile|Containerfile)(?:\.[\w-]+)?|[\w-]+\.Dockerfile", re.IGNORECASE)
MOST_FILES = 8
_ENDS = late_pattern(r"(?:^|&&|;)\s*export\s+([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^\s\"';&|]*)\s*$")
"""An export behind which its shell runs nothing more."""
_ACTIVATES = late_pattern(
    r"(?:^|&&|;)\s*(?:(?:\.|source)\s+(\S+)/bin/activate|(?:conda|mamba|micromamba)\s+activate\s+([^\s;&|]+))"
)
_PYTHON = late_pattern(r"python[\d.]*")
_PAIR = late_pattern(r"(?<!\w)([A-Za-z_]\w*)=(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:\\.|[^\s\"'\\])*)")


def image_ways(ground: Ground, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield each Dockerfile of the working folder that starts an environment's Python, and exports a variable for nothing."""
    names = ground.around.names(ground.folder) if ground.folder not in ("/", "") else ()
    for name in [n for n in names if NAMES.fullmatch(n)][:MOST_FILES]:
        path = posixpath.join(ground.folder, name)
        text = ground.read(path)
        if text and re.search(r"\bexport\s", text):
            yield from _of_file(text, path, ground, pythons)
        if text and "source" in text:
            yield from _sourced_by_sh(text, path, ground, pythons)
        if text and "activate" in text:
            yield from _activated_for_a_step(text, path, ground, pythons)


_SH_IS_NO_DASH = late_pattern(
    r"(?i)alpine|busybox|centos|rocky|alma|fedora|rhel|\bubi\d|redhat|amazonlinux|oracle|opensuse|arch"
)
"""Bases whose /bin/sh has a command ``source``; Debian's and Ubuntu's, which most bases come from, has none."""
_SOURCES = late_pattern(r"(?:^|&&|;)\s*source\s+[\"']?([^\s\"';&|]+)/bin/activate[\"']?(?=[\s;&])(.*)", re.DOTALL)


def _sourced_by_sh(text: str, path: str, ground: Ground, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield a Dockerfile that starts with ``source .../bin/activate`` where /bin/sh reads it, and then a Python by its bare name."""
    by_dash, env_path = True, ""
    starts: dict[str, tuple[str, int]] = {}
    for word, told, line in _instructions(text):
        if word == "FROM":
            by_dash, env_path, starts = not _SH_IS_NO_DASH.search(told), "", {}
        elif word == "SHELL":
            by_dash = "bash" not in told and by_dash
        elif word == "ENV" and re.search(r"(?:^|\s)PATH[= ]", told):
            env_path = told
        elif word in ("CMD", "ENTRYPOINT"):
            words = _command(told) if told.startswith("[") else []
            by_sh = posixpath.basename(words[0]) == "sh" and words[1:2] == ["-c"] if words else by_dash
            starts[word] = (" ".join(words[2:]) if words else told, line) if by_sh else ("", line)
    command, line = starts.get("ENTRYPOINT") or starts.get("CMD") or ("", 0)
    found = _SOURCES.search(command)
    place = ground.where.real_path(posixpath.normpath(posixpath.join(ground.folder, found[1]))) if found else ""
    prefix = next((p.prefix for p in pythons if place and place == ground.where.real_path(p.prefix)), "")
    if found and prefix and "bin" not in env_path and re.search(r"(?:^|[\s;&])python[\d.]*\s", found[2]):
        state = ground.session(path)
        one = StartedPython(
            name="python",
            path=f"{prefix}/bin/python",
            prefix=prefix,
            seems=prefix,
            why="activated",
            source=f"{path}:{line}",
            fault="no source",
        )
        yield Reached(kind="task", at=path, state=state, runs=(one,))


def _activated_for_a_step(
    text: str, path: str, ground: Ground, pythons: tuple[PythonEnvironment, ...]
) -> Iterator[Reached]:
    """Yield a Dockerfile that activates an environment in a RUN, and then starts the first Python of PATH by its name."""
    activated: tuple[str, int] | None = None
    starts: dict[str, list[str]] = {}
    path_of_env = ""
    for word, told, line in _instructions(text):
        if word == "FROM":
            activated, starts, path_of_env = None, {}, ""
        elif word == "ENV" and re.search(r"(?:^|\s)PATH[= ]", told):
            path_of_env = told
        elif word in ("CMD", "ENTRYPOINT"):
            starts[word] = _command(told)
        elif word == "RUN" and (found := _ACTIVATES.search(told)):
            named = found[1] or found[2]
            known = (p.prefix for p in pythons if p.kind in ("venv", "conda"))
            its = (p for p in known if p == named or (found[2] and posixpath.basename(p) == named))
            activated = (prefix, line) if (prefix := next(its, "")) else activated
    words = starts.get("ENTRYPOINT", []) + starts.get("CMD", [])
    names_it = activated and (f"{activated[0]}/bin" in path_of_env or re.search(r"\$\{?(?!PATH\b)\w", path_of_env))
    if activated and not names_it and words and _PYTHON.fullmatch(words[0]):
        state = ground.session(path)
        ends = StartedPython(
            name=words[0],
            path=f"{activated[0]}/bin/python",
            prefix=activated[0],
            seems=activated[0],
            why="activated",
            source=f"{path}:{activated[1]}",
            fault="activation ends",
        )
        yield Reached(kind="task", at=path, state=state, argv=tuple(words), runs=(ends,))


def _of_file(text: str, path: str, ground: Ground, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    state = ground.session(path)
    state.values["PWD"] = ground.folder
    lost: dict[str, StartLine] = {}
    kept: set[str] = set()
    starts: dict[str, tuple[list[str], int]] = {}
    for word, told, line in _instructions(text):
        if word == "FROM":
            lost, starts, kept = {}, {}, set()
        elif word in ("CMD", "ENTRYPOINT"):
            starts[word] = (_command(told), line)
        elif word == "ENV":
            kept |= set(_PAIR.findall(told)) or {told.split(" ")[0]}
        elif word == "RUN" and (found := _ENDS.search(told)):
            value = fill(r"\$\{?(\w+)\}?", lambda m: ground.env.get(m[1], ""), found[2].strip("\"'"))
            lost[found[1]] = StartLine(
                name=found[1], does="set", value=value, file=path, line=line, form="posix", overridden=True
            )
    lost = {n: row for n, row in lost.items() if n not in kept}
    words = starts.get("ENTRYPOINT", ([], 0))[0] + starts.get("CMD", ([], 0))[0]
    if not lost or not words or not words[0].startswith("/"):
        return
    found_python = python_of_command(words, Line(path, max(line for _w, line in starts.values())), state, ground)
    prefix = own_prefix(found_python, pythons) if found_python else ""
    if prefix:
        for row in lost.values():
            state.values.pop(row.name, None)
            state.lines.pop(row.name, None)
        state.ignored += lost.values()
        yield Reached(kind="task", at=path, state=state, prefix=prefix, argv=(words[0],))


def _command(told: str) -> list[str]:
    found = json_value(told) if told.startswith("[") else None
    return [str(w) for w in found] if isinstance(found, list) else words_of(told)


def _instructions(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each instruction, what stands behind it, and its last line; continued lines are one."""
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        parts.append(line.rstrip().removesuffix("\\"))
        if line.rstrip().endswith("\\"):
            continue
        word, _space, rest = " ".join(parts).strip().partition(" ")
        parts = []
        if word:
            yield word.upper(), rest.strip(), number
