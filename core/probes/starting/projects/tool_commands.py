"""Commands in files of tools that no shell of a terminal starts: keys of window managers, builds of Sublime Text, pages of PHP, applications of uWSGI.

Sources: i3's User's Guide, "Executing applications"; Hyprland's wiki, "Dispatchers"; sxhkd(1); Openbox's "Actions"; Sublime Text's "Build Systems"; PHP's
manual, "Program execution Functions"; uWSGI's documentation, "Python support" (without ``home``, a distribution's uWSGI has the system's Python).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.described import described
from core.host.startup.plain import json_line, json_value
from core.host.startup.state import State, is_name
from core.model.facts import StartKind
from core.probes.starting.commands.command_line import Line, language, python_of_text
from core.probes.starting.commands.started_code import program_ways
from core.probes.starting.machine import Ground
from core.probes.starting.services.systemd import MACHINES_PATH
from core.probes.starting.ways import Reached

MOST_COMMANDS = 40
"""Maximum number of commands followed in one file, and of programs tried for an open file."""
OF_MANAGERS = ("i3/config", "sway/config", "hypr/hyprland.conf", "sxhkd/sxhkdrc", "openbox/rc.xml")
BUILDS = ("sublime-text/Packages/User", "sublime-text-3/Packages/User")
Commands = Iterator[tuple[int, str, State]]
"""Line, command and variables of each start."""
_KEY = late_pattern(
    r"(?m)^(?![ \t]*#)[^\n]{0,400}?(?:\bexec(?:_always|-once)?\b[ \t]{0,9}[,=]?[ \t]{0,9}(?:--no-startup-id\b[ \t]{0,9})?|<(?:command|execute)>)(\S[^<\n]*)"
    r"|^[ \t]++(?!bind|exec|#)([^<\n]+)"
)
_PAGE = late_pattern(r"\$_(?:FILES|POST|GET|REQUEST|SERVER|COOKIE)\b")
_CALL = late_pattern(
    r"\b(?:shell_exec|exec|system|passthru|popen|proc_open)\s*\(\s*((?:'[^']*'|\"[^\"]*\"|__DIR__|escapeshellarg\([^()]{0,400}\)|\$\w+|[.\s])+)"
)
_PART = late_pattern(r"'([^']*)'|\"([^\"]*)\"|(__DIR__)|\$\w+|escapeshellarg\([^()]{0,400}\)")
_NAMES_ITS_PYTHON = late_pattern(
    r"bin/uwsgi\b|\buwsgi\b[^\n]{0,400}[ \"'](?:-H|--(?:home|virtualenv|venv|pyhome|pythonpath|pp))\b"
)
OF_UWSGI = ("home", "virtualenv", "venv", "pyhome", "pythonpath", "python-path", "pp", "ini", "include")
"""Settings by which uWSGI may find another Python, or its packages."""


def tool_ways(ground: Ground, desktop: State) -> Iterator[Reached]:
    """Yield the programs that files of such tools start; ``desktop``: what a program of the desktop gets."""
    machine = State({"PATH": MACHINES_PATH, "PWD": ground.folder}, {"PATH"})
    names = [posixpath.join(ground.folder, n) for n in ground.around.names(ground.folder) if ground.is_in_project]
    builds = [f"{f}/{n}" for b in BUILDS for f in [ground.config(b)] for n in ground.around.names(f)]
    rows: tuple[tuple[list[str], StartKind, State, Callable[[str, str, State, Ground], Commands]], ...] = (
        ([ground.config(n) for n in OF_MANAGERS], "launcher", desktop, _keys),
        ([p for p in (*names, *builds) if p.endswith((".sublime-project", ".sublime-build"))], "launcher", desktop, _builds),
        ([p for p in names if p.endswith(".php")], "service", machine, _pages),
        (ground.kept(".ini"), "service", machine, _applications),
    )  # fmt: skip
    for paths, kind, start, read in rows:
        for path in paths[:MOST_COMMANDS]:
            if (text := ground.read_file(path)) is None or "py" not in text:
                continue
            told: set[int] = set()
            for number, (line, command, state) in enumerate(read(text, path, start.apart(path), ground)):
                if number >= MOST_COMMANDS:
                    break
                found = python_of_text(command, Line(path, line), state, ground, shell="sh")  # noqa: S604 - nothing is run
                argv, sh = (found.path,) if found else (), language("sh", ground)
                at = f"{path}: line {line}"
                way = Reached(kind=kind, at=at, state=state, argv=argv, text=command, shell=sh)
                if line not in told:  # of an open file, the first that counts
                    ways = [*program_ways(found, way, ground)]
                    told |= {line} if ways else set()
                    yield from ways


def _keys(text: str, _path: str, state: State, ground: Ground) -> Commands:
    state.values["PWD"] = ground.person.home
    for found in _KEY.finditer(text):
        if "py" in (command := (found[1] or found[2]).strip()):
            whole = command[1:-1] if command[0] == command[-1] and command[0] in "\"'" else command
            yield text.count("\n", 0, found.start(1 if found[1] else 2)) + 1, whole, state.apart()


def _builds(text: str, path: str, state: State, ground: Ground) -> Commands:
    whole = json_value(text)
    builds = whole.get("build_systems", [whole]) if isinstance(whole, dict) else []
    for build in [b for b in builds if isinstance(b, dict)] if isinstance(builds, list) else []:
        variants = build.get("variants")
        for its in [build, *(variants if isinstance(variants, list) else [])]:
            if isinstance(its, dict):
                yield from _build({**build, **its}, text, path, state.apart(), ground)


def _build(build: dict[str, object], text: str, path: str, state: State, ground: Ground) -> Commands:
    cmd, env, search = build.get("shell_cmd") or build.get("cmd"), build.get("env"), build.get("path")
    command = shlex.join(map(str, cmd)) if isinstance(cmd, list) else cmd if isinstance(cmd, str) else ""
    key = "shell_cmd" if build.get("shell_cmd") else "cmd"
    state.values["PWD"] = ground.folder
    for name, value in (env if isinstance(env, dict) else {}).items():
        if is_name(str(name)):
            state.export_variable(str(name), str(value), path, json_line(text, str(name)), "json")
    if isinstance(search, str):
        state.values["PATH"] = search.replace("$PATH", state.values.get("PATH", ""))
    by_file = re.search(r"\$\{?file\b", command)
    programs = ground.programs(MOST_COMMANDS) if by_file and "python" in str(build.get("selector")) else []
    for name in programs if by_file else [""]:
        places = {"file": posixpath.join(ground.folder, name), "file_name": name}
        places |= dict.fromkeys(("project_path", "folder", "file_path"), ground.folder)
        filled = command
        for variable, place in places.items():
            filled = re.sub(rf"\$(?:{variable}\b|\{{{variable}\}})", place.replace("\\", "/"), filled)
        yield json_line(text, key) or 1, filled, state.apart()


def _pages(text: str, path: str, state: State, ground: Ground) -> Commands:
    """Yield what a page hands to a shell: the web server has no environment, unless a script of the folder starts PHP's own."""
    if not _PAGE.search(text) or any("php -S" in its for its in ground.script_texts()):
        return
    for call in _CALL.finditer(text):
        if re.match(r"[ \t]*+(?://|#|/?\*)", text[text.rfind("\n", 0, call.start()) + 1 : call.start()]):
            continue
        parts = (m[1] or m[2] or (posixpath.dirname(path) if m[3] else "x") for m in _PART.finditer(call[1]))
        yield text.count("\n", 0, call.start()) + 1, "".join(parts), state.apart()


def _applications(text: str, path: str, state: State, ground: Ground) -> Commands:
    whole = described(text, path)
    told = whole.get("uwsgi") if isinstance(whole, dict) else None
    if not isinstance(told, dict) or {*told} & {*OF_UWSGI} or "PYTHONPATH" in text:
        return
    its = {k: v.replace("%d", f"{posixpath.dirname(path)}/") for k, v in told.items() if isinstance(v, str)}
    plugin = re.search(r"\bpython(3?)(\d*)\b", its.get("plugins") or its.get("plugin", ""))
    named = (its.get("module") or its.get("wsgi") or "").partition(":")[0]
    file = its.get("wsgi-file") or its.get("file", "")
    texts = (*ground.script_texts(), *(ground.read(p) or "" for p in ground.kept(".service", ".conf")))
    if (
        plugin is None
        or not (file or re.fullmatch(r"[A-Za-z_][\w.]*", named))
        or any(map(_NAMES_ITS_PYTHON.search, texts))
    ):
        return
    state.values["PWD"] = posixpath.join(posixpath.dirname(path), its.get("chdir", ""))
    version = f"{plugin[1]}.{plugin[2]}" if plugin[2] else "3"
    line = next((n for n, r in enumerate(text.splitlines(), 1) if re.match(r"(?:module|wsgi|wsgi-file|file)\b", r)), 1)
    run = shlex.quote(file) if file else f"-c 'import {named}'"
    yield line, f"/usr/bin/python{version} {run}", state
