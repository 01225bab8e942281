"""Queries on a Snapshot that several rules share: whose file is this, who loads it, what is this variable's value."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from core.common.i18n import N_, _, translate_fact
from core.knowledge import cudnn_file_names
from core.model.facts import (
    Attempt,
    CudnnCopy,
    How,
    LibraryFile,
    Load,
    Mapped,
    PathEntry,
    PythonEnvironment,
    Resolution,
    Snapshot,
    Variable,
)
from core.model.findings import Evidence
from core.model.paths import form_of, is_inside, normalise, parent, path_module

MAX_EVIDENCE_ROWS = 8
"""Maximum number of rows of one kind shown as evidence; a last row counts the rest."""


def installed_programs(seen: Snapshot, word: str) -> list[Evidence]:
    """Return the entries of Windows' list of programs with this word in their name."""
    found = [p for p in seen.machine.programs if word.lower() in p.name.lower()]
    source = _("Windows' list of installed programs")
    return [
        Evidence(label=_("Listed as installed"), value=f"{p.name} {p.version}".strip(), source=source) for p in found
    ]


def copy_at(seen: Snapshot, path: str) -> CudnnCopy | None:
    """Return the copy of cuDNN that a file belongs to: the one that lists it, else the one in its folder."""
    system = seen.machine.system
    wanted = normalise(system, path)
    copies = seen.cudnn or ()
    for copy in copies:
        if any(wanted in (normalise(system, f.path), normalise(system, f.real_path)) for f in copy.files):
            return copy
    folder = parent(system, wanted)
    return next((c for c in copies if normalise(system, c.folder) == folder), None)


def copy_in(seen: Snapshot, folder: str) -> CudnnCopy | None:
    """Return the copy of cuDNN in a folder."""
    system = seen.machine.system
    return next(
        (c for c in seen.cudnn or () if folder and normalise(system, c.folder) == normalise(system, folder)), None
    )


def file_at(seen: Snapshot, path: str) -> LibraryFile | None:
    """Return what is known of the file at ``path``, of cuDNN or a CUDA toolkit."""
    system = seen.machine.system
    wanted = normalise(system, path)
    groups: Iterable[tuple[LibraryFile, ...]] = (
        *(c.files + c.links for c in seen.cudnn or ()),
        *(t.libraries for t in seen.toolkits or ()),
    )
    linked = None
    for group in groups:
        for file in group:
            if normalise(system, file.path) == wanted:
                return file
            if file.real_path and normalise(system, file.real_path) == wanted:
                linked = file
    return linked


def find_resolution(load: Load, name: str) -> Resolution | None:
    """Return the search for a name, if it was made."""
    return next((r for r in load.resolutions if r.name.lower() == name.lower()), None)


def main_resolution(seen: Snapshot, load: Load) -> Resolution | None:
    """Return the search for cuDNN's main library."""
    return find_resolution(load, cudnn_file_names.shipped_name("", load.major, seen.machine.system))


def cudnn_mapped(mapped: Iterable[Mapped]) -> list[Mapped]:
    """Return cuDNN's files among those that a process mapped, without those that a packager renamed: each serves one
    program.
    """
    return [m for m in mapped if (what := cudnn_file_names.parse_cudnn_name(m.name)) and not what.hashed]


def effective_variable(seen: Snapshot, name: str) -> Variable | None:
    """Return a variable as consumers get it: from the process, else the user, else the machine."""
    variables = seen.variables
    if _NAMED[0][0] is not variables:
        ours = (v for scope in reversed(SCOPES) for v in reversed(variables) if v.scope == scope)
        _NAMED[0] = variables, {v.name.upper(): v for v in ours}
    return _NAMED[0][1].get(name.upper())


SCOPES = ("process", "login", "user", "machine")
_NAMED: list[tuple[tuple[Variable, ...], dict[str, Variable]]] = [((), {})]
"""The variables that were last asked for, and the effective one of each name: the rules ask for hundreds of names of one machine."""


def python_of(seen: Snapshot, prefix: str) -> PythonEnvironment | None:
    """Return the Python environment at ``prefix``."""
    system = seen.machine.system
    return next((p for p in seen.pythons or () if normalise(system, p.prefix) == normalise(system, prefix)), None)


def is_of_environment(seen: Snapshot, prefix: str, path: str) -> bool:
    """Whether a file or folder is an environment's own: inside it, or among the packages that its Python finds (a base's, a user's)."""
    python = python_of(seen, prefix) if prefix else None
    folders = (prefix, *(python.site_packages if python else ())) if prefix else ()
    return any(is_inside(seen.machine.system, path, folder) for folder in folders)


def near_misses(seen: Snapshot, folder: str) -> list[Evidence]:
    """Return the search-path entries that almost name a folder: its parent, or itself quoted or unexpanded."""
    system = seen.machine.system
    rows = []
    for e in seen.path_entries:
        text = (e.expanded or e.text).strip().strip('"')
        near = (
            is_inside(system, folder, text) and normalise(system, folder) != normalise(system, text) and len(text) > 3
        )
        depth = normalise(system, folder)[len(normalise(system, text)) :].count("\\" if system == "windows" else "/")
        same = normalise(system, folder) in (
            normalise(system, text),
            normalise(system, e.meant or text),
        ) or _stands_for(e, folder)
        spelt = same and bool({"quoted", "unexpanded"} & set(e.marks))
        if e.variable in ("PATH", "LD_LIBRARY_PATH") and ((near and depth <= 2) or spelt):
            label = (
                _("{variable} contains it in quotation marks or with an unexpanded variable", variable=e.variable)
                if spelt
                else _("{variable} names a folder above it only", variable=e.variable)
            )
            rows.append(Evidence(label=label, value=e.text, source=e.variable))
    return rows


def _stands_for(entry: PathEntry, folder: str) -> bool:
    """Whether a shell would have made this folder, among others, of an entry with a star."""
    parts, wanted = folder.split("/"), entry.expanded.rstrip("/").split("/")
    return (
        "unexpanded" in entry.marks
        and "*" in entry.expanded
        and len(parts) == len(wanted)
        and all(map(fnmatch.fnmatchcase, parts, wanted))
    )


def meant_entries(seen: Snapshot, folder: str) -> list[Evidence]:
    """Return the search-path entries whose tilde or star a shell would have made this folder of."""
    system = seen.machine.system
    return [
        Evidence(
            label=_("{variable} contains it in quotation marks or with an unexpanded variable", variable=e.variable),
            value=e.text,
            source=e.variable,
        )
        for e in seen.path_entries
        if (e.meant and normalise(system, e.meant) == normalise(system, folder)) or _stands_for(e, folder)
    ]


def capability_number(cc: str | None) -> int | None:
    """Return a compute capability as 10 x major + minor."""
    found = re.fullmatch(r"(\d{1,3})\.(\d)", cc or "")
    return int(found[1]) * 10 + int(found[2]) if found else None


def limit_rows(rows: list[Evidence]) -> tuple[Evidence, ...]:
    """Return the first rows, and one with the number of the others."""
    if len(rows) <= MAX_EVIDENCE_ROWS:
        return tuple(rows)
    return (
        *rows[:MAX_EVIDENCE_ROWS],
        Evidence(label=_("and more"), value=_("{n} further entries", n=len(rows) - MAX_EVIDENCE_ROWS)),
    )


def describe_attempt(attempt: Attempt) -> str:
    """Return one candidate in words: where it is, and the outcome."""
    detail = f" ({translate_fact(attempt.detail)})" if attempt.detail else ""
    return f"{attempt.path}: {_(attempt.outcome)}{detail}"


def candidate_evidence(search: Resolution | None) -> list[Evidence]:
    """Return the loader's relevant candidates as evidence, in its own order: those that exist."""
    if search is None:
        return []
    real = [a for a in search.attempts if a.outcome != "not there"]
    rows = [
        Evidence(
            label=_("{name}, candidate {n}", name=search.name, n=n), value=describe_attempt(a), source=_describe_way(a)
        )
        for n, a in enumerate(real, 1)
    ]
    if not rows and search.attempts:
        places = list(dict.fromkeys(_plain_folder(a.path) for a in search.attempts))
        named = ", ".join(places[:8])
        if len(places) > 8:
            named = _("{names} and {count} more", names=named, count=len(places) - 8)
        rows = [Evidence(label=_("{name} is not in", name=search.name), value=named, source=_("loader"))]
    return rows


def _plain_folder(path: str) -> str:
    """Return the folder of a candidate, without the ".." parts of RUNPATH texts."""
    form = path_module(form_of(path))
    return str(form.normpath(form.dirname(path)))


_WAYS = {
    How.DIRECT: N_("direct path"),
    How.DEFAULT: N_("default folder"),
    How.LOADED: N_("already loaded"),
    How.DLL_FOLDER: N_("folder of the loading DLL"),
    How.APPLICATION: N_("application folder"),
    How.WINDOWS: N_("Windows folder"),
    How.CURRENT: N_("current folder"),
}
"""The results of a loader's search that have a phrase; the others are shown as names."""


def _describe_way(attempt: Attempt) -> str:
    how = _(_WAYS[attempt.how]) if attempt.how in _WAYS else attempt.how.value
    return f"{how}: {attempt.via}" if attempt.via and attempt.via != attempt.how.value else how


class _OfEnvironment(Protocol):
    @property
    def prefix(self) -> str: ...


T = TypeVar("T", bound=_OfEnvironment)


def in_environment(seen: Snapshot, prefix: str, facts: Iterable[T] | None) -> Iterator[T]:
    """Yield the facts about one environment."""
    system = seen.machine.system
    mine = normalise(system, prefix)
    return (f for f in facts or () if normalise(system, f.prefix) == mine)


def is_idle(seen: Snapshot, prefix: str, name: str) -> bool:
    """Whether programs in the working folder use an environment, and none of them names a distribution, nor what uses it."""
    return any(name in s.idle for s in in_environment(seen, prefix, seen.imports))


def is_on_cpu(seen: Snapshot, prefix: str, name: str) -> bool:
    """Whether the programs in the working folder use a distribution on the CPU alone."""
    return any(name in s.on_cpu for s in in_environment(seen, prefix, seen.imports))
