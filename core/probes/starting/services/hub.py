"""Notebooks that JupyterHub starts: they get few of its server's variables, and those of its configuration.

Source: JupyterHub's documentation, "Spawners" (Spawner.env_keep, Spawner.environment), and "The Littlest JupyterHub".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import nodes_of
from core.host.startup.state import State
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, notebook_ways

CONFIGURATIONS = (
    "/etc/jupyterhub/jupyterhub_config.py",
    "/srv/jupyterhub/jupyterhub_config.py",
    "/opt/jupyterhub/etc/jupyterhub/jupyterhub_config.py",
    "/opt/tljh/config/jupyterhub_config.py",
)
SERVERS_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


KEPT = (
    "PATH",
    "PYTHONPATH",
    "CONDA_ROOT",
    "CONDA_DEFAULT_ENV",
    "VIRTUAL_ENV",
    "LANG",
    "LC_ALL",
    "JUPYTERHUB_SINGLEUSER_APP",
)
"""What a notebook's server gets of the hub's variables (Spawner.env_keep)."""
OF_EACH = ("HOME", "USER", "SHELL", "PWD")
ELSEWHERE = late_pattern(r"\bspawner_class\b.*(?:docker|swarm|kube|ecs|yarn|ssh|slurm|batch)", re.IGNORECASE)
"""Spawners that start notebooks in another root or on another machine."""


def hub_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the kernels as JupyterHub starts them, if it is configured on this machine.

    A hub of the machine has the variables of a service: PATH only. One that is configured in the working folder is started there,
    with this session's variables, and hands on those that it keeps.
    """
    near = () if ground.folder in ("/", "") else (f"{ground.folder}/jupyterhub_config.py",)
    for path in dict.fromkeys((*near, *CONFIGURATIONS)):
        if (text := ground.read(path)) is None or ELSEWHERE.search(text):
            continue
        person = ground.person
        of_person = {"HOME": person.home, "USER": person.name, "SHELL": person.shell}
        values = {**ground.env, **of_person} if path in near else {**of_person, "PATH": SERVERS_PATH}
        state = State(values, set(values))
        state.files.append(path)
        kept, line = kept_variables(text)
        given = list(notebook_variables(text, values))
        for name in [n for n in values if n not in kept and n not in OF_EACH]:
            if name in {n for n, _value, _line in given}:
                state.values.pop(name)
            else:
                state.unset_variable(name, path, line, "python")
        for name, value, number in given:
            state.export_variable(name, value, path, number, "json")
        ways = list(notebook_ways(ground, state))
        for way in ways:
            yield replace(way, at=f"{path}: {way.at}")
        if not ways and path in near and (prefix := _only_one(ground)):
            yield Reached(kind="notebook", at=path, state=state, prefix=prefix)  # a server's own kernel needs no file


def _only_one(ground: Ground) -> str:
    """Return the active environment, or else the only one that is here."""
    own = [p.prefix for p in ground.pythons if p.kind in ("venv", "conda")]
    active = [p for p in own if p in (ground.env.get("VIRTUAL_ENV"), ground.env.get("CONDA_PREFIX"))]
    return active[0] if active else own[0] if len(own) == 1 else ""


def kept_variables(text: str) -> tuple[frozenset[str], int]:
    """Return which of its variables a hub hands on, and the line that says so, else 1."""
    kept, line = set(KEPT), 1
    for node in nodes_of(text):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="env_keep")], value=ast.List() | ast.Tuple() as told):
                kept, line = _texts(told), node.lineno
            case ast.AugAssign(target=ast.Attribute(attr="env_keep"), value=told):
                kept, line = kept | _texts(told), node.lineno
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="env_keep"), attr="append" | "extend"), args=[told]
            ):
                kept, line = kept | _texts(told), node.lineno
            case _:
                pass
    return frozenset(kept), line


def _texts(node: ast.expr) -> set[str]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def notebook_variables(text: str, hub: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
    """Yield each variable that a configuration sets for notebooks, as (name, value, line); ``hub``: the hub's own variables."""
    names = PathNames("", env=hub)
    for node in nodes_of(text):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="environment")], value=ast.Dict() as told):
                yield from names.variables_of(told)
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="environment"), attr="update"), args=[ast.Dict() as told]
            ):
                yield from names.variables_of(told)
            case ast.Assign(
                targets=[
                    ast.Subscript(value=ast.Attribute(attr="environment"), slice=ast.Constant(value=str() as name))
                ],
                value=value,
            ):
                yield name, names.text_of(value), node.lineno
            case _:
                pass
