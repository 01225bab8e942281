"""Follow the imports of modules from file to file, as this environment's search finds them, to the import that fails.

Files are only read. Any line at the left margin that looks like an import is followed; before a fault is reported,
Python's own parser must confirm that each line on the way is a statement at its module's top level. Imports in
functions, conditions and try statements are ignored, so a reported fault stops the real import, but other imports may
fail, too.

Sources: https://docs.python.org/3/reference/import.html and Lib/importlib/_bootstrap.py of CPython, _handle_fromlist.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import NamedTuple

import msgspec

from core.knowledge.modules import KnownModule, module_of, module_table
from core.model.facts import DamagedFile, Distribution, EndedImport, path_text
from core.model.facts.closure import Edge
from core.probes.python.gone_files import module_stem
from core.probes.python.module_text import (
    ATTRIBUTE,
    EVERYTHING,
    IMPORT,
    MAKES_MODULES,
    MAKES_NAMES,
    at_the_margin,
    behind_docstring,
    binds,
    bound_modules,
    bound_names,
    has_known_branches,
    sure_imports,
    tasks_of,
    top_level_lines,
)
from core.probes.python.modules import ModuleSearch
from core.probes.python.unfit_extensions import NOTHING_SUSPECT, Suspects, UnfitExtension
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record

MOST_SECONDS = 3.0
"""Processor time for one environment: a busy machine finds what a quiet one does."""

MOST_WAITING = 25.0
"""Seconds by the clock, which a slow disk takes, or a machine with a dozen other programs at work."""

MAX_FILE_BYTES, MAX_PACKAGE_BYTES = 4 << 20, 96 << 20

BEFORE_THE_PACKAGES = ("start", "PYTHONPATH", "user site", "pth")

STANDARD = frozenset(sys.stdlib_module_names) | {"distutils", "imp", "asyncore", "asynchat", "smtpd", "binhex"}


class _Module(NamedTuple):
    """The module, package or file that a dotted name refers to."""

    kind: str
    """package, module, namespace, extension, bytecode, standard, foreign or none."""
    path: str = ""
    folders: tuple[str, ...] = ()
    """Where its modules lie: a package's own folder, each of a namespace's."""
    entry: int = -1


_NONE = _Module("none")


class _Frame(msgspec.Struct):
    """A module whose text is being followed."""

    name: str
    path: str
    text: str
    steps: Iterator[re.Match[str]]
    package: str
    """What its relative imports start from."""
    tasks: list[tuple[str, str, tuple[str, ...]]] = msgspec.field(default_factory=list)
    bound: dict[str, str] = msgspec.field(default_factory=dict)
    """Names that stand for modules -> these."""
    at: int = 0
    """Where in the text the import stands that is being followed."""


class _Ended(Exception):  # noqa: N818 - no error: the answer
    """The import ends."""

    def __init__(self, what: EndedImport) -> None:
        super().__init__(what.wanted)
        self.what = what


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
        closed: frozenset[str] = frozenset(),
        *,
        only: frozenset[str] = frozenset(),
        end: tuple[float, float] | None = None,
    ) -> None:
        self._search, self._distributions, self._where, self._left = search, distributions, where, left
        self._closed = closed
        """Modules at the top level whose own imports are not followed: they were followed before, or are too many."""
        self._only = only
        """If any: the only ones whose imports are followed."""
        now = time.thread_time() + MOST_SECONDS, time.monotonic() + MOST_WAITING
        self._end_of_work, self._end_of_time = end or now
        self._modules: dict[str, _Module] = {}
        self._texts: dict[str, str] = {}
        self._entered: dict[str, EndedImport | None] = {}
        """Modules that were entered, each with where its import ends."""
        self._statements: dict[str, Mapping[int, object] | None] = {}
        self._start = ""
        self._first_start: dict[str, str] = {}
        """Files that were read -> the module whose import came to them first."""

        self.suspect(NOTHING_SUSPECT)

    def suspect(self, suspects: Suspects) -> None:
        """Let what does not load end an import."""
        self._unfit = {one.path: one for one in suspects.unfit}
        self._lacking = suspects.lacking
        self._careful = {one.dotted.partition(".")[0] for one in suspects.unfit if one.owner}
        self._careful |= {self._top_of(one.path) for one in suspects.gone}
        self._gone = {module_stem(one.path): f"{one.distribution} {one.version}" for one in suspects.gone}
        wanted = {*suspects.lacking, *suspects.hidden, *(one.dotted for one in suspects.unfit if not one.owner)}
        self._of_python = self._importing(wanted) if wanted else frozenset()

    def _importing(self, wanted: set[str]) -> frozenset[str]:
        """Return the modules of Python itself that name one of these in an import, or a module that does."""
        folder = next(
            (e.path for e in self._search.search.entries if self._where.is_file(self._where.join(e.path, "os.py"))), ""
        )
        texts = {}
        for name in self._where.names(folder) or () if folder else ():
            inner = name if name.endswith(".py") else f"{name}/__init__.py"
            if "." not in name.removesuffix(".py") and (
                text := self._where.text(self._where.join(folder, inner), MAX_FILE_BYTES)
            ):
                texts[name.removesuffix(".py")] = text
        found = set(wanted)
        for _step in range(3):
            names = re.compile(rf"(?m)^[ \t]*(?:import|from)[ \t]+(?:{'|'.join(map(re.escape, sorted(found)))})\b")
            found |= {name for name, text in texts.items() if name not in found and names.search(text)}
        return frozenset(found)

    @property
    def had_time(self) -> bool:
        """Whether the clock has stopped nothing."""
        return time.thread_time() < self._end_of_work and time.monotonic() < self._end_of_time

    def start(self, row: KnownModule, distribution: Distribution) -> EndedImport | None:
        """Return where the import of one framework ends; None where nothing shows that it does."""
        its = self.module(row.module)
        if its.kind in ("none", "namespace"):
            return self._absent_start(row, distribution, its)
        try:
            self._run(row.module)
            for name in row.code_imports:
                self._from_code(row, name)
        except _Ended as e:
            return e.what
        return None

    def ends(self, start: str) -> EndedImport | None:
        """Return where the import of any module ends; None where nothing shows that it does."""
        try:
            self._run(start)
        except _Ended as e:
            return e.what
        return None

    def told_of_lost(self, module: str, one: DamagedFile) -> EndedImport:
        """Return a package whose own start is lost: the rest of its folder is imported as a namespace, and has nothing."""
        folder = self._where.parent(one.path)
        its = _Module("namespace", folder) if self._where.is_folder(folder) else _NONE
        ended = self._told("absent", ("", 0), module, its)
        return msgspec.structs.replace(ended, owner=f"{one.distribution} {one.version}")

    def told_of_opened(self, one: DamagedFile) -> tuple[EndedImport, str] | None:
        """Return a lost library with the start that comes to a module of its package that spells its name; None for none."""
        name = self._where.name(one.path)
        spelt = re.compile(rf"{re.escape(name)}[\"']")
        tops = {self._top_of(one.path), module_of(one.distribution)}
        for path, text in self._texts.items():
            if name in text and self._top_of(path) in tops and spelt.search(text):
                edge = Edge(name=name, wanted_by=path_text(path), state="absent")
                ended = self._told("unfit", ("", 0), self._dotted(path), _Module("module", path))
                owner = f"{one.distribution} {one.version}"
                return msgspec.structs.replace(ended, edge=edge, recorded=True, owner=owner), self._first_start[path]
        return None

    def _dotted(self, path: str) -> str:
        """Return the name by which a file of a package is imported."""
        entry = next((e.path for e in self._search.search.entries if _is_below(path, e.path)), "")
        inner = module_stem(path)[len(entry) :].strip("/")
        return inner.removesuffix("/__init__").replace("/", ".")

    def _top_of(self, path: str) -> str:
        return self._dotted(path).partition(".")[0]

    def told_of(self, one: UnfitExtension) -> EndedImport:
        """Return an extension module that nothing shows to be imported, and that is what its package is for."""
        return self._with_edge(self._told("unfit", ("", 0), one.dotted, _Module("extension", one.path)), one)

    def _with_edge(self, ended: EndedImport, one: UnfitExtension) -> EndedImport:
        return msgspec.structs.replace(ended, edge=one.edge, recorded=one.recorded, owner=one.owner, path=one.path)

    def _absent_start(self, row: KnownModule, distribution: Distribution, its: _Module) -> EndedImport | None:
        """Tell of a recorded framework that is not there; one that is recorded without a file was never meant to be."""
        record = read_record(distribution, self._where)
        editable = re.search(r"(?m)^(__editable__[^,\n]*\.pth|[\w.-]+\.pth),", record)
        if not editable and not re.search(rf"(?m)^{row.module}[/.]", record):
            return None
        gone = self._gone_folder(distribution, editable[1]) if editable else ""
        if editable and not gone:
            return None  # its finder is no list of folders: nothing is known of where it leads
        return EndedImport(
            starts=(row.module,),
            importer="",
            line=0,
            wanted=row.module,
            kind="absent",
            path=path_text(gone or its.path),
            owner=f"{distribution.name} {distribution.version}",
        )

    def _gone_folder(self, distribution: Distribution, name: str) -> str:
        """Return the folder that an editable installation leads to and that is not there."""
        text = self._where.text(self._where.join(distribution.location, name)) or ""
        if text.startswith(("import ", "import\t")):
            return next((p for p in self._search.editable_paths.values() if self._where.stat(p) is None), "")
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        return next((p for p in lines if self._where.path_module.isabs(p) and not self._where.is_folder(p)), "")

    def _from_code(self, row: KnownModule, name: str) -> None:
        """Enter what a framework's compiled code imports."""
        importer = self.module(row.module).path
        if self.module(name).kind in ("none", "namespace", "foreign"):
            raise _Ended(self._told("absent", (importer, 0), name, self.module(name)))
        self._run(name)

    def _run(self, start: str) -> None:
        stack: list[_Frame] = []
        self._start = start
        self._enter(start, stack)
        while stack and self._left > 0 and self.had_time:
            frame = stack[-1]
            if frame.tasks:
                self._do(frame.tasks.pop(0), frame, stack)
                continue
            step = next(frame.steps, None)
            if step is None:
                stack.pop()
                continue
            frame.at = step.start()
            if "chain" in step.re.groupindex:
                self._take(step["chain"].split("."), frame, stack)
                continue
            frame.tasks = list(tasks_of(step, frame.package))
            frame.bound |= bound_modules(step, frame.package)

    def _do(self, task: tuple[str, str, tuple[str, ...]], frame: _Frame, stack: list[_Frame]) -> None:
        what, dotted, names = task
        if what == "enter":
            if not self._enter(dotted, stack):
                frame.tasks.clear()
            return
        its = self.module(dotted)
        ours = dotted in (frame.name, frame.package)
        for name in names:
            inner = self.module(f"{dotted}.{name}") if its.folders else _NONE
            if inner.kind not in ("none", "foreign"):
                if ours or not binds(self._text(its), name):
                    frame.tasks.append(("enter", f"{dotted}.{name}", ()))
            elif inner.kind == "foreign":
                self._end("foreign", stack, f"{dotted}.{name}", inner)
            elif self._is_gone(its, name) and not self._has_another(its, name):
                self._end("absent", stack, f"{dotted}.{name}", its)
            elif not ours and self._lacks(its, name):
                self._end("no name" if its.kind != "namespace" else "absent", stack, dotted, its, name)

    def _take(self, chain: list[str], frame: _Frame, stack: list[_Frame]) -> None:
        """Follow a name through the modules that it goes through, to what the last of them should have."""
        module = frame.bound.get(chain[0], "")
        for name in chain[1:]:
            its = self.module(module) if module else _NONE
            if its.kind not in ("package", "module") or module in (frame.name, frame.package):
                return
            if its.folders and self.module(f"{module}.{name}").kind != "none":
                module = f"{module}.{name}"
                continue
            top = self.module(module.partition(".")[0])
            if (
                name not in self._text(its)
                and self._is_nowhere_spelt(top, name)
                and not self._takes_from_others(its, name, own=False)
            ):
                self._end("no name", stack, module, its, name)
            return

    # --- one module ---------------------------------------------------------------------------------------------------

    def _enter(self, dotted: str, stack: list[_Frame]) -> bool:
        """Begin with a module, if it is not known; say whether it is one that can be followed."""
        if dotted in self._entered:
            ended = self._entered[dotted]
            if ended is not None and self._proved(stack):
                self._note(stack, ended)
                raise _Ended(ended)
            return True
        its = self.module(dotted)
        if its.kind == "extension" and its.path in self._unfit:
            self._end("unfit", stack, dotted, its)
        if its.kind == "lacking" and stack:
            self._end("absent", stack, dotted, its)
        if its.kind in ("standard", "extension", "bytecode", "namespace", "lacking"):
            return its.kind == "namespace"
        if its.kind == "foreign":
            self._end("foreign", stack, dotted, its)
            return False
        if its.kind == "none":
            if stack and self._is_surely_absent(dotted):
                self._end("absent", stack, dotted, its)
            return False
        self._entered[dotted] = None
        top = dotted.partition(".")[0]
        if top in self._closed or (self._only and top not in self._only):
            return True
        text = self._text(its)
        if stack and (bad := self._bad_content(dotted, its, text)):
            self._end(bad, stack, dotted, its)
        package = dotted if its.kind == "package" else dotted.rpartition(".")[0]
        if self._is_read_with_care(dotted, its) or (self._closed and has_known_branches(text)):
            self._statements[its.path] = sure_imports(text, self._is_installed)
            text = at_the_margin(text, self._is_installed)
        stack.append(_Frame(dotted, its.path, text, self._steps(text), package))
        return True

    def _steps(self, text: str) -> Iterator[re.Match[str]]:
        """Return what a module does, in its order; attributes are looked at in packages that use a framework."""
        begin = behind_docstring(text)
        steps = IMPORT.finditer(text, begin)
        return merge(steps, ATTRIBUTE.finditer(text, begin), key=re.Match.start) if self._closed else steps

    def _is_installed(self, module: str) -> bool | None:
        return True if self.module(module).kind in ("package", "module") else None

    def module(self, dotted: str) -> _Module:
        """Return what a dotted name leads to."""
        if dotted not in self._modules:
            parent, dot, name = dotted.rpartition(".")
            self._modules[dotted] = self._inner(self.module(parent), name) if dot else self._top(name)
        return self._modules[dotted]

    def _top(self, name: str) -> _Module:
        found = self._search.find(name)
        entries = self._search.search.entries
        origin = entries[found.entry].origin if 0 <= found.entry < len(entries) else ""
        if name in self._lacking:
            return _Module("lacking")
        if (
            origin == "standard library"
            and name in self._of_python
            and found.kind in ("package", "module", "extension")
        ):
            folder = self._where.parent(found.path)
            return _Module(found.kind, found.path, (folder,) if found.kind == "package" else (), found.entry)
        if origin == "standard library" or (found.kind in ("none", "namespace") and name in STANDARD):
            return _Module("standard")
        if name in sys.builtin_module_names or name == "__main__":
            return _Module("standard")
        if found.kind == "none":
            return self._foreign([e.path for e in entries], name)
        if found.kind == "package":
            return _Module("package", found.path, (self._where.parent(found.path),), found.entry)
        if found.kind == "namespace":
            folders = [f for e in entries if self._where.is_folder(f := self._where.join(e.path, name))]
            return _Module("namespace", found.path, tuple(folders), found.entry)
        return _Module(found.kind, found.path, (), found.entry)

    def _inner(self, parent: _Module, name: str) -> _Module:
        spaces = []
        for folder in parent.folders:
            kind, path = self._search.find_in_folder(folder, name)
            if kind == "package":
                return _Module(kind, path, (self._where.parent(path),), parent.entry)
            if kind == "namespace":
                spaces.append(path)
            elif kind:
                return _Module(kind, path, (), parent.entry)
        if spaces:
            return _Module("namespace", spaces[0], tuple(spaces), parent.entry)
        return self._foreign(parent.folders, name)

    def _foreign(self, folders: Iterable[str], name: str) -> _Module:
        """Return an extension module of this name for another Python alone, else nothing."""
        found = next((p for f in folders if (p := self._search.foreign_inside(f, name))), "")
        return _Module("foreign", found) if found else _NONE

    def _is_read_with_care(self, dotted: str, its: _Module) -> bool:
        """Whether imports in a try count, too: of packages with an extension module that does not load, and of Python's own."""
        if dotted.partition(".")[0] in self._careful:
            return True
        entries = self._search.search.entries
        return (
            bool(self._of_python) and 0 <= its.entry < len(entries) and entries[its.entry].origin == "standard library"
        )

    def _text(self, its: _Module) -> str:
        if its.kind not in ("package", "module") or not its.path.endswith(".py"):
            return ""
        if its.path not in self._texts:
            seen = self._where.stat(its.path)
            data = (self._where.text(its.path, min(seen.st_size, MAX_FILE_BYTES)) or "") if seen else ""
            self._left -= len(data)
            self._texts[its.path] = data
            self._first_start[its.path] = self._start
        return self._texts[its.path]

    # --- what is lacking ----------------------------------------------------------------------------------------------

    def _is_surely_absent(self, dotted: str) -> bool:
        parent, dot, name = dotted.rpartition(".")
        if not dot:
            return not self._search.has_unknown_finders
        its = self.module(parent)
        if its.kind == "namespace" or self._is_gone(its, name):
            return True
        text = self._text(its)
        return its.kind == "package" and (
            self._is_empty(its) or (bool(text) and not any(way in text for way in MAKES_MODULES))
        )

    def _is_gone(self, parent: _Module, name: str) -> bool:
        """Whether a package recorded a module of this name in the parent's folder, and it is not there."""
        return bool(self._loser(parent.folders, name))

    def _loser(self, folders: Iterable[str], name: str) -> str:
        """Return name and version of the package that recorded a module of this name in one of the folders, and lost it."""
        join = self._where.join
        places = (module_stem(p) for f in folders for p in (join(f, name), join(f, name, "__init__")))
        return next((self._gone[p] for p in places if p in self._gone), "") if self._gone else ""

    def _has_another(self, its: _Module, name: str) -> bool:
        """Whether a package may have the name of a module that is gone from somewhere else."""
        return binds(self._text(its), name) or self._takes_from_others(its, name)

    def _is_plain(self, its: _Module) -> bool:
        """Whether a module has what its text spells, and nothing else."""
        text = self._text(its)
        return bool(text) and not any(way in text for way in MAKES_NAMES)

    def _lacks(self, its: _Module, name: str) -> bool:
        """Whether a module surely has no such name."""
        if name == "*" or name.startswith("__"):
            return False
        if its.kind == "namespace":
            return True
        text = self._text(its)
        if not text:
            return its.kind == "module" and its.path.endswith(".py") and self._is_empty(its)
        entries = self._search.search.entries
        early = 0 <= its.entry < len(entries) and entries[its.entry].origin in BEFORE_THE_PACKAGES
        if name in text and not early:
            return False  # spelt somewhere: it may well be bound there
        if not self._is_plain(its):
            return not early and self._is_nowhere_spelt(its, name) and not self._takes_from_others(its, name, own=False)
        if self._takes_from_others(its, name):
            return False
        return name not in text or name not in bound_names(text, name)

    def _is_nowhere_spelt(self, its: _Module, name: str) -> bool:
        """Whether no file of a package that hands out its names by code says this one: then no code of it can look it up."""
        if its.kind != "package" or not re.fullmatch(r"[A-Za-z_]\w{5,}", name):
            return False
        todo, left, word = list(its.folders), MAX_PACKAGE_BYTES, re.compile(rf"\b{name}\b")
        while todo:
            folder = todo.pop()
            for one in sorted(self._where.names(folder) or ()):
                path = self._where.join(folder, one)
                if one.endswith((".py", ".pyi")):
                    text = self._where.text(path, MAX_FILE_BYTES) or ""
                    left -= len(text)
                    if left < 0 or (name in text and word.search(text)):
                        return False
                elif one.endswith((".so", ".pyd", ".pyc")) and ("/lib/" not in path or "python" in one):
                    data = self._where.read(path, MAX_PACKAGE_BYTES) or b""
                    left -= len(data)
                    if left < 0 or not data or name.encode() in data:
                        return False
                elif "." not in one and one != "__pycache__" and self._where.is_folder(path):
                    todo.append(path)
        return True

    def _takes_from_others(self, its: _Module, name: str, *, own: bool = True) -> bool:
        """Whether a module that takes everything of others may have the name from one of them; ``own``: of its package's, too."""
        for dots, module in EVERYTHING.findall(self._text(its)) if "*" in self._text(its) else ():
            if dots and not own:
                continue
            found = self._search.find(module) if module and not dots and "." not in module else None
            spelt = self._where.text(found.path, MAX_FILE_BYTES) if found and found.path.endswith(".py") else None
            if not spelt or name in bound_names(spelt, name):
                return True
        return False

    def _is_empty(self, its: _Module) -> bool:
        seen = self._where.stat(its.path)
        return seen is not None and seen.st_size == 0

    def _bad_content(self, dotted: str, its: _Module, text: str) -> str:
        """Return in a word why a module's file is no module; empty for one that is."""
        if "\0" in text:
            return "damaged"
        if not text and self._is_closed_to_us(its):
            return "unreadable"
        return "empty" if not text and self._lost_its_content(dotted, its) else ""

    def _is_closed_to_us(self, its: _Module) -> bool:
        """Whether a file has content that this user may not read."""
        seen = self._where.stat(its.path) if its.path.endswith(".py") else None
        return seen is not None and seen.st_size > 0 and self._where.text(its.path, 1) is None

    def _lost_its_content(self, dotted: str, its: _Module) -> bool:
        """Whether a file of no bytes was recorded with some."""
        if not self._is_empty(its):
            return False
        owner = self._owner(dotted)
        if owner is None:
            return False
        spelt = "/".join(dotted.split(".")) + ("/__init__.py" if its.kind == "package" else ".py")
        record = read_record(owner, self._where)
        at = 0 if record.startswith(f"{spelt},") else record.find(f"\n{spelt},") + 1  # plain: TensorFlow's has 4 MB
        row = re.compile(r"[^\n]*,(\d{1,12})\r?(?:\n|\Z)").match(record, at)
        return bool(record.startswith(f"{spelt},", at) and row and int(row[1]))

    def _owner(self, dotted: str) -> Distribution | None:
        """Return the distribution that a module is of, by its name; the one that lies beside the module first."""
        top = dotted.partition(".")[0]
        mine = [
            d
            for d in self._distributions
            if module_of(d.name) in (top, dotted) or dotted.startswith(module_of(d.name) + ".")
        ]
        known = next((row for row in module_table().modules if row.module == top), None)
        if not mine and known:
            mine = [d for d in self._distributions if re.fullmatch(known.distributions, d.name)]
        path = self.module(top).path
        return next((d for d in mine if path.startswith(d.location + self._where.path_module.sep)), None)

    def _end(self, kind: str, stack: list[_Frame], wanted: str, its: _Module, name: str = "") -> None:
        """Tell of a fault, if each line on the way to it is one that Python comes to."""
        if not self._proved(stack):
            return
        frame = stack[-1]
        ended = self._told(kind, (frame.path, frame.text.count("\n", 0, frame.at) + 1), wanted, its, name)
        if its.path in self._unfit:
            ended = self._with_edge(ended, self._unfit[its.path])
        self._note(stack, ended)
        raise _Ended(ended)

    def _told(self, kind: str, by: tuple[str, int], wanted: str, its: _Module, name: str = "") -> EndedImport:
        top = self._search.find(wanted.partition(".")[0])
        above, _dot, name_of_it = wanted.rpartition(".")
        places = self.module(above).folders if above else [e.path for e in self._search.search.entries]
        loser = self._loser(places, name_of_it) if kind == "absent" else ""
        owner, hidden = self._owner(wanted), next(iter(top.hidden), "")
        behind = next(
            (d for d in self._distributions if module_of(d.name) == wanted.partition(".")[0] and hidden.startswith(d.location)), None
        )  # fmt: skip
        return EndedImport(
            starts=(),
            importer=path_text(by[0]),
            line=by[1],
            wanted=wanted,
            kind=kind,  # type: ignore[arg-type]  # one of its words
            name=name,
            path=path_text(its.path or (top.path if top.kind != "none" else "")),
            entry=top.entry,
            owner=loser or (f"{owner.name} {owner.version}" if owner else ""),
            hidden=hidden,
            hidden_owner=f"{behind.name} {behind.version}" if behind and hidden else "",
        )

    def _note(self, stack: list[_Frame], ended: EndedImport) -> None:
        for frame in stack:
            self._entered[frame.name] = ended

    def _proved(self, stack: list[_Frame]) -> bool:
        """Whether every line on the way is an import at the top level of its module."""
        for frame in stack:
            if frame.path not in self._statements:
                self._statements[frame.path] = top_level_lines(frame.text)
            lines = self._statements[frame.path]
            if lines is None or frame.text.count("\n", 0, frame.at) + 1 not in lines:
                return False
        return True
