"""The loads section: where each consumer's loader finds its libraries, and what happened when they were loaded."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from core.common.fact_text import fact_text, remember_form
from core.model.facts.base import Frozen
from core.model.facts.machine import Changeable


class How(StrEnum):
    """How a loader finds a candidate, in the loader's own terms."""

    DIRECT = "direct path"
    LD_PRELOAD = "LD_PRELOAD"
    RPATH = "RPATH"
    LD_LIBRARY_PATH = "LD_LIBRARY_PATH"
    RUNPATH = "RUNPATH"
    LD_CACHE = "ld.so.cache"
    DEFAULT = "default folder"
    LOADED = "already loaded"
    KNOWN_DLL = "KnownDLLs"
    API_SET = "API set"
    DLL_FOLDER = "folder of the loading DLL"
    DLL_DIRECTORY = "add_dll_directory"
    SET_DLL_DIRECTORY = "SetDllDirectory"
    APPLICATION = "application folder"
    SYSTEM = "System32"
    SYSTEM16 = "System"
    WINDOWS = "Windows folder"
    CURRENT = "current folder"
    PATH = "PATH"


Outcome = Literal["found", "not there", "wrong architecture", "unreadable", "damaged", "passed over"]


class Attempt(Frozen, frozen=True, kw_only=True):
    """One path where the loader looks for a name. ``found`` marks every file that would serve, not only the first."""

    path: str
    how: How
    outcome: Outcome
    detail: str = ""
    via: str = ""
    """The variable entry, configuration file or RUNPATH text that led here."""
    stops: bool = False
    """The loader stops here with an error and searches no further: a damaged file, and on Windows also one that is of
    another architecture or may not be read."""
    architecture: str = ""
    """Of a file with the wrong architecture: which one it is built for."""
    pointer: bool = False
    """The file is a pointer of Git LFS, a short text in place of the library."""


class Resolution(Frozen, frozen=True, kw_only=True):
    """A needed library name and every candidate in search order."""

    name: str
    wanted_by: str = ""
    """File that needs it; empty for the consumer itself."""
    attempts: tuple[Attempt, ...] = ()

    @property
    def winner(self) -> Attempt | None:
        """The candidate that the loader takes: the first that is found, or the first that stops the search.

        A damaged file that the loader stops at is a winner too (on Windows one of another architecture as well); its
        outcome says so.
        """
        return next((a for a in self.attempts if a.stops or a.outcome in ("found", "damaged")), None)

    @property
    def found(self) -> tuple[Attempt, ...]:
        """All candidates that would serve, in search order."""
        return tuple(a for a in self.attempts if a.outcome == "found")


class Consumer(Frozen, frozen=True, kw_only=True):
    """A program that will load libraries under its own loader policy."""

    id: str
    """"plain", or "python:" and the environment's prefix."""
    kind: Literal["plain", "python", "conda", "store"]
    label: str
    """In plain words: "any program", "the Python environment C:\\ml\\venv"."""
    prefix: str = ""
    framework: str = ""
    """The distribution that needs the library (torch 2.11.0); empty for none."""

    @property
    def description(self) -> str:
        """The consumer in plain words, with its framework."""
        remember_form(*self.message_and_values)
        return f"{self.label} ({self.framework})" if self.framework else self.label

    @property
    def message_and_values(self) -> tuple[str, dict[str, str]]:
        """The source of its words: a form and its values, as ``fact_text`` takes them."""
        if not self.framework:
            return WORDS[self.kind][0], {"prefix": self.prefix}
        return WORDS[self.kind][1], {"prefix": self.prefix, "framework": self.framework}

    @property
    def full_id(self) -> str:
        """Its id with the name of its framework, as findings name it: "python/torch:/opt/venv"."""
        prefix = self.prefix or self.id.partition(":")[2]
        return full_id(prefix, self.framework.partition(" ")[0]) if prefix else self.id


WORDS = {
    "plain": (fact_text("any program"), fact_text("any program ({framework})")),
    "python": (
        fact_text("the Python environment {prefix}"),
        fact_text("the Python environment {prefix} ({framework})"),
    ),
    "conda": (fact_text("the conda environment {prefix}"), fact_text("the conda environment {prefix} ({framework})")),
    "store": (
        fact_text("the Microsoft Store's Python {prefix}"),
        fact_text("the Microsoft Store's Python {prefix} ({framework})"),
    ),
}
"""Kind of a consumer -> its words, without and with a framework."""


def full_id(prefix: str, framework: str = "") -> str:
    """Return the one name of an environment, or of a framework (without its version) in it."""
    return f"python/{framework}:{prefix}" if framework else f"python:{prefix}"


def split_id(consumer: str) -> tuple[str, str]:
    """Return the environment's name and the framework of a ``full_id``; no framework for all of a consumer."""
    kind, _, rest = consumer.partition(":")
    kind, _, framework = kind.partition("/")
    return f"{kind}:{rest}" if rest else kind, framework


def is_part_of(consumer: str, framework: str) -> bool:
    """Whether a consumer is this framework, or a package of it that loads its libraries ("jax-cuda12-plugin"); both as ``full_id``."""
    (its, name), (home, whole) = split_id(consumer), split_id(framework)
    return its == home and (name == whole or name.startswith(f"{whole}-"))


class Call(Frozen, frozen=True, kw_only=True):
    """One call of the roll call and its answer."""

    function: str
    library: str = ""
    result: int | None = None
    """The returned number; None when the function could not be called."""
    meaning: str = ""
    """Name of the status, or the loader's error."""


class Mapped(Frozen, frozen=True, kw_only=True):
    """A CUDA or cuDNN file that the process really mapped."""

    path: str
    name: str
    origin: str = ""
    """Who owns it: "this environment's wheel", "LD_LIBRARY_PATH", "system"."""


class RollCall(Frozen, frozen=True, kw_only=True):
    """What really happened when a child loaded a main library and called every sub-library."""

    library: str
    """What was asked for: a bare name or a full path."""
    loaded: str = ""
    """The file that answered."""
    version: str | None = None
    """cudnnGetVersion as dotted text."""
    calls: tuple[Call, ...] = ()
    mapped: tuple[Mapped, ...] = ()
    output: str = ""
    """What the libraries printed."""
    ended: str = ""
    """How the child ended, in one sentence; empty when it ended well."""
    timed_out: bool = False
    """Whether it was stopped for want of time, which proves nothing: a slow disk, a virus scanner, or a library that hangs."""
    uncaged: bool = False
    """The system offers no sandbox (seccomp is missing, or another processor): the child could start programs and use the network."""
    guards: tuple[str, ...] = ()
    """The guards that were active: seccomp (no new programs, no sockets), network namespace (a separate network)."""


class Load(Frozen, frozen=True, kw_only=True):
    """One consumer's search and roll call for one cuDNN major."""

    consumer: Consumer
    major: int
    resolutions: tuple[Resolution, ...] = ()
    roll_call: RollCall | None = None
    clean_roll_call: RollCall | None = None
    """The same without LD_LIBRARY_PATH (or PATH additions), where one was set and something differed: the proof of an override."""
    wanted_version: str | None = None
    """The cuDNN version that the consumer was built or pinned against, where known."""
    wanted_source: str = ""
    changeable: Changeable | None = None
    """The part of the loaded files that others can change; None: nothing, or not examined."""
    refused: bool = False
    """Nothing was loaded: other accounts can change it, and nobody named it or it would have run with an administrator's rights."""
