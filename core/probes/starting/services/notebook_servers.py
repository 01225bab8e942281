"""Running Jupyter servers: their kernels get the variables that the server was started with, not current ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.host.startup.state import State, is_name
from core.probes.python.search.start_code import variable_lines
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.machine import Ground
from core.probes.starting.services.multiplexers import running_programs, state_of_process
from core.probes.starting.ways import Reached, notebook_ways

MOST_SERVERS = 4


def server_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield the kernels of the person's running servers whose variables differ from those of a new terminal."""
    for number, (_comm, pid, _command, env) in enumerate(running_programs(ground, _is_server)):
        if number >= MOST_SERVERS:
            return
        for way in notebook_ways(ground, state_of_process(pid, env, terminal.values)):
            yield replace(way, at=f"PID {pid}: {way.at}")


SETTINGS = ("jupyter_config.py", "jupyter_server_config.py", "jupyter_notebook_config.py", "jupyter_lab_config.py")
"""Code that Jupyter's server runs when it starts (jupyter_core's documentation, "Config dir")."""


def with_server_settings(ground: Ground, terminal: State) -> State:
    """Return what a server hands its kernels: a terminal's variables, and those that its own settings set in Python code."""
    own = ground.env.get("JUPYTER_CONFIG_DIR") or ground.at_home(".jupyter")
    folders = ("/etc/jupyter", "/usr/local/etc/jupyter", *(f"{p.prefix}/etc/jupyter" for p in ground.pythons), own)
    found = [f"{folder}/{n}" for folder in folders for n in ground.around.names(folder) if n in SETTINGS]
    names = ((path, PathNames(path, home=ground.person.home, env=terminal.values)) for path in found)
    rows = [(path, row) for path, its in names for row in variable_lines(ground.read(path) or "", its)]
    if not rows:
        return terminal
    state = terminal.apart(*dict.fromkeys(path for path, _row in rows))
    for path, (name, value, line) in rows:
        if is_name(name):
            state.export_variable(name, value, path, line, "python")
    return state


def _is_server(comm: bytes, command: bytes) -> bool:
    words = command.split(b"\0")[:4]
    named = any(re.search(rb"(^|/)jupyter(-lab|-notebook|-server|lab)?$|^jupyterlab$|^notebook$", w) for w in words)
    return named and (comm.startswith(b"jupyter") or any(w in (b"lab", b"notebook", b"server", b"-m") for w in words))
