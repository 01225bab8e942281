"""Files with which people start programs: desktop launchers, scripts, and programs named to the scan."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.state import State
from core.probes.programs.follow import find_named
from core.probes.starting.commands.batch import SUBMITTERS, give_job_variables
from core.probes.starting.commands.command_line import LAUNCHERS, Line, python_of_command, python_without_shell
from core.probes.starting.commands.runners import words_of
from core.probes.starting.commands.started_code import lacking_pythons, program_ways
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached

MOST_LAUNCHERS = 300
SCRIPTS = (".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".job", ".pbs", ".lsf")
"""Suffixes of shell scripts.

A batch system's jobs are scripts, and get the variables of the shell that submits them.
"""
OF_SCRIPTS = (
    "bin",
    "scripts",
    "script",
    "tools",
    "jobs",
    "slurm",
    "deploy",
    "run",
    "launch",
    "experiments",
    "service",
    "services",
)
"""Folders of a project with scripts; those without a suffix count in "bin" alone."""
AT_THE_START = ("/etc/rc.local", "/etc/rc.d/rc.local")
"""Scripts that run when the machine boots."""
OF_GIT = (".git/hooks", ".githooks", ".husky")
"""Folders with programs that git runs in the project's folder; git's own examples end in ".sample"."""
OF_PROGRAMS = ("", "bin", "scripts", "tools", "cgi-bin", *OF_GIT)
"""Folders of a project with programs that people start by their names."""
SUPERVISED = (
    "/etc/service",
    "/service",
    "/etc/sv",
    "/run/service",
    "/etc/s6/sv",
    "/etc/s6-overlay/s6-rc.d",
    "/etc/services.d",
)
"""Folders that runit, daemontools and s6 supervise: the program "run" in each folder there is a service."""
OF_A_PERSON = ("service", "sv", ".local/service", ".local/sv", ".config/service", ".config/sv", ".runit/sv")
"""The same, of a person or a project: the program that supervises them is started by the person."""
INITIAL = "/etc/init.d"
MACHINES_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
MOST_SCRIPTS = 80
"""Maximum number of files read in one folder."""
_MAY_START = late_pattern(rf"python|\brun\b|\b(?:{'|'.join(sorted(map(re.escape, (*LAUNCHERS, *SUBMITTERS))))})\b")
"""Without one of these words a script starts no Python."""


def launcher_ways(ground: Ground, desktop: State) -> Iterator[Reached]:
    """Yield each launcher that starts an environment's Python (Desktop Entry Specification)."""
    data = ground.env.get("XDG_DATA_HOME") or ground.at_home(".local/share")
    folders = (f"{data}/applications", ground.at_home("Desktop"), ground.config("autostart"))
    every = (*folders, "/usr/local/share/applications", "/etc/xdg/autostart")
    installed = [f"{folder}/{name}" for folder in every for name in ground.around.names(folder)[:MOST_LAUNCHERS]]
    for path in dict.fromkeys((*installed, *ground.kept(".desktop"))):
        if not path.endswith(".desktop") or (text := ground.read(path)) is None:
            continue
        entry = re.search(r"(?m)^Exec\s*=\s*(.+)$", text)
        if entry is None:
            continue
        state = desktop.apart(path)
        if (place := re.search(r"(?m)^Path\s*=\s*(.+)$", text)) is not None:
            state.values["PWD"] = place[1].strip()
        line = Line(path, text.count("\n", 0, entry.start()) + 1)
        words = [w for w in words_of(entry[1].replace("%%", "%")) if not re.fullmatch(r"%\w", w)]
        found = python_without_shell(words, line, state, ground)
        way = Reached(kind="launcher", at=path, state=state, argv=tuple(words))
        yield from program_ways(found, way, ground)


def script_ways(ground: Ground, named: tuple[str, ...] = ()) -> Iterator[Reached]:
    """Yield the scripts that start an environment's Python: named ones, and those in the person's working folder.

    A script gets this session's variables.
    """
    runs = [f"{f}/{n}/run" for f in SUPERVISED for n in ground.around.names(f)]
    first = [f"{INITIAL}/{n}" for n in ground.around.names(INITIAL)]
    places = (ground.folder, ground.person.home) if ground.folder != "/" else (ground.person.home,)
    supervised = [
        f"{p}/{f}/{n}/run" for p in dict.fromkeys(places) for f in OF_A_PERSON for n in ground.around.names(f"{p}/{f}")
    ]
    told = [
        *AT_THE_START,
        *first,
        *runs,
        *supervised,
        *(p for n in named if (p := find_named(n, ground.env, ground.where, ground.folder))),
    ]
    folders = dict.fromkeys((ground.folder, ground.at_home("bin"), ground.at_home(".local/bin"), ground.person.home))
    near = [
        f"{folder}/{name}"
        for folder in folders
        if folder != "/"
        for name in [n for n in ground.around.names(folder) if n.endswith(SCRIPTS) or "." not in n][:MOST_SCRIPTS]
    ]
    inner = {n: f"{ground.folder}/{n}" for n in OF_SCRIPTS if ground.folder not in ("/", ground.person.home)}
    near += [
        f"{folder}/{name}"
        for kind, folder in inner.items()
        for name in [n for n in ground.around.names(folder) if n.endswith(SCRIPTS) or (kind == "bin" and "." not in n)][
            :MOST_SCRIPTS
        ]
    ]
    near += [
        f"{ground.folder}/{f}/{n}" for f in OF_GIT for n in ground.around.names(f"{ground.folder}/{f}") if "." not in n
    ]
    for path in dict.fromkeys((*told, *near)):
        text = _script(path, ground)
        if text is None or not (
            any(f"{p.prefix}/" in text for p in ground.pythons) or (path not in first and _MAY_START.search(text))
        ):
            continue
        boots = path in AT_THE_START or path in runs or path in first
        state = State({"PATH": MACHINES_PATH}, {"PATH"}) if boots else ground.session()
        its_own = path in runs or path in supervised
        state.values["PWD"] = posixpath.dirname(path) if its_own else "/" if boots else ground.folder
        give_job_variables(text, path, state, ground)
        apart = state.values.get("PATH") != ground.env.get("PATH")
        found = python_of_command([path], Line(path, 1), state, ground)
        way = Reached(kind="service" if boots else "script", at=path, state=state, argv=(path,), apart=apart)
        yield from program_ways(found, way, ground)


def _script(path: str, ground: Ground) -> str | None:
    """Return the text of a shell script; None if the file is not one."""
    if not ground.where.is_file(path):
        return None
    head = (ground.where.read(path, 256) or b"").partition(b"\n")[0].decode("utf-8", "replace")
    shell = re.match(r"#!.*(?:\b(?:ba|da|z|k)?sh\b|\benv\s.*=)", head) or (
        path.endswith(SCRIPTS) and not head.startswith(("#!", "\x7f"))
    )
    return ground.read(path) if shell else None


def first_line_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the executable programs whose first line names a Python that lacks what they import.

    Those in the working folder, in its folders of programs and in the person's count.
    """
    if ground.folder == "/":
        return
    for folder in dict.fromkeys((*(posixpath.join(ground.folder, n) for n in OF_PROGRAMS), ground.at_home("bin"))):
        for name in [n for n in ground.around.names(folder) if n.endswith(".py") or "." not in n][:MOST_SCRIPTS]:
            path = posixpath.join(folder, name)
            about = ground.where.stat(path) if ground.where.is_file(path) else None
            if about is None or not about.st_mode & 0o111:
                continue
            head = (ground.where.read(path, 256) or b"").partition(b"\n")[0]
            if not re.match(rb"#!.*\b(?:python[\d.]*(?:\s|$)|uv\s+run\b)", head):
                continue
            state = ground.session()
            state.values["PWD"] = ground.folder
            found = python_of_command([path], Line(path, 1), state, ground)
            way = Reached(kind="script", at=path, state=state, argv=(path,))
            runs = tuple(r for r in lacking_pythons(found, way, ground) if r.sure) if found else ()
            if runs:  # else it has this session's variables, and nothing differs
                yield replace(way, runs=runs)
