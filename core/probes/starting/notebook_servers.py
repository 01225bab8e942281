"""Running Jupyter servers: their kernels get the variables that the server was started with, not current ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.host.startup.state import State
from core.model.facts import PythonEnvironment
from core.probes.starting.machine import Ground
from core.probes.starting.multiplexers import PROC, running_programs
from core.probes.starting.ways import Reached, notebook_ways

MOST_SERVERS = 4


def server_ways(ground: Ground, terminal: State, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield the kernels of the person's running servers whose variables differ from those of a new terminal."""
    for number, (_comm, pid, _command, env) in enumerate(running_programs(ground, _is_server)):
        if number >= MOST_SERVERS:
            return
        state = State(dict(env), set(env))
        for name, value in env.items():
            if terminal.values.get(name) != value:
                state.set_variable(
                    name, value, f"{PROC}/{pid}/environ", 0, "assignments"
                )  # No line: the server keeps the variables that it started with.
        for way in notebook_ways(ground, state, pythons):
            yield replace(way, at=f"PID {pid}: {way.at}")


def _is_server(comm: bytes, command: bytes) -> bool:
    words = command.split(b"\0")[:4]
    named = any(re.search(rb"(^|/)jupyter(-lab|-notebook|-server|lab)?$|^jupyterlab$|^notebook$", w) for w in words)
    return named and (comm.startswith(b"jupyter") or any(w in (b"lab", b"notebook", b"server", b"-m") for w in words))
