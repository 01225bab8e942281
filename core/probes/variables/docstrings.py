"""Code that takes a docstring for granted: ``python -OO`` and PYTHONOPTIMIZE=2 leave all of them out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from core.common.syntax_tree import statements_of
from core.model.facts import Frozen

TEXT_FUNCTIONS = ("dedent", "cleandoc", "indent")
"""Functions that take a text and no None."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class DocUse(Frozen, frozen=True):
    """A line that fails without a docstring."""

    line: int
    decorator: str = ""
    """The function of the module's top level that has it, which fails for what it decorates; empty where the line runs as
    the module is imported."""


def uses_of_docstrings(text: str) -> Iterator[DocUse]:
    """Yield the lines of a module that need the docstring of what is written in Python: of a function's own parameter, or, at the
    margin, of a class or function of the module. Where a condition or a ``try`` asks first, nothing is concluded.
    """
    if "__doc__" not in text:
        return
    body = statements_of(text)
    documented = {n.name for n in body if isinstance(n, Function | ast.ClassDef) and ast.get_docstring(n, clean=False)}
    for statement in body:
        if isinstance(statement, Function):
            if line := _line_in(statement, frozenset()):
                yield DocUse(line, statement.name)
        elif isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr) and (
            line := _first_use([statement], frozenset(documented))
        ):
            yield DocUse(line)


def _line_in(function: Function, above: frozenset[str]) -> int:
    """Return the first such line of a function, or of one that it contains."""
    own = function.args
    names = above | {a.arg for a in (*own.posonlyargs, *own.args, *own.kwonlyargs)}
    inner = [n for n in function.body if isinstance(n, Function)]
    plain = [n for n in function.body if not isinstance(n, Function)]
    if line := _first_use(plain, names):
        return line
    return next((line for n in inner if (line := _line_in(n, names))), 0)


def _first_use(body: list[ast.stmt], names: frozenset[str]) -> int:
    """Return the line at which statements fail if none of these names has a docstring; 0 where none does so for certain."""
    held: set[str] = set()
    for statement in body:
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return):
            # a condition, a loop or a ``try``: what stands behind one that asks for it is left open
            if any(_is_doc(n, names, held) for n in ast.walk(statement)):
                return 0
            continue
        if isinstance(statement, ast.AugAssign) and _is_doc(statement.target, names, held):
            return statement.lineno
        if _asks(statement, names, held):
            return 0
        if line := _fails(statement, names, held):
            return line
        if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
            held.discard(target.id)
            if _is_doc(statement.value, names, held):
                held.add(target.id)
    return 0


def _asks(statement: ast.stmt, names: frozenset[str], held: set[str]) -> bool:
    """Whether a statement decides by the docstring, as ``text or ""`` does."""
    asking = (n for n in ast.walk(statement) if isinstance(n, ast.BoolOp | ast.IfExp | ast.Lambda | ast.comprehension))
    return any(_is_doc(n, names, held) for one in asking for n in ast.walk(one))


def _fails(statement: ast.stmt, names: frozenset[str], held: set[str]) -> int:
    for node in ast.walk(statement):
        match node:
            case ast.Attribute(value=value, attr=attr) if attr != "__doc__" and _is_doc(value, names, held):
                return node.lineno
            case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right) if _is_doc(left, names, held) or (
                isinstance(node.op, ast.Add) and _is_doc(right, names, held)
            ):
                return node.lineno
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]) if (
                name in TEXT_FUNCTIONS and _is_doc(first, names, held)
            ):
                return node.lineno
    return 0


def _is_doc(node: ast.AST, names: frozenset[str], held: set[str]) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="__doc__"):
            return name in names
        case ast.Name(id=name):
            return name in held
    return False
