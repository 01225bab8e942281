"""What the programs of the folder that a scan was started in use: which frameworks none of them names, and whether one starts workers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.common.late_pattern import late_pattern
from core.knowledge.contracts import variable_contracts
from core.knowledge.modules import module_of, module_table
from core.model.facts import PythonEnvironment, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import required_name
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
MOST_DEPTH, MOST_FILES, MOST_FOLDERS, MOST_BYTES = 3, 200, 200, 256 << 10
"""Bounds of what is read of a folder; more files, more folders or a larger file: it is not read whole. A folder of data has thousands."""
_FILE = late_pattern(r"\.[A-Za-z]\w{0,7}\Z")
"""How the names of files end that are no folders."""
_IMPORT = late_pattern(r"(?m)(?:^[ \t]*|\"[ \t]*)(?:import|from)[ \t]+([A-Za-z_]\w*)")
_WORKERS = late_pattern(r"\bnum_workers\b[\"']?[ \t]*[:=][ \t]*(?!0\b|=|None\b)\S|--num[-_]workers[ =]+[1-9]")


def idle_frameworks(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> tuple[str, ...]:
    """Return the distributions of frameworks, and those that fetch as a variable tells them, that nothing in the folder names, where a program
    there uses other packages of the environment.

    What uses a framework stands for it: who names faster-whisper uses CTranslate2. Nothing is said of a folder that was not read whole.
    """
    its = own_texts(request, where)
    if not its:
        return ()
    there = {name.partition(".")[0] for site in python.site_packages for name in where.names(site) or ()}
    imported = {top for path, text in its.items() if path.endswith(PROGRAMS) for top in _IMPORT.findall(text)}
    if imported.isdisjoint(there - LEFT_OUT):
        return ()
    fetching = {contract.readers for contract in variable_contracts() if contract.fetches and contract.readers}
    rows = [*(row.distributions for row in module_table().modules), *fetching]
    mine = [d.name for d in python.distributions if any(re.fullmatch(pattern, d.name) for pattern in rows)]
    return tuple(dict.fromkeys(name for name in mine if not _is_named(name, python, its)))


def starts_workers(request: ProbeRequest, where: Sysroot) -> str:
    """Return the program, or settings, of the folder that ask a DataLoader for processes of its own; empty for none."""
    its = own_texts(request, where) or {}
    return next((path_text(path) for path, text in its.items() if _WORKERS.search(text)), "")


def _is_named(distribution: str, python: PythonEnvironment, texts: dict[str, str]) -> bool:
    names = with_users({distribution}, python)
    return any(is_spelt(names, text) for text in texts.values())


def with_users(names: set[str], python: PythonEnvironment) -> set[str]:
    """Return distributions with those that require them, over three steps."""
    found = set(names)
    for _depth in range(3):
        found |= {
            d.name for d in python.distributions if any(required_name(w) in found for w in (*d.requires, *d.pins))
        }
    return found


def is_spelt(distributions: Iterable[str], text: str) -> bool:
    """Whether a text names one of these distributions, or its module."""
    spelt = sorted({s for name in distributions for s in (name, name.replace("-", "_"), module_of(name))})
    return bool(spelt) and bool(
        re.search(rf"(?<![\w-])(?:{'|'.join(map(re.escape, spelt))})(?![\w-])", text, re.IGNORECASE)
    )


MOST_PROGRAMS, PROGRAM_BYTES = 40, 256 << 10
"""Programs in one folder that are read, and how far each."""


def texts_of_programs(request: ProbeRequest, where: Sysroot) -> list[str]:
    """Return the texts of the programs alone."""
    return [text for path, text in (own_texts(request, where) or {}).items() if path.endswith(PROGRAMS)]


def own_texts(request: ProbeRequest, where: Sysroot) -> dict[str, str] | None:
    """Return the text of each program and setting below the folder of the scan; None where there are too many, or where people keep
    everything.
    """
    folder = request.script_folder or working_folder(where)
    if folder in ("", "/", request.env.get("HOME", ""), request.seen.machine.home):
        return None
    known: dict[str, dict[str, str] | None] = request.shared.setdefault("texts of own programs", {})
    if folder not in known:
        known[folder] = texts_below(folder, where)
    return known[folder]


def programs_of_folder(request: ProbeRequest, where: Sysroot) -> dict[str, str]:
    """Return the text of each program that stands in the folder of the scan itself; none in a home, where people keep everything."""
    folder = request.script_folder or working_folder(where)
    if folder in ("", "/", request.env.get("HOME", "")):
        return {}
    names = [n for n in sorted(where.names(folder) or ()) if n.endswith(".py")][:MOST_PROGRAMS]
    texts = ((path, where.text(path, PROGRAM_BYTES)) for path in (where.join(folder, n) for n in names))
    return {path: text for path, text in texts if text}


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
            text = where.text(path, MOST_BYTES + 1)
            if len(found) >= MOST_FILES or text is None or len(text) > MOST_BYTES:
                return None
            found[path] = text
    return found
