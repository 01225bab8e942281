"""Programs in the working folder that import what PYTHONSAFEPATH or PYTHONNOUSERSITE leaves out.

With the first, Python (3.11 and later) does not put the folder of a script in front of sys.path; with the second, it does not search the user's
own packages: https://docs.python.org/3/using/cmdline.html#environment-variables
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from core.common.syntax_tree import statements_of
from core.model.facts import PythonEnvironment, SearchEntry, Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.environment import user_folder
from core.probes.python.locations import working_folder
from core.probes.python.search.search_path import Interpreter, python_search_path, read_interpreter
from core.probes.python.text.module_text import packages_imported
from core.probes.sysroot import Sysroot

SAFE_PATH, NO_USER_SITE = "PYTHONSAFEPATH", "PYTHONNOUSERSITE"
SAFE_PATH_SINCE = (3, 11)
MOST_SCRIPTS, MOST_TEXT = 40, 1 << 18
"""Maximum number of scripts read, and of bytes of each."""


def beside_left_out(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield, for each environment, a program that imports a module that lies beside it and is nowhere on its sys.path."""
    folder = working_folder(where) if request.env.get(SAFE_PATH) else ""
    names = set(where.names(folder) or ()) if folder else set()
    if not names or "__init__.py" in names:
        return
    own = {n.removesuffix(".py") for n in names if n.endswith(".py") and n.removesuffix(".py").isidentifier()}
    own |= {n for n in names if n.isidentifier() and where.is_file(where.join(folder, n, "__init__.py"))}
    imported = _imported(folder, where)
    wanted = {m for its in imported.values() for m in its} & own - set(sys.stdlib_module_names)
    programs = [
        (s, m) for s, its in imported.items() for m in its if m in wanted and s.removesuffix(".py") not in wanted
    ]
    for python, its in _interpreters(request, where) if programs else ():
        if its.version >= SAFE_PATH_SINCE:
            entries = python_search_path(its, request.env, folder, where).entries
            if lost := next(((s, m) for s, m in programs if not _is_provided(m, entries, where)), None):
                file = path_text(where.join(folder, lost[0]))
                yield _row(SAFE_PATH, python, (file,), lost[1], imported[lost[0]][lost[1]], request)


def users_left_out(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield, for each environment, a program whose import only the folder that the variable leaves out would find."""
    folder = working_folder(where) if request.env.get(NO_USER_SITE) else ""
    imported = _imported(folder, where) if folder else {}
    without = {n: v for n, v in request.env.items() if n != NO_USER_SITE}
    for python, its in _interpreters(request, where) if imported else ():
        users = [f for f in user_folder(its.base, its.version, without, where) if where.is_folder(f)]
        searched = python_search_path(its, without, folder, where).entries
        users = [f for f in users if any(e.path == f for e in searched)]
        entries = python_search_path(its, request.env, folder, where).entries if users else ()
        if not users or any(e.path in users for e in entries):
            continue
        here = set(where.names(folder) or ())
        found = (
            (script, m, line)
            for script, modules in imported.items()
            for m, line in modules.items()
            if _is_there(m, users, where)
            and m not in sys.stdlib_module_names
            and not here & {f"{m}.py", m}
            and not _is_provided(m, entries, where)
        )
        if lost := next(found, None):
            files = (path_text(where.join(folder, lost[0])), path_text(users[0]))
            yield _row(NO_USER_SITE, python, files, lost[1], lost[2], request)


def _row(  # noqa: PLR0917 - what one row tells
    variable: str, python: PythonEnvironment, files: tuple[str, ...], module: str, line: int, request: ProbeRequest
) -> Vocabulary:
    return Vocabulary(
        variable=variable, prefix=python.prefix, files=files, known=(module,), line=line,
        unknown=(path_text(request.env[variable]),), takes="beside", sure=False,
    )  # fmt: skip


def _interpreters(request: ProbeRequest, where: Sysroot) -> Iterator[tuple[PythonEnvironment, Interpreter]]:
    for python in request.seen.pythons or ():
        request.watch.check()
        if its := read_interpreter(python.prefix, python.executable, where):
            yield python, its


def _imported(folder: str, where: Sysroot) -> dict[str, dict[str, int]]:
    """Return what each script of a folder imports whatever happens, with the lines; nothing of one that changes sys.path itself."""
    found: dict[str, dict[str, int]] = {}
    for script in sorted(n for n in where.names(folder) or () if n.endswith(".py"))[:MOST_SCRIPTS]:
        text = where.text(where.join(folder, script), MOST_TEXT) or ""
        changes = "sys.path" in text or "addsitedir" in text
        found[script] = {} if changes else packages_imported(statements_of(text))
    return found


def _is_provided(module: str, entries: Iterable[SearchEntry], where: Sysroot) -> bool:
    """Whether an entry of sys.path has the module, or a finder of an editable installation may."""
    names = (n for entry in entries for n in where.names(entry.path) or ())
    return any(n.partition(".")[0] == module or n.startswith("__editable__") for n in names)


def _is_there(module: str, users: list[str], where: Sysroot) -> bool:
    return any(
        n in (f"{module}.py", module) or (n.startswith(f"{module}.") and n.endswith((".pyd", ".so")))
        for folder in users
        for n in where.names(folder) or ()
    )
