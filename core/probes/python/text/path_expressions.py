"""The text or path that an expression in Python code comes to: literals, names, what os.path and pathlib make of them, and variables."""

from __future__ import annotations

import ast
import ntpath
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType

from core.common.syntax_tree import is_environ, last_name, literal_text, walk
from core.host.startup.state import MOST_LETTERS, UNKNOWN
from core.probes.python.text.bound_names import stored_names

READ_FILES = ("load_dotenv", "read_env")
"""Functions of python-dotenv, environs and django-environ that give os.environ what a file has."""


class PathNames:
    """The names of a module that stand for paths, as its statements assign them one after another."""

    def __init__(
        self,
        file: str,
        *,
        folder: str = "",
        home: str = "",
        paths: ModuleType | None = None,
        real_path: Callable[[str], str] = str,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """``file``: the module's own; empty where it has none. ``folder``: where the program is started; a relative path stays one if it is
        empty. ``paths``: the system's; left out, that of the file. ``real_path``: follows links. ``env``: the variables with which it is
        started, if these are known.
        """
        its = ntpath if ntpath.splitdrive(file)[0] and not file.startswith("/") else posixpath
        self._folder, self._home, self._paths, self._real_path = folder, home, paths or its, real_path
        self._known = {"__file__": file} if file else {}
        self._env: dict[str, str] | None = None
        if env is not None:
            self.set_environment(env)

    def follow(self, statement: ast.stmt) -> bool:
        """Note what a statement gives names; return whether it gives one a value that its text tells. What a condition or a loop gives them
        is not known.
        """
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                return self.assign(name, value)
            case ast.If() | ast.For() | ast.While() | ast.Try() | ast.With() if any(
                is_environ(n) for n in walk(statement)
            ):
                self._env = None
            case ast.Expr(value=ast.Call(func=func)) if last_name(func) in READ_FILES:
                self._env = None
        for name in stored_names([statement]):
            self._known.pop(name, None)
        return False

    def assign(self, name: str, value: ast.expr) -> bool:
        """Note what a name stands for from now on; return whether its text tells that."""
        its = self.value_of(value)
        if its is None:
            self._known.pop(name, None)
        else:
            self._known[name] = its
        return its is not None

    def set_variable(self, name: str, value: str) -> None:
        """Note that the program has given a variable a value, or UNKNOWN."""
        if self._env is not None:
            self._env[self._variable(name)] = value

    def set_environment(self, env: Mapping[str, str]) -> None:
        """Note all variables that the program has by now."""
        self._env = {self._variable(name): value for name, value in env.items()}

    def value_of(self, node: ast.expr) -> str | None:
        """Return what an expression comes to, a path as its text; None if that depends on more than the module's text."""
        try:
            return self._short_text(node)
        except (_UnknownError, RecursionError):  # what is nested too deep is not told either
            return None

    def variables_of(self, node: ast.expr | None) -> Iterator[tuple[str, str, int]]:
        """Yield name, value and line of each variable that a dictionary gives; a value that its text does not tell is UNKNOWN."""
        for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            if (name := literal_text(key)) is not None:
                yield name, self.text_of(value), value.lineno

    def text_of(self, node: ast.expr) -> str:
        """Return what an expression comes to; UNKNOWN if its text does not tell that."""
        its = self.value_of(node)
        return UNKNOWN if its is None else its

    def _several(self, nodes: Iterable[ast.expr]) -> list[str]:
        """Return what expressions come to; together they are no longer than a value may be, which lines can double again and again."""
        found: list[str] = []
        size = 0
        for node in nodes:
            found.append(self._short_text(node))
            size += len(found[-1])
            if size > MOST_LETTERS:
                raise _UnknownError
        return found

    def _short_text(self, node: ast.expr) -> str:
        found = self._any_text(node)
        if len(found) > MOST_LETTERS:
            raise _UnknownError
        return found

    def _any_text(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name) if name in self._known:
                return self._known[name]
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                return self._short_text(inner)
            case ast.JoinedStr(values=parts):
                return "".join(self._several(parts))
            case ast.BinOp(left=left, op=ast.Div() | ast.Add() as way, right=right):
                one, other = self._short_text(left), self._short_text(right)
                return self._join(one, other) if isinstance(way, ast.Div) else one + other
            case ast.Attribute(value=inner, attr="parent"):
                return self._above(self._short_text(inner), 1)
            case ast.Subscript(value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int(n))) if (
                0 <= n < 20
            ):
                return self._above(self._short_text(inner), n + 1)
            case ast.Subscript(value=place, slice=key) if is_environ(place):
                return self._of_environ([key])
            case ast.Attribute(value=ast.Name(id="os"), attr="pathsep"):
                return str(self._paths.pathsep)
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args):
                return self._of_method(owner, name, args, named=bool(node.keywords))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._of_function(name, args)
            case _:
                raise _UnknownError

    def _variable(self, name: str) -> str:
        return name.upper() if self._paths is ntpath else name  # Windows' names have no case

    def _of_environ(self, given: list[ast.expr]) -> str:
        """Return the value of a variable by its name, or else what is given for one that is not set."""
        found = None if self._env is None or not given else self._env.get(self._variable(self._short_text(given[0])))
        if self._env is None or not given or (found is None and len(given) < 2) or (found and UNKNOWN in found):
            raise _UnknownError
        return self._short_text(given[1]) if found is None else found

    def _of_method(self, owner: ast.expr, name: str, args: list[ast.expr], *, named: bool) -> str:
        match name, args:
            case "get", _ if is_environ(owner):
                return self._of_environ(args)
            case "resolve", _:
                return self._real_path(self._join(self._folder, self._short_text(owner)))
            case "absolute", _:
                return self._join(self._folder, self._short_text(owner))
            case "as_posix" | "__str__", _:
                return self._short_text(owner)
            case "joinpath", _:
                return self._join(self._short_text(owner), *self._several(args))
            case "join", [ast.List(elts=parts) | ast.Tuple(elts=parts)]:
                return self._short_text(owner).join(self._several(parts))
            case "format", _ if not named:
                first, *rest = self._short_text(owner).split("{}")
                if len(rest) == len(args) and not {"{", "}"} & set("".join((first, *rest))):
                    return first + "".join(map(str.__add__, self._several(args), rest))
            case "join", [first, *rest] if _is_module_of_paths(owner):
                return str(self._paths.normpath(self._join(self._short_text(first), *self._several(rest))))
        if named:
            raise _UnknownError
        return self._of_function(name, args)

    def _of_function(self, name: str, args: list[ast.expr]) -> str:
        match name, args:
            case "getenv", _:
                return self._of_environ(args)
            case "dirname", [one]:
                return self._above(self._short_text(one), 1)
            case "abspath" | "normpath", [one]:
                return str(self._paths.normpath(self._join(self._folder, self._short_text(one))))
            case "realpath", [one]:
                return self._real_path(self._join(self._folder, self._short_text(one)))
            case "expanduser", [one]:
                return self._expanded(self._short_text(one))
            case "getcwd" | "cwd", [] if self._folder:
                return self._folder
            case "home", [] if self._home:
                return self._home
            case "str" | "fspath", [one]:
                return self._short_text(one)
            case "Path" | "PurePath", [first, *rest]:
                return self._join(self._short_text(first), *self._several(rest))
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
        if not self._home or path[1:2] not in ("", "/", self._paths.sep):
            raise _UnknownError
        return self._home + path[1:]


def _is_module_of_paths(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "path") or (
        isinstance(node, ast.Name) and node.id in ("path", "osp")
    )


class _UnknownError(Exception):
    """An expression says nothing by itself."""
