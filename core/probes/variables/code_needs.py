"""What code needs without a variable of its own: the name of the user, a place for what it compiles."""

from __future__ import annotations

import ast
import re

from core.common.syntax_tree import argument, constant, last_name, nodes_of, statements_of

COMPILERS = ("jit", "njit", "vectorize", "guvectorize", "generated_jit", "stencil")
"""Numba's decorators."""


def account_asked(text: str) -> int:
    """Return the line at which a module's function asks for the name of the user whenever it is called; 0 where none does.

    getpass.getuser() takes a variable or the account, and raises an exception if there is neither. Where a condition or a ``try`` stands
    above it, or the module also takes a place from a variable that is set, nothing follows.
    """
    for function in (n for n in nodes_of(text) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)):
        for statement in function.body:
            if (
                isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr)
                and statement.value is not None
            ):
                for node in ast.walk(statement.value):
                    if isinstance(node, ast.Call) and last_name(node.func) == "getuser" and not node.args:
                        return node.lineno
    return 0


def cached_function(text: str) -> int:
    """Return the line of the first function that is decorated with ``cache=True`` as its module is imported; 0 for none."""
    for function in (n for n in statements_of(text) if isinstance(n, ast.FunctionDef)):
        for decorator in function.decorator_list:
            if not isinstance(decorator, ast.Call) or last_name(decorator.func) not in COMPILERS:
                continue
            if constant(argument(decorator, "cache")):
                return decorator.lineno
    return 0


def variables_of(text: str) -> frozenset[str]:
    """Return the names of variables that a module's text reads."""
    return frozenset(re.findall(r"(?:environ(?:\.get)?|getenv)\s*[\[(]\s*[\"']([A-Za-z_]\w*)[\"']", text))
