"""Packages' own files of settings that are no YAML: a tab that indents.

Dask reads each file of its folder as it is imported, the launcher of Accelerate one before anything else. What a person's program reads itself
is looked at with its start (``core.probes.starting.refused_settings``). Sources: Dask's documentation, "Configuration"; YAML 1.2, "Indentation Spaces".
"""

from __future__ import annotations

from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.model.facts import Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot
from core.probes.variables.launch_answers import answers
from core.probes.variables.reading_modules import recorded_names

MOST_BYTES = 1 << 18
_TAB = late_pattern(r" *\t[ \t]*[^\s#]")


def unreadable_files(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield each file of settings that its reader cannot take."""
    for python in request.seen.pythons or ():
        for reader, path in _of_packages(request, where):
            is_read = path.endswith((".yaml", ".yml")) and reader in recorded_names(python, where)
            text = where.text(path, MOST_BYTES) if is_read and where.is_file(path) else None
            if text is not None and (line := tab_that_indents(text)):
                yield Vocabulary(
                    variable="YAML",
                    prefix=python.prefix,
                    files=(path_text(path), reader),
                    takes="form",
                    line=line,
                    reader=reader,
                    sure=reader == "dask",
                    says=TAB_REFUSED,
                )


def _of_packages(request: ProbeRequest, where: Sysroot) -> Iterator[tuple[str, str]]:
    home = request.env.get("HOME") or request.seen.machine.home
    folder = request.env.get("DASK_CONFIG") or where.join(home or "/", ".config", "dask")
    yield from (("dask", where.join(folder, n)) for n in where.names(folder) or ())
    yield "accelerate", answers(request, where)[0]


TAB_REFUSED = "found character '\\t' that cannot start any token"
"""What PyYAML says of it."""


def tab_that_indents(text: str) -> int:
    """Return the line of a YAML text in which a tab stands behind the key of a mapping, where blanks belong; 0 where none does."""
    above = ""
    for number, row in enumerate(text.splitlines(), 1):
        if above.endswith(":") and _TAB.match(row):
            return number
        above = row.split(" #")[0].rstrip() or above
    return 0
