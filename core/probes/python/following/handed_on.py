"""Whether a function hands on the keywords that it gets in its ``**`` parameter: a decorator, to the function that it stands for.

Source: https://docs.python.org/3/reference/compound_stmts.html#function-definitions.
"""

from __future__ import annotations

import ast

from core.common.syntax_tree import chain_of, walk


def hands_on(maker: ast.FunctionDef, *, called: bool) -> bool:
    """Whether what a decorator puts in a function's place gives this all keywords that it gets, whatever else it does.

    ``called``: the decorator is what a call of ``maker`` returns.
    """
    inner = [n for n in maker.body if isinstance(n, ast.FunctionDef)]
    if len(inner) != 1:
        return False
    if called:
        return hands_on(inner[0], called=False)
    (its,) = inner
    if not maker.args.args or its.args.kwarg is None:
        return False
    wrapped, words = maker.args.args[0].arg, its.args.kwarg.arg
    calls = [n for n in walk(its) if isinstance(n, ast.Call) and chain_of(n.func) == (wrapped,)]
    ends = its.body[-1].body[-1] if isinstance(its.body[-1], ast.Try) else its.body[-1]
    return (
        isinstance(ends, ast.Return)
        and ends.value in calls
        and all(any(w.arg is None and chain_of(w.value) == (words,) for w in c.keywords) for c in calls)
        and not takes_out(its, words, but_adds=True)
        and all(isinstance(h.body[-1], ast.Raise) for n in walk(its) if isinstance(n, ast.Try) for h in n.handlers)
    )


def takes_out(node: ast.FunctionDef, name: str, *, but_adds: bool = False) -> bool:
    """Whether a function may take something out of what its ``**`` parameter got, or put another in its place.

    ``but_adds``: a new value that is made of all that it has (``dict(list(more.items()) + list(kwargs.items()))``) is none.
    """
    kept = {id(n) for top in walk(node) if but_adds and _adds(top, name) for n in walk(top)}
    for n in walk(node):
        match n:
            case ast.Name(id=its, ctx=ast.Store() | ast.Del()) if its == name and id(n) not in kept:
                return True
            case ast.Subscript(value=ast.Name(id=its), ctx=ast.Del()) if its == name:
                return True
            case ast.Attribute(value=ast.Name(id=its), attr="pop" | "popitem" | "clear") if its == name:
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
