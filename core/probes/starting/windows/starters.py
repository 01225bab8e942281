r"""What Windows itself starts programs by: services, scheduled tasks, shortcuts, and what begins with the session.

A service or a task of the system's accounts gets the machine's variables; one of the person's, and a shortcut, get the person's. A start
that leads to no Python is left out: it is some other program's.

Sources: [MS-TSCH], section 2.4.1 (the XML of a task: Principal's UserId, and Exec's Command, Arguments and WorkingDirectory); Microsoft, "Run and
RunOnce Registry Keys"; NSSM's manual, "Environment variables".
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, XMLParser

from msgspec.structs import replace

from core.common.variable_names import variable_in
from core.host.startup.state import State
from core.host.windows.environment import compose_environment, expand_variables
from core.model.facts import RegisteredStart, StartedPython, StartKind, Variable
from core.probes.programs.shortcuts import MOST_BYTES, read_shortcut, shortcut_files, target_of
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.lacking_modules import program_file
from core.probes.starting.commands.started_code import script_folder
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, ended_start
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import prefix_among, python_of_line
from core.probes.starting.windows.ended import faults_of_start

MOST_TASKS, MOST_FOLDERS = 400, 80
OF_SYSTEM = re.compile(
    r"S-1-5-(?:18|19|20)|(?:nt authority\\)?(?:local ?system|system|(?:local|network) ?service)", re.IGNORECASE
)
"""Accounts of the system, in a task's UserId."""
FOLDERS_OF_ACCOUNTS = {"USERPROFILE": "", "APPDATA": "AppData\\Roaming", "LOCALAPPDATA": "AppData\\Local"}
"""Variables that name folders of an account -> where they are in its profile."""
STARTS_PYTHON = re.compile(
    r"python|\.bat\b|\.cmd\b|\bcmd(?:\.exe)?\b|\bpyw?(?:\.exe)?\b|\b(?:powershell|pwsh)(?:\.exe)?\b", re.IGNORECASE
)
"""In a command line that may lead to a Python; all others are left alone."""


def starter_ways(
    ground: Ground, registered: tuple[RegisteredStart, ...], variables: tuple[Variable, ...]
) -> Iterator[Reached]:
    """Yield each way by which Windows starts a Python. ``variables``: those of every scope, as the registry has them."""
    for one in registered:
        yield from _registered(one, ground, variables)
    yield from _tasks(ground, variables)
    yield from _shortcuts(ground)
    yield from _batch_files_of_explorer(ground)


def _way(way: Reached, command: str, at: Place, ground: Ground) -> Iterator[Reached]:
    """Yield a way whose command leads to a Python of this machine, or to one that lacks what the program imports."""
    if STARTS_PYTHON.search(command):
        yield from way_to(python_of_line(command, at, way.state, ground), way, ground, gone_counts=True)


def way_to(found: StartedFile | None, way: Reached, ground: Ground, *, gone_counts: bool = False) -> Iterator[Reached]:
    """Yield the way that leads to a Python of this machine, or to one that lacks what the program imports, or to one that is gone."""
    if found is None or (found.is_gone and not gone_counts):
        return
    prefix = prefix_among(found, ground.pythons)
    its = Reached(kind=way.kind, at=way.at, state=way.state, prefix=prefix, argv=(found.path, *found.arguments))
    runs = faults_of_start(found, its, ground)
    if prefix or runs:
        yield replace(its, runs=runs, folder=script_folder(found, way.state, ground))


# --- the registry --------------------------------------------------------------------------------------------------------


def _registered(one: RegisteredStart, ground: Ground, variables: tuple[Variable, ...]) -> Iterator[Reached]:
    if one.kind in ("prompt", "association", "policy") or not STARTS_PYTHON.search(one.command):
        return
    mine = one.kind == "logon" or ntpath.basename(one.account).lower() == ground.person.name.lower() != ""
    env = dict(ground.env) if mine else _environment_of_system(variables)
    state = State({} if one.only else env, set() if one.only else set(env), separator=";")
    if one.only:
        for name in ("SystemRoot", "SystemDrive"):
            state.values |= {n: v for n, v in env.items() if n.upper() == name.upper()}
        state.exported |= set(state.values)
    state.files.append(one.key)
    for row in one.variables:
        name, _equals, text = row.partition("=")
        state.export_variable(name, expand_variables(text, {**env, **state.values}), one.key, 0, "assignments")
    state.values["PWD"] = one.folder or _system_folder(env)
    command = expand_variables(one.command, env)
    kind: StartKind = "service" if one.kind == "service" else "launcher"
    for way in _way(Reached(kind=kind, at=one.key, state=state), command, Place(one.key), ground):
        yield replace(way, runs=(*_no_service(way, ground),)) if one.itself and way.prefix and not way.runs else way


ANSWERS = re.compile(r"servicemanager|win32service|StartServiceCtrlDispatcher", re.IGNORECASE)
"""In a program that is a service: it answers the service manager, which else ends it after 30 seconds (error 1053)."""


def _no_service(way: Reached, ground: Ground) -> Iterator[StartedPython]:
    program = program_file(StartedFile("", "", arguments=way.argv[1:]))
    place = ntpath.normpath(ntpath.join(ground.here(way.state), program)) if program.endswith(".py") else ""
    folder = ntpath.dirname(place)
    beside = (
        [n for n in ground.around.names(folder) if n.endswith(".py")][:MOST_BESIDE]
        if ground.where.is_file(place)
        else []
    )
    if beside and not any(ANSWERS.search(ground.read(ntpath.join(folder, n)) or "") for n in beside):
        name, source = ntpath.basename(program), way.at
        yield ended_start(way.prefix, name, way.argv[0], "no service", source=source, program=program)


MOST_BESIDE = 40


def _environment_of_system(variables: tuple[Variable, ...]) -> dict[str, str]:
    """Return the machine's variables, with the folders of the account LocalSystem in place of the person's."""
    env = compose_environment(v for v in variables if v.scope in ("process", "machine"))
    profile = ntpath.join(_system_folder(env), "config", "systemprofile")
    folders = {f: ntpath.join(profile, below) for f, below in FOLDERS_OF_ACCOUNTS.items()}
    return {n: folders.get(n.upper(), v) for n, v in env.items()}


def _system_folder(env: dict[str, str]) -> str:
    root = variable_in(env, "SYSTEMROOT", "C:\\Windows")
    return ntpath.join(root, "System32")


# --- tasks ---------------------------------------------------------------------------------------------------------------


def _tasks(ground: Ground, variables: tuple[Variable, ...]) -> Iterator[Reached]:
    r"""Yield the actions of the tasks that are enabled: each file below System32\Tasks is one.

    One of the system's accounts gets the machine's variables, without the person's.
    """
    of_machine = _environment_of_system(variables)
    folders = [ntpath.join(_system_folder(ground.env), "Tasks")]
    seen = 0
    for folder in folders:
        for name in ground.around.names(folder):
            path = ntpath.join(folder, name)
            if ground.around.kind(path) == "folder":
                if name != "Microsoft" and len(folders) < MOST_FOLDERS:  # Windows' own tasks start no Python
                    folders.append(path)
                continue
            seen += 1
            if seen > MOST_TASKS:
                return
            for command, where, account in actions_of_task(ground.where.read(path, MOST_BYTES) or b""):
                env = of_machine if OF_SYSTEM.fullmatch(account) else ground.env
                state = State(dict(env), set(env), separator=";")
                state.files.append(path)
                filled, folder_of_it = (expand_variables(t, env) for t in (command, where))
                state.values["PWD"] = folder_of_it or _system_folder(env)
                yield from _way(Reached(kind="task", at=path, state=state), filled, Place(path), ground)


def actions_of_task(data: bytes) -> list[tuple[str, str, str]]:
    """Return what a task starts: each command line with its folder and its account; nothing for one that is disabled, or no such file."""
    if not data or b"<!" in data.replace(b"\0", b"").replace(b"<!--", b""):
        return []  # no task has a document type, whose entities could grow without end
    parser = XMLParser()  # noqa: S314 - no document type, as just seen
    try:
        parser.feed(data)
        root = parser.close()
    except Exception:  # noqa: BLE001 - whatever the bytes are: no task of Windows'
        return []
    if any(_element_text(e, "Enabled").lower() == "false" for e in _children(root, "Settings")):
        return []
    who = [_element_text(e, "UserId").strip() for p in _children(root, "Principals") for e in _children(p, "Principal")]
    found = []
    for actions in _children(root, "Actions"):
        for each in _children(actions, "Exec"):
            command = _element_text(each, "Command").strip().strip('"')
            quoted = f'"{command}"' if " " in command else command
            if command:
                found.append(
                    (
                        f"{quoted} {_element_text(each, 'Arguments')}".strip(),
                        _element_text(each, "WorkingDirectory").strip(),
                        (who or [""])[0],
                    )
                )
    return found


def _children(parent: Element, name: str) -> list[Element]:
    return [e for e in parent if isinstance(e.tag, str) and e.tag.rpartition("}")[2] == name]


def _element_text(parent: Element, name: str) -> str:
    return next((e.text or "" for e in _children(parent, name)), "")


# --- shortcuts -----------------------------------------------------------------------------------------------------------


def _shortcuts(ground: Ground) -> Iterator[Reached]:
    """Yield the shortcuts that start a Python."""
    for path in shortcut_files(ground.env, ground.around.names):
        link = read_shortcut(ground.where.read(path, MOST_BYTES) or b"")
        target = target_of(link, path) if link else ""
        if not link or not target:
            continue
        state = ground.session(path)
        state.values["PWD"] = expand_variables(link.folder, ground.env) or ntpath.dirname(target)
        command = f'"{target}" {expand_variables(link.arguments, ground.env)}'
        yield from _way(Reached(kind="launcher", at=path, state=state), command, Place(path), ground)


def _batch_files_of_explorer(ground: Ground) -> Iterator[Reached]:
    """Yield the batch files on the desktop, and in the Start menu, whose folder Startup begins with the session; of Python's files those alone."""
    for path in shortcut_files(ground.env, ground.around.names, (".bat", ".cmd", ".py", ".pyw")):
        folder = ntpath.dirname(path)
        begins = path.lower().endswith((".bat", ".cmd")) or ntpath.basename(folder).lower() == "startup"
        if begins and folder.lower() != ground.folder.lower():
            state = ground.session()
            state.values["PWD"] = folder
            yield from _way(Reached(kind="launcher", at=path, state=state), f'"{path}"', Place(path), ground)
