"""Folders for files that a package keeps, named by variables of its own, to which nothing can be written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from core.common.late_pattern import late_pattern
from core.model.facts import Frozen
from core.probes.sysroot import Sysroot
from core.probes.variables.places import is_drive, write_obstacle

CACHE = late_pattern(r"(?:^|_)CACHE(?:_(?:DIR|HOME|PATH|ROOT|FOLDER))?$")
"""Names of variables for such a folder."""
WRITTEN = late_pattern(r"(?:^|_)(?:TE?MP|SCRATCH)_(?:DIR|FOLDER|PATH)$")
"""Those of a folder to which a module writes whatever is in it: another user's is no cache."""
FOLDER = late_pattern(r"_(?:HOME|DIR|ROOT|FOLDER)$")
"""Those of a folder that a module may make."""
MAKES = late_pattern(r"\bmakedirs\(|\.mkdir\(")


class ClosedCache(Frozen, frozen=True):
    """A variable's folder, and what stands in the way."""

    variable: str
    value: str
    obstacle: str
    line: int
    """Where the module names the variable, from 1."""


def closed_caches(text: str, given: Mapping[str, Iterable[str]], where: Sysroot) -> Iterator[ClosedCache]:
    """Yield the folders, named by variables that a module asks for, that cannot be written to or made; what fills a cache may be enough to read."""
    makes = MAKES.search(text) is not None
    for name in (n for n in given if CACHE.search(n) or FOLDER.search(n) or WRITTEN.search(n)):
        written = WRITTEN.search(name) is not None
        asked = re.search(rf"[\"']{re.escape(name)}[\"']", text)
        for value in given[name] if asked else ():
            place = value.strip()
            obstacle = write_obstacle(place, where) if where.path_module.isabs(place) else ""
            if not (makes or written or CACHE.search(name) or is_drive(obstacle)):
                continue  # another module may make a folder, but nobody makes a drive
            if (
                asked
                and obstacle
                and (written or not where.names(place))
                and (CACHE.search(name) or not where.is_file(place))
            ):
                yield ClosedCache(name, value, obstacle, text.count("\n", 0, asked.start()) + 1)
