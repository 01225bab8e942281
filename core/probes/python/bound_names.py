"""The names that an imported module has, read from its text alone: bound at the top level, starred, or served by
``__getattr__``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import chain_of, children, last_name, parsed, statements_of, walk
from core.probes.python.module_getattr import OwnGetattr, exported_names, own_getattr, put_into_globals

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


class Factory(NamedTuple):
    """A function that builds a module's ``__getattr__`` from tables that the module writes out as literals."""

    dots: int
    module: str
    """The module that it is imported from; empty if the module itself defines it."""
    name: str


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


class GetattrRule(NamedTuple):
    """Which names a ``__getattr__`` function serves."""

    by_table: bool
    """It serves only names that a table contains."""
    refuses_none: bool
    """It raises for a name whose table entry ends with None."""


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
    is_open, factory, rule = _makes_names(text) or "*" in bound or put is None, None, None
    function = None
    if "__getattr__" in bound:
        function = None if is_open else own_getattr(body)
        rule, factory = _getattr_rule(body)
        is_open |= rule is None and factory is None
    getattr_names: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    if rule is not None or factory is not None:
        quoted = {
            n.value for n in walk(ast.Module(body, [])) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        refused = frozenset(_keys_without_value(body)) if rule is None or rule.refuses_none else frozenset()
        getattr_names = frozenset(q for q in quoted if q.isidentifier())
        if rule is not None:
            getattr_names -= refused
    return BoundNames(
        frozenset(bound),
        tuple(stars),
        getattr_names,
        refused,
        factory,
        is_open,
        function,
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
    lines = text.split("\n")
    for node in gone if found else ():
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return found, "\n".join(lines)


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


def is_for_the_checker(test: ast.expr) -> bool:
    """Whether a condition is ``TYPE_CHECKING``."""
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


# --- names that __getattr__ serves ------------------------------------------------------------------------------------


def _getattr_rule(body: list[ast.stmt]) -> tuple[GetattrRule | None, Factory | None]:
    """Return which names a module's ``__getattr__`` serves, or the factory that built it; (None, None) if unknown."""
    tables = set(_tables(body))
    found: list[ast.AST] = []
    for node in _own_statements(body):
        match node:
            case ast.FunctionDef(name="__getattr__"):
                found.append(node)
            case ast.Assign(targets=targets, value=value) if any(
                isinstance(n, ast.Name) and n.id == "__getattr__" for t in targets for n in walk(t)
            ):
                found.append(value)
    if len(found) != 1:
        return None, None
    match found[0]:
        case ast.FunctionDef() as function:
            rule = _of_function(function, tables)
            return (rule if rule.by_table else None), None
        case ast.Call(func=ast.Name(id=name), args=args, keywords=words):
            if all(_is_literal(a, tables) for a in (*args, *(w.value for w in words))):
                return None, _imported(body, name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name), args=args, keywords=words):
            its = _imported(body, module)
            if its and not its.dots and all(_is_literal(a, tables) for a in (*args, *(w.value for w in words))):
                return None, Factory(0, its.name if not its.module else f"{its.module}.{its.name}", name)
    return None, None


def _own_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those in conditions, except the ones for type checkers only."""
    for node in body:
        yield node
        match node:
            case ast.If(test=test, body=first, orelse=second):
                yield from _own_statements(second if is_for_the_checker(test) else (*first, *second))
            case ast.Try(body=first, orelse=second, finalbody=last):
                yield from _own_statements((*first, *second, *last))


def _imported(body: list[ast.stmt], name: str) -> Factory | None:
    """Return the import that binds a name which the module calls."""
    for node in _own_statements(body):
        match node:
            case ast.FunctionDef(name=its) if its == name:
                return Factory(0, "", name)
            case ast.ImportFrom(module=module, level=dots, names=aliases):
                for one in aliases:
                    if (one.asname or one.name) == name:
                        return Factory(dots, module or "", one.name)
            case ast.Import(names=aliases):
                for one in aliases:
                    if (one.asname or one.name) == name:
                        return Factory(0, "", one.name)
    return None


def _tables(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names of lists, sets and dictionaries whose keys or members are all literals, and which no code
    extends.
    """
    count: dict[str, int] = {}
    spelt: set[str] = set()
    for node in _own_statements(body):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                count[name] = count.get(name, 0) + 1
                if _is_literal(value, spelt):
                    spelt.add(name)
            case ast.AugAssign(target=ast.Name(id=name)):
                count[name] = 2
            case ast.For() | ast.While() | ast.With():
                for n in walk(node):
                    if isinstance(n, ast.Name):
                        count[n.id] = 2
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                count[name] = 2  # extended by update, append and the like
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)]):
                if not isinstance(key, ast.Constant):
                    count[name] = 2
    yield from (name for name in spelt if count.get(name, 0) < 2)


def _is_literal(value: ast.expr, tables: set[str]) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in tables or name == "__name__"
        case ast.Dict(keys=keys):
            return all(isinstance(k, ast.Constant) for k in keys)
        case ast.List(elts=several) | ast.Set(elts=several) | ast.Tuple(elts=several):
            return all(_is_literal(one, tables) for one in several)
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple" | "list" | "dict"), args=args, keywords=[]):
            return all(_is_literal(one, tables) for one in args)
    return False


def _keys_without_value(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the keys of tables whose value is a tuple that ends with None."""
    for node in _own_statements(body):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                match key, value:
                    case ast.Constant(value=str(name)), ast.Tuple(elts=[*_others, ast.Constant(value=None)]):
                        yield name


def factory_getattr_rule(text: str, name: str) -> GetattrRule | None:
    """Return which names the ``__getattr__`` that a factory function returns serves; None if it returns none."""
    outer = next((n for n in statements_of(text) if isinstance(n, ast.FunctionDef) and n.name == name), None)
    inner = [n for n in outer.body if isinstance(n, ast.FunctionDef)] if outer else []
    its = [n for n in inner if "getattr" in n.name]
    if outer is None or len(its) != 1:
        return None
    own = {a.arg for a in (*outer.args.posonlyargs, *outer.args.args, *outer.args.kwonlyargs)}
    own |= {n.id for s in outer.body for n in walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return _of_function(its[0], own)


def _of_function(function: ast.FunctionDef, tables: set[str]) -> GetattrRule:
    arguments = function.args.args
    if len(arguments) != 1:
        return GetattrRule(by_table=False, refuses_none=False)
    refuses = any(
        isinstance(n, ast.If)
        and isinstance(n.test, ast.Compare)
        and isinstance(n.test.ops[0], ast.Is)
        and isinstance(n.test.comparators[0], ast.Constant)
        and n.test.comparators[0].value is None
        and ends_with_raise(n.body)
        for n in walk(function)
    )
    return GetattrRule(
        ends_with_raise(function.body) and _is_by_table(function.body, arguments[0].arg, tables), refuses_none=refuses
    )


def _is_by_table(body: Iterable[ast.stmt], name: str, tables: set[str]) -> bool:
    """Whether the statements look a name up only if a table contains it."""
    for node in body:
        match node:
            case ast.If(test=test, body=first, orelse=second):
                asked = _is_in_table(test, name, tables)
                if asked is False:
                    return ends_with_raise(first)  # The rest runs for names of the table only.
                if asked is None and not (
                    ends_with_raise(first) if _mentions(test, name) else _is_by_table(first, name, tables)
                ):
                    return False
                if not _is_by_table(second, name, tables):
                    return False
            case ast.For(target=target, iter=where, body=inner):
                over = {n.id for n in walk(where) if isinstance(n, ast.Name)}
                loop = {n.id for n in walk(target) if isinstance(n, ast.Name)}
                if not (over <= tables and _is_by_table(inner, name, tables | loop)):
                    return False
            case ast.Try(body=first, handlers=handlers, orelse=second, finalbody=last):
                inner = [*first, *(s for h in handlers for s in h.body), *second, *last]
                if not _is_by_table(inner, name, tables):
                    return False
            case ast.Raise():
                return True
            case ast.Return():
                return False  # It serves any name.
            case _ if _looks_up(node, name, tables):
                return False
    return True


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in walk(node))


def _is_in_table(test: ast.expr, name: str, tables: set[str]) -> bool | None:
    """Return True if the condition holds only for names of a table, False if only for other names, None if neither."""
    match test:
        case ast.Compare(left=ast.Name(id=its), ops=[op], comparators=[other]) if its == name:
            if isinstance(other, ast.Call) and isinstance(other.func, ast.Attribute) and other.func.attr == "keys":
                other = other.func.value
            if not _is_literal(other, tables):
                return None
            return isinstance(op, ast.In | ast.Eq) or (False if isinstance(op, ast.NotIn | ast.NotEq) else None)
        case ast.BoolOp(op=ast.And(), values=several):
            return True if any(_is_in_table(v, name, tables) is True for v in several) else None
        case ast.BoolOp(op=ast.Or(), values=several):
            return True if all(_is_in_table(v, name, tables) is True for v in several) else None
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            found = _is_in_table(inner, name, tables)
            return None if found is None else not found
    return None


def _looks_up(node: ast.AST, name: str, tables: set[str]) -> bool:
    """Whether a statement uses the name for more than an index into a table or the text of a message."""
    match node:
        case ast.JoinedStr():
            return False
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
            return False
        case ast.Subscript(value=ast.Name(id=table), slice=ast.Name(id=its)) if table in tables and its == name:
            return False
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format")):
            return False
        case ast.Name(id=its):
            return its == name
    return any(_looks_up(inner, name, tables) for inner in children(node))


def ends_with_raise(body: list[ast.stmt]) -> bool:
    """Whether a block raises on every path."""
    match body[-1] if body else None:
        case ast.Raise():
            return True
        case ast.If(body=first, orelse=second):
            return bool(second) and ends_with_raise(first) and ends_with_raise(second)
        case ast.With(body=inner):
            return ends_with_raise(inner)
    return False


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
    return bool(re.search(rf"""["']{name}["']""", text)) and bool(_SETS_BY_NAME.search(text))


_TARGET = late_pattern(r"[ \t]*[\w.]+")
_SETS_BY_NAME = late_pattern(
    r"\bsetattr\(\s*(?!self\b|cls\b|[A-Z]\w*[a-z]\w*,)|(?<!self)(?<!cls)(?<!type\(self\))\.__dict__|\bvars\((?!self\b)"
)
"""Calls that set an attribute whose name is not on the same line, except on objects that are surely no modules."""


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
