"""Programs that pm2 keeps running, and the jobs of a GitHub Actions runner.

Sources: PM2's documentation, "Ecosystem File" and "Startup Script"; GitHub's, "Using the .env file" of self-hosted
runners.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import literal_text, statements_of
from core.host.linux.files import variables_in
from core.host.startup.plain import json_line, json_value
from core.host.startup.state import UNKNOWN, State, is_name
from core.model.facts import LineForm
from core.probes.starting.commands.command_line import Line, python_of_command
from core.probes.starting.commands.runners import words_of
from core.probes.starting.commands.started_code import program_ways
from core.probes.starting.machine import Ground
from core.probes.starting.services.multiplexers import MOST_ENVIRON, state_of_process
from core.probes.starting.ways import Reached

ECOSYSTEMS = tuple(
    f"{stem}{end}" for stem in ("ecosystem.config", "ecosystem", "pm2.config") for end in (".js", ".cjs", ".json")
)
MOST_APPS = 40
MOST_RUNNERS = 8
SERVICES_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"


def deployed_ways(ground: Ground) -> Iterator[Reached]:
    """Yield each program of pm2 that starts an environment's Python, and the variables of a runner's jobs."""
    yield from _pm2(ground)
    yield from _runners(ground)
    yield from _gunicorn(ground)
    yield from _accelerate(ground)
    yield from _first_of_container(ground)


FIRST = "/proc/1"
CONTAINERS = ("/.dockerenv", "/run/.containerenv")
"""Files that Docker and Podman put into a container."""


def _first_of_container(ground: Ground) -> Iterator[Reached]:
    """Yield the program that a container was started with, where it is an environment's: its variables are the image's and those
    that its entry point added, which a shell that somebody opens in the container may lack.
    """
    where = ground.where
    if not where.is_running_system or not any(where.exists(f) for f in CONTAINERS):
        return
    text = (where.read(f"{FIRST}/environ", MOST_ENVIRON) or b"").decode("utf-8", "replace")
    words = (where.read(f"{FIRST}/cmdline", MOST_ENVIRON) or b"").decode("utf-8", "replace").split("\0")
    env = variables_in(text)
    if not env or not words[0]:
        return
    state = state_of_process("1", env, ground.env)
    found = python_of_command([w for w in words if w], Line(f"{FIRST}/cmdline", 0), state, ground)
    way = Reached(kind="service", at="PID 1", state=state, argv=(found.path,) if found else ())
    yield from program_ways(found, way, ground)


def _accelerate(ground: Ground) -> Iterator[Reached]:
    """Yield what ``accelerate launch`` gives by the answers that a person once gave it: the GPUs that a program sees.

    Source: Accelerate's documentation, "The Command Line" (gpu_ids), and its launchers, which set CUDA_VISIBLE_DEVICES.
    """
    cache = ground.env.get("HF_HOME") or posixpath.join(
        ground.env.get("XDG_CACHE_HOME") or ground.at_home(".cache"), "huggingface"
    )
    for path in (f"{cache}/accelerate/default_config.yaml", f"{cache}/accelerate/default_config.json"):
        text = ground.read(path)
        row = re.search(r"(?m)^[ \t]*\"?gpu_ids\"?:[ \t]*[\"']?(\d[\d, ]*)[\"']?,?[ \t]*$", text) if text else None
        having = [
            p for p in ground.pythons if any(ground.around.kind(f"{s}/accelerate") == "folder" for s in p.site_packages)
        ]
        if text is None or row is None or not having:
            continue
        state = ground.session(path)
        line = text.count("\n", 0, row.start(1)) + 1
        state.export_variable("CUDA_VISIBLE_DEVICES", row[1].strip(), path, line, "python")
        prefix = having[0].prefix if len(having) == 1 else ""
        yield Reached(kind="task", at=f"{path}: accelerate launch", state=state, prefix=prefix)
        return


def _gunicorn(ground: Ground) -> Iterator[Reached]:
    """Yield the settings that gunicorn reads from its working folder; it sets raw_env before it imports the application."""
    path = f"{ground.folder}/gunicorn.conf.py"
    text = ground.read(path) if ground.folder not in ("/", "") else None
    if text is None:
        return
    state = ground.session(path)
    for node in statements_of(text):
        match node:
            case ast.Assign(targets=[ast.Name(id="raw_env")], value=ast.List(elts=rows) | ast.Tuple(elts=rows)):
                for row in rows:
                    name, equals, value = (literal_text(row) or "").partition("=")
                    if equals and is_name(name) and not name.startswith(("LD_", "PYTHON")):
                        # The loader and Python have already started.
                        state.export_variable(name, value, path, row.lineno, "python")
    if any(state.lines.values()):
        yield Reached(kind="service", at=path, state=state)


class App(NamedTuple):
    """A program that pm2 keeps running."""

    at: str
    line: int
    words: list[str]
    state: State


def pm2_apps(ground: Ground) -> Iterator[App]:
    """Yield the programs of pm2: its saved process list is started again, a project's file is used for the first start."""
    join = ground.where.join
    near = [join(ground.folder, name) for name in ECOSYSTEMS] if ground.folder not in ("/", "") else []
    for path in (*near, join(ground.person.home, ".pm2", "dump.pm2")):
        if (text := ground.read(path)) is None:
            continue
        found = json_value(text if path.endswith((".json", ".pm2")) else _as_json(text, ground.where.parent(path)))
        apps = found.get("apps", [found]) if isinstance(found, dict) else found
        for app in [a for a in apps if isinstance(a, dict)][:MOST_APPS] if isinstance(apps, list) else []:
            yield _app(app, text, path, ground)


def _app(app: dict[str, object], text: str, path: str, ground: Ground) -> App:
    def told(*names: str) -> str:
        return next((v for n in names if isinstance(v := app.get(n), str)), "")

    state = ground.session(path)
    env = app.get("env")
    for name, value in (env if isinstance(env, dict) else {}).items():
        if is_name(str(name)) and isinstance(value, str | int | float):
            form: LineForm = "json" if path.endswith((".json", ".pm2")) else "python"
            state.export_variable(str(name), str(value), path, _line(text, str(name)), form)
    state.values["PWD"] = ground.where.join(ground.folder, told("cwd", "pm_cwd")).rstrip("\\")
    script = told("script", "pm_exec_path")
    windows = ground.where.system == "windows"
    usual = "python" if windows else "python3"
    interpreter = told("interpreter", "exec_interpreter") or (
        usual if script.endswith(".py") else "node" if script.endswith((".js", ".cjs", ".mjs")) else "none"
    )
    args = app.get("args")
    rest = args if isinstance(args, list) else words_of(args) if isinstance(args, str) else []
    named = [w for w in ("" if interpreter == "none" else interpreter, script) if w]
    split = (lambda text: [text.replace("/", "\\")]) if windows else words_of
    words = [*(w for text in named for w in split(text)), *(str(a) for a in rest)]
    return App(f"{path}: {told('name') or script}", _line(text, "script") or 1, words, state)


def _pm2(ground: Ground) -> Iterator[Reached]:
    for at, line, words, state in pm2_apps(ground):
        found = python_of_command(words, Line(state.files[0], line), state, ground) if words else None
        way = Reached(kind="service", at=at, state=state, argv=(found.path,) if found else ())
        yield from program_ways(found, way, ground)


def _line(text: str, name: str) -> int:
    """Return the line that sets a member, with or without quotes around its name."""
    member = re.search(rf"(?<![\w$]){re.escape(name)}\s*:", text)
    return json_line(text, name) or (text.count("\n", 0, member.start()) + 1 if member else 0)


_PARTS = late_pattern(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\])*\"?|'((?:\\.|[^'\\])*)'?|`([^`$\\]*)`|\b([A-Za-z_$][\w$.]*)(\s*:)?",
    re.DOTALL,
)


def _as_json(text: str, folder: str) -> str:
    """Return the exports of a JavaScript module as JSON; the result is invalid JSON if they are more than plain values."""
    import json  # imported late: few folders have such a file

    start = re.search(r"module\.exports\s*=\s*|export\s+default\s+", text)

    def put(found: re.Match[str]) -> str:
        if found[0].startswith(("//", "/*")):
            return " "
        if found[4]:
            return f"{json.dumps(found[3])}:"
        if found[3]:
            known = {
                "__dirname": json.dumps(folder),
                "true": "true",
                "false": "false",
                "null": "null",
                "undefined": "null",
            }
            return known.get(found[3], json.dumps(UNKNOWN))  # The file does not show its value when pm2 runs.
        plain = found[1] if found[1] is not None else found[2]
        return found[0] if plain is None else json.dumps(plain.replace("\\'", "'"))

    return _PARTS.sub(put, text[start.end() :]).strip().rstrip(";") if start else ""


def _runners(ground: Ground) -> Iterator[Reached]:
    """Yield a runner's jobs: its service reads .env, each line literally, and .path, from the runner's folder."""
    places = [(ground.person.home, n) for n in ground.around.names(ground.person.home)]
    places += [("/opt", n) for n in ground.around.names("/opt")]
    folders = [f"{above}/{n}" for above, n in places if "actions-runner" in n or n == "runner"]
    for folder in folders[:MOST_RUNNERS]:
        path = f"{folder}/.env"
        text = ground.read(path)
        if text is None or ground.around.kind(f"{folder}/.runner") != "file":
            continue
        search = (ground.read(f"{folder}/.path") or "").strip() or SERVICES_PATH
        values = {"PATH": search, "HOME": ground.person.home, "USER": ground.person.name}
        state = State(values, set(values))
        state.files.append(path)
        for number, line in enumerate(text.splitlines(), 1):
            name, equals, value = line.partition("=")
            if equals and is_name(name):
                state.export_variable(name, value, path, number, "assignments")
        yield Reached(kind="service", at=path, state=state)
