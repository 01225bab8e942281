"""What the calls of a program do, and what the functions do that they come to: the modules that these import, and the keywords that
they do not take.

Statements in conditions that the text leaves open are ignored, as in modules; a loop of the program is taken to run.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import msgspec

from core.common.syntax_tree import call_in_clone, chain_of, walk
from core.knowledge.modules import class_that_gave_up, module_of
from core.model.facts import path_text
from core.probes.python.following.called_code import SAYS_WHETHER, CalledCode, quoted_words
from core.probes.python.following.callees import (
    Callee,
    Class,
    Object,
    Scope,
    given_values,
    lacking_argument,
    names_of,
    parameters,
    sure_calls,
    too_many_places,
)
from core.probes.python.following.followed_frame import Ended, Frame, Steps
from core.probes.python.following.handed_on import taken_out
from core.probes.python.text.bound_names import stored_names
from core.probes.python.text.evaluation import UNKNOWN, attribute_chains, truth_of, value_of

if TYPE_CHECKING:
    from core.probes.python.following.statements import Statements

MOST_DEPTH, MOST_CALLS = 8, 400
"""Calls from the program to a function that is followed, and functions that are followed for all programs of one environment."""


class Calls:
    """Follows calls; ``doing`` does the statements of what is called."""

    def __init__(self, code: CalledCode, doing: Statements) -> None:
        self._code, self._doing = code, doing
        self._active: list[tuple[str, int]] = []
        self._results: dict[ast.Call, Object] = {}
        """Calls that were followed -> what they return, where one statement alone does."""
        self._made = 0

    def scope_of(self, frame: Frame) -> Scope | None:
        """Return what the names of a program stand for."""
        return self._code.scope_of(frame.name, self._doing.module(frame.name), frame.text)

    def made_by(self, node: ast.expr | None, frame: Frame) -> Steps:
        """Make the calls that evaluating an expression surely makes. Raises Ended where one of them fails."""
        if frame.scope is None or node is None:
            return True
        for made in sure_calls(node, lambda test: truth_of(test, frame.known, self._doing)):
            call = made
            if local := call_in_clone(call):
                call = local[1]
                frame.modules["hubconf"] = "hubconf"
                yield "hubconf"
            self._ask_for_release(call, frame)
            self._ask_for_backends(call, frame)
            if (its := self._callee(call, frame)) is not None:
                yield from self._call(its, call, frame)
            elif isinstance(call.func, ast.Attribute) and (found := self._object(call.func.value, frame)) is not None:
                self._ask_for_attribute(found, call.func.attr, call.lineno, frame, called=True)
        return True

    def note_object(self, node: ast.stmt, frame: Frame) -> None:
        """Note what object a statement binds to a name, or returns."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if found := self._object(value, frame):
                rows = (row for row in frame.text.splitlines() if "global " in row or "nonlocal " in row)
                if not any(name in re.findall(r"\w+", row) for row in rows):
                    frame.instances[name] = found
            case ast.Return(value=ast.expr() as value):
                frame.result = self._object(value, frame)

    def note_entered(self, item: ast.withitem, frame: Frame) -> None:
        """Note what object a ``with`` binds to a name: one that returns itself."""
        match item:
            case ast.withitem(context_expr=ast.Call() as made, optional_vars=ast.Name(id=name)):
                found = self._object(made, frame)
                enters = self._code.method(found.its, "__enter__") if found and found.its else None
                match enters.node.body[-1] if enters else None:
                    case ast.Return(value=ast.Name(id="self")) if found:
                        frame.instances[name] = found

    def _object(self, node: ast.expr, frame: Frame) -> Object | None:
        """Return what is known of the object that an expression gives; None for nothing."""
        match node:
            case ast.Name(id=name):
                return frame.instances.get(name)
            case ast.Call() if frame.scope is not None:
                if node in self._results:
                    return self._results[node]
                its, by = self._class_of(node, frame), self._name_of(node.func, frame)
                return Object(its, by) if its or by else None
        return None

    def _name_of(self, called: ast.expr, frame: Frame) -> str:
        """Return the full name of what a call calls: a function of a module, or the method of an object that has such a name."""
        match called:
            case ast.Attribute(value=ast.Call() as inner, attr=name):
                found = self._object(inner, frame)
                return f"{found.by}.{name}" if found and found.by else ""
        first, *rest = chain_of(called) or ("",)
        found = frame.instances.get(first)
        if (
            frame.modules.get(first, "").startswith("tensorflow.keras")
            and self._doing.module("tensorflow.keras").kind == "none"
        ):
            return ""  # tf_keras stands in its place
        return ".".join((base, *rest)) if (base := frame.modules.get(first) or (found.by if found else "")) else ""

    def _class_of(self, made: ast.Call, frame: Frame) -> Class | None:
        """Return the class of what a call makes: it calls the class, or a function that says what it returns."""
        chain = chain_of(made.func)
        is_own = bool(chain) and chain[0] in frame.own and chain[0] not in frame.modules
        if frame.scope is None or (is_own and chain[0] not in frame.instances):
            return None
        if chain and not is_own and (its := self._code.class_at(frame.scope, frame.modules, chain)) is not None:
            return its
        called = self._callee(made, frame)
        return self._code.returned(called) if called else None

    def look_up(self, expression: ast.AST, frame: Frame) -> None:
        """Raise Ended where an expression takes of an object by its name what objects of this class do not have."""
        for line, (first, *names) in attribute_chains(expression) if frame.is_program and frame.instances else ():
            found = frame.instances.get(first)
            if (
                names and found is not None and not (found.its and found.its.is_base)
            ):  # one of a class below may have more
                self._ask_for_attribute(found, names[0], line, frame, called=False)

    def _ask_for_attribute(self, found: Object, name: str, line: int, frame: Frame, *, called: bool) -> None:
        """Raise Ended where an object of another package's class surely has no attribute of this name."""
        its = found.its
        if its is not None and its.scope.dotted.partition(".")[0] == frame.name.partition(".")[0]:
            return
        own = f"{its.scope.dotted.partition('.')[0]}.{its.node.name}" if its else ""
        wanted = class_that_gave_up(found.by, own, name, self._doing.given_up)
        if not wanted and its is not None and self._code.lacks_attribute(its, name, called=called):
            wanted = f"{its.scope.dotted}.{its.node.name}"
        if wanted and not self._doing.is_replaced(f"{wanted.rpartition('.')[2]}.{name}"):
            frame.lines[0] = line
            top = wanted.partition(".")[0]
            raise self._doing.end("no name", frame, wanted, self._doing.module(top), name, "AttributeError")

    def _callee(self, call: ast.Call, frame: Frame) -> Callee | None:
        match call.func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr=name):
                first = frame.instances.get("self")
                if first is None or first.its is None or frame.owner is None:
                    return None
                return self._code.method(first.its, name, behind=frame.owner)
            case ast.Attribute(value=ast.Call() as made, attr=name):
                found = self._object(made, frame)
                return self._code.method(found.its, name) if found and found.its else None
        chain = chain_of(call.func)
        if not chain or frame.scope is None:
            return None
        if len(chain) == 2 and chain[0] in frame.instances:
            its = frame.instances[chain[0]].its
            return self._code.method(its, chain[1]) if its else None
        if chain[0] in frame.own and chain[0] not in frame.modules:
            return None
        return self._code.callee(frame.scope, frame.modules, chain)

    def _call(self, its: Callee, call: ast.Call, frame: Frame) -> Steps:
        frame.lines[0] = call.lineno
        mine, top = frame.name.partition(".")[0], its.scope.dotted.partition(".")[0]
        key = its.scope.path, its.node.body[0].lineno
        try:
            if top != mine:
                self._check_arguments(its, call, frame, top)
            if key not in self._active and frame.depth < MOST_DEPTH and self._made < MOST_CALLS:
                self._made += 1
                self._active.append(key)
                inner = self._inner(its, call, frame)
                try:
                    yield from self._doing.block(its.node.body, inner)
                finally:
                    self._active.remove(key)
                if inner.result is not None and sum(isinstance(n, ast.Return) for n in walk(its.node)) == 1:
                    self._results[call] = inner.result
        except Ended as e:
            if any(map(self._doing.is_replaced, names_of(its))):
                return True
            if e.what is None or e.what.call or not frame.is_program or top == mine:
                raise
            at = path_text(f"{frame.path}:{call.lineno}")
            what = msgspec.structs.replace(e.what, call=its.name, called_at=at)
            if (
                what.name and not what.function and what.kind in ("refused", "no parameter")
            ):  # by the function itself: this line asks for it
                what = msgspec.structs.replace(
                    what, function=its.name, importer=path_text(frame.path), line=call.lineno, asked_by="", called_at=""
                )
            raise Ended(what, e.error) from None
        frame.lines[0] = call.lineno
        return True

    def _check_arguments(self, its: Callee, call: ast.Call, frame: Frame, top: str) -> None:
        """Raise Ended where a function of another package does not take a keyword of a call, or as many arguments by place, or must be given
        another one.
        """
        taken = parameters(its)
        words = [] if taken is None else [w for w in _keywords(call, frame) if w not in taken]
        if not words and (several := too_many_places(its, call)) and self._code.is_bare(its):
            words.append(f"*{several}")
        if not words and self._code.is_plain(its) and (lacking := lacking_argument(its, call)):
            words.append(f"+{lacking}")
        if words:
            ended = self._doing.end("no parameter", frame, top, self._doing.module(top), words[0])
            if ended.what is not None:
                inherited = its.owner is not None and its.of is not None and its.owner.node is not its.of.node
                inner = () if its.node.name == "__init__" else (its.node.name,)
                made = ".".join((top, its.owner.node.name, *inner)) if inherited and its.owner else its.name
                ended = Ended(msgspec.structs.replace(ended.what, function=made), ended.error)
            raise ended

    def _inner(self, its: Callee, call: ast.Call, frame: Frame) -> Frame:
        """Return the frame of a function that is called."""
        scope, args = its.scope, its.node.args
        names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if a]
        own = frozenset((*names, *stored_names(its.node.body)))
        made = Frame(
            name=scope.dotted,
            path=scope.path,
            package=scope.package,
            text=scope.text,
            modules=dict(scope.modules),
            values=dict(scope.values),
            releases={name: (module,) for name, module in scope.sources.items()},
            annotated=False,
            scope=scope,
            is_program=frame.is_program and scope.path == frame.path,
            depth=frame.depth + 1,
            own=own,
            owner=its.owner,
        )
        for name in (n for n in scope.modules if SAYS_WHETHER.search(n)):
            value, missing = self._code.availability(scope, name)
            made.values |= {name: value} if missing else {}
            made.releases |= {name: (missing,)} if missing else {}
        made.forget(own)
        if args.kwarg and (out := taken_out(its.node, args.kwarg.arg)) is not None:
            left = [word for word in _keywords(call, frame) if word not in names and word not in out]
            made.passed_on[args.kwarg.arg] = tuple(left)
        made.values |= given_values(its, call, lambda node: value_of(node, frame.known, self._doing))
        given = given_values(its, call, lambda node: self._object(node, frame) or UNKNOWN)
        made.instances |= {name: found for name, found in given.items() if isinstance(found, Object)}
        if its.of is not None and its.is_bound and (args.args or its.fields):
            made.instances[args.args[0].arg if args.args else "self"] = Object(its.of)
        return made

    def _ask_for_release(self, call: ast.Call, frame: Frame) -> None:
        """Raise Ended where a call asks for the release of a distribution that is not installed."""
        match chain_of(call.func), call.args:
            case [first, *rest], [ast.Constant(value=str(name))] if first in frame.modules:
                if ".".join((frame.modules[first], *rest)) not in (
                    "importlib.metadata.version",
                    "importlib_metadata.version",
                ):
                    return
                module = module_of(name)
                if frame.depth and self._doing.is_installed(module) is False and not self._doing.is_recorded(name):
                    frame.lines[0] = call.lineno
                    raise self._doing.end("absent", frame, module, self._doing.module(module))

    def _ask_for_backends(self, call: ast.Call, frame: Frame) -> None:
        """Raise Ended where a class is a stand-in for one whose backend is not installed, or a function asks for one by itself."""
        chain = chain_of(call.func)
        if not chain or chain[0] not in frame.modules:
            return
        dotted = ".".join((frame.modules[chain[0]], *chain[1:]))
        if chain[-1] == _ASKS_FOR_BACKENDS and len(call.args) == 2 and frame.depth:
            if missing := self._code.missing_backend(quoted_words(call.args[1])):
                frame.lines[0] = call.lineno
                raise self._doing.end("absent", frame, missing, self._doing.module(missing))
            return
        names = dotted.split(".")
        if frame.is_program and len(names) > 1 and (its := self._code.stand_in(".".join(names[:2]))) is not None:
            scope, node, missing = its
            by = Frame(scope.dotted, scope.path, scope.package, scope.text, lines=[node.lineno])
            ended = self._doing.end("absent", by, missing, self._doing.module(missing))
            if ended.what is None:
                raise ended
            at = path_text(f"{frame.path}:{call.lineno}")
            raise Ended(msgspec.structs.replace(ended.what, call=dotted, called_at=at), "ImportError")


_ASKS_FOR_BACKENDS = "requires_backends"
"""The function by which transformers, diffusers and their like raise ImportError for a backend that is not installed."""


def _keywords(call: ast.Call, frame: Frame) -> list[str]:
    """Return the keywords that a call gives, as far as they are known."""
    found: list[str] = []
    for word in call.keywords:
        match word.arg, word.value:
            case str(name), _:
                found.append(name)
            case None, ast.Name(id=several):
                found += frame.passed_on.get(several, ())
    return found
