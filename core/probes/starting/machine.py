"""The variables of a new session of this user before any shell reads its files: account, login, pam, systemd."""

from __future__ import annotations

import functools
import ntpath
import posixpath
import re
from collections.abc import Iterator

import msgspec

from core.host.startup.plain import read_assignments, read_pam
from core.host.startup.state import State, Surroundings
from core.host.startup.systemd_files import read_systemd_file
from core.model.facts import PythonEnvironment
from core.probes.probe import ProbeRequest
from core.probes.starting.windows.code_pages import windows_text
from core.probes.sysroot import Sysroot

MOST_BYTES = 1 << 18
"""Maximum number of bytes read of a start-up file."""
PAM_SETTINGS = "/etc/security/pam_env.conf"
ENVIRONMENT_FOLDERS = (
    "/etc/environment.d",
    "/run/environment.d",
    "/usr/local/lib/environment.d",
    "/usr/lib/environment.d",
)


KEPT_IN = ("", "deploy", "deployment", "systemd", "supervisor", "etc", "conf", "config", "ops", "scripts", "services")
"""Folders of a project with such files."""
MOST_KEPT = 40


class Person(msgspec.Struct, frozen=True):
    """The person whose start-up files are read."""

    name: str
    uid: int
    home: str
    shell: str


class Ground(msgspec.Struct, frozen=True):
    """The machine as start-up files see it; each file is read once."""

    where: Sysroot
    person: Person
    around: Surroundings
    env: dict[str, str]
    """The variables of this session."""
    folder: str
    """The working folder."""
    registered: tuple[str, ...] = ()
    """Folders of the Pythons that installers registered, in the registry's order (Windows)."""
    refuses_scripts: bool = False
    """Whether Windows PowerShell runs no script unless it is asked to."""
    pythons: tuple[PythonEnvironment, ...] = ()
    """The environments of this machine."""

    def read(self, path: str) -> str | None:
        """Return a small file's text; None if there is none."""
        return self.around.read(path)

    def read_file(self, path: str) -> str | None:
        """Return the text of a small regular file; None if it is none."""
        return self.read(path) if self.around.kind(path) == "file" else None

    def at_home(self, *parts: str) -> str:
        """Return a path below the person's home folder."""
        return self.where.join(self.person.home, *parts)

    def upward(self, name: str, folder: str) -> str:
        """Return the file of this name in a folder or the nearest one above; empty if there is none."""
        paths = (self.where.join(f, name) for f in folders_upward(folder))
        return next((p for p in paths if self.around.kind(p) == "file"), "")

    def file_of_variables(self, named: str, program: str) -> str:
        """Return the file that python-dotenv reads for a program: the one that it names, or .env in a folder above it; empty for none."""
        return self.where.join(self.folder, named) if named else self.upward(".env", self.where.parent(program))

    @property
    def is_in_project(self) -> bool:
        """Whether the working folder is neither the root nor the person's home, where people keep everything."""
        return self.folder not in ("/", "", self.person.home)

    def kept(self, *endings: str) -> list[str]:
        """Return the project's files with these endings that people copy to their place in the system: units, tables of jobs, launchers."""
        folders = [self.where.join(self.folder, f) if f else self.folder for f in KEPT_IN if self.is_in_project]
        return [self.where.join(f, n) for f in folders for n in self.around.names(f) if n.endswith(endings)][:MOST_KEPT]

    def programs(self, most: int) -> list[str]:
        """Return the names of the first programs in Python of the working folder; on Windows in any case, and of those without a window."""
        names = self.around.names(self.folder)
        if self.where.system == "windows":
            return [n for n in names if n.lower().endswith((".py", ".pyw"))][:most]
        return [n for n in names if n.endswith(".py")][:most]

    def script_texts(self) -> Iterator[str]:
        """Yield the texts of the scripts of shells in the working folder."""
        for name in self.around.names(self.folder):
            if name.lower().endswith((".bat", ".cmd", ".ps1", ".sh")):
                yield self.read(self.where.join(self.folder, name)) or ""

    def here(self, state: State) -> str:
        """Return the folder that is current in a state: this session's, until a command changes it."""
        return state.values.get("PWD") or self.folder

    def session(self, *files: str) -> State:
        """Return a state that has this session's variables, and that the files set."""
        separator = ";" if self.where.system == "windows" else ":"
        return State(dict(self.env), set(self.env), files=[*files], separator=separator)

    def config(self, *parts: str) -> str:
        """Return a path below the person's configuration folder."""
        return posixpath.join(self.env.get("XDG_CONFIG_HOME") or self.at_home(".config"), *parts)


def folders_upward(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, without the root."""
    parent = ntpath.dirname if folder[1:2] == ":" else posixpath.dirname
    while folder and (above := parent(folder)) != folder:
        yield folder
        folder = above


def ground_of(request: ProbeRequest, where: Sysroot, folder: str) -> Ground:
    """Return the machine as start-up files see it."""
    person = _person(request, where)

    @functools.cache
    def read(path: str) -> str | None:
        if where.system != "windows" or path in where.planned:
            return where.text(path, MOST_BYTES)
        data = where.read(path, MOST_BYTES)
        return None if data is None else windows_text(data, path)

    @functools.cache
    def names(path: str) -> tuple[str, ...]:
        return where.names(path) or ()

    around = Surroundings(read, functools.cache(where.kind), names, person.uid, person.name)
    registered, pythons = request.host.registered_pythons(), request.seen.pythons or ()
    return Ground(where, person, around, request.env, folder, registered, pythons=pythons)


def _person(request: ProbeRequest, where: Sysroot) -> Person:
    """Return the account from passwd(5), else from the session's variables."""
    machine, env = request.seen.machine, request.env
    home = machine.home or env.get("HOME", "/")
    for line in (where.text("/etc/passwd") or "").splitlines():
        parts = line.split(":")
        if len(parts) == 7 and parts[0] == machine.user:
            uid = int(parts[2]) if re.fullmatch(r"\d{1,9}", parts[2]) else 1000
            return Person(machine.user, uid, home, env.get("SHELL") or parts[6] or "/bin/sh")
    return Person(machine.user, 0 if machine.elevated else 1000, home, env.get("SHELL") or "/bin/sh")


def login_state(ground: Ground, shell: str = "") -> State:
    """Return the variables that login(1) and sshd(8) set before any file is read."""
    name = "ENV_SUPATH" if ground.person.uid == 0 else "ENV_PATH"
    found = re.search(rf"(?m)^[ \t]*{name}[ \t]+(?:PATH=)?(\S+)", ground.read("/etc/login.defs") or "")
    usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    values = {
        "HOME": ground.person.home,
        "USER": ground.person.name,
        "LOGNAME": ground.person.name,
        "SHELL": shell or ground.person.shell,
        "PATH": found[1] if found else usual,
    }
    return State(dict(values), set(values))


def with_pam(ground: Ground, state: State) -> State:
    """Add what pam_env(8) sets in every session: its own settings, /etc/environment, and ~/.pam_environment where it still reads that.

    Debian calls it twice, the second time with a file of the language alone: the settings count over /etc/environment there.
    """
    settings = ground.read(PAM_SETTINGS)
    if settings is not None:
        read_pam(settings, PAM_SETTINGS, state)
    if (text := ground.read("/etc/environment")) is not None:
        read_assignments(text, "/etc/environment", state)
        if (
            settings is not None
            and len(re.findall(r"(?m)^[^#\n]*\bpam_env\.so\b", ground.read("/etc/pam.d/login") or "")) > 1
        ):
            read_pam(settings, PAM_SETTINGS, state)
    path = ground.at_home(".pam_environment")
    if (text := ground.read(path)) is not None:
        read_pam(text, path, state)
    return state


def with_systemd(ground: Ground, state: State) -> State:
    """Add what systemd sets in the person's session and services: environment.d(5)."""
    files: dict[str, str] = {}
    for folder in (ground.config("environment.d"), *ENVIRONMENT_FOLDERS):
        for name in ground.around.names(folder):
            if name.endswith(".conf"):
                files.setdefault(name, posixpath.join(folder, name))
    for _name, path in sorted(files.items()):
        if (text := ground.read(path)) is not None:  # One of systemd's own files is a link to /etc/environment.
            read_systemd_file(text, ground.where.real_path(path), state, expands=True)
    return state


def with_sshd(ground: Ground, state: State) -> State:
    """Add what sshd sets in a session: SetEnv, and ~/.ssh/environment if PermitUserEnvironment allows it (sshd_config(5))."""
    conf = "/etc/ssh/sshd_config"
    files = [*(f"{conf}.d/{n}" for n in ground.around.names(f"{conf}.d") if n.endswith(".conf")), conf]
    told = [
        (path, n, row.split(None, 1))
        for path in files
        for n, row in enumerate((ground.read(path) or "").splitlines(), 1)
    ]
    rows = [(path, n, words[0].lower(), words[1]) for path, n, words in told if len(words) == 2]
    for path, number, key, value in rows:
        for found in re.finditer(r"\b([A-Za-z_]\w*)=(\"[^\"]*\"|\S*)", value) if key == "setenv" else ():
            state.export_variable(found[1], found[2].strip('"'), path, number, "assignments")
    allowed = next((value.strip().lower() for _path, _n, key, value in rows if key == "permituserenvironment"), "no")
    own = ground.at_home(".ssh/environment")
    if allowed not in ("no", "") and (text := ground.read(own)) is not None:
        read_assignments(text, own, state)
    return state
