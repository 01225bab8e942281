"""Which function of an installed package a call comes to, found in the text: through imports, star imports, classes and their bases.

Where the text leaves it open - an unknown decorator, a metaclass, a base that is compiled - nothing is found.

Source: https://docs.python.org/3/reference/expressions.html#calls and datamodel.html, "Customizing class creation".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from core.common.syntax_tree import chain_of, children, literal_text, uncalled, walk
from core.probes.python.following.callees import Class, Scope
from core.probes.python.text.bound_names import stored_names

PLAIN_METACLASSES = frozenset(("ABCMeta", "ComponentMeta", "BlocksMeta"))
"""Metaclasses that let a class take the keywords of its ``__init__``; the last two are Gradio's, which add the listeners of its events."""


def alternatives(says: ast.expr | None) -> Iterator[ast.expr]:
    """Yield what an annotation names, each of several: ``DataFrame | TextFileReader``; without None."""
    match says:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            yield from (*alternatives(left), *alternatives(right))
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            yield inner
        case ast.expr() if not (isinstance(says, ast.Constant) and says.value is None):
            yield says


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it, functions and classes apart."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    yield node
    for part in children(node):
        yield from own_nodes(part)


def is_data_class(node: ast.ClassDef, scope: Scope) -> bool:
    """Whether a class is made by the standard library's ``dataclass``; pydantic's ignores keywords that it does not know."""
    chains = [chain_of(uncalled(d)) for d in node.decorator_list]
    full = (".".join((scope.modules.get(c[0], ""), *c[1:])) for c in chains if c)
    return "dataclasses.dataclass" in full


def decorators_of(node: ast.FunctionDef | ast.ClassDef) -> frozenset[str]:
    """Return the last words of the decorators' names; "?" for one that has no name."""
    chains = (chain_of(uncalled(d)) for d in node.decorator_list)
    return frozenset(c[-1] if c else "?" for c in chains)


def has_metaclass(node: ast.ClassDef) -> bool:
    """Whether a class names a metaclass that may do anything."""
    named = (chain_of(w.value)[-1:] for w in node.keywords if w.arg == "metaclass")
    return any(not its or its[0] not in PLAIN_METACLASSES for its in named)


def may_set(its: Class, name: str) -> bool:
    """Whether a class gives its objects something of their own in the place of a method."""
    spelt = f"self.{name} ="
    if spelt not in its.scope.text:
        return False
    return any(spelt in row for row in its.scope.text.splitlines()[its.node.lineno - 1 : its.node.end_lineno])


def method_of(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """Return the last definition of a method at the top of a class; overloads come before it."""
    found = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == name]
    return found[-1] if found else None


def names_of_objects(node: ast.AST) -> set[str]:
    """Return the names that a class gives its objects: those that its body binds, and those that its methods set."""
    body = node.body if isinstance(node, ast.ClassDef) else [n for n in [node] if isinstance(n, ast.stmt)]
    return stored_names(body) | {
        n.attr for n in walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    }


def may_get_more(its: Class, *, called: bool) -> bool:
    """Whether code beside a class, or in its body, may give it, or its objects, attributes whose names are computed."""
    lines = its.scope.text.splitlines()
    by_itself = method_of(its.node, "__init_subclass__")
    apart = range(by_itself.lineno - 1, by_itself.end_lineno or 0) if by_itself else ()
    inside = (n for n in range(its.node.lineno - 1, its.node.end_lineno or 0) if n not in apart)
    by_object = "" if called else r"\bsetattr\(\s*self\b|\bself\.__dict__\b|"
    sets = by_object + r"\bsetattr\(\s*cls\b|\b(?:locals|vars)\(\)\[|\bexec\("
    return bool(
        re.search(sets, "\n".join(lines[n] for n in inside))
        or re.search(rf"\bsetattr\(\s*{its.node.name}\b", its.scope.text)
    )


def may_give(maker: ast.FunctionDef | None, name: str) -> bool:
    """Whether what Python calls for each class below another may set an attribute of this name: ``setattr(cls, f"set_{x}_request", ...)``."""
    for n in walk(maker) if maker else ():
        match n:
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.JoinedStr(values=parts), _]):
                spelt = (re.escape(text) if (text := literal_text(p)) is not None else ".*" for p in parts)
                if re.fullmatch("".join(spelt), name):
                    return True
            case ast.Call(func=ast.Name(id="setattr")):
                return True
            case ast.Attribute(attr=given, ctx=ast.Store()) if given == name:
                return True
    return False


def makes_objects(node: ast.ClassDef) -> bool:
    """Whether a class has a ``__new__`` of its own."""
    return any("__new__" in stored_names([n]) for n in node.body)
