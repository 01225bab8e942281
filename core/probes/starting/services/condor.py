"""Jobs that a file describes for HTCondor: the program, its arguments, and the variables that it gets.

Source: HTCondor's manual, "Submitting a Job" and condor_submit(1) (executable, arguments, environment, getenv, initialdir).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from core.host.startup.state import State, is_name
from core.probes.starting.commands.command_line import Line, python_of_command
from core.probes.starting.commands.runners import OF_EACH, words_of
from core.probes.starting.commands.started_code import program_ways
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached

ENDS = (".sub", ".submit", ".condor", ".jdl")
MOST_FILES = 20
ELSEWHERE = ("docker", "container", "vm", "grid")
"""Universes whose jobs run on another system."""


def condor_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the jobs of the working folder that start a Python."""
    if ground.folder in ("/", ""):
        return
    for name in [n for n in ground.around.names(ground.folder) if n.endswith(ENDS)][:MOST_FILES]:
        path = f"{ground.folder}/{name}"
        text = ground.read(path)
        told = _commands(text) if text is not None else {}
        universe = told.get("universe", ("", 0))[0].lower()
        if "executable" not in told or universe in ELSEWHERE or {"docker_image", "container_image"} & set(told):
            continue
        executable, line = told["executable"]
        state = _state(told, path, ground)
        words = [
            posixpath.join(state.values["PWD"], executable),
            *words_of(told.get("arguments", ("", 0))[0].strip('"')),
        ]
        found = python_of_command(words, Line(path, line), state, ground)
        way = Reached(kind="script", at=path, state=state, argv=tuple(words))
        yield from program_ways(found, way, ground)


def _commands(text: str) -> dict[str, tuple[str, int]]:
    """Return the commands of a description, by their names in small letters, each with its value and line."""
    found: dict[str, tuple[str, int]] = {}
    for number, row in enumerate(text.splitlines(), 1):
        if pair := re.match(r"[ \t]*([A-Za-z_]\w*)[ \t]*=[ \t]*(.*?)[ \t]*$", row):
            found[pair[1].lower()] = (pair[2], number)
    return found


def _state(told: dict[str, tuple[str, int]], path: str, ground: Ground) -> State:
    state = ground.session(path)
    getenv, line = told.get("getenv", ("", told["executable"][1]))
    if getenv.lower() not in ("true", "yes", "1"):
        state.keep_only({*OF_EACH, *(n.strip() for n in getenv.split(","))}, path, line, "posix")
    given, line = told.get("environment", ("", 0))
    pairs = words_of(given.strip('"')) if given.startswith('"') else given.split(";")
    for name, equals, value in (p.strip().partition("=") for p in pairs):
        if equals and is_name(name):
            state.export_variable(name, value, path, line, "posix")
    folder = told.get("initialdir", ("", 0))[0]
    state.values["PWD"] = posixpath.normpath(posixpath.join(ground.folder, folder))
    return state
