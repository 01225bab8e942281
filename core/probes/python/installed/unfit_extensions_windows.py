r"""Extension modules that a Python on Windows finds but cannot load: judged by PE headers and the search of CPython.

Nothing is loaded. CPython since 3.8 loads an extension module with its own folder, the folder of the python.exe that really
runs, folders given to add_dll_directory and System32; PATH is not searched. Packages register the folders of their own DLLs
as they are imported (delvewheel writes such a start), so these count as searched. One whose code registers folders may find them by
PATH: what PATH has is not told as missing then.
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from typing import cast

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.patience import is_silent
from core.knowledge.gpu_binaries import gpu_binaries
from core.knowledge.library_names import DRIVERS_OWN
from core.knowledge.modules import OpenedLibrary
from core.loader.windows.policy import DllPolicy, policy_folders
from core.loader.windows.search import DllSearch, cpython_policy
from core.model.facts import Distribution, PythonEnvironment, Resolution, path_text
from core.model.facts.closure import Edge
from core.model.path_list import searched_entries
from core.model.paths import is_inside
from core.probes.kept_looks import kept_look
from core.probes.loading.asked_parts import opened_libraries
from core.probes.loading.closure_windows import GPU_DLL, STATES
from core.probes.loading.fit_windows import unmet_functions
from core.probes.loading.plan import added_folders
from core.probes.loading.windows import application_folder
from core.probes.probe import ProbeRequest
from core.probes.python.installed.gone_files import STRIPPED_PATHS, every_distribution
from core.probes.python.installed.unfit_extensions import (
    MAX_LEVELS,
    MAX_LIBRARIES_OF_ONE,
    MAX_MODULES_OF_ONE,
    UnfitExtension,
    names_spelt_by,
    paths_below,
)
from core.probes.python.search.search_path import Interpreter
from core.probes.sysroot import Sysroot
from core.probes.variables.search_paths import expand_percent
from core.probes.wheel_record import record_rows

BINARY_ROW = r"(?i)\.(?:pyd|dll)\"?,"
TAG = late_pattern(r"(?i)(_d)?\.(?:cp(\d+)t?-(\w+)\.)?pyd$")
"""What the name of an extension module says: a debug build, the Python and the system that it was built for."""
CODE_ROW = r"(?i)\.py\"?,"
REGISTERS, MOST_CODE = b"add_dll_directory", 1 << 18
PYTHONS_OWN = late_pattern(r"(?i)python3\d*t?\.dll|vcruntime140(_1)?\.dll")
"""DLLs that Python's installer puts beside python.exe."""
PYTHON_DLL = late_pattern(r"(?i)python(\d)(\d+)t?(_d)?\.dll")
FURTHER_FOLDERS = ("Library\\bin", "Scripts", "DLLs")
"""Folders of an environment in which packages put DLLs for others: MKL and TBB from pip, conda."""
MOST_FILES = 400
"""Files that the walk behind one module reads."""


def unfit_dlls(
    python: PythonEnvironment,
    interpreter: Interpreter,
    suffixes: tuple[str, ...],
    request: ProbeRequest,
    where: Sysroot,
) -> tuple[UnfitExtension, ...]:
    """Return the extension modules of an environment, and of its installed Python, that do not load."""
    application = application_folder(python, where)
    policy = cpython_policy(application, added=added_folders(python), root=where.root).for_processor(
        python.architecture
    )
    if DllSearch(policy).resolve("kernel32.dll").winner is None:
        return ()  # Windows' own folder is not there to be read: nothing is known of what it has

    env = {name.upper(): value for name, value in request.env.items()}
    path = (expand_percent(e, env).strip('"').strip() for e in searched_entries(env.get("PATH", ""), "windows"))
    entries = tuple(dict.fromkeys(e for e in path if ntpath.isabs(e)))

    opened = opened_libraries(request, where)

    def look(watched: Sysroot) -> tuple[tuple[UnfitExtension, ...], bool]:
        its = _Look(python, interpreter, suffixes, policy, watched, entries=entries, opened=opened)
        found = tuple(its.everything())
        for path in its.places():
            watched.local_path(path)  # the answer depends on what the loader examines
        return found, True

    given = (
        python.prefix,
        python.site_packages,
        interpreter.base,
        interpreter.short_version,
        policy,
        suffixes,
        entries,
        opened,
    )
    known = request.shared.setdefault("identities", {})
    return kept_look("unfit dlls", given, tuple[UnfitExtension, ...], look, where, known=known)


class _Look:
    """The loader's search of one environment."""

    def __init__(
        self,
        python: PythonEnvironment,
        interpreter: Interpreter,
        suffixes: tuple[str, ...],
        policy: DllPolicy,
        where: Sysroot,
        *,
        entries: tuple[str, ...],
        opened: tuple[OpenedLibrary, ...],
    ) -> None:
        self._python, self._interpreter, self._where = python, interpreter, where
        self._entries, self._owner = entries, cast("Distribution | None", None)
        self._policy, self._search, self._opened = policy, DllSearch(policy), opened
        self._tagged = tuple(s for s in suffixes if s.count(".") > 1)
        self._names: dict[str, frozenset[str]] = {}
        self._read: dict[str, None] = {}

    def places(self) -> tuple[str, ...]:
        """Return the files that were read, and the folders that were searched: a DLL that comes later changes its folder."""
        searched = (place.folder for place in policy_folders(self._policy))
        return (*self._read, *dict.fromkeys((*searched, *(ntpath.dirname(p) for p in self._read))), *self._names)

    def everything(self) -> Iterator[UnfitExtension]:
        """Yield what does not load of the installed Python, then of each distribution."""
        base = self._interpreter.base
        for folder in (self._where.join(base, "DLLs"), base):  # an embeddable Python has all files in one folder
            for name in sorted(self._where.names(folder) or ()):
                if self._is_module(name):
                    yield from self._of_file(self._where.join(folder, name), "", folder, {}, ())
        rows = gpu_binaries().frameworks
        for what in every_distribution(self._python, self._where):
            steps = [s.file for row in rows if re.fullmatch(row.distribution, what.name) for s in row.windows]
            yield from self._of_distribution(what, steps)
            for row in self._opened:
                if row.is_of(what.name, what.version):
                    yield from self._of_opened(row, what)

    def _of_distribution(self, what: Distribution, followed: list[str]) -> Iterator[UnfitExtension]:
        """Yield those of one distribution. ``followed``: patterns of the files whose needs the closures examine."""
        self._owner = what
        rows = record_rows(what, BINARY_ROW, self._where)
        own = {self._where.name(path).lower(): path for path in rows}
        folders = tuple(dict.fromkeys(self._where.parent(p) for p in rows if p.lower().endswith(".dll")))
        owner = f"{what.name} {what.version}"
        for path in [p for p in rows if self._is_module_of(p, what)][:MAX_MODULES_OF_ONE]:
            if self._where.stat(path) is None:
                if not is_silent(self._where.local_path(path)):
                    yield UnfitExtension(path_text(path), owner, what.location, recorded=True)
            elif any(self._is_among(p, what, followed) for p in self._with_own_needs(path, own)):
                yield from self._itself(path, owner, what.location)
            else:
                yield from self._of_file(path, owner, what.location, own, folders)
        yield from self._of_libraries(rows, what, followed, own, folders)

    def _of_libraries(
        self,
        rows: Iterable[str],
        what: Distribution,
        followed: list[str],
        own: dict[str, str],
        folders: tuple[str, ...],
    ) -> Iterator[UnfitExtension]:
        """Yield the DLLs beside a package's modules that do not load, if its Python code spells their names: ctypes searches as ``import`` does."""
        inner = {path: self._inner(path, what) for path in rows if path.lower().endswith(".dll")}
        plain = [
            p
            for p, name in inner.items()
            if 0 < name.count("/") <= MAX_LEVELS
            and not (".libs/" in name or STRIPPED_PATHS.search(name) or self._is_among(p, what, followed))
            and self._where.is_file(p)
        ]
        spelt = names_spelt_by(what, map(self._where.name, plain), self._where)
        named = sorted((p for p in plain if self._where.name(p) in spelt), key=lambda p: (inner[p].count("/"), p))
        for path in named[:MAX_LIBRARIES_OF_ONE]:
            for one in self._of_file(path, f"{what.name} {what.version}", what.location, own, folders):
                yield replace(one, is_library=True)

    def _of_opened(self, row: OpenedLibrary, what: Distribution) -> Iterator[UnfitExtension]:
        """Yield the DLL that a package's Python code opens, if none of its files loads and PATH has none of the others."""
        rows = record_rows(what, BINARY_ROW, self._where)
        own = {self._where.name(path).lower(): path for path in rows}
        folders = tuple(dict.fromkeys(map(self._where.parent, rows)))
        module = self._where.join(what.location, *row.module.split("."))
        start = self._where.join(module, "__init__.py")
        asker = path_text(start if self._where.is_file(start) else f"{module}.py")
        unfit: list[Edge] = []
        for path in (p for folder in self._python.site_packages for f in row.files for p in self._matching(f, folder)):
            one = next(self._of_file(path, "", what.location, own, folders), None)
            if one is None or one.edge is None:
                return
            unfit.append(one.edge)
        if any(name in self._names_below(folder, 1) for name in row.others for folder in self._entries):
            return
        unfit += [Edge(name=name, wanted_by=asker, state="absent", by_name=True) for name in row.others[:1]]
        if unfit:
            owner = f"{what.name} {what.version}"
            yield UnfitExtension(asker, owner, what.location, unfit[0], ends=row.module)

    def _matching(self, pattern: str, folder: str) -> list[str]:
        *inner, name = pattern.split("/")
        place = self._where.join(folder, *inner)
        return [self._where.join(place, n) for n in self._where.names(place) or () if fnmatch(n, name)]

    def _is_module_of(self, path: str, what: Distribution) -> bool:
        inner = self._inner(path, what)
        return self._is_module(self._where.name(path)) and not STRIPPED_PATHS.search(inner) and "/_test" not in inner

    def _with_own_needs(self, path: str, own: Mapping[str, str]) -> Iterator[str]:
        """Yield a module, and the package's own files that it is linked against."""
        yield path
        yield from (own[n.lower()] for n in self._search.read_headers(path).needed if n.lower() in own)

    def _is_among(self, path: str, what: Distribution, patterns: list[str]) -> bool:
        return any(fnmatch(self._inner(path, what), pattern) for pattern in patterns)

    def _inner(self, path: str, what: Distribution) -> str:
        return path.removeprefix(what.location).strip("\\").replace("\\", "/")

    def _is_module(self, name: str) -> bool:
        """Whether a file's name is that of an extension module that this Python imports."""
        tag = TAG.search(name)
        if tag is None or tag[1] or name.lower().startswith(("_test", "_ctypes_test")):
            return False
        return not tag[2] or name.lower().endswith(self._tagged)

    def _itself(self, path: str, owner: str, location: str) -> Iterator[UnfitExtension]:
        """Yield a module whose own file no loader takes."""
        found = self._search.resolve(path)
        self._read[path] = None
        if found.winner and found.winner.outcome in STATES:
            yield UnfitExtension(path_text(path), owner, location, _edge(found), recorded=bool(owner))

    def _of_file(
        self, path: str, owner: str, location: str, own: dict[str, str], folders: tuple[str, ...]
    ) -> Iterator[UnfitExtension]:
        """Yield a module that does not load, with the first fault that the loader meets."""
        if unfit := next(self._itself(path, owner, location), None):
            yield unfit
            return
        edge = self._fault_behind(path, own, folders)
        if edge is not None:
            recorded = edge.name.lower() in own and (
                not edge.path or edge.path.lower() == own[edge.name.lower()].lower()
            )
            yield UnfitExtension(path_text(path), owner, location, edge, recorded=recorded)

    def _fault_behind(self, path: str, own: dict[str, str], folders: tuple[str, ...]) -> Edge | None:
        """Return the first DLL behind a module that is not found, cannot be mapped, or lacks a function."""
        policy = replace(self._policy, loading=ntpath.dirname(path), added=(*self._policy.added, *folders))
        search = DllSearch(policy, others=self._search)
        loaded, queue = {ntpath.basename(path).lower(): path}, [path]
        while queue and len(loaded) < MOST_FILES:
            by = queue.pop(0)
            self._read[by] = None
            image = search.read_headers(by)
            for name in image.needed:
                if name in image.delayed or DRIVERS_OWN.fullmatch(name):
                    continue
                found = search.resolve(name, wanted_by=by, loaded=loaded)
                winner = found.winner
                if winner is None:
                    if self._is_told(name, own):
                        return _edge(found)
                    continue
                if winner.outcome != "found":
                    return _edge(found)
                if self._is_others(winner.path, own) and (lacks := self._function_lacking(found, search, by)):
                    return _edge(found, lacks)
                mine = winner.path and not is_inside("windows", winner.path, policy.windows)
                if mine and ntpath.basename(winner.path).lower() not in loaded:
                    loaded[ntpath.basename(winner.path).lower()] = winner.path
                    queue.append(winner.path)
        return None

    def _is_others(self, path: str, own: Mapping[str, str]) -> bool:
        """Whether a DLL is neither the package's own nor Python's: of those alone another release may be found."""
        return path.lower() != own.get(ntpath.basename(path).lower(), "").lower() and not PYTHONS_OWN.fullmatch(
            ntpath.basename(path)
        )

    def _function_lacking(self, found: Resolution, search: DllSearch, by: str) -> str:
        gap = next(unmet_functions(found, search, by), None)
        return gap.name if gap else ""

    def _is_told(self, name: str, own: dict[str, str]) -> bool:
        """Whether a DLL that is not found is a fault: not one that a package of the environment has and may load first.

        CUDA's and frameworks' are followed by the closures.
        """
        if name.lower() in own:
            return not self._where.exists(own[name.lower()])
        if GPU_DLL.fullmatch(name):
            return False
        if PYTHON_DLL.fullmatch(name):
            return True
        return not any(name.lower() in self._names_below(folder, levels) for folder, levels in self._further())

    def _further(self) -> Iterator[tuple[str, int]]:
        """Yield the folders in which a package may find a DLL by its own means, and how deep."""
        for folder in self._python.site_packages:
            yield folder, 3
        for base in dict.fromkeys((self._python.prefix, self._interpreter.base)):
            yield base, 1
            for tail in FURTHER_FOLDERS:
                yield self._where.join(base, tail), 1
        if self._owner and self._registers_folders(self._owner):
            for folder in self._entries:
                yield folder, 1

    def _registers_folders(self, what: Distribution) -> bool:
        """Whether a package's code gives folders to the loader: which ones, it may find by PATH (shutil.which)."""
        for path in [*record_rows(what, CODE_ROW, self._where)][:MOST_FILES]:
            self._read[path] = None
            if REGISTERS in (self._where.read(path, MOST_CODE) or b""):
                return True
        return False

    def _names_below(self, folder: str, levels: int) -> frozenset[str]:
        """Return the names of DLLs in a folder and those below it, in lower case."""
        if folder not in self._names:
            found = (self._where.name(p).lower() for p in paths_below(folder, levels, self._where))
            self._names[folder] = frozenset(n for n in found if n.endswith(".dll"))
        return self._names[folder]


def _edge(found: Resolution, lacks: str = "") -> Edge:
    winner = found.winner
    if winner is None:
        return Edge(name=found.name, wanted_by=found.wanted_by, state="absent", attempts=found.attempts[:40])
    return Edge(
        name=found.name,
        wanted_by=found.wanted_by,
        state=STATES.get(winner.outcome, "damaged"),
        path=winner.path,
        detail=fact_text("does not have the function {function} (error 127)", function=lacks)
        if lacks
        else winner.detail,
        lacks=lacks,
        attempts=found.attempts[:40],
    )
