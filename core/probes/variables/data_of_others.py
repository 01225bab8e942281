"""PROJ's data of another program, to which a variable leads a package that brings its own: QGIS, PostgreSQL and Anaconda set PROJ_LIB.

Measured with rasterio 1.4.3. Sources: rasterio/env.py and fiona/env.py, which search the variable's folder alone; PROJ's DatabaseContext (a lower
layout is refused); SQLite's "Database File Format" (a record's header names the lengths of its texts).
"""

from __future__ import annotations

from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.model.facts import Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot

VARIABLES = ("PROJ_DATA", "PROJ_LIB")
"""The first that is set counts."""
READERS = ("rasterio", "fiona")
MOST_BYTES = 1 << 26
_LAYOUT = late_pattern(
    r"\x03G(?:\x0fDATABASE\.LAYOUT\.VERSION\.MINOR(?P<one>\d)|\x11DATABASE\.LAYOUT\.VERSION\.MINOR(?P<two>\d\d))"
)


def unfit_data(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield the variable whose folder has no data base of PROJ, or one with an older layout than the package's own."""
    here = request.env, *({v.name: v.value for v in s.variables} for s in request.seen.starts or ())
    given = {(n, v) for its in here if (n := next((n for n in VARIABLES if its.get(n)), "")) and (v := its[n].strip())}
    for name, value in sorted(given):
        layout = _layout(where.join(value, "proj.db"), where) if where.path_module.isabs(value) else None
        for python in request.seen.pythons or () if layout is not None else ():
            for reader, site in ((r, s) for r in READERS for s in python.site_packages):
                own = where.join(site, reader, "proj_data", "proj.db")
                needed = _layout(own, where)
                if needed and layout is not None and (not layout or int(layout) < int(needed)):
                    says = (
                        f"proj.db contains DATABASE.LAYOUT.VERSION.MINOR = {layout} whereas a number >= {needed} is expected"
                        if layout
                        else "Cannot find proj.db"
                    )
                    yield Vocabulary(
                        variable=name, prefix=python.prefix, files=(path_text(own),), unknown=(path_text(value),), takes="code",
                        reader=reader, sure=False, says=f"CRSError: {says}",
                    )  # fmt: skip


def _layout(path: str, where: Sysroot) -> str | None:
    """Return the minor number of a data base's layout; empty where there is none, None where it cannot be read."""
    if not where.exists(path):
        return ""
    found = _LAYOUT.search((where.read(path, MOST_BYTES) or b"").decode("latin-1"))
    return (found["one"] or found["two"]) if found else None
