"""The variables that the working folder gives to programs started in it: direnv, mise, uv's file of variables."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.host.startup.plain import read_assignments, toml_tables
from core.host.startup.posix import ShellReader
from core.host.startup.state import UNKNOWN, State
from core.model.facts import StartedPython
from core.probes.starting.commands.command_line import Line, python_of_command
from core.probes.starting.commands.started_code import lacking_pythons
from core.probes.starting.machine import Ground, folders_upward
from core.probes.starting.ways import Reached

MISE_FILES = (
    ".config/mise/config.toml",
    ".config/mise.toml",
    "mise/config.toml",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
)
"""Of several in one folder, the last takes precedence (mise's documentation, "Configuration")."""


def folder_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield the ways of starting that the working folder's files define."""
    for way in (*_direnv(ground, _state_of_shell(ground, terminal)), *_mise(ground, _state_of_shell(ground, terminal))):
        yield replace(way, runs=tuple(_other_python(way, ground)))
    yield from _uv(ground, _state_of_shell(ground, terminal))


MOST_PROGRAMS = 20
"""Programs of the folder that are read."""


def _other_python(way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield the Python that these files put first, if it lacks what a program of the folder imports and the active environment has."""
    active = {ground.env.get(n) for n in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    if not way.state.lines.get("PATH") or not any(p.prefix in active for p in ground.pythons):
        return
    programs = ground.programs(MOST_PROGRAMS)
    for name in ("python", "python3"):
        for program in programs:
            its = way.state.copy()
            its.values["PWD"] = ground.folder
            found = python_of_command([name, program], Line(way.at, 1), its, ground)
            runs = tuple(lacking_pythons(found, replace(way, state=its), ground)) if found else ()
            if runs and runs[0].seems in active:
                yield runs[0]
                return


def _state_of_shell(ground: Ground, terminal: State) -> State:
    """Return the variables of a shell in this folder: this session's, with the lines that set the same values in a terminal."""
    state = terminal.apart()
    for name in {*state.values, *ground.env}:
        if state.values.get(name) != ground.env.get(name) or name in state.open:
            state.lines.pop(name, None)
            state.open.discard(name)
            state.values.pop(name, None)
        if name in ground.env:
            state.values[name] = ground.env[name]
            state.exported.add(name)
    return state


def _direnv(ground: Ground, state: State) -> Iterator[Reached]:
    """Yield the .envrc that direnv(1) finds: in the working folder or the nearest folder above."""
    if path := ground.upward(".envrc", ground.folder):
        ShellReader(ground.around, state, "bash").read_files(path)
        yield Reached(kind="direnv", at=path, state=state)


def _mise(ground: Ground, state: State) -> Iterator[Reached]:
    """Yield the variables of mise's files (its documentation, "Environments"); the nearest folder's take precedence."""
    home = ground.person.home
    folders = [f for f in reversed(list(folders_upward(ground.folder))) if f != home]
    found = [ground.config("mise/config.toml"), *(f"{f}/{n}" for f in (home, *folders) for n in MISE_FILES)]
    last = ""
    for path in dict.fromkeys(found):
        if (text := ground.read(path)) is None or "env" not in text:
            continue
        env = toml_tables(text).get("env")
        if isinstance(env, dict) and env:
            last = path
            state.files.append(path)
            _give(state, env, text, path, ground)
    if last:
        yield Reached(kind="direnv", at=last, state=state)


def _give(state: State, env: dict[str, object], text: str, path: str, ground: Ground) -> None:
    here = posixpath.dirname(path)
    for name, told in env.items():
        value = told.get("value") if isinstance(told, dict) else told
        line = next((n for n, row in enumerate(text.splitlines(), 1) if re.match(rf"\s*{re.escape(name)}\s*=", row)), 0)
        if name == "_":
            files = told.get("file") if isinstance(told, dict) else None
            for each in [files] if isinstance(files, str) else files if isinstance(files, list) else []:
                its = each.get("path") if isinstance(each, dict) else each
                place = posixpath.join(here, its) if isinstance(its, str) else ""
                if place and (inner := ground.read(place)) is not None:
                    read_assignments(inner, place, state, expands=True)
        elif value is False:
            state.unset_variable(name, path, line, "assignments")
        elif isinstance(value, str | int | float):
            filled = re.sub(r"\{\{\s*(?:config_root|cwd)\s*\}\}", here, str(value))
            state.export_variable(name, UNKNOWN if "{{" in filled else filled, path, line, "assignments")


def _uv(ground: Ground, state: State) -> Iterator[Reached]:
    """Yield the files of variables that ``uv run`` reads (UV_ENV_FILE, uv's documentation)."""
    read = ""
    for name in state.values.get("UV_ENV_FILE", "").split():
        path = posixpath.normpath(posixpath.join(ground.folder, name))
        if (text := ground.read(path)) is not None:
            read = path
            read_assignments(text, path, state, expands=True)
    if read and not ground.env.get("UV_NO_ENV_FILE"):
        yield Reached(kind="direnv", at=read, state=state)
