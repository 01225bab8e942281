"""The ways of starting on Linux, each as its own environment of variables, by reading files alone."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from core.host.startup.plain import Unit, json_line, json_value, read_assignments, read_crontab, read_unit
from core.host.startup.posix import ShellReader
from core.host.startup.state import State
from core.model.facts import PythonEnvironment, StartKind
from core.model.facts.base import Frozen
from core.probes.starting.machine import Ground, base, with_pam, with_systemd
from core.probes.starting.shells import SHELLS, family, read_shell

MOST_KERNELS = 40
MOST_UNITS = 200


class Reached(Frozen, frozen=True, kw_only=True):
    """A way of starting, and the state that its files left."""

    kind: StartKind
    at: str
    state: State
    prefix: str = ""
    argv: tuple[str, ...] = ()


def desktop_session(ground: Ground) -> State:
    """Return what programs of a desktop get: pam, systemd, the login shell's files, and X's own.

    GNOME's, KDE's and LightDM's sessions start through a login shell, which is not interactive.
    """
    state = with_systemd(ground, with_pam(ground, base(ground)))
    shell = family(ground.person.shell) or "dash"
    read_shell(ground, state, shell, login=True)
    reader = ShellReader(ground.around, state, "dash")
    reader.read_files(ground.at_home(".xprofile"), ground.at_home(".xsessionrc"))
    return state


def shell_ways(ground: Ground, desktop: State) -> Iterator[Reached]:
    """Yield the shells that this person uses: of the account, and each that has its own files at home."""
    for shell in _shells(ground):
        full = f"/bin/{shell}"
        login = with_pam(ground, base(ground, full))
        read_shell(ground, login, shell, login=True, interactive=True)
        yield Reached(kind="login", at=shell, state=login)
        terminal = desktop.copy()
        terminal.files = list(desktop.files)
        read_shell(ground, terminal, shell, interactive=True)
        yield Reached(kind="terminal", at=shell, state=terminal)
        ssh = with_pam(ground, base(ground, full))
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


def cron_ways(ground: Ground, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield cron: the person's own crontab, and each of the system's that runs an environment or sets something."""
    plain = State({}, set())
    usual = {"HOME": ground.person.home, "LOGNAME": ground.person.name, "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    plain.values, plain.exported = dict(usual), set(usual)
    with_pam(ground, plain)
    own = f"/var/spool/cron/crontabs/{ground.person.name}"
    if (text := ground.read(own)) is not None:
        state = plain.copy()
        state.files = list(plain.files)
        read_crontab(text, own, state, system=False)
        yield Reached(kind="cron", at=own, state=state)
    else:
        yield Reached(kind="cron", at=ground.person.name, state=plain)
    for path in ("/etc/crontab", *(f"/etc/cron.d/{n}" for n in ground.around.names("/etc/cron.d"))):
        if (text := ground.read(path)) is None:
            continue
        state = plain.copy()
        state.files = list(plain.files)
        jobs = read_crontab(text, path, state, system=True)
        prefix = next((p for _user, command in jobs if (p := _environment_in(command, pythons))), "")
        if prefix or any(user == ground.person.name for user, _command in jobs):
            yield Reached(kind="cron", at=path, state=state, prefix=prefix)


def _environment_in(command: str, pythons: tuple[PythonEnvironment, ...]) -> str:
    """Return the environment that a command line names; a system's own Python is nobody's in particular."""
    names = [p for p in pythons if p.kind in ("venv", "conda")]
    return next((p.prefix for p in names if f"{p.prefix}/" in command), "")


def notebook_ways(ground: Ground, terminal: State, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield each kernel that Jupyter finds. It gets the server's variables, from a terminal, and those of its kernelspec.

    Places: jupyter_core's documentation, "Jupyter's Common Directories and File Locations".
    """
    data = ground.env.get("JUPYTER_DATA_DIR") or posixpath.join(
        ground.env.get("XDG_DATA_HOME") or ground.at_home(".local/share"), "jupyter"
    )
    folders = [p for p in ground.env.get("JUPYTER_PATH", "").split(":") if p.startswith("/")]
    folders += [data, *(f"{p.prefix}/share/jupyter" for p in pythons), "/usr/local/share/jupyter", "/usr/share/jupyter"]
    seen = 0
    for folder in dict.fromkeys(folders):
        for name in ground.around.names(f"{folder}/kernels"):
            path = f"{folder}/kernels/{name}/kernel.json"
            if (text := ground.read(path)) is None or seen >= MOST_KERNELS:
                continue
            spec = json_value(text)
            if not isinstance(spec, dict):
                continue
            seen += 1
            state = terminal.copy()
            state.files = [*terminal.files, path]
            env = spec.get("env")
            for variable, value in (env if isinstance(env, dict) else {}).items():
                if isinstance(variable, str) and isinstance(value, str):
                    filled = re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda m: _or_same(m, terminal), value)
                    state.give(variable, filled, path, json_line(text, variable, "env"), "json")
                    state.exported.add(variable)
            raw = spec.get("argv")
            argv = tuple(a for a in raw if isinstance(a, str)) if isinstance(raw, list) else ()
            prefix = _environment_in(f"{argv[0]} " if argv else "", pythons)
            own = folder.removesuffix("/share/jupyter")
            if not prefix and any(p.prefix == own for p in pythons):
                prefix = own
            yield Reached(kind="notebook", at=path, state=state, prefix=prefix, argv=argv)


def _or_same(found: re.Match[str], state: State) -> str:
    return state.values.get(found[1] or found[2], found[0])


def activation_ways(ground: Ground, terminal: State, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield each environment's activation in a Bourne shell: its script, conda's hooks and its kept variables."""
    for python in pythons:
        if python.kind not in ("venv", "conda"):
            continue
        state = terminal.copy()
        state.files = list(terminal.files)
        state.values.pop("VIRTUAL_ENV", None)
        reader = ShellReader(ground.around, state, "bash", interactive=True)
        if python.kind == "venv":
            path = f"{python.prefix}/bin/activate"
            if ground.around.kind(path) != "file":
                continue
            reader.read_files(path)
        else:
            _conda(ground, reader, python.prefix)
        yield Reached(kind="activation", at=python.prefix, state=state, prefix=python.prefix)


def _conda(ground: Ground, reader: ShellReader, prefix: str) -> None:
    """Do as ``conda activate``: PATH, the variables of conda-meta/state, then etc/conda/activate.d (conda's activate.py)."""
    state = reader.state
    old = state.values.get("PATH", "")
    state.values["PATH"] = f"{prefix}/bin:{old}" if old else f"{prefix}/bin"
    state.values["CONDA_PREFIX"] = prefix
    state.exported |= {"PATH", "CONDA_PREFIX"}
    kept = f"{prefix}/conda-meta/state"
    if (text := ground.read(kept)) is not None:
        state.files.append(kept)
        found = json_value(text)
        env = found.get("env_vars") if isinstance(found, dict) else None
        for name, value in (env if isinstance(env, dict) else {}).items():
            if isinstance(name, str) and isinstance(value, str) and value != "***unset***":
                state.give(name, value, kept, json_line(text, name, "env_vars"), "json")
                state.exported.add(name)
    folder = f"{prefix}/etc/conda/activate.d"
    reader.read_files(*(f"{folder}/{n}" for n in ground.around.names(folder) if n.endswith(".sh")))


def service_ways(ground: Ground, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield the person's own systemd services, and those of the system that start an environment."""
    user = [ground.config("systemd/user"), "/etc/systemd/user"]
    for folder in (*user, "/etc/systemd/system"):
        own = folder in user
        for name in ground.around.names(folder)[:MOST_UNITS]:
            path = f"{folder}/{name}"
            if not name.endswith(".service") or (text := ground.read(path)) is None:
                continue
            if own:
                state = with_systemd(ground, base(ground))
            else:
                state = State({"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}, {"PATH"})
            unit = read_unit(text, path, state, ground.read)
            for extra in ground.around.names(f"{path}.d"):
                more = f"{path}.d/{extra}"
                if extra.endswith(".conf") and (text := ground.read(more)) is not None:
                    unit = _later(unit, read_unit(text, more, state, ground.read))
            prefix = _environment_in(unit.command, pythons)
            if own or prefix or unit.user == ground.person.name:
                argv = tuple(unit.command.split())
                yield Reached(kind="service", at=path, state=state, prefix=prefix, argv=argv)


def _later(first: Unit, second: Unit) -> Unit:
    return second if second.command else first


EDITORS = ("Code", "Code - Insiders", "VSCodium", "Code - OSS", "Cursor")


def editor_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield VS Code's terminal: the person's settings, the folder's, and the file of variables that Python's extension reads."""
    own = [ground.config(name, "User/settings.json") for name in EDITORS]
    own.append(ground.at_home(".vscode-server/data/Machine/settings.json"))
    for path in own:
        if (text := ground.read(path)) is None:
            continue
        state = terminal.copy()
        state.files = list(terminal.files)
        _settings(text, path, state, ground)
        if ground.folder not in ("/", ground.person.home):
            inner = posixpath.join(ground.folder, ".vscode/settings.json")
            its = ground.read(inner)
            if its is not None:
                _settings(its, inner, state, ground)
            env_file = posixpath.join(ground.folder, ".env")
            if (text := ground.read(env_file)) is not None:
                read_assignments(text, env_file, state, expands=True)
        yield Reached(kind="editor", at=path, state=state)


def _settings(text: str, path: str, state: State, ground: Ground) -> None:
    found = json_value(text)
    state.files.append(path)
    if not isinstance(found, dict):
        return
    env = found.get("terminal.integrated.env.linux")
    for name, value in (env if isinstance(env, dict) else {}).items():
        if isinstance(name, str) and isinstance(value, str):
            filled = re.sub(r"\$\{env:(\w+)\}", lambda m: state.values.get(m[1], ""), value)
            filled = filled.replace("${workspaceFolder}", ground.folder).replace("${userHome}", ground.person.home)
            state.give(name, filled, path, json_line(text, name, "terminal.integrated.env.linux"), "json")
            state.exported.add(name)
        elif value is None and isinstance(name, str):
            state.take(name, path, json_line(text, name, "terminal.integrated.env.linux"), "json")
    named = found.get("python.envFile")
    if isinstance(named, str) and named.startswith("/") and (its := ground.read(named)) is not None:
        read_assignments(its, named, state, expands=True)


def direnv_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield the working folder's .envrc, as direnv(1) finds it: in the folder or one above it."""
    folder = ground.folder
    while folder not in ("/", ""):
        path = posixpath.join(folder, ".envrc")
        if ground.around.kind(path) == "file":
            state = terminal.copy()
            state.files = list(terminal.files)
            ShellReader(ground.around, state, "bash").read_files(path)
            yield Reached(kind="direnv", at=path, state=state)
            return
        folder = posixpath.dirname(folder)


def module_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield the environment modules that this session has loaded (module(1), Lmod): each file of them with its lines."""
    files = [f for f in ground.env.get("_LMFILES_", "").split(":") if f.startswith("/")]
    if not files:
        return
    state = terminal.copy()
    state.files = list(terminal.files)
    for path in files:
        if (text := ground.read(path)) is None:
            continue
        state.files.append(path)
        for number, line in enumerate(text.splitlines(), 1):
            _module_line(line, number, path, state)
    yield Reached(kind="module", at=files[-1], state=state)


_MODULE = re.compile(
    r"\s*(?:(prepend|append)[-_]path|(setenv|pushenv)|(unsetenv))\s*\(?\s*[\"']?(\w+)[\"']?\s*,?\s*[\"']?([^\"')]*)[\"']?"
)


def _module_line(line: str, number: int, path: str, state: State) -> None:
    found = _MODULE.match(line)
    if found is None:
        return
    joins, sets, unsets, name, value = found.groups()
    value = value.strip()
    if unsets:
        state.take(name, path, number, "posix")
        return
    if "$" in value or "pathJoin" in line:
        state.open.add(name)
        return
    old = state.values.get(name, "")
    if joins and old:
        value = f"{value}:{old}" if joins == "prepend" else f"{old}:{value}"
    state.give(name, value, path, number, "posix")
    state.exported.add(name)
    _ = sets
