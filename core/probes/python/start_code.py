"""The variables and sys.path entries that an interpreter's start-up code sets, and the libraries that it loads, read from its text; no code runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from core.common.syntax_tree import argument, constant, is_environ, last_name, literal_text, statements_of
from core.probes.python.path_expressions import PathNames

MAX_START_CODE_BYTES = 64 << 10
"""Maximum number of bytes read of a sitecustomize."""


def variables_set(text: str) -> tuple[tuple[str, str], ...]:
    """Return the variables that the code sets to constants, in order; none if it cannot be parsed."""
    return tuple((name, value) for name, value, _line in variable_lines(text))


def variable_lines(text: str) -> tuple[tuple[str, str, int], ...]:
    """Return the same with the line of each.

    os.environ["X"] = "1", os.environ.setdefault("X", "1"), os.putenv("X", "1") and os.environ.update({"X": "1"}) count,
    outside conditions, loops and functions: what runs only sometimes is left out.
    """
    if "environ" not in text and "putenv" not in text:
        return ()
    found: list[tuple[str, str, int]] = []

    def keep(name: ast.expr | None, value: ast.expr) -> None:
        its, told = literal_text(name), literal_text(value)
        if its is not None and told is not None:
            found.append((its, told, value.lineno))

    for statement in statements_of(text):
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=place, slice=name)], value=value) if is_environ(place):
                keep(name, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=place, attr=called), args=arguments)):
                if len(arguments) == 2 and (called == "putenv" or (called == "setdefault" and is_environ(place))):
                    keep(*arguments)
                elif called == "update" and is_environ(place) and arguments and isinstance(arguments[0], ast.Dict):
                    for key, content in zip(arguments[0].keys, arguments[0].values, strict=True):
                        keep(key, content)
    return tuple(found)


class DotenvCall(NamedTuple):
    """A call that reads a file of variables into os.environ."""

    module: str
    """Of the package that does it."""
    file: str
    """As the code names it; empty where the package looks for ".env" in the folders above."""
    overrides: bool
    line: int


def dotenv_calls(text: str, file: str) -> tuple[DotenvCall, ...]:
    """Return the calls that read a file of variables, outside conditions, loops and functions, in order.

    Sources: the documentations of python-dotenv (load_dotenv), environs (Env.read_env) and django-environ (Env.read_env).
    """
    if "load_dotenv" not in text and "read_env" not in text:
        return ()
    module = "environs" if "environs" in text else "environ"
    names = PathNames(file)
    found = []
    for statement in statements_of(text):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if names.assign(name, value):
                pass
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                called = last_name(call.func)
                if called not in ("load_dotenv", "read_env"):
                    continue
                first = argument(call, "dotenv_path", 0) or argument(call, "path")
                searched = isinstance(first, ast.Call) and last_name(first.func) == "find_dotenv"
                place = None if first is None or searched else names.value_of(first)
                if first is not None and place is None and not searched:
                    continue
                overrides = constant(argument(call, "override") or argument(call, "overwrite")) is True
                its_module = "dotenv" if called == "load_dotenv" else module
                found.append(DotenvCall(its_module, place or "", overrides, statement.lineno))
            case _:
                pass
    return tuple(found)


LOADERS = ("CDLL", "PyDLL", "LoadLibrary")
"""Names in ctypes by which code loads a library."""


def libraries_loaded(text: str) -> tuple[str, ...]:
    """Return the files that the code loads by ctypes with their whole path as a constant, outside conditions, loops and functions.

    A library by its bare name is left to the loader's search.
    """
    if not any(name in text for name in LOADERS):
        return ()
    found: dict[str, None] = {}
    for statement in statements_of(text):
        match statement:
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                called = last_name(call.func)
                file = call.args[0] if call.args else None
                if called in LOADERS and (path := literal_text(file)) is not None:
                    found[path] = None
    return tuple(file for file in found if "/" in file)


PathChange = tuple[int | None, str, int]
"""Index in sys.path at which a folder is put (None: at the end), the folder, and the line."""


def path_changes(text: str, file: str, home: str = "") -> tuple[PathChange, ...]:
    """Return the changes of sys.path with folders that the text shows: constants, and paths relative to the file or, if
    known, to the home.

    They count at the top level, and behind "if X not in sys.path".
    """
    if "sys.path" not in text:
        return ()
    names = PathNames(file, home=home)
    found: list[PathChange] = []

    def follow(body: list[ast.stmt]) -> None:
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    names.assign(name, value)
                case ast.If(test=ast.Compare(ops=[ast.NotIn()], comparators=[ast.Attribute(attr="path")]), body=inner):
                    follow(inner)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys"), attr="path"), attr=called), args=given)):  # fmt: skip
                    place = names.value_of(given[-1]) if given else None
                    if place and called == "insert" and isinstance(given[0], ast.Constant):
                        found.append(
                            (int(given[0].value) if isinstance(given[0].value, int) else 0, place, statement.lineno)
                        )
                    elif place and called == "append":
                        found.append((None, place, statement.lineno))
                    elif called == "extend" and given:
                        found.extend((None, its, statement.lineno) for its in _places(given[0], names))
                case ast.AugAssign(
                    target=ast.Attribute(value=ast.Name(id="sys"), attr="path"), op=ast.Add(), value=value
                ):
                    found.extend((None, its, statement.lineno) for its in _places(value, names))

    follow(statements_of(text))
    return tuple(found)


def _places(node: ast.expr, names: PathNames) -> Iterator[str]:
    """Yield the folders of a list that its text tells."""
    if isinstance(node, ast.List | ast.Tuple):
        yield from (its for each in node.elts if (its := names.value_of(each)) is not None)
