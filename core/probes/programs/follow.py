"""From the file that a person names to the executable that finally runs: links, scripts, .desktop files, batch files, shortcuts, notebooks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

import msgspec

from core.common.variable_names import variable_in
from core.host.startup.posix import ShellReader
from core.host.startup.state import UNKNOWN, State, Surroundings
from core.host.startup.syntax import SHELL_NAMES
from core.model.path_list import split_entries
from core.probes.programs.kernels import is_notebook, kernel_of, read_notebook
from core.probes.programs.shortcuts import read_shortcut
from core.probes.sysroot import Sysroot

MOST_LINKS = 12
MOST_SCRIPT = 1 << 17
STARTERS = ("exec", "nohup", "nice", "env", "sudo", "setsid", "time", "command", "start", "call", "stdbuf", "taskset")
"""Words before a command that run it."""


class Followed(msgspec.Struct, frozen=True):
    """The program that a named file starts."""

    path: str
    """The executable; empty if none was found."""
    chain: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    """Its variables: the session's, with those that the scripts set."""
    interpreter: str = ""
    """The Python that runs it, for a Python program."""
    problem: str = ""


def find_named(named: str, env: Mapping[str, str], where: Sysroot, here: str) -> str:
    """Return the path of what a person names: a path, or a command on PATH, on Windows also without its ending; empty if there is none."""
    endings = ("", ".exe", ".bat", ".cmd") if where.system == "windows" else ("",)
    if "/" in named or "\\" in named or where.is_file(where.join(here, named)):
        path = named if where.path_module.isabs(named) else where.path_module.normpath(where.join(here, named))
        return next((p for ending in endings if where.exists(p := path + ending)), "")
    value = variable_in(env, "PATH")
    if beside := next((p for e in endings[1:] if where.is_file(p := where.join(here, named + e))), ""):
        return beside
    for folder in split_entries(value, where.system, "PATH"):
        for ending in endings:
            path = where.join(folder.strip('"'), named + ending)
            if where.path_module.isabs(folder.strip('"')) and where.is_file(path):
                return path
    return ""


def follow(path: str, env: Mapping[str, str], where: Sysroot) -> Followed:
    """Return the executable that a file starts. Nothing is run."""
    chain: list[str] = []
    now = dict(env)
    while len(chain) < MOST_LINKS:
        path = where.real_path(path) if where.system == "linux" else path
        if path in chain:
            return Followed(path="", chain=tuple(chain), env=now, problem="loop")
        head = where.read(path, 4096)
        if head is None:
            return Followed(path="", chain=(*chain, path), env=now, problem="unread")
        if head.startswith((b"\x7fELF", b"MZ")):
            python = re.match(r"python[\d.]*(\.exe)?$", where.name(path).lower())
            return Followed(path=path, chain=tuple(chain), env=now, interpreter=path if python else "")
        chain.append(path)
        step = _step(path, head, now, where)
        if step is None:
            return Followed(path="", chain=tuple(chain), env=now, problem="unknown")
        if step.interpreter:
            return Followed(path=step.path, chain=tuple(chain), env=step.env, interpreter=step.interpreter)
        path, now = step.path, dict(step.env)
    return Followed(path="", chain=tuple(chain), env=now, problem="loop")


def _step(path: str, head: bytes, env: dict[str, str], where: Sysroot) -> Followed | None:
    name = where.name(path).lower()
    text = where.text(path, MOST_SCRIPT) or ""
    if head.startswith(b"#!"):
        return _script(path, text, env, where)
    if name.endswith(".desktop"):
        found = re.search(r"(?m)^Exec=(.+)$", text)
        return _command(_split(found[1]), env, where, posixpath.dirname(path)) if found else None
    if name.endswith((".bat", ".cmd")):
        return _batch(path, text, env, where)
    if name.endswith(".lnk"):
        link = read_shortcut(where.read(path, MOST_SCRIPT) or b"")
        return Followed(path=link.target, env=env) if link and link.target else None
    if is_notebook(name):
        notebook = read_notebook(path, where)
        kernel = kernel_of(notebook.kernel, (), env, where) if notebook else None
        return Followed(path=kernel.python, env=env, interpreter=kernel.python) if kernel else None
    if name.endswith(".py"):
        python = find_named("python3", env, where, "/") or find_named("python", env, where, "/")
        return Followed(path=python, env=env, interpreter=python) if python else None
    if where.system == "linux" and text and "\0" not in text[:4096]:
        return _shell(path, text, env, where, "dash")  # as execvp(3) does if "#!" is missing
    return None


def _script(path: str, text: str, env: dict[str, str], where: Sysroot) -> Followed | None:
    words = text.split("\n", 1)[0][2:].split()
    if not words:
        return None
    if where.name(words[0]) == "env":
        rest = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
        interpreter = find_named(rest[0], env, where, "/") if rest else ""
    else:
        interpreter = words[0]
    name = where.name(interpreter).lower()
    if name in SHELL_NAMES:
        # conda and pip write this for a long interpreter path: #!/bin/sh, then '''exec' "/long/python" "$0" "$@"
        trick = re.match(r"#!/bin/sh\n'''exec' \"?([^\"\s]+)\"? ", text)
        if trick:
            return Followed(path=trick[1], env=env, interpreter=trick[1])
        return _shell(path, text, env, where, "bash" if name == "bash" else "zsh" if name == "zsh" else "dash")
    if not interpreter or not where.exists(interpreter):
        return Followed(path=interpreter or "?", env=env)
    if re.match(r"python[\d.]*$|pypy", name):
        return Followed(path=interpreter, env=env, interpreter=interpreter)
    return Followed(path=interpreter, env=env)


def _shell(path: str, text: str, env: dict[str, str], where: Sysroot, shell: str) -> Followed | None:
    """Read a script and return the command that it ends with: the one that it execs, else the last program that exists."""

    def read(file: str) -> str | None:
        return text if file == path else where.text(file, MOST_SCRIPT)

    around = Surroundings(read, where.kind, lambda folder: where.names(folder) or ())
    state = State({**env, "PWD": env.get("PWD", "/")}, set(env))
    reader = ShellReader(around, state, shell, script=path)
    reader.read_files(path)
    folder = where.parent(path)
    for words, file, _line, _state in reversed(reader.commands):
        if file != path:
            continue
        now = dict(state.environment())
        found = _command(words, now, where, folder)
        if found is not None and found.path != path:
            return found
    return None


def _command(words: list[str], env: Mapping[str, str], where: Sysroot, here: str) -> Followed | None:
    """Return the program of a command line, skipping words such as ``exec`` that only run it."""
    now = dict(env)
    rest = list(words)
    while rest:
        if found := re.match(r"([A-Za-z_]\w*)=(.*)\Z", rest[0], re.DOTALL):
            if UNKNOWN not in found[2]:
                now[found[1]] = found[2]
            rest.pop(0)
        elif rest[0] in STARTERS:
            rest.pop(0)
            while rest and rest[0].startswith("-"):
                rest.pop(0)
        else:
            break
    if not rest or UNKNOWN in rest[0]:
        return None
    path = find_named(rest[0], now, where, here)
    return Followed(path=path, env=now) if path and where.is_file(path) else None


def _split(text: str) -> list[str]:
    return [a or b or c for a, b, c in re.findall(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'|(\S+)", text)]


# --- Windows -------------------------------------------------------------------------------------------------------


def _batch(path: str, text: str, env: dict[str, str], where: Sysroot) -> Followed | None:
    """Read a batch file: its ``set`` lines, then the last program that it starts."""
    now = {n.upper(): v for n, v in env.items()}
    folder = where.parent(path).rstrip("\\/") + "\\"
    now["CD"] = folder.rstrip("\\")
    found: Followed | None = None
    for raw in text.splitlines():
        line = raw.strip().lstrip("@").strip()
        line = folder.join(re.split(r"(?i)%~dp0", line))
        line = re.sub(r"%([^%\s]+)%", lambda m: now.get(m[1].upper(), m[0]), line)
        lower = line.lower()
        if lower.startswith(
            ("rem ", "::", "echo", "setlocal", "endlocal", "pause", "exit", "title", "if ", "goto", ":")
        ):
            continue
        if assigned := re.match(r"set\s++\"?([^=\"]+)=(.*?)\"?$", line, re.IGNORECASE):
            now[assigned[1].strip().upper()] = assigned[2]
            continue
        if moved := re.match(r"cd\s++(?:/d\s++)?\"?([^\"]+)\"?$", line, re.IGNORECASE):
            folder = moved[1] if where.path_module.isabs(moved[1]) else where.join(folder, moved[1])
            continue
        words = _split(line)
        while words and words[0].lower() in STARTERS:
            words.pop(0)
            while words and (words[0].startswith("/") or not words[0]):
                words.pop(0)
        if words and (target := find_named(words[0], now, where, folder)) and where.is_file(target):
            found = Followed(path=target, env=dict(now))
    return found
