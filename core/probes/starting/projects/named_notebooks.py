"""Notebooks that a person named, and those of the working folder: each runs with the kernel that it asks for, if that is here."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from core.common.syntax_tree import statements_of
from core.host.startup.state import State
from core.knowledge.modules import module_table
from core.model.facts import PythonEnvironment, StartedPython, path_text
from core.probes.programs.follow import find_named
from core.probes.programs.kernels import (
    NATIVE,
    Kernel,
    Notebook,
    has_kernel,
    has_server,
    is_notebook,
    kernel_of,
    read_notebook,
)
from core.probes.python.environment import prefix_of
from core.probes.python.text.module_text import packages_imported
from core.probes.starting.commands.command_line import Line, StartedFile, language, python_of_text
from core.probes.starting.commands.lacking_modules import has_module, modules_of
from core.probes.starting.commands.started_code import lacking_pythons, own_prefix, program_ways, unsearched
from core.probes.starting.commands.unseen_activations import means_to_activate, no_environment_is_active
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, notebook_ways, settings_files

MOST_NEAR, MOST_BYTES = 20, 2 << 20
"""Notebooks of the working folder that are read, and how long each may be: one with many pictures is left out."""


def named_notebook_ways(ground: Ground, terminal: State, named: tuple[str, ...]) -> Iterator[Reached]:
    """Yield each named notebook with the variables of its kernel.

    Its Python may lack what the notebook imports, or its kernel may not be installed. Of the other notebooks in the
    working folder, those are yielded whose kernel lacks a framework, or starts a Python that was removed.
    """
    likely = sorted(
        (p for p in ground.pythons if p.kind in ("venv", "conda")), key=lambda p: (not p.is_named, not p.is_wanted)
    )
    found = [find_named(n, ground.env, ground.where, ground.folder) for n in named if is_notebook(n)]
    for path in filter(None, found):
        notebook = read_notebook(path, ground.where)
        if notebook is None:
            continue
        kernel = kernel_of(notebook.kernel, [p.prefix for p in likely], ground.env, ground.where)
        if kernel is not None:
            yield _in_kernel(path, notebook, kernel, ground, terminal)
        elif seems := _environment_for(notebook, ground, likely):
            one = StartedPython(
                name=path_text(notebook.kernel), path="", prefix="", seems=seems, why="kernel", source=path_text(path)
            )
            yield replace(_way(path, terminal, ground), runs=(one,))
    frameworks = {row.module for row in module_table().modules}
    for path in notebooks_near(ground):
        notebook = None if path in found else read_notebook(path, ground.where, MOST_BYTES)
        if notebook is None or not frameworks.intersection(packages_imported(statements_of(notebook.code))):
            continue
        kernel = kernel_of(notebook.kernel, [p.prefix for p in likely], ground.env, ground.where)
        if kernel is not None and (kernel.file or kernel.python):
            way = _in_kernel(path, notebook, kernel, ground, terminal)
            # "python3" is what every notebook asks for at first: an environment that has ipykernel runs it, too, where Jupyter or
            # an editor is started with that environment; one without cannot
            asked = notebook.kernel.lower() not in NATIVE
            runs = [
                replace(one, sure=one.sure and (asked or bool(one.command) or not has_kernel(one.seems, ground.where)))
                for one in way.runs
                if one.fault or (one.command and one.sure) or (kernel.file and frameworks.intersection(one.lacks))
            ]
            if runs:
                yield replace(way, runs=tuple(runs))


def notebooks_near(ground: Ground) -> list[str]:
    """Return the first notebooks of the working folder, and of the folders in it."""
    if not ground.is_in_project:
        return []
    join, around = ground.where.join, ground.around
    folders = [
        n for n in around.names(ground.folder) if n[:1] not in "._" and around.kind(join(ground.folder, n)) == "folder"
    ]
    places = [ground.folder, *(join(ground.folder, n) for n in folders[:MOST_NEAR])]
    return [join(place, n) for place in places for n in around.names(place) if is_notebook(n)][:MOST_NEAR]


def _may_move(ground: Ground) -> bool:
    """Whether an editor starts kernels in another folder than the notebook's (VS Code's jupyter.notebookFileRoot)."""
    return any("notebookFileRoot" in (ground.read(path) or "") for path in settings_files(ground))


def _way(path: str, terminal: State, ground: Ground) -> Reached:
    state = terminal.apart()
    state.values["PWD"] = ground.where.parent(path)
    return Reached(kind="notebook", at=path, state=state)


def _in_kernel(path: str, notebook: Notebook, kernel: Kernel, ground: Ground, terminal: State) -> Reached:
    """Return a notebook with the variables of its kernel, and the Python that lacks what it imports, or is gone."""
    spec = next((w for w in notebook_ways(ground, terminal) if w.at == kernel.file), None)
    if spec is not None:
        spec.state.values["PWD"] = ground.where.parent(path)
    there = ground.where.is_file(kernel.python)
    found = StartedFile(
        kernel.python,
        prefix_of(kernel.python, ground.where, ground.env) if there else "",
        ground.where.real_path(kernel.python) if there else "",
        (path,),
        is_gone=not there,
    )
    way = spec or _way(path, terminal, ground)
    way = Reached(kind="notebook", at=path, state=way.state, prefix=own_prefix(found, ground.pythons))
    known = kernel.python and not notebook.installs
    runs = lacking_pythons(found, way, ground, gone_counts=True) if known else ()
    told = tuple(replace(one, source=path_text(kernel.file or path)) for one in runs)
    if not told and known and not notebook.moves and not _may_move(ground):
        told = tuple(unsearched(found, way, ground))
    return replace(way, runs=told or tuple(_started_by_cells(notebook, way, ground)))


def _started_by_cells(notebook: Notebook, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield the Python that a cell starts by its bare name: it has the PATH of Jupyter's server, not the kernel's folder.

    An editor, and a server of the kernel's own environment, are started with that environment.
    """
    if not way.prefix or ground.where.system == "windows":
        return
    alone = no_environment_is_active(ground) and not has_server(way.prefix, ground.where)
    alone = alone and not ground.where.is_folder(ground.where.join(ground.folder, ".vscode"))
    before: list[str] = []
    for shell, command in notebook.shells:
        state = way.state.apart()
        its = Reached(
            kind="task",
            at=way.at,
            state=state,
            text=command,
            shell=language(shell, ground),
            apart=True,
            before=tuple(before),
        )
        before.append(command)
        found = None if "{" in command else python_of_text(command, Line(way.at, 1), state, ground, shell=shell)
        runs = next((w.runs for w in program_ways(found, its, ground)), ()) if found and found.by_name else ()
        if runs:
            yield replace(
                runs[0], sure=alone or means_to_activate(its, ground), named_by=(), command=path_text(command)
            )
            return


def _environment_for(notebook: Notebook, ground: Ground, pythons: list[PythonEnvironment]) -> str:
    """Return the first environment that has all the packages which a notebook imports and any of them has; empty if none has."""
    wanted = [
        m
        for m in packages_imported(statements_of(notebook.code))
        if any(m in modules_of(d.name for d in p.distributions) for p in pythons)
    ]
    return next((p.prefix for p in pythons if all(has_module(p, m, ground) for m in wanted)), "")
