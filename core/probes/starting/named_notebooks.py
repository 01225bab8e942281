"""Notebooks that a person named: each runs with the kernel that it asks for, if that is here."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec.structs import replace

from core.host.startup.state import State
from core.model.facts import PythonEnvironment, StartedPython, path_text
from core.probes.programs.follow import find_named
from core.probes.programs.kernels import Notebook, is_notebook, kernel_of, read_notebook
from core.probes.python.environment import prefix_of
from core.probes.starting.commands import StartedFile
from core.probes.starting.machine import Ground
from core.probes.starting.started_code import has_module, lacking_pythons, modules_of, own_prefix
from core.probes.starting.ways import Reached, notebook_ways


def named_notebook_ways(
    ground: Ground, terminal: State, pythons: tuple[PythonEnvironment, ...], named: tuple[str, ...]
) -> Iterator[Reached]:
    """Yield each named notebook with the variables of its kernel, the Python that lacks what it imports, or the kernel that is not here."""
    likely = sorted(
        (p for p in pythons if p.kind in ("venv", "conda")), key=lambda p: (not p.is_named, not p.is_wanted)
    )
    for text in (n for n in named if is_notebook(n)):
        path = find_named(text, ground.env, ground.where, ground.folder)
        notebook = read_notebook(path, ground.where) if path else None
        if notebook is None:
            continue
        state = terminal.copy()
        state.files = [*terminal.files]
        state.values["PWD"] = ground.where.parent(path)
        way = Reached(kind="notebook", at=path, state=state)
        kernel = kernel_of(notebook.kernel, [p.prefix for p in likely], ground.env, ground.where)
        if kernel is None:
            if seems := _environment_for(notebook, ground, likely):
                one = StartedPython(
                    name=path_text(notebook.kernel),
                    path="",
                    prefix="",
                    seems=seems,
                    why="kernel",
                    source=path_text(path),
                )
                yield replace(way, runs=(one,))
            continue
        spec = next((w for w in notebook_ways(ground, terminal, pythons) if w.at == kernel.file), None)
        if spec is not None:
            state = spec.state
            state.values["PWD"] = ground.where.parent(path)
        there = ground.where.is_file(kernel.python)
        found = StartedFile(
            kernel.python,
            prefix_of(kernel.python, ground.where, ground.env) if there else "",
            ground.where.real_path(kernel.python) if there else "",
            (path,),
            is_gone=not there,
        )
        way = Reached(kind="notebook", at=path, state=state, prefix=own_prefix(found, pythons))
        known = there and kernel.python and not notebook.installs
        yield replace(way, runs=tuple(lacking_pythons(found, way, ground, pythons)) if known else ())


def _environment_for(notebook: Notebook, ground: Ground, pythons: list[PythonEnvironment]) -> str:
    """Return the first environment that has all the packages which a notebook imports and any of them has; empty if none has."""
    wanted = [
        m for m in _imported(notebook.code) if any(m in modules_of(d.name for d in p.distributions) for p in pythons)
    ]
    return next((p.prefix for p in pythons if all(has_module(p, m, ground) for m in wanted)), "")


def _imported(code: str) -> list[str]:
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: dict[str, None] = {}
    for node in body:
        match node:
            case ast.Import(names=names):
                found |= {n.name.partition(".")[0]: None for n in names}
            case ast.ImportFrom(level=0, module=str(module)):
                found[module.partition(".")[0]] = None
            case _:
                pass
    return list(found)
