"""Shells in tmux and screen, whose servers have variables of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from core.host.linux.files import variables_in
from core.host.startup.state import State, fill, is_name
from core.probes.starting.commands.runners import words_of
from core.probes.starting.machine import Ground
from core.probes.starting.shells import family, read_shell
from core.probes.starting.ways import Reached

SETS = ("set-environment ", "set-environment\t", "setenv ", "setenv\t")


def multiplexer_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield tmux (set-environment, tmux(1)) and screen (setenv, screen(1)), if a file configures one or a server runs."""
    for name, files in (
        ("tmux", ("/etc/tmux.conf", ground.at_home(".tmux.conf"), ground.config("tmux/tmux.conf"))),
        ("screen", ("/etc/screenrc", ground.at_home(".screenrc"))),
    ):
        state = terminal.apart()
        for path in files:
            if ground.read(path) is not None:
                _take(path, state, ground)
        if any(path in state.files for path in files[1:]) or state.lines != terminal.lines:
            read_shell(ground, state, family(ground.person.shell) or "dash", login=name == "tmux", interactive=True)
            yield Reached(kind="multiplexer", at=name, state=state)
    for name, pid, env in _running(ground):
        state = state_of_process(pid, env, terminal.values)
        read_shell(ground, state, family(ground.person.shell) or "dash", login=name == "tmux", interactive=True)
        yield Reached(kind="multiplexer", at=f"{name} (PID {pid})", state=state)


PROC = "/proc"
SERVERS = {b"tmux: server": "tmux", b"screen": "screen"}


def _running(ground: Ground) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the person's running servers: name, process number, and the variables that each was started with."""

    def is_one(comm: bytes, command: bytes) -> bool:
        return comm in SERVERS and (comm != b"screen" or command.startswith(b"SCREEN"))

    for comm, pid, _command, env in running_programs(ground, is_one):
        yield SERVERS[comm], pid, env


def running_programs(
    ground: Ground, is_one: Callable[[bytes, bytes], bool]
) -> Iterator[tuple[bytes, str, bytes, dict[str, str]]]:
    """Yield the person's running programs: name, process number, command line, and initial variables (proc(5)).

    ``is_one`` selects by name and command line. The command line is read only for names in NAMES.
    """
    where = ground.where
    for pid in [n for n in where.names(PROC) or () if n.isdigit()] if where.is_running_system else ():
        # Each process is read once, whoever calls this.
        comm = (ground.read(f"{PROC}/{pid}/comm") or "").strip().encode()
        if not comm.startswith(NAMES):
            continue
        seen = where.stat(f"{PROC}/{pid}")
        command = where.read(f"{PROC}/{pid}/cmdline", 4096) or b""
        if seen is None or seen.st_uid != ground.person.uid or not is_one(comm, command):
            continue
        told = (where.read(f"{PROC}/{pid}/environ", MOST_ENVIRON) or b"").decode("utf-8", "replace")
        if env := variables_in(told):
            yield comm, pid, command, env


def state_of_process(pid: str, env: dict[str, str], usual: dict[str, str]) -> State:
    """Return the variables of a running program; those that are not as usual are noted, without a line: it keeps what it was given."""
    state = State(dict(env), set(env))
    for name, value in env.items():
        if usual.get(name) != value:
            state.set_variable(name, value, f"{PROC}/{pid}/environ", 0, "assignments")
    return state


NAMES = (b"tmux: server", b"screen", b"jupyter", b"python")
"""First letters of the names of programs that pass their variables on to what they start."""
MOST_ENVIRON = 1 << 17


def _take(path: str, state: State, ground: Ground) -> None:
    """Apply the variables that a file sets."""
    state.files.append(path)
    for number, line in enumerate((ground.read(path) or "").splitlines(), 1):
        words = words_of(line.rstrip(" \\;")) if line.lstrip().startswith(SETS) else []
        first = next((n for n, w in enumerate(words[1:], 1) if not w.startswith("-")), len(words))
        options, names = "".join(w[1:] for w in words[1:first]), words[first:]  # The value may be -1.
        if not names or not is_name(names[0]):
            continue
        if "u" in options or "r" in options:
            state.unset_variable(names[0], path, number, "fish")
        elif len(names) > 1:
            value = re.sub(r"^~(?=/)", ground.person.home, names[1])
            value = fill(r"\$\{?(\w+)\}?", lambda m: state.values.get(m[1], ""), value)
            state.export_variable(names[0], value, path, number, "fish")
