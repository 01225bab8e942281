r"""The ways of starting on Windows that files show: prompts, Jupyter's kernels, activations, VS Code, batch files and
scripts of PowerShell.

A program that Explorer starts gets the registry's variables, with which the scan already judges this session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from core.common.variable_names import variable_in
from core.host.startup.plain import json_line, json_value, text_items
from core.host.startup.state import fill
from core.model.facts import PythonEnvironment, RegisteredStart, Variable
from core.probes.probe import in_turn
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.started_code import script_folder
from core.probes.starting.forbidden_settings import forbidden_settings
from core.probes.starting.machine import Ground
from core.probes.starting.misnamed_settings import misnamed_settings
from core.probes.starting.opened_files import files_opened_in_vain
from core.probes.starting.own_settings import own_settings_ways
from core.probes.starting.refused_settings import refused_settings
from core.probes.starting.started_programs import flask_ways, ipython_ways, pytest_ways, start_code_ways
from core.probes.starting.ways import EDITORS, Reached, filled_by_editor, kernels_in, launches
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.chosen import chosen_ways, launched, with_notebooks
from core.probes.starting.windows.command_lines import (
    activate,
    prefix_among,
    python_of_batch,
    python_of_ps1,
)
from core.probes.starting.windows.described import server_ways
from core.probes.starting.windows.double_click import double_click_ways
from core.probes.starting.windows.ended import faults_of_start, folder_of_another_drive
from core.probes.starting.windows.kept_blanks import with_kept_blanks
from core.probes.starting.windows.not_of_windows import posix_variables
from core.probes.starting.windows.other_files import other_files
from core.probes.starting.windows.own_path import own_path_ways
from core.probes.starting.windows.powershell import EDITIONS, SCRIPT, apply_profiles
from core.probes.starting.windows.projects import launching_ways, pm2_ways, project_ways
from core.probes.starting.windows.shells import prompt_ways
from core.probes.starting.windows.starters import starter_ways


def windows_ways(
    ground: Ground,
    registered: tuple[RegisteredStart, ...] = (),
    variables: tuple[Variable, ...] = (),
    apart: Callable[..., Iterator[Reached]] = in_turn,
) -> Iterator[Reached]:
    """Yield every way of starting. ``registered``, ``variables``: the registry's starts and scopes. ``apart``: runs the readers."""
    ground = replace(ground, refuses_scripts=any(one.kind == "policy" for one in registered))
    yield from apart(
        lambda: prompt_ways(ground, registered),
        lambda: _kernels(ground),
        lambda: _activations(ground),
        lambda: _editors(ground),
        lambda: _launches(ground),
        lambda: chosen_ways(ground),
        lambda: own_path_ways(ground),
        lambda: _batch_files(ground),
        lambda: project_ways(ground),
        lambda: launching_ways(ground),
        lambda: server_ways(ground),
        lambda: pm2_ways(ground),
        lambda: other_files(ground),
        lambda: files_opened_in_vain(ground),
        lambda: posix_variables(ground),
        lambda: starter_ways(ground, registered, variables),
        lambda: double_click_ways(ground, registered),
        lambda: ipython_ways(ground),
        lambda: flask_ways(ground),
        lambda: pytest_ways(ground),
        lambda: start_code_ways(ground),
        lambda: misnamed_settings(ground),
        lambda: refused_settings(ground),
        lambda: forbidden_settings(ground),
        lambda: own_settings_ways(ground),  # of two ways of one program, the first counts
    )


def _kernels(ground: Ground) -> Iterator[Reached]:
    join = ground.where.join
    homes = [join(base, "jupyter") for name in ("APPDATA", "PROGRAMDATA") if (base := variable_in(ground.env, name))]
    homes += [join(p.prefix, "share", "jupyter") for p in ground.pythons]
    for kernel in kernels_in(homes, ground):
        state = ground.session()
        state.files.append(kernel.path)
        for variable, value, line in kernel.variables:
            filled = fill(r"\$\{(\w+)\}", lambda m: state.values.get(m[1], m[0]), value)  # noqa: B023 - used at once
            state.export_variable(variable, filled, kernel.path, line, "json")
        prefix = next((p.prefix for p in ground.pythons if kernel.path.lower().startswith(p.prefix.lower() + "\\")), "")
        way = Reached(kind="notebook", at=kernel.path, state=state, prefix=prefix)
        yield with_notebooks(way, next(iter(kernel.argv), "").replace("/", "\\"), ground)


def _activations(ground: Ground) -> Iterator[Reached]:
    join = ground.where.join
    for python in ground.pythons:
        state = ground.session()
        if python.kind == "venv":
            python_of_batch(join(python.prefix, "Scripts", "activate.bat"), state, ground)
        elif python.kind == "conda":
            activate(python.prefix, Place(python.prefix), state, ground)
        else:
            continue
        yield Reached(kind="activation", at=python.prefix, state=state, prefix=python.prefix)


MOST_BATCH_FILES = 40


TERMINAL = "terminal.integrated.env.windows"


def _editors(ground: Ground) -> Iterator[Reached]:
    """Yield the terminals of the editors, by the person's settings and by those of the folder that is open."""
    base = variable_in(ground.env, "APPDATA")
    places = [ground.where.join(base, editor, "User", "settings.json") for editor in EDITORS if base]
    own = ground.where.join(ground.folder, ".vscode", "settings.json")
    for path in (*places, own):
        if (text := ground.read(path)) is None:
            continue
        state = ground.session(path)
        found = json_value(text)
        env = text_items(found, TERMINAL)
        if path == own and not env:
            continue
        for name, value in env:
            filled = filled_by_editor(value, state.values, ground)
            state.export_variable(name, filled, path, json_line(text, name, TERMINAL), "json")
        yield Reached(kind="editor", at=path, state=state)


def _launches(ground: Ground) -> Iterator[Reached]:
    """Yield launch.json's starts of Python."""
    for its in launches(ground, ground.session()):
        python, program = (its.told.get(name, "").replace("/", "\\") for name in ("python", "program"))
        way = Reached(kind="editor", at=its.at, state=its.state, prefix=_prefix_in(python, ground.pythons))
        yield launched(way, python, program, ground)


def _batch_files(ground: Ground) -> Iterator[Reached]:
    """Yield the batch files and the scripts of PowerShell of the working folder that start an environment's Python, or one that lacks what their program imports.

    Many name a Python of another machine: one that is gone is told where no other batch file, which it does not call, starts an environment.
    """
    names = [n for n in ground.around.names(ground.folder) if n.lower().endswith((".bat", ".cmd", SCRIPT))]
    gone: list[tuple[StartedFile, Reached]] = []
    whole: set[str] = set()
    called: set[str] = set()
    for name in names[:MOST_BATCH_FILES]:
        path = ground.where.join(ground.folder, name)
        state = ground.session()
        state.values["PWD"] = ground.folder
        if name.lower().endswith(SCRIPT):
            apply_profiles(EDITIONS["powershell"], state, ground)
            found = python_of_ps1(path, state, ground)
        else:
            found = python_of_batch(path, state, ground)
        if found is None or (found.relative and not found.ended_at and not folder_of_another_drive(state)):
            continue
        called |= {f for f in state.files if f != path}
        way = Reached(kind="script", at=path, state=state, prefix=prefix_among(found, ground.pythons), argv=(path,))
        if (found.is_gone and not found.launcher) or found.ended_by == "exits":
            gone.append((found, way))
            continue
        runs = tuple(with_kept_blanks(one, way, ground) for one in faults_of_start(found, way, ground))
        whole |= {path} if way.prefix and not runs else set()
        if way.prefix or runs:
            yield replace(way, runs=runs, folder=script_folder(found, state, ground))
    for found, way in gone:
        if way.at in called or whole - set(way.state.files):
            continue
        runs = faults_of_start(found, way, ground, gone_counts=True)
        if runs:
            yield replace(way, runs=tuple(with_kept_blanks(one, way, ground) for one in runs))


def _prefix_in(text: str, pythons: tuple[PythonEnvironment, ...]) -> str:
    """Return the environment whose python.exe a text names."""
    low = text.lower().replace("/", "\\")
    places = ("\\scripts\\python.exe", "\\scripts\\pythonw.exe", "\\python.exe", "\\pythonw.exe")
    return next((p.prefix for p in pythons for end in places if p.prefix.lower() + end in low), "")
