"""The folders that a program itself puts on sys.path, where its text says which: by a literal, or from the place of its own file."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import msgspec

from core.common.syntax_tree import is_sys_path, parsed
from core.model.facts import EndedImport, Frozen, SearchEntry, path_text
from core.probes.python.dotted_modules import STANDARD
from core.probes.python.follower import Follower
from core.probes.python.module_text import EXTENDS_PATH
from core.probes.python.modules import ModuleSearch
from core.probes.python.path_expressions import PathNames
from core.probes.sysroot import Sysroot

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


def own_paths(text: str, path: str, folder: str, home: str, where: Sysroot) -> OwnPaths | None:
    """Return what a program adds to sys.path at its top level; None where its text does not tell all of it.

    ``path``: its file. ``folder``: where it is started.
    """
    wanted = len(EXTENDS_PATH.findall(text))
    if not wanted:
        return OwnPaths()
    tree = parsed(text)
    if tree is None:
        return None
    reader = _Reader(path, folder, home, where)
    for statement in tree.body:
        reader.follow(statement)
    if reader.seen != wanted:
        return None
    return OwnPaths(tuple(reader.front), tuple(reader.back), reader.line, tuple(dict.fromkeys(reader.before)))


def search_of_program(search: ModuleSearch, its: OwnPaths, source: str, where: Sysroot) -> ModuleSearch | None:
    """Return the search of a program, the file ``source``, that adds folders; None where something that it loads before may be in one
    of them.
    """
    if not (its.front or its.back):
        return search
    if its.front and its.before:
        entries = search.search.entries
        taken = frozenset(n for folder in its.front for n in search.top_names(folder)) - STANDARD
        installed = frozenset(n for e in entries if e.origin != "standard library" for n in search.top_names(e.path))
        if taken & installed:
            follower = Follower(search, (), where, MOST_BYTES)
            for name in its.before:
                follower.follow(name)
            if not follower.may_read or taken & {name.partition(".")[0] for name in follower.followed}:
                return None
    front, back = (
        [SearchEntry(path=path_text(f), origin="pth", source=path_text(source), line=its.line) for f in folders]
        for folders in (its.front, its.back)
    )
    return search.with_entries(front, back)


def in_entries_of(search: ModuleSearch, ended: EndedImport, its: OwnPaths) -> EndedImport:
    """Return an end that a program's own search came to, with the entry that the program adds, or that of the search without it."""
    entries = search.search.entries
    first, last = len(its.front), len(entries) - len(its.back)
    if not 0 <= ended.entry < len(entries):
        return ended
    added = None if first <= ended.entry < last else entries[ended.entry]
    return msgspec.structs.replace(ended, entry=-1 if added else ended.entry - first, added=added)


class _Reader:
    """The statements of a program's top level, one after another."""

    def __init__(self, path: str, folder: str, home: str, where: Sysroot) -> None:
        self._folder, self._where = folder, where
        self._names = PathNames(path, folder=folder, home=home, paths=where.path_module, real_path=where.real_path)
        self.front: list[str] = []
        self.back: list[str] = []
        self.before: list[str] = []
        self.seen = self.line = 0

    def follow(self, statement: ast.stmt) -> None:
        """Note what one statement does to the search path."""
        match statement:
            case ast.Import(names=names) if not self.seen:
                self._imports(one.name for one in names)
            case ast.ImportFrom(module=str(module), level=0) if not self.seen:
                self._imports((module,))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._names.assign(name, value)
            case ast.If(test=ast.Compare(ops=[ast.NotIn()], comparators=[where]), body=body, orelse=[]) if is_sys_path(
                where
            ):
                for inner in body:
                    self.follow(inner)
            case _:
                self._change(statement)

    def _imports(self, names: Iterable[str]) -> None:
        self.before += [top for name in names if (top := name.partition(".")[0]) not in STANDARD]

    def _change(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=its, attr="append"), args=[one])) if is_sys_path(its):
                self._add(statement, [one], front=False)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=its, attr="insert"), args=[ast.Constant(value=0 | 1), one])
            ) if is_sys_path(its):
                self._add(statement, [one], front=True)
            case (
                ast.Expr(value=ast.Call(func=ast.Attribute(value=its, attr="extend"), args=[ast.List(elts=several)]))
                | ast.AugAssign(target=its, op=ast.Add(), value=ast.List(elts=several))
            ) if is_sys_path(its):
                self._add(statement, several, front=False)
            case ast.Assign(targets=[its], value=ast.BinOp(left=ast.List(elts=several), op=ast.Add(), right=rest)) if (
                is_sys_path(its) and is_sys_path(rest)
            ):
                self._add(statement, several, front=True)

    def _add(self, statement: ast.stmt, several: list[ast.expr], *, front: bool) -> None:
        places = [place for one in several if (place := self._names.value_of(one)) is not None]
        if len(places) < len(several):
            return
        folders = [self._where.path_module.normpath(self._where.join(self._folder, place)) for place in places]
        self.seen += 1
        self.line = self.line or statement.lineno
        if front:
            self.front = [*folders, *self.front]
        else:
            self.back += folders


class OwnSearch(Frozen, frozen=True):
    """Programs that have one search."""

    adds: OwnPaths
    programs: tuple[tuple[str, str], ...]
    """Name and text of each."""


def searches_of_programs(
    programs: Iterable[tuple[str, str]], search: ModuleSearch, folder: str, home: str, where: Sysroot
) -> Iterator[tuple[ModuleSearch, OwnSearch]]:
    """Yield each search that programs have, and which programs; without those whose search nothing tells."""
    groups: dict[tuple[OwnPaths, str], list[tuple[str, str]]] = {}
    for name, text in programs:
        path = search.find(name).path or where.join(folder, f"{name}.py")
        its = own_paths(text, path, folder, home, where)
        if its is not None:
            groups.setdefault((its, path if its.line else ""), []).append((name, text))
    for (its, path), mine in groups.items():
        found = search_of_program(search, its, path, where)
        if found is not None and (not path or found.find(mine[0][0]).path in ("", path)):
            yield found, OwnSearch(its, tuple(mine))
