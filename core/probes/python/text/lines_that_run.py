"""Which lines of a program run when it is started, as far as its text tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection

from core.common.syntax_tree import is_main, parsed


def is_called(function: ast.FunctionDef | ast.AsyncFunctionDef, spelt: str, texts: Collection[str]) -> bool:
    """Whether some program calls a function beside its definition and such a call, or hands it on; or a decorator does.

    ``spelt``: the pattern of the call.
    """
    name = re.escape(function.name)
    used = re.compile(rf"(?<!def )(?<![\w\"'-]){name}\s*\(|[(,=]\s*(?:\w+\.)*{name}\s*[,)\n]")
    special = function.name.startswith("__")
    return special or bool(function.decorator_list) or any(used.search(re.sub(spelt, "", text)) for text in texts)


def text_that_runs(text: str, may_run: Callable[[ast.FunctionDef | ast.AsyncFunctionDef], bool]) -> str:
    """Return a program with empty lines in the place of what stands in conditions, ``try``, comments and functions that do not run; empty
    where it cannot be parsed.
    """
    tree = parsed(text)
    if tree is None:
        return ""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(tree):
        open_parts: list[ast.stmt] = []
        match node:
            case ast.If(test=test) if not is_main(test):
                open_parts = [*node.body, *node.orelse]
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not may_run(node):
                open_parts = node.body
            case ast.Try():
                open_parts = [*node.body, *(s for h in node.handlers for s in h.body), *node.orelse]
            case ast.Expr(value=ast.Constant()):
                open_parts = [node]
        for part in open_parts:
            for n in range(part.lineno - 1, min(part.end_lineno or part.lineno, len(lines))):
                lines[n] = "\n"
    return "".join("\n" if line.lstrip().startswith("#") else line for line in lines)
