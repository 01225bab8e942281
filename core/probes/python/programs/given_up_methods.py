"""Methods that the installed release's objects no longer have, where a program makes the object itself: ``pandas.DataFrame().append``.

What the class of an object is, its text tells only where the program calls the class, or a function of the table that returns one. Statements
in conditions, in ``try``, where errors are suppressed, and in functions that nothing calls are left out; a loop is taken to run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from core.common.syntax_tree import chain_of, is_main, statements_of
from core.knowledge.modules import given_up
from core.probes.python.following.callees import sure_calls
from core.probes.python.text.evaluation import swallows_errors
from core.probes.python.text.module_text import imports_at_the_margin, modules_bound


def method_given_up(text: str, gone: frozenset[str]) -> tuple[str, str, int] | None:
    """Return class, method and line of the first call of a method that is among the names given up (``names_given_up``); None for none."""
    classes: dict[str, set[str]] = {}
    for name in gone:
        its, _dot, method = name.rpartition(".")
        made = its.rpartition(".")[2]
        if (
            made[:1].isupper() and f".{method}(" in text and not re.search(rf"\b{made}\.{method}[ \t]*=", text)
        ):  # put back by the program
            classes.setdefault(its, set()).add(method)
    if not classes:
        return None
    bound: dict[str, str] = {}
    for step in imports_at_the_margin(text, 0):
        bound |= modules_bound(step, "")
    return next(_Reading(text, classes, bound).uses(statements_of(text), {}), None)


class _Reading:
    """One program."""

    def __init__(self, text: str, classes: Mapping[str, set[str]], bound: Mapping[str, str]) -> None:
        self._text, self._classes, self._bound = text, classes, bound

    def uses(self, body: Sequence[ast.stmt], objects: dict[str, str]) -> Iterator[tuple[str, str, int]]:
        """Yield the calls in statements; ``objects``: name -> class of what it stands for, which the statements change."""
        for one in body:
            match one:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    taken = {a.arg for a in ast.walk(one.args) if isinstance(a, ast.arg)}
                    self._forget(one, objects)
                    if not one.decorator_list and re.search(rf"(?<!def )\b{one.name}[ \t]*\(", self._text):
                        yield from self.uses(one.body, {n: c for n, c in objects.items() if n not in taken})
                case ast.If(test=test, body=inner) if is_main(test):
                    yield from self.uses(inner, objects)
                case ast.ClassDef() | ast.Try() | ast.If():
                    self._forget(one, objects)
                case ast.With():
                    yield from self._inside(one, objects)
                case ast.For(iter=head, target=target, body=inner):
                    yield from self._calls_in(head, objects)
                    self._forget(target, objects)
                    yield from self.uses(inner, objects)
                case ast.While(body=inner):
                    yield from self.uses(inner, objects)
                case _:
                    yield from self._calls_in(one, objects)
                    self._forget(one, objects)
                    match one:
                        case ast.Assign(targets=[ast.Name(id=name)], value=value) if its := self._made(value):
                            objects[name] = its

    def _inside(self, node: ast.With, objects: dict[str, str]) -> Iterator[tuple[str, str, int]]:
        """Yield the calls of a with statement; none where it may stop an error."""
        if swallows_errors(node):
            self._forget(node, objects)
            return
        for item in node.items:
            yield from self._calls_in(item.context_expr, objects)
            self._forget(item, objects)
        yield from self.uses(node.body, objects)

    def _calls_in(self, node: ast.AST, objects: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
        for call in sure_calls(node, lambda _test: None):
            match call.func:
                case ast.Attribute(value=ast.Name(id=name), attr=method) if method in self._classes.get(
                    objects.get(name, ""), ()
                ):
                    yield objects[name], method, call.lineno
                case ast.Attribute(value=ast.Call() as inner, attr=method) if method in self._classes.get(
                    self._made(inner), ()
                ):
                    yield self._made(inner), method, call.lineno

    def _made(self, node: ast.expr) -> str:
        """Return the class of what an expression makes; empty where that is not known."""
        chain = chain_of(node.func) if isinstance(node, ast.Call) else ()
        if not chain or chain[0] not in self._bound:
            return ""
        dotted = ".".join((self._bound[chain[0]], *chain[1:]))
        return next(
            (its for its, methods in self._classes.items() if dotted == its or _returns(its, methods, dotted)), ""
        )

    @staticmethod
    def _forget(node: ast.AST, objects: dict[str, str]) -> None:
        """Take away what a statement may bind anew; of a function, what it calls global."""
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Global):
                for name in inner.names:
                    objects.pop(name, None)
            elif not is_function and isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store | ast.Del):
                objects.pop(inner.id, None)


def _returns(its: str, methods: set[str], dotted: str) -> bool:
    """Whether the table says that a function returns an object of a class."""
    rows = (given_up(f"{its}.{method}") for method in methods)
    return any(row is not None and row.made_by and re.fullmatch(row.made_by, dotted) for row in rows)
