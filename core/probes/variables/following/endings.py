"""Variables whose values end code of packages: modules that read them are followed with the variables of each way of starting.

A variable counts only if the same code does not end without it.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from core.common.syntax_tree import statements_of
from core.common.versions import version_tuple
from core.model.facts import PythonEnvironment, Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.locations import working_folder
from core.probes.python.text.module_text import (
    behind_docstring,
    imported_names,
    imports_at_the_margin,
    modules_imported,
)
from core.probes.sysroot import Sysroot
from core.probes.variables.following.module_run import Ending, ModuleRun
from core.probes.variables.following.values import Around

MOST_TEXT = 2 << 20
MAX_SECONDS = 1.5
"""Seconds of the processor for all environments."""
MOST_WORLDS = 8
"""Different sets of variables that are tried: this session's, and those of ways of starting."""
MOST_REACHED = 200
"""Modules read to see whether a package's import comes to one."""


class Read(msgspec.Struct, frozen=True):
    """A module that may read some variables."""

    reader: str
    path: str
    names: frozenset[str]


def ended_by_variables(
    modules: Iterable[Read], python: PythonEnvironment, request: ProbeRequest, where: Sysroot, names: frozenset[str]
) -> Iterator[Vocabulary]:
    """Yield the values with which a module's import, or a function of it, surely ends; ``names``: every variable that is asked about."""
    followed = _Followed(list(modules), python, where, time.thread_time() + MAX_SECONDS)
    worlds = _worlds(request, names)
    for row in followed.rows:
        request.watch.check()
        if not row.module or time.thread_time() > followed.until or not any(n in row.text for n in names):
            continue
        for world in worlds:
            for ending in followed.endings(row, world):
                asked = [n for n in reversed(ending.read) if n in names and n in world]
                decisive = [n for n in asked if followed.works_without(n, ending, row, world)]
                if not decisive or time.thread_time() > followed.until:
                    continue
                reached = followed.is_called(row, ending) if ending.function else followed.is_imported(row, world)
                if not reached and not (ending.function or decisive[0] in row.names):
                    continue
                yield Vocabulary(
                    variable=decisive[0],
                    prefix=python.prefix,
                    files=(path_text(row.path),),
                    known=tuple(path_text(f"{n}={world[n]}") for n in decisive[1:]),
                    unknown=(path_text(world[decisive[0]]),),
                    takes="code",
                    line=ending.line,
                    reader=row.reader,
                    sure=reached,
                    says=path_text(f"{ending.kind}: {ending.says}" if ending.says else ending.kind),
                )


def _worlds(request: ProbeRequest, names: frozenset[str]) -> list[dict[str, str]]:
    """Return the different sets of variables, this session's first."""
    here = dict(request.env)
    found = [here]
    for start in request.seen.starts or ():
        its = {**here, **{v.name: v.value for v in start.variables}}
        for taken in start.taken:
            its.pop(taken.name, None)
        told = {n: v for n, v in its.items() if n in names}
        if all({n: v for n, v in w.items() if n in names} != told for w in found):
            found.append(its)
    return found[:MOST_WORLDS]


class _Row(msgspec.Struct, frozen=True):
    """A module that may read variables, with its text."""

    reader: str
    path: str
    names: frozenset[str]
    site: str
    module: str
    """Its whole name; empty where it has none."""
    text: str

    @property
    def package(self) -> str:
        """The first part of its name."""
        return self.module.partition(".")[0]

    @property
    def is_package(self) -> bool:
        """Whether it is a package's own module."""
        return self.path.endswith("__init__.py")


class _Followed:
    """The modules of one environment that may read variables; what was read or asked once is kept."""

    def __init__(self, rows: list[Read], python: PythonEnvironment, where: Sysroot, until: float) -> None:
        self.where, self.until, self.here = where, until, working_folder(where)
        self.version = version_tuple(python.version)
        self.rows = [self._row(r, python) for r in rows]
        self.texts: dict[tuple[str, str], tuple[str, bool] | None] = {}
        self.reached: dict[tuple[str, str], frozenset[str]] = {}

    def _row(self, row: Read, python: PythonEnvironment) -> _Row:
        path = row.path
        site = next((s for s in python.site_packages if path.startswith((f"{s.rstrip('/')}/", f"{s}\\"))), "")
        inner = path[len(site) + 1 :].replace("\\", "/") if site else ""
        parts = inner.removesuffix(".py").removesuffix("/__init__").split("/")
        module = ".".join(parts) if inner and all(p.isidentifier() for p in parts) else ""
        return _Row(row.reader, path, row.names, site, module, self.where.text(path, MOST_TEXT) or "")

    def run(self, row: _Row, world: Mapping[str, str]) -> ModuleRun:
        """Return the run of a module with these variables."""
        around = Around(dict(world), self.where, self.here, self.version, self.until)
        return ModuleRun(row.module, row.text, around, lambda m: self._load(row, m), is_package=row.is_package)

    def endings(self, row: _Row, world: Mapping[str, str]) -> list[Ending]:
        """Return how a module ends, or else those of its functions that read variables of its own."""
        run = self.run(row, world)
        whole = run.whole()
        return [whole] if whole is not None else [*run.functions(sorted(n for n in row.names if n in world))]

    def works_without(self, name: str, ending: Ending, row: _Row, world: Mapping[str, str]) -> bool:
        """Whether the code goes on there if a variable is not set."""
        others = self.endings(row, {n: v for n, v in world.items() if n != name})
        return all((e.function, e.line) != (ending.function, ending.line) for e in others)

    def is_imported(self, row: _Row, world: Mapping[str, str]) -> bool:
        """Whether the package's import comes to a module: by imports that stand in no condition, or with these variables."""
        reached = self._reached(row)
        if row.module in reached:
            return True
        for other in self.rows:
            if other.module in reached and (other.site, other.package) == (row.site, row.package):
                run = self.run(other, world)
                if run.whole() is None and row.module in run.imported:
                    return True
        return False

    def is_called(self, row: _Row, ending: Ending) -> bool:
        """Whether the package's import calls a function of a module: a statement in no condition does, of a module that it comes to."""
        for name in sorted(self._reached(row)):
            found = self._load(row, name)
            if (
                found
                and ending.function in found[0]
                and calls(found[0], ending.function, row.module, name, package=found[1])
            ):
                return True
        return False

    def _reached(self, row: _Row) -> frozenset[str]:
        """Return the modules to which a package's import comes by imports that stand in no condition."""
        first = row.package
        if (row.site, first) not in self.reached:
            waiting, seen = [first], {first}
            while waiting and len(seen) < MOST_REACHED and time.thread_time() < self.until:
                name = waiting.pop(0)
                found = self._load(row, name)
                for each in _imported(*found, name) if found else ():
                    parts = each.split(".")
                    for part in (".".join(parts[: n + 1]) for n in range(len(parts))):
                        if part not in seen and part.partition(".")[0] == first:
                            seen.add(part)
                            waiting.append(part)
            self.reached[row.site, first] = frozenset(seen)
        return self.reached[row.site, first]

    def _load(self, row: _Row, module: str) -> tuple[str, bool] | None:
        """Return the text of a module of the same package, and whether it is a package's own."""
        if module.partition(".")[0] != row.package:
            return None
        key = (row.site, module)
        if key not in self.texts:
            base = self.where.join(row.site, *module.split("."))
            files = ((f"{base}.py", False), (self.where.join(base, "__init__.py"), True))
            file = next(((p, own) for p, own in files if self.where.is_file(p)), None)
            self.texts[key] = (self.where.text(file[0], MOST_TEXT) or "", file[1]) if file else None
        return self.texts[key]


def calls(text: str, function: str, of: str, module: str, *, package: bool) -> bool:
    """Whether a module calls another module's function, or its own, in a statement that stands in no condition."""
    above = module if package else module.rpartition(".")[0]
    names = {function} if module == of else set()
    for node in statements_of(text):
        if isinstance(node, ast.ImportFrom):
            if modules_imported(node, above) == [of]:
                names |= {a.asname or a.name for a in node.names if a.name == function}
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            called = {n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
            if names & called and not any(isinstance(n, ast.Lambda | ast.IfExp | ast.BoolOp) for n in ast.walk(node)):
                return True
    return False


def _imported(text: str, is_package: bool, module: str) -> Iterator[str]:
    """Yield the modules that lines without indentation import, and what they take of these, which may be modules as well."""
    for step in imports_at_the_margin(text, behind_docstring(text)):
        for name, taken in imported_names(step, module if is_package else module.rpartition(".")[0]):
            yield name
            yield from (f"{name}.{part}" for part in taken or () if part != "*")
