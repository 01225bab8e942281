"""What ``import NAME`` finds on an environment's sys.path, by the rules of importlib's finders; no code runs.

Source: Lib/importlib/_bootstrap_external.py of CPython, FileFinder.find_spec;
https://docs.python.org/3/reference/import.html.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from core.common.late_pattern import late_pattern
from core.common.versions import all_numbers
from core.knowledge.modules import KnownModule, module_table
from core.model.facts import Distribution, FoundModule, SearchEntry, path_text
from core.probes.python.installed.distributions import find_distributions
from core.probes.python.search.likeness import MAX_MODULE_BYTES, is_unlike, shares_a_name, stands_in
from core.probes.python.search.listed_folders import Folders
from core.probes.python.search.search_path import Interpreter, PythonSearch
from core.probes.sysroot import Sysroot

MAX_FINDER_BYTES, MAX_WHEEL_BYTES = 256 << 10, 16 << 10
"""Maximum size in bytes of an editable installation's finder, and of a WHEEL file, that are read."""

MOST_COPIED = 3000
"""Files of a package that are compared with those of another of its name."""

_EXTENSION = late_pattern(r"\.(?P<tag>cpython-\d+t?-[\w-]+|cp\d+t?-[\w]+|abi3|pypy[\w-]+)?\.?(?:so|pyd)$")
_MAPPING = late_pattern(r"(?m)^MAPPING\b[^=\n]*=\s*(\{.*\})\s*$")
_MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu", "ppc64le": "powerpc64le-linux-gnu"}
_WINDOWS = {"x86_64": "win_amd64", "aarch64": "win_arm64", "x86": "win32"}


class _Found(msgspec.Struct, frozen=True):
    kind: str
    path: str


def extension_suffixes(python: Interpreter, architecture: str, where: Sysroot) -> tuple[str, ...]:
    """Return the suffixes of the extension modules that an interpreter imports."""
    digits = f"{python.version[0]}{python.version[1]}"
    if where.system == "windows":
        return (f".cp{digits}-{_WINDOWS.get(architecture, 'win_amd64')}.pyd", ".pyd")
    return (f".cpython-{digits}-{_MULTIARCH.get(architecture, f'{architecture}-linux-gnu')}.so", ".abi3.so", ".so")


PACKAGE_RECORDS = (".dist-info", ".egg-info", ".egg-link")
"""Ends of the names by which a folder says that a package is installed in it."""

SOURCES = (".py", ".pyw")
"""Endings of modules' sources, in their order; the second on Windows alone (``importlib.machinery.SOURCE_SUFFIXES``)."""
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
"""Files in the root folder of a source project."""


def importable_names(folder: str, where: Sysroot) -> frozenset[str]:
    """Return the names of modules and packages in a folder."""
    return frozenset(_importable(where.names(folder) or ()))


def _importable(names: Iterable[str]) -> Iterator[str]:
    found = {n.partition(".")[0] for n in names if "." not in n or n.endswith((*SOURCES, ".so", ".pyd", ".pyc"))}
    return (n for n in found if n.isidentifier() and n != "__pycache__")


class ModuleSearch:
    """The module search of one environment."""

    def __init__(
        self,
        python: Interpreter,
        search: PythonSearch,
        architecture: str,
        where: Sysroot,
        loaded: dict[str, FoundModule] | None = None,
    ) -> None:
        self.search, self.where = search, where
        self._python, self._loaded = python, loaded or {}
        """Loaded: modules that are imported already, which no later search replaces."""
        self._folders = Folders(where)
        self._extensions = extension_suffixes(python, architecture, where)
        self._sources = SOURCES if where.system == "windows" else SOURCES[:1]
        self._architecture = architecture
        self.editable_paths = dict(_editable_paths(search, where))
        """Name -> path without suffix, of each module that an editable installation's finder serves."""
        self._editable = dict(_editable_modules(self.editable_paths, where))
        self._owners: dict[str, tuple[Distribution, ...]] = {}
        self._tops: dict[str, frozenset[str]] = {}
        self.not_found: set[str] = set()
        """Names that were looked for and that no entry has."""

    @property
    def python(self) -> tuple[int, int]:
        """The interpreter's major and minor version."""
        return self._python.version

    @property
    def search_settings(self) -> object:
        """Everything apart from files that decides an answer; part of the cache key."""
        return self._python, self.search, self._architecture, self._loaded

    def seen_through(self, where: Sysroot) -> ModuleSearch:
        """Return the same search with empty caches, reading files through ``where``."""
        return ModuleSearch(self._python, self.search, self._architecture, where, self._loaded)

    def idle_entries(self, standard: frozenset[str]) -> dict[int, frozenset[str]]:
        """Return the entries in front that have no package and no module of a name that Python or another entry has: only what is looked
        for in vain elsewhere can come from there. Number of the entry -> its names. ``standard``: the names of Python's own modules.
        """
        entries = self.search.entries
        mine = {n: self._names_in(e, standard) for n, e in enumerate(entries) if e.origin in ("start", "PYTHONPATH")}
        others = [e.path for n, e in enumerate(entries) if n not in mine]
        if any(self.where.is_file(path) for path in others):
            return {}  # an archive, whose names are deeper
        taken = standard.union(*(self.top_names(path) for path in others))
        return {n: names for n, names in mine.items() if names is not None and names.isdisjoint(taken)}

    def _names_in(self, entry: SearchEntry, standard: frozenset[str]) -> frozenset[str] | None:
        """Return what can be imported from an entry; None for an archive and where a package is installed.

        A folder without ``__init__`` never wins against a module of Python.
        """
        there = self._folders.names(entry.path) or ()
        if self.where.is_file(entry.path) or any(name.endswith(PACKAGE_RECORDS) for name in there):
            return None
        names = self.top_names(entry.path)
        bare = {n for n in names & standard if all(f.kind == "namespace" for f in self._in_entry(entry, n))}
        return names - bare

    def without(self, entries: Collection[int]) -> ModuleSearch:
        """Return the same search without these entries."""
        left = tuple(e for n, e in enumerate(self.search.entries) if n not in entries)
        return ModuleSearch(
            self._python, msgspec.structs.replace(self.search, entries=left), self._architecture, self.where
        )

    def started_in(self, folder: str) -> ModuleSearch:
        """Return the same search for what is imported from another folder than that of the start."""
        entries = (SearchEntry(path=folder, origin="start"), *(e for e in self.search.entries if e.origin != "start"))
        search = msgspec.structs.replace(self.search, entries=entries)
        return ModuleSearch(self._python, search, self._architecture, self.where)

    def with_entries(
        self, front: Sequence[SearchEntry], back: Iterable[SearchEntry], loaded: Iterable[str] = ()
    ) -> ModuleSearch:
        """Return the same search with entries before and behind it; ``loaded``: the modules that were imported without them."""
        search = msgspec.structs.replace(self.search, entries=(*front, *self.search.entries, *back))
        made = ModuleSearch(self._python, search, self._architecture, self.where)
        for its, now in [(self.find(name), made.find(name)) for name in loaded]:
            hidden = tuple(p for p in (now.path, *now.hidden) if p != its.path)
            made._loaded[its.name] = msgspec.structs.replace(its, entry=its.entry + len(front), hidden=hidden)
        return made

    # --- one name ----------------------------------------------------------------------------------------------------

    def find(self, name: str) -> FoundModule:
        """Return what an import of ``name`` finds, and which other modules of that name it hides."""
        if name in self._loaded:
            return self._loaded[name]
        found = [(n, hit) for n, entry in enumerate(self.search.entries) for hit in self._in_entry(entry, name)]
        if not found:
            self.not_found.add(name)
        if not found and name in self._editable:
            return FoundModule(name=name, kind="package", path=path_text(self._editable[name]))
        whole = [(n, hit) for n, hit in found if hit.kind != "namespace"]
        if not found:
            return FoundModule(name=name)
        first, hit = (whole or found)[0]
        hidden = (
            [h.path for _n, h in self._hidden(hit, first, found)] if whole else [*filter(None, [self.behind(name)])]
        )
        return FoundModule(
            name=name,
            kind=hit.kind,  # type: ignore[arg-type]  # made below, from its words
            path=path_text(hit.path),
            entry=first,
            hidden=tuple(map(path_text, hidden)),
        )

    def behind(self, name: str) -> str:
        """Return the package of an editable installation whose finder is asked last, and for its modules alone where an entry has a folder of
        its name without ``__init__``: the clone's own outer folder, say. Empty for none.
        """
        return self._editable.get(name, "")

    def _hidden(self, winner: _Found, entry: int, found: list[tuple[int, _Found]]) -> list[tuple[int, _Found]]:
        """Return the other places, except those that lead to the winner's file; folders without ``__init__`` included."""
        further = [(n, h) for n, h in found if n > entry]
        if not further:
            return []
        real = self.where.real_path(winner.path)
        return [(n, h) for n, h in further if self.where.real_path(h.path) != real]

    def _in_entry(self, entry: SearchEntry, name: str) -> Iterator[_Found]:
        names = self._folders.names(entry.path)
        if not names:
            return
        join = self.where.join
        if self.where.is_file(entry.path):
            inner = next((p for p in (f"{name}/__init__.py", f"{name}.py") if p in names), "")
            if inner:
                yield _Found("package" if "/" in inner else "module", join(entry.path, *inner.split("/")))
            return
        folder = join(entry.path, name)
        there = name in names and self.where.is_folder(folder)
        if there and (init := self._init(folder)):
            yield _Found("package", join(folder, init))
            return
        for suffix in (*self._extensions, *self._sources, ".pyc"):
            if name + suffix in names and self.where.is_file(join(entry.path, name + suffix)):  # no link to nowhere
                kind = {".py": "module", ".pyw": "module", ".pyc": "bytecode"}.get(suffix, "extension")
                yield _Found(kind, join(entry.path, name + suffix))
                return
        if there:
            yield _Found("namespace", folder)

    def _init(self, folder: str) -> str:
        if self.where.is_file(self.where.join(folder, "__init__.py")):
            return "__init__.py"  # An extension module of that name would win, but no package ships both.
        names = self._folders.names(folder) or frozenset()
        return next((f"__init__{s}" for s in (*self._extensions, ".pyc") if f"__init__{s}" in names), "")

    def names(self, folder: str) -> frozenset[str]:
        """Return the names in an entry of sys.path; of an archive the paths in it."""
        return self._folders.names(folder) or frozenset()

    def top_names(self, folder: str) -> frozenset[str]:
        """Return the names in an entry of sys.path that can be imported, without those of the standard library."""
        if folder not in self._tops:
            names = () if self.where.is_file(folder) else self._folders.names(folder) or ()
            self._tops[folder] = frozenset(_importable(names))
        return self._tops[folder]

    def is_shared_apart(self, name: str, folder: str, other: str) -> bool:
        """Whether two entries have different parts of one namespace package: folders without ``__init__``, and no name
        in both; or the first has a folder without ``__init__``, to which Python prefers what the other has.
        """
        parts = [self.find_in_folder(each, name) for each in (folder, other)]
        if any(kind != "namespace" for kind, _path in parts):
            return parts[0][0] == "namespace"
        mine, its = (self.top_names(path) for _kind, path in parts)
        return mine.isdisjoint(its)

    def is_preferred_behind(self, folder: str, name: str) -> bool:
        """Whether a folder has a part of a namespace package, to which Python prefers a package that comes later."""
        kind, _path = self.find_in_folder(folder, name)
        return kind == "namespace" and self.find(name).kind not in ("none", "namespace")

    def portion_with(self, dotted: str) -> str:
        """Return the folder without ``__init__`` that has the next part of a dotted name; empty if none has."""
        name, _dot, rest = dotted.partition(".")
        part = rest.partition(".")[0]
        for entry in self.search.entries if part else ():
            kind, path = self.find_in_folder(entry.path, name)
            if kind == "namespace" and self.find_in_folder(path, part)[0]:
                return path
        return ""

    def is_copy(self, name: str, folder: str, other: str) -> bool:
        """Whether one entry has all files, by name and size, that the other has of a module or a package."""
        (kind, path), (its_kind, its_path) = (self.find_in_folder(each, name) for each in (folder, other))
        if kind != its_kind or kind not in ("module", "package"):
            return False
        if kind == "module":
            return self._same_size(path, its_path)
        waiting, left = [(self.where.parent(path), self.where.parent(its_path))], MOST_COPIED
        while waiting and left > 0:
            mine, its = waiting.pop()
            for one in sorted((self._folders.names(its) or frozenset()) - {"__pycache__"}):
                left -= 1
                pair = self.where.join(mine, one), self.where.join(its, one)
                if self.where.is_folder(pair[1]):
                    waiting.append(pair)
                elif not self._same_size(*pair):
                    return False
        return left > 0

    def _same_size(self, path: str, other: str) -> bool:
        one, two = self.where.stat(path), self.where.stat(other)
        return one is not None and two is not None and one.st_size == two.st_size

    def find_in_folder(self, folder: str, name: str) -> tuple[str, str]:
        """Return kind and path of a module in one folder; both empty if there is none."""
        entry = SearchEntry(path=folder, origin="site-packages")
        found = next(self._in_entry(entry, name), None)
        return (found.kind, found.path) if found else ("", "")

    def foreign_inside(self, folder: str, name: str) -> str:
        """Return an extension module in a folder whose tag is for another Python; empty if there is none."""
        for one in self._folders.names(folder) or ():
            if one.startswith(f"{name}.") and (m := _EXTENSION.search(one)) and m["tag"] and one[: m.start()] == name:
                return self.where.join(folder, one)
        return ""

    def is_alike(self, one: str, other: str) -> bool:
        """Whether one module is another release of the other: most of its functions and classes, or of its files, are the same."""
        inits = [self.where.name(p).startswith("__init__.") for p in (one, other)]
        if any(inits) and not all(inits):
            return False  # A file replaces a package.
        packed, its = self._in_its_archive(one), self._folders.names(self.where.parent(other)) or ()
        if packed and any(n.endswith((".so", ".pyd")) for n in its):
            return False  # Python loads no compiled module from an archive.
        folders = (packed or self._folders.names(self.where.parent(one)) or (), its)
        mine, theirs = (set(names) - {"__pycache__", "__init__.py"} for names in folders)
        if not all(inits) or not theirs:
            texts = (self.where.text(p, MAX_MODULE_BYTES) or "" for p in (one, other))
            mine, theirs = (set(re.findall(r"(?m)^[ \t]*(?:def|class)[ \t]+(\w+)", t)) for t in texts)
        return bool(theirs) and len(mine & theirs) * 2 >= len(theirs)

    def _in_its_archive(self, path: str) -> frozenset[str]:
        """Return what lies beside a package's start in an archive of the search; empty where it is in none."""
        for entry in self.search.entries:
            if path.startswith(entry.path + self.where.path_module.sep) and self.where.is_file(entry.path):
                inner = self.where.parent(path)[len(entry.path) + 1 :].replace("\\", "/") + "/"
                return frozenset(
                    n[len(inner) :].partition("/")[0]
                    for n in self._folders.names(entry.path) or ()
                    if n.startswith(inner)
                )
        return frozenset()

    @property
    def has_unknown_finders(self) -> bool:
        """Whether start-up code may install finders that reading cannot follow."""
        return any(
            "editable" in c.text and not re.match(r"import __editable__\w+_finder\b", c.text)
            for c in self.search.start_code
        )

    # --- properties of the module that wins ---------------------------------------------------------------------------

    def find_known_module(self, what: KnownModule, distributions: Iterable[Distribution]) -> FoundModule:
        """Return the module that an import of a known module finds, with its owner and whether its extensions fit this Python."""
        found = self.find(what.module)
        if found.kind == "none":
            return found
        owner = self._owner(found.path, what, distributions)
        foreign: tuple[str, ...] = ()
        tags: tuple[str, ...] = ()
        if found.kind == "package":
            foreign = self._foreign_extensions(what, self.where.parent(self.where.parent(found.path)))
        if owner is not None:
            tags = self._foreign_tags(owner)
        second = next((o for p in found.hidden if (o := self._owner(p, what, distributions)) is not None), None)
        return msgspec.structs.replace(
            found,
            owner=_name_and_version(owner),
            hidden_owner=_name_and_version(second),
            foreign=foreign,
            wheel_tags=tags,
            whole=not owner
            and bool(found.hidden)
            and self._has_extension(what, found)
            and self._has_libraries(found)
            and stands_in(found, self.where),
            alike=not owner
            and bool(found.hidden)
            and self._has_extension(what, found)
            and self._has_libraries(found)
            and self.is_alike(found.path, found.hidden[0]),
            unlike=not owner and bool(found.hidden) and not shares_a_name(found, self.where),
            meant_by=() if owner or not found.hidden else self.lines_that_mean(found),
            alone=not owner and found.kind != "namespace" and self._alone(found),
            project="" if owner or found.kind not in ("package", "namespace") else self._project(found),
        )

    def lines_that_mean(self, found: FoundModule) -> tuple[str, ...]:
        """Return the lines of programs beside a module that do not mean the one that it hides."""
        from core.probes.python.search.meant_by import lines_that_mean  # imported late: seldom needed

        entry = self.search.folder(found.entry)
        return lines_that_mean(found, entry, self.where) if entry else ()

    def with_surroundings(self, found: FoundModule) -> FoundModule:
        """Return a module that nobody installed with what lies beside it."""
        project = self._project(found) if found.kind == "package" else ""
        return msgspec.structs.replace(found, alone=self._alone(found), project=project)

    def _alone(self, found: FoundModule) -> bool:
        """Whether the entry contains nothing but this module: no other Python file, no other folder."""
        entry = self.search.folder(found.entry)
        inner = self.where.name(found.path).startswith("__init__.")
        own = self.where.name(self.where.parent(found.path) if inner else found.path)
        others = {n for n in (self._folders.names(entry) if entry else None) or () if n not in (own, "__pycache__")}
        return bool(entry) and not any(
            n.endswith((".py", ".pyc", ".so", ".pyd")) or self.where.is_folder(self.where.join(entry, n))
            for n in others
        )

    def _project(self, found: FoundModule) -> str:
        """Return the file that marks the package's folder as a source project; empty if there is none."""
        entry = self.search.folder(found.entry)
        names = self._folders.names(entry) if entry else None
        return next((path_text(self.where.join(entry, n)) for n in PROJECT_FILES if n in (names or ())), "")

    def _owner(self, path: str, what: KnownModule, distributions: Iterable[Distribution]) -> Distribution | None:
        """Return the distribution of that name in the same folder as a module."""
        inner = self.where.name(path).startswith("__init__.")
        folder = self.where.parent(self.where.parent(path) if inner else path)
        mine = [d for d in distributions if d.location == folder]
        if not mine:
            if folder not in self._owners:
                self._owners[folder] = find_distributions(folder, self.where) or ()
            mine = list(self._owners[folder])
        return next((d for d in mine if re.fullmatch(what.distributions, d.name)), None)

    def _foreign_extensions(self, what: KnownModule, site: str) -> tuple[str, ...]:
        """Return the extension modules that a module needs, if none of them is for this Python."""
        if not self._architecture:
            return ()  # Without its interpreter, the processor is unknown.
        for pattern in what.extension.split("|") if what.extension else ():
            *folders, stem = pattern.split("/")
            folder = self.where.join(site, *folders)
            there = [n for n in self._folders.names(folder) or () if n.startswith(f"{stem}.") and _EXTENSION.search(n)]
            if there:
                fits = any(n == stem + suffix for n in there for suffix in self._extensions)
                return () if fits else tuple(path_text(self.where.join(folder, n)) for n in sorted(there))
        return ()

    def _has_extension(self, what: KnownModule, found: FoundModule) -> bool:
        """Whether one of the extension modules that a module needs is in its own folder, for whatever Python; true if it needs none."""
        site = self.where.parent(self.where.parent(found.path))
        for pattern in what.extension.split("|") if what.extension else ():
            *folders, stem = pattern.split("/")
            names = self._folders.names(self.where.join(site, *folders)) or ()
            if any(n.startswith(f"{stem}.") and _EXTENSION.search(n) for n in names):
                return True
        return not what.extension

    def _has_libraries(self, found: FoundModule) -> bool:
        """Whether a package has the folder of libraries beside it that the hidden one has (auditwheel's NAME.libs): its own compiled
        modules search there.
        """
        sites = [self.where.parent(self.where.parent(p)) for p in (found.path, found.hidden[0])]
        own = re.compile(rf"{re.escape(found.name)}(?:[_-]\w+)?\.libs")  # torch has none: torchvision.libs is another's
        mine, its = ({n for n in self._folders.names(s) or () if own.fullmatch(n)} for s in sites)
        return its <= mine

    def _foreign_tags(self, owner: Distribution) -> tuple[str, ...]:
        """Return the tags of a wheel if none fits this Python and processor."""
        spelt = f"{owner.name.replace('-', '_')}-{owner.version}.dist-info"
        text = self.where.text(self.where.join(owner.location, spelt, "WHEEL"), MAX_WHEEL_BYTES) or ""
        tags = tuple(m[1].strip() for m in re.finditer(r"(?mi)^Tag:(.*)$", text))[:20]
        return () if not tags or any(self._takes_tag(t) for t in tags) else tags

    def _takes_tag(self, tag: str) -> bool:
        """Whether a wheel's tag fits this Python and processor, as far as can be determined (PEP 425)."""
        parts = tag.split("-")
        if len(parts) != 3:
            return True
        python, abi, platform = parts
        return self._takes_python(python, abi) and self._takes_platform(platform)

    def _takes_python(self, python: str, abi: str) -> bool:
        for one in python.split("."):
            numbers = all_numbers(re.sub(r"^(cp|py)(\d)(\d*)t?$", r"\2 \3", one))
            if one.startswith("py") or not one.startswith("cp") or not numbers:
                return True
            same = tuple(numbers[:2]) == self._python.version
            older = len(numbers) > 1 and tuple(numbers[:2]) <= self._python.version
            if same or (abi == "abi3" and older) or (abi == "none" and older):
                return True
        return False

    def _takes_platform(self, platform: str) -> bool:
        if platform == "any" or not self._architecture:
            return True
        if self.where.system == "windows":
            return platform in _WINDOWS.values() and platform == _WINDOWS.get(self._architecture, platform)
        return "linux" in platform and platform.endswith(f"_{self._architecture}")


def _name_and_version(owner: Distribution | None) -> str:
    return f"{owner.name} {owner.version}".strip() if owner else ""


def _editable_paths(search: PythonSearch, where: Sysroot) -> Iterator[tuple[str, str]]:
    """Yield the modules that setuptools' finders of editable installations serve; importlib asks these finders last."""
    for code in search.start_code:
        called = re.match(r"import (__editable__\w+_finder)\b", code.text)
        if called:
            text = where.text(where.join(where.parent(code.source), f"{called[1]}.py"), MAX_FINDER_BYTES) or ""
            mapping = _MAPPING.search(text)
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                import ast  # seldom needed

                found = ast.literal_eval(mapping[1]) if mapping else {}
                if isinstance(found, Mapping):
                    yield from ((str(name), str(path)) for name, path in found.items())


def _editable_modules(paths: Mapping[str, str], where: Sysroot) -> Iterator[tuple[str, str]]:
    """Yield name and file of those that exist."""
    for name, path in paths.items():
        for file in (where.join(path, "__init__.py"), f"{path}.py"):
            if where.is_file(file):
                yield name, file


def known_modules(search: ModuleSearch, distributions: tuple[Distribution, ...]) -> tuple[FoundModule, ...]:
    """Return which file wins for each relevant module that exists.

    A module that only a framework's start imports is relevant if that framework is installed; a second copy of the same
    module before it is no fault.
    """
    found = []
    for what in module_table().modules:
        if what.needed_by and not any(re.fullmatch(what.needed_by, d.name) for d in distributions):
            continue
        its = search.find_known_module(what, distributions)
        if its.kind != "none" and not (what.needed_by and its.hidden and search.is_alike(its.path, its.hidden[0])):
            found.append(its)
    return tuple(found)


def hidden_standard_modules(search: ModuleSearch, distributions: Iterable[Distribution]) -> tuple[FoundModule, ...]:
    """Return the standard-library modules that the installed frameworks import and that an earlier entry hides."""
    rows = [r for r in module_table().standard if any(re.fullmatch(r.distributions, d.name) for d in distributions)]
    return tuple(_hiding(search, dict.fromkeys(n for r in rows for n in r.modules)))


def replaced_standard_modules(
    search: ModuleSearch, standard: Iterable[str], known: Collection[FoundModule]
) -> tuple[FoundModule, ...]:
    """Return the other standard-library modules that an earlier entry hides by a text without any of their names.

    An import of such a module gets nothing of it. ``known``: those that are told anyway.
    """
    told = {f.name for f in known}
    return tuple(f for f in _hiding(search, sorted(n for n in standard if n not in told)) if f.unlike)


def _hiding(search: ModuleSearch, names: Iterable[str]) -> Iterator[FoundModule]:
    """Yield those of these modules of Python itself that an earlier entry hides."""
    entries = search.search.entries
    first = next((n for n, e in enumerate(entries) if e.origin == "standard library"), 0)
    before: set[str] = set()
    for entry in entries[:first]:
        before |= {re.split(r"[./]", n, maxsplit=1)[0] for n in search.names(entry.path)}
    for name in (n for n in names if n in before):
        found = search.find(name)
        if 0 <= found.entry < first and found.kind != "namespace" and found.hidden:
            unlike = is_unlike(found, search.where)
            yield msgspec.structs.replace(found, unlike=unlike, meant_by=search.lines_that_mean(found))
