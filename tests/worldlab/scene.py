"""A scene: one environment, what was done to it, how the program is started, and what the real program does then."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.worldlab.environments import site

ORACLE_TIMEOUT = 600
"""Seconds for the real program. No measure of speed: TensorFlow's first import from a cold disk takes its time."""

Kind = Literal["A", "B", "C", "D", "E", "healthy"]
"""A: a library is absent or unfit; B: all files are there and do not fit; C: Python finds another file; D: the way of
starting; E: variables that name places or mean a contract."""


@dataclass
class World:
    """What a plant may change: a copy of an environment, and how programs are started in it."""

    folder: Path
    """Everything of this scene; ``env``, ``home`` and what the plant makes."""
    variables: dict[str, str] = field(default_factory=dict)
    """Set for the program and for the scan alike."""
    cwd: Path | None = None
    """The person's working folder; the home without one."""
    arguments: list[str] = field(default_factory=list)
    """Further arguments of ``convalesce scan``."""
    launcher: list[str] = field(default_factory=list)
    """What stands before every command: a private mount, say."""
    plain_rights: bool = False
    """Take root's right to read everything away, for files that are closed."""

    @property
    def prefix(self) -> Path:
        """The environment."""
        return self.folder / "env"

    @property
    def site(self) -> Path:
        """Its folder of packages."""
        return site(self.prefix)

    @property
    def home(self) -> Path:
        """The person's home."""
        return self.folder / "home"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.prefix / "bin" / "python"

    def library(self, pattern: str) -> Path:
        """Return the one file below the packages that the pattern names.

        Raises:
            LookupError: there is none, or more than one.
        """
        found = sorted(self.site.glob(pattern))
        if len(found) != 1:
            raise LookupError(f"{pattern} names {len(found)} files in {self.site}")
        return found[0]

    def own(self, path: Path) -> Path:
        """Give a file bytes of its own, so that altering it does not reach the master; return it."""
        half = path.with_name(f".half-{path.name}")
        shutil.copy2(path, half)
        half.replace(path)
        return path

    def environment(self) -> dict[str, str]:
        """Return the variables that programs are started with."""
        given = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
        return {**given, "PYTHONDONTWRITEBYTECODE": "1", **self.variables}

    def run(self, command: Sequence[str | Path], timeout: float = ORACLE_TIMEOUT) -> subprocess.CompletedProcess[bytes]:
        """Start a program as the person does."""
        words = [str(word) for word in command]
        if self.plain_rights and os.geteuid() == 0:
            lost = "-dac_override,-dac_read_search"
            words = ["setpriv", "--bounding-set", lost, "--inh-caps", lost, *words]
        words = [*self.launcher, *words]
        return subprocess.run(
            words, check=False, capture_output=True, cwd=self.cwd or self.home, env=self.environment(), timeout=timeout
        )


@dataclass(frozen=True)
class Ran:
    """What the real program did."""

    ok: bool
    said: str
    """The last of its words."""


Oracle = Callable[[World], Ran]


@dataclass(frozen=True)
class Scene:
    """One row of the lab."""

    name: str
    kind: Kind
    environment: str
    """A name of ``environments.ENVIRONMENTS``."""
    oracle: Oracle
    """Runs the real program: it must fail where there are causes, and succeed where there are none."""
    plant: Callable[[World], None] | None = None
    causes: tuple[str, ...] = ()
    """Words of causes.json, any of which is right for the headline; none for a healthy machine."""
    consumer: str = ""
    """The distribution that the headline must concern (torch); empty for any."""
    names: str = ""
    """What the headline must name besides: a file, a symbol, a variable."""
    says: str = ""
    """What the real program must say, so that it fails for this reason and for no other."""
    no_card: bool = False
    """Scan this machine as it is, instead of with a made-up card and driver."""


# --- ready oracles -------------------------------------------------------------------------------------------


LEAVE = "\nimport os, sys; sys.stdout.flush(); sys.stderr.flush(); os._exit(0)"
"""What was opened is not taken down again: some libraries crash at the end of a process without a driver."""


def runs(code: str) -> Oracle:
    """Run a piece of Python in the environment's interpreter."""

    def oracle(world: World) -> Ran:
        try:
            done = world.run([world.python, "-c", code + LEAVE])
        except subprocess.TimeoutExpired:
            return Ran(ok=False, said="it gave no answer")
        except OSError as e:
            return Ran(ok=False, said=str(e))
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        return Ran(ok=done.returncode == 0, said=said[-3000:] or f"status {done.returncode}")

    return oracle


def imports(*modules: str) -> Oracle:
    """Import modules one after another."""
    return runs("\n".join(f"import {name}" for name in modules))


def opens(*files: str, after: str = "", flags: str = "ctypes.RTLD_GLOBAL") -> Oracle:
    """Open libraries below the packages, binding now; ``after``: code that runs before, as a framework's own preloads."""
    lines = [
        "import ctypes, os, sysconfig",
        "site = sysconfig.get_paths()['purelib']",
        after,
        *(f"ctypes.CDLL(os.path.join(site, {name!r}), mode=os.RTLD_NOW | {flags})" for name in files),
    ]
    return runs("\n".join(lines))


COMPILE = """
import ctypes, sys
nvrtc = ctypes.CDLL({library!r})
program = ctypes.c_void_p()
source = b'extern "C" __global__ void f(float *x) {{ x[0] = 1; }}'
def check(status):
    if status:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        log = ctypes.create_string_buffer(4096)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(nvrtc.nvrtcGetErrorString(status).decode() + ' ' + log.value.decode())
check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b'f.cu', 0, None, None))
check(nvrtc.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(b'--gpu-architecture=compute_80')))
"""


def compiles(library: str = "libnvrtc.so.12", after: str = "") -> Oracle:
    """Compile one line with NVRTC (it needs no GPU), after code that loads it as the framework does."""
    return runs(after + COMPILE.format(library=library))


def both(*oracles: Oracle) -> Oracle:
    """Succeed where every one does; else give the first failure."""

    def oracle(world: World) -> Ran:
        answers = [one(world) for one in oracles]
        return next((a for a in answers if not a.ok), answers[-1])

    return oracle


# --- ready plants --------------------------------------------------------------------------------------------


def loses(*patterns: str) -> Callable[[World], None]:
    """Delete files of the packages."""

    def plant(world: World) -> None:
        for pattern in patterns:
            world.library(pattern).unlink()

    return plant


def cuts(pattern: str, part: float = 0.5) -> Callable[[World], None]:
    """Cut a file off behind a part of its size."""

    def plant(world: World) -> None:
        path = world.own(world.library(pattern))
        os.truncate(path, int(path.stat().st_size * part))

    return plant


def dangles(pattern: str) -> Callable[[World], None]:
    """Put a link to nothing in the place of a file."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        path.unlink()
        path.symlink_to(f"/nowhere/{path.name}")

    return plant


def lacks(*distributions: str) -> Callable[[World], None]:
    """Uninstall distributions, with their records."""

    def plant(world: World) -> None:
        from tests.worldlab.environments import uv

        uv("pip", "uninstall", "--quiet", "--python", str(world.python), *distributions)

    return plant


def installs(*arguments: str, before: Callable[[World], None] | None = None) -> Callable[[World], None]:
    """Install what a person would have (``--no-deps`` and all); uv replaces files and never writes into them."""

    def plant(world: World) -> None:
        from tests.worldlab.environments import uv

        if before:
            before(world)
        uv("pip", "install", "--quiet", "--python", str(world.python), *arguments)

    return plant


def then(*plants: Callable[[World], None]) -> Callable[[World], None]:
    """Do one after the other."""

    def plant(world: World) -> None:
        for one in plants:
            one(world)

    return plant
