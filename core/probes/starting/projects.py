"""Tasks in a project's TOML: pixi, PDM, Poe the Poet, Hatch, taskipy. One form: a command, and variables for one or for all.

Sources: the documentations of pixi ("Advanced tasks", "Manifest"), PDM ("PDM Scripts"), Poe the Poet ("Environment variables"),
Hatch ("Environment configuration"), taskipy (its README).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

import msgspec

from core.host.startup.plain import read_assignments
from core.host.startup.state import State
from core.probes.starting.machine import Ground
from core.probes.starting.runners import RUNNERS, environment_of_project


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


OF_PYPROJECT = (
    Keeper(("tool", "pixi"), "tasks", ".pixi/envs/default", shared=(("activation", "env"),)),
    Keeper(("tool", "pdm"), "scripts", ".venv", "pdm", (("scripts", "_", "env"),)),
    Keeper(("tool", "poe"), "tasks", ".venv", shared=(("env",),)),
    Keeper(("tool", "hatch", "envs", "default"), "scripts", ".venv", shared=(("env-vars",),)),
    Keeper(("tool", "taskipy"), "tasks", ".venv"),
)
OF_PIXI = (Keeper((), "tasks", ".pixi/envs/default", shared=(("activation", "env"),)),)

COMMANDS = ("cmd", "shell", "composite")
ENV_FILES = ("env_file", "envfile", "env-file")

Task = tuple[str, int, str, State]


def pyproject_tasks(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield the tasks of a pyproject.toml."""
    yield from _tasks(text, path, state, ground, OF_PYPROJECT)


def pixi_tasks(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield the tasks of a pixi.toml."""
    yield from _tasks(text, path, state, ground, OF_PIXI)


def _tasks(text: str, path: str, state: State, ground: Ground, keepers: tuple[Keeper, ...]) -> Iterator[Task]:
    if not any(k.tasks in text for k in keepers):
        return
    import tomllib  # imported late: few machines have such a file

    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    for keeper in keepers:
        table = _inner(whole, keeper.at)
        for name, told in _inner(table, (keeper.tasks,)).items():
            its = state.copy()
            its.files = list(state.files)
            prefix = posixpath.join(ground.folder, keeper.prefix)
            if keeper.runner:
                prefix = environment_of_project(RUNNERS[keeper.runner], {}, its, ground) or prefix
            its.values["PATH"] = f"{prefix}/bin:{its.values.get('PATH', '')}"
            for place in keeper.shared:
                _give(its, _inner(table, place), text, path, _section(text, place))
            command, line = told if isinstance(told, str) else "", _line(text, name)
            if isinstance(told, Mapping):
                command = next((c for k in COMMANDS if isinstance(c := told.get(k), str)), "")
                for file in [f for k in ENV_FILES if isinstance(f := told.get(k), str)]:
                    _read(posixpath.normpath(posixpath.join(ground.folder, file)), its, ground)
                _give(its, told.get("env"), text, path, line)
            if command and name != "_":
                yield name, line, command, its


def _inner(table: object, place: tuple[str, ...]) -> Mapping[str, object]:
    for key in place:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def _give(state: State, env: object, text: str, path: str, first: int = 1) -> None:
    for name, value in env.items() if isinstance(env, Mapping) else ():
        if isinstance(value, str | int | float) and re.fullmatch(r"[A-Za-z_]\w*", name):
            filled = re.sub(r"\$\{?(\w+)\}?", lambda m: state.values.get(m[1], ""), str(value))
            state.set_variable(name, filled, path, _line(text, name, first), "assignments")
            state.exported.add(name)


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
