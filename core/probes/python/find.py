"""Where Python environments are looked for: steps as a tuple of plain functions, each yielding candidates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from core.common.fact_text import fact_text
from core.model.facts import Frozen, Way
from core.model.path_list import searched
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of

MAX_CONDA = 64
"""Environments that are taken from conda's list at most."""


class Candidate(Frozen, frozen=True, kw_only=True):
    """A path that may be an interpreter or an environment's folder."""

    path: str
    found_by: str
    way: Way = "elsewhere"
    named: bool = False
    """The person named it: it is listed whatever it is."""
    group: str = ""
    """Of candidates with the same group only the first that is an environment counts."""
    weak: bool = False
    """It says nothing that another way to the same environment does not say better."""


def named(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield what the person named with --python."""
    for path in request.pythons:
        yield Candidate(path=_absolute(path, sysroot_of(request.host)), found_by="--python", way="--python", named=True)


def active(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield the environment that the variables say is active."""
    names: tuple[Way, ...] = ("VIRTUAL_ENV", "CONDA_PREFIX")
    for name in names:
        if request.env.get(name):
            yield Candidate(path=request.env[name], found_by=name, way=name)


def on_path(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield the interpreters that ``python`` and ``python3`` would start."""
    where = sysroot_of(request.host)
    windows = where.system == "windows"
    names = ("python.exe",) if windows else ("python", "python3")
    value = next((v for n, v in request.env.items() if n.upper() == "PATH"), "")
    folders = [f.strip('"') if windows else f for f in searched(value, where.system)]
    for name in names:
        for folder in dict.fromkeys(folders):
            if where.form.isabs(folder) and where.stat(path := where.join(folder, name)) is not None:
                way: Way = "python3" if name == "python3" else "python"
                yield Candidate(path=path, found_by=fact_text("{name} on PATH", name=name), way=way, group=name)


def beside(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield .venv and venv of the current folder."""
    where = sysroot_of(request.host)
    here = _here(where)
    for name in (".venv", "venv"):
        if here and where.is_folder(path := where.join(here, name)):
            yield Candidate(path=path, found_by=fact_text("{name} in the current folder", name=name), way="here")


def known_to_conda(request: ProbeRequest) -> Iterator[Candidate]:
    """Yield the environments that conda has written down for this user."""
    where = sysroot_of(request.host)
    home = request.env.get("USERPROFILE" if where.system == "windows" else "HOME") or request.seen.machine.home
    if not home:
        return
    listed = where.text(where.join(home, ".conda", "environments.txt")) or ""
    for line in listed.splitlines()[:MAX_CONDA]:
        if where.form.isabs(line.strip()):
            yield Candidate(path=line.strip(), found_by="conda's list of environments")


STEPS = (named, active, on_path, beside, known_to_conda)


def _here(where: Sysroot) -> str:
    try:
        return where.shown(str(Path.cwd()))
    except OSError:  # the current folder was removed
        return ""


def _absolute(path: str, where: Sysroot) -> str:
    if where.form.isabs(path):
        return path
    if path.startswith("~"):
        return where.shown(str(Path(path).expanduser())) if path[1:2] in ("", "/", "\\") else path
    here = _here(where)
    return where.join(here, path) if here else path
