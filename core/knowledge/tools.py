"""Files other than libraries that frameworks run or read by name while they work: resources/knowledge/tools.json."""

from __future__ import annotations

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
    source: str = ""


class Builder(Frozen, frozen=True, kw_only=True):
    """A framework that compiles C for this Python when it makes its first kernel, and works without until then."""

    reader: str
    """A pattern of the distributions that do."""
    compilers: tuple[str, ...]
    """Programs on the PATH, of which one is enough."""
    variable: str
    """The variable that names another one."""
    users: str = ""
    """A pattern of distributions that come to it whenever they are used."""
    spelt: tuple[str, ...] = ()
    """What a program spells that comes to it."""
    source: str


class SystemProgram(Frozen, frozen=True, kw_only=True):
    """A package that does its work by a program of the system's, which no index brings along."""

    reader: str
    """A pattern of the distributions that do."""
    name: str
    package: str
    """The system's package that has it."""
    source: str = ""


class ToolTable(Frozen, frozen=True, kw_only=True):
    """The whole table."""

    as_of: str
    tools: tuple[Tool, ...]
    builders: tuple[Builder, ...] = ()
    programs: tuple[SystemProgram, ...] = ()


def known_tools() -> tuple[Tool, ...]:
    """Return the table, read once."""
    return read_table("tools", ToolTable).tools


def known_compilers() -> tuple[Builder, ...]:
    """Return what compiles C at run time."""
    return read_table("tools", ToolTable).builders


def system_programs() -> tuple[SystemProgram, ...]:
    """Return what packages run of the system's programs."""
    return read_table("tools", ToolTable).programs
