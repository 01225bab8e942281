"""Modules that matter here: who brings them, the extension that each cannot do without, what they take of the standard library."""

from __future__ import annotations

import functools

from core.knowledge.tables import read_table
from core.model.facts import Frozen


class KnownModule(Frozen, frozen=True, kw_only=True):
    """A module at the top level."""

    module: str
    distributions: str
    """A pattern of the names of those that bring it."""
    extension: str = ""
    """Paths of extension modules, with | between them and without their tags: one of them is imported with it."""
    source: str = ""


class StandardModules(Frozen, frozen=True, kw_only=True):
    """Modules of the standard library that a framework imports."""

    modules: tuple[str, ...]
    source: str


class NumpyTwo(Frozen, frozen=True, kw_only=True):
    """The first release whose extension modules take NumPy 2: those built before it take NumPy 1 alone."""

    distributions: str
    release: str
    source: str


class ModuleTable(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/modules.json."""

    modules: tuple[KnownModule, ...]
    standard: StandardModules
    numpy_2: tuple[NumpyTwo, ...] = ()


@functools.cache
def module_table() -> ModuleTable:
    """Return the table, read once."""
    return read_table("modules", ModuleTable)
