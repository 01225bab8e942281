"""Modules that a package imports because they lie in its folder: it lists the names that end in a certain way, and imports each by a name
that it makes, as BasicSR does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from core.common.syntax_tree import last_name, statements_of


def listed_modules(text: str, package: str, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the line that imports and each module that it imports, where a package's text does so at its top level, in two comprehensions.

    ``names``: those in the package's folder.
    """
    if "import_module(f" not in text:
        return
    ends: dict[str, str] = {}
    for node in statements_of(text):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp(generators=[one])) if end := _end_of(one):
                ends[name] = end
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
                generators=[ast.comprehension(target=ast.Name(id=same), iter=ast.Name(id=of), ifs=[])],
            ) if last_name(func) == "import_module" and part == same and before == f"{package}.":
                end = ends.get(of, "")
                yield from (
                    (node.lineno, before + n.removesuffix(".py")) for n in sorted(names) if end and n.endswith(end)
                )


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
