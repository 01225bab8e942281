"""What a batch system hands on to a job: Slurm, PBS, Grid Engine and LSF, by the options in the job's own comments.

Sources: sbatch(1), "--export"; qsub of PBS and of Grid Engine, "-V" and "-v"; bsub, "-env".
"""

from __future__ import annotations

import posixpath
import re

import msgspec

from core.host.startup.state import State, is_name
from core.probes.starting.commands.runners import OF_EACH, give_login
from core.probes.starting.machine import Ground, login_state
from core.probes.starting.shells import family, read_shell
from core.probes.sysroot import Sysroot


class BatchSystem(msgspec.Struct, frozen=True):
    """How the comments of a job, or the command that hands it in, tell its batch system which variables it gets."""

    mark: str
    """How such a comment begins."""
    command: str
    """The command that hands a job in."""
    option: str
    """What stands before names and assignments."""
    everything: str = ""
    """Option that hands on every variable; without it a job gets those of a new login."""


SYSTEMS = (
    BatchSystem("#SBATCH", "sbatch", "--export"),
    BatchSystem("#BSUB", "bsub", "-env"),
    BatchSystem("#PBS", "qsub", "-v", "-V"),
    BatchSystem("#$", "qsub", "-v", "-V"),
)
SUBMITTERS = frozenset(system.command for system in SYSTEMS)
"""Commands that hand jobs in."""


def is_job(text: str) -> bool:
    """Whether a script has options for a batch system in its comments."""
    return any(re.search(rf"(?m)^{re.escape(system.mark)}\s+-", text) for system in SYSTEMS)


def give_job_variables(
    text: str, path: str, state: State, ground: Ground, told: tuple[tuple[str, int], list[str]] | None = None
) -> None:
    """Let a state have what the batch system of a job hands on; no change for a script that is no job.

    ``told``: file and line of the command that hands it in, and its words; they count before the comments (sbatch(1)).
    """
    for system in SYSTEMS:
        rows = [
            (path, number, line[len(system.mark) :].strip())
            for number, line in enumerate(text.splitlines(), 1)
            if re.match(rf"{re.escape(system.mark)}\s+-", line)
        ]
        if told and posixpath.basename(told[1][0]) == system.command and (rows or system.command != "qsub"):
            words = told[1][1:]
            rows += [(*told[0], " ".join(words[n : n + 2])) for n, w in enumerate(words) if w.startswith("-")]
        if rows:
            _give(system, rows, state, ground)
            return


def handed_in(words: list[str], folder: str, where: Sysroot) -> list[str]:
    """Return what a command hands in: the first of its words that names a script there, or what /bin/sh runs (``sbatch --wrap``); empty for
    neither.
    """
    for number, word in enumerate(words[1:], 1):
        if word.startswith("--wrap"):
            text = word[7:] or " ".join(words[number + 1 : number + 2])
            return ["sh", "-c", text] if text else []
        path = posixpath.normpath(posixpath.join(folder, word))
        if not word.startswith("-") and where.is_file(path) and (where.read(path, 2) or b"") == b"#!":
            return [path]
    return []


def _give(system: BatchSystem, rows: list[tuple[str, int, str]], state: State, ground: Ground) -> None:
    listed = re.compile(rf"{re.escape(system.option)}[=\s]\s*(\"[^\"]*\"|'[^']*'|\S+)")
    told = [(path, number, found[1].strip("\"'")) for path, number, row in rows if (found := listed.match(row))]
    path, number, names = told[-1] if told else (*rows[0][:2], "")
    words = [w.strip() for w in names.split(",")]
    special = {w.upper() for w in words}
    if system.everything:
        keeps_all = any(row.split()[0] == system.everything for _path, _number, row in rows)
        logs_in = not keeps_all
    else:
        keeps_all = not told or "ALL" in special
        logs_in = "NONE" in special and not keeps_all
    if not keeps_all:
        state.keep_only({*OF_EACH, *(w.partition("=")[0] for w in words)}, path, number, "posix")
    if logs_in:
        _log_in(state, ground)
    for name, equals, value in (w.partition("=") for w in words):
        if equals and is_name(name):
            state.export_variable(name, value, path, number, "posix")


def _log_in(state: State, ground: Ground) -> None:
    """Give the variables of the node's own login shell."""
    login = login_state(ground)
    read_shell(ground, login, family(ground.person.shell) or "dash", login=True)
    give_login(state, login)
