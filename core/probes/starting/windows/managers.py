r"""The Python of ``uv run``, ``poetry run``, ``pdm run`` and ``pipenv run`` on Windows: that of the project's environment.

Sources: as of ``RUNNERS``; Poetry's documentation, "Configuration" (cache-dir), Pipenv's, "Virtualenv Location".
"""

from __future__ import annotations

import itertools
import ntpath

from core.common.late_pattern import late_pattern
from core.host.startup.state import State
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.runners import RUNNERS, environment_of_project, interpreter_in
from core.probes.starting.commands.script_metadata import own_requirements
from core.probes.starting.machine import Ground, folders_upward
from core.probes.starting.windows.batch_variables import value_of

_NAMES_A_PROGRAM = late_pattern(r"(?i)(?:.*[\\/])?pythonw?(?:\.exe)?|.*\.pyw?")
"""The word behind the options that names a Python or a program."""
OWN_ENVIRONMENT = ("--with", "--isolated", "--no-project", "--script", "--python", "-p")
"""Options of ``uv run`` with which the program has not the project's environment, or not it alone."""


def manager_of(words: list[str]) -> str:
    """Return the manager whose ``run`` a command is; empty for any other command."""
    name = ntpath.basename(words[0]).lower().removesuffix(".exe") if words[1:2] == ["run"] else ""
    return name if name in RUNNERS else ""


def with_own_packages(words: list[str], state: State, ground: Ground) -> StartedFile | None:
    """Return a program that ``uv run`` gives an environment with what its own metadata list."""
    here = ground.here(state)
    own = own_requirements(words[1:], here, ground.where) if manager_of(words) == "uv" else None
    return StartedFile("", "", arguments=(own[0],), requires=own[1]) if own else None


def run_in_project(words: list[str], at: tuple[str, int], state: State, ground: Ground) -> tuple[list[str], str]:
    """Return a manager's command with its environment's Python, and the project that uv installs first; ``at``: the command's file and line."""
    manager = manager_of(words)
    number = next((n for n, w in enumerate(words) if n > 1 and _NAMES_A_PROGRAM.fullmatch(w)), len(words))
    options, command = words[2:number], words[number:]
    if not command or any(o.partition("=")[0] in OWN_ENVIRONMENT for o in options):
        return [], ""
    prefix = environment_of_project(RUNNERS[manager], dict(itertools.pairwise(options)), state, ground)
    python = interpreter_in(prefix, ground) if prefix else ""
    if not python or not ground.where.is_file(python):
        return [], ""
    state.export_variable("VIRTUAL_ENV", prefix, *at, "assignments")
    path = f"{ntpath.dirname(python)};{value_of(state, 'PATH') or ''}"
    state.export_variable("PATH", path, *at, "assignments")
    rest = command if command[0].lower().endswith((".py", ".pyw")) else command[1:]
    here = ground.here(state)
    marked = (f for f in folders_upward(here) if ground.where.is_file(ntpath.join(f, "pyproject.toml")))
    return [python, *rest], next(marked, "") if manager == "uv" else ""
