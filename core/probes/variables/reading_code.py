"""The values that Python code accepts from a variable: ``int(os.environ["X"])`` accepts an integer.

It reads conversions, lists of words before a ``raise``, ``assert``, enumerations, tables, levels of logging, and files
and folders that are opened. It follows a value through names and functions of the same module. If the code catches the
exception or tests the value in another way first, nothing is concluded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import argument, caught_types, is_environ, last_name, literal_text
from core.model.facts import Frozen
from core.probes.python.text.evaluation import ends_with_raise
from core.probes.variables.accepted_values import Case, CodeValue, Takes

CONVERSIONS: dict[str, Takes] = {
    "int": "whole number",
    "float": "number",
    "strtobool": "switch",
    "env_int": "whole number",
    "int_state": "whole number",
    "float_state": "number",
    "bool_state": "switch",
    "enum_state": "words",
    "optional_enum_state": "words",
    "define_int_state": "whole number",
    "define_float_state": "number",
    "define_bool_state": "switch",
    "define_enum_state": "words",
    "env_with_choices": "words",
}
"""Conversion functions and what they accept: Python's own, Triton's knobs.py, JAX's config.py, vLLM's envs.py."""

OPENED: dict[str, Takes] = {"open": "file", "listdir": "folder", "scandir": "folder", "chdir": "folder"}
"""Functions that require the path to exist."""

ASKED: dict[str, Takes] = {"is_file": "file", "isfile": "file", "is_dir": "folder", "isdir": "folder", "exists": "path"}
"""Questions about a path; where a denial is followed by a ``raise``, the path must be there."""

LEVELS = ("CRITICAL", "FATAL", "ERROR", "WARN", "WARNING", "INFO", "DEBUG", "NOTSET")
"""Names that logging.Logger.setLevel() accepts."""

CATCHING = ("Exception", "BaseException", "ValueError", "TypeError", "KeyError", "OSError", "FileNotFoundError")
CHECKS = ("isdigit", "isdecimal", "isnumeric", "match", "fullmatch", "exists", "isdir", "isfile", "is_dir", "is_file")
"""Methods with which code tests a value before it converts it."""

_OWN = late_pattern(r"^_*(?:as|to|get|parse)_(int|float)$")
"""Names of a package's own conversion functions."""

Scope = dict[str, tuple["Read", ...]]


class Read(Frozen, frozen=True):
    """A variable whose value an expression has."""

    variable: str
    case: Case = ""


class _At(NamedTuple):
    """Where a statement stands."""

    scope: Scope
    at_import: bool = False
    """Whether it runs as the module is imported."""
    caught: bool = False
    """Whether a handler catches what its conversions raise, and goes on."""

    def within(self, runs: bool) -> _At:
        """Return the same for a part that runs only if ``runs``."""
        return self._replace(at_import=self.at_import and runs)


class Helper(Frozen, frozen=True):
    """A function with a parameter that is a variable's name or value, which it converts."""

    takes: Takes
    parameter: int
    name: str
    words: tuple[str, ...] = ()
    case: Case = ""
    of_value: bool = False


def values_read(text: str) -> Iterator[CodeValue]:
    """Yield the conversions that a module's code applies to variables; nothing if the module cannot be parsed."""
    try:
        yield from _Module(ast.parse(text)).values()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


class _Module:
    """One module: its constants, enumerations, functions and comparisons."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.texts: dict[str, str] = {}
        self.lists: dict[str, tuple[str, ...]] = {}
        self.helpers: dict[str, Helper] = {}
        self.functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.compared: dict[str, set[str]] = {}
        """Variable -> words that the module compares it with; each is valid."""
        self.tested: set[str] = set()
        """Variables that an ``in`` condition tests; a table is then indexed only with words that it contains."""
        self.looked_up: set[tuple[str, int]] = set()
        """Variables used as the index of a table, each with its line."""
        self.asked: set[str] = set()
        """Variables whose form is tested before their conversion."""
        self.changed = frozenset(_changed_lists(tree))
        """Lists to which the module adds: what they are made of is not all."""
        for node in tree.body:
            self._note(node)

    def _note(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef):
            if any(last_name(base).endswith("Enum") for base in node.bases):
                rows = [
                    (n.targets[0].id, n.value)
                    for n in node.body
                    if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
                ]
                values = [value.value for _, value in rows if isinstance(value, ast.Constant)]
                if rows and len(values) == len(rows) and all(isinstance(v, str) for v in values):
                    self.lists[node.name] = tuple(str(v) for v in values)
                self.lists[f"{node.name}[]"] = tuple(name for name, _ in rows)
            return
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if not isinstance(target, ast.Name) or not isinstance(value, ast.expr):
            return
        if (text := literal_text(value)) is not None:
            self.texts[target.id] = text
        elif target.id not in self.changed and (words := self.words(value)) is not None:
            self.lists[target.id] = words

    def words(self, node: ast.expr | None) -> tuple[str, ...] | None:
        """Return the strings in a list, set or table, or a name for one; None if it contains anything else."""
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in self.lists:
                return self.lists[name]
            case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple" | "list"), args=[inner]):
                return self.words(inner)
            case ast.Call(func=ast.Attribute(attr="keys", value=inner), args=[]):
                return self.words(inner)
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                found = [self.text(e) for e in elements]
            case ast.Dict(keys=keys):
                found = [self.text(k) for k in keys]
            case _:
                return None
        return tuple(w for w in found if w is not None) if found and None not in found else None

    def text(self, node: ast.expr | None) -> str | None:
        """Return a constant string; None for any other expression, including members of enumerations."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else "" if node.value is None else None
        return self.texts.get(node.id) if isinstance(node, ast.Name) else None

    def values(self) -> Iterator[CodeValue]:
        """Yield how the module uses variables."""
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and (helper := self._helper(node)):
                self.helpers[node.name] = helper
        found = [*_Walk(self).block(self.tree.body, _At({}, at_import=True))]
        for value in found:
            if value.variable in self.asked and not value.required:
                continue
            if value.variable in self.tested and (value.variable, value.line) in self.looked_up:
                continue
            words = value.words
            if value.takes != "module":
                words = tuple(dict.fromkeys((*words, *sorted(self.compared.get(value.variable, ())))))
            yield CodeValue(
                variable=value.variable.upper(),
                takes=value.takes,
                line=value.line,
                words=words,
                case=value.case,
                at_import=value.at_import,
                required=value.required,
            )

    def _helper(self, function: ast.FunctionDef) -> Helper | None:
        """Return how a function of the module uses a variable whose name or value is its argument."""
        parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        inner = _Walk(self, parameters=frozenset(parameters))
        scope: Scope = {p: (Read(f"={p}"),) for p in parameters}
        found = [v for v in inner.block(function.body, _At(scope)) if v.variable[:1] in "=?"]
        asked, compared = self.asked, self.compared
        self.asked = {a for a in asked if a[:1] not in "=?"}
        self.compared = {n: w for n, w in compared.items() if n[:1] not in "=?"}
        told = {(v.variable, v.takes, v.words, v.case) for v in found if v.variable not in asked}
        if len(told) != 1:
            return None
        ((name, takes, words, case),) = told
        words = (*words, *sorted(compared.get(name, ())))
        return Helper(takes, parameters.index(name[1:]), name[1:], words, case, name[0] == "=")


class _Walk:
    """Walks through statements in order, tracking the value of each name."""

    def __init__(self, module: _Module, *, parameters: frozenset[str] = frozenset()) -> None:
        self.module, self.parameters = module, parameters
        self.texts: dict[str, str] = {}
        """Names of functions' own constants: starts of the names of variables."""
        self.further: set[int] = set()
        """Identities of the conditions that are branches of another one."""

    def block(self, body: list[ast.stmt], at: _At) -> Iterator[CodeValue]:
        for node in body:
            yield from self._statement(node, at)

    def _statement(  # noqa: C901, PLR0912 - one case for each kind of statement
        self, node: ast.stmt, at: _At
    ) -> Iterator[CodeValue]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                own = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
                for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d), *node.decorator_list):
                    yield from self._expression(default, at)
                inner = {n: r for n, r in at.scope.items() if n not in own}
                yield from self.block(node.body, _At(inner))
            case ast.ClassDef():
                yield from self.block(node.body, at._replace(scope=dict(at.scope)))
            case ast.Try():
                catches = any(_continues_after_failure(h) for h in node.handlers)
                yield from self.block(node.body, at._replace(caught=at.caught or catches))
                for handler in node.handlers:
                    yield from self.block(handler.body, at.within(False))
                for block in (node.orelse, node.finalbody):
                    yield from self.block(block, at)
            case ast.If():
                yield from self._if(node, at)
            case ast.Assert():
                yield from self._accepted_words(node.test, node.lineno, at, wanted=True)
                yield from self._expression(node.test, at)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                yield from self._expression(value, at)
                self.texts[name] = self.module.text(value) or ""
                reads = self._reads(value, at.scope)
                if reads:
                    at.scope[name] = reads
                else:
                    at.scope.pop(name, None)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                yield from self._expression(value, at)
                at.scope[f"self.{name}"] = self._reads(value, at.scope)
            case ast.For() | ast.While() | ast.With():
                for part in ast.iter_child_nodes(node):
                    if isinstance(part, ast.expr):
                        yield from self._expression(part, at)
                    elif isinstance(part, ast.withitem):
                        yield from self._expression(part.context_expr, at)
                body = [*node.body, *getattr(node, "orelse", [])]
                yield from self.block(body, at.within(isinstance(node, ast.With)))
            case _:
                for part in ast.iter_child_nodes(node):
                    if isinstance(part, ast.expr):
                        yield from self._expression(part, at)

    def _if(self, node: ast.If, at: _At) -> Iterator[CodeValue]:
        yield from self._expression(node.test, at)
        if not at.caught:
            yield from self._modules_asked(node, at.scope)
        if any(isinstance(n, ast.Raise) for n in node.body):
            yield from self._accepted_words(node.test, node.lineno, at, wanted=False)
        if ends_with_raise(node.body) and not at.caught:
            for read, takes in self._required(node.test, at.scope):
                yield CodeValue(
                    variable=read.variable, takes=takes, line=node.lineno, at_import=at.at_import, required=True
                )
        if id(node) not in self.further and not at.caught:
            yield from self._left_over(node, at)
        plain = self._is_asked_alone(node.test, at.scope)
        for block in (node.body, node.orelse):
            yield from self.block(block, at.within(plain))

    def _required(self, test: ast.expr, scope: Scope) -> Iterator[tuple[Read, Takes]]:
        """Yield the paths that are absent wherever a condition holds because of them: ``not isfile(X)``, ``X and not isfile(X)``."""
        match test:
            case ast.BoolOp(op=ast.Or(), values=values):
                for value in values:
                    yield from self._required(value, scope)
            case ast.BoolOp(op=ast.And(), values=[*others, last]) if all(
                self._is_asked_alone(v, scope) for v in others
            ):
                yield from self._required(last, scope)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                questions = inner.values if isinstance(inner, ast.BoolOp) and isinstance(inner.op, ast.And) else [inner]
                for question in questions:
                    if isinstance(question, ast.Call) and (takes := ASKED.get(last_name(question.func))):
                        own = question.func.value if isinstance(question.func, ast.Attribute) else None
                        for asked in (*question.args[:1], own):
                            yield from ((read, takes) for read in self._reads(asked, scope))

    def _left_over(self, node: ast.If, at: _At) -> Iterator[CodeValue]:
        """Yield the words of ``if X == "a": ... elif X in ("b", "c"): ... else: raise``."""
        tests, last = [node.test], node.orelse
        while len(last) == 1 and isinstance(last[0], ast.If):
            self.further.add(id(last[0]))
            tests, last = [*tests, last[0].test], last[0].orelse
        if not ends_with_raise(last):
            return
        found: set[str] = set()
        reads: set[Read] = set()
        for test in tests:
            match test:
                case ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[right]):
                    words = self.module.words(right) or tuple(w for w in (self.module.text(right),) if w)
                    reads |= {*self._reads(left, at.scope)} or {Read("")}
                    found |= {*words}
                    if not words:
                        return
                case _:
                    return
        if len(reads) == 1 and (read := reads.pop()).variable:
            yield _value(read, "words", node.lineno, tuple(sorted(found)), at_import=at.at_import)

    def _modules_asked(self, node: ast.If, scope: Scope) -> Iterator[CodeValue]:
        """Yield the modules without which a branch for a switch that is on ends: ``if X: try: import m except ImportError: raise``."""
        names = [r.variable for r in self._reads(node.test, scope)]
        if isinstance(node.test, ast.Name | ast.Attribute) and not names:
            names = [last_name(node.test)]  # the constant of the same name, of this module or another one
        if len(names) != 1 or not re.fullmatch(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+", names[0]):
            return
        waiting = list(node.body)
        while waiting:
            part = waiting.pop(0)
            match part:
                case ast.If() | ast.With():
                    waiting = [*part.body, *getattr(part, "orelse", []), *waiting]
                case ast.Try(
                    body=[ast.Import(names=[alias]), *_], handlers=[ast.ExceptHandler(type=kind) as handler]
                ) if kind is not None and last_name(kind) in ("ImportError", "ModuleNotFoundError"):
                    if ends_with_raise(handler.body):
                        yield CodeValue(variable=names[0], takes="module", line=part.lineno, words=(alias.name,))
                case ast.Import(names=[alias]):
                    yield CodeValue(variable=names[0], takes="module", line=part.lineno, words=(alias.name,))

    def _is_asked_alone(self, test: ast.expr, scope: Scope) -> bool:
        """Whether a condition tests only that a variable is set; whoever sets it reaches the code that follows."""
        match test:
            case ast.BoolOp(values=values):
                return all(self._is_asked_alone(v, scope) for v in values)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return self._is_asked_alone(inner, scope)
            case ast.Compare(
                left=left,
                ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq()],
                comparators=[ast.Constant(value=None | "")],
            ):
                return bool(self._reads(left, scope))
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[place]) if is_environ(place):
                return True
        return bool(self._reads(test, scope))

    def _accepted_words(self, test: ast.expr, line: int, at: _At, *, wanted: bool) -> Iterator[CodeValue]:
        """Yield the words of ``if X not in (...): raise`` and ``assert X in (...)``."""
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        for part in parts:
            match part:
                case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as way], comparators=[right]) if (
                    isinstance(way, ast.In) is wanted and not at.caught
                ):
                    words = self.module.words(right)
                    for read in self._reads(left, at.scope) if words else ():
                        yield _value(read, "words", line, words or (), at_import=at.at_import)

    def _expression(self, root: ast.expr, at: _At) -> Iterator[CodeValue]:
        match root:
            case ast.Lambda():
                at = _At(at.scope)
            case ast.IfExp(test=test):
                yield from self._expression(test, at)
                plain = self._is_asked_alone(test, at.scope)
                for part in (root.body, root.orelse):
                    yield from self._expression(part, at.within(plain))
                return
            case ast.Compare(left=left, comparators=[right], ops=[way]):
                self._note_comparison(left, right, way, at.scope)
            case ast.Call():
                self._note_question(root, at.scope)
                if not at.caught:
                    yield from self._call(root, at)
            case ast.Subscript(value=ast.Dict() | ast.Name() | ast.Attribute() as table, slice=key) if not at.caught:
                name = f"{last_name(table)}[]"
                words = self.module.lists.get(name) or self.module.words(table)
                if isinstance(root.ctx, ast.Load) and words:
                    for read in self._reads(key, at.scope):
                        self.module.looked_up.add((read.variable, root.lineno))
                        yield _value(read, "words", root.lineno, words, at_import=at.at_import)
        for child in ast.iter_child_nodes(root):
            inner: ast.AST = (
                child.value
                if isinstance(child, ast.keyword)
                else child.iter
                if isinstance(child, ast.comprehension)
                else child
            )
            if isinstance(inner, ast.expr):
                yield from self._expression(inner, at)

    def _note_comparison(self, left: ast.expr, right: ast.expr, way: ast.cmpop, scope: Scope) -> None:
        if isinstance(way, ast.In | ast.NotIn):
            self.module.tested |= {r.variable for r in self._reads(left, scope)}
        if isinstance(way, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            for one, other in ((left, right), (right, left)):
                words = self.module.words(other) or tuple(w for w in (self.module.text(other),) if w)
                for read in self._reads(one, scope) if words else ():
                    self.module.compared.setdefault(read.variable, set()).update(words)

    def _note_question(self, call: ast.Call, scope: Scope) -> None:
        asked = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        if last_name(call.func) in CHECKS:
            self.module.asked |= {r.variable for a in asked for r in self._reads(a, scope)}

    def _call(self, call: ast.Call, at: _At) -> Iterator[CodeValue]:
        called = last_name(call.func)
        first = argument(call, "name", 0)
        takes = CONVERSIONS.get(_OWN.sub(r"\1", called))
        if helper := self.module.helpers.get(called) if isinstance(call.func, ast.Name) else None:
            yield from self._by_helper(call, helper, at)
        elif called in self.module.functions and _OWN.match(called):
            return  # It does more than convert.
        elif takes in ("whole number", "number") and len(call.args) > (1 if called == "int" else 2):
            return  # a number in another base, or another kind of conversion
        elif takes == "words":
            if (name := _constant_name(first)) and (words := self._enumerated(call)):
                yield CodeValue(variable=name, takes="words", line=call.lineno, words=words, at_import=at.at_import)
        else:
            its, words = self._taken(call, called, takes)
            if its is None and (name := _constant_name(first)) and (told := _told_kind(call)):
                yield CodeValue(variable=name, takes=told, line=call.lineno, at_import=False)
            reads = self._reads(first, at.scope) if its else ()
            for read in reads or (_variable_named(first, called) if takes else ()):
                yield _value(read, its or "words", call.lineno, words, at_import=at.at_import)

    def _taken(self, call: ast.Call, called: str, takes: Takes | None) -> tuple[Takes | None, tuple[str, ...]]:
        """Return what a function accepts as its first argument, and the accepted words."""
        method = isinstance(call.func, ast.Attribute)
        if takes is None and called in OPENED and method is (called != "open"):
            return OPENED[called], ()
        if called == "setLevel":
            return "words", LEVELS
        if called == "loads" and last_name(getattr(call.func, "value", None)) == "json":
            return "JSON", ()
        if not method and f"{called}[]" in self.module.lists and called in self.module.lists:
            return "words", self.module.lists[called]  # the value of an enumeration
        return takes, ()

    def _by_helper(self, call: ast.Call, helper: Helper, at: _At) -> Iterator[CodeValue]:
        given = argument(call, helper.name, helper.parameter)
        reads = self._reads(given, at.scope) if helper.of_value else _named_by(self.module.text(given))
        for read in reads:
            its = Read(read.variable, helper.case or read.case)
            yield _value(its, helper.takes, call.lineno, helper.words, at_import=at.at_import)

    def _enumerated(self, call: ast.Call) -> tuple[str, ...]:
        at = 2 if last_name(call.func) == "env_with_choices" else None
        return self.module.words(argument(call, "enum_values", at)) or ()

    def _reads(self, node: ast.expr | None, scope: Scope) -> tuple[Read, ...]:
        """Return the variables whose value an expression has, unchanged except for case and surrounding blanks."""
        match node:
            case ast.Name(id=name):
                return scope.get(name, ())
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return scope.get(f"self.{name}", ())
            case ast.Subscript(value=place, slice=key) if is_environ(place):
                return self._variable(key, scope)
            case ast.Call(func=ast.Attribute(attr="get" | "pop", value=place), args=[key, *_]) if is_environ(place):
                return self._variable(key, scope)
            case ast.Call(func=ast.Attribute(attr="getenv") | ast.Name(id="getenv"), args=[key, *_]):
                return self._variable(key, scope)
            case ast.Call(func=ast.Attribute(attr="lower" | "upper" as case, value=inner), args=[]):
                return tuple(Read(r.variable, case) for r in self._reads(inner, scope))
            case (
                ast.Call(func=ast.Attribute(attr="strip" | "expanduser", value=inner), args=[])
                | ast.Call(func=ast.Name(id="str" | "Path") | ast.Attribute(attr="Path"), args=[inner])
                | ast.Call(func=ast.Attribute(attr="expanduser"), args=[inner])
            ):
                return self._reads(inner, scope)
            case ast.BoolOp(op=ast.Or(), values=[first, *_]):
                return self._reads(first, scope)
            case ast.Call(
                func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(name)), *_]
            ) if (
                "env" in called.lower()
                and called not in self.module.helpers
                and re.fullmatch(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+", name)
            ):
                return (Read(name),)  # A function with such a name passes the variable's name on.
            case ast.NamedExpr(target=ast.Name(id=name), value=inner):
                reads = self._reads(inner, scope)
                if reads:
                    scope[name] = reads
                return reads
        return ()

    def _variable(self, key: ast.expr, scope: Scope) -> tuple[Read, ...]:
        if isinstance(key, ast.Name) and key.id in self.parameters and scope.get(key.id) == (Read(f"={key.id}"),):
            return (Read(f"?{key.id}"),)
        return _named_by(self._joined_text(key))

    def _joined_text(self, node: ast.expr) -> str | None:
        """Return a constant text, also one that is put together: ``prefix + "NAME"``, ``f"{prefix}NAME"``."""
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                parts = [self._joined_text(left), self._joined_text(right)]
            case ast.JoinedStr(values=values):
                parts = [self._joined_text(v.value if isinstance(v, ast.FormattedValue) else v) for v in values]
            case ast.Name(id=name) if self.texts.get(name):
                return self.texts[name]
            case _:
                return self.module.text(node)
        return "".join(p for p in parts if p) if all(parts) else None


def _told_kind(call: ast.Call) -> Takes | None:
    """Return the number that a function for variables converts to, where the call names its type: Env("X", int, 5), config("X", cast=int)."""
    if not re.search(r"env|config|var|setting", last_name(call.func).lower()):
        return None
    told = [
        a.id for a in (*call.args[1:2], *(k.value for k in call.keywords if k.arg in KINDS)) if isinstance(a, ast.Name)
    ]
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("int", "float"):  # environs, django-environ
        told.append(call.func.attr)
    return {"int": "whole number", "float": "number"}.get(told[0]) if len(told) == 1 else None  # type: ignore[return-value] # of this table


KINDS = ("cast", "type", "type_", "converter", "value_type", "var_type", "parser")
"""Names of arguments that say what a variable's value is converted to."""


def _changed_lists(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend" | "add" | "update" | "insert")
            ):
                yield name
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                yield name
            case _:
                pass


def _value(read: Read, takes: Takes, line: int, words: tuple[str, ...], *, at_import: bool) -> CodeValue:
    return CodeValue(variable=read.variable, takes=takes, line=line, words=words, case=read.case, at_import=at_import)


def _named_by(text: str | None) -> tuple[Read, ...]:
    return (Read(text),) if text and re.fullmatch(r"[A-Za-z]\w*", text) else ()


def _variable_named(node: ast.expr | None, called: str) -> tuple[Read, ...]:
    """Return the variable that a function gets by name; int() and float() convert the string itself."""
    name = "" if called in ("int", "float", "strtobool") else _constant_name(node)
    return (Read(name),) if name else ()


def _constant_name(node: ast.expr | None) -> str:
    name = literal_text(node) or ""
    return name if re.fullmatch(r"[A-Za-z]\w*_\w+", name) else ""


def _continues_after_failure(handler: ast.ExceptHandler) -> bool:
    """Whether a handler continues after a failed conversion."""
    named = handler.type is None or any(last_name(k) in CATCHING for k in caught_types(handler))
    return named and not any(isinstance(n, ast.Raise) for n in ast.walk(handler))
