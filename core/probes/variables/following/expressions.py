"""Follows Python's expressions with the values of variables; nothing of the examined code runs."""

from __future__ import annotations

import ast
import builtins
import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from core.common.syntax_tree import chain_of
from core.probes.variables.following.values import (
    LIST_METHODS,
    MOST_PARTS,
    TEXT_METHODS,
    UNKNOWN,
    Around,
    CodeRaises,
    Elsewhere,
    Environ,
    Function,
    Kind,
    Module,
    Place,
    apply_function,
    apply_operator,
    call_path_method,
    call_standard,
    is_plain,
    module_attribute,
)

MOST_STEPS = 20_000
"""Statements and expressions after which a module is left."""
MOST_DEPTH = 14


class Left(Exception):  # noqa: N818 - control flow
    """A function returns ``value``, or may have returned."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class LoopEnd(Exception):  # noqa: N818 - control flow
    """break, which ``ends`` the loop, or continue."""

    def __init__(self, *, ends: bool) -> None:
        super().__init__()
        self.ends = ends


class Spent(Exception):  # noqa: N818 - control flow
    """The budget is used up."""


def dotted(node: ast.expr) -> str:
    """Return a name with dots, as a key of a scope: what code gave it counts from then on; empty for any other expression."""
    return ".".join(chain_of(node))


class Expressions:
    """What one module's expressions come to."""

    def __init__(self, around: Around) -> None:
        self.env = dict(around.env)
        self.around = msgspec.structs.replace(around, env=self.env)
        self.scope: dict[str, Any] = {}
        self.read: dict[str, None] = {}
        """Variables in the order in which they were read."""
        self.steps = self.calls = self.doubts = 0
        """doubts: results that are unknown; what was tried may have failed."""

    def block(self, body: Iterable[ast.stmt], scope: dict[str, Any]) -> None:
        """Follow statements in their order."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        """Give a target a value."""
        raise NotImplementedError

    def elsewhere(self, its: Elsewhere) -> Any:
        """Return the value of a name of another module."""
        raise NotImplementedError

    def step(self) -> None:
        """Count what was done.

        Raises:
            Spent: the budget is used up.
        """
        self.steps += 1
        if self.steps > MOST_STEPS or (self.steps % 256 == 0 and time.thread_time() > self.around.until):
            raise Spent

    def quiet(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        """Return the value of an expression; UNKNOWN where it ends with an exception."""
        try:
            return self.value(node, scope)
        except CodeRaises:
            return UNKNOWN

    def forget_variable(self, name: Any) -> None:
        """Let a variable be unknown, or all of them where it is not known which."""
        if isinstance(name, str):
            self.env[name] = UNKNOWN
        else:
            for each in self.env:
                self.env[each] = UNKNOWN

    def truth(self, test: ast.expr, scope: dict[str, Any]) -> bool | None:
        """Return whether a condition holds; None if unknown."""
        found = self.value(test, scope)
        if isinstance(found, Environ | Module | Place | Function | Kind):
            return True
        if found is UNKNOWN:
            return None
        return bool(found)

    def value(self, node: ast.expr | None, scope: dict[str, Any]) -> Any:
        """Return the value of an expression, or UNKNOWN.

        Raises:
            CodeRaises: it ends with an exception.
        """
        self.step()
        found = self._value(node, scope)
        if found is UNKNOWN:
            self.doubts += 1
        return found

    def _value(self, node: ast.expr | None, scope: dict[str, Any]) -> Any:  # noqa: C901, PLR0912 - one case for each expression
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                found = scope.get(name, self.scope.get(name, Module(name) if hasattr(builtins, name) else UNKNOWN))
                if isinstance(found, Elsewhere):
                    return self.elsewhere(found) if name.isupper() else UNKNOWN
                return found
            case ast.Attribute(value=inner, attr=attr):
                found = self._attribute(self.value(inner, scope), attr)
                return scope.get(dotted(node), UNKNOWN) if found is UNKNOWN else found
            case ast.JoinedStr(values=parts):
                rows = [
                    p.value
                    if isinstance(p, ast.Constant)
                    else self.value(p.value, scope)
                    if isinstance(p, ast.FormattedValue) and p.format_spec is None
                    else UNKNOWN
                    for p in parts
                ]
                return "".join(str(r) for r in rows) if all(is_plain(r) for r in rows) else UNKNOWN
            case ast.BoolOp(op=way, values=several):
                return self._bool(several, scope, stops=isinstance(way, ast.Or))
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                held = self.truth(inner, scope)
                return UNKNOWN if held is None else not held
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                its = self.value(inner, scope)
                return -its if isinstance(its, int | float) else UNKNOWN
            case ast.BinOp(left=left, op=way, right=right):
                one, other = self.value(left, scope), self.value(right, scope)
                if isinstance(one, Place) and isinstance(way, ast.Div):
                    return (
                        call_path_method(one, "joinpath", (other,), self.around) if isinstance(other, str) else UNKNOWN
                    )
                return apply_operator(one, way, other, node.lineno)
            case ast.Compare(left=left, ops=[way], comparators=[right]):
                return self._compare(self.value(left, scope), way, self.value(right, scope), node.lineno)
            case ast.IfExp(test=test, body=body, orelse=other):
                held = self.truth(test, scope)
                return UNKNOWN if held is None else self.value(body if held else other, scope)
            case ast.List(elts=several):
                return self._several(several, scope)
            case ast.Tuple(elts=several):
                rows = self._several(several, scope)
                return tuple(rows) if rows is not UNKNOWN else UNKNOWN
            case ast.Set(elts=several):
                rows = self._several(several, scope)
                return (
                    set(rows)
                    if rows is not UNKNOWN and all(isinstance(r, str | int | float | None) for r in rows)
                    else UNKNOWN
                )
            case ast.Dict(keys=keys, values=values):
                if None in keys:
                    return UNKNOWN
                named = [self.value(k, scope) for k in keys]
                theirs = [self.quiet(v, scope) for v in values]
                if not all(isinstance(k, str | int | float | None) for k in named):
                    return UNKNOWN
                return dict(zip(named, theirs, strict=True))
            case ast.Subscript(value=inner, slice=key):
                return self._part(self.value(inner, scope), key, scope, node.lineno)
            case ast.Call():
                return self._call(node, scope)
            case ast.NamedExpr(target=ast.Name(id=name), value=inner):
                scope[name] = self.value(inner, scope)
                return scope[name]
            case (
                ast.ListComp(elt=each, generators=[one])
                | ast.GeneratorExp(elt=each, generators=[one])
                | ast.SetComp(elt=each, generators=[one])
            ):
                return self._each(each, one, scope)
        return UNKNOWN

    def _bool(self, several: list[ast.expr], scope: dict[str, Any], *, stops: bool) -> Any:
        unknown, last = False, UNKNOWN
        for one in several:
            if unknown:
                return UNKNOWN
            last = self.value(one, scope)
            held = (
                None
                if last is UNKNOWN
                else True
                if isinstance(last, Environ | Module | Place | Function | Kind)
                else bool(last)
            )
            if held is stops:
                return last
            unknown = held is None
        return UNKNOWN if unknown else last

    def _compare(self, left: Any, way: ast.cmpop, right: Any, line: int) -> Any:
        if isinstance(right, Environ) and isinstance(way, ast.In | ast.NotIn):
            if not isinstance(left, str) or self.env.get(left) is UNKNOWN:
                return UNKNOWN
            self.read[left] = None
            return (left in self.env) is isinstance(way, ast.In)
        return apply_operator(left, way, right, line)

    def _several(self, several: list[ast.expr], scope: dict[str, Any]) -> Any:
        found = []
        for one in several:
            its = self.value(one.value if isinstance(one, ast.Starred) else one, scope)
            if isinstance(one, ast.Starred):
                if not isinstance(its, list | tuple | set | frozenset):
                    return UNKNOWN
                found += list(its)
            else:
                found.append(its)
            if len(found) > MOST_PARTS:
                return UNKNOWN
        return found

    def _each(self, each: ast.expr, one: ast.comprehension, scope: dict[str, Any]) -> Any:
        rows = self.value(one.iter, scope)
        if not isinstance(rows, list | tuple | str | set | frozenset) or len(rows) > 256:
            return UNKNOWN
        inner, found = dict(scope), []
        for row in rows:
            self.assign(one.target, row, inner)
            held = [self.truth(test, inner) for test in one.ifs]
            if None in held:
                return UNKNOWN
            if all(held):
                found.append(self.value(each, inner))
        return found

    def _attribute(self, value: Any, attr: str) -> Any:
        match value:
            case Module(name=name):
                return module_attribute(name, attr, self.around)
            case Kind() if attr in value.members:
                return value.members[attr]
            case Place(path=path) if attr in ("name", "suffix", "stem", "parent"):
                paths = self.around.where.path_module
                return (
                    Place(paths.dirname(path))
                    if attr == "parent"
                    else paths.basename(path)
                    if attr == "name"
                    else UNKNOWN
                )
        if hasattr(value, "_fields") and attr in (
            "scheme",
            "netloc",
            "path",
            "query",
            "fragment",
            "hostname",
            "username",
        ):
            return getattr(value, attr)
        return UNKNOWN

    def _part(self, value: Any, key: ast.expr, scope: dict[str, Any], line: int) -> Any:
        if isinstance(key, ast.Slice):
            ends = [self.value(e, scope) if e else None for e in (key.lower, key.upper, key.step)]
            whole = isinstance(value, str | list | tuple) and all(e is None or isinstance(e, int) for e in ends)
            return value[slice(*ends)] if whole else UNKNOWN
        at = self.value(key, scope)
        if isinstance(value, Environ):
            return self._variable(at, line)
        if isinstance(value, Kind) and value.is_enum and isinstance(at, str):
            if at not in value.members:
                raise CodeRaises("KeyError", line, repr(at))
            return value.members[at]
        if isinstance(value, dict | list | tuple | str) and is_plain(at) and not isinstance(at, list | dict | set):
            try:
                return value[at]
            except (KeyError, IndexError) as e:
                if isinstance(value, dict) and not all(isinstance(k, str | int) for k in value):
                    return UNKNOWN
                raise CodeRaises(type(e).__name__, line, str(e)) from None
            except TypeError:
                return UNKNOWN
        return UNKNOWN

    def _variable(self, name: Any, line: int, default: Any = KeyError) -> Any:
        if not isinstance(name, str):
            return UNKNOWN
        self.read.pop(name, None)
        self.read[name] = None
        if name in self.env:
            return self.env[name]
        if default is KeyError:
            raise CodeRaises("KeyError", line, repr(name))
        return default

    def _call(self, node: ast.Call, scope: dict[str, Any]) -> Any:  # noqa: PLR0912 - one branch for each kind of function
        values = self._several(node.args, scope)
        keywords = {k.arg: self.value(k.value, scope) for k in node.keywords if k.arg}
        whole = values is not UNKNOWN and all(k.arg for k in node.keywords)
        if isinstance(node.func, ast.Attribute):
            owner, name = self.value(node.func.value, scope), node.func.attr
            if isinstance(owner, Environ):
                return self._of_environ(name, values if whole else [], keywords, node.lineno)
            if isinstance(owner, Module):
                return self._standard(f"{owner.name}.{name}", values, keywords, node.lineno, whole=whole)
            if isinstance(owner, Place):
                return call_path_method(owner, name, tuple(values) if whole else (), self.around, node.lineno)
            if isinstance(owner, str) and name in TEXT_METHODS and whole:
                return apply_function(getattr(owner, name), tuple(values), node.lineno, keywords)
            if isinstance(owner, list | tuple | dict | set | frozenset) and whole:
                if name in LIST_METHODS and hasattr(owner, name):
                    return (
                        [*getattr(owner, name)()]
                        if name in ("keys", "values", "items")
                        else getattr(owner, name)(*values)
                        if all(is_plain(v) for v in values)
                        and not any(isinstance(v, list | dict | set) for v in values[:1] if name == "get")
                        else UNKNOWN
                    )
                return self._changed(owner, name, values)
            if isinstance(owner, Kind) and isinstance(its := owner.members.get(name), Function) and whole:
                return self.run_function(its, None)
            return UNKNOWN
        its = scope.get(node.func.id, self.scope.get(node.func.id)) if isinstance(node.func, ast.Name) else None
        if isinstance(its, Elsewhere):  # a function that takes a variable's name
            named = whole and any(isinstance(v, str) and v in self.env for v in (*values, *keywords.values()))
            called_value = self.elsewhere(its) if named else UNKNOWN
        else:
            called_value = self.value(node.func, scope)
        match called_value:
            case Module(name=name):
                return self._standard(name, values, keywords, node.lineno, whole=whole)
            case Function() if whole:
                return self.run_function(called_value, self._bound(called_value.node, values, keywords))
            case Kind() if called_value.is_enum and whole and len(values) == 1 and isinstance(values[0], str):
                members = [
                    v for n, v in called_value.members.items() if not n.startswith("_") and not isinstance(v, Function)
                ]
                if all(isinstance(m, str) for m in members) and members and values[0] not in members:
                    raise CodeRaises("ValueError", node.lineno, f"{values[0]!r} is not a valid {called_value.name}")
                return UNKNOWN
        return UNKNOWN

    def _standard(self, name: str, values: Any, keywords: dict[str, Any], line: int, *, whole: bool) -> Any:
        if not whole:
            return UNKNOWN
        if name == "os.getenv" and values:
            return self._variable(values[0], line, values[1] if len(values) > 1 else keywords.get("default"))
        if name in ("sys.exit", "os._exit", "exit", "quit"):
            raise Left(UNKNOWN)
        if name in ("os.putenv", "os.unsetenv"):
            self.forget_variable(values[0] if values else UNKNOWN)
        return call_standard(name, tuple(values), keywords, line, self.around)

    def _of_environ(self, name: str, values: list[Any], keywords: dict[str, Any], line: int) -> Any:
        match name:
            case "get" if values:
                return self._variable(values[0], line, values[1] if len(values) > 1 else keywords.get("default"))
            case "pop" if values:
                found = self._variable(values[0], line, *values[1:2])
                if isinstance(values[0], str):
                    self.env.pop(values[0], None)
                return found
            case "setdefault" if len(values) > 1 and isinstance(values[0], str):
                self.env.setdefault(values[0], values[1] if isinstance(values[1], str) else UNKNOWN)
                return self.env[values[0]]
            case "update":
                if values and isinstance(values[0], dict):
                    self.env |= {k: v if isinstance(v, str) else UNKNOWN for k, v in values[0].items()}
                else:
                    self.forget_variable(UNKNOWN)
        return UNKNOWN

    @staticmethod
    def _changed(owner: Any, name: str, values: list[Any]) -> Any:
        if len(owner) > MOST_PARTS:
            return UNKNOWN  # it is too large to be known as it is
        if (
            name in ("append", "add")
            and len(values) == 1
            and is_plain(values[0])
            and not (isinstance(owner, set) and isinstance(values[0], list | dict | set))
        ):
            getattr(owner, name)(values[0])
        elif (
            name in ("extend", "update")
            and len(values) == 1
            and is_plain(values[0])
            and isinstance(values[0], list | tuple | dict | set)
        ):
            try:
                getattr(owner, name)(values[0])
            except (TypeError, ValueError):
                return UNKNOWN
        elif isinstance(owner, list):
            owner.append(UNKNOWN)  # no longer known
        return UNKNOWN

    @staticmethod
    def _bound(function: ast.FunctionDef, values: list[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        return {**dict(zip(names, values, strict=False)), **keywords}

    def run_function(self, function: Function, given: Mapping[str, Any] | None) -> Any:
        """Follow a function with arguments, by name; None: with arguments that are unknown."""
        node = function.node
        if self.calls > MOST_DEPTH or any(isinstance(p, ast.Yield | ast.YieldFrom) for p in ast.walk(node)):
            return UNKNOWN
        names = [*node.args.posonlyargs, *node.args.args]
        scope: dict[str, Any] = {a.arg: UNKNOWN for a in (*names, *node.args.kwonlyargs)}
        for extra in (node.args.vararg, node.args.kwarg):
            if extra is not None:
                scope[extra.arg] = UNKNOWN
        if given is not None:
            for argument, default in zip(reversed(names), reversed(node.args.defaults), strict=False):
                scope[argument.arg] = self.quiet(default, self.scope)
            for argument, its_default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
                if its_default is not None:
                    scope[argument.arg] = self.quiet(its_default, self.scope)
        scope |= {n: v for n, v in (given or {}).items() if n in scope}
        self.calls += 1
        try:
            self.block(node.body, scope)
        except Left as e:
            return e.value
        except LoopEnd:
            return UNKNOWN
        finally:
            self.calls -= 1
        return None
