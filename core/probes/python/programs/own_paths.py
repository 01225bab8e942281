"""The folders that a program itself puts on sys.path, where its text says which: by a literal, or from the place of its own file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from core.common.syntax_tree import statements_of
from core.model.facts import EndedImport, Frozen, SearchEntry, path_text
from core.model.facts.imports import PACKAGES
from core.probes.python.following.dotted_modules import STANDARD
from core.probes.python.following.follower import Follower
from core.probes.python.programs.program_folder import Program
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.start_code import changes_of_path
from core.probes.python.text.module_text import EXTENDS_PATH, packages_imported
from core.probes.python.text.path_expressions import PathNames
from core.probes.sysroot import Sysroot

MOST_MODULE_BYTES = 256 << 10
"""How long a module of a program's own may be."""

MOST_BYTES = 4 << 20
"""Bytes of source that are read to see what is loaded before a program puts a folder first."""


class OwnPaths(Frozen, frozen=True):
    """What one program adds."""

    front: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    line: int = 0
    """Where it adds the first one."""
    before: tuple[str, ...] = ()
    """The packages that it imports above that line."""
    source: str = ""
    """The module of its own that adds them as it is imported, and that has the line; empty for the program itself."""


def own_paths(text: str, path: str, folder: str, home: str, where: Sysroot) -> OwnPaths | None:
    """Return what a program (file ``path``, started in ``folder``) adds to sys.path at its top level; None where its text does not tell."""
    wanted = len(EXTENDS_PATH.findall(text))
    if not wanted:
        return _of_own_module(text, path, folder, home, where) if path.startswith(folder) else OwnPaths()
    names = PathNames(path, folder=folder, home=home, paths=where.path_module, real_path=where.real_path)
    body = statements_of(text)
    changes = [*changes_of_path(body, names)]
    if len(changes) != wanted or any(None in c.folders or c.at not in (0, 1, None) for c in changes):
        return None
    front, back = list[str](), list[str]()
    for its in changes:
        folders = [where.path_module.normpath(where.join(folder, f)) for f in its.folders if f is not None]
        if its.at is None:
            back += folders
        else:
            front = [*folders, *front]
    line = changes[0].line
    before = packages_imported(node for node in body if node.lineno < line)
    return OwnPaths(tuple(front), tuple(back), line, tuple(name for name in before if name not in STANDARD))


def _of_own_module(text: str, program: str, folder: str, home: str, where: Sysroot) -> OwnPaths:
    """Return what the first module of the program's own adds that adds anything, of those which it imports at its top level."""
    body, seen = statements_of(text), list[str]()
    for node in body:
        for name in packages_imported([node]):
            path = where.join(where.parent(program), f"{name}.py")
            its = (where.text(path, MOST_MODULE_BYTES) or "") if name not in STANDARD and where.is_file(path) else ""
            if EXTENDS_PATH.search(its):
                found = own_paths(its, path, folder, home, where) or OwnPaths()
                return (
                    msgspec.structs.replace(found, before=(*seen, *found.before), source=path) if found.line else found
                )
            seen += [name] if name not in STANDARD else []
    return OwnPaths()


def search_of_program(search: ModuleSearch, its: OwnPaths, source: str, where: Sysroot) -> ModuleSearch | None:
    """Return the search of the program ``source`` with the folders it adds; None where what it imports before is open."""
    if not (its.front or its.back):
        return search
    loaded = frozenset[str]()
    if its.front and its.before:
        entries = search.search.entries
        taken = frozenset(n for folder in its.front for n in search.top_names(folder)) - STANDARD
        installed, own = (
            frozenset(n for e in entries if (e.origin in PACKAGES) is among for n in search.top_names(e.path))
            for among in (True, False)
        )
        if taken & (installed | own):
            follower = Follower(search, (), where, MOST_BYTES)
            for name in its.before:
                if taken & installed or name not in installed:  # packages import no module of the person's own
                    follower.follow(name)
            loaded = taken & {name.partition(".")[0] for name in follower.followed}
            kinds = {search.find(name).kind for name in loaded}
            if not follower.may_read or not kinds <= {"module", "package"}:
                return None
    front, back = (
        [SearchEntry(path=path_text(f), origin="pth", source=path_text(source), line=its.line) for f in folders]
        for folders in (its.front, its.back)
    )
    return search.with_entries(front, back, loaded)


def in_entries_of(search: ModuleSearch, ended: EndedImport, its: OwnPaths) -> EndedImport:
    """Return an end that a program's own search came to, with the entry that the program adds, or that of the search without it."""
    entries = search.search.entries
    first, last = len(its.front), len(entries) - len(its.back)
    if not 0 <= ended.entry < len(entries):
        return ended
    added = None if first <= ended.entry < last else entries[ended.entry]
    return msgspec.structs.replace(ended, entry=-1 if added else ended.entry - first, added=added)


class OwnSearch(Frozen, frozen=True):
    """Programs that have one search."""

    adds: OwnPaths
    programs: tuple[Program, ...]


def searches_of_programs(
    programs: Iterable[Program], search: ModuleSearch, folder: str, home: str, where: Sysroot
) -> Iterator[tuple[ModuleSearch, OwnSearch]]:
    """Yield each search that programs have, and which programs; without those whose search nothing tells."""
    groups: dict[tuple[OwnPaths, str], list[Program]] = {}
    for program in programs:
        path = search.find(program.name).path or program.path
        its = own_paths(program.text, path, folder, home, where)
        if its is not None and not (its.before and "sys.modules" in program.text):
            groups.setdefault((its, path if its.line else ""), []).append(program)
    for (its, path), mine in groups.items():
        found = search_of_program(search, its, its.source or path, where)
        if found is not None and (not path or found.find(mine[0].name).path in ("", path)):
            yield found, OwnSearch(its, tuple(mine))
