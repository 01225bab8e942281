"""Programs in the working folder that need what lies among the user's own packages alone, which PYTHONNOUSERSITE leaves out.

https://docs.python.org/3/using/cmdline.html#envvar-PYTHONNOUSERSITE
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from core.model.facts import Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.environment import user_folder
from core.probes.python.locations import working_folder
from core.probes.python.search.search_path import python_search_path, read_interpreter
from core.probes.sysroot import Sysroot
from core.probes.variables.safe_path import MOST_SCRIPTS, MOST_TEXT, imported_by, is_provided

NAME = "PYTHONNOUSERSITE"


def users_left_out(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield, for each environment, a program whose import only the folder that the variable leaves out would find."""
    value = request.env.get(NAME, "")
    folder = working_folder(where) if value else ""
    scripts = sorted(n for n in where.names(folder) or () if n.endswith(".py"))[:MOST_SCRIPTS] if folder else []
    imported = {s: imported_by(where.text(where.join(folder, s), MOST_TEXT) or "") for s in scripts}
    without = {n: v for n, v in request.env.items() if n != NAME}
    for python in request.seen.pythons or () if imported else ():
        request.watch.check()
        its = read_interpreter(python.prefix, python.executable, where)
        if its is None:
            continue
        users = [f for f in user_folder(its.base, its.version, without, where) if where.is_folder(f)]
        searched = python_search_path(its, without, folder, where).entries
        users = [f for f in users if any(e.path == f for e in searched)]
        entries = python_search_path(its, request.env, folder, where).entries if users else ()
        if not users or any(e.path in users for e in entries):
            continue
        here = set(where.names(folder) or ())
        for script, modules in imported.items():
            lost = next(
                (
                    m
                    for m in modules
                    if _is_there(m, users, where) and not _is_known(m, here) and not is_provided(m, entries, where)
                ),
                "",
            )
            if lost:
                yield Vocabulary(
                    variable=NAME,
                    prefix=python.prefix,
                    files=(path_text(where.join(folder, script)), path_text(users[0])),
                    known=(lost,),
                    unknown=(path_text(value),),
                    takes="beside",
                    line=modules[lost],
                    sure=False,
                )
                break


def _is_there(module: str, users: list[str], where: Sysroot) -> bool:
    return any(
        n in (f"{module}.py", module) or (n.startswith(f"{module}.") and n.endswith((".pyd", ".so")))
        for folder in users
        for n in where.names(folder) or ()
    )


def _is_known(module: str, here: set[str]) -> bool:
    return module in sys.stdlib_module_names or bool(here & {f"{module}.py", module})
