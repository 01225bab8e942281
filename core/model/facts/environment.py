"""The environment section: variables and search paths."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen

Scope = Literal["process", "user", "machine", "login"]
"""process: the variables of this process, with a frozen application's own changes undone; user, machine: the Windows
registry (HKCU, HKLM) or files such as /etc/environment; login: what a new login shell gets."""

Mark = Literal[
    "missing",
    "not a folder",
    "unreadable",
    "duplicate",
    "quoted",
    "relative",
    "unexpanded",
    "trailing slash",
    "brackets",
    "non-ascii",
    "writable by others",
    "empty",
]


class Variable(Frozen, frozen=True, kw_only=True):
    """One environment variable in one scope; ``value`` is the raw, unexpanded text."""

    name: str
    value: str
    scope: Scope = "process"
    kind: str = ""
    """Registry kind (REG_SZ, REG_EXPAND_SZ), empty elsewhere."""
    source: str = ""


class PathEntry(Frozen, frozen=True, kw_only=True):
    """One entry of a search-path variable, in order."""

    variable: str
    """PATH, LD_LIBRARY_PATH, ..."""
    index: int
    text: str
    expanded: str = ""
    """With variables expanded; what the loader sees."""
    scope: Scope = "process"
    exists: bool = True
    marks: tuple[Mark, ...] = ()
    duplicate_of: int | None = None
    meant: str = ""
    """Of an entry that begins with ~, which no loader expands: the folder that a shell would have made of it, links followed."""


class Renewal(Frozen, frozen=True, kw_only=True):
    """A variable whose value in this session is older than a change by Convalesce; new programs get another value."""

    name: str
    scope: Literal["user", "machine", "environment"] = "user"
    """Who gets the new value: programs from the next log-in on, or while an environment is active."""
    at: str = ""
    """The file that keeps it, or the environment's prefix."""
    old: str | None = None
    """What this session has; None for nothing."""
    new: str | None = None
    """What new programs get, by which the machine was judged."""


class Activation(Frozen, frozen=True, kw_only=True):
    """What an environment's activation does to a variable because of a change by Convalesce that is still in effect."""

    name: str
    at: str
    """The environment's prefix."""
    steps: str
    """One a line, as core/host/activation_scripts.py writes them: "drop /opt/old"."""
    entry: str = ""
    """The history's entry that made it."""


class Limit(Frozen, frozen=True, kw_only=True):
    """What is wrong with a whole variable."""

    kind: Literal["length", "kind"]
    """Longer than ``limit``; a registry value of a wrong kind."""
    text: str
    """The problem in one sentence, as in ``problems``."""
    variable: str = ""
    limit: int = 0
    """The largest limit that is exceeded, in characters (bytes on Linux)."""


class NamedPlace(Frozen, frozen=True, kw_only=True):
    """A file or folder that a variable names, as the variable's documented meaning requires it."""

    variable: str
    path: str
    state: Literal["folder", "file", "missing"]
    holds: tuple[str, ...] = ()
    """Of the files that a folder must contain, those that it does contain; the names of network interfaces; or the flags in a file of them."""
    blocked: str = ""
    """Of a folder that is to be written to: the file that stands in its way, or the folder that this user may not write to."""
    runs: bool = True
    """Of a program: whether this user may run it; of a folder for compiled code: whether code can be loaded from it."""
    asked: bool = True
    """Of a hub's cache: whether a program of the folder names a model of the hub, or none is there that could tell."""
    inside: str = ""
    """The folder below ``path`` that is to be written to: ".cache/huggingface" in HOME. Empty for ``path`` itself."""
    near: str = ""
    """Of a folder without what it must contain: the only one above, below or beside it that does contain it."""


class Vocabulary(Frozen, frozen=True, kw_only=True):
    """Words of a variable's values, here or in another way of starting, against those that stand in its reader's files."""

    variable: str
    prefix: str
    """The environment of the reader."""
    files: tuple[str, ...]
    """Where the reader's words stand."""
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    takes: Literal[
        "", "whole number", "number", "switch", "words", "JSON", "file", "folder", "path", "module", "account", "cache",
        "header", "beside", "key", "package", "code", "memory", "own cache", "docstrings", "key length", "form", "address",
    ] = ""  # fmt: skip
    """What the reader's code turns the whole value into; empty where single words were searched for. module: where the variable is a
    switch that is on, the code imports ``known``. account: the code asks for the name of the user, who has none.
    cache: the code asks Numba for a cache, and nothing can be written to any of the folders ``known``. header: the value is a secret that is sent in
    the head of a request; ``unknown`` are its letters that none can have. beside: with the variable, a
    program in the working folder does not find ``known``, which lies beside it.
    key length: the value is a secret; ``unknown`` is its length, and ``known`` the one that the code takes.
    memory: the value is the size of each thread's stack, and larger than the memory of this machine, ``known`` bytes.
    code: with ``unknown``, and other variables as ``known`` has them, the code raises what it ``says``.
    own cache: the reader keeps files there, nothing can be written to it, and ``known`` is in the way.
    docstrings: Python leaves docstrings out with the value, and the code fails without.
    package: ``unknown`` asks for one of the distributions ``known``, and none of them is installed.
    address: something else than a number stands where the port of a proxy's address belongs.
    form: the file ``files[0]``, which ``files[1]`` reads, is no text of the form ``variable`` (YAML, say), and ``says`` what is wrong in it.
    key: ``variable`` is itself a key of a settings file, and the code refuses it."""
    line: int = 0
    """Of the file, from 1, where the code does so."""
    reader: str = ""
    """The distribution of that code."""
    sure: bool = True
    """Its import comes to that code; else only some of its uses do."""
    idle: bool = False
    """No program in the working folder names the reader, nor what uses it, or the part of it that has that code."""
    says: str = ""
    """The exception, as far as its text is known: "ImportError: Cannot use ..."."""
    setting: str = ""
    """File and line of a framework's own settings that have the value, where it is no variable: ``variable`` names the key."""


class Environment(Frozen, frozen=True, kw_only=True):
    """Relevant variables of every scope, and the search-path entries of the consumer's environment."""

    variables: tuple[Variable, ...] = ()
    entries: tuple[PathEntry, ...] = ()
    problems: tuple[str, ...] = ()
    """Sentences about limits: a PATH longer than its limit, a registry value of a wrong kind. Programs read ``limits``."""
    limits: tuple[Limit, ...] = ()
    renewed: tuple[Renewal, ...] = ()
    """Variables whose values in this session are older than a change; all sections were examined with the new values."""
    activations: tuple[Activation, ...] = ()
    """Changes that hold for programs that are started while an environment is active, and for no others."""

    places: tuple[NamedPlace, ...] = ()
    """What variables with a contract name; a relative one as seen from the working folder."""
