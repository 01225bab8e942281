"""What the text of a module does as it is imported: the modules that it enters, the names that it takes of them, and where it raises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

import msgspec

from core.common.syntax_tree import chain_of, statements_of
from core.knowledge.modules import module_of
from core.model.facts import Distribution
from core.probes.python.following.absence import Absence
from core.probes.python.following.called_code import CalledCode
from core.probes.python.following.callees import sure_calls
from core.probes.python.following.calls import Calls
from core.probes.python.following.dotted_modules import NONE, DottedModules, Module
from core.probes.python.following.endings import Endings
from core.probes.python.following.followed_frame import Ended, Frame, Steps
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.text.bound_names import stored_names
from core.probes.python.text.evaluation import (
    UNKNOWN,
    attribute_chains,
    catches_error,
    definition_expressions,
    ends_program,
    ends_with_raise,
    evaluated,
    handler_of_unbound_name,
    has_future_annotations,
    is_harmless,
    may_return,
    name_of_error,
    swallows_errors,
    truth_of,
    value_of,
)
from core.probes.python.text.listed_modules import listed_modules
from core.probes.python.text.module_text import (
    absolute_name,
    behind_docstring,
    imported_names,
    imports_at_the_margin,
    modules_bound,
    modules_imported,
    taken_at_the_margin,
    top_level_lines,
)
from core.probes.sysroot import Sysroot


def _tried_first(again: Ended, e: Ended) -> Ended:
    """Return an end in the handler of an import, with the whole module that the import does not find; one that raises tells of this alone."""
    if again.what is None or (again.what.kind == "refused" and again.what.name and e.what):
        return e
    if e.what is None or e.what.kind != "absent" or "." in e.what.wanted or e.what.path:
        return again
    return Ended(msgspec.structs.replace(again.what, tried_first=e.what.wanted), again.error)


IMPORTS_BY_NAME = ("__import__", "import_module")
"""Functions that import the module whose name they are given."""

_ERRORS = {
    "no name": "ImportError",
    "foreign": "ModuleNotFoundError",
    "damaged": "SyntaxError",
    "unreadable": "PermissionError",
    "byte code": "EOFError",
    "no parameter": "TypeError",
}


class Statements:
    """Does the statements of modules, one module at a time: each yields the modules that it enters, and is told what came of it."""

    def __init__(  # noqa: PLR0917 - what the follower of one environment has
        self,
        search: ModuleSearch,
        distributions: tuple[Distribution, ...],
        where: Sysroot,
        found: DottedModules,
        endings: Endings,
        absence: Absence,
        entered: Mapping[str, Ended | None],
    ) -> None:
        self._search, self._distributions, self._where = search, distributions, where
        self._found, self._endings, self._absence = found, endings, absence
        self._entered = entered
        """Modules that were entered, each with where its import ends: most of what an import enters was entered before."""
        self._asked: list[str] = []
        """Modules whose release the evaluation of expressions came to."""
        self._by_name: dict[str, bool] = {}
        """Files -> whether they spell a function that imports by name."""
        self._proofs: dict[str, frozenset[int]] = {}
        """Files -> the lines on which statements of the top level begin."""
        self._calls = Calls(CalledCode(found, self), self)
        self.asking: Frame | None = None
        """The frame whose statement asks for a module: that of the function, where a program calls one."""

    def margin(self, frame: Frame) -> Steps:
        """Do the imports at the left margin; one that ends counts where it is a statement of the top level. So does a class, or a
        decorator, of something that another package's module lacks.
        """
        start, names_of = behind_docstring(frame.text), dict[str, str]()
        for step in imports_at_the_margin(frame.text, start):
            frame.at = step.start()
            names_of |= modules_bound(step, frame.package)
            for module, names in imported_names(step, frame.package):
                try:
                    yield from self._import(frame, module, names)
                except Ended:
                    if frame.path not in self._proofs:
                        self._proofs[frame.path] = top_level_lines(frame.text)
                    if frame.where in self._proofs[frame.path]:
                        raise
        self._look_at_the_margin(frame, start, names_of)
        yield from self._listed(frame)
        return True

    def _listed(self, frame: Frame) -> Steps:
        """Enter what a package imports because it lies in its folder."""
        folder = self._where.parent(frame.path)
        for line, module in listed_modules(frame.text, frame.package, self._search.names(folder)):
            frame.lines[0] = line
            yield from self._import(frame, module, None)
        frame.lines[0] = 0
        return True

    def _look_at_the_margin(self, frame: Frame, start: int, names_of: Mapping[str, str]) -> None:
        """Look up what classes and decorators take of another package, and any statement of a module that has another text than the one
        that it hides.

        Raises:
            Ended: a module surely lacks it.
        """
        own, others_twin = frame.name.partition(".")[0], self._absence.has_twins()
        for at, defines, (first, *names) in (
            taken_at_the_margin(frame.text, start, definitions=not others_twin) if names_of else ()
        ):
            module = names_of.get(first, frame.name)
            others = defines and module.partition(".")[0] != own
            if module == frame.name or not (others or self._absence.is_unlike_its_twin(self._found.find(module))):
                continue
            if not (lacking := self._absence.lacking_part(module, names, frame)):
                continue
            frame.at = at
            if frame.path not in self._proofs:
                self._proofs[frame.path] = top_level_lines(frame.text)
            if frame.where in self._proofs[frame.path]:
                raise self.end("no name", frame, lacking[0], self._found.find(lacking[0]), lacking[1], "AttributeError")

    def _import(self, frame: Frame, module: str, names: tuple[str, ...] | None) -> Steps:
        """Enter a module and those above it, and take names of it; None for ``import module``."""
        parts = module.split(".")
        for n in range(1, len(parts) + 1):
            above = ".".join(parts[:n])
            self.asking = frame
            if self._is_to_enter(above) and not (yield above):
                self._refuse_given_up(frame, module, names or ())
                return True
        its = self._found.find(module)
        if names and names != ("*",) and self._endings.is_closed(its):
            raise self.end("absent", frame, module, its)
        for name in names or ():
            inner = self._found.find(f"{module}.{name}") if its.folders else NONE
            if inner.kind not in ("none", "foreign"):
                inner_name = f"{module}.{name}"
                if self._is_to_enter(inner_name) and (
                    module in (frame.name, frame.package) or not self._found.binds(its, name)
                ):
                    self.asking = frame
                    yield inner_name
            elif inner.kind == "foreign":
                raise self.end("foreign", frame, f"{module}.{name}", inner)
            elif self._absence.is_gone(its, name) and not self._absence.has_another(its, name):
                raise self.end("absent", frame, f"{module}.{name}", its)
            elif its.folders and "meta_path" in self._found.text(its):
                continue  # It may serve modules of its own: setuptools does in pkg_resources.extern.
            elif its.kind == "namespace" and self._absence.may_be_made(module):
                continue
            elif self._absence.is_in_the_way(self._found.find(frame.name)) and (
                home := self._found.lazy_home(module, its, name)
            ):
                yield from self._import(frame, home, (name,))
            elif self._absence.is_anothers(module, its, frame) and self._found.lacks(module, its, name):
                raise self.end("no name" if its.kind != "namespace" else "absent", frame, module, its, name)
        return True

    def _refuse_given_up(self, frame: Frame, module: str, names: Iterable[str]) -> None:
        """Raise Ended where a name is taken of Python's own library that this release of Python gave up."""
        its = self._found.find(module)
        for name in names if its.kind == "standard" else ():
            if self._found.lacks(module, its, name):
                raise self.end("no name", frame, module, its, name)

    def _is_to_enter(self, module: str) -> bool:
        """Whether entering a module does something: it was not entered, or its import ends."""
        return module not in self._entered or self._entered[module] is not None

    def whole(self, frame: Frame) -> Steps:
        """Do what a module surely does."""
        body = statements_of(frame.text)
        frame.annotated = not has_future_annotations(body) and self.python < (3, 14)
        if (yield from self.block(body, frame)):
            yield from self._listed(frame)
        return True

    def program(self, frame: Frame) -> Steps:
        """Do what a program surely does, and what the functions of packages that it calls do."""
        frame.scope, frame.is_program = self._calls.scope_of(frame), True
        frame.values["__name__"] = "__main__"
        yield from self.whole(frame)
        return True

    def block(self, body: Iterable[ast.stmt], frame: Frame) -> Steps:
        """Do statements; say whether Python may come to what follows them for certain."""
        for node in body:
            frame.lines[0] = node.lineno
            if not (yield from self._statement(node, frame)):
                return False
        return True

    def _statement(self, node: ast.stmt, frame: Frame) -> Steps:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from self._import_statement(node, frame)
            case ast.Return() | ast.Break() | ast.Continue():
                yield from self._leave(node, frame)
                return False
            case ast.For(iter=head) | ast.While(test=head) if frame.scope and frame.is_program:
                return (yield from self._loop(node, head, frame))
            case ast.Raise(exc=raised):
                raise self._raised(frame, name_of_error(raised))
            case ast.Assert(test=test):
                self._look_up(test, frame)
                its, releases = self._judged(test, frame)
                if its is False and releases:
                    raise self.refused(frame, releases, "AssertionError")
            case ast.Try():
                return (yield from self._try(node, frame))
            case ast.If():
                return (yield from self._if(node, frame))
            case ast.With() if is_harmless(node) or (frame.scope and not swallows_errors(node)):
                return (yield from self._with_statement(node, frame))
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._definition(node, frame)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[], keywords=[])) if (
                not frame.scope
                and name in frame.functions
                and not any(ast.iter_child_nodes(frame.functions[name].args))
                and frame.may_call()
            ):
                its_body = frame.functions[name].body
                yield from self.block(its_body, frame.inner(stored_names(its_body)))
            case _:
                yield from self._late(node, frame)
                yield from self._called(evaluated(node), frame)
                self._others(node, frame)
                self._calls.note_object(node, frame)
                return not isinstance(node, ast.For | ast.While | ast.With | ast.Match) or not may_return(node)
        return True

    def _leave(self, node: ast.Return | ast.Break | ast.Continue, frame: Frame) -> Steps:
        """Do what is left of a function, or of a turn of a loop."""
        if isinstance(node, ast.Return) and node.value is not None:
            yield from self._called(node.value, frame)
            self._look_up(node.value, frame)
            self._calls.note_object(node, frame)
        return True

    def _called(self, node: ast.expr | None, frame: Frame) -> Steps:
        """Make the calls that evaluating an expression surely makes: imports by name, and others where they are followed."""
        if frame.path not in self._by_name:
            self._by_name[frame.path] = any(way in frame.text for way in IMPORTS_BY_NAME)
        for call in (
            sure_calls(node, lambda test: truth_of(test, frame.known, self)) if self._by_name[frame.path] else ()
        ):
            match call:
                case ast.Call(args=[ast.Constant(value=str(name))], keywords=[]) if self._imports(call, name, frame):
                    frame.lines[0] = call.lineno
                    yield from self._import(frame, name, None)
        yield from self._calls.made_by(node, frame)
        return True

    @staticmethod
    def _imports(call: ast.Call, name: str, frame: Frame) -> bool:
        """Whether a call imports a module of this name: by ``__import__``, or by ``importlib.import_module``."""
        if not all(part.isidentifier() for part in name.split(".")):
            return False
        first, *rest = chain_of(call.func) or ("",)
        if first == "__import__":
            return not rest and first not in frame.functions
        return ".".join((frame.modules.get(first, ""), *rest)) == "importlib.import_module"

    def _with_statement(self, node: ast.With, frame: Frame) -> Steps:
        for item in node.items:
            yield from self._called(item.context_expr, frame)
        frame.forget(stored_names(item.optional_vars for item in node.items if item.optional_vars))
        for item in node.items:
            self._calls.note_entered(item, frame)
        return (yield from self.block(node.body, frame))

    def _loop(self, node: ast.For | ast.While, head: ast.expr, frame: Frame) -> Steps:
        """Do a loop of a program, which is taken to run: its first turn."""
        yield from self._called(head, frame)
        self._look_up(head, frame)
        frame.forget(stored_names([node.target]) if isinstance(node, ast.For) else ())
        if isinstance(node, ast.For) or truth_of(head, frame.known, self) is not False:
            yield from self.block(node.body, frame)
            frame.forget(stored_names([node]))
        return not may_return(node)

    def _if(self, node: ast.If, frame: Frame) -> Steps:
        """Do the branch that is taken, if that is known."""
        yield from self._called(node.test, frame)
        self._look_up(node.test, frame)
        its, releases = self._judged(node.test, frame)
        words = frame.passed_on.get(node.test.id, ()) if isinstance(node.test, ast.Name) else ()
        if words and ends_with_raise(node.body):  # it takes no keyword that is left
            top = frame.name.partition(".")[0]
            raise self.end("no parameter", frame, top, self._found.find(top), words[0], "ValueError")
        if its is None:
            for one in node.body if frame.is_program and _asks_at_a_page(node.test, frame.modules) else ():
                if isinstance(one, ast.Expr | ast.Assign):
                    self._look_up(one, frame)
            frame.forget(stored_names([node]))
            return not may_return(node)
        before, frame.refused = frame.refused, releases or frame.refused
        try:
            return (yield from self.block(node.body if its else node.orelse, frame))
        finally:
            frame.refused = before

    def _judged(self, test: ast.expr, frame: Frame) -> tuple[bool | None, tuple[str, ...]]:
        """Return the truth of a condition, None where that is open, and the modules whose releases it compares."""
        self._asked.clear()
        its = truth_of(test, frame.known, self)
        return its, self._releases_in(test, frame)

    def _releases_in(self, expression: ast.expr, frame: Frame) -> tuple[str, ...]:
        """Return the modules whose releases an expression has come to that was just evaluated."""
        names = (node.id for node in ast.walk(expression) if isinstance(node, ast.Name)) if frame.releases else ()
        return tuple(dict.fromkeys((*self._asked, *(m for name in names for m in frame.releases.get(name, ())))))

    def _raised(self, frame: Frame, error: str) -> Ended:
        """Return the end at a statement that raises: in a function of a package that a program calls, it is what became of the function."""
        if frame.refused or frame.is_program or not frame.depth or not error:
            return self.refused(frame, frame.refused, error)
        top = frame.name.partition(".")[0]
        return self.end("refused", frame, top, self._found.find(top), error, error=error)

    def refused(self, frame: Frame, modules: tuple[str, ...], error: str) -> Ended:
        """Return the end at a line that raises; without a release that it is for, nothing is told of it."""
        if not modules:
            return Ended(None, error)
        if (its := self._found.find(modules[0])).kind == "none":
            return self.end("absent", frame, modules[0], its)
        return self.end("refused", frame, modules[0], self._found.find(modules[0]), error=error)

    def _import_statement(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> Steps:
        if isinstance(node, ast.Import):
            for one in node.names:
                yield from self._import(frame, one.name, None)
                first = one.name.partition(".")[0]
                frame.bind(one.asname or first, one.name if one.asname else first)
            return True
        module = absolute_name(node.level, node.module or "", frame.package)
        if module and (node.level or module != "__future__"):
            yield from self._import(frame, module, tuple(one.name for one in node.names))
            for one in node.names:
                frame.bind(one.asname or one.name, f"{module}.{one.name}")
                if self._found.is_loaded_late(module, one.name):
                    frame.late[one.asname or one.name] = f"{module}.{one.name}"
        return True

    def _definition(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> Steps:
        for expression in definition_expressions(node, annotated=frame.annotated):
            yield from self._called(expression, frame)
            self._look_up(expression, frame)
        if isinstance(node, ast.ClassDef):
            yield from self.block(node.body, frame.inner(stored_names(node.body)))
        frame.forget([node.name])
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            frame.functions[node.name] = node
        return True

    def _late(self, node: ast.stmt, frame: Frame) -> Steps:
        """Enter the modules that are loaded when something is taken of them, and of which this statement takes something."""
        if frame.late and isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign):
            for line, (first, *names) in attribute_chains(node):
                if first in frame.late and first in frame.modules and names:
                    frame.lines[0] = line
                    yield from self._import(frame, frame.late[first], None)
        return True

    def _others(self, node: ast.stmt, frame: Frame) -> None:
        """Look up what a statement takes of modules, and note or forget what it binds."""
        match node:
            case ast.Expr() | ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self._look_up(node, frame)
            case ast.For(iter=over):
                self._look_up(over, frame)
            case ast.With(items=items):
                self._look_up(items[0].context_expr, frame)
        frame.forget(stored_names([node]))
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._asked.clear()
            value = value_of(node.value, frame.known, self)
            if value is not UNKNOWN:
                frame.values[node.targets[0].id] = value
                if releases := self._releases_in(node.value, frame):
                    frame.releases[node.targets[0].id] = releases

    def _try(self, node: ast.Try, frame: Frame) -> Steps:
        """Do what is tried; where that surely ends, what the handler does that catches it."""
        if (surely := handler_of_unbound_name(node, frame.text)) is not None:
            return (yield from self.block(surely.body, frame))
        goes_on = True
        try:
            goes_on = yield from self.block(node.body, frame)
        except Ended as e:
            caught = [(h, catches_error(h, e.error)) for h in node.handlers]
            handler, its = next(((h, its) for h, its in caught if its is not False), (None, False))
            if handler is None:
                raise
            frame.forget(stored_names([node]))
            if its:
                if ends_program(handler.body):
                    raise
                try:
                    goes_on = yield from self.block(handler.body, frame)
                except Ended as again:
                    raise _tried_first(again, e) from None
                if e.what is not None:  # what the handler notes says that the module does not fit
                    top = e.what.wanted.partition(".")[0]
                    noted = [name for name in stored_names(handler.body) if name in frame.values]
                    frame.releases |= {name: (top,) for name in noted if name not in frame.releases}
        else:
            found = self._finds_all(node.body, frame)
            if not found and not all(ends_with_raise(h.body) for h in node.handlers):
                frame.forget(stored_names([node]))
            elif goes_on:
                goes_on = yield from self.block(node.orelse, frame)
        if node.finalbody and goes_on:
            goes_on = yield from self.block(node.finalbody, frame)
        return goes_on

    def _finds_all(self, body: Iterable[ast.stmt], frame: Frame) -> bool:
        """Whether statements are nothing but imports of modules with text, all of which were followed to their ends, and assignments of
        what is known: no handler runs.
        """
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) if name in frame.values:
                    continue
            wanted = modules_imported(node, frame.package)
            if not wanted or not all(self._found.find(name).kind in ("package", "module") for name in wanted):
                return False
        return True

    def _look_up(self, expression: ast.AST, frame: Frame) -> None:
        """Follow names through modules to what the last should have. Raises Ended where a module surely lacks it."""
        for line, (first, *names) in attribute_chains(expression) if frame.modules else ():
            if first in frame.modules and (lacking := self._absence.lacking_part(frame.modules[first], names, frame)):
                module, name = lacking
                frame.lines[0] = line
                raise self.end("no name", frame, module, self._found.find(module), name, "AttributeError")
        self._calls.look_up(expression, frame)

    # --- what conditions ask for --------------------------------------------------------------------------------------

    @property
    def python(self) -> tuple[int, int]:
        """The interpreter's release."""
        return self._search.python

    @property
    def platform(self) -> str:
        """sys.platform."""
        return {"windows": "win32"}.get(self._where.system, self._where.system)

    @property
    def given_up(self) -> frozenset[str]:
        """Full names that the installed releases no longer have, as the tables know."""
        return self._found.given_up

    def is_replaced(self, name: str) -> bool:
        """Whether a text that was read puts something else in the place of a function, a class or a method: "Client.send"."""
        last = name.rpartition(".")[2]
        spelt = name if last != name else f".{name}"
        assigned = re.compile(rf"(?m)^[ \t]*[\w.\[\]\"']*{re.escape(spelt)}[ \t]*=(?!=)")  # no annotation before it
        by_name = re.compile(rf"setattr\([^)\n]*[\"']{last}[\"']")
        return any(
            (spelt in text and assigned.search(text)) or ("setattr(" in text and last in text and by_name.search(text))
            for text in self._found.texts.values()
        )

    def is_recorded(self, distribution: str) -> bool:
        """Whether a distribution of this name is installed, by its folder of metadata."""
        return self._endings.is_recorded(distribution)

    def module(self, dotted: str) -> Module:
        """Return the module that a dotted name resolves to."""
        return self._found.find(dotted)

    def is_installed(self, module: str) -> bool | None:
        """Whether a module can be found; None where that is open."""
        kind = self._found.find(module).kind
        if kind == "none":
            return None if self._search.has_unknown_finders or "." in module else False
        return True if kind in ("package", "module", "standard") else None

    def release(self, module: str) -> str:
        """Return the release of what brings a module; empty where that is open."""
        its = next((d.version for d in self._distributions if module_of(d.name) == module), "")
        self._asked += [module] if its else []
        return its

    def end(  # noqa: PLR0917 - what it tells
        self, kind: str, by: Frame | None, wanted: str, its: Module, name: str = "", error: str | None = None
    ) -> Ended:
        """Return the end of an import at the line that a module has come to."""
        importer, line = (by.path, by.where) if by else ("", 0)
        if kind == "no name" and self._endings.is_odd(its.path):
            kind, name = "damaged", ""  # What is asked for was recorded, and is cut off.
        ended = self._endings.describe(kind, importer, line, wanted, its, name)
        if error is None:
            error = "ModuleNotFoundError" if kind == "absent" and not name else _ERRORS.get(kind, "ImportError")
        return Ended(ended, error)


def _asks_at_a_page(test: ast.expr, modules: Mapping[str, str]) -> bool:
    """Whether a condition asks Streamlit alone what somebody does at the page, or did: sooner or later it holds."""
    chains = [names for _line, names in attribute_chains(test)]
    return (
        bool(chains)
        and all(
            modules.get(first) == "streamlit" and not any("version" in name for name in rest) for first, *rest in chains
        )
        and not any(isinstance(node, ast.Name) and node.id in ("hasattr", "getattr") for node in ast.walk(test))
    )
