"""Imports probe: where each near environment's modules come from, in the scan's working folder. Files are only read."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator

from msgspec.structs import replace

from core.knowledge.contracts import hub_cache
from core.knowledge.modules import distribution_of, module_of
from core.model.facts import ImportSearch, PythonEnvironment, Unexamined, path_text
from core.model.facts.imports import PACKAGES
from core.probes.probe import ProbeRequest
from core.probes.python.faults import environment_faults, ignored_lines, remains_of_pip
from core.probes.python.following.misfits import misfits
from core.probes.python.following.read_ahead import read_ahead
from core.probes.python.following.reading_children import remember
from core.probes.python.following.search_parts import SearchParts
from core.probes.python.installed.compiled_remains import compiled_remains
from core.probes.python.installed.distributions import required_name
from core.probes.python.installed.numpy_headers import built_for_numpy_1
from core.probes.python.installed.overwritten import overwritten_packages
from core.probes.python.installed.unfit_extensions import Suspects
from core.probes.python.locations import start_folder, working_folder
from core.probes.python.programs.followed_programs import ends_of_programs
from core.probes.python.programs.lacking_packages import with_elsewhere
from core.probes.python.programs.made_clients import without_makers
from core.probes.python.programs.on_cpu import on_cpu_alone
from core.probes.python.programs.on_cudnn import callers_of_cudnn
from core.probes.python.programs.own_programs import idle_distributions
from core.probes.python.programs.shadows import ended_programs, owner_of_module, shadowed_packages
from core.probes.python.search.modules import ModuleSearch, known_modules
from core.probes.python.search.other_library import other_library
from core.probes.python.search.search_path import own_library, python_search_path, read_interpreter
from core.probes.python.search.started import start_faults
from core.probes.sysroot import Sysroot, sysroot_of

MAX_SECONDS = 3.0
"""Processor time in seconds after which environments are left out that nobody named or activated and that are not on
PATH.

Processor time, so that a busy machine examines what a quiet one does.
"""

WORKING = ("moved", "copied")
"""Faults of an environment whose interpreter still starts; with any other, imports fail or come from elsewhere."""


def look(request: ProbeRequest) -> tuple[ImportSearch, ...]:
    """Return the module search of every near environment."""
    where = sysroot_of(request.host)
    folder = start_folder(request, where)
    end, found = time.thread_time() + MAX_SECONDS, list[ImportSearch]()
    ahead = read_ahead(request)
    pythons = request.seen.pythons or ()
    for python in pythons if ahead.is_at_work else ():
        request.watch.check()
        if (time.thread_time() <= end or python.is_wanted) and where.is_folder(python.prefix):
            for _ in request.apart(functools.partial(_beside_children, python, request, folder, where)):
                pass
    for python in pythons:
        request.watch.check()
        if time.thread_time() > end and not python.is_wanted:
            request.miss(_cut_short(python, MAX_SECONDS))
        elif where.is_folder(python.prefix):
            late: list[Unexamined] = []
            its = replace(request, miss=late.append)
            searches = request.kept(request.apart(functools.partial(_searches, python, its, folder, where)))
            found += searches
            end -= ahead.seconds(python.prefix)
            for missed in late:
                request.miss(missed)
            if searches and not late:
                remember(python, where)
    ahead.end()
    return tuple(found)


def _beside_children(python: PythonEnvironment, request: ProbeRequest, folder: str, where: Sysroot) -> Iterator[None]:
    """Read what does not depend on where imports end, while children find that out; ``search_of`` finds it among what was kept."""
    interpreter = read_interpreter(python.prefix, python.executable, where)
    if interpreter is not None:
        path = python_search_path(interpreter, request.env, folder, where, working=working_folder(where))
        SearchParts(python, interpreter, path, request, where).read_beside_children()
        overwritten_packages(python, request, where)
        compiled_remains(python, request, where)
    yield from ()


def _searches(python: PythonEnvironment, request: ProbeRequest, folder: str, where: Sysroot) -> tuple[ImportSearch]:
    return (search_of(python, request, folder, where),)


def _unrecorded(
    python: PythonEnvironment, required: frozenset[str], modules: ModuleSearch, where: Sysroot
) -> Iterator[tuple[str, str]]:
    """Yield the required distributions of which only the module is there, among the packages, and its file."""
    entries = modules.search.entries
    for name in sorted(required - {d.name for d in python.distributions} - {""}):
        its = modules.find(module_of(name).partition(".")[0])
        there = its.kind in ("package", "module", "extension") and entries[its.entry].origin in PACKAGES
        if there and owner_of_module(its.name, entries[its.entry].path, where) is None:
            yield name, path_text(its.path)


def _cut_short(python: PythonEnvironment, seconds: float, *, named: bool = True) -> Unexamined:
    """Return the note on an environment that was left out; ``named``: the result is undecided, since the person asked
    for it.
    """
    wanted_by = ("--python",) if named and python.is_named else ()
    return Unexamined(path=path_text(python.prefix), what="imports", seconds=seconds, wanted_by=wanted_by)


def search_of(python: PythonEnvironment, request: ProbeRequest, folder: str, where: Sysroot) -> ImportSearch:
    """Return one environment's module search for a program that starts in ``folder``."""
    interpreter = read_interpreter(python.prefix, python.executable, where)
    faults = tuple(environment_faults(python.prefix, interpreter, request.env, where))
    if interpreter is None:
        return ImportSearch(prefix=python.prefix, faults=faults)
    if any(f.kind not in WORKING for f in faults):
        return ImportSearch(prefix=python.prefix, python=interpreter.short_version, faults=faults)
    path = python_search_path(interpreter, request.env, folder, where, working=working_folder(where))
    home = request.env.get("HOME") or request.seen.machine.home
    faults = (*faults, *ignored_lines(path.entries, home, where, interpreter.version, request.env))
    if other := other_library(path.entries, own_library(interpreter, request.env, where), where):
        version = interpreter.short_version
        return ImportSearch(prefix=python.prefix, python=version, entries=path.entries, faults=(*faults, other))
    required = frozenset(required_name(r) for d in python.distributions for r in (*d.pins, *d.requires))
    parts = SearchParts(python, interpreter, path, request, where)
    ended = parts.ended(lambda frameworks, seconds: request.miss(_cut_short(python, seconds, named=frameworks)))
    modules = parts.modules
    of_programs = (
        *ended_programs(modules, python.distributions, where, home=home),
        *ends_of_programs(
            modules,
            python.distributions,
            where,
            here=folder,
            hub=hub_cache(request.env, home),
            home=home,
            known=parts.known,
            suspects=Suspects(
                unfit=tuple(one for one in parts.extensions if one.is_library),
                lacking=parts.presumed.lacking,
                gone=parts.recorded.gone,
                hidden=parts.presumed.hidden,
            ),
            late=lambda seconds: request.miss(_cut_short(python, seconds, named=False)),
        ),
    )
    failing = {distribution_of(start) for e in ended for start in e.starts}
    return ImportSearch(
        prefix=python.prefix,
        python=interpreter.short_version,
        folder=path_text(folder) if any(e.origin == "start" for e in path.entries) else "",
        entries=path.entries,
        start_code=path.start_code,
        modules=(
            *known_modules(modules, python.distributions),
            *shadowed_packages(modules, where, frozenset(e.path for e in ended)),
        ),
        hidden_standard=parts.hidden,
        ended=(
            *ended,
            *(
                with_elsewhere(e, python, request, where)
                for e in of_programs
                if e.kind != "damaged" or e.path not in {known.path for known in ended}
            ),
        ),
        numpy_1=built_for_numpy_1(python.distributions, where, parts.known),
        faults=(*faults, *start_faults(python, path.start_code, request, where)),
        overwritten=overwritten_packages(python, request, where),
        remains=tuple(remains_of_pip(path.entries, where, required)),
        unrecorded=tuple(_unrecorded(python, required, modules, where)),
        left=compiled_remains(python, request, where),
        misfits=misfits(python, request, where),
        idle=without_makers(idle_distributions(python, request, where, failing), request, modules, where),
        on_cpu=on_cpu_alone(python, request, where),
        on_cudnn=callers_of_cudnn(python, request, where),
    )
