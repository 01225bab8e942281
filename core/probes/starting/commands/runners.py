"""Words before a command that run it: wrappers, sudo, and ``run`` of environment managers. Nothing is run."""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
from collections.abc import Iterator

import msgspec

from core.common.late_pattern import late_pattern
from core.common.variable_names import variable_in
from core.host.startup.plain import read_assignments
from core.host.startup.state import State, is_name
from core.host.startup.syntax import SHELL_NAMES
from core.probes.programs.follow import find_named
from core.probes.python.environment import prefix_of
from core.probes.python.locations import CONDAS_FOLDERS
from core.probes.starting.machine import Ground, folders_upward

WRAPPERS = frozenset((
    "exec", "nohup", "nice", "ionice", "setsid", "time", "command", "stdbuf", "taskset", "chrt", "numactl", "timeout", "flock",
    "unbuffer", "watch", "script", "su", "runuser", "xvfb-run", "dbus-run-session", "systemd-inhibit",
    "gnome-terminal", "konsole", "xterm", "x-terminal-emulator", "xfce4-terminal", "kitty", "alacritty", "tilix",
    "xargs", "sg", "catchsegv", "chronic", "proxychains", "proxychains4", "torsocks", "entr", "cpulimit", "pdsh",
    "nodemon", "watchfiles", "watchexec", "npx",
    "srun", "mpirun", "mpiexec", "mpiexec.hydra", "prun", "systemd-run", "dotenv", "direnv", "honcho", "foreman", "tini", "dumb-init", "gosu",
    "screen", "tmux", "caffeinate", "firejail", "parallel", "start-stop-daemon", "setpriv", "setarch", "prlimit", "cgexec",
    "envdir", "s6-envdir", "chpst", "setuidgid", "s6-setuidgid", "softlimit", "s6-softlimit",
    "nsys", "ncu", "compute-sanitizer", "cuda-gdb", "gdb", "strace", "ltrace", "perf", "valgrind",
))  # fmt: skip
"""Programs that start another one with their own variables."""

KEPT_BY_SUDO = (
    "TERM",
    "DISPLAY",
    "LANG",
    "LC_*",
    "HOME",
    "XAUTHORITY",
    "XAUTHORIZATION",
    "COLORS",
    "KDEDIR",
    "MAIL",
    "PS1",
    "PS2",
)
"""Variables that sudo keeps by default (sudoers(5), env_reset); loader variables never pass."""

SECURE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Runner(msgspec.Struct, frozen=True):
    """A program whose ``run`` starts a command in an environment."""

    places: tuple[str, ...] = ()
    """Paths of its environment relative to the project's folder; ``{name}`` is the value of ``-e`` or ``-n``."""
    marks: tuple[str, ...] = ("pyproject.toml",)
    """Files that mark the project's folder."""
    reads: tuple[str, ...] = ()
    """Files of variables that it reads there by default."""
    told_by: str = ""
    """Variable that names the environment's folder."""
    kept: str = ""
    """Otherwise: the folder below the home that contains its environments, each named after its project and a digest of the project's path."""
    kept_on_windows: tuple[str, str] = ("", "")
    """The same there: the variable that names the folder above, and the path below it."""
    saved: tuple[str, ...] = ()
    """Files of the project that name the interpreter which it takes first, if that is there."""
    not_saved: str = ""
    """With this variable it does not look into them."""
    takes_active: bool = False
    """It takes an active environment."""
    keeps_active: str = ""
    """With this variable it does not."""
    conda: bool = False
    """It finds conda environments by name."""


RUNNERS: dict[str, Runner] = {
    "uv": Runner((".venv",), told_by="UV_PROJECT_ENVIRONMENT"),  # uv's documentation, "Project structure and files"
    "rye": Runner((".venv",)),
    "pdm": Runner(
        (".venv", "venv"),
        saved=(".pdm-python",),
        not_saved="PDM_IGNORE_SAVED_PYTHON",
        takes_active=True,
        keeps_active="PDM_IGNORE_ACTIVE_VENV",
    ),  # PDM's documentation, "Working with virtual environments"; resolve_interpreter() of its project/core.py
    "poetry": Runner(
        (".venv",),
        kept=".cache/pypoetry/virtualenvs",
        kept_on_windows=("LOCALAPPDATA", "pypoetry\\Cache\\virtualenvs"),
        takes_active=True,
    ),  # Poetry's documentation, "virtualenvs.in-project"; EnvManager.get() of its env_manager.py
    "hatch": Runner((".venv",)),
    "pipenv": Runner(
        (".venv",),
        ("Pipfile",),
        (".env",),
        kept=".local/share/virtualenvs",
        kept_on_windows=("USERPROFILE", ".virtualenvs"),
        saved=(".venv",),
        takes_active=True,
        keeps_active="PIPENV_IGNORE_VIRTUALENVS",
    ),  # Pipenv's documentation, "Environment and Shell Configuration" and "Configuration"
    "pixi": Runner((".pixi/envs/{name}",), ("pixi.toml", "pyproject.toml")),  # Pixi's documentation, "Environment"
    "conda": Runner(conda=True),
    "mamba": Runner(conda=True),
    "micromamba": Runner(conda=True),
}


_ONE = {
    "mpirun": ("-x",),
    "mpiexec": ("-x",),
    "prun": ("-x",),
    "systemd-run": ("-E", "--setenv"),
    "srun": ("--export",),
}
"""Options followed by an assignment: mpirun(1) of Open MPI, systemd-run(1), srun(1)."""
_TWO = {"mpirun": ("-genv", "-env"), "mpiexec": ("-genv", "-env"), "mpiexec.hydra": ("-genv", "-env")}
"""Options followed by a name and a value (mpiexec of MPICH and of Intel MPI)."""
_FILES = {"dotenv": ("-f", "--file", "-e"), "honcho": ("-e", "--env"), "foreman": ("-e", "--env")}
"""Options that name the file of variables which a starter reads; ".env" without one (python-dotenv's, honcho's and foreman's documentation)."""

_REPLACES = {"honcho": ""}
"""What a starter replaces in its file of variables, where that is not $NAME and ${NAME}: nothing (honcho's environ.py), or ${NAME} alone
(python-dotenv, which Pipenv uses, and whose command is ``dotenv run``).
"""

_FOLDERS = ("envdir", "s6-envdir", "chpst")
"""Programs that read a folder with a file for each variable."""
MOST_VARIABLES = 200
"""Maximum number of files read in such a folder."""


def _read_folder(folder: str, state: State, ground: Ground) -> None:
    """Take a folder's variables: the first line of each file, without spaces at its end; an empty file removes the variable.

    Source: daemontools, "The envdir program"; chpst(8) of runit.
    """
    for name in ground.around.names(folder)[:MOST_VARIABLES]:
        path = f"{folder}/{name}"
        text = ground.read(path) if is_name(name) else None
        if text == "":
            state.unset_variable(name, path, 1, "python")
        elif text is not None:
            state.files.append(path)
            state.export_variable(name, text.split("\n")[0].rstrip(" \t").replace("\0", "\n"), path, 1, "python")


def take_options(name: str, words: list[str], at: tuple[str, int], state: State, ground: Ground) -> None:
    """Let a state have the variables that a starter's own options give what it starts."""
    its = words[: next((n for n, w in enumerate(words) if _names_a_program(w, state, ground)), len(words))]
    if name == "systemd-run" and "--scope" not in its:  # its manager starts the command, with variables of its own
        state.keep_only(OF_EACH, *at, "posix")
    for number, word in enumerate(its):
        option, equals, value = word.partition("=")
        behind = its[number + 1 : number + 3]
        if word in _TWO.get(name, ()) and len(behind) == 2:
            _set(state, behind[0], behind[1], at)
        elif option in _ONE.get(name, ()):
            told = value if equals else behind[0] if behind else ""
            if name == "srun" and "ALL" not in told.split(","):
                state.keep_only({*OF_EACH, *(w.partition("=")[0] for w in told.split(","))}, *at, "posix")
            for one in told.split(",") if name == "srun" else [told]:
                variable, has_value, its_value = one.partition("=")
                if has_value:
                    _set(state, variable, its_value, at)
    if name in _FOLDERS:
        front = words[: len(its) + 1]  # the folder is often named "env", like a program
        by_option = [v for o, v in _options(front) if o == "-e"]
        for folder in by_option if name == "chpst" else [w for w in front if w[:1] != "-"][:1]:
            _read_folder(state.place(folder), state, ground)
    if name in _FILES:
        options = dict(_options(its))
        file = next((options[o] for o in _FILES[name] if options.get(o)), ".env")
        how = "braced" if name == "dotenv" and "run" in words else _REPLACES.get(name, "expands")
        _read(posixpath.join(state.values.get("PWD", "/"), file), state, ground, at if file != ".env" else None, how)
    if name == "direnv" and words[:1] == ["exec"] and len(words) > 1:
        from core.host.startup.posix import ShellReader

        folder = state.place(words[1])
        ShellReader(ground.around, state, "bash").read_files(f"{folder}/.envrc")


def give_login(state: State, login: State) -> None:
    """Let a state have the variables of a login, but for those that each process of a person has; PATH is the login's."""
    for name, value in login.environment().items():
        if name not in OF_EACH or name == "PATH":
            state.values[name] = value
            state.exported.add(name)
            state.lines[name] = login.lines.get(name, [])
    state.files += [f for f in login.files if f not in state.files]


OF_EACH = ("HOME", "USER", "LOGNAME", "SHELL", "PATH", "PWD")
"""Variables that each process of a person has."""


def _set(state: State, name: str, value: str, at: tuple[str, int]) -> None:
    if is_name(name):
        state.export_variable(name, value, *at, "posix")


_OF_A_SHELL = late_pattern(r"^(?:cd|\.|source|export)\s|&&|;\s")


def command_behind(words: list[str], state: State, ground: Ground) -> list[str]:
    """Return the command that a wrapper starts: the words from the first one that names a program."""
    for number, word in enumerate(words):
        if word == "-c" and number + 1 < len(words) and " " in words[number + 1]:
            return ["sh", "-c", words[number + 1]]
        whole = " " in word and not word.startswith("-")
        if whole and _OF_A_SHELL.search(word):
            return ["bash", "-c", word]  # tmux and screen give it to the person's shell
        if whole and (number == len(words) - 1 or _names_a_program(word.split()[0], state, ground)):
            return words_of(word)  # The command may be one word: xterm -e "python x.py"
        if not word.startswith("-") and (re.match(r"[A-Za-z_]\w*=", word) or _names_a_program(word, state, ground)):
            return words[number:]
    return []


def words_of(text: str) -> list[str]:
    """Return the words of a command line; none if a quote is not closed."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _names_a_program(word: str, state: State, ground: Ground) -> bool:
    name = posixpath.basename(word)
    if name in WRAPPERS or name in RUNNERS or name in SHELL_NAMES or name in ("env", "sudo", "doas"):
        return True
    where, here = ground.where, state.values.get("PWD", "/")
    path = find_named(word, {"PATH": state.values.get("PATH", "")}, where, here) if word else ""
    if not path or not where.is_file(path) or ("/" not in word and path == posixpath.join(here, word)):
        return False
    return (where.read(path, 4) or b"").startswith((b"\x7fELF", b"#!"))


# --- run of an environment manager ------------------------------------------------------------------------------------


ALONE = {"uvx": 1, "uv": 3, "pipx": 2}
"""Programs that run a tool in an environment of its own -> how many words stand before the tool's."""
TOOLS = frozenset(("pytest", "streamlit", "gradio", "chainlit", "uvicorn", "gunicorn", "hypercorn", "flask", "fastapi", "ipython", "marimo", "panel", "bokeh", "celery"))  # fmt: skip
"""Tools that import a program of the person and bring no framework themselves."""


def run_alone(words: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return tool and arguments of a command that runs it in an environment of its own, and what that environment is told to have (uv's
    documentation, "Using tools"); None for another command.
    """
    name = posixpath.basename(words[0])
    if (name == "uv" and words[1:3] != ["tool", "run"]) or (name == "pipx" and words[1:2] != ["run"]):
        return None
    rest, told = words[ALONE[name] :], []
    while rest and rest[0].startswith("-"):
        option, equals, value = rest[0].partition("=")
        takes = not equals and option in (
            "--with",
            "--from",
            "--spec",
            "--python",
            "-p",
            "--with-requirements",
            "--with-editable",
            "--index",
        )
        value = rest[1] if takes and len(rest) > 1 else value
        if option in ("--with-requirements", "--with-editable") or (
            name == "pipx" and option == "--system-site-packages"
        ):
            return None  # what these bring is not read
        told += value.split(",") if option in ("--with", "--from", "--spec") else []
        rest = rest[2 if takes else 1 :]
    tool = re.split(r"[@=]", rest[0])[0] if rest else ""
    if tool not in TOOLS:
        return None
    return (tool, *rest[1:]), tuple(re.split(r"[\[<>=!~@ ;]", w)[0].lower() for w in (tool, *told))


def run_behind(
    name: str, words: list[str], state: State, ground: Ground, at: tuple[str, int] | None = None
) -> list[str]:
    """Return the command that ``NAME run`` starts, and activate its environment in ``state``; empty if it is unknown."""
    if not words or words[0] != "run":
        return []
    runner, words = RUNNERS[name], words[1:]
    options = dict(_options(words))
    for file in [*(options[o] for o in ("--env-file",) if o in options)]:
        _read(posixpath.join(state.values.get("PWD", "/"), file), state, ground, at, ends=name == "uv")
    prefix = (
        _of_conda(options, state, ground) if runner.conda else environment_of_project(runner, options, state, ground)
    )
    if not prefix:
        return _outside_of_projects(words, options, state, ground) if name == "uv" else []
    if runner.conda or ground.around.kind(f"{prefix}/conda-meta/history") == "file":
        from core.host.startup.posix import ShellReader
        from core.probes.starting.ways import activate_conda

        activate_conda(ground, ShellReader(ground.around, state, "bash"), prefix)
    else:
        state.values |= {"VIRTUAL_ENV": prefix, "PATH": f"{prefix}/bin:{state.values.get('PATH', '')}"}
        state.exported |= {"VIRTUAL_ENV", "PATH"}
    rest = command_behind(words, state, ground)
    program = next((n for n, w in enumerate(words) if w.endswith(".py")), None)
    if not rest and program is not None:
        return [f"{prefix}/bin/python", *words[program:]]
    return rest


def _outside_of_projects(words: list[str], options: dict[str, str], state: State, ground: Ground) -> list[str]:
    """Return the command that ``uv run`` starts where there is no project: by the interpreter that an option or UV_PYTHON names by its path,
    else by the active environment's, or that of a folder above (uv's documentation, "Environment variables" and "Discovery of Python environments").
    """
    told = options.get("--python") or options.get("-p") or state.values.get("UV_PYTHON", "")
    places = (state.values.get("VIRTUAL_ENV", ""), *(f"{f}/.venv" for f in folders_upward(ground.here(state))))
    python = told or next((p for f in places if f and ground.where.is_file(p := interpreter_in(f, ground))), "")
    program = next((n for n, w in enumerate(words) if w.endswith(".py")), None)
    known = program is not None and python.startswith("/") and ground.where.is_file(python) and "--with" not in options
    return [python, *words[program:]] if known else []


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            yield name, value if equals else words[number + 1] if number + 1 < len(words) else ""


def environment_of_project(runner: Runner, options: dict[str, str], state: State, ground: Ground) -> str:
    """Return the environment of the project in the working folder or above it."""
    paths, join = ground.where.path_module, ground.where.join
    here = ground.here(state)
    if chosen := options.get("--project") or options.get("--directory") or options.get("-C"):
        here = paths.normpath(paths.join(here, chosen))
    if (told := state.values.get(runner.told_by, "")) and runner.told_by:
        return str(paths.normpath(paths.join(here, told)))
    name = options.get("-e") or options.get("--environment") or "default"
    for folder in folders_upward(here):
        if any(ground.around.kind(join(folder, m)) == "file" for m in runner.marks):
            for file in runner.reads:
                _read(join(folder, file), state, ground, how="braced")
            if saved := _saved(runner, folder, state, ground):
                return saved
            active = state.values.get("VIRTUAL_ENV", "")
            if active and runner.takes_active and not state.values.get(runner.keeps_active):
                return active
            places = (join(folder, *p.replace("{name}", name).split("/")) for p in runner.places)
            inside = next((p for p in places if ground.where.is_file(interpreter_in(p, ground))), "")
            return inside or _managed_environment(runner, folder, ground)
    return ""


def interpreter_in(prefix: str, ground: Ground) -> str:
    """Return the path of a virtual environment's Python."""
    inner = ("Scripts", "python.exe") if ground.where.system == "windows" else ("bin", "python")
    return ground.where.join(prefix, *inner)


def _saved(runner: Runner, project: str, state: State, ground: Ground) -> str:
    """Return the environment of the interpreter that a project remembers; the file counts as what sets VIRTUAL_ENV."""
    paths = ground.where.path_module
    for file in () if state.values.get(runner.not_saved) else (ground.where.join(project, n) for n in runner.saved):
        told = (ground.read(file) or "").strip() if ground.around.kind(file) == "file" else ""
        python = next((p for p in (told, interpreter_in(told, ground)) if told and ground.where.is_file(p)), "")
        prefix = paths.dirname(paths.dirname(python))
        if prefix and prefix_of(python, ground.where, state.values):
            state.files.append(file)
            state.set_variable("VIRTUAL_ENV", prefix, file, 1, "python")
            return str(prefix)
    return ""


def _managed_environment(runner: Runner, project: str, ground: Ground) -> str:
    """Return the environment that a manager keeps below the home for a project (Poetry's EnvManager, Pipenv's Project)."""
    if not runner.kept:
        return ""
    import base64  # imported late: few machines have such a project
    import hashlib

    windows = ground.where.system == "windows"
    above, below = runner.kept_on_windows
    folder = ground.where.join(variable_in(ground.env, above), below) if windows else ground.at_home(runner.kept)
    place = ground.where.real_path(project)
    marked = place if runner.marks[0] == "pyproject.toml" else ground.where.join(place, runner.marks[0])
    written = (marked.lower(), marked) if windows else (marked,)
    digests = [base64.urlsafe_b64encode(hashlib.sha256(w.encode()).digest()).decode()[:8] for w in written]
    found = [ground.where.join(folder, n) for n in ground.around.names(folder) if any(f"-{d}" in n for d in digests)]
    return next((p for p in found if ground.where.is_file(interpreter_in(p, ground))), "")


def _of_conda(options: dict[str, str], state: State, ground: Ground) -> str:
    """Return the environment that -n or -p names: from conda's list, or below one of its folders of environments."""
    told = options.get("-p") or options.get("--prefix") or ""
    if told:
        return state.place(told)
    return environment_of_conda(options.get("-n") or options.get("--name") or "", state, ground, condas_places(ground))


def condas_places(ground: Ground) -> tuple[str, ...]:
    """Return the folders in which conda is installed as a rule, and where a person's own environments are."""
    homes = (f"{place}/{n}" for n in CONDAS_FOLDERS for place in (ground.person.home, "/opt"))
    return (*homes, "/opt/conda", ground.at_home(".conda"))


def environment_of_conda(name: str, state: State, ground: Ground, further: tuple[str, ...] = ()) -> str:
    """Return conda's environment of this name; ``further``: installations of conda beside those that the variables name."""
    listed = (ground.read(ground.at_home(".conda/environments.txt")) or "").split()
    roots = [
        state.values.get("MAMBA_ROOT_PREFIX", ""),
        posixpath.dirname(posixpath.dirname(state.values.get("CONDA_EXE", ""))),
        *further,
    ]
    places = [*listed, *(f"{root}/envs/{name}" for root in roots if root)]
    return next((p for p in places if name and posixpath.basename(p) == name and ground.around.kind(p) == "folder"), "")


def _read(
    path: str,
    state: State,
    ground: Ground,
    at: tuple[str, int] | None = None,
    how: str = "expands",
    *,
    ends: bool = False,
) -> None:
    """Take a file of variables; ``at``: the line that names it; ``how``: see ``read_assignments``."""
    path = ground.where.path_module.normpath(path)
    if (text := ground.read(path)) is not None:
        read_assignments(text, path, state, expands=how == "expands", braced=how == "braced")
    elif at and ground.around.kind(path) == "missing":
        state.miss(path, *at, ends=ends)


# --- sudo ------------------------------------------------------------------------------------------------------------


def behind_sudo(words: list[str], at: tuple[str, int], state: State, ground: Ground) -> list[str]:
    """Return the command after sudo's options, and remove the variables that sudo does not pass on.

    sudoers(5) counts if it can be read.
    """
    kept_all, kept = False, [*KEPT_BY_SUDO]
    while words and words[0].startswith("-"):
        option, _equals, names = words[0].partition("=")
        kept_all = kept_all or words[0] in ("-E", "--preserve-env")
        kept += names.split(",") if option == "--preserve-env" and names else ()
        words = words[2:] if words[0] in ("-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T") else words[1:]
    rules, texts = _Rules(kept), list(_sudoers(ground))
    for text in texts:
        rules.read(text, ground.person.name)
    for name in list(state.values):
        passes = kept_all or not rules.resets or any(fnmatch.fnmatchcase(name, k) for k in rules.kept)
        if name in state.exported and name != "PATH" and (not passes or name.startswith("LD_")):
            state.unset_variable(name, at[0], at[1], "posix")
    state.values["PATH"] = rules.path or (state.values.get("PATH", "") if texts else SECURE_PATH)
    state.exported.add("PATH")
    return words


def _sudoers(ground: Ground) -> Iterator[str]:
    """Yield the texts of the sudoers files that this person may read."""
    for path in (
        "/etc/sudoers",
        *(f"/etc/sudoers.d/{n}" for n in ground.around.names("/etc/sudoers.d") if "." not in n),
    ):
        if (text := ground.read(path)) is not None:
            yield text.replace("\\\n", " ")


class _Rules:
    """What the Defaults in sudoers say about variables."""

    def __init__(self, kept: list[str]) -> None:
        self.kept, self.resets, self.path = kept, True, ""

    def read(self, text: str, user: str) -> None:
        """Apply the Defaults for everybody and those for this user."""
        for found in re.finditer(r"(?m)^[ \t]*Defaults(:\S+)?[ \t]+(.+)$", text):
            if found[1] and user not in found[1][1:].split(","):
                continue
            for one in re.finditer(r"(!?)(\w+)(?:\s*([+-]?=)\s*(?:\"([^\"]*)\"|([^,\s]+)))?", found[2]):
                self._take(one[1] == "!", one[2], one[3] or "", one[4] if one[4] is not None else one[5] or "")

    def _take(self, negated: bool, name: str, operator: str, value: str) -> None:
        if name == "env_reset":
            self.resets = not negated
        elif name == "secure_path" and operator == "=":
            self.path = value
        elif name == "env_keep" and operator == "+=":
            self.kept = [*self.kept, *value.split()]
        elif name == "env_keep" and operator == "-=":
            self.kept = [k for k in self.kept if k not in value.split()]
        elif name == "env_keep":
            self.kept = [] if negated else value.split()
