"""The closures section: each GPU binary's dependencies, as its loader resolves them, that are missing or do not fit."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen
from core.model.facts.loading import Attempt, Consumer
from core.model.facts.machine import Changeable

EdgeState = Literal[
    "absent", "unreadable", "dangling", "wrong architecture", "damaged", "not executable", "too old", "executable stack"
]
"""How the search for a needed name ended. "not executable": the file is on a file system that is mounted noexec. "too old":
Microsoft's C++ runtime is older than the linker of what needs it, and a load ended so as it does then. "executable stack": the
file asks for a stack that code may run on, and this C library refuses that to what a running program opens."""


class Edge(Frozen, frozen=True, kw_only=True):
    """A library that a file needs and that its loader does not find."""

    name: str
    wanted_by: str
    """The file that names it."""
    state: EdgeState
    path: str = ""
    """The file that exists but is unusable; empty for a missing one."""
    detail: str = ""
    attempts: tuple[Attempt, ...] = ()
    """Where it was looked for, in order."""
    elsewhere: tuple[str, ...] = ()
    """Files of this name that the search does not reach."""
    by_name: bool = False
    """Opened by its name at run time, not linked."""
    optional: bool = False
    """Wanted by a binary that not every program loads."""
    lacks: str = ""
    """A function that the file does not export and that is imported from it (Windows, error 127)."""


class Gap(Frozen, frozen=True, kw_only=True):
    """A function, or a symbol version, that a file needs and that the library found for it does not export."""

    wanted_by: str
    name: str
    """The symbol; empty where a whole symbol version is missing."""
    version: str = ""
    provider: str = ""
    """The file that should have it; empty where any might."""
    how: str = ""
    """How the loader found the provider, in the loader's terms."""
    others: tuple[str, ...] = ()
    """Files of the same name that come later in the search, or are elsewhere in the environment."""
    optional: bool = False


class Opening(Frozen, frozen=True, kw_only=True):
    """What happened when a child opened a framework's own library, binding at once."""

    library: str
    problem: str = ""
    """The loader's own sentence; empty when it opened."""
    number: int | None = None
    """Windows' error number."""
    ended: str = ""
    """How the child ended, if that was abnormal."""


class Closure(Frozen, frozen=True, kw_only=True):
    """One framework's or extension's own binaries, and their dependencies."""

    consumer: Consumer
    binaries: tuple[str, ...] = ()
    """Where the walk began, in the order in which the framework loads them."""
    files: tuple[str, ...] = ()
    """Every file that was resolved."""
    edges: tuple[Edge, ...] = ()
    gaps: tuple[Gap, ...] = ()
    openings: tuple[Opening, ...] | None = None
    """None: nothing was opened."""
    strays: tuple[str, ...] = ()
    """Of the files that do not fit, those among the packages that no RECORD lists: copied there by hand (Windows)."""
    changeable: Changeable | None = None
    """What others can change of the files that would be opened."""
