"""Variables as contracts: what must be true of each that a framework or NVIDIA's software reads, with its source."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Literal

from core.knowledge.tables import read_table
from core.model.facts import Frozen, System

ContractKind = Literal[
    "words",
    "switch",
    "number",
    "pattern",
    "flags",
    "options",
    "folder",
    "file",
    "files",
    "requirement",
    "capabilities",
    "devices",
]
"""words: one of a list, or several with ``separator``. switch: yes or no in one of the usual spellings. flags: "--name=value",
or a file of them. options: "name:value,name:value". folder: exists and holds one of ``holds``. requirement, capabilities and
devices: what a container asked of its driver, against what it got."""

SWITCHES = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
"""distutils' words, which JAX reads; compared in lower case."""


class Contract(Frozen, frozen=True, kw_only=True):
    """One thing that must be true of a variable."""

    variable: str
    readers: str
    """A pattern of the distributions that read it; empty for any program."""
    kind: ContractKind
    words: tuple[str, ...] = ()
    separator: str = ""
    open: bool = False
    """Further words may be right: of plug-ins, or of newer releases."""
    least: float = 0
    most: float = 0
    pattern: str = ""
    flag: str = ""
    """The folder follows this flag."""
    holds: tuple[str, ...] = ()
    needs: tuple[tuple[str, str], ...] = ()
    """A word, and a pattern of the distributions ("name==version") one of which must be installed beside the reader."""
    means: str = ""
    """A value that is right, as an example."""
    fails: bool = False
    """Its readers do not start, or fail at the first use, with a value that breaks it."""
    source: str = ""


class ContractTable(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/variables.json."""

    as_of: str
    contracts: tuple[Contract, ...]


@functools.cache
def contracts() -> tuple[Contract, ...]:
    """Return the table, read once."""
    return read_table("variables", ContractTable).contracts


def named_places(contract: Contract, value: str, system: System) -> Iterator[str]:
    """Yield the files and folders that a value names by this contract."""
    if contract.flag:
        found = re.search(rf"(?:^|\s){re.escape(contract.flag)}[= ](\S+)", value)
        if found:
            yield found[1].strip("'\"")
    elif contract.kind == "files":
        yield from (
            p for p in re.split(r"[\s;]+" if system == "windows" else r"[\s:]+", value) if "/" in p and "$" not in p
        )
    elif contract.kind == "flags":
        if value.strip() and not value.strip().startswith("--"):
            yield value.strip()
    elif contract.kind in ("folder", "file") and value.strip():
        yield value.strip()
