"""The Python that a command line finally starts: through env, sudo, shells and their scripts. Nothing is run."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import Literal

import msgspec

from core.common.late_pattern import late_pattern
from core.host.startup.plain import read_assignments
from core.host.startup.posix import ShellReader
from core.host.startup.state import UNKNOWN, State, Surroundings
from core.host.startup.syntax import SHELL_NAMES
from core.probes.programs.follow import find_named
from core.probes.python.environment import prefix_of
from core.probes.starting.commands import other_users
from core.probes.starting.commands.batch import SUBMITTERS, give_job_variables, handed_in
from core.probes.starting.commands.containers import ENGINES, run_in_container
from core.probes.starting.commands.runners import (
    ALONE,
    RUNNERS,
    WRAPPERS,
    behind_sudo,
    command_behind,
    run_alone,
    run_behind,
    take_options,
    words_of,
)
from core.probes.starting.commands.script_metadata import own_requirements
from core.probes.starting.machine import Ground, folders_upward
from core.probes.starting.shells import family, read_shell

MOST_STEPS = 12
MOST_SCRIPT = 1 << 17
OF_A_START = 2
"""Scripts at a lower depth are named by the start itself."""
MOST_COMMANDS = 80
"""Commands of one script that are followed, from its end; the last one that starts a Python counts, else the last program."""
PYTHON = late_pattern(r"python[\d.]*$|pypy[\d.]*$")
INTERPRETERS = late_pattern(
    r"(?:node|nodejs|bun|deno|php[\d.]*|ruby[\d.]*|perl[\d.]*|lua[\d.]*|Rscript|julia|ts-node|tsx)$"
)
"""Programs that run a program of the person in another language, which may start a Python."""
TASK_RUNNERS = ("make", "gmake", "just", "npm", "yarn", "pnpm", "task")
OTHER_CODE = (".js", ".mjs", ".cjs", ".ts", ".php", ".rb", ".pl", ".lua")
LAUNCHERS = frozenset(
    ("streamlit", "gradio", "chainlit", "torchrun", "accelerate", "deepspeed", "ipython", "uvicorn", "gunicorn", "hypercorn", "fastapi", "bokeh",
     "panel", "solara", "celery", "flask", "kernprof", "scalene", "memray", "horovodrun", "marimo", "viztracer", "py-spy", "pytest", "py.test")
)  # fmt: skip
"""Programs in Python that run a program of the person in their own interpreter."""
GIVES_CONDA = r"hook|conda\.sh|mamba\.sh|sh -\w{0,9}[li]|set -\w{0,9}i|rcfile|conda\w{0,9}/bin|BASH_ENV|shell init"
LETS_CONDA_ACTIVATE = late_pattern(GIVES_CONDA + r"|bashrc|profile|^[ \t]{0,40}(?:\.|source)[ \t]")
_GIVES_CONDA = late_pattern(GIVES_CONDA)
"""What gives a script conda's function, without which ``conda activate`` does nothing but tell so (conda's documentation, "conda init"); what
a script reads by ``source`` is followed, and counts only where nothing else shows what it came to."""


class StartedFile(msgspec.Struct, frozen=True):
    """The program that a command line finally starts."""

    path: str
    prefix: str
    """The prefix of the Python environment that runs it; empty for a program other than Python."""
    real: str = ""
    """The same path with links resolved."""
    arguments: tuple[str, ...] = ()
    """Of a Python: its options, and the program that it runs."""
    by_name: bool = False
    """PATH led to it."""
    is_gone: bool = False
    """It is a Python that a command names, or by its name a program of ``LAUNCHERS``, and that is not there."""
    ended_at: str = ""
    """File and line at which a batch file ends before it comes to this start, or by which a shell does not come to it."""
    ended_by: Literal[
        "no source",
        "no shell",
        "no conda",
        "percent",
        "blank",
        "exits",
        "no command",
        "block",
        "bracket",
        "itself",
        "marks",
        "title",
        "not read",
        "policy",
    ] = "no source"
    """With ``ended_at``: why it does not come to this start."""
    without_conda: bool = False
    """A shell on the way to it met ``conda activate``, and nothing had given it conda's function."""
    tool: str = ""
    """A tool that gets an environment of its own, with ``requires`` and what these bring (``uvx``, ``pipx run``)."""
    requires: tuple[str, ...] | None = None
    """Of a program with metadata of its own: the distributions that they list, which its environment has, and nothing else."""
    first: str = ""
    """Of no shell and no command: the first word, which is no program; of exits: the command that fails, or the file that is not there."""
    passed_over: tuple[tuple[str, int], ...] = ()
    """On Windows: the lines of batch files that a jump leaves out, by file and number."""
    without: str = ""
    """The environment manager that is to run it, and that nothing in PATH has; a person's session may have it."""
    launcher: str = ""
    """On Windows: the program of a package's command, which starts this Python."""
    relative: str = ""
    """On Windows: the path without a folder, of itself or of its program, that is not in the folder in which it starts."""
    project: str = ""
    """Folder of the project whose requirements ``uv run`` installs first."""
    opens_store: bool = False
    """On Windows: it is gone, and in its place an alias opens the Store."""


class Line(msgspec.Struct, frozen=True):
    """The position of a command line."""

    file: str
    number: int


def python_of_command(words: list[str], at: Line, state: State, ground: Ground) -> StartedFile | None:
    """Return the program that a command line starts; None if reading does not show it.

    ``state`` gets the variables that are set and removed on the way.
    """
    return _follow(list(words), at, state, ground, 0)


OF_A_SHELL = (".", "source", "cd", "export", "set", "unset", "ulimit", "conda", "mamba", "micromamba")
"""Words that begin a command of a shell; of conda, only ``activate``, which is a function."""
OPERATORS = ("&&", "||", ";", "|", "&")


def python_without_shell(
    words: list[str], at: Line, state: State, ground: Ground, *, whole: bool = False
) -> StartedFile | None:
    """Return what a command starts that no shell reads, or what a shell would start. ``whole``: no path but a whole one (systemd.service(5))."""
    first = words[0] if words else ""
    at_home = re.match(r"(?:~|\$HOME|\$\{HOME\})(?=/)", first)
    if at_home or (whole and "/" in first[1:] and re.match(r"[\w.]", first)):
        place = ground.person.home + first[at_home.end() :] if at_home else first
        found = python_of_command([place, *words[1:]], at, state, ground)
        return found and msgspec.structs.replace(
            found, ended_at=f"{at.file}:{at.number}", ended_by="no shell", first=first
        )
    if first not in OF_A_SHELL or (first.endswith(("conda", "mamba")) and words[1:2] != ["activate"]):
        return python_of_command(words, at, state, ground) if words else None
    spelt = " ".join(w if w in OPERATORS else shlex.quote(w) for w in words)
    found = _of_commands(spelt, at, state, ground, 0)
    return found and msgspec.structs.replace(found, ended_at=f"{at.file}:{at.number}", ended_by="no shell", first=first)


def python_of_text(text: str, at: Line, state: State, ground: Ground, *, shell: str = "bash") -> StartedFile | None:
    """Do the same for a line that a shell reads: a cron job, or the text after ``sh -c``."""
    return _of_commands(text, at, state, ground, 0, shell=language(shell, ground))


def language(shell: str, ground: Ground) -> str:
    """Return the language in which a shell's commands are read: that of dash, where ``sh`` is dash, and else that of bash."""
    name = posixpath.basename(shell)
    if name == "sh":
        name = posixpath.basename(ground.where.real_path("/bin/sh"))
    return "dash" if name == "dash" else "bash"


def _follow(  # noqa: C901, PLR0912 - one case per kind of starter
    words: list[str], at: Line, state: State, ground: Ground, depth: int
) -> StartedFile | None:
    while words and depth < MOST_STEPS:
        word = words[0]
        name = posixpath.basename(word)
        if found := re.match(r"([A-Za-z_]\w*)=(.*)\Z", word, re.DOTALL):
            state.export_variable(found[1], found[2], at.file, at.number, "posix")
            words = words[1:]
        elif name in ("env", "cross-env", "cross-env-shell"):
            words = _env(words[1:], at, state)
        elif name in ("sudo", "doas"):
            words = behind_sudo(words[1:], (at.file, at.number), state, ground)
        elif name in WRAPPERS:
            if name in other_users.NAMES:
                other_users.as_another_user(name, words[1:], (at.file, at.number), state, ground)
            take_options(name, words[1:], (at.file, at.number), state, ground)
            words = command_behind(words[1:], state, ground)
        elif name in ALONE and (alone := _with_own_environment(words, state, ground)):
            return alone
        elif name in RUNNERS:
            return _by_manager(words, at, state, ground, depth)
        elif name in ENGINES and (inner := run_in_container(words[1:], (at.file, at.number), state, ground)):
            words = inner
        elif name in SUBMITTERS and (job := handed_in(words, state.values.get("PWD", "/"), ground.where)):
            give_job_variables(ground.read(job[0]) or "", job[0], state, ground, ((at.file, at.number), words))
            words = job
        elif name == "concurrently":
            started = (
                _of_commands(w, at, state, ground, depth + 1) for w in words[1:] if " " in w and not w.startswith("-")
            )
            return next((s for s in started if s is not None and (s.prefix or s.is_gone)), None)
        elif name == "ros2" and words[1:2] == ["run"] and len(words) > 3:  # the file that colcon installed
            node = posixpath.join(ground.here(state), "install", words[2], "lib", words[2], words[3])
            words = [node, *words[4:]] if ground.where.is_file(node) else []
        elif name in TASK_RUNNERS:
            return _by_task(words, state, ground, depth)
        elif name == "find" and "-exec" in words:
            words = words[words.index("-exec") + 1 :]
        elif name in SHELL_NAMES:
            return _shell(words, at, state, ground, depth + 1)
        else:
            ended = _program(words, state, ground, depth + 1)
            if ended is not None and ended.prefix:
                _read_by_itself(words, at, state, ground)
            return ended
    return None


def _by_task(words: list[str], state: State, ground: Ground, depth: int) -> StartedFile | None:
    """Return what the first command of a task that leads to a Python starts: of a makefile, a justfile, a Taskfile or package.json."""
    from core.probes.starting.projects.tasks import commands_of_task  # which follows its commands by this module

    for path, line, command, its in commands_of_task(words, state, ground):
        found = _of_commands(command, Line(path, line), its, ground, depth + 1)
        if found is not None and (found.prefix or _is_lost(found) or found.arguments):
            state.take(its)
            return found
    return None


def _by_manager(words: list[str], at: Line, state: State, ground: Ground, depth: int) -> StartedFile | None:
    """Return what an environment manager runs, which nothing in PATH may have."""
    name, path = posixpath.basename(words[0]), _searched(state)
    known = "/" not in words[0] and "PATH" not in state.open and UNKNOWN not in path
    is_there = not known or find_named(name, {"PATH": path}, ground.where, "/")
    behind = run_behind(name, words[1:], state, ground, (at.file, at.number))
    found = _follow(behind, at, state, ground, depth + 1)
    program = next((n for n, w in enumerate(words) if w.endswith(".py")), None)
    if not found and not is_there and program and words[1] == "run":
        found = StartedFile(name, "", arguments=tuple(words[program:]), is_gone=True, by_name=True)
    return msgspec.structs.replace(found, without=name) if found and not is_there else found


def _with_own_environment(words: list[str], state: State, ground: Ground) -> StartedFile | None:
    """Return a tool, or a program with metadata of its own, that gets an environment with what it asks for, and nothing else."""
    if tool := run_alone(words):
        return StartedFile("", "", arguments=tool[0], tool=tool[0][0], requires=tool[1])
    own = own_requirements(words[1:], state.values.get("PWD", "/"), ground.where) if words[0].endswith("uv") else None
    return StartedFile("", "", arguments=(own[0],), requires=own[1]) if own else None


READS_BY_ITSELF = {"uvicorn": "--env-file"}
"""Programs in Python that read a file of variables when they have started, before they import the application (uvicorn's settings)."""


def _read_by_itself(words: list[str], at: Line, state: State, ground: Ground) -> None:
    """Take what a program reads by itself; variables of the loader and of Python's own start come too late there."""
    names = [posixpath.basename(w) for w in words]
    option = next((o for n, o in READS_BY_ITSELF.items() if n in names[:3]), "")
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not option or name != option:
            continue
        file = value if equals else words[number + 1] if number + 1 < len(words) else ""
        path = state.place(file)
        if file and ground.around.kind(path) == "missing":
            state.miss(path, at.file, at.number, ends=True)
        if file and (text := ground.read(path)) is not None:
            its = State(dict(state.values), set(state.exported))
            read_assignments(text, path, its, braced=True)
            state.files.append(path)
            for variable, rows in its.lines.items():
                if not variable.startswith(("LD_", "PYTHON")) and variable in its.values:
                    state.values[variable] = its.values[variable]
                    state.exported.add(variable)
                    state.lines.setdefault(variable, []).extend(rows)


def _env(words: list[str], at: Line, state: State) -> list[str]:
    while words and words[0].startswith("-"):
        option = words[0]
        if option in ("-i", "-", "--ignore-environment"):
            for name in list(state.values):
                if name in state.exported:
                    state.unset_variable(name, at.file, at.number, "posix")
        elif option in ("-u", "--unset") and len(words) > 1:
            state.unset_variable(words[1], at.file, at.number, "posix")
            words = words[1:]
        elif option.startswith("--unset="):
            state.unset_variable(option[8:], at.file, at.number, "posix")
        elif option in ("-S", "--split-string") and len(words) > 1:
            words = ["", *words_of(words[1]), *words[2:]]
        words = words[1:]
    return words


def _shell(words: list[str], at: Line, state: State, ground: Ground, depth: int) -> StartedFile | None:
    name = family(words[0]) or "dash"
    options = []
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] != "--":
        options.append(rest[0])
        rest = rest[1:]
    letters = "".join(o[1:] for o in options if not o.startswith("--"))
    login, interactive = "l" in letters or "--login" in options, "i" in letters
    if login or interactive:
        read_shell(ground, state, name, login=login, interactive=interactive)
    if not rest:
        return None
    if name == "bash" and not (login or interactive):
        _read_bash_env(state, ground)
    spoken = language(words[0], ground)
    return (
        _of_commands(rest[0], at, state, ground, depth, shell=spoken, knows_conda=login or interactive)
        if "c" in letters
        else _program(rest, state, ground, depth, script=spoken)
    )


def _read_bash_env(state: State, ground: Ground) -> None:
    """Read the file that a non-interactive bash reads first (bash(1), BASH_ENV)."""
    told = state.values.get("BASH_ENV", "")
    path = re.sub(r"^~(?=/)|\$HOME\b|\$\{HOME\}", lambda _m: ground.person.home, told)
    if path.startswith("/") and "$" not in path:
        ShellReader(ground.around, state, "bash").read_files(path)


def _of_commands(  # noqa: PLR0917 - what a shell is given
    text: str, at: Line, state: State, ground: Ground, depth: int, shell: str = "bash", *, knows_conda: bool = False
) -> StartedFile | None:
    name = f"{at.file}\0"
    return _read(text, at.file, state, ground, depth, name=name, line=at.number, shell=shell, knows_conda=knows_conda)


def _program(  # noqa: C901, PLR0912 - one case per kind of file
    words: list[str], state: State, ground: Ground, depth: int, *, script: str = ""
) -> StartedFile | None:
    """Follow a program: an executable is the result, a script is read; ``script``: the language of the shell that was told to read it."""
    if UNKNOWN in words[0] or depth >= MOST_STEPS:
        return None
    where = ground.where
    path = find_named(words[0], {"PATH": _searched(state)}, where, state.values.get("PWD", "/"))
    if not path or not where.is_file(path):
        return _absent(words, state)
    head = where.read(path, 256) or b""
    if head.startswith(b"\x7fELF"):
        python = PYTHON.match(posixpath.basename(path))
        if python:
            return python_started(path, words, state, ground)
        return StartedFile(path, "", arguments=tuple(words[1:]) if INTERPRETERS.match(posixpath.basename(path)) else ())
    first = head.partition(b"\n")[0].decode("utf-8", "replace")
    if PYTHON.match(posixpath.basename(path)):
        return _shim(path, words, first, state, ground, depth)
    if not script and path.endswith(OTHER_CODE) and not head.startswith(b"#!"):
        return StartedFile(path, "", arguments=(path,))
    if head.startswith(b"#!") and not script:
        starts = words_of(first[2:])
        if starts and posixpath.basename(starts[0]) == "env":
            return _follow([*starts, path, *words[1:]], Line(path, 1), state, ground, depth + 1)
        if not starts:
            return None
        name = posixpath.basename(starts[0])
        if PYTHON.match(name):
            found = _program([*starts, path, *words[1:]], state, ground, depth + 1)
            return found and msgspec.structs.replace(found, by_name=found.by_name or "/" not in words[0])
        if name not in SHELL_NAMES:
            return None
        if name == "bash":
            _read_bash_env(state, ground)
        script = language(starts[0], ground)
    text = where.text(path, MOST_SCRIPT)
    if text is None or "\0" in text:
        return None
    trick = re.match(r"#!/bin/sh\n'''exec' \"?([^\"\s]+)\"? ", text)
    if trick:
        found = _program([trick[1], path, *words[1:]], state, ground, depth + 1)
        return found and msgspec.structs.replace(found, by_name=found.by_name or "/" not in words[0])
    return _read(text, path, state, ground, depth, arguments=tuple(words[1:]), shell=script or "bash")


def _searched(state: State) -> str:
    """Return the folders in which a command is searched: without PATH, those of the C library (execvp(3), confstr(3))."""
    return state.values.get("PATH", "/bin:/usr/bin")


def _absent(words: list[str], state: State) -> StartedFile | None:
    """Return the Python that a command names and that is not there, by path or PATH. A lost launcher is the first argument of its Python."""
    if INTERPRETERS.match(posixpath.basename(words[0])):
        return StartedFile(words[0], "", arguments=tuple(words[1:]))
    searched = _searched(state)
    by_name, launches = "/" not in words[0], False
    if by_name:
        launches = words[0] in LAUNCHERS
        known = launches or re.fullmatch(r"python[\d.]*", words[0]) is not None
        named = known and bool(searched) and UNKNOWN not in searched
    else:
        elsewhere = re.match(r"/(?!(?:usr/)?(?:local/)?bin/)", words[0]) is not None
        named = elsewhere and PYTHON.match(posixpath.basename(words[0])) is not None
    if not named or (by_name and "PATH" in state.open):
        return None
    arguments = tuple(words) if by_name and launches else tuple(words[1:])
    return StartedFile(words[0], "", arguments=arguments, is_gone=True, by_name=by_name)


def _shim(  # noqa: PLR0917 - what is started, and with what
    path: str, words: list[str], first: str, state: State, ground: Ground, depth: int
) -> StartedFile:
    """Follow a script that is called like a Python: pyenv's leads to the chosen version, any other to what it starts."""
    started = python_started(path, words, state, ground)
    shell = first.startswith("#!") and any(posixpath.basename(w) in SHELL_NAMES for w in first[2:].split()[:3])
    text = ground.where.text(path, MOST_SCRIPT) if shell and not started.prefix else None
    if text is None or "\0" in text:
        return started
    its = state.apart()
    found = _read(text, path, its, ground, depth, arguments=tuple(words[1:]))
    if found is None or not found.prefix:
        return started
    state.take(its)
    return msgspec.structs.replace(found, by_name=started.by_name)


def _version_of_pyenv(state: State, ground: Ground) -> str:
    """Return what pyenv's shims obey before its global version: PYENV_VERSION, else the nearest .python-version (pyenv's README)."""
    if chosen := state.values.get("PYENV_VERSION", ""):
        return chosen
    nearest = (ground.read(ground.where.join(f, ".python-version")) for f in folders_upward(ground.here(state)))
    return next((its for text in nearest if (its := (text or "").strip())), "")


def python_started(path: str, words: list[str], state: State, ground: Ground) -> StartedFile:
    """Return the Python that a command starts whose first word leads to a file."""
    paths = ground.where.path_module
    by_shim = paths.basename(paths.dirname(path)) == "shims"
    version = {"PYENV_VERSION": _version_of_pyenv(state, ground)} if by_shim else {}
    prefix = prefix_of(path, ground.where, {**state.values, **version})
    real = ground.where.real_path(prefix) if prefix else ""
    return StartedFile(path, prefix, real, tuple(words[1:]), by_name=not paths.dirname(words[0]))


def _read(  # noqa: PLR0917 - what a script is given
    text: str,
    path: str,
    state: State,
    ground: Ground,
    depth: int,
    arguments: tuple[str, ...] = (),
    name: str = "",
    line: int = 0,
    shell: str = "bash",
    *,
    knows_conda: bool = False,
) -> StartedFile | None:
    """Read a script and return the program of its last command that starts one."""
    if depth < OF_A_START:
        state.begin()
    if not state.may_read():
        return None
    own = name or path
    around = Surroundings(
        lambda file: text if file == own else ground.read(file),
        ground.around.kind,
        ground.around.names,
        ground.around.uid,
        ground.around.user,
    )
    inner = state.copy()
    inner.files = []
    known = {n: len(its) for n, its in inner.lines.items()}
    reader = ShellReader(around, inner, shell, arguments=arguments, script=path, follows=True)
    reader.lacks_conda = not knows_conda and not any(_GIVES_CONDA.search(r) for r in text.splitlines())
    reader.ends_on_error = bool(_errexit(text.partition("\n")[0])) if text.startswith("#!") else False
    reader.read_files(own)
    if knows_conda or (shell == "bash" and state.values.get("BASH_ENV")):
        state.followed.with_functions.add(own)
    found = _last_started(reader, own, path, line, ground, depth)
    if found is None:
        return None
    started, after = found
    _take(state, after, own, path, line, known, text)
    return msgspec.structs.replace(started, without_conda=started.without_conda or reader.met_no_conda)


def _last_started(  # noqa: PLR0917 - what belongs to a script
    reader: ShellReader, own: str, path: str, line: int, ground: Ground, depth: int
) -> tuple[StartedFile, State] | None:
    """Return the program of the last command that starts a Python, and the state after it; else of the last that starts any."""
    other: tuple[StartedFile, State] | None = None
    for words, file, number, after in reader.commands[: -MOST_COMMANDS - 1 : -1]:
        if file != own:
            continue
        found = _follow(list(words), Line(path, line or number), after, ground, depth + 1)
        if found is not None and (found.prefix or _is_lost(found)):
            return found, after
        other = other or ((found, after) if found is not None else None)
    for failing, (words, file, number, after) in reader.unreached[: -MOST_COMMANDS - 1 : -1]:
        found = _follow(list(words), Line(path, line or number), after, ground, depth + 1) if file == own else None
        if found is not None and (found.prefix or _is_lost(found)):
            its = found.ended_by if found.ended_at else reader.unreached_by
            ended = found.ended_at or f"{path}:{line or failing}"
            return msgspec.structs.replace(found, ended_at=ended, ended_by=its), after
    return other


def _is_lost(found: StartedFile) -> bool:
    """Whether it is a Python that is not there. After a launcher that is not, reading goes on to what the script starts before."""
    return found.is_gone and bool(PYTHON.match(posixpath.basename(found.path)))


def _take(  # noqa: PLR0917 - what belongs to a script
    state: State, after: State, own: str, path: str, line: int, known: dict[str, int], text: str
) -> None:
    """Replace a state by the one that a script left, with line numbers of the file."""
    state.values, state.exported, state.open, state.aliases = after.values, after.exported, after.open, after.aliases
    state.gone = [
        msgspec.structs.replace(g, file=path, line=line or g.line, ends=_ends_a_script(text, g.line))
        if g.file == own
        else g
        for g in after.gone
    ]
    state.files = [*state.files, *(f for f in after.files if f != own), path]
    state.lines = {
        n: [
            msgspec.structs.replace(row, file=path, line=line or row.line)
            if row.file == own and k >= known.get(n, 0)
            else row
            for k, row in enumerate(its)
        ]
        for n, its in after.lines.items()
    }


def _errexit(row: str) -> bool | None:
    """Whether a line of a shell script lets it end at the first failure, or go on; None if it says nothing of it."""
    words = row.split()
    if row.startswith("#!"):
        return True if any(re.match(r"-\w*e", word) for word in words[1:]) else None
    if words[:1] != ["set"] or len(words) < 2 or words[1][0] not in "-+":
        return None
    its = "e" in words[1][1:] or (words[1].endswith("o") and words[2:3] == ["errexit"])
    return words[1][0] == "-" if its else None


def _ends_a_script(text: str, line: int) -> bool:
    """Whether a script ends where it reads a file that is not there: sh does at ".", and each shell after ``set -e`` unless something
    else stands behind it (POSIX.1-2017, "Consequences of Shell Errors" and "set").
    """
    rows = text.split("\n")
    row = rows[line - 1].strip() if 0 < line <= len(rows) else ""
    if re.match(r"#!\s*/(?:usr/)?bin/(?:da)?sh\b", text):
        return row.startswith(". ")
    told = [its for each in rows[: line - 1] if (its := _errexit(each)) is not None]
    stops = bool(told) and told[-1]
    return stops and bool(re.match(r"(?:\.|source)\s", row)) and "||" not in row and "&&" not in row
