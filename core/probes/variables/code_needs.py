"""Vocabularies probe: words in a variable's value, compared with those in the files of the framework that reads it.

A library that accepts options by name contains these names as text, so the installed release itself shows which it
knows. Files are opened only if such a variable is set, in this session or another way of starting.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from core.common.syntax_tree import argument, constant, last_name, nodes_of, statements_of
from core.knowledge.contracts import CachingSource, CodeSource, contract_table
from core.model.facts import PythonEnvironment, Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot
from core.probes.variables.places import write_obstacle
from core.probes.variables.reading_modules import MOST_TEXT, matching_files, recorded_names

COMPILERS = ("jit", "njit", "vectorize", "guvectorize", "generated_jit", "stencil")
"""Numba's decorators."""
ACCOUNT_VARIABLES = ("LOGNAME", "USER", "LNAME", "USERNAME")
"""Variables that Python's getpass.getuser() takes the user's name from, before it asks for the account."""


def without_account(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield the code that asks for the name of a user with neither an account nor a variable, as in a container."""
    if where.system != "linux" or not where.is_running_system or any(request.env.get(n) for n in ACCOUNT_VARIABLES):
        return
    import pwd  # imported late: Windows has none

    number = os.getuid()
    with suppress(KeyError):
        pwd.getpwuid(number)
        return
    for python, reader, paths in _sources(contract_table().code, request, where):
        for path in paths:
            text = (where.read(path, MOST_TEXT) or b"").decode("utf-8", "replace")
            if "getuser" not in text or any(request.env.get(n) for n in variables_of(text)):
                continue
            if line := account_asked(text):
                yield Vocabulary(
                    variable="USER", prefix=python.prefix, files=(path_text(path),), unknown=(str(number),),
                    takes="account", line=line, reader=reader, sure=False,
                )  # fmt: skip
                break


def without_cache(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield modules that ask Numba for a cache where no place can be written to: the variable's, the module's, the user's (core/caching.py)."""
    home = request.env.get("HOME", "")
    if where.system != "linux" or not where.path_module.isabs(home) or request.env.get("NUMBA_DISABLE_JIT", "0") != "0":
        return
    given = request.env.get("NUMBA_CACHE_DIR", "")
    users = where.join(request.env.get("XDG_CACHE_HOME", "") or where.join(home, ".cache"), "numba")
    if not all(where.path_module.isabs(p) and write_obstacle(p, where) for p in (given or users, users)):
        return
    for python, reader, paths in _sources(contract_table().caching, request, where, needs="numba"):
        for path in paths:
            beside = where.join(where.parent(path), "__pycache__")
            if not write_obstacle(beside, where):
                break
            text = where.text(path, MOST_TEXT) or ""
            if "cache=True" in text and (line := cached_function(text)):
                yield Vocabulary(
                    variable="NUMBA_CACHE_DIR", prefix=python.prefix, files=(path_text(path),),
                    known=tuple(path_text(p) for p in (given, beside, users) if p),
                    takes="cache", line=line, reader=reader, sure=False,
                )  # fmt: skip
                break


def _sources(
    sources: Iterable[CodeSource | CachingSource], request: ProbeRequest, where: Sysroot, needs: str = ""
) -> Iterator[tuple[PythonEnvironment, str, Iterator[str]]]:
    """Yield, for each environment and source, the reader that is installed and its files; folders are left out."""
    for python in request.seen.pythons or ():
        recorded = recorded_names(python, where)
        for source in sources if not needs or needs in recorded else ():
            if reader := next((n for n in recorded if re.fullmatch(source.readers, n)), ""):
                request.watch.check()
                files = (f for f in source.files if not f.endswith("/"))
                yield python, reader, (p for f in files for p in matching_files(f, python, where))


def account_asked(text: str) -> int:
    """Return the line at which a module's function asks for the name of the user whenever it is called; 0 where none does.

    getpass.getuser() takes a variable or the account, and raises an exception if there is neither. Where a condition or a ``try`` stands
    above it, or the module also takes a place from a variable that is set, nothing follows.
    """
    for function in (n for n in nodes_of(text) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)):
        for statement in function.body:
            if (
                isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr)
                and statement.value is not None
            ):
                for node in ast.walk(statement.value):
                    if isinstance(node, ast.Call) and last_name(node.func) == "getuser" and not node.args:
                        return node.lineno
    return 0


def cached_function(text: str) -> int:
    """Return the line of the first function that is decorated with ``cache=True`` as its module is imported; 0 for none."""
    for function in (n for n in statements_of(text) if isinstance(n, ast.FunctionDef)):
        for decorator in function.decorator_list:
            if not isinstance(decorator, ast.Call) or last_name(decorator.func) not in COMPILERS:
                continue
            if constant(argument(decorator, "cache")):
                return decorator.lineno
    return 0


def variables_of(text: str) -> frozenset[str]:
    """Return the names of variables that a module's text reads."""
    return frozenset(re.findall(r"(?:environ(?:\.get)?|getenv)\s*[\[(]\s*[\"']([A-Za-z_]\w*)[\"']", text))
