"""The modules of a package that have a variable's name in their text, wherever in the package they are."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from core.probes.kept_looks import kept_look
from core.probes.sysroot import Sysroot

MOST_FILES, MOST_BYTES, MOST_DEEP = 1500, 12 << 20, 5
"""Maximum number of modules and bytes read of one package, and of folders below each other."""
MAX_SECONDS = 1.0
"""Seconds of the processor for one package."""
LEFT_OUT = ("tests", "test", "testing", "_vendor", "vendor", "node_modules", "examples", "benchmarks", "docs")
"""Folders with code that a program does not import, or that has no variables of the package's own."""


def mentioning_modules(top: str, names: Iterable[str], where: Sysroot) -> tuple[str, ...]:
    """Return the modules below a folder in which one of the names stands, in capitals or small letters; kept until one changes."""
    given = top, sorted(names)
    return kept_look("mentioning", given, tuple[str, ...], lambda watched: _mentioning(*given, watched), where)


def _mentioning(top: str, names: list[str], where: Sysroot) -> tuple[tuple[str, ...], bool]:
    """Return the modules, and whether there was time for all."""
    wanted = {n.encode() for n in names} | {n.lower().encode() for n in names}
    left, end = MOST_BYTES, time.thread_time() + MAX_SECONDS
    found: list[str] = []
    for number, path in enumerate(_modules(top, where, MOST_DEEP)):
        if time.thread_time() > end:
            return tuple(found), False
        if number >= MOST_FILES or left <= 0:
            break
        content = where.read(path, left) or b""
        left -= len(content)
        if any(w in content for w in wanted):
            found.append(path)
    return tuple(found), True


def _modules(folder: str, where: Sysroot, depth: int) -> Iterator[str]:
    names = where.names(folder) or ()
    yield from (where.join(folder, n) for n in names if n.endswith(".py"))
    for name in names if depth else ():
        if "." not in name and not name.startswith("__") and name not in LEFT_OUT:
            yield from _modules(where.join(folder, name), where, depth - 1)
