"""Files other than libraries that frameworks run or read by name while they work: resources/knowledge/tools.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from core.knowledge.tables import read_table
from core.model.facts import Frozen


class Tool(Frozen, frozen=True, kw_only=True):
    """One file that a framework runs or reads."""

    reader: str
    """A pattern of the distributions that do."""
    file: str
    """Below the folder of packages."""
    name: str
    runs: bool = False
    """It is run as a program; else it is read."""
    starts: str = ""
    """The bytes that it begins with, in hexadecimal."""
    others: tuple[str, ...] = ()
    """Where else below the packages it may lie."""
    roots: tuple[str, ...] = ()
    """Its path in a CUDA toolkit, which is used as well."""
    variable: str = ""
    """The variable that names another one."""
    demanded: bool = False
    """Without it the reader fails, whether a package brought it or not. Else it is missed only where a package did."""
    spared: tuple[str, str] = ("", "")
    """With ``demanded``: the reader's module, and a pattern of the names that a program may take of it without coming to the file."""
    source: str = ""


class Builder(Frozen, frozen=True, kw_only=True):
    """A framework that compiles C for this Python when it makes its first kernel, and works without until then."""

    reader: str
    """A pattern of the distributions that do."""
    compilers: tuple[str, ...] = ()
    """Programs on the PATH, of which one is enough; none where it brings its own."""
    variable: str = ""
    """The variable that names another one."""
    users: str = ""
    """A pattern of distributions that come to it whenever they are used."""
    spelt: tuple[str, ...] = ()
    """What a program spells that comes to it."""
    system: Literal["linux", "windows"] = "linux"
    source: str


class SystemProgram(Frozen, frozen=True, kw_only=True):
    """A package that does its work by a program of the system's, which no index brings along."""

    reader: str
    """A pattern of the distributions that do."""
    name: str
    package: str
    """The system's package that has it."""
    run_by: str = ""
    """A pattern of what a program spells that starts it; empty where using the package does."""
    unless: str = ""
    """A pattern of what a program spells that names another one: its group is the path, where that is written out."""
    source: str = ""


class Call(Frozen, frozen=True, kw_only=True):
    """A call of a package that needs another one, or a program, which the package does not require."""

    reader: str
    """A pattern of the distributions that are called; empty where the program starts a module of its own Python."""
    spelt: str
    """A pattern of what a program spells, outside conditions and ``try``."""
    unless: str = ""
    """A pattern of what in the same program makes it do without."""
    wants: str = ""
    """A pattern of distributions one of which is needed."""
    program: str = ""
    """A program that is needed; with ``wants``, one of these distributions brings it."""
    libraries: tuple[str, ...] = ()
    """How names of the system's libraries begin any of which serves as well."""
    name: str = ""
    """What is to be installed; empty where the program says so itself, in the group "name" of ``spelt``."""
    setting: str = ""
    """``name`` is a variable: the value with which the reader does what is called."""
    beside: str = ""
    """A requirement ("keras>=3") without which nothing is needed: not met, the reader works in another way."""
    chosen: tuple[str, ...] = ()
    """Variables, files of the home ("~/..."), and how names in the folder of a variable begin ("%ProgramFiles%/..."), that choose something else to be used."""
    instead: Mapping[str, str] = {}
    """Distributions, or the program itself, that may be used -> the setting that says so; of a call of which nothing is wanted, what is written there."""
    by_module: str = ""
    """The module of the reader, with its words, that installs it where no index has it: "spacy download {name}"."""
    compiles: str = ""
    """The program is a compiler; the name of its package on systems of Red Hat."""
    system: Literal["", "linux", "windows"] = ""
    """The only system on which it is looked at; empty for every one. Elsewhere ``programs`` may have the same."""
    since: str = ""
    below: str = ""
    """The reader's releases that need it: from this one on, and up to the one before that."""
    release: str = ""
    """A pattern of what the version of the reader contains: "+cu124" of a build."""
    holds: tuple[str, str] = ("", "")
    """The reader's file, below site-packages, that asks for it, and a pattern of what stands there: a reader without it needs nothing."""
    source: str


class ToolTable(Frozen, frozen=True, kw_only=True):
    """The whole table."""

    as_of: str
    tools: tuple[Tool, ...]
    builders: tuple[Builder, ...] = ()
    programs: tuple[SystemProgram, ...] = ()
    calls: tuple[Call, ...] = ()


def tool_table() -> ToolTable:
    """Return the table, read once."""
    return read_table("tools", ToolTable)
