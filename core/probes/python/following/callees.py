"""What a call of an installed package comes to: a function, its class, and the module in whose text both stand; what is given to it.

Source: https://docs.python.org/3/reference/expressions.html#calls.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from core.common.syntax_tree import children
from core.probes.python.text.evaluation import UNKNOWN


class Scope(NamedTuple):
    """What the names at the top of a module's text stand for."""

    dotted: str
    path: str
    package: str
    text: str
    modules: dict[str, str]
    """Name -> the module, or the name of a module, that it was imported from."""
    values: dict[str, object]
    sources: dict[str, str]
    """Name whose value says that a module is not installed -> this module."""
    definitions: dict[str, ast.FunctionDef | ast.ClassDef]
    stars: list[str]
    """Modules whose names it takes by ``import *``."""


class Class(NamedTuple):
    """A class, and the module whose names it uses."""

    scope: Scope
    node: ast.ClassDef
    is_base: bool = False
    """Whether the object may be of a class below it: a function says that it returns one."""
    others: tuple[Class, ...] = ()
    """What else the object may be of: a function says that it returns one of several."""


class Object(NamedTuple):
    """What is known of an object."""

    its: Class | None
    by: str = ""
    """The full name of what was called for it: "pandas.read_csv", "pandas.read_csv.dropna"."""


class Callee(NamedTuple):
    """What a call runs."""

    scope: Scope
    node: ast.FunctionDef
    name: str
    """As its caller imports it: "torch.optim.SGD"."""
    of: Class | None = None
    """The class whose object it makes, or whose method it is."""
    owner: Class | None = None
    """The class that defines it: the same, or a base."""
    is_bound: bool = False
    """Whether its first parameter is filled already."""
    fields: tuple[str, ...] = ()
    """What a data class takes, in place of the function's parameters."""


def names_of(its: Callee) -> tuple[str, ...]:
    """Return the names under which something else may be put in a function's place: of itself, and of its class."""
    if its.owner is None:
        return (its.node.name,)
    classes = {c.node.name for c in (its.of, its.owner) if c}
    return (*classes, *(f"{name}.{its.node.name}" for name in classes))


def parameters(its: Callee) -> frozenset[str] | None:
    """Return the keywords that a function takes; None where it takes any."""
    if its.fields:
        return frozenset(its.fields)
    given = its.node.args
    return None if given.kwarg else frozenset(a.arg for a in (*given.args, *given.kwonlyargs))


def too_many_places(its: Callee, call: ast.Call) -> int:
    """Return how many arguments a call gives by place, if the function takes fewer; 0 where it takes them, or where that is open."""
    args = its.node.args
    if its.fields or args.vararg or any(isinstance(a, ast.Starred) for a in call.args):
        return 0
    most = len(args.posonlyargs) + len(args.args) - its.is_bound
    return len(call.args) if len(call.args) > most else 0


def lacking_argument(its: Callee, call: ast.Call) -> str:
    """Return the first argument that a function must be given, and that a call does not give; empty where it gives all, or where that is open."""
    args = its.node.args
    if its.fields or any(isinstance(a, ast.Starred) for a in call.args) or any(w.arg is None for w in call.keywords):
        return ""
    places = [a.arg for a in (*args.posonlyargs, *args.args)]
    needed = places[len(call.args) + its.is_bound : len(places) - len(args.defaults)]
    needed += [a.arg for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    return next((name for name in needed if name not in {w.arg for w in call.keywords}), "")


def given_values(its: Callee, call: ast.Call, value: Callable[[ast.expr], object]) -> dict[str, object]:
    """Return the parameters whose value a call decides, or their default; ``value``: of an expression at the call."""
    args = its.node.args
    names = [a.arg for a in (*args.posonlyargs, *args.args)][1 if its.is_bound else 0 :]
    if its.fields or any(isinstance(a, ast.Starred) for a in call.args) or any(w.arg is None for w in call.keywords):
        return {}
    found: dict[str, object] = {}
    for name, default in (
        *zip(reversed(names), reversed(args.defaults), strict=False),
        *((a.arg, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None),
    ):
        if isinstance(default, ast.Constant):
            found[name] = default.value
    given = {**dict(zip(names, call.args, strict=False)), **{w.arg: w.value for w in call.keywords if w.arg}}
    for name, node in given.items():
        found[name] = value(node)
    return {name: its for name, its in found.items() if its is not UNKNOWN}


def sure_calls(node: ast.AST | None, judge: Callable[[ast.expr], bool | None]) -> Iterator[ast.Call]:
    """Yield each call that evaluating an expression surely makes, in order; ``judge``: the truth of a condition, if it is known."""
    match node:
        case None | ast.Constant() | ast.Name() | ast.Lambda():
            return
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from sure_calls(node.generators[0].iter, judge)
        case ast.IfExp(test=test, body=body, orelse=other):
            yield from sure_calls(test, judge)
            if (its := judge(test)) is not None:
                yield from sure_calls(body if its else other, judge)
        case ast.BoolOp(op=op, values=several):
            for one in several:
                yield from sure_calls(one, judge)
                if judge(one) is not isinstance(op, ast.And):
                    return
        case ast.Compare(left=left, comparators=several):
            yield from sure_calls(left, judge)
            yield from sure_calls(several[0], judge)
        case ast.Call():
            for part in children(node):
                yield from sure_calls(part, judge)
            yield node
        case _:
            for part in children(node):
                yield from sure_calls(part, judge)
