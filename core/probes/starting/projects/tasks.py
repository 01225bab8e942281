"""Tasks in a project's files: make and just recipes, npm scripts, a Procfile, jobs of Jenkins, tasks and run configurations of editors.

A task counts as a way of starting if it leads to an environment's Python.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.plain import json_line, json_value, read_assignments, read_dotenv, text_items
from core.host.startup.state import UNKNOWN, State, fill
from core.model.facts import StartLine
from core.probes.starting.commands.command_line import Line, language, python_of_text
from core.probes.starting.commands.started_code import program_ways
from core.probes.starting.machine import Ground
from core.probes.starting.projects.editor_tasks import NAME as _NAME
from core.probes.starting.projects.editor_tasks import SHARED_FOLDERS, editor_tasks, run_configurations
from core.probes.starting.projects.jenkins import jenkins_tasks
from core.probes.starting.projects.launching_code import (
    Reader,
    called_shells,
    dag_files,
    launching_calls,
    launching_files,
    own_python,
)
from core.probes.starting.projects.launching_node import node_calls, node_files
from core.probes.starting.projects.project_toml import OF_PIXI, OF_PYPROJECT, toml_tasks
from core.probes.starting.projects.server_steps import activates_here, prepares_python
from core.probes.starting.projects.sweeps import sweep_commands, sweep_files
from core.probes.starting.projects.tasks_in_python import invoke_tasks, nox_sessions
from core.probes.starting.services.systemd import MACHINES_PATH
from core.probes.starting.ways import Reached

MOST_TASKS = 40
"""Maximum number of commands followed in one file."""


def task_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the tasks of the working folder; they get this session's variables."""
    if ground.folder in ("/", ""):
        return
    shared = [
        ((f"{folder}/{name}",), _run_configurations)
        for folder in SHARED_FOLDERS
        for name in ground.around.names(f"{ground.folder}/{folder}")[:MOST_TASKS]
        if name.endswith(".xml")
    ]
    further = [  # one for development, one for each server: people name them so, and start them with -f
        ((n,), _procfile) for n in ground.around.names(ground.folder) if re.fullmatch(r"Procfile[.-][\w.-]+", n)
    ]
    launching: list[tuple[tuple[str, ...], Reader]] = [
        ((n,), read)
        for n in (*launching_files(ground), *dag_files(ground))
        for read in (partial(launching_calls, own_python=own_python(ground)), called_shells)
    ]
    launching += [((n,), node_calls) for n in node_files(ground)]
    launching += [((n,), sweep_commands) for n in sweep_files(ground)]
    for names, read in (*TASK_FILES, *_OF_LINUX, *shared, *further[:MOST_TASKS], *launching):
        path = next((p for n in names if ground.around.kind(p := posixpath.join(ground.folder, n)) == "file"), "")
        text = ground.read(path) if path else None
        if text is None:
            continue
        state = ground.session()
        state.values["PWD"] = ground.folder
        state.files.append(path)
        apart = activates_here(text, path, ground) and not prepares_python(text)
        if apart:
            state.values["PATH"] = MACHINES_PATH  # a server's agent is a service
        lost: dict[str, list[StartLine]] = {}
        before: dict[str, list[str]] = {}
        own = _own_shell(read, text, ground)
        for number, (name, line, command, its) in enumerate(read(text, path, state, ground)):
            if number >= MOST_TASKS:
                break
            its.ignored += lost.get(name, [])
            lost.setdefault(name, []).extend(_lost_behind(command, line, path, its))
            alone = apart or bool(own)
            head = re.match(r"#!\s*/\S+", command) if alone else None
            shell = head[0] if head else own or ("/bin/sh" if apart else "bash")
            found = python_of_text(command, Line(path, line), its, ground, shell=shell)
            way = Reached(
                kind="task",
                at=f"{path}: {name}",
                state=its,
                argv=(found.path,) if found else (),
                text=command if alone else "",
                shell=language(shell, ground) if alone else "",
                apart=apart,
                before=tuple(before.get(name, ())),
            )
            before.setdefault(name, []).append(command)
            yield from program_ways(found, way, ground)


OF_RUNNERS = {"make": 0, "gmake": 0, "just": 1, "npm": 2, "yarn": 2, "pnpm": 2, "task": 3}
"""Program that runs tasks -> the row of TASK_FILES."""


def commands_of_task(words: list[str], state: State, ground: Ground) -> Iterator[tuple[str, int, str, State]]:
    """Yield file, line, text and variables of each command of the task that a command line names, of the first one where it names none."""
    names, read = TASK_FILES[OF_RUNNERS[posixpath.basename(words[0])]]
    folder = next((v for o, v in pairwise(words) if o in ("-C", "--directory", "--prefix", "--dir")), "")
    here = posixpath.normpath(posixpath.join(ground.here(state), folder))
    path = next((p for n in names if ground.around.kind(p := posixpath.join(here, n)) == "file"), "")
    wanted = [w for w in words[1:] if not w.startswith("-") and "=" not in w and w not in ("run", folder)]
    its = state.apart(*([path] if path else []))
    its.values["PWD"] = here
    rows = [*read(ground.read(path) or "", path, its, replace(ground, folder=here, env=state.environment()))]
    for name, line, command, own in rows[:MOST_TASKS]:
        if name == (wanted[0] if wanted else rows[0][0]):
            yield path, line, command, own


def _own_shell(read: object, text: str, ground: Ground) -> str:
    """Return the shell that runs each command of a file by itself; empty where the text does not tell it, or where nothing does.

    Sources: GNU make's manual, "Choosing the Shell"; just's, "Shell"; Task's documentation, "Task" (each command is a script of its own);
    invoke's, "Runners".
    """
    if read is _make:
        told = re.search(r"(?m)^(?:export )?SHELL[ \t]{0,8}[:?]?=[ \t]{0,8}(\S{0,200})", text)
        return (
            "" if re.search(r"(?m)^\.ONESHELL[ \t]{0,8}:", text) else "/bin/sh" if told is None else _path_of(told[1])
        )
    if read is _just:
        told = re.search(r"(?m)^set[ \t]+shell[ \t]*:=[ \t]*\[[ \t]*[\"']([^\"']+)", text)
        return told[1] if told else "/bin/sh"
    if read is npm_scripts:
        return "" if "script-shell" in (ground.read(f"{ground.folder}/.npmrc") or "") else "/bin/sh"
    return "/bin/sh" if read in (_procfile, called_shells) else "bash" if read in (_taskfile, invoke_tasks) else ""


def _path_of(told: str) -> str:
    return told if told.startswith("/") else ""


_SETS_ALONE = late_pattern(r"(?:export\s+)?([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^\s\"';&|]*)\s*;?\s*\\?$")


def _lost_behind(command: str, line: int, path: str, state: State) -> Iterator[StartLine]:
    """Yield the variable that a command sets for nothing: each line of a recipe has a shell of its own."""
    if found := _SETS_ALONE.match(command.strip()):
        value = fill(r"\$\{?(\w+)\}?", lambda m: state.values.get(m[1], ""), found[2].strip("\"'"))
        yield StartLine(name=found[1], does="set", value=value, file=path, line=line, form="posix", overridden=True)


Task = tuple[str, int, str, State]
"""Name, line of the command, command, and the variables that it starts with."""


# --- make, just ----------------------------------------------------------------------------------------------------


def _make(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield a makefile's recipes (GNU make's manual, "Using Variables" and "Communicating Variables to a Sub-make")."""
    known = {**ground.env, "CURDIR": ground.folder, "PWD": ground.folder, "MAKE": "make", "SHELL": "/bin/sh"}
    of_target: dict[str, State] = {}
    recipes: list[tuple[str, int, str]] = []
    target = ""
    exports_all = bool(re.search(r"(?m)^\.EXPORT_ALL_VARIABLES\s*:|^ *export\s*$", text))
    for file, number, line in _without_defines(_with_included(text, path, state, known, ground), known):
        if line.startswith("\t") and target:
            recipes.append((target, number, re.sub(r"^[@+-]+", "", line.strip())))
        elif found := re.match(rf"(?:([\w./%-]+)\s*:\s*)?(export\s+)?({_NAME})\s*([:?+]?:?=)\s*(.*)$", line):
            owner, exports, name, operator, raw = found.groups()
            its = of_target.setdefault(owner, state.apart()) if owner else state
            old = known.get(name, "")
            if operator == "?=" and name in known:
                continue
            value = _of_make(_without_comment(raw), known)
            value = f"{old} {value}".strip() if operator == "+=" else value
            if not owner:
                known[name] = value
            # make exports variables that it got from its environment.
            if exports or exports_all or name in its.exported:
                its.export_variable(name, value, file, number, "assignments")
        elif found := re.match(rf"(un)?export((?:\s+{_NAME})+)\s*$", line):
            for name in found[2].split():
                if found[1]:
                    state.unset_variable(name, file, number, "assignments")
                elif name in known:
                    state.export_variable(name, known[name], file, number, "assignments")
        elif found := re.match(r"([\w./%-]+)(?:\s+[\w./%-]+)*\s*::?(?!=)", line):
            target = found[1]
    for target, number, command in _in_one_shell(recipes) if re.search(r"(?m)^\.ONESHELL\s*:", text) else recipes:
        yield target, number, _of_make(command, {**known, "@": target}), of_target.get(target, state).apart()


def _without_comment(raw: str) -> str:
    """Return the value of a line of make: a comment needs no blank before it, and blanks behind the value belong to it (GNU make's
    manual, "Flavors" and "Makefile Contents").
    """
    return re.split(r"(?<!\\)#", raw, maxsplit=1)[0].replace("\\#", "#")


def _without_defines(rows: Iterable[tuple[str, int, str]], known: dict[str, str]) -> Iterator[tuple[str, int, str]]:
    """Yield the lines outside of ``define``; ``known`` gets the variables that it sets."""
    named = ""
    lines: list[str] = []
    for file, number, line in rows:
        if found := re.match(rf"(?:export\s+)?define\s+({_NAME})", line):
            named, lines = found[1], []
        elif named and line.strip() != "endef":
            lines.append(line.strip())
        elif named:
            known[named], named = "\n".join(lines), ""
        else:
            yield file, number, line


def _in_one_shell(commands: Iterable[tuple[str, int, str]]) -> Iterator[tuple[str, int, str]]:
    """Yield the commands of each recipe as one script, with the line of the first."""
    whole: dict[str, tuple[int, list[str]]] = {}
    for recipe, number, command in commands:
        whole.setdefault(recipe, (number, []))[1].append(command)
    yield from ((recipe, number, "\n".join(its)) for recipe, (number, its) in whole.items())


MOST_INCLUDED = 16
"""Maximum number of files that a makefile includes, directly or not."""


def _with_included(
    text: str, path: str, state: State, known: dict[str, str], ground: Ground
) -> Iterator[tuple[str, int, str]]:
    """Yield a makefile's lines with file and number; an included file's lines replace the include."""
    waiting = [(path, iter([*_joined(text)]))]
    seen = {path}
    while waiting:
        file, lines = waiting[-1]
        following = next(lines, None)
        if following is None:
            waiting.pop()
            continue
        number, line = following[0], following[1].lstrip(" ")
        found = re.match(r"[-s]?include\s+(\S.*)", line)
        if found is None:
            yield file, number, line
            continue
        for word in reversed(_of_make(found[1], known).split()):
            place = posixpath.normpath(posixpath.join(ground.folder, word))
            if place not in seen and len(seen) < MOST_INCLUDED and (its := ground.read(place)) is not None:
                seen.add(place)
                state.files.append(place)
                waiting.append((place, iter([*_joined(its)])))


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield a file's lines with their numbers; continued lines are joined."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        first, line = number + 1, lines[number]
        number += 1
        while line.endswith("\\") and number < len(lines):
            line = line[:-1] + " " + lines[number].strip()
            number += 1
        yield first, line


def _of_make(text: str, known: dict[str, str], depth: int = 0, done: dict[tuple[str, int], str] | None = None) -> str:
    """Replace make's variables; the result of a function is unknown. ``done``: name and depth -> what was read before."""
    its = {} if done is None else done

    def put(found: re.Match[str]) -> str:
        name = found[1] or found[2] or found[3]
        if name == "$":
            return "$$"
        if not re.fullmatch(r"[\w@<^.-]+", name):
            return UNKNOWN
        if depth >= 8:
            return UNKNOWN
        if (name, depth) not in its:
            its[name, depth] = _of_make(known.get(name, ""), known, depth + 1, its)
        return its[name, depth]

    filled = fill(r"\$(?:\(([^()]*)\)|\{([^{}]*)\}|(.))", put, text)
    return filled.replace("$$", "$") if not depth else filled


def _just(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield a justfile's recipes (just's manual, "Exporting Variables", "Dotenv Settings").

    A variable that just was started with keeps its value over one of the file, unless dotenv-override is set.
    """
    known: dict[str, str] = {}
    settings = {name: value.strip() for name, value in re.findall(r"(?m)^set[ \t]+([\w-]+)(?:[ \t]*:=(.*))?$", text)}
    files = [settings[n].strip("\"'") for n in ("dotenv-path", "dotenv-filename") if settings.get(n)]
    if files or settings.get("dotenv-load", "false") != "false":
        env_file = posixpath.normpath(posixpath.join(ground.folder, files[0] if files else ".env"))
        if (its := ground.read(env_file)) is not None:
            overrides = settings.get("dotenv-override", "false") != "false"
            read_dotenv(its, env_file, state, () if overrides else ground.env)
    exports_all = settings.get("export", "false") != "false"
    recipe = ""
    commands: list[tuple[str, int, str]] = []
    for number, line in _joined(text):
        if found := re.match(rf"(export\s+)?({_NAME})\s*:=(.*)$", line):
            value = found[3].strip()
            quoted = len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]
            known[found[2]] = _of_just(value[1:-1], known) if quoted else UNKNOWN
            if found[1] or exports_all:
                state.export_variable(found[2], known[found[2]], path, number, "assignments")
        elif found := re.match(r"@?([\w-]+)(?![\w-])[^:]*:(?!=)", line):
            recipe = found[1]
        elif recipe and line[:1] in (" ", "\t") and line.strip():
            commands.append((recipe, number, _of_just(re.sub(r"^[@-]+", "", line.strip()), known)))
    scripts = {name for name, _number, command in commands if command.startswith("#!")}
    yield from ((*row, state.apart()) for row in commands if row[0] not in scripts)
    yield from ((*row, state.apart()) for row in _in_one_shell(c for c in commands if c[0] in scripts))


def _of_just(text: str, known: dict[str, str]) -> str:
    return fill(r"\{\{([^{}]*)\}\}", lambda m: known.get(m[1].strip(), UNKNOWN), text)


def _taskfile(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield a Taskfile's commands (Task's documentation, "Environment variables" and ".env files").

    A variable that Task was started with keeps its value over all of these. It reads the usual form of YAML: blocks with one member or
    item a line.
    """
    above: list[tuple[int, str]] = []
    of_task: dict[str, State] = {}
    commands: list[tuple[str, int, str]] = []
    for number, raw in _with_blocks(text):
        line = raw.strip()
        indent = len(raw) - len(raw.lstrip())
        item = line.startswith("- ")
        if not line or line.startswith("#"):
            continue
        while above and (above[-1][0] > indent or (above[-1][0] == indent and not item)):
            above.pop()
        where = [key for _indent, key in above]
        member = re.match(r"([\w.:-]+):(?:\s+(.*))?$", line)
        name, value = (member[1], (member[2] or "").partition(" #")[0].strip()) if member else ("", "")
        task = where[1] if len(where) > 1 and where[0] == "tasks" else ""
        if item and task and where[2:] == ["cmds"]:
            commands.append((task, number, line[2:].removeprefix("cmd:")))
        elif name == "dotenv" or (item and where == ["dotenv"]):
            for file in re.findall(r"[\w./-]+", value or line[2:]):
                if (its := ground.read(place := posixpath.join(ground.folder, file))) is not None:
                    read_assignments(its, place, state, expands=True, keeps=ground.env)
        elif where == ["env"] or (task and where[2:] == ["env"]):
            owner = of_task.setdefault(task, state.apart()) if task else state
            if re.fullmatch(_NAME, name) and name not in ground.env:
                owner.export_variable(name, _of_task(value, ground) if value else UNKNOWN, path, number, "assignments")
        elif value and ((task and name == "cmd") or where == ["tasks"]):
            commands.append((task or name, number, value))
        elif name:
            above.append((indent, name))
    for task, number, command in commands:
        yield task, number, _of_task(command.strip(), ground), of_task.get(task, state).apart()


def _with_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield a file's lines with their numbers; an item that is a block of lines is one ("- |")."""
    rows = list(enumerate(text.splitlines(), 1))
    while rows:
        number, raw = rows.pop(0)
        if found := re.match(r"(\s*- )(?:cmd:\s*)?[|>][+-]?\s*$", raw):
            block = []
            while rows and (not rows[0][1].strip() or len(rows[0][1]) - len(rows[0][1].lstrip()) >= len(found[1])):
                block.append(rows.pop(0)[1].strip())
            raw = found[1] + "\n".join(block)
        yield number, raw


def _dvc(text: str, _path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield the commands of DVC's stages (its documentation, "dvc.yaml Files"); of YAML the usual form is read."""
    stage, indent, listed, folder = "", 0, False, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        depth = len(raw) - len(raw.lstrip())
        member = re.match(r"([\w.@-]+):\s*(.*)$", line)
        if member and not member[2] and (not stage or depth <= indent) and depth:
            stage, indent, listed, folder = member[1], depth, False, ""
        elif stage and member and depth > indent:
            listed = member[1] == "cmd"
            if member[1] == "wdir":
                folder = member[2].strip("\"'")
            if listed and member[2] and member[2] not in ("|", ">", ">-", "|-"):
                yield stage, number, member[2].strip("\"'"), _state_in(folder, state, ground)
        elif stage and listed:
            yield stage, number, line.removeprefix("- ").strip("\"'"), _state_in(folder, state, ground)


def _state_in(folder: str, state: State, ground: Ground) -> State:
    its = state.apart()
    its.values["PWD"] = posixpath.normpath(posixpath.join(ground.folder, folder))
    return its


def _of_task(text: str, ground: Ground) -> str:
    """Return a value without quotes, with Task's own folder variables replaced."""
    plain = text[1:-1] if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] else text
    filled = re.sub(r"\{\{\s?\.(?:TASKFILE_DIR|ROOT_DIR|USER_WORKING_DIR)\s?\}\}", lambda _m: ground.folder, plain)
    return UNKNOWN if filled.startswith("{") else re.sub(r"\{\{[^{}]*\}\}", UNKNOWN, filled)


# --- npm, Procfile -------------------------------------------------------------------------------------------------


def npm_scripts(text: str, _path: str, state: State, _ground: Ground) -> Iterator[Task]:
    """Yield the scripts of a package.json."""
    for name, command in text_items(json_value(text), "scripts"):
        yield name, json_line(text, name, "scripts"), command, state.apart()


def _procfile(text: str, _path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield a Procfile's processes; honcho and foreman, which start them, read the .env beside it.

    To them a line that begins with "export" sets nothing (honcho's environ.py, foreman's env.rb).
    """
    env_file = f"{ground.folder}/.env"
    if (its := ground.read(env_file)) is not None:
        read_dotenv(re.sub(r"(?m)^[ \t]*export\b.*$", "", its), env_file, state)
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"([\w-]+):\s*(\S.*)$", line):
            yield found[1], number, found[2], state.apart()


# --- tox, Snakemake ------------------------------------------------------------------------------------------------


def _tox(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield the commands of tox's environments, in .tox/NAME each (tox's documentation, "Configuration")."""
    from configparser import ConfigParser, Error  # few folders have such a file

    settings = ConfigParser(interpolation=None, strict=False)
    try:
        settings.read_string(text)
    except Error:
        return
    for section in [s for s in settings.sections() if s.partition(":")[0] == "testenv"]:
        name = section.partition(":")[2]
        places = [
            f"{ground.folder}/.tox/{n}" for n in ([name] if name else ground.around.names(f"{ground.folder}/.tox"))
        ]

        def filled(key: str, *, of: str = section, folder: str = places[0] if places else "") -> str:
            its = settings.get(of, key, fallback="") or settings.get("testenv", key, fallback="")
            known = {"toxinidir": ground.folder, "tox_root": ground.folder, "envdir": folder, "env_dir": folder}
            return re.sub(r"\{(\w+)(?::[^{}]*)?\}", lambda m: known.get(m[1], ""), its)

        its = state.apart()
        its.values["PATH"] = ":".join([*(f"{p}/bin" for p in places), its.values.get("PATH", "")])
        for variable, value in re.findall(
            rf"(?m)^[ \t]*({_NAME})[ \t]*=[ \t]*(.*)$", filled("set_env") or filled("setenv")
        ):
            number = next(
                (n for n, row in enumerate(text.splitlines(), 1) if re.search(rf"(?:^|=)\s*{variable}\s*=", row)), 1
            )
            its.export_variable(variable, value.rstrip(), path, number, "assignments")
        for command in filled("commands").splitlines():
            if command.strip():
                yield (
                    name or section,
                    text.count("\n", 0, text.find(f"[{section}]")) + 1,
                    command.strip().lstrip("-"),
                    its.apart(),
                )


def _snakemake(text: str, _path: str, state: State, _ground: Ground) -> Iterator[Task]:
    """Yield the shell commands of Snakemake's rules (its documentation, "Writing Rules")."""
    found = re.compile(r"shell:\s*[rf]?(?:\"\"\"(.*?)\"\"\"|\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)')", re.DOTALL)
    for row in found.finditer(text):
        named = re.findall(r"(?m)^(?:rule|checkpoint)\s+(\w+)", text[: row.start()])
        command = re.sub(r"(?<!\{)\{[^{}]*\}(?!\})", "x", row[1] or row[2] or row[3] or "")
        yield named[-1] if named else "rule", text.count("\n", 0, row.start()) + 1, command.strip(), state.apart()


# --- editors -------------------------------------------------------------------------------------------------------


def _editor_tasks(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    for its in editor_tasks(text, path, state, ground):
        yield its.name, its.line, " ".join(its.words), its.state


def _run_configurations(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    for its in run_configurations(text, path, state, ground):
        yield its.name, its.line, shlex.join(its.words), its.state


TASK_FILES: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (("GNUmakefile", "makefile", "Makefile"), _make),
    (("justfile", "Justfile", ".justfile"), _just),
    (("package.json",), npm_scripts),
    (("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"), _taskfile),
    (("pyproject.toml",), partial(toml_tasks, keepers=OF_PYPROJECT)),
    (("hatch.toml",), toml_tasks),
)
"""Files with tasks that are read on every system, the first of each row that is there."""
_OF_LINUX: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (("Procfile",), _procfile),
    (("dvc.yaml",), _dvc),
    (("pixi.toml",), partial(toml_tasks, keepers=OF_PIXI)),
    (("tox.ini",), _tox),
    (("Snakefile", "workflow/Snakefile"), _snakemake),
    (("tasks.py",), invoke_tasks),
    (("noxfile.py",), nox_sessions),
    (("Jenkinsfile",), jenkins_tasks),
    ((".vscode/tasks.json",), _editor_tasks),
    ((".idea/workspace.xml",), _run_configurations),
)
