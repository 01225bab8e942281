"""The names that an imported module has, read from its text alone: bound at the top level, starred, or served by ``__getattr__``."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import chain_of, children, is_for_the_checker, last_name, parsed, walk
from core.probes.python.text.module_getattr import (
    Factory,
    OwnGetattr,
    exported_names,
    keys_without_value,
    own_getattr,
    put_into_globals,
)

_MAKES_NAMES = late_pattern(
    r"(?m)\bmodules\[__name__\]|\bmodules\.get\(__name__|__path__"
    r"|\.__dict__(?:\.(?:update|setdefault)\(|\[[^\]\n]{0,200}\][ \t]*=(?!=))|\.__class__[ \t]*=(?!=)"
    r"|^@(?:\w+\.)?global_enum\b|\._convert_\("
    r"|\bsetattr\(\s*(?:sys\.|importlib\.|\w*mod(?:ule)?s?\b)"
)
"""How a module gets names that its text does not bind, globals() apart."""

_WAYS_TO_NAMES = ("modules[__name__]", "modules.get(__name__", "__path__", ".__dict__", ".__class__", "global_enum", "._convert_(", "setattr(")  # fmt: skip
"""One of which each of these contains: a plain search takes a hundredth of the time."""

_EXEC = late_pattern(r"\bexec\(")

_USES_GLOBALS = late_pattern(r"\b(?:globals|locals|vars)\(")


class BoundNames(NamedTuple):
    """What the text of a module says about its names."""

    bound: frozenset[str]
    """Names that a top-level statement binds, also one in a condition or a try."""
    stars: tuple[tuple[int, str], ...]
    """For each ``from ... import *``: the number of leading dots, and the module."""
    getattr_names: frozenset[str]
    """Names that ``__getattr__`` may serve: every quoted word of the module, except those that it refuses."""
    refused: frozenset[str]
    """Names whose table entry ends with None; a factory that raises for None does not serve them."""
    factory: Factory | None = None
    is_open: bool = False
    """The module may have any name."""
    getattr: OwnGetattr | None = None
    """Its __getattr__, where nothing else makes names that the text does not bind."""
    exported: frozenset[str] | None = None
    """What everything of it is, where __all__ is spelt out."""


_LIKELY = late_pattern(
    r"(?m)(?:\b(?:def|class|import|as)[ \t]+|^[ \t]*|[,(][ \t]*)([A-Za-z_]\w*)(?=[ \t]*(?:[(:=,)#\r\n]|$))"
)

_BEHIND_A_NAME = late_pattern(r"[ \t]*(?:[(:=,)#\r\n]|\Z)")

_KEYWORD = late_pattern(r"\b(?:def|class|import|as)\Z")


def likely_names(text: str) -> frozenset[str]:
    """Return every word that may be a bound name, without parsing: a superset of the real names."""
    return frozenset(_LIKELY.findall(text))


def may_bind(text: str, name: str) -> bool:
    """Whether ``name in likely_names(text)``: ten times as fast for one name, but not for a single letter, which occurs too often."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if _BEHIND_A_NAME.match(text, end):
            before = text[max(0, at - 80) : at].rstrip(" \t")
            if not before or before[-1] in "\n,(" or (text[at - 1] in " \t" and _KEYWORD.search(before)):
                return True
        at = text.find(name, end)
    return False


_WAYS_TO_OTHER_NAMES = (
    "__getattr__", "globals(", "locals(", "vars(", "exec(", "modules[", "modules.", "__path__", "__dict__", "__class__", "global_enum", "_convert_(", "setattr(",
)  # fmt: skip

_MATCH = late_pattern(r"(?m)^[ \t]*match[ \t]")


def spells_its_names(text: str) -> bool:
    """Whether a module has no name that its text does not spell, star imports apart; Python's parser takes a hundred times as long."""
    if any(way in text for way in _WAYS_TO_OTHER_NAMES):
        return False
    return "match" not in text or not _MATCH.search(text)


def read_names(text: str) -> BoundNames | None:
    """Return the names of a module, or None if its text cannot be parsed."""
    tree = parsed(text)
    if tree is None:
        return None
    body = tree.body
    bound: set[str] = set()
    stars: list[tuple[int, str]] = []
    _bind(body, bound, stars, deep="global " in text)
    if "exec(" in text and _EXEC.search(text):
        _bind_executed(body, bound, stars)
    put = put_into_globals(body) if _USES_GLOBALS.search(text) else frozenset[str]()
    bound |= put or set()
    if "setattr(" in text:
        members, text = _members_of_enumerations(body, text)
        bound |= members
    own, factory = own_getattr(body) if "__getattr__" in bound else (None, None)
    if own and own.serves_spelt_names_only:
        text = "\n".join(
            _without_lines(text.split("\n"), [own.function])
        )  # it may name its module, to say what it lacks
    quoted, refused = frozenset[str](), frozenset[str]()
    is_open = _makes_names(text) or "*" in bound or put is None
    own, factory = (None, None) if is_open else (own, factory)
    if "__getattr__" in bound and not is_open:
        is_open = factory is None and (own is None or not own.serves_spelt_names_only)
    if not is_open and (own or factory):
        words = (n.value for n in walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        quoted = frozenset(w for w in words if w.isidentifier())
        refused = keys_without_value(body) if own is None or own.refuses_none else refused
        quoted -= refused if own else frozenset()
    return BoundNames(
        frozenset(bound),
        tuple(stars),
        quoted,
        refused,
        factory,
        is_open,
        own,
        exported_names(body, in_functions="global " in text) if "__all__" in bound else None,
    )


def _makes_names(text: str) -> bool:
    """Whether a module gets names that its text does not bind, globals() apart."""
    return any(way in text for way in _WAYS_TO_NAMES) and _MAKES_NAMES.search(text) is not None


def _members_of_enumerations(body: list[ast.stmt], text: str) -> tuple[set[str], str]:
    """Return the names that a module gives itself, one for each member of enumerations of its own, and its text without the lines that do.

    So does PIL/Image.py: ``for enum in (Resampling, Dither): for item in enum: setattr(module, item.name, item.value)``.
    """
    enumerations = {n.name: stored_names(n.body) for n in body if isinstance(n, ast.ClassDef) and _is_enumeration(n)}
    itself = [n for n in body if isinstance(n, ast.Assign) and _is_this_module(n.value)]
    names = {t.id for n in itself for t in n.targets if isinstance(t, ast.Name)}
    found: set[str] = set()
    gone: list[ast.stmt] = [*itself] if enumerations else []
    for node in body if enumerations else ():
        its = _enumerations_handed_out(node, names)
        if its and its <= set(enumerations):
            found.update(*(enumerations[name] for name in its))
            gone.append(node)
    return found, "\n".join(_without_lines(text.split("\n"), gone if found else []))


def _without_lines(lines: list[str], gone: Iterable[ast.stmt]) -> list[str]:
    """Return the lines of a text, empty where these statements stand."""
    for node in gone:
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return lines


def _is_this_module(node: ast.expr, names: Collection[str] = ()) -> bool:
    """Whether an expression is ``sys.modules[__name__]``, or one of the names for it."""
    match node:
        case ast.Subscript(value=place, slice=ast.Name(id="__name__")):
            return chain_of(place) == ("sys", "modules")
    return isinstance(node, ast.Name) and node.id in names


def _is_enumeration(node: ast.ClassDef) -> bool:
    bases = set(map(last_name, node.bases))
    return bool(bases) and bases <= {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}


def _enumerations_handed_out(node: ast.stmt, itself: set[str]) -> set[str]:
    """Return the names of the enumerations whose members a loop gives to the module as names of its own; empty for anything else."""
    match node:
        case ast.For(
            target=ast.Name(id=each), iter=ast.Tuple(elts=several) | ast.List(elts=several), body=[ast.For() as inner]
        ):
            its = {one.id for one in several if isinstance(one, ast.Name)}
            return its if len(its) == len(several) and _enumerations_handed_out(inner, itself) == {each} else set()
        case ast.For(
            target=ast.Name(id=member),
            iter=ast.Name(id=one),
            body=[ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[to, ast.Attribute(value=ast.Name(id=named), attr="name"), _]))],
        ) if named == member and _is_this_module(to, itself):  # fmt: skip
            return {one}
    return set()


def stored_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name that the statements bind, except those bound inside functions and classes."""
    bound: set[str] = set()
    _bind(nodes, bound, [], deep=False)
    return bound


def _bind(nodes: Iterable[ast.AST], bound: set[str], stars: list[tuple[int, str]], *, deep: bool) -> None:
    todo = list(nodes)
    while todo:
        node = todo.pop()
        match node:
            case ast.FunctionDef(name=its) | ast.AsyncFunctionDef(name=its) | ast.ClassDef(name=its):
                bound.add(its)
                if deep:
                    _bind_globals(node, bound)
                continue  # Names bound inside are local.
            case ast.Name(id=its, ctx=ast.Store() | ast.Del()):
                bound.add(its)
            case ast.ImportFrom(module=module, level=dots, names=[ast.alias(name="*")]):
                stars.append((dots, module or ""))
                continue
            case ast.alias(name=its, asname=other):
                bound.add(other or its.partition(".")[0])
            case ast.ExceptHandler(name=str(its)):
                bound.add(its)
            case ast.MatchAs() | ast.MatchStar() | ast.MatchMapping():
                bound.add("*")
            case ast.If(test=test) if is_for_the_checker(test):
                todo.extend(node.orelse)
                continue
            case ast.Lambda():
                continue
        todo.extend(children(node))


def _bind_executed(body: list[ast.stmt], bound: set[str], stars: list[tuple[int, str]]) -> None:
    """Bind what ``exec`` of a text that is spelt out binds; any other text may bind any name, but in a function's own names."""
    whole = ast.Module(body, [])
    functions = (f for f in walk(whole) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))
    inner = {n for function in functions for n in walk(function)}
    for node in walk(whole):
        match node:
            case ast.Call(func=ast.Name(id="exec"), args=[_], keywords=[]) if node in inner:
                pass
            case ast.Call(func=ast.Name(id="exec"), args=[ast.Constant(value=str(text))], keywords=[]):
                try:
                    _bind(ast.parse(text).body, bound, stars, deep=True)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    bound.add("*")
            case ast.Call(func=ast.Name(id="exec")):
                bound.add("*")


def _bind_globals(function: ast.AST, bound: set[str]) -> None:
    for node in walk(function):
        if isinstance(node, ast.Global):
            bound.update(node.names)


# --- names that other modules set -------------------------------------------------------------------------------------


def _assigns(text: str, name: str) -> bool:
    """Whether a statement of a text assigns to an attribute of this name."""
    for found in re.finditer(rf"\.{name}[ \t]*=(?!=)", text):
        before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if _TARGET.fullmatch(before.rpartition("=")[2]):
            return True
    return False


def sets_attribute(text: str, name: str) -> bool:
    """Whether a text may set an attribute of this name on another module."""
    if name not in text:
        return False
    if _assigns(text, name):
        return True
    quoted = rf"""["']{name}["']"""
    return bool(re.search(quoted, text)) and bool(
        _SETS_BY_NAME.search(text) or re.search(rf"\bsetattr\([^()]+,\s*{quoted}", text)
    )


_TARGET = late_pattern(r"[ \t]*(?!(?:self|cls)\Z)[\w.]+")
_SPACE = r"(?:(?<!self)(?<!cls)(?<!type\(self\))\.__dict__|\bvars\((?!self\b)[^()\n]*\))"
_SETS_BY_NAME = late_pattern(
    r"\bsetattr\(\s*(?!self\b|cls\b|[A-Z]\w*[a-z]\w*,)(?![^,()\n]+,[ \t]*[\"'])"
    rf"|{_SPACE}(?:\.(?:update|setdefault|__setitem__)\b|\[[^\]\n]*\][ \t]*=(?!=))"
    rf"|(?m:=[ \t]*[\w.]*{_SPACE}[ \t]*(?:#|$)|^(?![^\n]*\bexec\()[^\n]*(?:(?<!\bdict)\(|,)[ \t]*[\w.]*{_SPACE}[ \t]*[,)])"
)
"""Calls that set an attribute whose name is not on the same line, or hand on what holds them, except of objects that are surely no modules.
What ``exec`` puts there no other text quotes.
"""


def puts_back(text: str, module: str, name: str) -> bool:
    """Whether a text may set an attribute of this name on this very module: by an assignment to any object's, or by a call that names
    the module.
    """
    if name not in text:
        return False
    if _assigns(text, name):
        return True
    others = re.findall(rf"\bimport[ \t]+{re.escape(module)}[ \t]+as[ \t]+(\w+)", text)
    its = "|".join(map(re.escape, (module, "mod", "module", *others)))
    return bool(re.search(rf"""["']{name}["']""", text)) and bool(
        re.search(rf"\b(?:setattr|vars)\([ \t\n]*(?:{its})\b|\b(?:{its})\.__dict__", text)
    )
