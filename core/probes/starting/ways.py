"""The ways of starting on Linux, each with its own variables, from files alone."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from core.common.variable_names import variable_in
from core.host.startup.modulefiles import read_module
from core.host.startup.plain import json_line, json_value, python_launches, read_assignments, text_items
from core.host.startup.posix import ShellReader
from core.host.startup.state import State, fill
from core.model.facts import Confinement, PythonEnvironment, StartedPython, StartKind, path_text
from core.model.facts.base import Frozen
from core.model.facts.starting import RefusedFor, StartFault, StartReason
from core.probes.starting.compositors import read_compositor
from core.probes.starting.machine import Ground, login_state, with_pam, with_sshd, with_systemd
from core.probes.starting.shells import SHELLS, family, read_shell

MOST_KERNELS = 40


class Reached(Frozen, frozen=True, kw_only=True):
    """A way of starting, and the variables after reading its files."""

    kind: StartKind
    at: str
    state: State
    prefix: str = ""
    argv: tuple[str, ...] = ()
    folder: str = ""
    """See ``Start.folder``."""
    seems: str = ""
    """The environment that it seems to start, judged by its file's location or its name."""
    named: bool = False
    """The name, not the location, gives that environment."""
    runs: tuple[StartedPython, ...] = ()
    """A Python that lacks what the program imports."""
    confined: tuple[Confinement, ...] = ()
    text: str = ""
    """All that a shell reads of it, where no other line of its file belongs to it: a job, or a line of a recipe."""
    shell: str = ""
    """The language of that shell."""
    apart: bool = False
    """It does not get this session's PATH: nobody activates an environment before it."""
    before: tuple[str, ...] = ()
    """Commands of the same task that run before it, each in a shell of its own where ``text`` is."""


def ended_program(path: str, home: PythonEnvironment, its: StartedPython, ground: Ground) -> Reached:
    """Return the start of a program of the folder, which ends, with an environment's Python."""
    return Reached(kind="script", at=path_text(path), state=ground.session(path), prefix=home.prefix, runs=(its,))


def ended_start(
    prefix: str,
    name: str,
    path: str,
    fault: StartFault = "",
    why: StartReason = "imports",
    *,
    source: str = "",
    program: str = "",
    lacks: tuple[str, ...] = (),
    command: str = "",
    refused: RefusedFor = "",
) -> StartedPython:
    """Return the Python of the environment ``prefix`` at whose start something goes wrong (see the fields of ``StartedPython``)."""
    return StartedPython(
        name=path_text(name),
        path=path_text(path),
        prefix=prefix,
        seems=prefix,
        why=why,
        source=path_text(source),
        program=path_text(program),
        lacks=lacks,
        command=command,
        fault=fault,
        refused=refused,
    )


def desktop_session(ground: Ground) -> State:
    """Return the variables of desktop programs: from pam, systemd, the login shell's files, and X's own.

    GNOME, KDE and LightDM start sessions through a non-interactive login shell.
    """
    state = with_systemd(ground, with_pam(ground, login_state(ground)))
    shell = family(ground.person.shell) or "dash"
    read_shell(ground, state, shell, login=True)
    reader = ShellReader(ground.around, state, "dash")
    reader.read_files(ground.at_home(".xprofile"), ground.at_home(".xsessionrc"))
    own = ground.config("plasma-workspace/env")  # KDE's documentation, "Session Environment Variables"
    reader.read_files(*(posixpath.join(own, n) for n in sorted(ground.around.names(own)) if n.endswith(".sh")))
    read_compositor(ground, state)
    return state


def shell_ways(ground: Ground, desktop: State) -> Iterator[Reached]:
    """Yield the shells that this person uses: the account's, and each that has files of its own in the home folder."""
    for shell in _shells(ground):
        full = f"/bin/{shell}"
        login = with_pam(ground, login_state(ground, full))
        read_shell(ground, login, shell, login=True, interactive=True)
        yield Reached(kind="login", at=shell, state=login)
        terminal = desktop.apart()
        read_shell(ground, terminal, shell, interactive=True)
        yield Reached(kind="terminal", at=shell, state=terminal)
        ssh = with_sshd(ground, with_pam(ground, login_state(ground, full)))
        read_shell(ground, ssh, shell, ssh=True)
        yield Reached(kind="ssh", at=shell, state=ssh)


OWN_FILES = {
    "bash": (".bashrc", ".bash_profile", ".bash_login"),
    "zsh": (".zshrc", ".zshenv", ".zprofile", ".zlogin"),
    "fish": (".config/fish/config.fish", ".config/fish/conf.d"),
    "dash": (),
}


def _shells(ground: Ground) -> list[str]:
    own = family(ground.person.shell)
    others = [s for s in SHELLS if any(ground.around.kind(ground.at_home(f)) != "missing" for f in OWN_FILES[s])]
    return list(dict.fromkeys([own, *others] if own else others))


def environment_in(command: str, pythons: tuple[PythonEnvironment, ...]) -> str:
    """Return the environment that a command line names; empty for a system's own Python."""
    names = [p for p in pythons if p.kind in ("venv", "conda")]
    return next((p.prefix for p in names if f"{p.prefix}/" in command), "")


def notebook_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield each kernel that Jupyter finds (jupyter_core, "Jupyter's Common Directories"), with a terminal's variables and its kernelspec's."""
    data = ground.env.get("JUPYTER_DATA_DIR") or posixpath.join(
        ground.env.get("XDG_DATA_HOME") or ground.at_home(".local/share"), "jupyter"
    )
    folders = [p for p in ground.env.get("JUPYTER_PATH", "").split(":") if p.startswith("/")]
    folders += [
        data,
        *(f"{p.prefix}/share/jupyter" for p in ground.pythons),
        "/usr/local/share/jupyter",
        "/usr/share/jupyter",
    ]
    for kernel in kernels_in(folders, ground):
        state = terminal.apart(kernel.path)
        for variable, value, line in kernel.variables:
            filled = fill(r"\$\{(\w+)\}|\$(\w+)", lambda m: terminal.values.get(m[1] or m[2], m[0]), value)
            state.export_variable(variable, filled, kernel.path, line, "json")
        argv = kernel.argv
        prefix = environment_in(f"{argv[0]} " if argv else "", ground.pythons)
        own = kernel.folder.removesuffix("/share/jupyter")
        lies = next((p.prefix for p in ground.pythons if p.prefix == own), "")
        called = "" if lies else _called(kernel.named, ground.pythons)
        if not prefix and lies and (not argv or "/" not in argv[0]):
            prefix = lies  # The server replaces a bare name by its own interpreter.
        yield Reached(
            kind="notebook",
            at=kernel.path,
            state=state,
            prefix=prefix,
            argv=argv,
            seems=lies or called,
            named=bool(called),
        )


class Kernel(Frozen, frozen=True):
    """What a kernelspec says."""

    path: str
    folder: str
    """Jupyter's folder in which it lies."""
    named: str
    """Its folder's name and what a notebook shows for it."""
    argv: tuple[str, ...]
    variables: tuple[tuple[str, str, int], ...]
    """Name, value as it is written, and line of each of its variables."""


def kernels_in(folders: Iterable[str], ground: Ground) -> Iterator[Kernel]:
    """Yield the kernels in Jupyter's folders."""
    join, count = ground.where.join, 0
    for folder in dict.fromkeys(folders):
        for name in ground.around.names(join(folder, "kernels")):
            path = join(folder, "kernels", name, "kernel.json")
            text = ground.read(path) if count < MOST_KERNELS else None
            spec = json_value(text) if text is not None else None
            if text is None or not isinstance(spec, dict):
                continue
            count += 1
            argv = spec.get("argv")
            yield Kernel(
                path,
                folder,
                named=f"{name} {spec.get('display_name', '')}",
                argv=tuple(a for a in (argv if isinstance(argv, list) else ()) if isinstance(a, str)),
                variables=tuple((n, v, json_line(text, n, "env")) for n, v in text_items(spec, "env")),
            )


USUAL_NAMES = ("env", "venv", ".venv", ".env", "python", "python3", "base", "usr", "local", "root", "home")


def _called(named: str, pythons: tuple[PythonEnvironment, ...]) -> str:
    """Return the environment that a kernel is named after: its folder's name, or else its project's."""
    told = named.lower()
    found = []
    for python in pythons:
        parts = [p for p in python.prefix.lower().split("/") if p not in USUAL_NAMES]
        telling = python.kind in ("venv", "conda") and parts and len(parts[-1]) > 2
        if telling and re.search(rf"(?<![\w.-]){re.escape(parts[-1])}(?![\w.-])", told):
            found.append(python.prefix)
    return found[0] if len(found) == 1 else ""


def activation_ways(
    ground: Ground, terminal: State, aliases: Mapping[str, tuple[str, str, int]] | None = None
) -> Iterator[Reached]:
    """Yield each environment's activation in a POSIX shell: its script, conda's hooks and the variables that conda stores."""
    for python in ground.pythons:
        if python.kind not in ("venv", "conda"):
            continue
        state = terminal.apart()
        state.aliases |= aliases or {}
        state.values.pop("VIRTUAL_ENV", None)
        reader = ShellReader(ground.around, state, "bash", interactive=True)
        script = f"{python.prefix}/bin/activate"
        conda = python.kind == "conda" or ground.around.kind(f"{python.prefix}/conda-meta/history") == "file"
        if ground.around.kind(script) == "file" and python.kind == "venv":
            reader.read_files(script, f"{python.prefix}/bin/postactivate")  # the second by virtualenvwrapper's workon
        elif not conda:
            continue
        if conda:
            activate_conda(ground, reader, python.prefix)
        yield Reached(kind="activation", at=python.prefix, state=state, prefix=python.prefix)


def activate_conda(ground: Ground, reader: ShellReader, prefix: str) -> None:
    """Do what ``conda activate`` does: set PATH and the variables of conda-meta/state, then run etc/conda/activate.d (conda's activate.py)."""
    state = reader.state
    old = state.values.get("PATH", "")
    state.values["PATH"] = f"{prefix}/bin:{old}" if old else f"{prefix}/bin"
    state.values["CONDA_PREFIX"] = prefix
    state.exported |= {"PATH", "CONDA_PREFIX"}
    kept = f"{prefix}/conda-meta/state"
    if (text := ground.read(kept)) is not None:
        state.files.append(kept)
        for name, value in text_items(json_value(text), "env_vars"):
            if value != "***unset***":
                state.export_variable(name, value, kept, json_line(text, name, "env_vars"), "json")
    folder = f"{prefix}/etc/conda/activate.d"
    reader.read_files(*(f"{folder}/{n}" for n in ground.around.names(folder) if n.endswith(".sh")))


EDITORS = ("Code", "Code - Insiders", "VSCodium", "Code - OSS", "Cursor")


def settings_files(ground: Ground) -> list[str]:
    """Return where VS Code keeps the person's settings, and at last those of the working folder."""
    own = [ground.config(name, "User/settings.json") for name in EDITORS]
    project = posixpath.join(ground.folder, ".vscode/settings.json")
    return [*own, ground.at_home(".vscode-server/data/Machine/settings.json"), project]


def editor_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield VS Code: its terminal with the person's settings, and the working folder's settings and launch configurations."""
    *own, last = settings_files(ground)
    found = [path for path in own if ground.read(path) is not None]
    project = ground.folder not in ("/", ground.person.home)
    inner = last if project else ""
    opened = bool(project and ground.around.kind(posixpath.join(ground.folder, ".vscode")) == "folder")
    names = ground.around.names(ground.folder) if project else ()
    shared = next((posixpath.join(ground.folder, n) for n in names if n.endswith(".code-workspace")), "")
    for path in found or ([inner] if opened else [shared] if shared else []):
        state = terminal.apart()
        files: list[str] = []
        prefix = ""
        for each in dict.fromkeys((path, shared, inner)):
            if each and (text := ground.read(each)) is not None:
                files += _settings(text, each, state, ground)
                prefix = _chosen(text, ground) or prefix
        for env_file in files or ([posixpath.join(ground.folder, ".env")] if project else []):
            if (text := ground.read(env_file)) is not None:
                read_assignments(text, env_file, state, braced=True)
        yield Reached(kind="editor", at=path, state=state, prefix=prefix)
    if opened:
        yield from _launches(ground, terminal)
    if project:
        yield from _containers(ground, terminal)


DEVELOPMENT_CONTAINERS = (".devcontainer/devcontainer.json", ".devcontainer.json")


def _containers(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield the folder's development container: the switches that it sets (containers.dev). What names a place names one of its own."""
    for name in DEVELOPMENT_CONTAINERS:
        path = posixpath.join(ground.folder, name)
        found = json_value(ground.read(path) or "")
        if not isinstance(found, dict):
            continue
        state = terminal.apart(path)
        for key in ("containerEnv", "remoteEnv"):
            for variable, value in text_items(found, key):
                if not re.search(r"[/$]", value):
                    state.export_variable(
                        variable, value, path, json_line(ground.read(path) or "", variable, key), "json"
                    )
        yield Reached(kind="editor", at=path, state=state, prefix="")


def filled_by_editor(value: object, variables: Mapping[str, str], ground: Ground) -> str:
    """Return a text with VS Code's variables for the environment, the home and the open folder replaced."""
    filled = fill(r"\$\{env:(\w+)\}", lambda m: variable_in(variables, m[1]), str(value))
    filled = re.sub(r"\$\{workspace(?:Folder|Root)\}", lambda _m: ground.folder, filled)
    return filled.replace("${userHome}", ground.person.home)


def _chosen(text: str, ground: Ground) -> str:
    """Return the environment that settings name for Python."""
    found = json_value(text)
    values = found if isinstance(found, dict) else {}
    told = next(
        (
            v
            for n in ("python.defaultInterpreterPath", "python.pythonPath", "python")
            if isinstance(v := values.get(n), str)
        ),
        "",
    )
    return _environment_at(told, ground)


def _environment_at(told: str, ground: Ground) -> str:
    path = filled_by_editor(told, {}, ground)
    return next((p.prefix for p in ground.pythons if path == p.prefix or path.startswith(f"{p.prefix}/bin/")), "")


def _launches(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield the configurations of the folder's launch.json that start Python."""
    for its in launches(ground, terminal):
        python, program = its.told.get("python", ""), its.told.get("program", "")
        argv = (python, "-m", module) if (module := its.told.get("module")) else (python, program)
        starts = python and argv[-1] and "$" not in argv[-1]
        prefix = _environment_at(python, ground)
        yield Reached(kind="editor", at=its.at, state=its.state, prefix=prefix, argv=argv if starts else ())


class Launch(NamedTuple):
    """A configuration of launch.json: the texts that it has, with the editor's variables replaced."""

    at: str
    told: Mapping[str, str]
    state: State


def launches(ground: Ground, begin: State) -> Iterator[Launch]:
    """Yield the folder's starts of Python; by default they read .env (https://code.visualstudio.com/docs/python/debugging#_envfile)."""
    usual, paths = "${workspaceFolder}/.env", ground.where.path_module
    path = ground.where.join(ground.folder, ".vscode", "launch.json")
    text = ground.read(path) or ""
    for row in python_launches(text):
        state = begin.apart(path)
        texts = ((k, v) for k, v in {"envFile": usual, **row}.items() if isinstance(v, str))
        told = {name: filled_by_editor(value, state.values, ground) for name, value in texts}
        env_file, folder = (paths.normpath(paths.join(ground.folder, told.get(k, ""))) for k in ("envFile", "cwd"))
        if (its := ground.read(env_file)) is not None:
            read_assignments(its, env_file, state, braced=True)
        elif row.get("envFile", usual) != usual and "${" not in env_file and ground.around.kind(env_file) == "missing":
            state.miss(env_file, path, json_line(text, "envFile"))
        for name, value in text_items(row, "env"):
            filled = filled_by_editor(value, state.values, ground)
            state.export_variable(name, filled, path, json_line(text, name, "env"), "json")
        if "cwd" in told:
            state.values["PWD"] = folder
        yield Launch(f"{path}: {told.get('name', '')}", told, state)


def _settings(text: str, path: str, state: State, ground: Ground) -> list[str]:
    """Apply the variables in settings; return the files of variables that they name."""
    found = json_value(text)
    state.files.append(path)
    if isinstance(found, dict) and path.endswith(".code-workspace"):
        found = found.get("settings")
    if not isinstance(found, dict):
        return []
    env = found.get("terminal.integrated.env.linux")
    for name, value in (env if isinstance(env, dict) else {}).items():
        if isinstance(name, str) and isinstance(value, str):
            state.export_variable(
                name,
                filled_by_editor(value, state.values, ground),
                path,
                json_line(text, name, "terminal.integrated.env.linux"),
                "json",
            )
        elif value is None and isinstance(name, str):
            state.unset_variable(name, path, json_line(text, name, "terminal.integrated.env.linux"), "json")
    named = found.get("python.envFile")
    return [filled_by_editor(named, state.values, ground)] if isinstance(named, str) else []


def module_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield the environment modules that this session has loaded (module(1), Lmod), each with its file's lines."""
    files = [f for f in ground.env.get("_LMFILES_", "").split(":") if f.startswith("/")]
    if not files:
        return
    state = terminal.apart()
    for path in files:
        if (text := ground.read(path)) is None:
            continue
        read_module(text, path, state)
    yield Reached(kind="module", at=files[-1], state=state)
