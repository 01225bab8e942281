"""Programs in the working folder whose own modules PYTHONSAFEPATH leaves out.

With it, Python does not put the folder of a script in front of sys.path (3.11 and later):
https://docs.python.org/3/using/cmdline.html#envvar-PYTHONSAFEPATH
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from core.common.syntax_tree import statements_of
from core.model.facts import SearchEntry, Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.locations import working_folder
from core.probes.python.search.search_path import python_search_path, read_interpreter
from core.probes.python.text.module_text import packages_imported
from core.probes.sysroot import Sysroot

NAME, SINCE = "PYTHONSAFEPATH", (3, 11)
MOST_SCRIPTS, MOST_TEXT = 40, 1 << 18
"""Maximum number of scripts read, and of bytes of each."""


def left_out(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield, for each environment, a program that imports a module that lies beside it and is nowhere on its sys.path."""
    value = request.env.get(NAME, "")
    folder = working_folder(where) if value else ""
    names = set(where.names(folder) or ()) if folder else set()
    if not names or "__init__.py" in names:
        return
    own = {n.removesuffix(".py") for n in names if n.endswith(".py") and n.removesuffix(".py").isidentifier()}
    own |= {n for n in names if n.isidentifier() and where.is_file(where.join(folder, n, "__init__.py"))}
    imported = {
        script: imported_by(where.text(where.join(folder, script), MOST_TEXT) or "")
        for script in sorted(n for n in names if n.endswith(".py"))[:MOST_SCRIPTS]
    }
    wanted = {m for its in imported.values() for m in its} & own - set(sys.stdlib_module_names)
    programs = [
        (s, m) for s, its in imported.items() for m in its if m in wanted and s.removesuffix(".py") not in wanted
    ]
    for python in request.seen.pythons or () if programs else ():
        request.watch.check()
        its = read_interpreter(python.prefix, python.executable, where)
        if its is None or its.version < SINCE:
            continue
        entries = python_search_path(its, request.env, folder, where).entries
        if lost := next(((s, m) for s, m in programs if not is_provided(m, entries, where)), None):
            yield Vocabulary(
                variable=NAME,
                prefix=python.prefix,
                files=(path_text(where.join(folder, lost[0])),),
                known=(lost[1],),
                unknown=(path_text(value),),
                takes="beside",
                line=imported[lost[0]][lost[1]],
                sure=False,
            )


def imported_by(text: str) -> dict[str, int]:
    """Return the modules that a script imports whatever happens, with their lines; none where it changes sys.path itself."""
    return {} if "sys.path" in text or "addsitedir" in text else packages_imported(statements_of(text))


def is_provided(module: str, entries: Iterable[SearchEntry], where: Sysroot) -> bool:
    """Whether an entry of sys.path has the module, or a finder of an editable installation may."""
    for entry in entries:
        names = where.names(entry.path) or ()
        if any(n.partition(".")[0] == module or n.startswith("__editable__") for n in names):
            return True
    return False
