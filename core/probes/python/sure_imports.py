"""The imports that a module's own text surely comes to: at its top level, and in a try whose failure ends the module all the same.

Source: https://docs.python.org/3/reference/compound_stmts.html#the-try-statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

CATCHING = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException", "OSError")
"""Names of what catches an import that fails."""


def sure_imports(text: str) -> dict[int, ast.Import | ast.ImportFrom] | None:
    """Return the line and the statement of each import that is surely done; None where the text cannot be parsed."""
    try:
        return {node.lineno: node for node in _of(ast.parse(text).body)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def at_the_margin(text: str) -> str:
    """Return the text with every import that is surely done at the left margin, on the line on which it stands."""
    lines = text.split("\n")
    for number, node in (sure_imports(text) or {}).items():
        if node.col_offset:
            lines[number - 1] = ast.unparse(node)
    return "\n".join(lines)


def _of(body: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield node
            case ast.With():
                yield from _of(node.body)
            case ast.Try():
                if all(_ends(h.body) for h in node.handlers if _catches(h.type)):
                    yield from _of((*node.body, *node.orelse))
                yield from _of(node.finalbody)


def _catches(kind: ast.expr | None) -> bool:
    match kind:
        case ast.Name(id=name):
            return name in CATCHING
        case ast.Tuple(elts=several):
            return any(_catches(one) for one in several)
    return True


def _ends(body: list[ast.stmt]) -> bool:
    """Whether a block raises, whichever way it takes."""
    match body[-1]:
        case ast.Raise():
            return True
        case ast.If(body=first, orelse=second):
            return bool(second) and _ends(first) and _ends(second)
    return False
