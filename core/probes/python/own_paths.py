"""The folders that a program itself puts on sys.path, where its text says which: by a literal, or from the place of its own file."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec

from core.model.facts import EndedImport, Frozen, SearchEntry, path_text
from core.probes.python.dotted_modules import STANDARD
from core.probes.python.follower import Follower
from core.probes.python.module_text import EXTENDS_PATH
from core.probes.python.modules import ModuleSearch
from core.probes.sysroot import Sysroot

MOST_BYTES = 4 << 20
"""Bytes of source that are read to see what is loaded before a program puts a folder first."""

CHANGES = ("append", "insert", "extend")


class OwnPaths(Frozen, frozen=True):
    """What one program adds."""

    front: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    line: int = 0
    """Where it adds the first one."""
    before: tuple[str, ...] = ()
    """The packages that it imports above that line."""


class _Unknown(Exception):  # noqa: N818 - control flow
    """An expression says nothing by itself."""


def own_paths(text: str, path: str, folder: str, home: str, where: Sysroot) -> OwnPaths | None:
    """Return what a program adds to sys.path at its top level; None where its text does not tell all of it.

    ``path``: its file. ``folder``: where it is started.
    """
    wanted = len(EXTENDS_PATH.findall(text))
    if not wanted:
        return OwnPaths()
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    reader = _Reader(path, folder, home, where)
    for statement in body:
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
        self._path, self._folder, self._home, self._where = path, folder, home, where
        self._names: dict[str, str] = {"__file__": path}
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
                self._names.pop(name, None)
                with suppress(_Unknown):
                    self._names[name] = self._text(value)
            case ast.If(test=ast.Compare(ops=[ast.NotIn()], comparators=[where]), body=body, orelse=[]) if _is_path(
                where
            ):
                for inner in body:
                    self.follow(inner)
            case _:
                with suppress(_Unknown):
                    self._change(statement)

    def _imports(self, names: Iterable[str]) -> None:
        self.before += [top for name in names if (top := name.partition(".")[0]) not in STANDARD]

    def _change(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=its, attr="append"), args=[one])) if _is_path(its):
                self._add(statement, [one], front=False)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=its, attr="insert"), args=[ast.Constant(value=0 | 1), one])
            ) if _is_path(its):
                self._add(statement, [one], front=True)
            case (
                ast.Expr(value=ast.Call(func=ast.Attribute(value=its, attr="extend"), args=[ast.List(elts=several)]))
                | ast.AugAssign(target=its, op=ast.Add(), value=ast.List(elts=several))
            ) if _is_path(its):
                self._add(statement, several, front=False)
            case ast.Assign(targets=[its], value=ast.BinOp(left=ast.List(elts=several), op=ast.Add(), right=rest)) if (
                _is_path(its) and _is_path(rest)
            ):
                self._add(statement, several, front=True)

    def _add(self, statement: ast.stmt, several: list[ast.expr], *, front: bool) -> None:
        folders = [self._where.path_module.normpath(self._where.join(self._folder, self._text(one))) for one in several]
        self.seen += 1
        self.line = self.line or statement.lineno
        if front:
            self.front = [*folders, *self.front]
        else:
            self.back += folders

    def _text(self, node: ast.expr) -> str:
        """Return what an expression comes to, a path as its text.

        Raises:
            _Unknown: that depends on more than this file.
        """
        paths = self._where.path_module
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name) if name in self._names:
                return self._names[name]
            case ast.JoinedStr(values=parts):
                return "".join(self._text(p.value if isinstance(p, ast.FormattedValue) else p) for p in parts)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._where.join(self._text(left), self._text(right))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._text(left) + self._text(right)
            case ast.Attribute(value=inner, attr="parent"):
                return str(paths.dirname(self._text(inner)))
            case ast.Subscript(value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int(n))) if (
                0 <= n < 20
            ):
                text = self._text(inner)
                for _each in range(n + 1):
                    text = paths.dirname(text)
                return text
            case ast.Call(func=func, args=args, keywords=[]):
                return self._called(func, args)
            case _:
                raise _Unknown

    def _called(self, func: ast.expr, args: list[ast.expr]) -> str:
        paths = self._where.path_module
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        of_path = isinstance(func, ast.Attribute) and _is_module_of_paths(func.value)
        match name, args:
            case "join", [first, *rest] if of_path:
                return self._where.join(self._text(first), *map(self._text, rest))
            case "dirname", [one]:
                return str(paths.dirname(self._text(one)))
            case "abspath" | "normpath", [one]:
                return str(paths.normpath(self._where.join(self._folder, self._text(one))))
            case "realpath", [one]:
                return self._where.real_path(self._where.join(self._folder, self._text(one)))
            case "expanduser", [one] if self._home and (text := self._text(one)).startswith("~/"):
                return self._where.join(self._home, text[2:])
            case "getcwd" | "cwd", []:
                return self._folder
            case "home", [] if self._home:
                return self._home
            case "str" | "Path" | "PurePath" | "fspath", [one]:
                return self._text(one)
            case "resolve", [] if isinstance(func, ast.Attribute):
                return self._where.real_path(self._where.join(self._folder, self._text(func.value)))
            case "absolute", [] if isinstance(func, ast.Attribute):
                return self._where.join(self._folder, self._text(func.value))
            case "as_posix" | "__str__", [] if isinstance(func, ast.Attribute):
                return self._text(func.value)
            case _:
                raise _Unknown


def _is_path(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "path"
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    )


def _is_module_of_paths(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "path") or (
        isinstance(node, ast.Name) and node.id in ("path", "osp")
    )


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
