"""What environment managers start in a project: ``uv run`` its own .venv, whichever environment is active (uv's documentation, "Project
environment path"), PDM and Pipenv the interpreter that the project remembers.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.state import State
from core.probes.python.environment import prefix_of
from core.probes.starting.commands.command_line import Line, StartedFile, python_of_command
from core.probes.starting.commands.lacking_modules import may_come, toml_of
from core.probes.starting.commands.runners import RUNNERS, environment_of_project
from core.probes.starting.commands.started_code import lacking_pythons
from core.probes.starting.machine import Ground, folders_upward
from core.probes.starting.ways import Reached

MOST_PROGRAMS = 20
"""Maximum number of programs of the working folder that are read."""
NO_PROGRAM = late_pattern(r"setup\.py|conftest\.py|noxfile\.py|tasks\.py|test_.*|.*_test\.py")


def uv_ways(ground: Ground) -> Iterator[Reached]:
    """Yield ``uv run`` where the project's environment lacks what a program here imports, and the active environment has it."""
    active = ground.where.real_path(ground.env.get("VIRTUAL_ENV") or "/")
    ours = [p for p in ground.pythons if ground.where.real_path(p.prefix) == active]
    folder = _project(ground)
    if not folder:
        yield from _with_another_python(ground)
    if not folder or not ours:
        return
    prefix = posixpath.join(folder, ground.env.get("UV_PROJECT_ENVIRONMENT") or ".venv")
    made_by_uv = re.search(r"(?m)^uv\s*=", ground.read(f"{prefix}/pyvenv.cfg") or "")
    if not (made_by_uv or ground.around.kind(f"{folder}/uv.lock") == "file"):
        return
    state = ground.session()
    state.values |= {"PWD": ground.folder, "VIRTUAL_ENV": prefix}
    for way in _lacking("uv", prefix, f"{folder}/pyproject.toml", state, replace(ground, pythons=tuple(ours))):
        stays = not any(may_come(m, folder, ground) for one in way.runs for m in one.lacks)
        yield replace(way, runs=tuple(replace(one, sure=one.sure and stays) for one in way.runs))


def _with_another_python(ground: Ground) -> Iterator[Reached]:
    """Yield ``uv run`` beside an environment that uv made, where UV_PYTHON has it take another Python, which lacks what a program imports."""
    if not ground.env.get("UV_PYTHON") or not re.search(
        r"(?m)^uv\s*=", ground.read(f"{ground.folder}/.venv/pyvenv.cfg") or ""
    ):
        return
    state = ground.session()
    state.values["PWD"] = ground.folder
    for name in (n for n in ground.programs(MOST_PROGRAMS) if not NO_PROGRAM.fullmatch(n)):
        found = python_of_command(["uv", "run", name], Line("UV_PYTHON", 0), state.apart(), ground)
        way = Reached(kind="task", at=f"{ground.folder}: uv run {name}", state=state, argv=("uv", "run", name))
        runs = tuple(lacking_pythons(found, way, ground)) if found else ()
        if runs:
            yield replace(way, runs=tuple(replace(one, source=f"UV_PYTHON={ground.env['UV_PYTHON']}") for one in runs))
            return


def saved_python_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the programs of the working folder as they run with the interpreter that the project remembers, if that lacks what they import."""
    for name, runner in RUNNERS.items() if ground.is_in_project else ():
        if not any(ground.around.kind(f"{ground.folder}/{n}") == "file" for n in runner.saved):
            continue
        state = State({**ground.env, "PWD": ground.folder}, set(ground.env))
        prefix = environment_of_project(runner, {}, state, ground)
        if rows := state.lines.get("VIRTUAL_ENV"):
            yield from _lacking(name, prefix, rows[-1].file, state, ground)


def _lacking(manager: str, prefix: str, file: str, state: State, ground: Ground) -> Iterator[Reached]:
    """Yield the first program of the working folder that an environment lacks packages for, as its manager runs it."""
    python, real = f"{prefix}/bin/python", ground.where.real_path(prefix)
    state.values["PATH"] = f"{prefix}/bin:{ground.env.get('PATH', '')}"
    for name in ground.programs(MOST_PROGRAMS) if ground.where.is_file(python) else ():
        if NO_PROGRAM.fullmatch(name):
            continue
        found = StartedFile(python, prefix_of(python, ground.where, ground.env), real, (name,))
        way = Reached(kind="task", at=f"{file}: {manager} run {name}", state=state, argv=(manager, "run", name))
        if runs := tuple(lacking_pythons(found, way, ground)):
            yield replace(way, runs=runs)
            return


def _project(ground: Ground) -> str:
    """Return the folder of the project that uv finds: the nearest pyproject.toml with a [project] that uv manages."""
    for folder in folders_upward(ground.folder):
        if ground.around.kind(f"{folder}/pyproject.toml") == "file":
            whole = toml_of(f"{folder}/pyproject.toml", ground)
            tool = whole.get("tool")
            own = tool.get("uv") if isinstance(tool, Mapping) else None
            managed = not isinstance(own, Mapping) or own.get("managed") is not False
            return folder if isinstance(whole.get("project"), Mapping) and managed else ""
    return ""
