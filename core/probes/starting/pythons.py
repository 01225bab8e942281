"""The Python that a way of starting runs, if the way seems to use one environment but leads to another."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from core.model.facts import StartedPython, path_text
from core.probes.programs.follow import find_named
from core.probes.programs.kernels import is_notebook
from core.probes.python.environment import describe_environment, prefix_of
from core.probes.starting.commands.named_pythons import lines_naming
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached

TYPED = ("python", "python3")


def pythons_of(way: Reached, ground: Ground) -> tuple[StartedPython, ...]:
    """Return each Python that it starts, with the environment that it seems to be; only if an environment seems meant."""
    if ground.where.system == "windows":
        return way.runs
    own = {ground.where.real_path(p.prefix): p.prefix for p in ground.pythons}
    if is_notebook(way.at):
        return way.runs
    found = _by_kernel(way, ground) if way.kind == "notebook" else _by_name(way, ground)
    return way.runs + tuple(
        StartedPython(
            name=one.name,
            path=path_text(one.path),
            prefix=path_text(own.get(ground.where.real_path(one.prefix), one.prefix)) if one.prefix else "",
            seems=own[seems],
            why=one.why,
            source=one.source,
            named_by=one.named_by,
            has=_packages(one, ground) if ground.where.real_path(one.prefix) not in own else None,
        )
        for one in found
        if (seems := ground.where.real_path(one.seems)) in own
    )


def _packages(one: StartedPython, ground: Ground) -> tuple[str, ...] | None:
    """Return the distributions of a Python that is not among the listed ones; None where there are none to read."""
    if not one.prefix:
        return None
    its = describe_environment(one.prefix, one.path, ground.env, ground.where)
    return None if its.problem else tuple(dict.fromkeys(d.name for d in its.distributions))


def _by_kernel(way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield a kernel's interpreter. Jupyter replaces a bare "python" by its own."""
    first = way.argv[0] if way.argv else ""
    if not way.seems or not first.startswith("/"):
        return
    if not re.match(r"python[\d.]*$", posixpath.basename(first)):
        return
    there = ground.where.is_file(first)
    yield StartedPython(
        name=first,
        path=first if there else "",
        prefix=prefix_of(first, ground.where, ground.env) if there else "",
        seems=way.seems,
        why="name" if way.named else "lies in it",
        source=way.at,
        named_by=lines_naming(first, way.at, ground.read(way.at) or ""),
    )


def _by_name(way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield what ``python`` and ``python3`` start while an environment is active: an alias first, then PATH."""
    values = way.state.values
    if way.kind == "activation":
        seems = way.at
        mine = values.get("VIRTUAL_ENV") or values.get("CONDA_PREFIX") or seems
        if "VIRTUAL_ENV" in way.state.open:
            mine = seems
        if ground.where.real_path(mine) != ground.where.real_path(seems) and not ground.where.is_folder(mine):
            return  # The environment was moved; its scripts report that.
    else:
        seems = values.get("VIRTUAL_ENV", "") if way.state.lines.get("VIRTUAL_ENV") else ""
    first = way.argv[0] if way.argv else ""
    if not seems or (first.startswith("/") and prefix_of(first, ground.where, values) == seems):
        return  # what starts is that environment's own program: no name is looked for
    for name in TYPED:
        if not ground.where.exists(posixpath.join(seems, "bin", name)):
            continue
        text, file, line = way.state.aliases.get(name, ("", "", 0))
        word = text.split()[0] if text.split() else name
        if "PATH" in way.state.open and not word.startswith("/"):
            continue
        path = find_named(word, {"PATH": values.get("PATH", "")}, ground.where, "/")
        if not path:
            continue
        rows = [r for r in way.state.lines.get("PATH", ()) if not r.overridden]
        last = rows[-1] if rows else None
        yield StartedPython(
            name=name,
            path=path,
            prefix=prefix_of(path, ground.where, values),
            seems=seems,
            why="activated" if way.kind == "activation" else "VIRTUAL_ENV",
            source=f"{file}:{line}" if file else f"{last.file}:{last.line}" if last else "",
        )
