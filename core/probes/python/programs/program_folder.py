"""The programs and settings of the folder that a program starts in: found and read once for all that ask."""

from __future__ import annotations

import ast
from functools import cached_property

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import statements_of
from core.model.facts import Frozen
from core.probes.probe import ProbeRequest
from core.probes.python.locations import start_folder
from core.probes.python.text.module_text import packages_spelt
from core.probes.sysroot import Sysroot

PROGRAMS = (".py", ".ipynb")
SETTINGS = (".sh", ".bat", ".cmd", ".ps1", ".toml", ".yaml", ".yml", ".json", ".ini", ".cfg")
OTHERS = (*SETTINGS, ".env", ".txt", "Makefile", "Procfile", "Dockerfile")
"""Ends of the names of further files that may name a framework."""
MOST_PROGRAMS, PROGRAM_BYTES = 100, 256 << 10
"""Programs of one folder that are read, and how far each."""
LEFT_OUT = frozenset(("site-packages", "node_modules", "__pycache__", "__pypackages__"))
MOST_DEPTH, MOST_FILES, MOST_FOLDERS = 3, 200, 200
"""Bounds of what is read below a folder; more files, more folders or a larger file: it is not read whole. A folder of data has thousands."""
_FILE = late_pattern(r"\.[A-Za-z]\w{0,7}\Z")
"""How the names of files end that are no folders."""


class Program(Frozen, frozen=True, dict=True):
    """A person's program, or a notebook."""

    path: str
    name: str
    """The file's name without its ending: the module that it is."""
    text: str

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The packages that its lines import, in their order, in functions and conditions, too."""
        return tuple(packages_spelt(self.text))

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """The statements of its top level; none where Python cannot parse it."""
        return statements_of(self.text)


def programs_in(folder: str, where: Sysroot, endings: tuple[str, ...] = (".py",)) -> tuple[Program, ...]:
    """Return the programs that stand in a folder itself, in the order of their names."""
    return tuple(
        Program(
            where.join(folder, name), name.rpartition(".")[0], where.text(where.join(folder, name), PROGRAM_BYTES) or ""
        )
        for name in [n for n in where.names(folder) or () if n.endswith(endings)][:MOST_PROGRAMS]
    )


def start_programs(request: ProbeRequest, where: Sysroot) -> tuple[Program, ...]:
    """Return the programs and notebooks of the folder that a program starts in."""
    folder = start_folder(request, where)
    known: dict[str, tuple[Program, ...]] = request.shared.setdefault("programs of folders", {})
    if folder not in known:
        known[folder] = programs_in(folder, where, PROGRAMS)
    return known[folder]


def own_programs(request: ProbeRequest, where: Sysroot) -> tuple[Program, ...]:
    """Return the programs of that folder, without notebooks; none in a home, where people keep everything."""
    if start_folder(request, where) in ("", "/", request.env.get("HOME", "")):
        return ()
    return tuple(p for p in start_programs(request, where) if p.text and p.path.endswith(".py"))


def own_texts(request: ProbeRequest, where: Sysroot) -> dict[str, str] | None:
    """Return the text of each program and setting in that folder and below it; None where there are too many, or where people keep
    everything.
    """
    folder = start_folder(request, where)
    if folder in ("", "/", request.env.get("HOME", ""), request.seen.machine.home):
        return None
    known: dict[str, dict[str, str] | None] = request.shared.setdefault("texts of own programs", {})
    if folder not in known:
        known[folder] = texts_below(folder, where)
    return known[folder]


def texts_of_programs(request: ProbeRequest, where: Sysroot) -> list[str]:
    """Return the texts of the programs and notebooks among these alone."""
    return [text for path, text in (own_texts(request, where) or {}).items() if path.endswith(PROGRAMS)]


def texts_below(folder: str, where: Sysroot) -> dict[str, str] | None:
    """Return the text of each program and setting below a folder; None where there are too many."""
    found: dict[str, str] = {}
    waiting, listed = [(folder, MOST_DEPTH)], 0
    while waiting:
        here, depth = waiting.pop(0)
        names = where.names(here) or ()
        listed += 1
        if "pyvenv.cfg" in names or "conda-meta" in names:
            continue
        inner = [n for n in names if not (n.startswith(".") or n in LEFT_OUT or _FILE.search(n))] if depth else []
        if listed + len(waiting) + len(inner) > MOST_FOLDERS:
            return None
        waiting += [(path, depth - 1) for n in inner if where.is_folder(path := where.join(here, n))]
        for path in (where.join(here, n) for n in names if n.endswith((*PROGRAMS, *OTHERS))):
            text = where.text(path, PROGRAM_BYTES + 1)
            if len(found) >= MOST_FILES or text is None or len(text) > PROGRAM_BYTES:
                return None
            found[path] = text
    return found
