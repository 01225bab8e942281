"""The oracle: the real shells, started as each way of starting does, and what ``env -0`` prints there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from core.host.startup.state import State, Surroundings
from core.model.facts import Machine, Snapshot
from core.probes.starting.machine import Ground, Person
from core.probes.sysroot import Sysroot

BASE_PATH = "/usr/local/bin:/usr/bin:/bin"
HERE = {name: path for name in ("bash", "zsh", "fish", "dash") if (path := shutil.which(name))}
"""The shells that this machine has; a test of another one asks nothing."""


def surroundings(texts: Mapping[str, str] | None = None) -> Surroundings:
    """Return this machine, as start-up files see it; files of ``texts`` have these texts, and its sudoers stay closed."""
    given = texts or {}

    def read(path: str) -> str | None:
        if path in given or path.startswith("/etc/sudoers"):
            return given.get(path)
        try:
            return Path(path).read_bytes().decode("utf-8", "replace") if Path(path).is_file() else None
        except OSError:
            return None

    def kind(path: str) -> str:
        if path in given:
            return "file"
        return "file" if Path(path).is_file() else "folder" if Path(path).is_dir() else "missing"

    def names(path: str) -> tuple[str, ...]:
        mine = {p.rpartition("/")[2] for p in given if p.rpartition("/")[0] == path}
        real = {p.name for p in Path(path).iterdir()} if Path(path).is_dir() else set()
        return tuple(sorted(real | mine))

    return Surroundings(read, kind, names, os.geteuid(), "ada")


def ground(home: Path, texts: Mapping[str, str] | None = None) -> Ground:
    """Return this machine with another home; files of ``texts`` have these texts."""
    person = Person("ada", os.geteuid(), str(home), "/bin/bash")
    return Ground(Sysroot("linux"), person, surroundings(texts), {}, str(home))


def project(home: Path) -> Path:
    """Make a project with a Python environment of its own in a home, and return the environment."""
    env = home / "work/.venv"
    (env / "bin").mkdir(parents=True)
    (env / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (env / "bin/python").symlink_to(os.path.realpath(sys.executable))
    return env


def in_project(home: Path, **env: str) -> Ground:
    """Return this machine as somebody with these variables sees it in the project of a home."""
    given = {"HOME": str(home), "PATH": "/usr/bin:/bin", **env}
    return replace(ground(home), env=given, folder=str(home / "work"))


def begin(home: Path) -> State:
    """Return the variables that a shell begins with in these tests."""
    values = {"HOME": str(home), "PATH": BASE_PATH, "USER": "ada", "LOGNAME": "ada"}
    return State(dict(values), set(values))


def real_environment(
    shell: str, home: Path, *, login: bool = False, interactive: bool = False, env: dict[str, str] | None = None
) -> dict[str, str]:
    """Return what programs get from a real shell that is started so."""
    flags = ("-l" * login, "-i" * interactive)
    argv = [HERE[shell], *(f for f in flags if f), "-c", "env -0"]
    given = {**begin(home).environment(), **(env or {})}
    done = subprocess.run(argv, env=given, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    text = done.stdout.decode("utf-8", "replace")
    return dict(part.partition("=")[::2] for part in text.split("\0") if "=" in part)


def machine(home: Path) -> Snapshot:
    """Return a Snapshot of nobody but the person at ``home``."""
    return Snapshot(machine=Machine(system="linux", user="ada", home=str(home)))
