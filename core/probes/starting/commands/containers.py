"""What ``docker run`` gives the program that it starts: the variables of its options and of files, and none of the script's own.

Source: Docker's documentation, "docker container run" (--env, --env-file): such a file is read line by line, and quotation marks stay
part of the value, unlike in a file that Compose reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.host.startup.state import State, is_name
from core.probes.python.environment import prefix_of
from core.probes.starting.machine import Ground

ENGINES = ("docker", "podman", "nerdctl")
OF_A_ROOT = ("LD_", "PYTHON", "PATH", "HOME", "CUDA_HOME", "CUDA_PATH")
"""Starts of variables that name folders: in a container they name its own."""
OF_THE_MACHINE = ("/usr", "/usr/local", "/")
"""Places of a Python that each image has."""


def run_in_container(words: list[str], at: tuple[str, int], state: State, ground: Ground) -> list[str]:
    """Return the environment's Python that ``docker run`` starts, if it names one by its path; empty for any other command.

    The program's files are the image's, so only its variables are judged.
    """
    rest = words[1:] if words[:1] == ["container"] else words
    if rest[:1] != ["run"]:
        return []
    python = next((w for w in rest if _is_environments(w, ground)), "")
    if not python:
        return []
    options = rest[: rest.index(python)]
    given: list[tuple[str, str | None, str, int]] = []
    files: list[str] = []
    for option, value in _options(options):
        if option in ("-e", "--env"):
            name, equals, text = value.partition("=")
            given.append((name, text if equals else None, *at))
        elif option == "--env-file":
            path = state.place(value)
            if (text_of_file := ground.read(path)) is not None:
                state.files.append(path)
                files.append(path)
                given += _lines(text_of_file, path)
            elif ground.around.kind(path) == "missing":
                state.miss(path, *at, ends=True)
    handed = {name for name, value, _file, _line in given if value is None}
    for name in [n for n in state.lines if n not in handed]:
        state.lines.pop(name)  # what the script set stays outside
        state.values.pop(name, None)
        if name in ground.env:
            state.values[name] = ground.env[name]
    for name, told, file, line in given:
        if told is not None and is_name(name) and not name.startswith(OF_A_ROOT):
            state.export_variable(name, told, file, line, "assignments" if file in files else "python")
    return [python]


def _is_environments(word: str, ground: Ground) -> bool:
    if not re.fullmatch(r"/\S*/python[\d.]*", word) or not ground.where.is_file(word):
        return False
    return prefix_of(word, ground.where, ground.env) not in ("", *OF_THE_MACHINE)


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    for number, word in enumerate(words):
        short = re.fullmatch(r"-e([A-Za-z_]\w*(?:=.*)?)", word, re.DOTALL)
        name, equals, value = word.partition("=")
        if short:
            yield "-e", short[1]
        elif word.startswith("-"):
            yield name, value if equals else words[number + 1] if number + 1 < len(words) else ""


def _lines(text: str, path: str) -> Iterator[tuple[str, str | None, str, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.lstrip()
        if bare and not bare.startswith("#"):
            name, equals, value = bare.partition("=")
            yield name, value if equals else None, path, number
