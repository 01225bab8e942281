"""What the programs of the folder that a scan was started in use: which frameworks none of them names, and whether one starts workers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.knowledge.modules import module_of, module_table
from core.model.facts import PythonEnvironment, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.distributions import required_name
from core.probes.python.locations import working_folder
from core.probes.sysroot import Sysroot

PROGRAMS = (".py", ".ipynb")
OTHERS = (
    ".sh",
    ".toml",
    ".yaml",
    ".yml",
    ".json",
    ".ini",
    ".cfg",
    ".env",
    ".txt",
    "Makefile",
    "Procfile",
    "Dockerfile",
)
"""Ends of the names of further files that may name a framework."""
LEFT_OUT = frozenset(("site-packages", "node_modules", "__pycache__", "__pypackages__"))
MOST_DEPTH, MOST_FILES, MOST_BYTES = 3, 200, 256 << 10
_IMPORT = late_pattern(r"(?m)(?:^[ \t]*|\"[ \t]*)(?:import|from)[ \t]+([A-Za-z_]\w*)")
_WORKERS = late_pattern(r"\bnum_workers\b[\"']?[ \t]*[:=][ \t]*(?!0\b|=|None\b)\S|--num[-_]workers[ =]+[1-9]")


def idle_frameworks(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> tuple[str, ...]:
    """Return the distributions of frameworks that nothing in the folder names, where a program there uses other packages of the environment.

    What uses a framework stands for it: who names faster-whisper uses CTranslate2. Nothing is said of a folder that was not read whole.
    """
    texts = request.shared.setdefault("texts of own programs", {})
    folder = request.script_folder or working_folder(where)
    if folder not in texts:
        texts[folder] = _texts(folder, request, where)
    its: dict[str, str] | None = texts[folder]
    if not its:
        return ()
    there = {name.partition(".")[0] for site in python.site_packages for name in where.names(site) or ()}
    imported = {top for path, text in its.items() if path.endswith(PROGRAMS) for top in _IMPORT.findall(text)}
    if imported.isdisjoint(there - LEFT_OUT):
        return ()
    rows = [row.distributions for row in module_table().modules]
    mine = [d.name for d in python.distributions if any(re.fullmatch(pattern, d.name) for pattern in rows)]
    return tuple(dict.fromkeys(name for name in mine if not _is_named(name, python, its)))


def starts_workers(request: ProbeRequest, where: Sysroot) -> str:
    """Return the program, or settings, of the folder that ask a DataLoader for processes of its own; empty for none."""
    folder = request.script_folder or working_folder(where)
    its = _texts(folder, request, where) or {}
    return next((path_text(path) for path, text in its.items() if _WORKERS.search(text)), "")


def _is_named(distribution: str, python: PythonEnvironment, texts: dict[str, str]) -> bool:
    names = {distribution}
    for _depth in range(3):
        names |= {
            d.name for d in python.distributions if any(required_name(w) in names for w in (*d.requires, *d.pins))
        }
    spelt = {s for name in names for s in (name, name.replace("-", "_"), module_of(name))}
    word = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(spelt)))})(?![\w-])", re.IGNORECASE)
    return any(word.search(text) for text in texts.values())


def _texts(folder: str, request: ProbeRequest, where: Sysroot) -> dict[str, str] | None:
    """Return the text of each program and setting below a folder; None where there are too many, or where people keep everything."""
    if folder in ("", "/", request.env.get("HOME", ""), request.seen.machine.home):
        return None
    found: dict[str, str] = {}
    for path in _files(folder, where, MOST_DEPTH):
        text = where.text(path, MOST_BYTES + 1)
        if len(found) >= MOST_FILES or text is None or len(text) > MOST_BYTES:
            return None
        found[path] = text
    return found


def _files(folder: str, where: Sysroot, depth: int) -> Iterator[str]:
    names = where.names(folder) or ()
    if "pyvenv.cfg" in names or "conda-meta" in names:
        return
    for name in sorted(names):
        path = where.join(folder, name)
        if name.endswith((*PROGRAMS, *OTHERS)):
            yield path
        elif not name.startswith(".") and name not in LEFT_OUT and where.is_folder(path) and depth:
            yield from _files(path, where, depth - 1)
