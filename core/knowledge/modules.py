"""Relevant modules: the distributions that contain them, the extension that each needs, and what they import from the
standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

import msgspec

from core.common.late_pattern import late_pattern
from core.common.requirements import is_in_specifier
from core.common.versions import is_older
from core.knowledge.tables import read_table
from core.model.facts import Frozen

NEED_TK = ("tkinter", "turtle")
"""Modules of Python that import _tkinter, which some distributions of it leave out together with them."""
SELDOM_BUILT = ("_bz2", "_ctypes", "_lzma", "_ssl", "_sqlite3", "_uuid", "zlib", *NEED_TK)
"""Modules that Python is built without if a library's development files are missing (Modules/Setup.stdlib.in)."""


class KnownModule(Frozen, frozen=True, kw_only=True):
    """A module at the top level."""

    module: str
    distributions: str
    """A pattern of the names of those that bring it."""
    extension: str = ""
    """Paths of extension modules, with | between them and without their tags: one of them is imported with it."""
    needed_by: str = ""
    """Pattern of the distributions whose start is known to import it; empty for what matters by itself."""
    follow: bool = False
    """A framework, or an extension of one, whose import is followed to the end."""
    extends: str = ""
    """The framework whose extension it is, and that it imports."""
    code_imports: tuple[str, ...] = ()
    """What its compiled code imports, and cannot do without."""
    source: str = ""


class StandardModules(Frozen, frozen=True, kw_only=True):
    """Modules of the standard library that a framework imports."""

    distributions: str
    modules: tuple[str, ...]
    source: str
    indispensable: tuple[str, ...] = ()
    """Those without whose names the import fails."""
    measured: str = ""
    """How that was found."""


class CheckedRequirement(Frozen, frozen=True, kw_only=True, rename={"first": "from"}):
    """A requirement that code checks at start-up, so that another release stops the program."""

    of: str
    """Pattern of the distribution that checks."""
    wanted: str
    ends: Literal["import", "GPU"]
    """GPU: it goes on without one."""
    first: str = ""
    """First release that checks."""
    older: bool = False
    """Only an older release than the required one ends it."""
    source: str


class NumpyTwo(Frozen, frozen=True, kw_only=True):
    """The first release whose extension modules support NumPy 2: modules of earlier releases support only NumPy 1."""

    distributions: str
    release: str
    ends_import: bool = False
    """Its import fails with NumPy 2; in others, only the exchange of arrays fails."""
    source: str


class OpenedLibrary(Frozen, frozen=True, kw_only=True):
    """A library that a package's Python code opens (ctypes, cffi): the import ends where none of its files loads."""

    distributions: str
    """A pattern of the names of those that bring the module."""
    module: str
    """What is imported."""
    files: tuple[str, ...] = ()
    """Patterns of files among the packages, of which one is enough."""
    others: tuple[str, ...] = ()
    """Names that the system's loader is asked for besides; one is enough. On Windows, files of PATH (ctypes.util.find_library)."""
    below: str = ""
    """First release of which this is not known."""
    when: Mapping[str, str] = {}
    """Variables that lead there, with their values; without them another library is opened, or none."""
    variable: str = ""
    """The variable that names another file."""
    chosen: tuple[str, ...] = ()
    """What a program spells that names another file itself."""
    at_use: bool = False
    """It is opened only when it is used: the import goes on without it."""
    raises: str = "OSError"
    """A pattern of the names of the error with which the import ends."""
    system: Literal["linux", "windows"] = "linux"
    source: str

    def is_asked_for(self, env: Mapping[str, str], system: str) -> bool:
        """Whether a program of a system that starts with these variables opens it."""
        return (
            self.system == system
            and not env.get(self.variable)
            and all(env.get(name) == value for name, value in self.when.items())
        )

    def is_of(self, distribution: str, version: str) -> bool:
        """Whether this release of a distribution opens it."""
        known = not self.below or is_older(version, self.below) is True
        return known and re.fullmatch(self.distributions, distribution) is not None


NOT_ON_WINDOWS = "posix>=1"
"""What stands for a requirement where Python on Windows does not have the name."""


class GivenUp(Frozen, frozen=True, kw_only=True):
    """A module, or a name of one, that later releases of its package no longer have."""

    name: str
    last: str
    """The requirement for the releases that have it; of Python itself for a name of its library: "python<3.10", and NOT_ON_WINDOWS."""
    now: str = ""
    """Where what it stood for is in the later releases; empty where code has to change otherwise. {name} is the last part of the name."""
    parts: tuple[str, ...] = ()
    """Names of the module ``name``, each of which is meant in its place."""
    made_by: str = ""
    """Of a method: a pattern of functions that return an object of its class, beside the class itself."""
    source: str


class Namesake(Frozen, frozen=True, kw_only=True):
    """A module of two projects: the one that people mean has another name on the package index than the module."""

    module: str
    names: tuple[str, ...]
    """What programs take of the meant one."""
    install: str
    """What an installer takes for it."""
    source: str


class PluginGroup(Frozen, frozen=True, kw_only=True, rename={"first": "from"}):
    """Entry points that a framework loads as it is imported: its import ends with theirs."""

    module: str
    """The framework's."""
    group: str
    """Of entry_points.txt."""
    first: str = ""
    """First release that does it."""
    switch: str = ""
    """The variable that turns it off with any other value than "1"."""
    source: str


class ByteCodeForm(Frozen, frozen=True, kw_only=True):
    """The form of a release's byte code."""

    python: str
    magic: int
    """The number that it begins with."""
    source: str


class ModuleTable(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/modules.json."""

    modules: tuple[KnownModule, ...]
    standard: tuple[StandardModules, ...]
    names: Mapping[str, str] = {}
    """Distribution -> its module, where that is not the same word."""
    of_projects: tuple[str, ...] = ()
    """Names that people give to modules of their own projects, which may lie in another folder than the program."""
    of_hosts: tuple[str, ...] = ()
    """Modules that a larger program gives to the scripts that it runs: Blender, Maya, ComfyUI, Isaac Sim, Colab."""
    given_up: tuple[GivenUp, ...] = ()
    namesakes: tuple[Namesake, ...] = ()
    checked: tuple[CheckedRequirement, ...] = ()
    numpy_2: tuple[NumpyTwo, ...] = ()
    opened: tuple[OpenedLibrary, ...] = ()
    byte_code: tuple[ByteCodeForm, ...] = ()
    plugins: tuple[PluginGroup, ...] = ()


def meant_by(module: str, name: str) -> str:
    """Return what to install for a program that takes this name of a module; empty where no other project is known to have it."""
    return next((n.install for n in module_table().namesakes if n.module == module and name in n.names), "")


def names_given_up(releases: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the modules and names that these releases of distributions, and of Python, no longer have."""
    installed = {module_of(name): version for name, version in releases}
    found = set()
    for name, row in _given_up_rows().items():
        owner, older = _REQUIREMENT.split(row.last, maxsplit=1)
        version = installed.get(module_of(owner), "")
        if version and is_in_specifier(older, version) is False:
            found.add(name)
    return frozenset(found)


_REQUIREMENT = late_pattern(r"(?=[<>=!~])")


@cache
def _given_up_rows() -> Mapping[str, GivenUp]:
    """Return the rows of names that were given up, one for each full name."""
    found = {}
    for row in module_table().given_up:
        for part in row.parts or ("",):
            name = f"{row.name}.{part}".strip(".")
            found[name] = msgspec.structs.replace(row, name=name, now=row.now.replace("{name}", part))
    return found


def class_that_gave_up(made_by: str, of: str, method: str, gone: frozenset[str]) -> str:
    """Return the class whose objects no longer have a method, by the names given up, for an object that a call of ``made_by`` returned, or of the
    class ``of`` ("pandas.DataFrame", whatever lies between); empty for any other.
    """
    for name, row in _given_up_rows().items():
        its, _dot, last = name.rpartition(".")
        if last == method and name in gone:
            parts = its.split(".")
            if (
                its == made_by
                or f"{parts[0]}.{parts[-1]}" == of
                or (row.made_by and re.fullmatch(row.made_by, made_by))
            ):
                return its
    return ""


def given_up(name: str) -> GivenUp | None:
    """Return what is known of a module, or a name of one, that later releases do not have; None where nothing is."""
    return _given_up_rows().get(name)


def method_given_up(of: str, name: str) -> GivenUp | None:
    """Return what is known of a method of a class, which is named without its module; None where nothing is."""
    return next((row for full, row in _given_up_rows().items() if full.endswith(f".{of}.{name}")), None)


def module_table() -> ModuleTable:
    """Return the table, read once."""
    return read_table("modules", ModuleTable)


@cache
def module_of(distribution: str) -> str:
    """Return the module that a distribution contains, from the tables or by its own name."""
    table = module_table()
    known = (row.module for row in table.modules if row.follow and re.fullmatch(row.distributions, distribution))
    return table.names.get(distribution) or next(known, distribution.replace("-", "_"))


def distribution_of(module: str) -> str:
    """Return the distribution that contains a module, from the table or by its own name."""
    return known_distribution(module) or module.partition(".")[0].replace("_", "-").lower()


def known_distribution(module: str) -> str:
    """Return the distribution that contains a module by the table of names; empty where it is not there."""
    return next((d for d, m in module_table().names.items() if m in (module, module.partition(".")[0])), "")


def needed_at_start(distribution: str, wanted: str) -> bool:
    """Whether a distribution is known to import another one at start-up."""
    module = module_of(wanted).partition(".")[0]
    rows = (row for row in module_table().modules if row.module == module and row.needed_by)
    return any(re.fullmatch(row.needed_by, distribution) for row in rows)


def followed_distributions() -> tuple[str, ...]:
    """Return the patterns of the names of frameworks' distributions whose imports are followed."""
    return tuple(row.distributions for row in module_table().modules if row.follow)
