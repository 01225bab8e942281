"""Files with which people start programs: desktop launchers, scripts, and programs named to the scan."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.host.startup.state import State
from core.model.facts import PythonEnvironment
from core.probes.programs.follow import find_named
from core.probes.starting.batch import give_job_variables
from core.probes.starting.commands import Line, StartedFile, python_of_command, words_of
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached

MOST_LAUNCHERS = 300
SCRIPTS = (".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".job", ".pbs", ".lsf")
"""Suffixes of shell scripts.

A batch system's jobs are scripts, and get the variables of the shell that submits them.
"""
AT_THE_START = ("/etc/rc.local", "/etc/rc.d/rc.local")
"""Scripts that run when the machine boots."""
MACHINES_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
MOST_SCRIPTS = 80
"""Maximum number of files read in one folder."""


def launcher_ways(ground: Ground, desktop: State, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield each launcher that starts an environment's Python (Desktop Entry Specification)."""
    data = ground.env.get("XDG_DATA_HOME") or ground.at_home(".local/share")
    folders = (f"{data}/applications", ground.at_home("Desktop"), ground.config("autostart"))
    for folder in (*folders, "/usr/local/share/applications"):
        for name in ground.around.names(folder)[:MOST_LAUNCHERS]:
            path = f"{folder}/{name}"
            if not name.endswith(".desktop") or (text := ground.read(path)) is None:
                continue
            entry = re.search(r"(?m)^Exec\s*=\s*(.+)$", text)
            if entry is None:
                continue
            state = desktop.copy()
            state.files = [*desktop.files, path]
            if (place := re.search(r"(?m)^Path\s*=\s*(.+)$", text)) is not None:
                state.values["PWD"] = place[1].strip()
            line = Line(path, text.count("\n", 0, entry.start()) + 1)
            words = [w for w in words_of(entry[1].replace("%%", "%")) if not re.fullmatch(r"%\w", w)]
            found = python_of_command(words, line, state, ground)
            if found and (prefix := own_prefix(found, pythons)):
                yield Reached(kind="launcher", at=path, state=state, prefix=prefix, argv=tuple(words))


def script_ways(
    ground: Ground, pythons: tuple[PythonEnvironment, ...], named: tuple[str, ...] = ()
) -> Iterator[Reached]:
    """Yield the scripts that start an environment's Python: named ones, and those in the person's working folder.

    A script gets this session's variables.
    """
    told = [*AT_THE_START, *(p for n in named if (p := find_named(n, ground.env, ground.where, ground.folder)))]
    folders = dict.fromkeys((ground.folder, ground.at_home("bin"), ground.at_home(".local/bin"), ground.person.home))
    near = [
        f"{folder}/{name}"
        for folder in folders
        if folder != "/"
        for name in [n for n in ground.around.names(folder) if n.endswith(SCRIPTS) or "." not in n][:MOST_SCRIPTS]
    ]
    for path in dict.fromkeys((*told, *near)):
        text = _script(path, ground)
        if text is None or not (re.search(r"python|\brun\b", text) or any(f"{p.prefix}/" in text for p in pythons)):
            continue
        boots = path in AT_THE_START
        state = State({"PATH": MACHINES_PATH}, {"PATH"}) if boots else State(dict(ground.env), set(ground.env))
        state.values["PWD"] = "/" if boots else ground.folder
        give_job_variables(text, path, state, ground)
        found = python_of_command([path], Line(path, 1), state, ground)
        if found and (prefix := own_prefix(found, pythons)):
            yield Reached(kind="service" if boots else "script", at=path, state=state, prefix=prefix, argv=(path,))


def _script(path: str, ground: Ground) -> str | None:
    """Return the text of a shell script; None if the file is not one."""
    if not ground.where.is_file(path):
        return None
    head = (ground.where.read(path, 256) or b"").partition(b"\n")[0].decode("utf-8", "replace")
    shell = re.match(r"#!.*(?:\b(?:ba|da|z|k)?sh\b|\benv\s.*=)", head) or (
        path.endswith(SCRIPTS) and not head.startswith(("#!", "\x7f"))
    )
    return ground.read(path) if shell else None


def own_prefix(found: StartedFile, pythons: tuple[PythonEnvironment, ...]) -> str:
    """Return the environment that a command starts; empty for a system's own Python."""
    places = [p for p in (found.prefix, found.real) if p]
    return next(
        (p.prefix for place in places for p in pythons if p.prefix == place and p.kind in ("venv", "conda")), ""
    )
