"""Parts of a person's own project that a further step brings, and that programs ask for before it was done: compiled modules, Git's submodules.

Sources: https://cython.readthedocs.io/en/latest/src/quickstart/build.html; https://git-scm.com/book/en/v2/Git-Tools-Submodules: a clone
without --recurse-submodules has their folders, empty.
"""

from __future__ import annotations

import msgspec

from core.common.late_pattern import late_pattern
from core.model.facts import EndedImport
from core.probes.sysroot import Sysroot

MOST_BYTES = 256 << 10
"""How long a setup script, or Git's file of submodules, may be."""

_PATHS = late_pattern(r"(?m)^[ \t]*path[ \t]*=[ \t]*(\S+)[ \t\r]*$")
_BUILDS = late_pattern(r"\bcythonize\(|\bext_modules\s*=")


def unmade_part(ended: EndedImport, program: str, folder: str, where: Sysroot) -> EndedImport | None:
    """Return where a program ends at a part of its own project that is still to be made or fetched; None for any other end.

    ``program``: its text. ``folder``: where it lies.
    """
    inner = where.path_module.sep
    if ended.kind == "foreign":
        return ended if ended.path.startswith(folder + inner) else None
    if ended.kind != "absent" or ended.name or ended.hidden or not ended.importer.startswith(folder + inner):
        return None
    path, name = _source(ended, folder, where), ""
    if not path and (name := _submodule(ended, program, folder, where)):
        path = where.join(folder, ".gitmodules")
    return msgspec.structs.replace(ended, kind="unmade", path=path, name=name, owner="") if path else None


def _source(ended: EndedImport, folder: str, where: Sysroot) -> str:
    """Return what the module is to be compiled from: its own source, or a script beside it that builds the package's; empty for none."""
    *parents, last = ended.wanted.split(".")
    own = where.parent(ended.importer)
    for place in dict.fromkeys((where.join(folder, *parents), where.join(folder, *parents[:1]), own)):
        if where.is_file(path := where.join(place, f"{last}.pyx")):
            return path
        if parents and place != folder and where.is_file(path := where.join(place, "setup.py")):
            return path if _BUILDS.search(where.text(path, MOST_BYTES) or "") else ""
    return ""


def _submodule(ended: EndedImport, program: str, folder: str, where: Sysroot) -> str:
    """Return the submodule whose folder is empty, and that the program names or asks for; empty for none."""
    for path in _PATHS.findall(where.text(where.join(folder, ".gitmodules"), MOST_BYTES) or ""):
        asked = path in program or f"{ended.wanted}.".startswith(path.replace("/", ".") + ".")
        if asked and not set(where.names(where.join(folder, *path.split("/"))) or ()) - {".git"}:
            return str(path)
    return ""
