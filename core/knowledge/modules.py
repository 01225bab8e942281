"""Modules that matter here: who brings them, the extension that each cannot do without, what they take of the standard library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from core.knowledge.tables import read_table
from core.model.facts import Frozen


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
    """A framework, or an extension of one, whose import is followed to where it ends."""
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


class CheckedRequirement(Frozen, frozen=True, kw_only=True, rename={"first": "from"}):
    """A requirement that is compared at the start, by code, so that another release ends it."""

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
    """The first release whose extension modules take NumPy 2: those built before it take NumPy 1 alone."""

    distributions: str
    release: str
    ends_import: bool = False
    """Its import fails beside NumPy 2; of others only what exchanges arrays does."""
    source: str


class ModuleTable(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/modules.json."""

    modules: tuple[KnownModule, ...]
    standard: tuple[StandardModules, ...]
    names: Mapping[str, str] = {}
    """Distribution -> its module, where that is not the same word."""
    checked: tuple[CheckedRequirement, ...] = ()
    numpy_2: tuple[NumpyTwo, ...] = ()


def module_table() -> ModuleTable:
    """Return the table, read once."""
    return read_table("modules", ModuleTable)


def module_of(distribution: str) -> str:
    """Return the module that a distribution brings, by the table or by its own name."""
    return module_table().names.get(distribution) or distribution.replace("-", "_")


def distribution_of(module: str) -> str:
    """Return the distribution that brings a module, by the table or by its own name."""
    names = module_table().names
    return (
        next((d for d, m in names.items() if m in (module, module.partition(".")[0])), "")
        or module.partition(".")[0].replace("_", "-").lower()
    )


def needed_at_start(distribution: str, wanted: str) -> bool:
    """Whether the start of a distribution is known to import what another one brings."""
    module = module_of(wanted).partition(".")[0]
    rows = (row for row in module_table().modules if row.module == module and row.needed_by)
    return any(re.fullmatch(row.needed_by, distribution) for row in rows)
