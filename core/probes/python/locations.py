"""Where to look for Python environments: each step is a plain function that yields candidates."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from core.common.fact_text import fact_text
from core.common.home import user_home as users_home
from core.common.patience import call_patiently
from core.common.variable_names import variable_in
from core.model.facts import Frozen, Way
from core.model.path_list import searched_entries
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of

MAX_CONDA_ENVIRONMENTS = 64
"""Maximum number of environments taken from conda's list."""


class Candidate(Frozen, frozen=True, kw_only=True):
    """A path that may be an interpreter or an environment's folder."""

    path: str
    found_by: str
    way: Way = "elsewhere"
    named: bool = False
    """The person named it, so it is listed in any case."""
    group: str = ""
    """Of the candidates of one group, only the first that is an environment counts."""
    weak: bool = False
    """Any other way that finds the same environment replaces this one."""


def from_command_line(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield what the person named with --python, then what an AI assistant named."""
    where = sysroot_of(request.host)
    for path in request.pythons:
        yield Candidate(path=_absolute(path, where), found_by="--python", way="--python", named=True)
    for path in request.suggested:
        yield Candidate(path=_absolute(path, where), found_by="mcp", way="suggested", named=True)


def from_activation_variables(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield the environment that is active according to the variables."""
    names: tuple[Way, ...] = ("VIRTUAL_ENV", "CONDA_PREFIX")
    for name in names:
        if request.env.get(name):
            yield Candidate(path=request.env[name], found_by=name, way=name)


def from_path(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield the interpreters that ``python`` and ``python3`` start."""
    where = sysroot_of(request.host)
    windows = where.system == "windows"
    names = ("python.exe",) if windows else ("python", "python3")
    value = variable_in(request.env, "PATH")
    folders = [f.strip('"') if windows else f for f in searched_entries(value, where.system)]
    for name in names:
        for folder in dict.fromkeys(folders):
            if where.path_module.isabs(folder) and where.stat(path := where.join(folder, name)) is not None:
                way: Way = "python3" if name == "python3" else "python"
                yield Candidate(path=path, found_by=fact_text("{name} on PATH", name=name), way=way, group=name)


def from_current_folder(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield .venv and venv in the current folder."""
    where = sysroot_of(request.host)
    here = working_folder(where)
    for name in (".venv", "venv"):
        if here and where.is_folder(path := where.join(here, name)):
            yield Candidate(path=path, found_by=fact_text("{name} in the current folder", name=name), way="here")


def from_conda_list(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield the environments that conda has registered for this user."""
    where = sysroot_of(request.host)
    its_home = home_folder(request)
    if not its_home:
        return
    listed = where.text(where.join(its_home, ".conda", "environments.txt")) or ""
    for line in listed.splitlines()[:MAX_CONDA_ENVIRONMENTS]:
        if where.path_module.isabs(line.strip()):
            yield Candidate(path=line.strip(), found_by="conda's list of environments")


FIND_STEPS = (from_command_line, from_activation_variables, from_path, from_current_folder, from_conda_list)
"""Steps that find near environments: named, active, on PATH, in the current folder, or conda's."""


def working_folder(where: Sysroot) -> str:
    """Return the person's working folder; empty if it was removed."""
    try:
        return where.target_path(str(Path.cwd()))
    except OSError:  # the current folder was removed
        return ""


def start_folder(request: ProbeRequest, where: Sysroot) -> str:
    """Return the folder in which the person's program starts: the script's, or the working folder."""
    return request.script_folder or working_folder(where)


def starting_folder(where: Sysroot) -> str:
    """Return the folder in which commands start: the working folder; "/" in another system, and where it was removed."""
    return (working_folder(where) if where.is_running_system else "") or "/"


def _absolute(path: str, where: Sysroot) -> str:
    """Return a named path as absolute, without ``.`` and ``..``, which commands and findings would repeat.

    After a link, ``..`` does not mean the folder that the text says; such a path stays as it is.
    """
    whole = _from_here(path, where)
    plain = str(where.path_module.normpath(whole)) if where.path_module.isabs(whole) else whole
    return plain if plain == whole or _is_same(plain, whole, where) else whole


def _is_same(one: str, other: str, where: Sysroot) -> bool:
    first, second = where.stat(one), where.stat(other)
    return first is not None and second is not None and os.path.samestat(first, second)


def _from_here(path: str, where: Sysroot) -> str:
    if where.path_module.isabs(path):
        return path
    if path.startswith("~"):
        return where.target_path(str(users_home() / path[2:])) if path[1:2] in ("", "/", "\\") else path
    here = working_folder(where)
    return where.join(here, path) if here else path


MAX_IN_FOLDER = 100
"""Maximum number of environments taken from one folder."""


class ToolRoot(msgspec.Struct, frozen=True):
    """A tool's folders, and where they contain environments. ``~`` is the home folder, ``$NAME`` a variable."""

    found_by: str
    folders: tuple[str, ...]
    inside: tuple[str, ...] = ("*",)
    """Relative to a folder: "" is the folder itself, ``*`` each of its sub-folders."""


CONDAS_FOLDERS = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba")
"""Where conda's installers put it, below the home or /opt."""
TOOL_ROOTS: dict[str, tuple[ToolRoot, ...]] = {
    "linux": (
        ToolRoot(
            "conda's usual folders",
            (
                "$MAMBA_ROOT_PREFIX",
                "$CONDA_EXE/../..",
                *(f"~/{n}" for n in CONDAS_FOLDERS),
                "~/.conda",
                "~/.local/share/mamba",
                "/opt/conda",
                *(f"/opt/{n}" for n in CONDAS_FOLDERS),
            ),
            ("", "envs/*"),
        ),
        ToolRoot("pyenv", ("$PYENV_ROOT", "~/.pyenv"), ("versions/*", "versions/*/envs/*")),
        ToolRoot(
            "uv", ("$UV_PYTHON_INSTALL_DIR", "$UV_TOOL_DIR", "~/.local/share/uv/python", "~/.local/share/uv/tools")
        ),
        ToolRoot(
            "Poetry", ("$POETRY_VIRTUALENVS_PATH", "$POETRY_CACHE_DIR/virtualenvs", "~/.cache/pypoetry/virtualenvs")
        ),
        ToolRoot("pipx", ("$PIPX_HOME/venvs", "~/.local/share/pipx/venvs", "~/.local/pipx/venvs")),
        ToolRoot("virtualenvwrapper", ("$WORKON_HOME", "~/.virtualenvs")),
        ToolRoot("Pipenv", ("~/.local/share/virtualenvs",)),
        ToolRoot("Hatch", ("~/.local/share/hatch/env/virtual",), ("*/*/*",)),
        ToolRoot("asdf", ("~/.asdf/installs/python",)),
        ToolRoot("mise", ("~/.local/share/mise/installs/python",)),
        ToolRoot(fact_text("the distribution"), ("/usr", "/usr/local"), ("",)),
    ),
    "windows": (
        ToolRoot(
            "conda's usual folders",
            (
                "$MAMBA_ROOT_PREFIX",
                *(f"~\\{n}" for n in CONDAS_FOLDERS),
                *(f"$LOCALAPPDATA\\{n}" for n in CONDAS_FOLDERS),
                *(f"$ProgramData\\{n}" for n in CONDAS_FOLDERS),
                "~\\.conda",
            ),
            ("", "envs\\*"),
        ),
        ToolRoot("pyenv-win", ("$PYENV", "~\\.pyenv\\pyenv-win"), ("versions\\*",)),
        ToolRoot("uv", ("$UV_PYTHON_INSTALL_DIR", "$UV_TOOL_DIR", "$APPDATA\\uv\\python", "$APPDATA\\uv\\tools")),
        ToolRoot("Poetry", ("$POETRY_VIRTUALENVS_PATH", "$LOCALAPPDATA\\pypoetry\\Cache\\virtualenvs")),
        ToolRoot("pipx", ("$PIPX_HOME\\venvs", "~\\pipx\\venvs", "$LOCALAPPDATA\\pipx\\pipx\\venvs")),
        ToolRoot("virtualenvwrapper", ("$WORKON_HOME", "~\\Envs", "~\\.virtualenvs")),
        ToolRoot("Hatch", ("$LOCALAPPDATA\\hatch\\env\\virtual",), ("*\\*\\*",)),
        ToolRoot(
            "python.org's installer", ("$LOCALAPPDATA\\Programs\\Python", "$LOCALAPPDATA\\Python", "$ProgramFiles")
        ),
        ToolRoot(fact_text("the Windows Store"), ("$LOCALAPPDATA\\Microsoft\\WindowsApps",)),
    ),
}
"""Sources: the tools' own documentation of their default folders and variables."""


def from_registry(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield the interpreters in Windows' registry (PEP 514); the py launcher reads the same keys."""
    for folder in request.host.registered_pythons():
        yield Candidate(path=folder, found_by=fact_text("the registry (PEP 514)"))


def from_tool_folders(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield the environments in the default folders of conda, pyenv, uv, Poetry, pipx and others."""
    where = sysroot_of(request.host)
    env = {n.upper(): v for n, v in request.env.items()}
    for root in TOOL_ROOTS[where.system]:
        for folder in dict.fromkeys(_expand(f, env, home_folder(request), where) for f in root.folders):
            if folder and where.is_folder(folder):
                for pattern in root.inside:
                    for path in _matching(folder, pattern, where):
                        yield Candidate(path=path, found_by=root.found_by)


def home_folder(request: ProbeRequest) -> str:
    """Return the person's home folder as a path of the examined system; empty if unknown."""
    return request.env.get("USERPROFILE" if request.host.system == "windows" else "HOME") or request.seen.machine.home


def _expand(folder: str, env: dict[str, str], its_home: str, where: Sysroot) -> str:
    """Return a folder with ``~`` or its variable replaced; empty if that has no value."""
    head, _, tail = folder.replace("/", "\\").partition("\\") if where.system == "windows" else folder.partition("/")
    if head == "~":
        head = its_home
    elif head.startswith("$"):
        head = env.get(head[1:].upper(), "")
    elif head:
        return folder
    else:
        return folder if folder.startswith("/") else ""
    return str(where.path_module.normpath(where.join(head, tail))) if where.path_module.isabs(head) else ""


def _matching(folder: str, pattern: str, where: Sysroot) -> Iterator[str]:
    if not pattern:
        yield folder
        return
    head, _, tail = pattern.replace("\\", "/").partition("/")
    names = (where.names(folder) or ())[:MAX_IN_FOLDER] if head == "*" else (head,)
    for name in names:
        path = where.join(folder, name)
        if tail:
            yield from _matching(path, tail, where)
        elif where.is_folder(path):
            yield path


# --- project folders ---------------------------------------------------------------------------------------

MAX_WALK_FOLDERS = 3000
WALK_SECONDS = 1.0
MAX_WALK_DEPTH = 4
"""Limits of the walk: folders listed, seconds, and depth below a start."""
MAX_PROJECTS = 500
"""A folder with more sub-folders is a data set or a package store; listing each would use up the walk's time."""

WALK_STARTS: dict[str, tuple[str, ...]] = {
    "linux": ("~", "/opt", "/srv", "/workspace", "/workspaces", "/data", "/mnt"),
    "windows": ("~", "$SystemDrive\\"),
}
SKIPPED_FOLDERS = frozenset(
    (
        "node_modules",
        "__pycache__",
        "site-packages",
        "dist-packages",
        "appdata",
        "windows",
        "$recycle.bin",
        "recovery",
        "perflogs",
        "programdata",
        "snap",
        "users",
        "onedrivetemp",
        "proc",
        "sys",
        "dev",
        "lost+found",
        "library",
        "pictures",
        "music",
        "videos",
        "vendor",
        "target",
        "build",
        "dist",
    )
)
"""Lower-case names of folders that contain no environments, or that other steps examine."""
HIDDEN_ENVIRONMENTS = frozenset((".venv", ".env", ".virtualenv", ".tox", ".nox", ".conda"))
"""Hidden folders that the walk enters nevertheless."""


def in_projects(request: ProbeRequest, clock: Callable[[], float] = time.monotonic) -> Iterator[Candidate]:
    """Yield the environments in project folders: a breadth-first walk with limits on depth, folders and time."""
    where = sysroot_of(request.host)
    env = {n.upper(): v for n, v in request.env.items()}
    starts = [_start(s, env, home_folder(request)) for s in WALK_STARTS[where.system]]
    level = [s for s in dict.fromkeys(starts) if s]
    end, listed = clock() + WALK_SECONDS, 0
    for _ in range(MAX_WALK_DEPTH + 1):
        below: list[str] = []
        for folder in level:
            request.watch.check()
            listed += 1
            if listed > MAX_WALK_FOLDERS or clock() > end:
                return
            names, folders = _entries(folder, where)
            if is_environment(names, folders, where):
                yield Candidate(path=folder, found_by=fact_text("a project folder"), weak=True)
            elif len(folders) <= MAX_PROJECTS:
                below += [where.join(folder, n) for n in folders if _is_worth_walking(n)]
        level = below


def _start(start: str, env: dict[str, str], its_home: str) -> str:
    if start.startswith("$"):
        drive = env.get("SYSTEMDRIVE", "C:")
        return drive + "\\"
    return its_home if start == "~" else start


def _is_worth_walking(name: str) -> bool:
    return name.lower() not in SKIPPED_FOLDERS and (not name.startswith(".") or name in HIDDEN_ENVIRONMENTS)


def _entries(folder: str, where: Sysroot) -> tuple[set[str], list[str]]:
    """Return the lower-case names in a folder and its real sub-folders; links are not followed, so there are no loops."""
    try:
        entries = call_patiently(_folder_entries, where.local_path(folder))
    except (OSError, ValueError):
        entries = []
    return {name.lower() for name, _ in entries}, sorted(name for name, is_folder in entries if is_folder)


def _folder_entries(folder: str) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return [
            (e.name, e.is_dir(follow_symlinks=False)) for _, e in zip(range(MAX_WALK_FOLDERS), entries, strict=False)
        ]


def is_environment(names: set[str], folders: list[str], where: Sysroot) -> bool:
    """Whether a folder's names are those of an environment: a virtual one, conda's, or a portable Python on Windows."""
    if "pyvenv.cfg" in names or "conda-meta" in folders:
        return True
    return (
        where.system == "windows" and "python.exe" in names and any(re.fullmatch(r"python3\d+\.dll", n) for n in names)
    )


DEEP_FIND_STEPS = (from_registry, from_tool_folders, in_projects)
"""Steps that find further environments: tools' folders, Windows' registry, project folders."""
