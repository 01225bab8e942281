"""Follow the imports of modules from file to file, as this environment's search finds them, to the import that fails.

Files are only read. Every statement that Python surely reaches is followed; functions and open conditions are ignored, so a
reported fault stops the real import, but other imports may fail, too. Of frameworks, which have ten megabytes of source, only
lines at the left margin are read; before a fault is reported, Python's own parser must confirm each of them.

Sources: https://docs.python.org/3/reference/import.html and Lib/importlib/_bootstrap.py of CPython, _handle_fromlist.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

import msgspec

from core.common.late_pattern import late_pattern
from core.knowledge.modules import KnownModule, module_of
from core.model.facts import Distribution, EndedImport, path_text
from core.model.facts.closure import Edge
from core.probes.python.absence import Absence
from core.probes.python.bound_names import ends_with_raise, stored_names
from core.probes.python.dotted_modules import (
    NONE,
    DottedModules,
    Module,
    package_of,
)
from core.probes.python.endings import Endings
from core.probes.python.evaluation import (
    UNKNOWN,
    answer,
    catches,
    chains,
    defined,
    handler_of_unbound_name,
    has_future_annotations,
    is_harmless,
    may_return,
    name_of_error,
    value_of,
)
from core.probes.python.followed_frame import Ended, Frame, Steps
from core.probes.python.generated_code import SWITCHES, refused_at
from core.probes.python.gone_files import module_stem
from core.probes.python.module_text import (
    absolute,
    attributes_of,
    behind_docstring,
    has_blocks,
    has_guard,
    imported,
    imports_at_the_margin,
    modules_bound,
    taken_at_the_margin,
    top_level_lines,
)
from core.probes.python.modules import ModuleSearch
from core.probes.python.standard_importers import importers_in_python
from core.probes.python.time_limit import TimeLimit
from core.probes.python.unfit_extensions import NOTHING_SUSPECT, Suspects
from core.probes.sysroot import Sysroot

LIBRARY = late_pattern(r"\.(?:so|dll|pyd)\b")

PROTOBUF = "google.protobuf"

_ERRORS = {
    "no name": "ImportError",
    "foreign": "ModuleNotFoundError",
    "damaged": "SyntaxError",
    "unreadable": "PermissionError",
    "byte code": "EOFError",
}


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("/", "\\")


class Follower:
    """The modules of one environment, each followed once."""

    def __init__(
        self,
        search: ModuleSearch,
        distributions: tuple[Distribution, ...],
        where: Sysroot,
        left: int,
        *,
        closed: frozenset[str] = frozenset(),
        only: frozenset[str] = frozenset(),
        whole: frozenset[str] = frozenset(),
        suspects: Suspects = NOTHING_SUSPECT,
        end: tuple[float, float] | None = None,
        known: Iterable[str] = (),
    ) -> None:
        self._search, self._distributions, self._where = search, distributions, where
        self._found = DottedModules(search, where, left)
        self._closed, self._only, self._whole = closed, only, whole
        """Modules at the top level: those that are followed elsewhere, of which only what others enter is read; if any, the only
        ones that are followed; and those of which every statement is read. Of all others the left margin is."""
        self.limit = TimeLimit(end)
        self._entered: dict[str, Ended | None] = dict.fromkeys(known)
        """Modules that were entered, each with where its import ends; ``known``: those that another follower came through."""
        self._start = ""
        self._asked: list[str] = []
        """Modules whose release the evaluation of expressions came to."""
        self._first_start: dict[str, str] = {}
        """Files that were followed -> the module whose import came to them first."""
        self._proofs: dict[str, frozenset[int]] = {}
        self.endings = Endings(search, distributions, where, self._found, suspects)
        self._absence = Absence(search, where, self._found, self.endings)
        self._unfit = {one.path for one in suspects.unfit}
        self._careful = {one.dotted.partition(".")[0] for one in suspects.unfit if one.owner and not one.is_library}
        self._careful |= {self._top_of(one.path) for one in (*suspects.gone, *suspects.odd)}
        self._found.of_other_text = {b.source: b.path for b in suspects.byte_code if b.state == "other text"}
        self._byte_code = {b.source or b.path for b in suspects.byte_code if b.state != "other text"}
        wanted = {*suspects.lacking, *suspects.hidden, *(one.dotted for one in suspects.unfit if not one.owner)}
        self._found.lacking = frozenset(suspects.lacking)
        self._found.of_python = importers_in_python(wanted, search, where) if wanted else frozenset()

    @property
    def followed(self) -> frozenset[str]:
        """The modules whose imports were followed to their ends, and do not fail."""
        return frozenset(name for name, ended in self._entered.items() if ended is None)

    @property
    def may_read(self) -> bool:
        """Whether more source may be read."""
        return self._found.left > 0

    def follow_framework(self, row: KnownModule, distribution: Distribution) -> EndedImport | None:
        """Return where the import of a framework ends; None where nothing shows that it does."""
        its = self._found.find(row.module)
        if its.kind in ("none", "namespace"):
            return self.endings.at_missing_framework(row, distribution, its)
        try:
            self._run(row.module)
            for name in row.code_imports:
                self._from_code(row.module, name)
        except Ended as e:
            return e.what
        return None

    def follow(self, start: str) -> EndedImport | None:
        """Return where the import of any module ends; None where nothing shows that it does."""
        try:
            self._run(start)
        except Ended as e:
            return e.what
        return None

    def import_that_opens(
        self, path: str, distribution: str, version: str, lacks: Edge | None = None
    ) -> tuple[EndedImport, str] | None:
        """Return the end at a library whose name a followed module of its package spells, and the start that led there.

        ``lacks``: what the library does not get; None for one that is lost itself.
        """
        name = self._where.name(path)
        spelt = re.compile(rf"{re.escape(name)}[\"']")
        tops = {self._top_of(path), module_of(distribution)}
        for by, start in self._first_start.items():
            text = self._found.texts.get(by, "")
            if not LIBRARY.search(name) and self._dotted(by) not in tops:
                continue  # a program that a package needs at its start is asked for there
            if name in text and self._top_of(by) in tops and spelt.search(text):
                edge = lacks or Edge(name=name, wanted_by=path_text(by), state="absent")
                ended = self.endings.describe("unfit", "", 0, self._dotted(by), Module("module", by))
                owner = f"{distribution} {version}"
                return msgspec.structs.replace(ended, edge=edge, recorded=lacks is None, owner=owner), start
        return None

    def _dotted(self, path: str) -> str:
        """Return the name by which a file of a package is imported."""
        entry = next((e.path for e in self._search.search.entries if _is_below(path, e.path)), "")
        inner = module_stem(path)[len(entry) :].strip("/")
        return inner.removesuffix("/__init__").replace("/", ".")

    def _top_of(self, path: str) -> str:
        return self._dotted(path).partition(".")[0]

    def imported_by_code(self, framework: str, module: str) -> EndedImport | None:
        """Return where the import of a module ends whose name a framework has from elsewhere; None where nothing shows that it does."""
        try:
            self._from_code(framework, module)
        except Ended as e:
            return e.what
        return None

    def _from_code(self, framework: str, name: str) -> None:
        """Enter what a framework imports without a statement of that name."""
        if self._found.find(name).kind in ("none", "namespace", "foreign"):
            importer = self._found.find(framework).path
            ended = self.endings.describe("absent", importer, 0, name, self._found.find(name))
            raise Ended(ended, "ModuleNotFoundError")
        self._run(name)

    # --- one module after another -------------------------------------------------------------------------------------

    def _run(self, start: str) -> None:
        """Let modules do what they do, each as far as it asks for the next; on a stack of our own, since imports go deep.

        Raises:
            Ended: the import ends.
        """
        stack: list[tuple[Frame, Steps]] = []
        self._start = start
        sent, ended = self._begin(start, None, stack), None
        while stack and self._found.left > 0 and self.limit.allows_a_step():
            frame, steps = stack[-1]
            try:
                wanted = steps.throw(ended) if ended else steps.send(sent)  # type: ignore[arg-type]  # None begins one
                ended = None
            except StopIteration:
                stack.pop()
                sent, ended = True, None
                continue
            except Ended as e:
                stack.pop()
                self._entered[frame.name] = ended = e
                continue
            try:
                sent = self._begin(wanted, frame, stack)
            except Ended as e:
                ended = e
        for frame, _steps in stack:
            del self._entered[frame.name]  # The limit came first.
        if ended is not None and not stack:
            raise ended

    def _begin(self, dotted: str, by: Frame | None, stack: list[tuple[Frame, Steps]]) -> bool | None:
        """Put a module on the stack, and return None; whether it can be followed where there is nothing to do.

        Raises:
            Ended: there is no such module, or none that can be imported.
        """
        if dotted in self._entered:
            if (ended := self._entered[dotted]) is not None:
                raise ended
            return True
        its, top = self._found.find(dotted), dotted.partition(".")[0]
        if its.kind == "extension" and its.path in self._unfit:
            raise self._end("unfit", by, dotted, its)
        if (
            its.kind == "extension"
            and by
            and self._absence.is_in_the_way(its)
            and self._found.has_no_start(its, dotted)
        ):
            raise self._end("no module", by, dotted, its)
        if (its.kind == "foreign" and by) or (its.kind == "lacking" and by):
            raise self._end("foreign" if its.kind == "foreign" else "absent", by, dotted, its)
        if (
            its.kind == "none"
            and by
            and self._absence.is_surely_absent(dotted)
            and not self._absence.extends_path(by, dotted)
        ):
            raise self._end("absent", by, dotted, its)
        if its.path in self._byte_code:
            raise self._end("byte code", by, dotted, its)
        if its.kind not in ("package", "module") or its.path in self._found.of_other_text:
            return its.kind == "namespace" or its.path in self._found.of_other_text
        if self._only and top not in self._only:
            return True
        if top in self._closed and (by is None or by.name.partition(".")[0] in self._closed):
            return True
        self._entered[dotted] = None
        text = self._found.text(its)
        self._first_start.setdefault(its.path, self._start)
        if (by or self.endings.is_odd(its.path)) and (bad := self.endings.fault_of_content(dotted, its, text)):
            raise self._end(bad, by, dotted, its)
        frame = Frame(dotted, its.path, package_of(dotted, its), text)
        if by and (at := self._refused_by_protobuf(dotted, text)) is not None:
            frame.at = at
            self._entered[dotted] = ended = self._refused(frame, (PROTOBUF,), "TypeError")
            raise ended
        in_doubt = self._needs_a_parser(frame) if top in self._whole else bool(self._closed) and has_guard(text)
        whole = self._is_read_with_care(dotted, its) or in_doubt
        stack.append((frame, self._statements(frame) if whole else self._margin(frame)))
        return None

    def _refused_by_protobuf(self, dotted: str, text: str) -> int | None:
        """Return where in a module the installed protobuf surely raises, since the module was generated for another release."""
        if not dotted.endswith("_pb2") or dotted.startswith(PROTOBUF) or self._search.search.any_protobuf:
            return None
        at = refused_at(
            text, self.release(PROTOBUF), compiled=self._found.find("google._upb._message").kind == "extension"
        )
        others = (t for path, t in self._found.texts.items() if "protobuf" not in path) if at is not None else ()
        return None if any(name in t for t in others for name in SWITCHES) else at  # a module may set the variable

    def _needs_a_parser(self, frame: Frame) -> bool:
        """Whether a module does more than import, or names something that a module may lack: most do not, and parsing takes time."""
        if has_blocks(frame.text):
            return True
        names: dict[str, str] = {}
        for step in imports_at_the_margin(frame.text, behind_docstring(frame.text)):
            names |= modules_bound(step, frame.package)
        known = {
            name: module for name, module in names.items() if self._found.find(module).kind in ("package", "module")
        }
        named = attributes_of(frame.text, known)
        return any(self._absence.lacking_part(known[first], rest, frame, by_text=True) for first, *rest in named)

    def _margin(self, frame: Frame) -> Steps:
        """Do the imports at the left margin; one that ends counts where it is a statement of the top level. So does a class, or a
        decorator, of something that another package's module lacks.
        """
        start, names_of = behind_docstring(frame.text), dict[str, str]()
        for step in imports_at_the_margin(frame.text, start):
            frame.at = step.start()
            names_of |= modules_bound(step, frame.package)
            for module, names in imported(step, frame.package):
                try:
                    yield from self._import(frame, module, names)
                except Ended:
                    if frame.path not in self._proofs:
                        self._proofs[frame.path] = top_level_lines(frame.text)
                    if frame.where in self._proofs[frame.path]:
                        raise
        self._look_at_the_margin(frame, start, names_of)
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
                raise self._end(
                    "no name", frame, lacking[0], self._found.find(lacking[0]), lacking[1], "AttributeError"
                )

    def _import(self, frame: Frame, module: str, names: tuple[str, ...] | None) -> Steps:
        """Enter a module and those above it, and take names of it; None for ``import module``."""
        parts = module.split(".")
        for n in range(1, len(parts) + 1):
            if not (yield ".".join(parts[:n])):
                return True
        its = self._found.find(module)
        if names and names != ("*",) and self.endings.is_closed(its):
            raise self._end("absent", frame, module, its)
        for name in names or ():
            inner = self._found.find(f"{module}.{name}") if its.folders else NONE
            if inner.kind not in ("none", "foreign"):
                if module in (frame.name, frame.package) or not self._found.binds(its, name):
                    yield f"{module}.{name}"
            elif inner.kind == "foreign":
                raise self._end("foreign", frame, f"{module}.{name}", inner)
            elif self._absence.is_gone(its, name) and not self._absence.has_another(its, name):
                raise self._end("absent", frame, f"{module}.{name}", its)
            elif its.folders and "meta_path" in self._found.text(its):
                continue  # It may serve modules of its own: setuptools does in pkg_resources.extern.
            elif self._absence.is_anothers(module, its, frame) and self._found.lacks(module, its, name):
                raise self._end("no name" if its.kind != "namespace" else "absent", frame, module, its, name)
        return True

    # --- statements ---------------------------------------------------------------------------------------------------

    def _statements(self, frame: Frame) -> Steps:
        """Do what a module surely does."""
        try:
            body = ast.parse(frame.text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return True
        frame.annotated = not has_future_annotations(body) and self.python < (3, 14)
        yield from self._block(body, frame)
        return True

    def _block(self, body: Iterable[ast.stmt], frame: Frame) -> Steps:
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
            case ast.Return():
                return False
            case ast.Raise(exc=raised):
                raise self._refused(frame, frame.refused, name_of_error(raised))
            case ast.Assert(test=test):
                self._look_up(test, frame)
                its, releases = self._judged(test, frame)
                if its is False and releases:
                    raise self._refused(frame, releases, "AssertionError")
            case ast.Try():
                return (yield from self._try(node, frame))
            case ast.If():
                return (yield from self._if(node, frame))
            case ast.With(body=inner) if is_harmless(node):
                return (yield from self._block(inner, frame))
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._definition(node, frame)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[], keywords=[])) if (
                name in frame.functions and not any(ast.iter_child_nodes(frame.functions[name].args))
            ):
                its_body = frame.functions[name].body
                yield from self._block(its_body, frame.inner(stored_names(its_body)))
            case _:
                self._others(node, frame)
                return not isinstance(node, ast.For | ast.While | ast.With | ast.Match) or not may_return(node)
        return True

    def _if(self, node: ast.If, frame: Frame) -> Steps:
        """Do the branch that is taken, if that is known."""
        self._look_up(node.test, frame)
        its, releases = self._judged(node.test, frame)
        if its is None:
            frame.forget(stored_names([node]))
            return not may_return(node)
        before, frame.refused = frame.refused, releases or frame.refused
        try:
            return (yield from self._block(node.body if its else node.orelse, frame))
        finally:
            frame.refused = before

    def _judged(self, test: ast.expr, frame: Frame) -> tuple[bool | None, tuple[str, ...]]:
        """Return the truth of a condition, None where that is open, and the modules whose releases it compares."""
        self._asked.clear()
        its = answer(test, frame.known, self)
        return its, self._releases_in(test, frame)

    def _releases_in(self, expression: ast.expr, frame: Frame) -> tuple[str, ...]:
        """Return the modules whose releases an expression has come to that was just evaluated."""
        names = (node.id for node in ast.walk(expression) if isinstance(node, ast.Name)) if frame.releases else ()
        return tuple(dict.fromkeys((*self._asked, *(m for name in names for m in frame.releases.get(name, ())))))

    def _refused(self, frame: Frame, modules: tuple[str, ...], error: str) -> Ended:
        """Return the end at a line that raises; without a release that it is for, nothing is told of it."""
        if not modules:
            return Ended(None, error)
        return self._end("refused", frame, modules[0], self._found.find(modules[0]), error=error or "Exception")

    def _import_statement(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> Steps:
        if isinstance(node, ast.Import):
            for one in node.names:
                yield from self._import(frame, one.name, None)
                first = one.name.partition(".")[0]
                frame.bind(one.asname or first, one.name if one.asname else first)
            return True
        module = absolute(node.level, node.module or "", frame.package)
        if module and (node.level or module != "__future__"):
            yield from self._import(frame, module, tuple(one.name for one in node.names))
            for one in node.names:
                frame.bind(one.asname or one.name, f"{module}.{one.name}")
        return True

    def _definition(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> Steps:
        for expression in defined(node, annotated=frame.annotated):
            self._look_up(expression, frame)
        if isinstance(node, ast.ClassDef):
            yield from self._block(node.body, frame.inner(stored_names(node.body)))
        frame.forget([node.name])
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            frame.functions[node.name] = node
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
            return (yield from self._block(surely.body, frame))
        goes_on = True
        try:
            goes_on = yield from self._block(node.body, frame)
        except Ended as e:
            caught = [(h, catches(h, e.error)) for h in node.handlers]
            handler, its = next(((h, its) for h, its in caught if its is not False), (None, False))
            if handler is None:
                raise
            frame.forget(stored_names([node]))
            if its:
                try:
                    goes_on = yield from self._block(handler.body, frame)
                except Ended as again:
                    raise (e if again.what is None else again) from None
        else:
            sure = all(ends_with_raise(h.body) for h in node.handlers)
            if not sure:
                frame.forget(stored_names([node]))
            elif goes_on:
                goes_on = yield from self._block(node.orelse, frame)
        if node.finalbody and goes_on:
            goes_on = yield from self._block(node.finalbody, frame)
        return goes_on

    def _look_up(self, expression: ast.AST, frame: Frame) -> None:
        """Follow names through the modules that they go through, to what the last of them should have.

        Raises:
            Ended: a module surely lacks it.
        """
        for line, (first, *names) in chains(expression) if frame.modules else ():
            if first in frame.modules and (lacking := self._absence.lacking_part(frame.modules[first], names, frame)):
                module, name = lacking
                frame.lines[0] = line
                raise self._end("no name", frame, module, self._found.find(module), name, "AttributeError")

    # --- what conditions ask for --------------------------------------------------------------------------------------

    @property
    def python(self) -> tuple[int, int]:
        """The interpreter's release."""
        return self._search.python

    @property
    def platform(self) -> str:
        """sys.platform."""
        return {"windows": "win32"}.get(self._where.system, self._where.system)

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

    # --- what is lacking ----------------------------------------------------------------------------------------------

    def _is_read_with_care(self, dotted: str, its: Module) -> bool:
        """Whether imports in a try count, too: of packages with an extension module that does not load, of Python's own, and of a module
        in front of an installed one that has another text.
        """
        if dotted.partition(".")[0] in self._careful or self._absence.is_unlike_its_twin(its):
            return True
        entries = self._search.search.entries
        at = its.entry
        return bool(self._found.of_python) and 0 <= at < len(entries) and entries[at].origin == "standard library"

    def _end(  # noqa: PLR0917 - what it tells
        self, kind: str, by: Frame | None, wanted: str, its: Module, name: str = "", error: str = ""
    ) -> Ended:
        """Return the end of an import at the line that a module has come to."""
        importer, line = (by.path, by.where) if by else ("", 0)
        if kind == "no name" and self.endings.is_odd(its.path):
            kind, name = "damaged", ""  # What is asked for was recorded, and is cut off.
        ended = self.endings.describe(kind, importer, line, wanted, its, name)
        if not error:
            error = "ModuleNotFoundError" if kind == "absent" and not name else _ERRORS.get(kind, "ImportError")
        return Ended(ended, error)
