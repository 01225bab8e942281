"""The path that an expression in Python code comes to, where its text tells: literals, names, and what os.path and pathlib make of them."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable
from types import ModuleType

from core.common.syntax_tree import last_name


class PathNames:
    """The names of a module that stand for paths, as its statements assign them one after another."""

    def __init__(
        self,
        file: str,
        *,
        folder: str = "",
        home: str = "",
        paths: ModuleType = posixpath,
        real_path: Callable[[str], str] = str,
    ) -> None:
        """``file``: the module's own. ``folder``: where the program is started; a relative path stays one if it is empty. ``real_path``:
        follows links.
        """
        self._folder, self._home, self._paths, self._real_path = folder, home, paths, real_path
        self._known = {"__file__": file}

    def assign(self, name: str, value: ast.expr) -> bool:
        """Note what a name stands for from now on; return whether its text tells that."""
        its = self.value_of(value)
        if its is None:
            self._known.pop(name, None)
        else:
            self._known[name] = its
        return its is not None

    def value_of(self, node: ast.expr) -> str | None:
        """Return what an expression comes to, a path as its text; None if that depends on more than the module's text."""
        try:
            return self._text(node)
        except _UnknownError:
            return None

    def _text(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name) if name in self._known:
                return self._known[name]
            case ast.JoinedStr(values=parts):
                return "".join(self._text(p.value if isinstance(p, ast.FormattedValue) else p) for p in parts)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._join(self._text(left), self._text(right))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._text(left) + self._text(right)
            case ast.Attribute(value=inner, attr="parent"):
                return self._above(self._text(inner), 1)
            case ast.Subscript(value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int(n))) if (
                0 <= n < 20
            ):
                return self._above(self._text(inner), n + 1)
            case ast.Call(func=ast.Attribute(value=inner, attr="resolve")):
                return self._real_path(self._join(self._folder, self._text(inner)))
            case ast.Call(func=ast.Attribute(value=inner, attr="absolute")):
                return self._join(self._folder, self._text(inner))
            case ast.Call(func=ast.Attribute(value=inner, attr="as_posix" | "__str__")):
                return self._text(inner)
            case ast.Call(func=func, args=args, keywords=[]):
                return self._called(func, args)
            case _:
                raise _UnknownError

    def _called(self, func: ast.expr, args: list[ast.expr]) -> str:
        match last_name(func), args:
            case "join", [first, *rest] if isinstance(func, ast.Attribute) and _is_module_of_paths(func.value):
                return str(self._paths.normpath(self._join(self._text(first), *map(self._text, rest))))
            case "dirname", [one]:
                return self._above(self._text(one), 1)
            case "abspath" | "normpath", [one]:
                return str(self._paths.normpath(self._join(self._folder, self._text(one))))
            case "realpath", [one]:
                return self._real_path(self._join(self._folder, self._text(one)))
            case "expanduser", [one]:
                return self._expanded(self._text(one))
            case "getcwd" | "cwd", [] if self._folder:
                return self._folder
            case "home", [] if self._home:
                return self._home
            case "str" | "Path" | "PurePath" | "fspath", [one]:
                return self._text(one)
            case _:
                raise _UnknownError

    def _join(self, first: str, *rest: str) -> str:
        return str(self._paths.join(first, *rest))

    def _above(self, path: str, levels: int) -> str:
        for _each in range(levels):
            path = self._paths.dirname(path)
        return path

    def _expanded(self, path: str) -> str:
        if not path.startswith("~"):
            return path
        if not self._home or path[1:2] not in ("", "/"):
            raise _UnknownError
        return self._home + path[1:]


def _is_module_of_paths(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "path") or (
        isinstance(node, ast.Name) and node.id in ("path", "osp")
    )


class _UnknownError(Exception):
    """An expression says nothing by itself."""
