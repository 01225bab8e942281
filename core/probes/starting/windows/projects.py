r"""What is started for the working folder on Windows by VS Code's tasks, whose shell is PowerShell, PyCharm's run configurations, npm's scripts, pm2,
and its own programs.

Sources: Microsoft, "CreateProcessW" (the folder of the program that starts another one is searched before PATH); PEP 405, and the launcher of a
virtual environment in PC/launcher.c, which lets the Python run that the environment was made from.
"""

from __future__ import annotations

import ntpath
from collections.abc import Iterator
from functools import partial

from core.host.startup.state import UNKNOWN, State
from core.probes.python.environment import read_settings
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.machine import Ground
from core.probes.starting.projects.editor_tasks import SHARED_FOLDERS, Configured, editor_tasks, run_configurations
from core.probes.starting.projects.launching_code import Reader, launching_calls, launching_files, named_pythons_started
from core.probes.starting.projects.launching_node import node_calls, node_files
from core.probes.starting.projects.tasks import TASK_FILES
from core.probes.starting.services.deployed import pm2_apps
from core.probes.starting.ways import Reached
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import commands_of_line, python_of_line, python_of_words
from core.probes.starting.windows.starters import way_to

MOST_TASKS = 40


def project_ways(ground: Ground) -> Iterator[Reached]:
    """Yield what the folder's files of editors start. They are often another machine's: a Python that is gone is not told."""
    if not ground.is_in_project:
        return
    places = [(ntpath.join(ground.folder, ".vscode", "tasks.json"), editor_tasks)]
    places += [(ntpath.join(ground.folder, ".idea", "workspace.xml"), run_configurations)]
    for shared in SHARED_FOLDERS:
        folder = ntpath.join(ground.folder, shared.replace("/", "\\"))
        names = [n for n in ground.around.names(folder) if n.endswith(".xml")][:MOST_TASKS]
        places += [(ntpath.join(folder, n), run_configurations) for n in names]
    for path, read in places:
        text = ground.read(path)
        state = ground.session()
        state.values["PWD"] = ground.folder
        state.files.append(path)
        for number, its in enumerate(read(text, path, state, ground) if text is not None else ()):
            found = _started(its, path, ground) if number < MOST_TASKS else None
            yield from way_to(found, Reached(kind="task", at=f"{path}: {its.name}", state=its.state), ground)


def launching_ways(ground: Ground) -> Iterator[Reached]:
    """Yield what the folder's own programs start, and its tasks: npm's scripts, and the recipes of make, just and Task."""
    if not ground.folder or ground.folder == ground.person.home:
        return
    own = ground.pythons[0].executable if len(ground.pythons) == 1 else ""
    readers: list[tuple[str, Reader]] = [(n, partial(launching_calls, own_python=own)) for n in launching_files(ground)]
    readers += [(n, node_calls) for n in node_files(ground)]
    there = {n.lower(): n for n in ground.around.names(ground.folder)}
    readers += [(next((there[n.lower()] for n in names if n.lower() in there), ""), read) for names, read in TASK_FILES]
    for name, read in readers:
        path = ntpath.join(ground.folder, name)
        text = ground.read(path) if name else None
        if text is None:
            continue
        state = ground.session()
        state.values["PWD"] = ground.folder
        state.files.append(path)
        for number, (what, line, command, its) in enumerate(read(text, path, state, ground)):
            if number >= MOST_TASKS:
                break
            its.begin()
            follows = UNKNOWN not in command and (
                "activate" not in command or name.endswith((".py", ".js", ".ts", ".json"))
            )
            found = commands_of_line(command, Place(path, line), its, ground) if follows else None
            yield from way_to(found, Reached(kind="task", at=f"{path}: {what}", state=its, text=command), ground)
        if name.endswith(".py"):
            yield from _by_name(text, path, state, ground)


def pm2_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the programs that pm2 keeps running."""
    for at, line, words, state in pm2_apps(ground):
        found = python_of_words(words, Place(state.files[0], line), state, ground) if words else None
        yield from way_to(found, Reached(kind="service", at=at, state=state), ground)


def _by_name(text: str, path: str, state: State, ground: Ground) -> Iterator[Reached]:
    """Yield what a program starts as ``python`` without a shell: that is the Python which its environment was made from, whatever is active."""
    settings = (
        read_settings(ground.read(ntpath.join(p.prefix, "pyvenv.cfg"))) for p in ground.pythons if p.kind == "venv"
    )
    made_from = {its["home"] for its in settings if its and its.get("home")}
    if len(made_from) != 1 or any(p.kind == "conda" for p in ground.pythons):
        return
    (base,) = made_from
    for line, command, by_shell in named_pythons_started(text, ground):
        python, _blank, rest = command.partition(" ")
        file = ntpath.join(base, python if python.lower().endswith(".exe") else f"{python}.exe")
        if by_shell or not ground.where.is_file(file):
            continue
        its = state.apart()
        found = python_of_line(f'"{file}" {rest}', Place(path, line), its, ground)
        if found is not None:
            way = Reached(kind="task", at=f"{path}: {command}, line {line}", state=its, text=command)
            yield from (w for w in way_to(found, way, ground) if w.runs)


def _started(its: Configured, path: str, ground: Ground) -> StartedFile | None:
    words = [w.replace("/", "\\") if "\\" not in w and number == 0 else w for number, w in enumerate(its.words)]
    if not words or not words[0]:
        return None
    if its.by_shell:
        words = [
            "powershell.exe",
            "-Command",
            " ".join(["&" if " " in words[0] and len(words) > 1 else "", _quoted(words), *words[1:]]).strip(),
        ]
    return python_of_words(words, Place(path), its.state, ground)


def _quoted(words: list[str]) -> str:
    """Return the program's word: VS Code puts one with blanks between quotation marks where it has arguments of its own."""
    return f"'{words[0]}'" if " " in words[0] and len(words) > 1 else words[0]
