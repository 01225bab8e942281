"""Where a framework's import ends: the imports of its start, followed through the files that this environment's search finds.

Reading alone. A line at the left margin that looks like an import leads on; before a fault is told, each line on the way to it is
proved to be a statement of its module's top level by Python's own parser. What stands in a function, a condition or a try is left
out, so what is told here stops the real import, and what is not told may stop it all the same.

Sources: https://docs.python.org/3/reference/import.html and Lib/importlib/_bootstrap.py of CPython, _handle_fromlist.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from core.common.late_pattern import late_pattern
from core.common.versions import is_in_specifier, parse_requirement
from core.knowledge.modules import KnownModule, module_of, module_table
from core.model.facts import Distribution, EndedImport, path_text
from core.probes.kept_looks import kept_look
from core.probes.python.distributions import normalise_name
from core.probes.python.modules import ModuleSearch
from core.probes.python.unfit_extensions import NOTHING_SUSPECT, WANTED_BY_ALL, Suspects, UnfitExtension
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record

FREE_BYTES = 512 << 10
"""Source that is read of one environment where nothing hints at a fault: the whole start of ONNX Runtime, CTranslate2 and
CuPy, and of PyTorch and TensorFlow the part that asks for others first."""

MOST_BYTES = 48 << 20
"""Source that is read where something does: TensorFlow's start has 30 MB, PyTorch's 10 MB."""

MOST_SECONDS = 3.0
"""Processor time for one environment: a busy machine finds what a quiet one does."""

MOST_WAITING = 8.0
"""Seconds by the clock; on a slow disk what was followed until then has to do."""

PACKAGE_BYTES = 8 << 20
"""Source that is read of packages that are no frameworks, where some of their extension modules do not load."""

MAX_FILE_BYTES = 4 << 20

BEFORE_THE_PACKAGES = ("start", "PYTHONPATH", "user site", "pth")

_IMPORT = late_pattern(
    r"^(?:import[ \t]+(?P<modules>[\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)"
    r"|from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]*import[ \t]*(?P<names>\([^)]*\)|[^\n#\\]*(?:\\\r?\n[^\n#\\]*)*))",
    re.MULTILINE,
)
_MAKES_NAMES = ("\ndef __getattr__(", "globals()", "sys.modules[__name__]", "\nexec(", "__path__")
"""How a module comes to names that its text does not spell, or a package to modules that its folder does not hold."""

_EVERYTHING = late_pattern(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*\(?[ \t]*\*", re.MULTILINE)

_DOCUMENTED = late_pattern(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[rRuU]?(\"{3}|'{3})")
"""The beginning of a module's docstring, in which examples have imports at the left margin."""

_STANDARD = frozenset(sys.stdlib_module_names) | {"distutils", "imp", "asyncore", "asynchat", "smtpd", "binhex"}


class _Module(NamedTuple):
    """What one dotted name leads to."""

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
    at: int = 0
    """Where in the text the import stands that is being followed."""


class _Ended(Exception):  # noqa: N818 - no error: the answer
    """The import ends."""

    def __init__(self, what: EndedImport) -> None:
        super().__init__(what.wanted)
        self.what = what


def ended_imports(
    search: ModuleSearch,
    distributions: tuple[Distribution, ...],
    where: Sysroot,
    suspects: Suspects = NOTHING_SUSPECT,
    known: dict[str, str] | None = None,
) -> tuple[EndedImport, ...]:
    """Return where the imports of an environment's frameworks end, and of packages with extension modules that do not load.

    Each fault once, with all that it stops. ``known``: see ``kept_look``.
    """
    starts = [(row, d) for row in module_table().modules if row.follow and (d := _first(row, distributions))]
    if not starts:
        return ()
    installed = {d.name: d.version for d in reversed(distributions)}
    doubtful = {d.name for row, d in starts if _lost_some(d, row, suspects, where) or _is_unmet(d, installed)}
    starts.sort(key=lambda one: one[1].name not in doubtful)  # time goes first to what is in doubt

    def look(watched: Sysroot) -> tuple[tuple[EndedImport, ...], bool]:
        return _followed(starts, search.seen_through(watched), distributions, watched, suspects)

    given = (sys.version, sorted(sys.builtin_module_names), search.search_settings, distributions, starts, suspects)
    return kept_look("imports", given, tuple[EndedImport, ...], look, where, known=known)


def _followed(
    starts: list[tuple[KnownModule, Distribution]],
    search: ModuleSearch,
    distributions: tuple[Distribution, ...],
    where: Sysroot,
    suspects: Suspects,
) -> tuple[tuple[EndedImport, ...], bool]:
    """Return the faults, and whether there was time for all of them."""
    hint = suspects != NOTHING_SUSPECT or _hints_at_a_fault(search, distributions, [d for _row, d in starts], where)
    follower = _Follower(search, distributions, where, MOST_BYTES if hint else FREE_BYTES)
    follower.suspect(suspects)
    found: dict[EndedImport, list[str]] = {}
    for row, distribution in starts:
        ended = follower.start(row, distribution)
        if ended is not None:
            found.setdefault(ended, []).append(row.module)
    further = _Follower(search, distributions, where, PACKAGE_BYTES)
    further.suspect(suspects)
    told = {ended.owner for ended in found if ended.kind == "unfit"}
    for one in suspects.unfit:
        if one.owner not in told and (ended := _of_package(one, further, where)):
            found.setdefault(ended, []).extend(_own_start(ended, one, further))
            told |= {one.owner} if one.owner else set()
    return tuple(_with_starts(ended, names) for ended, names in found.items()), follower.had_time


def _of_package(one: UnfitExtension, follower: _Follower, where: Sysroot) -> EndedImport | None:
    """Return where an import of a package ends that is no framework; None where nothing shows that a program comes to it.

    Its own start counts, that of each package on the way to the module, and of the modules beside it that have a public name.
    """
    if one.edge is None:
        return None  # a file that was taken away: who is no framework may well do without it
    *above, stem = one.dotted.split(".")
    if one.owner:
        packages = [".".join(above[:n]) for n in range(1, len(above) + 1)]
        beside = where.names(where.parent(one.path)) or () if above else ()
        modules = (n.removesuffix(".py") for n in sorted(beside) if n.endswith(".py") and not n.startswith("_"))
        starts = [*packages, *(f"{packages[-1]}.{n}" for n in modules)] if packages else []
        for start in starts:
            if not any(part.startswith("_") or "test" in part for part in start.split(".")):
                ended = follower.ends(start)
                if ended is not None and ended.path == one.path:
                    return ended
    itself = one.path in (one.edge.path, one.edge.name)  # the module's own file
    core = bool(one.owner) and stem.lstrip("_") in (above[-1:] or [stem.lstrip("_")])
    if itself or core or stem in WANTED_BY_ALL:
        return follower.told_of(one)
    return None


def _own_start(ended: EndedImport, one: UnfitExtension, follower: _Follower) -> list[str]:
    """Return the package whose own import, or that of a public package below it, comes to this end; none for its modules alone."""
    *above, _stem = one.dotted.split(".")
    packages = [".".join(above[:n]) for n in range(1, len(above) + 1)] if one.owner else []
    for package in packages:
        if any(part.startswith("_") or "test" in part for part in package.split(".")):
            continue
        its = follower.ends(package)
        if its is not None and its.path == ended.path:
            return packages[:1]
    return []


def _with_starts(ended: EndedImport, names: list[str]) -> EndedImport:
    return msgspec.structs.replace(ended, starts=tuple(names))


def _is_unmet(its: Distribution, installed: Mapping[str, str]) -> bool:
    """Whether something that a distribution requires everywhere is not there, or in another release."""
    for wish in (w for w in its.pins if ";" not in w):
        asked, name = parse_requirement(wish), _name_of(wish)
        if name not in installed or (asked and is_in_specifier(asked.specifier, installed[name]) is False):
            return True
    return False


def _lost_some(its: Distribution, row: KnownModule, suspects: Suspects, where: Sysroot) -> bool:
    inner = where.join(its.location, row.module) + where.path_module.sep
    return any(path.startswith(inner) for path in suspects.gone)


def _first(row: KnownModule, distributions: Iterable[Distribution]) -> Distribution | None:
    return next((d for d in distributions if re.fullmatch(row.distributions, d.name)), None)


# --- whether it is worth the time -------------------------------------------------------------------------------------


def _hints_at_a_fault(
    search: ModuleSearch, distributions: tuple[Distribution, ...], starts: list[Distribution], where: Sysroot
) -> bool:
    """Whether what the frameworks require is not met or not there, or something stands before the packages that they have."""
    installed = {d.name: d.version for d in reversed(distributions)}
    for wish in (w for d in starts for w in d.pins if "extra" not in w.partition(";")[2]):
        name = _name_of(wish)
        if name not in installed:
            if ";" not in wish:
                return True
            continue  # a marker of another system or Python, as a rule
        asked = parse_requirement(wish)
        if asked is not None and ";" not in wish and is_in_specifier(asked.specifier, installed[name]) is False:
            return True
        if not name.startswith("nvidia-") and not _is_there(search, name, distributions, where):
            return True
    return _something_before(search)


def _name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9][\w.-]*", requirement)
    return normalise_name(found[0]) if found else ""


def _is_there(search: ModuleSearch, name: str, distributions: tuple[Distribution, ...], where: Sysroot) -> bool:
    """Whether the module of a distribution has content; of one whose module has another name its RECORD tells."""
    found = search.find(module_of(name))
    if found.kind == "none":
        its = next(d for d in distributions if d.name == name)
        record = read_record(its, where)
        tops = {m[1] for m in re.finditer(r"(?m)^([A-Za-z]\w*)(?:/__init__)?(?:\.[\w-]+)*\.(?:py|so|pyd),", record)}
        return not tops or all(search.find(top).kind != "none" for top in tops)
    if found.kind == "namespace":
        return name == "protobuf" or "." in module_of(name)
    seen = where.stat(found.path)
    return seen is None or seen.st_size > 0


def _something_before(search: ModuleSearch) -> bool:
    """Whether an entry before the packages has a name that the packages have as well."""
    entries = search.search.entries
    first = next((n for n, e in enumerate(entries) if e.origin == "site-packages"), len(entries))
    early = {t for e in entries[:first] if e.origin in BEFORE_THE_PACKAGES for t in search.top_names(e.path)}
    return not early.isdisjoint(_STANDARD) or any(
        early & search.top_names(e.path) for e in entries[first:] if e.origin != "start"
    )


# --- following --------------------------------------------------------------------------------------------------------


class _Follower:
    """The modules of one environment, each followed once."""

    def __init__(
        self, search: ModuleSearch, distributions: tuple[Distribution, ...], where: Sysroot, left: int
    ) -> None:
        self._search, self._distributions, self._where, self._left = search, distributions, where, left
        self._end_of_work, self._end_of_time = time.thread_time() + MOST_SECONDS, time.monotonic() + MOST_WAITING
        self._modules: dict[str, _Module] = {}
        self._texts: dict[str, str] = {}
        self._entered: dict[str, EndedImport | None] = {}
        """Modules that were entered, each with where its import ends."""
        self._statements: dict[str, Mapping[int, object] | None] = {}

        self.suspect(NOTHING_SUSPECT)

    def suspect(self, suspects: Suspects) -> None:
        """Let what does not load end an import."""
        self._unfit = {one.path: one for one in suspects.unfit}
        self._lacking = suspects.lacking
        self._careful = {one.dotted.partition(".")[0] for one in suspects.unfit if one.owner}
        self._gone = frozenset(suspects.gone)
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

    def told_of(self, one: UnfitExtension) -> EndedImport:
        """Return an extension module that nothing shows to be imported, and that is what its package is for."""
        return self._with_edge(self._told("unfit", ("", 0), one.dotted, _Module("extension", one.path)), one)

    def _with_edge(self, ended: EndedImport, one: UnfitExtension) -> EndedImport:
        import msgspec

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
            frame.tasks = list(_tasks(step, frame.package))

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
                if ours or not _binds(self._text(its), name):
                    frame.tasks.append(("enter", f"{dotted}.{name}", ()))
            elif inner.kind == "foreign":
                self._end("foreign", stack, f"{dotted}.{name}", inner)
            elif self._is_gone(its, name) and not self._has_another(its, name):
                self._end("absent", stack, f"{dotted}.{name}", its)
            elif not ours and self._lacks(its, name):
                self._end("no name" if its.kind != "namespace" else "absent", stack, dotted, its, name)

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
        text = self._text(its)
        if not text and stack and self._lost_its_content(dotted, its):
            self._end("empty", stack, dotted, its)
        package = dotted if its.kind == "package" else dotted.rpartition(".")[0]
        if self._is_read_with_care(dotted, its):
            from core.probes.python.sure_imports import at_the_margin, sure_imports  # with Python's parser

            self._statements[its.path] = sure_imports(text)
            text = at_the_margin(text)
        stack.append(_Frame(dotted, its.path, text, _IMPORT.finditer(text, _behind_docstring(text)), package))
        return True

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
        if origin == "standard library" or (found.kind in ("none", "namespace") and name in _STANDARD):
            return _Module("standard")
        if name in sys.builtin_module_names:
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
        return self._texts[its.path]

    # --- what is lacking ----------------------------------------------------------------------------------------------

    def _is_surely_absent(self, dotted: str) -> bool:
        parent, dot, name = dotted.rpartition(".")
        if not dot:
            return not self._search.has_unknown_finders
        its = self.module(parent)
        return its.kind == "namespace" or self._is_gone(its, name) or (its.kind == "package" and self._is_plain(its))

    def _is_gone(self, parent: _Module, name: str) -> bool:
        """Whether a package recorded a module of this name in the parent's folder, and it is not there."""
        join = self._where.join
        places = (p for f in parent.folders for p in (join(f, f"{name}.py"), join(f, name, "__init__.py")))
        return bool(self._gone) and any(p in self._gone for p in places)

    def _has_another(self, its: _Module, name: str) -> bool:
        """Whether a package may have the name of a module that is gone from somewhere else."""
        return _binds(self._text(its), name) or self._takes_from_others(its, name)

    def _is_plain(self, its: _Module) -> bool:
        """Whether a module has what its text spells, and nothing else."""
        text = self._text(its)
        return bool(text) and not any(way in text for way in _MAKES_NAMES)

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
        if not self._is_plain(its) or self._takes_from_others(its, name):
            return False
        return name not in text or name not in _bound_names(text, name)

    def _takes_from_others(self, its: _Module, name: str) -> bool:
        """Whether a module that takes everything of others may have the name from one of them."""
        for dots, module in _EVERYTHING.findall(self._text(its)) if "*" in self._text(its) else ():
            found = self._search.find(module) if module and not dots and "." not in module else None
            spelt = self._where.text(found.path, MAX_FILE_BYTES) if found and found.path.endswith(".py") else None
            if not spelt or name in _bound_names(spelt, name):
                return True
        return False

    def _is_empty(self, its: _Module) -> bool:
        seen = self._where.stat(its.path)
        return seen is not None and seen.st_size == 0

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
            owner=f"{owner.name} {owner.version}" if owner else "",
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
                self._statements[frame.path] = _top_level_imports(frame.text)
            lines = self._statements[frame.path]
            if lines is None or frame.text.count("\n", 0, frame.at) + 1 not in lines:
                return False
        return True


# --- reading a module -------------------------------------------------------------------------------------------------


def _behind_docstring(text: str) -> int:
    begin = _DOCUMENTED.match(text)
    return max(text.find(begin[1], begin.end()), 0) if begin else 0


def _tasks(step: re.Match[str], package: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield what an import does, in order: the modules that it enters, the names that it takes."""
    if step["modules"]:
        for one in step["modules"].split(","):
            yield from _entering(one.split()[0])
        return
    module = step["module"]
    if step["dots"]:
        parts = package.split(".")
        above = len(parts) - len(step["dots"]) + 1
        if above < 1 or not package:
            return
        module = ".".join([*parts[:above], *([module] if module else [])])
    if not module or (not step["dots"] and module == "__future__"):
        return
    yield from _entering(module)
    plain = re.sub(r"#[^\n]*|\\\r?\n", " ", step["names"]).strip("() \t\r\n")
    names = tuple(words[0] for part in plain.split(",") if (words := part.split()))
    if all(re.fullmatch(r"\w+|\*", n) for n in names):
        yield "names", module, names


def _entering(module: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    parts = module.split(".")
    for n in range(1, len(parts) + 1):
        yield "enter", ".".join(parts[:n]), ()


def _binds(text: str, name: str) -> bool:
    """Whether a package's own text gives the name to something else than its module of that name."""
    if name not in text:
        return False
    forms = (
        f"def {name}(",
        f"class {name}(",
        f"class {name}:",
        f"\n{name} =",
        f"\n{name}:",
        f" as {name}\n",
        f" as {name},",
    )
    return any(form in text for form in forms)


def _top_level_imports(text: str) -> Mapping[int, object] | None:
    """Return the lines on which a module's own imports begin; None where it cannot be parsed."""
    import ast  # for the few files on the way to a fault

    try:
        return {n.lineno: n for n in ast.parse(text).body if isinstance(n, ast.Import | ast.ImportFrom)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _bound_names(text: str, name: str) -> frozenset[str]:
    """Return ``name`` where something at a module's top level, conditions included, may bind it; all is bound where that is open."""
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset((name,))
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        match node:
            case ast.FunctionDef(name=its) | ast.AsyncFunctionDef(name=its) | ast.ClassDef(name=its):
                if its == name:
                    return frozenset((name,))
                continue  # what is bound inside is the function's own
            case ast.Name(id=its, ctx=ast.Store()) if its == name:
                return frozenset((name,))
            case ast.alias(name=its, asname=other) if (other or its.partition(".")[0]) == name:
                return frozenset((name,))
            case ast.Global() | ast.MatchAs():
                return frozenset((name,))
        todo.extend(ast.iter_child_nodes(node))
    return frozenset()
