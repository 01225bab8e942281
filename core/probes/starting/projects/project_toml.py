"""Tasks in a project's TOML: pixi, PDM, Poe the Poet, Hatch, taskipy. One form: a command, and variables for one or for all.

Sources: the documentations of pixi ("Advanced tasks", "Manifest"), PDM ("PDM Scripts"), Poe the Poet ("Environment variables"),
Hatch ("Environment configuration"), taskipy (its README).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from core.host.startup.plain import read_assignments, toml_tables
from core.host.startup.state import State, fill, is_name
from core.probes.starting.commands.runners import RUNNERS, environment_of_project, interpreter_in
from core.probes.starting.machine import Ground


class Keeper(msgspec.Struct, frozen=True):
    """A table of a project's file that contains tasks."""

    at: tuple[str, ...]
    tasks: str
    prefix: str
    """The prefix of its environment, relative to the project's folder."""
    runner: str = ""
    """The environment manager that runs them, and knows of another environment than that."""
    shared: tuple[tuple[str, ...], ...] = ()
    """Tables of variables that all tasks get."""
    above: tuple[tuple[str, ...], ...] = ()
    """The same, of another table: paths from the file's start. They come first."""


OF_PYPROJECT = (
    Keeper(("tool", "pixi"), "tasks", ".pixi/envs/default", shared=(("activation", "env"),)),
    Keeper(("tool", "pdm"), "scripts", ".venv", "pdm", (("scripts", "_", "env"),)),
    Keeper(("tool", "poe"), "tasks", ".venv", shared=(("env",),)),
    Keeper(("tool", "taskipy"), "tasks", ".venv"),
)
OF_PIXI = (Keeper((), "tasks", ".pixi/envs/default", shared=(("activation", "env"),)),)

HATCH = {"pyproject.toml": ("tool", "hatch", "envs"), "hatch.toml": ("envs",)}
"""File -> the table of Hatch's environments."""


def _hatch(whole: Mapping[str, object], name: str, ground: Ground) -> Iterator[Keeper]:
    """Yield Hatch's environments: each inherits from the default one ("Environment configuration": path, template, env-vars)."""
    envs = _inner(whole, HATCH[name])
    default = _inner(envs, ("default",))
    for env, told in envs.items():
        if not isinstance(told, Mapping):
            continue
        at = (*HATCH[name], env)
        path = told.get("path") or (default.get("path") if env == "default" else None) or ".venv"
        prefix = ground.where.join(ground.folder, path) if isinstance(path, str) else ""
        inherited = () if env == "default" or told.get("detached") else ((*HATCH[name], "default", "env-vars"),)
        yield Keeper(at, "scripts", prefix, shared=(("env-vars",),), above=inherited)


COMMANDS = ("cmd", "shell", "composite")
ENV_FILES = ("env_file", "envfile", "env-file")

Task = tuple[str, int, str, State]


def toml_tasks(text: str, path: str, state: State, ground: Ground, keepers: tuple[Keeper, ...] = ()) -> Iterator[Task]:
    """Yield the tasks in these tables of a file, and Hatch's scripts."""
    name, paths = ground.where.name(path), ground.where.path_module
    if not any(k.tasks in text for k in keepers) and name not in HATCH:
        return
    whole = toml_tables(text)
    for keeper in (*keepers, *(_hatch(whole, name, ground) if name in HATCH else ())):
        table = _inner(whole, keeper.at)
        for task, told in _inner(table, (keeper.tasks,)).items():
            its = state.apart()
            prefix = paths.normpath(paths.join(ground.folder, keeper.prefix))
            if keeper.runner:
                prefix = environment_of_project(RUNNERS[keeper.runner], {}, its, ground) or prefix
            commands = paths.dirname(interpreter_in(prefix, ground))
            searched = next((n for n in its.values if n.upper() == "PATH"), "PATH")
            its.values[searched] = its.separator.join((commands, its.values.get(searched, "")))
            for place in keeper.above:
                _give(its, _inner(whole, place), text, path, _section(text, place))
            for place in keeper.shared:
                _give(its, _inner(table, place), text, path, _section(text, place))
            command, line = told if isinstance(told, str) else "", _line(text, task)
            if isinstance(told, list):
                command = "\n".join(w for w in told if isinstance(w, str))
            if isinstance(told, Mapping):
                command = next((c for k in COMMANDS if isinstance(c := told.get(k), str)), "")
                for file in [f for k in ENV_FILES if isinstance(f := told.get(k), str)]:
                    _read(paths.normpath(paths.join(ground.folder, file)), its, ground)
                _give(its, told.get("env"), text, path, line)
            if command and task != "_":
                yield task, line, command, its


def _inner(table: object, place: tuple[str, ...]) -> Mapping[str, object]:
    for key in place:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def _give(state: State, env: object, text: str, path: str, first: int = 1) -> None:
    for name, value in env.items() if isinstance(env, Mapping) else ():
        if isinstance(value, str | int | float) and is_name(name):
            filled = fill(r"\$\{?(\w+)\}?", lambda m: state.values.get(m[1], ""), str(value))
            state.export_variable(name, filled, path, _line(text, name, first), "assignments")


def _read(path: str, state: State, ground: Ground) -> None:
    if (text := ground.read(path)) is not None:
        read_assignments(text, path, state, expands=True)


def _section(text: str, place: tuple[str, ...]) -> int:
    """Return the line of a table's header; 1 if it has none."""
    found = re.search(rf"(?m)^[ \t]*\[[^\]\n]*\b{re.escape('.'.join(place))}\]", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _line(text: str, name: str, first: int = 1) -> int:
    """Return the line that sets a key, from line ``first`` on; 0 if none does. Lines count from 1."""
    given = re.compile(rf"(?:^|[{{,])\s*\"?{re.escape(name)}\"?\s*=")
    return next((n for n, row in enumerate(text.splitlines(), 1) if n >= first and given.search(row)), 0)
