"""Parts of a person's own project that a further step brings, and that programs ask for before it was done: compiled modules, Git's submodules,
clones that are to be installed.

Sources: https://cython.readthedocs.io/en/latest/src/quickstart/build.html; https://git-scm.com/book/en/v2/Git-Tools-Submodules: a clone
without --recurse-submodules has their folders, empty; https://docs.python.org/3/reference/import.html#namespace-packages: a clone beside the program is taken for the
package that lies in it.
"""

from __future__ import annotations

import msgspec

from core.common.late_pattern import late_pattern
from core.model.facts import EndedImport
from core.probes.sysroot import Sysroot

MOST_BYTES = 256 << 10
"""How long a setup script, or Git's file of submodules, may be."""

MOST_FILES = 40
"""How many files of a folder are looked at for PYTHONPATH."""

_PATHS = late_pattern(r"(?m)^[ \t]*path[ \t]*=[ \t]*(\S+)[ \t\r]*$")
_BUILDS = late_pattern(r"\bcythonize\(|\bext_modules\s*=")


def unmade_part(ended: EndedImport, program: str, folder: str, where: Sysroot) -> EndedImport | None:
    """Return where a program ends at a part of its own project that is still to be made or fetched; None for any other end.

    ``program``: its text. ``folder``: where it lies.
    """
    inner = where.path_module.sep
    if clone := _clone(ended, folder, where):
        project, package = clone
        return msgspec.structs.replace(ended, kind="unmade", path=project, name="", hidden=package)
    if ended.kind == "foreign":
        return ended if ended.path.startswith(folder + inner) else None
    if ended.kind != "absent" or ended.name or ended.hidden or not ended.importer.startswith(folder + inner):
        return None
    path, name = _source(ended, folder, where), ""
    if not path and (name := _submodule(ended, program, folder, where)):
        path = where.join(folder, ".gitmodules")
    return msgspec.structs.replace(ended, kind="unmade", path=path, name=name, owner="") if path else None


def _clone(ended: EndedImport, folder: str, where: Sysroot) -> tuple[str, str] | None:
    """Return the clone beside a program that Python takes for the package in it, and the start of that package."""
    top = ended.wanted.partition(".")[0]
    path = where.join(folder, top)
    if ended.kind not in ("absent", "no name") or ended.hidden or ended.path != path:
        return None
    starts = (where.join(path, *above, top, "__init__.py") for above in ((), ("src",)))
    package = next((start for start in starts if where.is_file(start)), "")
    if not package or not any(where.is_file(where.join(path, name)) for name in ("pyproject.toml", "setup.py")):
        return None
    return None if _is_added_elsewhere(top, folder, where) else (path, package)


def _is_added_elsewhere(name: str, folder: str, where: Sysroot) -> bool:
    """Whether a file of the folder speaks of PYTHONPATH and of the clone: whoever starts the program by it gets the package."""
    files = [f for f in where.names(folder) or () if not f.endswith(".py") and where.is_file(where.join(folder, f))]
    texts = (where.text(where.join(folder, f), MOST_BYTES) or "" for f in files[:MOST_FILES])
    return any("PYTHONPATH" in text and name in text for text in texts)


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
