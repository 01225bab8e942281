"""What a way of starting runs: an environment of this machine, or another Python that lacks what the program imports.

Files are only read.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.posix import ShellReader
from core.host.startup.state import State
from core.knowledge.modules import module_table
from core.model.facts import PythonEnvironment, StartedPython, StartLine, path_text
from core.probes.programs.follow import find_named
from core.probes.python.installed.distributions import normalise_name, required_name
from core.probes.starting.commands.any_commands import commands_in, named_variables
from core.probes.starting.commands.batch import is_job
from core.probes.starting.commands.command_line import (
    LAUNCHERS,
    Line,
    StartedFile,
    python_of_text,
)
from core.probes.starting.commands.dead_activations import activated_apart, dead_activation, finds_no_conda
from core.probes.starting.commands.lacking_modules import (
    folder_of_start,
    has_module,
    may_come,
    modules_of,
    not_searched,
    options_of_python,
    program_and_lacking_modules,
    program_file,
)
from core.probes.starting.commands.named_pythons import lines_naming
from core.probes.starting.commands.unattended_starts import (
    OF_LOGINS,
    OF_TERMINALS,
    STARTED_BY_NOBODY,
    unattended_starts,
)
from core.probes.starting.commands.unseen_activations import (
    is_double_clicked,
    is_same_everywhere,
    may_lead_elsewhere,
    no_environment_is_active,
    own_rows,
)
from core.probes.starting.machine import Ground, login_state
from core.probes.starting.projects.launching_code import named_pythons_started
from core.probes.starting.ways import Reached, ended_start

MOST_DEPTH = 4
"""Steps from a listed requirement to what it brings."""
WINDOWS_OWN = ("service", "task", "launcher")
"""The same on Windows, where tasks are the scheduler's, and launchers are shortcuts and what begins with the session."""


def program_ways(found: StartedFile | None, way: Reached, ground: Ground) -> Iterator[Reached]:
    """Yield a way that starts an environment, or a Python that lacks what the program imports; nothing for any other."""
    if found is None:
        return
    if found.without and (way.kind in STARTED_BY_NOBODY or way.apart):
        found = replace(found, path=found.without, prefix="", real="", is_gone=True, by_name=True)
    prefix = own_prefix(found, ground.pythons)
    if not found.ended_at:
        runs = tuple(lacking_pythons(found, way, ground)) or tuple(unsearched(found, way, ground))
        runs = runs or tuple(started_by_it(found, way, ground, _in_sh(ground)) if prefix or not found.prefix else ())
        runs = runs or tuple(_in_another_folder(found, way, ground))
        runs = (
            runs or tuple(unattended_starts(found, way, ground, home_of(found, ground.pythons)) if prefix else ())[:1]
        )
    elif prefix:
        runs = (_not_reached(found, prefix),)
    else:
        lacking = lacking_pythons(found, way, ground, gone_counts=True)
        runs = tuple(_not_reached(found, one.seems) for one in lacking)
    if prefix or runs:
        yield replace(way, prefix=prefix, runs=runs, folder=script_folder(found, way.state, ground))


def _in_sh(ground: Ground) -> Callable[[str, str, int, State], StartedFile | None]:
    return lambda command, file, line, state: python_of_text(command, Line(file, line), state, ground, shell="sh")  # noqa: S604 - nothing is run


def _not_reached(found: StartedFile, prefix: str) -> StartedPython:
    """Return the environment's Python to which a way of starting does not come."""
    name, program = found.first or posixpath.basename(found.path), program_file(found)
    return ended_start(prefix, name, found.path, found.ended_by, "activated", source=found.ended_at, program=program)


def unsearched(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield the environment's Python if it does not search the folder of what its program imports: by an option, or since that lies above
    the program.
    """
    home = home_of(found, ground.pythons)
    if home is None or found.requires is not None or may_lead_elsewhere(found, way, ground):
        return
    lost = not_searched(found, way, ground, home)
    if lost:
        program, option, lacks, folder = lost
        yield ended_start(home.prefix, option, found.path, "not searched", source=folder, program=program, lacks=lacks)


def started_by_it(
    found: StartedFile, way: Reached, ground: Ground, follow: Callable[[str, str, int, State], StartedFile | None]
) -> Iterator[StartedPython]:
    """Yield what an environment's program starts by a bare name, or one in another language by any, if it lacks what that program imports.

    Windows searches PATH first only in a shell.
    """
    program = program_file(found)
    place = ground.where.path_module.normpath(ground.where.join(ground.here(way.state), program or "."))
    of_python = bool(found.prefix)
    if not program or (of_python and not place.endswith(".py")):
        return
    text = ground.read_file(place) or ""
    calls = named_pythons_started(text, ground) if of_python else ((n, c, True) for n, c in commands_in(text, place))
    for line, command, by_shell in calls:
        its = replace(way, state=way.state.apart(), text=command)
        its.state.open |= set() if of_python else named_variables(text)
        counts = by_shell or ground.where.system != "windows"
        child = follow(command, place, line, its.state) if counts else None
        for one in lacking_pythons(child, its, ground) if child and (child.by_name or not of_python) else ():
            yield replace(one, source=path_text(f"{place}:{line}"), named_by=())
            return


LOST_FOLDER = late_pattern(r"[@-]{0,2}cd[ \t]+([\w./-]+)[ \t]*")
"""A command that goes to a folder, in a shell of its own."""


def _in_another_folder(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield the Python of a job of cron, or of a recipe that went to a folder in another line, if its program is not where it starts."""
    here = folder_of_start(way, ground)
    if way.kind not in ("cron", "task") or not here or ground.where.system == "windows":
        return
    if not ground.where.is_folder(here):
        return  # of another machine
    went = [m[1] for row in way.before if (m := LOST_FOLDER.fullmatch(row))] if way.text else []
    folders = [posixpath.normpath(posixpath.join(ground.folder, f)) for f in went]
    if way.kind == "cron" or folders:
        one = without_program(found, here, way, ground, folders)
        yield from [one] if one else []


def without_program(
    found: StartedFile, here: str, way: Reached, ground: Ground, folders: Collection[str] = ()
) -> StartedPython | None:
    """Return the Python that starts in a folder (``here``) in which its program is not; None if the program is
    nowhere else.

    The program is looked for in ``folders``; without them, in the working folder and beside the environment.
    """
    program = program_file(found)
    prefix = own_prefix(found, ground.pythons)
    join, is_file = ground.where.join, ground.where.is_file
    if not program.endswith(".py") or program.startswith("/") or found.ended_at or is_file(join(here, program)):
        return None
    places = folders or (ground.folder, posixpath.dirname(prefix))
    meant = next((f for f in places if f and is_file(join(f, program))), "")
    if not prefix and meant:
        state = way.state.apart()
        state.values["PWD"] = meant
        prefix = next((p.seems for p in lacking_pythons(found, replace(way, state=state), ground)), "")
    if not prefix or not meant:
        return None
    one = ended_start(prefix, program, found.path, "program not there", source=here, program=meant)
    return replace(one, prefix=path_text(found.prefix))


def script_folder(found: StartedFile, state: State, ground: Ground) -> str:
    """Return the folder in which a started Python searches for modules first: its program's, else the one in which it starts.

    It is empty where nothing is searched first (``-I``, ``-P``), or where the command does not show what runs.
    """
    words = found.arguments
    letters, kind, named = options_of_python(words)
    if set(letters) & set("IPS") or not named:
        return ""
    paths = ground.where.path_module
    here = ground.here(state)
    place = paths.normpath(paths.join(here, named))
    return paths.dirname(ground.where.real_path(place)) if kind == "file" else here


def home_of(found: StartedFile, pythons: tuple[PythonEnvironment, ...]) -> PythonEnvironment | None:
    """Return the environment whose Python starts; None if it was not examined."""
    return next((p for p in pythons if p.prefix in (found.prefix, found.real) and p.prefix), None)


def own_prefix(found: StartedFile, pythons: tuple[PythonEnvironment, ...]) -> str:
    """Return the environment that a command starts; empty for a system's own Python."""
    places = [p for p in (found.prefix, found.real) if p]
    return next(
        (p.prefix for place in places for p in pythons if p.prefix == place and p.kind in ("venv", "conda")), ""
    )


def lacking_pythons(
    found: StartedFile, way: Reached, ground: Ground, *, gone_counts: bool = False
) -> Iterator[StartedPython]:
    """Yield the Python that a way starts if it lacks modules that the program imports and that an environment here has.

    ``gone_counts``: one that is gone is told of this way in any case.
    """
    if found.requires is not None:
        yield from _with_own_packages(found, way, ground)
        return
    where = ground.where
    homes = [
        p
        for p in ground.pythons
        if where.real_path(p.prefix) != where.real_path(found.prefix or "/") and p.distributions
    ]
    unattended = WINDOWS_OWN if where.system == "windows" else STARTED_BY_NOBODY
    start_up = start_up_that_ends(found, way, ground, homes)
    if found.by_name and not start_up:
        start_up = activated_apart(own_rows(way, ground), way, ground)
    nobody_activates = gone_counts or way.kind in unattended or (found.by_name and (way.apart or bool(start_up)))
    runs = bool(found.prefix) or (found.is_gone and nobody_activates)
    by_path = where.system == "windows" and found.is_gone and not found.by_name
    if found.relative or not runs or not homes or (not by_path and may_lead_elsewhere(found, way, ground)):
        return
    program, lacks = program_and_lacking_modules(found, way, ground, homes)
    relevant = [n for n in lacks if any(n in modules_of(d.name for d in p.distributions) for p in homes)]
    if found.project and any(may_come(n, found.project, ground) for n in relevant):
        return
    having = [p for p in homes if relevant and all(has_module(p, n, ground) for n in relevant)]
    if having:
        seems, dead = having[0], start_up or dead_activation(way, ground)
        no_conda = bool(dead) and not start_up and finds_no_conda(dead, way, ground)
        yield StartedPython(
            name=path_text(found.path) if found.is_gone else where.name(found.path),
            path="" if found.is_gone else path_text(found.path),
            prefix=path_text(found.prefix),
            seems=seems.prefix,
            why="imports",
            source=_chosen_by(found, way) or way.at,
            program=path_text(program),
            lacks=tuple(relevant),
            named_by=_named_by(found, way, ground) if len(having) == 1 else (),
            sure=no_environment_is_active(ground)
            if found.opens_store
            else bool(start_up)
            or is_same_everywhere(found, way, ground)
            or _is_not_beside(found, seems, ground)
            or (seems.kind != "conda" and is_double_clicked(way, ground))
            or (bool(dead) and way.at.lower().endswith(".ps1"))
            or no_conda,
            command=path_text(found.launcher),
            brought_by=path_text(_brought_by(found, seems, ground)),
            dead=path_text(dead),
            finds_no_conda=no_conda,
            fault="opens the Store" if found.opens_store else "",
        )


def start_up_that_ends(found: StartedFile, way: Reached, ground: Ground, homes: Collection[PythonEnvironment]) -> str:
    """Return the start-up file that a job reads for its PATH, and that ends there: a shell of a terminal gets an environment by it.

    Most begin with lines that leave a shell without a terminal (Debian's and Ubuntu's .bashrc).
    """
    alone = way.kind in STARTED_BY_NOBODY or way.apart or is_job(ground.read(way.at.partition(": ")[0]) or "")
    if ground.where.system == "windows" or not found.by_name or not alone:
        return ""
    for file in way.state.files:
        if posixpath.basename(file) not in (*OF_TERMINALS, *OF_LOGINS):
            continue
        shown = login_state(ground)
        ShellReader(ground.around, shown, "zsh" if ".z" in file else "bash", interactive=True).read_files(file)
        named = find_named(posixpath.basename(found.path), {"PATH": shown.values.get("PATH", "")}, ground.where, "/")
        prefix = posixpath.dirname(posixpath.dirname(named))
        if named and ground.where.real_path(prefix) in {ground.where.real_path(p.prefix) for p in homes}:
            return file
    return ""


def _with_own_packages(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield a program with metadata of its own if they do not list what it imports and an environment here has."""
    homes = [p for p in ground.pythons if p.distributions and p.kind in ("venv", "conda")]
    program, lacks = program_and_lacking_modules(found, way, ground, homes) if homes else ("", ())
    brought = set(found.requires or ())
    known = [d for p in homes for d in p.distributions]
    if brought - {d.name for d in known} and not found.tool:
        return  # what else these bring is not known
    for _depth in range(MOST_DEPTH):
        brought |= {required_name(w) for d in known if d.name in brought for w in (*d.requires, *d.pins)}
    relevant = tuple(n for n in lacks if n not in modules_of(brought))
    if found.tool:  # what it brings is not known, but no framework
        frameworks = {row.module for row in module_table().modules} - {"numpy"}
        relevant = tuple(n for n in relevant if n in frameworks)
    having = [p for p in homes if relevant and all(has_module(p, n, ground) for n in relevant)]
    if having:
        name, python = ground.where.name(program), having[0]
        one = ended_start(python.prefix, name, python.executable, "own packages", source=program, program=program)
        yield replace(one, prefix="", lacks=relevant, command=found.tool)


def _is_not_beside(found: StartedFile, seems: PythonEnvironment, ground: Ground) -> bool:
    """Whether PATH led to a launcher that the other environment lacks: activating that one leads to no other."""
    where = ground.where
    name = where.name(found.arguments[0]) if found.arguments else ""
    return found.by_name and name in LAUNCHERS and not where.is_file(where.join(seems.prefix, "bin", name))


def _brought_by(found: StartedFile, seems: PythonEnvironment, ground: Ground) -> str:
    """Return the package of a command's own name in the environment that has it; empty where the other one has the command, too."""
    where = ground.where
    file = where.name(found.launcher)
    if not file or not found.prefix or where.is_file(where.join(seems.prefix, "Scripts", file)):
        return ""
    command = normalise_name(file.removesuffix(".exe"))
    for name in where.names(where.join(found.prefix, "Lib", "site-packages")) or ():
        its, _dash, version = name.removesuffix(".dist-info").partition("-")
        if name.endswith(".dist-info") and normalise_name(its) == command and version:
            return f"{command} {version}"
    return ""


def _named_by(found: StartedFile, way: Reached, ground: Ground) -> tuple[StartLine, ...]:
    """Return the lines of the way's own file that name the Python, as the command has it."""
    file = way.at.partition(": ")[0]
    text = ground.read(file) or ""
    words = [
        found.path,
        *(w for w in way.argv[:1] if found.real and "/" in w and ground.where.real_path(w) == found.real),
    ]
    words += [posixpath.basename(found.path)] if found.by_name else []
    return next((rows for w in dict.fromkeys(words) if (rows := lines_naming(w, file, text))), ())


def program_and_lacks(found: StartedFile, way: Reached, ground: Ground) -> tuple[str, tuple[str, ...]]:
    """Return the program that a Python of this machine starts, and the modules that its import lacks."""
    return program_and_lacking_modules(found, way, ground, [*ground.pythons]) if found.prefix else ("", ())


def _chosen_by(found: StartedFile, way: Reached) -> str:
    """Return file and line of the variable that led to a Python by its path; empty if none did."""
    for rows in way.state.lines.values():
        for row in (r for r in rows if not r.overridden and r.name != "PATH"):
            if len(row.value) > 1 and (
                found.path == row.value or found.path.startswith(f"{row.value.rstrip('/')}/bin/")
            ):
                return path_text(f"{row.file}:{row.line}")
    return ""
