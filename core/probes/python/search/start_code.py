"""The variables and sys.path entries that an interpreter's start-up code sets, and the libraries that it loads, read from its text; no code runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import NamedTuple

from core.common.syntax_tree import (
    argument,
    call_in_clone,
    constant,
    is_environ,
    is_sys_path,
    last_name,
    literal_text,
    statements_of,
)
from core.host.startup.state import UNKNOWN
from core.probes.python.text.path_expressions import READ_FILES, PathNames

MAX_START_CODE_BYTES = 64 << 10
"""Maximum number of bytes read of a sitecustomize."""


def variables_set(text: str, file: str) -> tuple[tuple[str, str], ...]:
    """Return the variables that the code of a file sets to what its text tells, in order; none if it cannot be parsed."""
    return tuple((name, value) for name, value, _line in variable_lines(text, PathNames(file)))


def variable_lines(text: str, names: PathNames) -> tuple[tuple[str, str, int], ...]:
    """Return the same with the line of each.

    os.environ["X"] = "1", os.environ.setdefault("X", "1"), os.putenv("X", "1") and os.environ.update({"X": "1"}) count,
    outside conditions, loops and functions: what runs only sometimes is left out.
    """
    if "environ" not in text and "putenv" not in text:
        return ()
    found: list[tuple[str, str, int]] = []
    for statement in statements_of(text):
        for key, value in _variables_given(statement):
            if (name := literal_text(key)) is not None:
                found.append((name, names.text_of(value), value.lineno))
                names.set_variable(*found[-1][:2])
        names.follow(statement)
    return tuple(its for its in found if its[1] != UNKNOWN)


def _variables_given(statement: ast.stmt) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield name and value of each variable that a statement sets."""
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=place, slice=name)], value=value) if is_environ(place):
            yield name, value
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=place, attr="setdefault"), args=[name, value])) if (
            is_environ(place)
        ):
            yield name, value
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="putenv"), args=[name, value])):
            yield name, value
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=place, attr="update"), args=[ast.Dict() as told, *_])
        ) if is_environ(place):
            yield from zip(told.keys, told.values, strict=True)


class DotenvCall(NamedTuple):
    """A call that reads a file of variables into os.environ."""

    module: str
    """Of the package that does it."""
    file: str
    """As the code names it; empty where the package looks for ".env" in the folders above."""
    overrides: bool
    line: int
    encoding: str
    """In which the file is opened; empty where the text does not tell that."""


def dotenv_calls(text: str, file: str) -> tuple[DotenvCall, ...]:
    """Return the calls that read a file of variables, outside conditions, loops and functions, in order.

    Sources: the documentations of python-dotenv (load_dotenv), environs (Env.read_env) and django-environ (Env.read_env).
    """
    if "load_dotenv" not in text and "read_env" not in text:
        return ()
    module = "environs" if "environs" in text else "environ"
    names = PathNames(file)
    found = []
    for call in _calls(text, names, READ_FILES):
        first = argument(call, "dotenv_path", 0) or argument(call, "path")
        searched = isinstance(first, ast.Call) and last_name(first.func) == "find_dotenv"
        place = None if first is None or searched else names.value_of(first)
        if first is not None and place is None and not searched:
            continue
        overrides = constant(argument(call, "override") or argument(call, "overwrite")) is True
        its_module = "dotenv" if last_name(call.func) == "load_dotenv" else module
        given = argument(call, "encoding")
        encoding = "utf-8" if given is None and its_module != "environ" else literal_text(given) or ""
        found.append(DotenvCall(its_module, place or "", overrides, call.lineno, encoding))
    return tuple(found)


def asked_of_decouple(node: ast.stmt) -> Iterator[tuple[str, ast.Call]]:
    """Yield each name that a statement asks python-decouple's ``config`` for, with the call (its README: "Where is the settings data stored?")."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) and isinstance(call := node.value, ast.Call):
        name = literal_text(argument(call, "option", 0))
        if isinstance(call.func, ast.Name) and call.func.id == "config" and name:
            yield name, call


def decouple_calls(text: str) -> tuple[DotenvCall, ...]:
    """Return the import of python-decouple's ``config``, which looks for .env in the folders above its program."""
    for node in statements_of(text) if "decouple" in text else ():
        match node:
            case ast.ImportFrom(module="decouple", names=names) if any(
                (n.name, n.asname) == ("config", None) for n in names
            ):
                return (DotenvCall("decouple", "", overrides=False, line=node.lineno, encoding="utf-8"),)
            case _:
                pass
    return ()


def _calls(text: str, names: PathNames, functions: tuple[str, ...]) -> Iterator[ast.Call]:
    """Yield each call of a function outside conditions, loops and functions; ``names`` then has what stands above it."""
    for statement in statements_of(text):
        match statement:
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                if last_name(call.func) in functions:
                    yield call
        names.follow(statement)


LOADERS = ("CDLL", "PyDLL", "WinDLL", "OleDLL", "LoadLibrary")
"""Names in ctypes by which code loads a library."""


def libraries_loaded(text: str, file: str) -> tuple[str, ...]:
    """Return the files that the code of a file loads by ctypes with their whole path, outside conditions, loops and functions.

    A library by its bare name is left to the loader's search.
    """
    if not any(name in text for name in LOADERS):
        return ()
    names = PathNames(file)
    found = [names.value_of(call.args[0]) for call in _calls(text, names, LOADERS) if call.args]
    return tuple(dict.fromkeys(path for path in found if path and "/" in path))


class PathChange(NamedTuple):
    """What one statement does to sys.path."""

    at: int | None
    """The index at which the folders are put; None: at the end."""
    folders: tuple[str | None, ...]
    """None for one that the text does not tell."""
    line: int

    def places(self) -> Iterator[tuple[int | None, str]]:
        """Yield each folder that the text tells, with its own index."""
        yield from ((None if self.at is None else self.at + n, f) for n, f in enumerate(self.folders) if f)


def path_changes(text: str, file: str, home: str = "") -> tuple[tuple[int | None, str, int], ...]:
    """Return each folder that the text puts on sys.path, as far as it tells, with its index and its line: constants, and paths relative
    to the file or, if known, to the home.
    """
    changes = changes_of_path(statements_of(text), PathNames(file, home=home)) if "sys.path" in text else ()
    return tuple((at, folder, its.line) for its in changes for at, folder in its.places())


def changes_of_path(body: list[ast.stmt], names: PathNames) -> Iterator[PathChange]:
    """Yield what statements of a top level do to sys.path, those behind "if X not in sys.path" included."""
    for statement in body:
        its: tuple[int | None, list[ast.expr]] | None = None
        match statement:
            case ast.If(test=ast.Compare(ops=[ast.NotIn()], comparators=[where]), body=inner) if is_sys_path(where):
                yield from changes_of_path(inner, names)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=where, attr=how), args=given)) if is_sys_path(where):
                its = _inserted(how, given)
            case ast.Assign(
                targets=[
                    ast.Subscript(
                        value=where, slice=ast.Slice(lower=None | ast.Constant(value=0), upper=ast.Constant(value=0))
                    )
                ],
                value=ast.List(elts=several),
            ) if is_sys_path(where):
                its = (0, several)
            case ast.AugAssign(target=where, op=ast.Add(), value=ast.List(elts=several) | ast.Tuple(elts=several)) if (
                is_sys_path(where)
            ):
                its = (None, several)
            case ast.Assign(
                targets=[where], value=ast.BinOp(left=ast.List(elts=several), op=ast.Add(), right=rest)
            ) if is_sys_path(where) and is_sys_path(rest):
                its = (0, several)
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call) if local := call_in_clone(
                call
            ):
                its = (0, [local[0]])
        if its is not None:
            yield PathChange(its[0], tuple(map(names.value_of, its[1])), statement.lineno)
        names.follow(statement)


def _inserted(how: str, given: list[ast.expr]) -> tuple[int | None, list[ast.expr]] | None:
    """Return where a method of a list puts its arguments, and these."""
    match how, given:
        case "append", [one]:
            return None, [one]
        case "insert", [ast.Constant(value=int(at)), one] if at <= sys.maxsize:  # else Python itself refuses it
            return at, [one]
        case "extend", [ast.List(elts=several) | ast.Tuple(elts=several)]:
            return None, several
    return None
