"""A Dockerfile whose program is an environment's: lines that set a variable for nothing, because each RUN has a shell of its own; and an
environment that is made, and that the program does not get.

Source: Docker's documentation, "Dockerfile reference" (RUN, ENV, CMD, ENTRYPOINT). What the base image sets does not show, so a way is
told only where such a line would have set a variable that no ENV sets.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import msgspec

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import statements_of
from core.host.startup.plain import json_value
from core.host.startup.state import fill
from core.probes.python.text.module_text import packages_imported
from core.probes.starting.commands.command_line import Line, python_of_command
from core.probes.starting.commands.lacking_modules import modules_of
from core.probes.starting.commands.runners import words_of
from core.probes.starting.commands.started_code import own_prefix
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, ended_start

NAMES = late_pattern(r"(?:Dockerfile|Containerfile)(?:\.[\w-]+)?|[\w-]+\.Dockerfile", re.IGNORECASE)
MOST_FILES = 8
_ENDS = late_pattern(r"(?:^|&&|;)\s*export\s+([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^\s\"';&|]*)\s*$")
"""An export behind which its shell runs nothing more."""
_ACTIVATES = late_pattern(
    r"(?:^|&&|;)\s*(?:(?:\.|source)\s+(\S+)/bin/activate|(?:conda|mamba|micromamba)\s+activate\s+([^\s;&|]+))",
    re.MULTILINE,
)
_WRITES = late_pattern(
    r"\becho\s+[\"']?(?:(?:\.|source)\s+([^\s\"']+)/bin/activate|(?:conda|mamba|micromamba)\s+activate\s+([^\s\"';&|]+))[\"']?\s*>>?\s*\S*?(\.bashrc|\.profile|\.bash_profile|bash\.bashrc)\b"
)
"""A line that activates an environment, and the start-up file of a shell that gets it."""
_INSTALLS = late_pattern(
    r"(?:^|&&|;)\s*(?:uv\s+sync\b(?!.*--active\b)|poetry\s+install\b|pdm\s+(?:sync|install)\b|pipenv\s+(?:sync|install)\b(?!.*--system\b))"
)
"""Commands that make the project's environment, .venv beside its metadata, and install into that."""
_INTO_THE_IMAGE = late_pattern(
    r"\bpip3?\s+install\b(?!\s+(?:-\S+\s+)*(?:uv|poetry|pdm|pipenv|pip)\b)|--system\b|virtualenvs\.create\s+false|\bconda\b"
)
"""Commands that may install into the image's own Python."""
_ELSEWHERE = frozenset(("UV_PROJECT_ENVIRONMENT", "POETRY_VIRTUALENVS_CREATE", "PIPENV_SYSTEM", "VIRTUAL_ENV"))
"""Variables that choose another environment for these commands."""
_BARE = late_pattern(
    r"(?i)(?:--\S+\s+)*(?:docker\.io/)?(?:(?:library/)?(?:python|debian|ubuntu)|nvidia/cuda|ghcr\.io/astral-sh/uv)(?=[:@\s]|$)"
)
"""Images whose Python has no framework."""
_READS_FILES = late_pattern(r"\bBASH_ENV\b|(?:^|\s|\"|')-\w*[il]\w*(?=$|[\s\"',])|--login|--rcfile|bashrc|profile")
"""A shell that reads such a file."""
_PYTHON = late_pattern(r"python[\d.]*")
_PAIR = late_pattern(r"(?<!\w)([A-Za-z_]\w*)=(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:\\.|[^\s\"'\\])*)")


def image_ways(ground: Ground) -> Iterator[Reached]:
    """Yield each Dockerfile of the working folder that starts an environment's Python, and exports a variable for nothing."""
    names = ground.around.names(ground.folder) if ground.folder not in ("/", "") else ()
    for name in [n for n in names if NAMES.fullmatch(n)][:MOST_FILES]:
        path = posixpath.join(ground.folder, name)
        stage = _last_stage(ground.read(path) or "")
        yield from _exported_for_nothing(stage, path, ground)
        yield from _sourced_by_sh(stage, path, ground)
        yield from _activated_for_a_step(stage, path, ground)
        yield from _installed_beside(stage, path, ground)


_SH_IS_NO_DASH = late_pattern(
    r"(?i)alpine|busybox|centos|rocky|alma|fedora|rhel|\bubi\d|redhat|amazonlinux|oracle|opensuse|arch"
)
"""Bases whose /bin/sh has a command ``source``; Debian's and Ubuntu's, which most bases come from, has none."""
_SOURCES = late_pattern(r"(?:^|&&|;)\s*source\s+[\"']?([^\s\"';&|]+)/bin/activate[\"']?(?=[\s;&])(.*)", re.DOTALL)


class _Start(msgspec.Struct, frozen=True):
    """A CMD or an ENTRYPOINT."""

    told: str
    line: int
    by_dash: bool
    """Its shell would be dash."""


class _Stage(msgspec.Struct):
    """The instructions behind a FROM."""

    by_dash: bool = True
    """The shell that runs the next command is dash."""
    is_bare: bool = False
    """Its Python has no packages but what a command here may install."""
    installed: tuple[str, int] = ("", 0)
    """The command that installs into the project's environment, and its line."""
    path: str = ""
    """The ENV that gives PATH."""
    given: set[str] = msgspec.field(default_factory=set)
    """Variables that an ENV gives."""
    starts: dict[str, _Start] = msgspec.field(default_factory=dict)
    exports: dict[str, tuple[str, int]] = msgspec.field(default_factory=dict)
    """Variable -> value and line of a RUN that ends behind its export."""
    activated: list[tuple[str, str, int, str]] = msgspec.field(default_factory=list)
    """Each RUN that activates an environment: its folder, or its name, the line, and the start-up file in which it writes that, if it does."""
    reads_files: bool = False
    """Its shell, or each bash, reads a start-up file."""


def _last_stage(text: str) -> _Stage:
    """Return the last stage of a Dockerfile: what it makes is the image."""
    stage = _Stage()
    for word, told, line in _instructions(text):
        match word:
            case "FROM":
                stage = _Stage(by_dash=not _SH_IS_NO_DASH.search(told), is_bare=bool(_BARE.match(told)))
            case "SHELL":
                stage.by_dash = stage.by_dash and "bash" not in told
                stage.reads_files = bool(_READS_FILES.search(told))
            case "ENV":
                stage.given |= set(_PAIR.findall(told)) or {told.split(" ")[0]}
                stage.path = told if re.search(r"(?:^|\s)PATH[= ]", told) else stage.path
                stage.reads_files = stage.reads_files or "BASH_ENV" in told
            case "CMD" | "ENTRYPOINT":
                stage.starts[word] = _Start(told, line, stage.by_dash)
            case "RUN":
                stage.is_bare = stage.is_bare and not _INTO_THE_IMAGE.search(told)
                if found := _INSTALLS.search(told):
                    stage.installed = (found[0].lstrip("&; "), line)
                if found := _ENDS.search(told):
                    stage.exports[found[1]] = (found[2].strip("\"'"), line)
                if found := _ACTIVATES.search(told):
                    stage.activated.append((found[1], found[2], line, ""))
                elif found := _WRITES.search(told):
                    stage.activated.append((found[1], found[2], line, found[3]))
    return stage


def _started(stage: _Stage) -> list[str]:
    """Return the words of the command that a container runs."""
    return [w for n in ("ENTRYPOINT", "CMD") if n in stage.starts for w in _command(stage.starts[n].told)]


def _sourced_by_sh(stage: _Stage, path: str, ground: Ground) -> Iterator[Reached]:
    """Yield a Dockerfile that starts with ``source .../bin/activate`` where /bin/sh reads it, and then a Python by its bare name."""
    start = stage.starts.get("ENTRYPOINT") or stage.starts.get("CMD")
    words = _command(start.told) if start and start.told.startswith("[") else []
    by_sh = posixpath.basename(words[0]) == "sh" and words[1:2] == ["-c"] if words else start and start.by_dash
    found = _SOURCES.search(" ".join(words[2:]) if words else start.told) if start and by_sh else None
    prefix = _environment_at(found[1], ground) if found else ""
    if found and start and prefix and "bin" not in stage.path and re.search(r"(?:^|[\s;&])python[\d.]*\s", found[2]):
        at = f"{path}:{start.line}"
        one = ended_start(prefix, "python", f"{prefix}/bin/python", "no source", "activated", source=at)
        yield Reached(kind="task", at=path, state=ground.session(path), runs=(one,))


def _activated_for_a_step(stage: _Stage, path: str, ground: Ground) -> Iterator[Reached]:
    """Yield a Dockerfile that activates an environment in a RUN, or for the shells of a terminal, and then starts the first Python of PATH."""
    known = [p.prefix for p in ground.pythons if p.kind in ("venv", "conda")]
    words = _started(stage)
    by_shell = len(words) > 2 and posixpath.basename(words[0]) in ("sh", "bash") and words[1] == "-c"
    words, by_scripts = _behind_scripts(words_of(words[2]) if by_shell else words, stage, ground)
    prefix, line, file = next(
        (
            (p, line, file)
            for folder, name, line, file in (*by_scripts, *reversed(stage.activated))
            for p in known
            if p == _environment_at(folder or name, ground) or (name and posixpath.basename(p) == name)
        ),
        ("", 0, ""),
    )
    if file and (stage.reads_files or any(_READS_FILES.search(w) for w in _started(stage))):
        return
    names_it = f"{prefix}/bin" in stage.path or re.search(r"\$\{?(?!PATH\b)\w", stage.path)
    if prefix and not names_it and words and _PYTHON.fullmatch(words[0]):
        at = f"{path}:{line}"
        ends = ended_start(
            prefix, words[0], f"{prefix}/bin/python", "activation ends", "activated", source=at, program=file
        )
        yield Reached(kind="task", at=path, state=ground.session(path), argv=tuple(words), runs=(ends,))


def _installed_beside(stage: _Stage, path: str, ground: Ground) -> Iterator[Reached]:
    """Yield a Dockerfile that installs into the project's environment, which nothing puts into PATH, and starts the image's Python."""
    command, line = stage.installed
    prefix = _environment_at(".venv", ground) if command and stage.is_bare else ""
    words = _started(stage)
    home = next((p for p in ground.pythons if p.prefix == prefix and prefix), None)
    if home is None or stage.path or stage.given & _ELSEWHERE or len(words) < 2 or not _PYTHON.fullmatch(words[0]):
        return
    text = ground.read(posixpath.normpath(posixpath.join(ground.folder, words[1]))) if words[1].endswith(".py") else ""
    lacks = modules_of(d.name for d in home.distributions).intersection(packages_imported(statements_of(text or "")))
    if lacks:
        at = f"{path}:{line}"
        one = ended_start(
            prefix, words[0], f"{prefix}/bin/python", "activation ends", "activated", source=at, command=command
        )
        yield Reached(kind="task", at=path, state=ground.session(path), argv=tuple(words), runs=(one,))


def _behind_scripts(
    words: list[str], stage: _Stage, ground: Ground
) -> tuple[list[str], list[tuple[str, str, int, str]]]:
    """Return the command behind scripts that are run, and not sourced, before it; with what those activate for themselves."""
    found: list[tuple[str, str, int, str]] = []
    while "&&" in words:
        head = [w for w in words[: words.index("&&")] if posixpath.basename(w) not in ("sh", "bash")]
        text = ground.read(posixpath.normpath(posixpath.join(ground.folder, head[0]))) if head else None
        if text is None or "/" not in head[0]:
            break
        words = words[words.index("&&") + 1 :]
        if its := _ACTIVATES.search(text):
            found.append((its[1], its[2], max(s.line for s in stage.starts.values()), ""))
    return words, found


def _environment_at(folder: str, ground: Ground) -> str:
    """Return the environment in a folder, by whatever path or link; empty for none."""
    place = ground.where.real_path(posixpath.normpath(posixpath.join(ground.folder, folder)))
    return next((p.prefix for p in ground.pythons if place == ground.where.real_path(p.prefix)), "")


def _exported_for_nothing(stage: _Stage, path: str, ground: Ground) -> Iterator[Reached]:
    """Yield a Dockerfile whose RUN exports a variable that no ENV gives the program."""
    lost = {n: its for n, its in stage.exports.items() if n not in stage.given}
    words = _started(stage)
    if not lost or not words or not words[0].startswith("/"):
        return
    state = ground.session(path)
    state.values["PWD"] = ground.folder
    found = python_of_command(words, Line(path, max(s.line for s in stage.starts.values())), state, ground)
    prefix = own_prefix(found, ground.pythons) if found else ""
    if prefix:
        for name, (value, line) in lost.items():
            state.values.pop(name, None)
            state.lines.pop(name, None)
            filled = fill(r"\$\{?(\w+)\}?", lambda m: ground.env.get(m[1], ""), value)
            state.ignore(name, filled, path, line, "posix")
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
