"""Whether a function hands on the keywords that it gets in its ``**`` parameter: a decorator, to the function that it stands for. One that
returns the function itself does.

Source: https://docs.python.org/3/reference/compound_stmts.html#function-definitions.
"""

from __future__ import annotations

import ast
from collections.abc import Container

from core.common.syntax_tree import chain_of, walk
from core.probes.python.text.evaluation import swallows_errors


def hands_on(maker: ast.FunctionDef | ast.ClassDef, *, called: bool, places: bool = False) -> bool:
    """Whether what a decorator puts in a function's place gives this all keywords that it gets, whatever else it does.

    ``called``: the decorator is what a call of ``maker`` returns. ``places``: and all that it gets by place, as it is.
    """
    if gives_back(maker, called=called) or isinstance(maker, ast.ClassDef):
        return gives_back(maker, called=called)
    its = _made_by(maker)
    if its is None:
        return False
    if called:
        return hands_on(its, called=False, places=places)
    if not maker.args.args or its.args.kwarg is None:
        return False
    wrapped, words = maker.args.args[0].arg, its.args.kwarg.arg
    calls = [n for n in walk(its) if isinstance(n, ast.Call) and chain_of(n.func) == (wrapped,)]
    ends = its.body[-1]
    while isinstance(ends, ast.Try) or (isinstance(ends, ast.With) and not swallows_errors(ends)):
        ends = ends.body[-1]
    return (
        isinstance(ends, ast.Return)
        and ends.value in calls
        and not (places and any(not _gives_all_places(c, its) for c in calls))
        and all(any(w.arg is None and chain_of(w.value) == (words,) for w in c.keywords) for c in calls)
        and not takes_out(its, words, but_adds=True)
        and all(isinstance(h.body[-1], ast.Raise) for n in walk(its) if isinstance(n, ast.Try) for h in n.handlers)
    )


def gives_back(maker: ast.FunctionDef | ast.ClassDef, *, called: bool) -> bool:
    """Whether a decorator returns the function, or the class, that it gets: it changes its docstring, or notes it, and gives
    it nothing whose name is computed.

    ``called``: the decorator is what a call of ``maker`` returns.
    """
    if called:
        its = _made_by(maker)
        return its is not None and gives_back(its, called=False)
    if isinstance(maker, ast.ClassDef):
        return False
    names = [a.arg for a in maker.args.args if a.arg != "self"]
    returns = [n.value for n in walk(maker) if isinstance(n, ast.Return)]
    stored = {n.id for n in walk(maker) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return (
        len(names) == 1
        and names[0] not in stored
        and isinstance(maker.body[-1], ast.Return)
        and all(chain_of(value) == (names[0],) for value in returns)
        and not any(isinstance(n, ast.Call) and chain_of(n.func) == ("setattr",) for n in walk(maker))
    )


def _made_by(maker: ast.FunctionDef | ast.ClassDef) -> ast.FunctionDef | None:
    """Return the function that a call of another one returns: the one in it that it names, or the only one; of a class, ``__call__``."""
    inner = [n for n in maker.body if isinstance(n, ast.FunctionDef)]
    ends = maker.body[-1]
    named = chain_of(ends.value) if isinstance(ends, ast.Return) else ()
    wanted = named if isinstance(maker, ast.FunctionDef) else ("__call__",)
    found = [n for n in inner if (n.name,) == wanted]
    return found[0] if len(found) == 1 else inner[0] if len(inner) == 1 and isinstance(maker, ast.FunctionDef) else None


def _gives_all_places(call: ast.Call, by: ast.FunctionDef) -> bool:
    """Whether a call gives what a function gets by place, and nothing else."""
    match call.args:
        case [*first, ast.Starred(value=ast.Name(id=rest))] if by.args.vararg is not None:
            names = [a.arg for a in (*by.args.posonlyargs, *by.args.args)]
            return rest == by.args.vararg.arg and [chain_of(a) for a in first] == [(n,) for n in names]
    return False


def taken_out(node: ast.FunctionDef, name: str) -> frozenset[str] | None:
    """Return the keywords that a function takes out of what its ``**`` parameter got by spelling them; None where it may take out others."""
    spelt = {
        n.func.value: n.args[0].value
        for n in walk(node)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and chain_of(n.func) == (name, "pop")
        and n.args
        and isinstance(n.args[0], ast.Constant)
        and isinstance(n.args[0].value, str)
    }
    return None if takes_out(node, name, spelt=spelt) else frozenset(spelt.values())


def takes_out(node: ast.FunctionDef, name: str, *, but_adds: bool = False, spelt: Container[ast.expr] = ()) -> bool:
    """Whether a function may take something out of what its ``**`` parameter got, or put another in its place.

    ``spelt``: where it takes out what it spells. ``but_adds``: a new value that is made of all that it has (``dict(list(more.items()) + list(kwargs.items()))``) is none.
    """
    kept = {id(n) for top in walk(node) if but_adds and _adds(top, name) for n in walk(top)}
    for n in walk(node):
        match n:
            case ast.Name(id=its, ctx=ast.Store() | ast.Del()) if its == name and id(n) not in kept:
                return True
            case ast.Subscript(value=ast.Name(id=its), ctx=ast.Del()) if its == name:
                return True
            case ast.Attribute(value=ast.Name(id=its) as place, attr="pop" | "popitem" | "clear") if (
                its == name and place not in spelt
            ):
                return True
            case ast.Call(args=several) if any(isinstance(a, ast.Name) and a.id == name for a in several):
                return True  # another function may
    return False


def _adds(node: ast.AST, name: str) -> bool:
    """Whether a statement gives a name a value with all that it has, and perhaps more."""
    match node:
        case ast.Assign(targets=[ast.Name(id=its)], value=ast.Call(func=ast.Name(id="dict")) | ast.Dict() as value) if (
            its == name
        ):
            whole = any(chain_of(n) == (name, "items") for n in walk(value) if isinstance(n, ast.Attribute))
            spread = isinstance(value, ast.Dict) and any(
                k is None and chain_of(v) == (name,) for k, v in zip(value.keys, value.values, strict=True)
            )
            return (whole or spread) and not any(isinstance(n, ast.comprehension | ast.IfExp) for n in walk(value))
    return False
