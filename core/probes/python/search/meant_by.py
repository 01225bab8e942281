"""Which lines of a person's programs mean their own module, although it hides another one: it cannot get another name without them."""

from __future__ import annotations

import ast

from core.common.syntax_tree import nodes_of
from core.model.facts import FoundModule
from core.probes.python.programs.program_folder import programs_in
from core.probes.python.search.likeness import MAX_MODULE_BYTES
from core.probes.python.text.bound_names import likely_names, read_names
from core.probes.python.text.module_text import imports_of
from core.probes.sysroot import Sysroot

MOST_LINES = 3
"""Lines of programs that are told."""


def lines_that_mean(found: FoundModule, folder: str, where: Sysroot) -> tuple[str, ...]:
    """Return file and line of programs in a folder that ask a module for a name, or a part, which the module hidden by it does not have.

    They mean the one that hides: without it, or under another name of it, they end.
    """
    asks = imports_of(found.name)
    own_files = (found.path, where.parent(found.path))
    asking = [p for p in programs_in(folder, where) if p.path not in own_files and asks.search(p.text)]
    its = _only_here(found, where) if asking else frozenset[str]()
    lines = [f"{p.path}:{line}" for p in asking if its for line in sorted(_lines_asking(p.text, found.name, its))]
    return tuple(lines[:MOST_LINES])


def _only_here(found: FoundModule, where: Sysroot) -> frozenset[str]:
    """Return the names and parts of a module that the module hidden by it does not have; none where a text of the two is not read."""
    mine, its = (where.text(path, MAX_MODULE_BYTES) for path in (found.path, found.hidden[0]))
    if mine is None or its is None:
        return frozenset()
    own = read_names(mine)
    if own is None:
        return frozenset()
    parts = [
        {n.partition(".")[0] for n in where.names(where.parent(path)) or ()}
        if where.name(path) == "__init__.py"
        else set[str]()
        for path in (found.path, found.hidden[0])
    ]
    return own.bound - likely_names(its) - parts[1] | parts[0] - parts[1] - likely_names(its)


def _lines_asking(text: str, module: str, names: frozenset[str]) -> set[int]:
    """Return the lines of a text that take one of these names, or parts, from a module."""
    nodes = list(nodes_of(text))
    plain = [one for node in nodes if isinstance(node, ast.Import) for one in node.names if one.name == module]
    called = {one.asname or module for one in plain}
    found: set[int] = set()
    for node in nodes:
        match node:
            case ast.ImportFrom(level=0, module=str(source)) if source == module:
                asked = {one.name for one in node.names}
            case ast.ImportFrom(level=0, module=str(source)) if source.startswith(f"{module}."):
                asked = {source.removeprefix(f"{module}.")}
            case ast.Import():
                asked = {one.name.removeprefix(f"{module}.") for one in node.names if one.name.startswith(f"{module}.")}
            case ast.Attribute(value=ast.Name(id=name)) if name in called:
                asked = {node.attr}
            case _:
                continue
        if any(name.partition(".")[0] in names for name in asked):
            found.add(node.lineno)
    return found
