"""What differs for programs of other ways of starting, because of their variables: found in the scan's process, which does not import the
files' readers (``core.probes.starting.probe``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from msgspec.structs import replace

from core.common.patience import map_in_threads
from core.common.turns import MadeOnce
from core.common.variable_names import variable_in
from core.host.with_environment import HostWithEnvironment
from core.knowledge.tables import read_table
from core.model.facts import Closure, ImportSearch, Start, StartLook, System, Variable
from core.model.path_list import searched_entries
from core.model.paths import normalise
from core.probes.loading import closure
from core.probes.loading import probe as loading
from core.probes.loading.effective_entries import asked_entries, effective_entries
from core.probes.loading.linux import asked_names
from core.probes.probe import ProbeRequest
from core.probes.python.locations import start_folder
from core.probes.python.search.modules import importable_names
from core.probes.python.search.search_path import SYS_PATH, later_entries
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.variables import probe as environment
from core.probes.variables.probe import EnvironmentKnowledge, is_relevant_variable

T = TypeVar("T")

OF_PYTHONS_SEARCH = (
    SYS_PATH,
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONPLATLIBDIR",
    "PYTHONNOUSERSITE",
    "PYTHONUSERBASE",
    "PYTHONSAFEPATH",
)
"""Variables that decide where Python searches for modules."""
HOMES = ("HOME", "APPDATA", "LOCALAPPDATA")
"""Variables that lead to the person's own packages."""
MOST_LOOKS = 12
"""Maximum number of different sets of variables examined in addition to this session's."""
LOOKING_THREADS = 2
"""One follows libraries while the other waits for its children."""
OF_THE_SESSION = ("VIRTUAL_ENV", "CONDA_", "PYENV_", "UV_PROJECT_ENVIRONMENT", "PATHEXT", "SYSTEMROOT", "WINDIR")
"""Prefixes of variables that show which environment is active; they do not affect the loader or Python."""
CUDA_WORDS = ("cuda", "cudnn", "nvidia", "tensorrt")


def look_again(request: ProbeRequest) -> tuple[StartLook, ...]:
    """Return what differs for programs of other ways of starting than this session's; each set of variables is examined
    once.
    """
    known = read_table("environment", EnvironmentKnowledge)
    system = request.host.system
    ours = _key(request.env, known, system)
    folders = _folders_in_the_way(request)
    groups: dict[frozenset[tuple[str, str]], list[Start]] = {}
    for start in request.seen.starts or ():
        if any(one.why == "imports" for one in start.runs):
            continue  # its program ends at an import, whatever its variables are
        env = {v.name: v.value for v in start.variables}
        key = _key(env | {n: request.env[n] for n in start.open if n in request.env}, known, system)
        key |= {(v.name, v.value) for v in _of_packages_alone(start, request, known)}
        if folder := folders.get(start.id):
            key |= {("folder", folder), ("prefix", start.prefix)}
        if key != ours:
            groups.setdefault(key, []).append(start)
    # a way that starts a single program
    first = sorted(groups.values(), key=lambda its: not any(s.prefix or s.argv for s in its))
    done: MadeOnce[Any] = MadeOnce()

    def one(its: list[Start]) -> StartLook:
        found = _look(its, request, done, folders.get(its[0].id, ""))
        request.keep(found)
        return found

    looks = map_in_threads(first[:MOST_LOOKS], one, threads=LOOKING_THREADS)
    return tuple(look for look in looks if look is not None)


def _key(env: dict[str, str], known: EnvironmentKnowledge, system: System) -> frozenset[tuple[str, str]]:
    """Return the variables that decide how programs fare; two sets with the same key are treated as one."""
    rows = {
        (n, v)
        for n, v in env.items()
        if n == SYS_PATH or (is_relevant_variable(Variable(name=n, value=v), known) and _is_relevant(n.upper()))
    }
    path = variable_in(env, "PATH")
    entries = [e for e in searched_entries(path, system, "PATH") if _has_libraries(e.lower(), system)]
    return frozenset({*rows, *((f"PATH {i}", e) for i, e in enumerate(entries))})


def _has_libraries(entry: str, system: System) -> bool:
    """Whether an entry of PATH, in lower case, may have GPU libraries: by its name, or because conda keeps them there on Windows."""
    return any(w in entry for w in CUDA_WORDS) or (
        system == "windows" and entry.rstrip("\\").endswith("\\library\\bin")
    )


def _of_packages_alone(start: Start, request: ProbeRequest, known: EnvironmentKnowledge) -> tuple[Variable, ...]:
    """Return the variables of a way that no table lists, and that this session has not, or otherwise."""
    its = (v for v in start.variables if v.name != SYS_PATH and request.env.get(v.name) != v.value)
    return tuple(v for v in its if not is_relevant_variable(v, known))


def _is_relevant(name: str) -> bool:
    return name != "PATH" and not name.startswith(OF_THE_SESSION)


def _look(starts: list[Start], request: ProbeRequest, done: MadeOnce[Any], folder: str) -> StartLook:
    """Return what one way of starting finds.

    ``done``: results of ways with the same variables for the loader, and for Python. ``folder``: see ``_folders_in_the_way``.
    """
    known = read_table("environment", EnvironmentKnowledge)
    first = starts[0]
    theirs = {v.name: v for v in first.variables}
    env = {
        n: v
        for n, v in request.env.items()
        if not is_relevant_variable(Variable(name=n, value=v), known) or not _is_relevant(n.upper())
    }
    env |= {n: request.env[n] for n in first.open if n in request.env}
    env |= {n: v.value for n, v in theirs.items()}
    if SYS_PATH in theirs:
        rows = [r for r in first.lines if r.name == SYS_PATH]
        env[SYS_PATH] = later_entries((None if r.does == "append" else 0, r.added, r.file, r.line) for r in rows)
    host = HostWithEnvironment(request.host, env)
    its = replace(request, host=host, env=env)
    section = environment.look(its)
    kept = tuple(
        replace(v, source=theirs[v.name].source) if v.name in theirs and theirs[v.name].source else v
        for v in section.variables
        if v.scope == "process" or any(v.source == f for f in first.files)
    )
    loaders = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT") if request.host.system == "linux" else ("PATH", "Path")
    where = sysroot_of(request.host)
    searched = tuple(effective_entries(n, env.get(n, ""), where) for n in loaders)
    ours = tuple(effective_entries(n, request.env.get(n, ""), where) for n in loaders)
    lead, ours = (_that_lead(request, one, where) for one in (searched, ours))
    differ = lead != ours
    pythons = tuple(n for n in OF_PYTHONS_SEARCH if env.get(n) != request.env.get(n))
    later = ((theirs[SYS_PATH],) if SYS_PATH in theirs else ()) + _of_packages_alone(first, request, known)
    its = replace(its, keep=_nothing)  # Of an examination that is cut short, only complete sections are kept.

    def once(look: Callable[[ProbeRequest], T], *key: Hashable) -> T:
        found: T = done.get((look, *key), lambda: look(its))
        return found

    searches = None
    if folder:
        searches = _imports_from(folder, first, its)
    elif pythons and request.seen.imports is not None:
        searches = once(_imports, searched, *(env.get(n) for n in (*OF_PYTHONS_SEARCH, *HOMES)))
    return StartLook(
        starts=tuple(s.id for s in starts),
        environment=replace(section, variables=(*kept, *later)),
        loads=once(loading.look_again, searched) if differ and request.seen.loads is not None else None,
        closures=_closures(starts, its, done, searched) if differ and request.seen.closures is not None else None,
        imports=searches,
        counting=(*(n for n, one, other in zip(loaders, lead, ours, strict=True) if one != other), *pythons),
    )


def _folders_in_the_way(request: ProbeRequest) -> dict[str, str]:
    """Return the folder of each way's program, by the way's id, if it is another than this scan's and something in it has the name of a
    module of Python's or of an installed package.
    """
    if request.seen.imports is None:
        return {}
    where = sysroot_of(request.host)
    here = normalise(where.system, start_folder(request, where))
    pythons = {p.prefix: p for p in request.seen.pythons or ()}
    taken: dict[str, frozenset[str]] = {}
    found = {}
    for start in request.seen.starts or ():
        if not start.folder or start.prefix not in pythons or normalise(where.system, start.folder) == here:
            continue
        if start.prefix not in taken:
            installed = (importable_names(s, where) for s in pythons[start.prefix].site_packages)
            # Python's own modules are nearly the same from release to release
            taken[start.prefix] = frozenset().union(sys.stdlib_module_names, *installed)
        if importable_names(start.folder, where) & taken[start.prefix]:
            found[start.id] = start.folder
    return found


def _imports_from(folder: str, start: Start, its: ProbeRequest) -> tuple[ImportSearch, ...]:
    """Return the module searches, that of a way's environment for a program in another folder."""
    only = tuple(p for p in its.seen.pythons or () if p.prefix == start.prefix)
    kept = tuple(s for s in its.seen.imports or () if s.prefix != start.prefix)
    return kept + _imports(replace(its, script_folder=folder, seen=replace(its.seen, pythons=only)))


def _imports(its: ProbeRequest) -> tuple[ImportSearch, ...]:
    from core.probes.python import imports  # many modules, for few ways

    return imports.look(its)


def _that_lead(
    request: ProbeRequest, searched: tuple[tuple[str, ...], ...], where: Sysroot
) -> tuple[tuple[str, ...], ...]:
    """Return the entries of the loader's variables that can lead to another file: on Linux, of a name that something here asks for."""
    if where.system != "linux" or request.seen.loads is None or request.seen.closures is None:
        return searched
    return asked_entries(searched[0], asked_names(request), where), *searched[1:]


def _closures(starts: list[Start], its: ProbeRequest, done: MadeOnce[Any], searched: Hashable) -> tuple[Closure, ...]:
    """Return the closures with a way's variables. On Windows, where each DLL is looked for anew and each environment of conda has a PATH
    of its own, ways that start single environments leave the others' closures as they are.
    """
    only = frozenset(s.prefix for s in starts)
    if "" in only or its.host.system != "windows":
        only = frozenset(p.prefix for p in its.seen.pythons or ())

    def look() -> tuple[Closure, ...]:
        pythons = tuple(p for p in its.seen.pythons or () if p.prefix in only)
        kept = tuple(c for c in its.seen.closures or () if c.consumer.prefix not in only)
        return kept + closure.look_again(replace(its, seen=replace(its.seen, pythons=pythons)))

    found: tuple[Closure, ...] = done.get((closure.look_again, searched, only), look)
    return found


def _nothing(_part: object) -> None:
    return None
