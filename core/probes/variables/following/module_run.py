"""Follows a module's statements with the values of variables, to the exception that they end with; nothing of the package runs.

What text and variables do not decide stays open: neither branch of such a condition counts, what it assigns is unknown, and a function that may
have returned in it is left. So an exception is told only where the code surely comes to it.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from core.common.syntax_tree import is_environ, last_name, statements_of, uncalled
from core.probes.python.text.evaluation import catches_error, swallows_errors
from core.probes.variables.following.expressions import Expressions, Left, LoopEnd, Spent, dotted
from core.probes.variables.following.values import (
    STANDARD,
    UNKNOWN,
    Around,
    CodeRaises,
    Elsewhere,
    Environ,
    Function,
    Kind,
    Module,
    apply_operator,
    is_known,
    is_plain,
    module_attribute,
)

MOST_OTHERS = 10
"""Further modules of the package that are read for their names."""
MOST_LETTERS = 400_000
_WRITTEN = (
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.Name,
    ast.expr_context,
    ast.BinOp,
    ast.operator,
    ast.JoinedStr,
)
HARMLESS = (
    "cache",
    "lru_cache",
    "staticmethod",
    "classmethod",
    "property",
    "wraps",
    "contextmanager",
    "torch_dynamo_disable",
)


class Ending(msgspec.Struct, frozen=True):
    """How a module, or a function of it, ends with these variables."""

    kind: str
    line: int
    says: str
    read: tuple[str, ...]
    """The variables that were read until then, the last one last."""
    function: str = ""
    """The function that ends so whenever it is called; empty for the module itself."""
    imported: tuple[str, ...] = ()


Loader = Callable[[str], tuple[str, bool] | None]
"""The text of a module by its whole name, and whether it is a package's; None if it is not the examined package's own."""


class ModuleRun(Expressions):
    """The run of one module."""

    def __init__(
        self,
        name: str,
        text: str,
        around: Around,
        load: Loader | None = None,
        others: dict[str, ModuleRun | None] | None = None,
        *,
        is_package: bool = True,
    ) -> None:
        super().__init__(around)
        self.name, self.text, self.load = name, text, load
        self.others = {} if others is None else others
        self.scope["__name__"] = name
        self.imported: dict[str, None] = {}
        """Modules that the module surely imports."""
        self.package = name if is_package else name.rpartition(".")[0]

    def whole(self) -> Ending | None:
        """Follow the module as it is imported; return the exception that ends it."""
        try:
            self.block(statements_of(self.text), self.scope)
        except CodeRaises as e:
            return self._ending(e)
        except (Left, LoopEnd, Spent, RecursionError):
            pass
        return None

    def plain(self) -> None:
        """Follow only the statements that import, define, or give a name a value that is written there."""
        with contextlib.suppress(RecursionError, CodeRaises, Left, LoopEnd):
            self.block([n for n in statements_of(self.text) if _is_plain(n)], self.scope)

    def functions(self, names: Iterable[str]) -> Iterable[Ending]:
        """Yield how those functions end whose text has one of the variables' names, whatever they are called with."""
        wanted, lines = tuple(names), self.text.split("\n")
        for name, its in list(self.scope.items()):
            inner = its.members.values() if isinstance(its, Kind) else (its,)
            for one in inner:
                if not isinstance(one, Function):
                    continue
                text = "\n".join(lines[one.node.lineno - 1 : one.node.end_lineno])
                if not any(w in text for w in wanted):
                    continue
                self.steps, self.read = 0, {}
                try:
                    self.run_function(one, {})
                except CodeRaises as e:
                    yield msgspec.structs.replace(self._ending(e), function=one.node.name or name)
                except (Left, LoopEnd, Spent, RecursionError):
                    pass

    def _ending(self, e: CodeRaises) -> Ending:
        return Ending(e.kind, e.line, e.says, tuple(self.read), imported=tuple(self.imported))

    # --- statements --------------------------------------------------------------------------------------------------

    def block(self, body: Iterable[ast.stmt], scope: dict[str, Any]) -> None:
        """Follow statements in their order."""
        for node in body:
            self.step()
            self._statement(node, scope)

    def _statement(self, node: ast.stmt, scope: dict[str, Any]) -> None:  # noqa: C901, PLR0912, PLR0915 - one case for each statement
        match node:
            case ast.Expr(value=value):
                self.value(value, scope)
            case ast.Assign(targets=targets, value=value):
                found = self.value(value, scope)
                for target in targets:
                    self.assign(target, found, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value(value, scope), scope)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=way, value=value):
                self.assign(
                    target, apply_operator(scope.get(name, UNKNOWN), way, self.value(value, scope), node.lineno), scope
                )
            case ast.AugAssign(target=ast.Subscript(value=place) as target, op=way, value=value) if isinstance(
                self.value(place, scope), Environ
            ):
                old = self.value(target, scope)
                self.assign(target, apply_operator(old, way, self.value(value, scope), node.lineno), scope)
            case ast.If(test=test):
                self._if(self.truth(test, scope), node, scope)
            case ast.Assert(test=test):
                if self.truth(test, scope) is False:
                    raise CodeRaises("AssertionError", node.lineno, self._said(node.msg, scope))
            case ast.Raise(exc=exc):
                self._raise(exc, node.lineno, scope)
            case ast.Return(value=value):
                raise Left(self.value(value, scope) if value else None)
            case ast.For(target=target, iter=rows, body=body, orelse=other):
                self._for_loop(target, self.value(rows, scope), body, other, scope)
            case ast.While(test=test):
                if self.truth(test, scope) is not False:
                    self._open([*node.body, *node.orelse], scope)
            case ast.Break() | ast.Continue():
                raise LoopEnd(ends=isinstance(node, ast.Break))
            case ast.Try():
                self._try(node, scope)
            case ast.With(items=items, body=body):
                for item in items:
                    self.value(item.context_expr, scope)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, UNKNOWN, scope)
                if swallows_errors(node):
                    self._open(body, scope)
                else:
                    self.block(body, scope)
            case ast.Match(subject=subject, cases=cases):
                self._match(self.value(subject, scope), cases, scope)
            case ast.FunctionDef():
                for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d)):
                    self.value(default, scope)
                plain = all(last_name(uncalled(d)) in HARMLESS for d in node.decorator_list)
                scope[node.name] = Function(node, scope) if plain else UNKNOWN
            case ast.ClassDef():
                members: dict[str, Any] = {}
                outer = {**scope}
                inner = _Scope(outer, members)
                self.block(node.body, inner)
                scope[node.name] = Kind(node.name, tuple(ast.unparse(b) for b in node.bases), dict(inner))
            case ast.Import(names=names):
                for one in names:
                    self._import(one, scope)
            case ast.ImportFrom():
                self._import_from(node, scope)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._delete(target, scope)
            case ast.Global(names=several) if scope is not self.scope:
                for name in several:
                    scope[name] = self.scope.get(name, UNKNOWN)
            case ast.AsyncFunctionDef(name=name):
                scope[name] = UNKNOWN
            case _:
                self._forget([node], scope)

    def _if(self, held: bool | None, node: ast.If, scope: dict[str, Any]) -> None:
        if held is None:
            self._open([*node.body, *node.orelse], scope)
        else:
            self.block(node.body if held else node.orelse, scope)

    def _open(self, body: list[ast.stmt], scope: dict[str, Any]) -> None:
        """Take statements that may run or not: what they assign is unknown, and what follows may not be reached."""
        self._forget(body, scope)
        self.doubts += 1
        for node in body:
            for part in ast.walk(node):
                if isinstance(part, ast.Return):
                    raise Left(UNKNOWN)
                if isinstance(part, ast.Break | ast.Continue):
                    raise LoopEnd(ends=True)
                if isinstance(part, ast.Call) and last_name(part.func) in ("exit", "_exit", "execv", "execve", "abort"):
                    raise Left(UNKNOWN)

    def _forget(self, body: Iterable[ast.AST], scope: dict[str, Any]) -> None:
        """Let all that statements assign be unknown, variables of the environment included."""
        for node in body:
            for part in ast.walk(node):
                self.step()
                match part:
                    case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                        scope[name] = UNKNOWN
                    case ast.Attribute(ctx=ast.Store() | ast.Del()):
                        scope[dotted(part)] = UNKNOWN
                    case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                        scope[name] = UNKNOWN
                    case ast.Import(names=names) | ast.ImportFrom(names=names):
                        for one in names:
                            scope[(one.asname or one.name).partition(".")[0]] = UNKNOWN
                    case ast.Subscript(value=place, slice=key, ctx=ast.Store() | ast.Del()) if is_environ(place):
                        self.forget_variable(self.value(key, scope))
                    case ast.Call(func=ast.Attribute(attr="setdefault" | "pop" | "update", value=place)) if is_environ(
                        place
                    ):
                        self.forget_variable(self.value(part.args[0], scope) if part.args else UNKNOWN)
                    case _:
                        pass

    def _for_loop(
        self, target: ast.expr, rows: Any, body: list[ast.stmt], other: list[ast.stmt], scope: dict[str, Any]
    ) -> None:
        if isinstance(rows, dict):
            rows = list(rows)
        if not isinstance(rows, list | tuple | str) or len(rows) > 256:
            self._forget([target], scope)
            with contextlib.suppress(LoopEnd):
                self._open([*body, *other], scope)
            return
        try:
            for row in rows:
                self.assign(target, row, scope)
                try:
                    self.block(body, scope)
                except LoopEnd as e:
                    if e.ends:
                        raise
        except LoopEnd:
            self._forget(body, scope)  # it may have gone on
            return
        self.block(other, scope)

    def _try(self, node: ast.Try, scope: dict[str, Any]) -> None:
        doubts = self.doubts
        try:
            self.block(node.body, scope)
        except CodeRaises as e:
            for handler in node.handlers:
                caught = catches_error(handler, e.kind)
                if caught is None:
                    self._open([*node.body, *handler.body], scope)
                    return
                if caught:
                    if handler.name:
                        scope[handler.name] = UNKNOWN
                    self._handle(handler, e, scope)
                    break
            else:
                raise
        else:
            if self.doubts != doubts and node.handlers:
                for handler in node.handlers:
                    self._forget(handler.body, scope)
                    if any(isinstance(p, ast.Return) for n in handler.body for p in ast.walk(n)):
                        raise Left(UNKNOWN)
            self.block(node.orelse, scope)
        self.block(node.finalbody, scope)

    def _handle(self, handler: ast.ExceptHandler, e: CodeRaises, scope: dict[str, Any]) -> None:
        for node in handler.body:
            self.step()
            if isinstance(node, ast.Raise) and node.exc is None:
                raise e
            self._statement(node, scope)

    def _raise(self, exc: ast.expr | None, line: int, scope: dict[str, Any]) -> None:
        if exc is None:
            raise Left(UNKNOWN)
        kind = last_name(uncalled(exc))
        if kind in ("SystemExit", "StopIteration", "GeneratorExit", "KeyboardInterrupt", "NotImplementedError"):
            raise Left(UNKNOWN)
        raise CodeRaises(
            kind or "Exception",
            line,
            self._said(exc.args[0] if isinstance(exc, ast.Call) and exc.args else None, scope),
        )

    def _said(self, node: ast.expr | None, scope: dict[str, Any]) -> str:
        """Return an exception's text; parts that are unknown are left out."""
        if node is None:
            return ""
        if isinstance(node, ast.JoinedStr):
            parts = [
                p.value if isinstance(p, ast.Constant) else self.quiet(p.value, scope)
                for p in node.values
                if isinstance(p, ast.Constant | ast.FormattedValue)
            ]
            return "".join("..." if p is UNKNOWN else str(p) for p in parts)[:300]
        found = self.quiet(node, scope)
        return str(found)[:300] if isinstance(found, str) else ""

    def _match(self, subject: Any, cases: list[ast.match_case], scope: dict[str, Any]) -> None:
        for number, case in enumerate(cases):
            fits = self._fits(subject, case.pattern, scope)
            if fits and case.guard is not None:
                fits = self.truth(case.guard, scope)
            if fits is None:
                self._open([n for c in cases[number:] for n in c.body], scope)
                return
            if fits:
                self.block(case.body, scope)
                return

    def _fits(self, subject: Any, pattern: ast.pattern, scope: dict[str, Any]) -> bool | None:
        match pattern:
            case ast.MatchValue(value=value):
                found = apply_operator(subject, ast.Eq(), self.value(value, scope), pattern.lineno)
                return None if found is UNKNOWN else bool(found)
            case ast.MatchSingleton(value=single):
                return None if subject is UNKNOWN else subject is single
            case ast.MatchOr(patterns=several):
                found_all = [self._fits(subject, p, scope) for p in several]
                return True if True in found_all else None if None in found_all else False
            case ast.MatchAs(pattern=None, name=name):
                if name:
                    scope[name] = subject
                return True
        return None

    def assign(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        """Give a target a value."""
        match target:
            case ast.Name(id=name):
                scope[name] = value
            case ast.Tuple(elts=several) | ast.List(elts=several):
                whole = (
                    isinstance(value, list | tuple)
                    and len(value) == len(several)
                    and not any(isinstance(e, ast.Starred) for e in several)
                )
                if (
                    isinstance(value, list | tuple)
                    and is_known(value)
                    and len(value) != len(several)
                    and not any(isinstance(e, ast.Starred) for e in several)
                ):
                    raise CodeRaises("ValueError", target.lineno, "not enough or too many values to unpack")
                for number, each in enumerate(several):
                    self.assign(
                        each.value if isinstance(each, ast.Starred) else each,
                        value[number] if whole else UNKNOWN,
                        scope,
                    )
            case ast.Attribute():
                scope[dotted(target)] = value
            case ast.Subscript(value=inner, slice=key):
                place, at = self.value(inner, scope), self.value(key, scope)
                if isinstance(place, Environ):
                    if isinstance(at, str):
                        self.env[at] = value if isinstance(value, str) else UNKNOWN
                    else:
                        self.forget_variable(UNKNOWN)
                elif isinstance(place, dict) and is_plain(at) and not isinstance(at, list | dict | set):
                    place[at] = value
            case _:
                pass

    def _delete(self, target: ast.expr, scope: dict[str, Any]) -> None:
        match target:
            case ast.Name(id=name):
                scope.pop(name, None)
            case ast.Subscript(value=inner, slice=key) if isinstance(self.value(inner, scope), Environ):
                at = self.value(key, scope)
                if isinstance(at, str):
                    self.env.pop(at, None)

    def _import(self, one: ast.alias, scope: dict[str, Any]) -> None:
        first = one.name.partition(".")[0]
        self.imported[one.name] = None
        name = one.name if one.asname else first
        scope[one.asname or first] = (
            Module(name) if name in STANDARD or first in ("os", "urllib", "distutils") else UNKNOWN
        )
        if first not in STANDARD:
            self.doubts += 1

    def _import_from(self, node: ast.ImportFrom, scope: dict[str, Any]) -> None:
        module = node.module or ""
        if node.level:
            parts = self.package.split(".")
            above = parts[: len(parts) - node.level + 1]
            module = ".".join([*above, *([module] if module else [])])
        self.imported[module] = None
        for one in node.names:
            if one.name != "*":
                self.imported[f"{module}.{one.name}"] = None
        standard = module in STANDARD
        if not standard:
            self.doubts += 1
        for one in node.names:
            if one.name == "*":
                other = None if standard else self._other(module)
                scope.update({n: v for n, v in other.scope.items() if n.isupper()} if other else {})
            elif standard:
                scope[one.asname or one.name] = module_attribute(module, one.name, self.around)
            else:
                scope[one.asname or one.name] = Elsewhere(module, one.name)

    def elsewhere(self, its: Elsewhere) -> Any:
        """Return the value of a name of another module of the package: of a constant, or a function."""
        other = self._other(its.module)
        found = other.scope.get(its.name, UNKNOWN) if other else UNKNOWN
        return UNKNOWN if other is None else other.elsewhere(found) if isinstance(found, Elsewhere) else found

    def _other(self, module: str) -> ModuleRun | None:
        """Return another module of the package with what its plain statements give it; None if it is not read."""
        if module not in self.others and len(self.others) < MOST_OTHERS:
            self.others[module] = None
            found = self.load(module) if self.load is not None else None
            if found is not None and len(found[0]) < MOST_LETTERS:
                other = ModuleRun(module, found[0], self.around, self.load, self.others, is_package=found[1])
                other.plain()
                self.others[module] = other
        return self.others.get(module)


def _is_plain(node: ast.stmt) -> bool:
    """Whether a statement imports, defines, or gives a name a value that is written there."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        value = node.value
        parts = ast.walk(value) if value is not None and not isinstance(value, ast.Call) else ()
        return value is not None and all(isinstance(p, _WRITTEN) for p in parts) and not isinstance(value, ast.Call)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)


class _Scope(dict[str, Any]):
    """A class's own names, in front of those around it."""

    def __init__(self, outer: Mapping[str, Any], own: dict[str, Any]) -> None:
        super().__init__(own)
        self.outer = outer

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name, self.outer.get(name, default))
