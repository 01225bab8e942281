"""The modules of a package that have a variable's name in their text, wherever in the package they are."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from core.probes.sysroot import Sysroot

MOST_FILES, MOST_BYTES, MOST_DEEP = 1500, 12 << 20, 5
"""Maximum number of modules and bytes read of one package, and of folders below each other."""
MAX_SECONDS = 1.0
"""Seconds of the processor for one package."""
LEFT_OUT = ("tests", "test", "testing", "_vendor", "vendor", "node_modules", "examples", "benchmarks", "docs")
"""Folders with code that a program does not import, or that has no variables of the package's own."""


def mentioning_modules(top: str, names: Iterable[str], where: Sysroot) -> Iterator[str]:
    """Yield the modules below a folder in which one of the names stands, in capitals or small letters."""
    wanted = {n.encode() for n in names} | {n.lower().encode() for n in names}
    left, end = MOST_BYTES, time.thread_time() + MAX_SECONDS
    for number, path in enumerate(_modules(top, where, MOST_DEEP)):
        if number >= MOST_FILES or left <= 0 or time.thread_time() > end:
            return
        content = where.read(path, left) or b""
        left -= len(content)
        if any(w in content for w in wanted):
            yield path


def _modules(folder: str, where: Sysroot, depth: int) -> Iterator[str]:
    names = where.names(folder) or ()
    yield from (where.join(folder, n) for n in names if n.endswith(".py"))
    for name in names if depth else ():
        if "." not in name and not name.startswith("__") and name not in LEFT_OUT:
            yield from _modules(where.join(folder, name), where, depth - 1)
