"""Modules that a package imports each by a name that it makes, in a comprehension: those of its folder whose names end in a certain way, as
BasicSR does, or those that it writes out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from core.common.syntax_tree import last_name, statements_of


def listed_modules(text: str, package: str, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the line that imports and each module that it imports, where a package's text does so at its top level.

    ``names``: those in the package's folder.
    """
    if "import_module(f" not in text:
        return
    listed: dict[str, list[str]] = {}
    for node in statements_of(text):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp(generators=[one])) if end := _end_of(one):
                listed[name] = [n.removesuffix(".py") for n in sorted(names) if n.endswith(end)]
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple() | ast.List() as written):
                listed[name] = _texts(written)
        made = node.value if isinstance(node, ast.Assign | ast.Expr) else None
        match made:
            case ast.ListComp(
                elt=ast.Call(
                    func=func,
                    args=[
                        ast.JoinedStr(
                            values=[ast.Constant(value=str(before)), ast.FormattedValue(value=ast.Name(id=part))]
                        )
                    ],
                ),
                generators=[ast.comprehension(target=ast.Name(id=same), iter=of, ifs=[])],
            ) if last_name(func) == "import_module" and part == same and before == f"{package}.":
                found = listed.get(of.id, []) if isinstance(of, ast.Name) else _texts(of)
                yield from ((node.lineno, before + name) for name in found)


def _end_of(one: ast.comprehension) -> str:
    """Return how the names end that a comprehension takes of a listing; empty where it asks for more, or for something else."""
    match one:
        case ast.comprehension(
            target=ast.Name(id=name),
            ifs=[
                ast.Call(
                    func=ast.Attribute(value=ast.Name(id=asked), attr="endswith"), args=[ast.Constant(value=str(end))]
                )
            ],
        ) if name == asked and end.endswith(".py"):
            return end
    return ""


def _texts(written: ast.expr) -> list[str]:
    """Return the texts that a tuple or list writes out; none where it has anything else."""
    match written:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            texts = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
            return texts if len(texts) == len(parts) else []
    return []
