"""Environments as people have them: made by venv, uv, Poetry's way, with system packages, for a user, like conda's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BASE = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"


@dataclass(frozen=True)
class Environment:
    """One environment, and how a person installs into it."""

    prefix: Path
    command: Sequence[str]
    """What installs: pip's or uv's verbs follow."""
    site: Path
    variables: Mapping[str, str]
    at: Sequence[str] = ()
    """Options that follow the verb."""
    user: bool = False

    @property
    def interpreter(self) -> Path:
        return self.prefix / "bin/python" if (self.prefix / "bin/python").exists() else BASE

    def install(self, *arguments: str) -> None:
        self._do("install", *arguments)

    def uninstall(self, *names: str) -> None:
        self._do("uninstall", *(() if self.at else ("-y",)), *names)

    def _do(self, verb: str, *arguments: str) -> None:
        own = ("--user", "--break-system-packages") if self.user and verb == "install" else ()
        command = [*self.command, verb, *self.at, *own, "--quiet", *arguments]
        run = subprocess.run(command, env=dict(self.variables), capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(f"{' '.join(command)}: {run.stdout}{run.stderr}")

    def run(self, code: str, *, activated: bool = False) -> str:
        """Return what a program of this environment prints; ``activated``: started as a person does in a shell."""
        argv = [self.interpreter, "-B", "-c", code]
        if activated:
            argv = ["sh", "-c", '. "$0/bin/activate" && exec python -B -c "$1"', self.prefix, code]
        run = subprocess.run(argv, env=dict(self.variables), capture_output=True, text=True, check=False)
        return (run.stdout if run.returncode == 0 else run.stdout + run.stderr).strip()


def variables(work: Path, **more: str) -> dict[str, str]:
    """Return the variables of a person who has nothing configured, with uv on PATH."""
    tools = work / "tools"
    tools.mkdir(exist_ok=True)
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if uv and not (tools / "uv").exists():
        (tools / "uv").symlink_to(uv)
    (work / "home").mkdir(exist_ok=True)
    return {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(work / "home"), "PIP_CONFIG_FILE": os.devnull, **more}


def by_pip(work: Path) -> Environment:
    prefix = work / "env"
    subprocess.run([BASE, "-m", "venv", prefix], check=True)
    return _with_own_pip(prefix, variables(work))


def with_system_packages(work: Path) -> Environment:
    prefix = work / "env"
    subprocess.run([BASE, "-m", "venv", "--system-site-packages", prefix], check=True)
    return _with_own_pip(prefix, variables(work, PYTHONNOUSERSITE="1"))


def by_uv(work: Path) -> Environment:
    prefix, env = work / "env", variables(work)
    uv = str(work / "tools/uv")
    subprocess.run([uv, "venv", "--quiet", "--python", BASE, prefix], check=True, env=env)
    at = ("--python", str(prefix / "bin/python"))
    return Environment(prefix, (uv, "pip"), prefix / "lib" / VERSION / "site-packages", env, at)


def poetry_like(work: Path) -> Environment:
    """Return an environment in the project's folder, made without pip, as Poetry makes them."""
    project = work / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[tool.poetry]\nname = "project"\n')
    prefix = project / ".venv"
    subprocess.run([BASE, "-m", "venv", "--without-pip", prefix], check=True)
    command = (str(BASE), "-m", "pip", "--python", str(prefix / "bin/python"))
    env = {**variables(work), "PATH": "/usr/bin:/bin"}
    return Environment(prefix, command, prefix / "lib" / VERSION / "site-packages", env)


def conda_like(work: Path) -> Environment:
    """Return a tree as conda lays one out around a real interpreter: records, no pyvenv.cfg, pip's packages in it."""
    prefix = work / "env"
    base = Path(sys.base_prefix)
    skip = shutil.ignore_patterns("__pycache__", "test", "idlelib", "tkinter", "site-packages", "lib2to3")
    for part in ("bin", f"lib/{VERSION}"):
        shutil.copytree(base / part, prefix / part, symlinks=True, ignore=skip)
    for library in (base / "lib").glob("libpython*"):
        shutil.copy2(library, prefix / "lib" / library.name, follow_symlinks=False)
    site = prefix / "lib" / VERSION / "site-packages"
    shutil.copytree(base / "lib" / VERSION / "site-packages/pip", site / "pip", ignore=skip)
    python = prefix / "bin/python"
    if not python.exists():
        python.symlink_to(f"{VERSION}")
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / f"python-{sys.version.split()[0]}-h_0_cpython.json").write_text("{}")
    (prefix / "conda-meta/history").write_text("")
    env = variables(work)
    return Environment(prefix, (str(python), "-m", "pip"), site, env)


def user_site(work: Path) -> Environment:
    """Return the folder of ``pip install --user``, of a Python that belongs to the system."""
    env = variables(work, PYTHONUSERBASE=str(work / "user"))
    site = work / "user/lib" / VERSION / "site-packages"
    site.mkdir(parents=True)
    command = (str(BASE), "-m", "pip")
    return Environment(Path(sys.base_prefix), command, site, env, user=True)


def _with_own_pip(prefix: Path, env: Mapping[str, str]) -> Environment:
    command = (str(prefix / "bin/python"), "-m", "pip")
    return Environment(prefix, command, prefix / "lib" / VERSION / "site-packages", env)


Maker = Callable[[Path], Environment]
