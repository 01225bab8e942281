r"""Starts on Windows that end before their program runs, although the environment is there.

The reasons are: another batch file replaces the first one; the interpreter was removed; a task starts in another
folder than its files; an embeddable Python does not search its program's folder; a path without quotation marks ends
at a blank; the account of a service does not have the person's own packages.

Sources: Microsoft, "call" (Windows Commands): without it a batch file does not come back from another; Python's
documentation, "Finding modules" (a ._pth file names every folder).
"""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Collection, Iterable, Iterator

from msgspec.structs import replace

from core.host.startup.state import State
from core.model.facts import StartedPython, StartLine, path_text
from core.model.paths import is_inside
from core.probes.python.search.pth_text import folders_named
from core.probes.python.search.search_path import Interpreter, own_pth, read_interpreter, search_of_pth
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.lacking_modules import program_file
from core.probes.starting.commands.started_code import lacking_pythons, program_and_lacks, started_by_it, unsearched
from core.probes.starting.commands.unattended_starts import unattended_starts
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, ended_start
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.code_pages import misread_in_utf_8
from core.probes.starting.windows.command_lines import python_of_line
from core.probes.starting.windows.in_code_page import not_in_code_page
from core.probes.starting.windows.without_console import without_console


def faults_of_start(
    found: StartedFile, way: Reached, ground: Ground, *, gone_counts: bool = False
) -> tuple[StartedPython, ...]:
    """Return why a start comes to no Python, or to one that lacks what its program needs."""
    runs = tuple(ended_starts(found, way, ground)) or tuple(
        lacking_pythons(found, way, ground, gone_counts=gone_counts)
    )
    runs = runs or tuple(_named_in_utf_8(found, way, ground)) or tuple(_misset_search(found, way, ground))
    runs = runs or tuple(unsearched(found, way, ground))
    runs = runs or tuple(started_by_it(found, way, ground, _by_cmd(ground)) if way.prefix else ())
    home = next((p for p in ground.pythons if p.prefix == way.prefix and not found.is_gone), None)
    return runs or (*unattended_starts(found, way, ground, home), *without_console(found, way, ground, home))[:1]


def _by_cmd(ground: Ground) -> Callable[[str, str, int, State], StartedFile | None]:
    return lambda command, file, line, state: python_of_line(command, Place(file, line), state, ground)


def ended_starts(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield what ends this start, with the environment that it would have run in."""
    if found.ended_by in NOT_REACHED:
        yield from _not_reached(found, way, ground)
        return
    if found.ended_at and way.prefix:
        its, source = _its_python(found, way, ground), path_text(found.ended_at)
        first = path_text(found.first)
        yield (
            replace(its, name=first.partition(" ")[0], source=source, program=first, fault="blank")
            if found.ended_by == "blank"
            else replace(its, name="python", source=source, fault="without call")
        )
    if lost := _lost_here(found, way, ground):
        yield lost
        return
    if found.is_gone and not found.opens_store:
        named = found.launcher or found.path
        owner = next((p.prefix for p in ground.pythons if is_inside("windows", named, p.prefix)), "")
        if owner:
            yield StartedPython(
                name=path_text(found.path), path="", prefix="", seems=owner, why="lies in it", source=path_text(named)
            )
    yield from _folder_not_searched(found, way, ground)
    yield from _not_of_this_account(found, way, ground)
    yield from not_in_code_page(found, way, ground)


UNSTARTED = ("no command", "block", "bracket", "itself", "marks", "title")
NOT_REACHED = (*UNSTARTED, "exits", "not read", "policy")
"""Why a start does not come to its Python, whichever that is."""


def _not_reached(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield the end of a start before its Python, if an environment here has what the program imports."""
    goes_on = found.first.lower().endswith("activate.ps1")
    gone = replace(found, prefix="", real="", is_gone=True, by_name=False, launcher="")
    one = next(lacking_pythons(found if goes_on else gone, way, ground, gone_counts=True), None)
    own = way.prefix if found.ended_by in UNSTARTED else ""
    if seems := own or (one.seems if one else ""):
        source, program = found.ended_at, program_file(found)
        yield ended_start(seems, found.first, found.path, found.ended_by, "lies in it", source=source, program=program)


def _its_python(found: StartedFile, way: Reached, ground: Ground) -> StartedPython:
    return ended_start(way.prefix, ground.where.name(found.path), found.path, why="lies in it")


def folder_of_another_drive(state: State) -> str:
    """Return the folder that ``cd`` without /d named on another drive than the current one; empty for none."""
    here = ntpath.splitdrive(state.values.get("PWD") or "")[0].upper()
    return next((v for n, v in state.values.items() if n.startswith("=") and n[1:] != here), "")


BEGINS_WITH_THE_SESSION = "\\CurrentVersion\\Run"
UNATTENDED = ("task", "service")
"""Starts whose folder nobody chooses but who made them; without one it is System32."""


def _lost_here(found: StartedFile, way: Reached, ground: Ground) -> StartedPython | None:
    """Return the end of a start whose Python, or program, is named without a folder, and lies elsewhere than where it starts."""
    here = way.state.values.get("PWD") or ""
    elsewhere = folder_of_another_drive(way.state)
    is_link = way.kind == "launcher" and (way.at.lower().endswith(".lnk") or BEGINS_WITH_THE_SESSION in way.at)
    if not here or not (way.kind in UNATTENDED or is_link or elsewhere):
        return None
    named = found.relative or program_file(found)
    quoted = here.startswith('"')  # Windows knows no such folder, whatever the program's name
    if not named or "%" in named or not (quoted or not (ntpath.isabs(named) or ntpath.splitdrive(named)[0])):
        return None
    if ground.where.exists(ntpath.join(here, named)) and not quoted:
        return None
    folders = [elsewhere] if elsewhere else [here.strip('"')] if quoted else []
    folders += [ntpath.dirname(f) for f in way.state.files if f.lower().endswith((".bat", ".cmd", ".ps1"))]
    folders += [ntpath.dirname(p) for p in (way.prefix, found.prefix) if p] + [ground.folder]
    meant = next((f for f in dict.fromkeys(folders) if ground.where.is_file(ntpath.join(f, named))), "")
    if not meant:
        return None
    python = ntpath.normpath(ntpath.join(meant, named)) if found.relative else found.path
    owner = way.prefix or next((p.prefix for p in ground.pythons if is_inside("windows", python, p.prefix)), "")
    if not owner:
        return None
    return ended_start(owner, named, python, "not in this folder", "lies in it", source=here, program=meant)


def _folder_not_searched(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    interpreter = read_interpreter(way.prefix, found.path, ground.where) if way.prefix and not found.is_gone else None
    pth = own_pth(interpreter, ground.where) if interpreter else ""
    if not pth:
        return
    program, lacks = program_and_lacks(found, way, ground)
    folder = ntpath.dirname(program)
    beside = _lying_in((folder,), lacks, ground)
    if beside:
        yield replace(
            _its_python(found, way, ground),
            source=path_text(pth),
            program=path_text(program),
            lacks=beside,
            fault="folder not searched",
        )
        return
    row = _pythonpath(way)
    folders = [f for f in row.value.split(";") if f] if row else []
    named = _lying_in(folders, lacks, ground)
    if named:
        yield replace(
            _its_python(found, way, ground),
            source=path_text(pth),
            program=path_text(program),
            lacks=named,
            misset=row,
            fault="variable not read",
        )
        return
    for row in _lines_not_read(interpreter, pth, ground) if interpreter and lacks else ():
        led = _lying_in((row.value,), lacks, ground)
        if led:
            its = _its_python(found, way, ground)
            source, program = path_text(pth), path_text(program)
            yield replace(its, source=source, program=program, lacks=led, misset=row, fault="pth files not read")
            return


def _lines_not_read(python: Interpreter, pth: str, ground: Ground) -> Iterator[StartLine]:
    """Yield the lines with a folder of .pth files that Python does not read, since its ._pth file does not import site."""
    where = ground.where
    entries = search_of_pth(python, pth, where).entries
    if any(e.origin != "._pth" for e in entries):
        return
    for file, number, folder in (named for e in entries for named in folders_named(e.path, where)):
        yield StartLine(
            name=where.name(file), does="prepend", value=path_text(folder), file=path_text(file), line=number
        )


def _misset_search(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield the start whose program lacks modules that lie where a line for PYTHONPATH means to lead, which has no effect, or another one."""
    rows = [r for r in way.state.ignored if r.name.strip().upper() == "PYTHONPATH"]
    last = _pythonpath(way)
    rows += [last] if last and last.file and any(e != _bare(e) for e in last.value.split(";")) else []
    program, lacks = program_and_lacks(found, way, ground) if rows and way.prefix else ("", ())
    for row in rows if lacks else ():
        folders = [_bare(e) for e in _bare(row.value).split(";")]
        led = _lying_in(folders, lacks, ground)
        if led:
            its = _its_python(found, way, ground)
            where, program = path_text(f"{row.file}:{row.line}"), path_text(program)
            yield replace(its, source=where, program=program, lacks=led, misset=row, fault="line without effect")
            return


def _named_in_utf_8(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield the start whose batch file names its Python, its folder or its program by letters that cmd.exe takes for others."""
    files = [f for f in way.state.files if f.lower().endswith((".bat", ".cmd"))]
    texts = {f: ground.read(f) or "" for f in files} if way.prefix and not found.is_gone else {}
    if any("chcp" in text.lower() for text in texts.values()):
        return
    here = way.state.values.get("PWD") or ""
    for place in dict.fromkeys((here, found.path, ntpath.join(here, program_file(found)))):
        odd = [part for part in place.split("\\") if not part.isascii()]
        for file, text in texts.items():
            if odd and all(p in text for p in odd) and misread_in_utf_8(ground.where.read(file) or b"", text):
                its = _its_python(found, way, ground)
                yield replace(its, name=path_text(place), source=path_text(file), fault="batch in UTF-8")
                return


def _bare(entry: str) -> str:
    return entry.strip().strip('"').strip()


def _pythonpath(way: Reached) -> StartLine | None:
    """Return the line that gives PYTHONPATH its value; one without a file where the session has it."""
    name, value = next(((n, v) for n, v in way.state.values.items() if n.upper() == "PYTHONPATH"), ("", ""))
    if not value or name in way.state.open:
        return None
    rows = [r for r in way.state.lines.get(name, ()) if not r.overridden]
    return rows[-1] if rows else StartLine(name=name, does="set", value=value, file="", line=0)


OF_AN_ACCOUNT = ("APPDATA", "PYTHONUSERBASE", "LOCALAPPDATA")
"""Variables by which Python finds the packages of a person (PEP 370)."""


def _not_of_this_account(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield the modules that a program of another account lacks, and would have with the person's variables."""
    its, mine = ({n.upper(): v for n, v in env.items()} for env in (way.state.values, ground.env))
    home = next((p for p in ground.pythons if p.prefix == way.prefix), None)
    if way.kind not in UNATTENDED or home is None or found.is_gone or its.get("APPDATA") == mine.get("APPDATA"):
        return
    program, lacks = program_and_lacks(found, way, ground)
    if not lacks:
        return
    state = way.state.copy()
    state.values = {n: v for n, v in state.values.items() if n.upper() not in OF_AN_ACCOUNT}
    own_variables = {n: v for n, v in ground.env.items() if n.upper() in OF_AN_ACCOUNT}
    state.values |= own_variables
    state.exported |= set(own_variables)
    _program, then = program_and_lacks(found, replace(way, state=state), ground)
    own = tuple(n for n in lacks if n not in then)
    folder = next((f for f in home.site_packages if not is_inside("windows", f, home.prefix)), "")
    if own and folder:
        yield replace(
            _its_python(found, way, ground),
            source=path_text(folder),
            program=path_text(program),
            lacks=own,
            fault="not of this account",
        )


def _lying_in(folders: Collection[str], modules: Iterable[str], ground: Ground) -> tuple[str, ...]:
    """Return the modules whose file, or whose package's start, lies in one of some folders."""
    files = [(f, tail) for f in folders for tail in (".py", "\\__init__.py")]
    return tuple(m for m in modules if any(ground.where.is_file(ntpath.join(f, m + tail)) for f, tail in files))
