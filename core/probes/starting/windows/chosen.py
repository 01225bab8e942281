r"""Programs on Windows that run a person's files in a Python that somebody chose for them: an editor's interpreter, a notebook's kernel.

Where that Python lacks a framework that a program of the working folder imports, and an environment here has it, the way says so.
Sources: VS Code's documentation, "Python settings reference" (python.defaultInterpreterPath); Spyder's, "Using an existing environment";
Thonny's configuration.ini; JetBrains' jdk.table.xml; Jupyter's, "Kernel specs".
"""

from __future__ import annotations

import ntpath
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.variable_names import variable_in
from core.host.startup.plain import json_line
from core.knowledge.modules import module_table
from core.model.facts import StartedPython, path_text
from core.model.paths import is_inside
from core.probes.programs.follow import find_named
from core.probes.programs.kernels import NATIVE, has_kernel, read_notebook
from core.probes.starting.commands.started_code import lacking_pythons, unsearched
from core.probes.starting.commands.unattended_starts import unattended_starts
from core.probes.starting.machine import Ground
from core.probes.starting.projects.chosen_pythons import (
    MOST_PROGRAMS,
    Chosen,
    chosen_in_pycharm,
    chosen_in_spyder,
    chosen_in_thonny,
    chosen_in_vscode,
    command_for_code_runner,
    settings_in_vscode,
    told_by,
)
from core.probes.starting.projects.named_notebooks import MOST_BYTES, notebooks_near
from core.probes.starting.ways import Reached, filled_by_editor
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import prefix_among, python_of_line
from core.probes.starting.windows.command_words import words_of_line
from core.probes.starting.windows.double_click import does_something


def chosen_ways(ground: Ground) -> Iterator[Reached]:
    """Yield each editor whose settings name a Python that lacks a framework which a program of the working folder imports."""
    if not ground.is_in_project or ground.folder.rstrip("\\").count("\\") < 1:
        return
    names = ground.programs(MOST_PROGRAMS)
    programs = [p for n in names if does_something(ground.read(p := ntpath.join(ground.folder, n)) or "")]
    for chosen in _chosen(ground) if programs else ():
        state = ground.session()
        state.values["PWD"] = ground.folder
        way = Reached(kind="editor", at=path_text(chosen.at), state=state)
        for program in programs:
            if runs := tuple(told_by(one, chosen) for one in _lacking(chosen.python, program, way, ground)):
                yield replace(way, runs=runs)
                break


def with_notebooks(way: Reached, python: str, ground: Ground) -> Reached:
    """Return a kernel's way, with its Python if that is gone or lacks what a notebook near the working folder for this kernel imports, or if
    that is in a folder above the notebook's.
    """
    name = ntpath.basename(ntpath.dirname(way.at))
    if not ntpath.isabs(python):
        return way
    for path in notebooks_near(ground):
        notebook = read_notebook(path, ground.where, MOST_BYTES)
        if notebook is None or notebook.installs or notebook.kernel.lower() != name.lower():
            continue
        state = way.state.copy()
        state.values["PWD"] = ntpath.dirname(path)
        at_work = replace(way, state=state)
        lacking = _lacking(python, path, at_work, ground, gone_counts=True)
        # a dead "python3" of the person's does not matter to an environment that has that kernel itself
        replaced = name.lower() in NATIVE and not ground.where.is_file(python)
        runs = tuple(
            replace(one, sure=one.sure and not (replaced and has_kernel(one.seems, ground.where))) for one in lacking
        )
        if not runs and not notebook.moves and not _may_move(ground):
            found = python_of_line(f'"{python}" "{path}"', Place(way.at), state, ground)
            runs = tuple(unsearched(found, at_work, ground)) if found else ()
        if runs:
            return replace(way, runs=runs)
    return way


def _may_move(ground: Ground) -> bool:
    """Whether an editor starts kernels in another folder than the notebook's (VS Code's jupyter.notebookFileRoot)."""
    return any("notebookFileRoot" in text for _path, text, _told in settings_in_vscode(ground))


def launched(way: Reached, python: str, program: str, ground: Ground) -> Reached:
    """Return the way of a debugger's configuration, with its Python if that lacks what its program imports, or starts in another folder.

    A Python that was removed counts only if its path is in the working folder: other files often name the Python of
    another machine.
    """
    if not ntpath.isabs(python) or not ntpath.isabs(program):
        return way
    state = way.state.copy()
    state.values.setdefault("PWD", ground.folder)
    its = replace(way, state=state)
    runs = (*_lacking(python, program, its, ground, gone_counts=is_inside("windows", python, ground.folder)),)
    home = next((p for p in ground.pythons if p.prefix == way.prefix and way.prefix), None)
    found = python_of_line(f'"{python}" "{program}"', Place(way.at), state, ground) if home and not runs else None
    return replace(way, runs=runs or (*unattended_starts(found, its, ground, home),)[:1] if found else runs)


def _lacking(
    python: str, program: str, way: Reached, ground: Ground, *, gone_counts: bool = False
) -> Iterator[StartedPython]:
    """Yield what a Python lacks of the frameworks that a program imports; ``gone_counts``: one that is gone lacks all."""
    found = python_of_line(f'"{python}" "{program}"', Place(way.at), way.state, ground)
    if found is None or (found.is_gone and not gone_counts):
        return
    if not found.is_gone and not found.prefix and prefix_among(found, ground.pythons):
        return
    frameworks = {row.module for row in module_table().modules}
    its = Reached(kind=way.kind, at=way.at, state=way.state, argv=(found.path, *found.arguments))
    for one in lacking_pythons(found, its, ground, gone_counts=gone_counts):
        if frameworks.intersection(one.lacks):
            yield one


def _chosen(ground: Ground) -> Iterator[Chosen]:
    """Yield the interpreters that were chosen for the working folder, or in an editor that has one for all."""
    yield from chosen_in_vscode(ground)
    yield from _by_code_runner(ground)
    home = variable_in(ground.env, "USERPROFILE") or ground.person.home
    config = variable_in(ground.env, "APPDATA") or ntpath.join(home, "AppData", "Roaming")
    yield from chosen_in_spyder((ntpath.join(home, ".spyder-py3", "config", "spyder.ini"),), ground)
    yield from chosen_in_thonny((ntpath.join(config, "Thonny", "configuration.ini"),), ground)
    yield from chosen_in_pycharm(
        ntpath.join(ground.folder, ".idea", "misc.xml"), ntpath.join(config, "JetBrains"), home, ground
    )


def _by_code_runner(ground: Ground) -> Iterator[Chosen]:
    """Yield the Python of Code Runner's command, found by PATH: only a terminal's may be the one that the Python extension activates."""
    path, text, told = next(settings_in_vscode(ground))
    words = words_of_line(filled_by_editor(command_for_code_runner(told), ground.env, ground))
    if not words or words[0].startswith("$"):
        return
    python = find_named(words[0], {"PATH": variable_in(ground.env, "PATH")}, ground.where, ground.folder)
    activates = told.get("code-runner.runInTerminal") is True and told.get(ACTIVATES) is not False
    if python:
        line = json_line(text, "python", "code-runner.executorMap")
        yield Chosen(path, python, line, sure=not activates or ntpath.isabs(words[0]))


ACTIVATES = "python.terminal.activateEnvironment"
