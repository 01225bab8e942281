"""Notebooks that JupyterHub starts: they get few of its server's variables, and those of its configuration.

Source: JupyterHub's documentation, "Spawners" (Spawner.env_keep, Spawner.environment) and "The Littlest JupyterHub".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec.structs import replace

from core.host.startup.state import State
from core.model.facts import PythonEnvironment
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, notebook_ways

CONFIGURATIONS = (
    "/etc/jupyterhub/jupyterhub_config.py",
    "/srv/jupyterhub/jupyterhub_config.py",
    "/opt/jupyterhub/etc/jupyterhub/jupyterhub_config.py",
    "/opt/tljh/config/jupyterhub_config.py",
)
SERVERS_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def hub_ways(ground: Ground, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield the kernels as JupyterHub starts them, if it is configured on this machine.

    The hub has the variables of a service: PATH only. No other variable of env_keep exists there.
    """
    near = () if ground.folder in ("/", "") else (f"{ground.folder}/jupyterhub_config.py",)
    for path in dict.fromkeys((*near, *CONFIGURATIONS)):
        if (text := ground.read(path)) is None:
            continue
        person = ground.person
        values = {"HOME": person.home, "USER": person.name, "SHELL": person.shell, "PATH": SERVERS_PATH}
        state = State(values, set(values))
        state.files.append(path)
        for name, value, line in notebook_variables(text):
            state.set_variable(name, value, path, line, "json")
            state.exported.add(name)
        for way in notebook_ways(ground, state, pythons):
            yield replace(way, at=f"{path}: {way.at}")


def notebook_variables(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each variable that a configuration sets for notebooks, as (name, value, line); only constant strings."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="environment")], value=ast.Dict() as told):
                yield from _of_dict(told)
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="environment"), attr="update"), args=[ast.Dict() as told]
            ):
                yield from _of_dict(told)
            case ast.Assign(
                targets=[
                    ast.Subscript(value=ast.Attribute(attr="environment"), slice=ast.Constant(value=str() as name))
                ],
                value=ast.Constant(value=str() as value),
            ):
                yield name, value, node.lineno


def _of_dict(told: ast.Dict) -> Iterator[tuple[str, str, int]]:
    for key, value in zip(told.keys, told.values, strict=True):
        match key, value:
            case ast.Constant(value=str() as name), ast.Constant(value=str() as text):
                yield name, text, value.lineno
