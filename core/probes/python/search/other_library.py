"""Another standard library in front of Python's own: a folder of PYTHONPATH, or the one a program starts in.

A library belongs to one interpreter: ``re`` compares a number with the compiled part of it and raises "SRE module mismatch",
and a library that is newer asks the interpreter for what it does not have.

Sources: MAGIC in Lib/re/_constants.py (Lib/sre_constants.py before 3.11) and MAGIC_NUMBER in Lib/importlib/_bootstrap_external.py
of CPython 3.7 to 3.13; each pair of these was started.
"""

from __future__ import annotations

import re

from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.model.facts import EnvironmentFault, SearchEntry, path_text
from core.probes.sysroot import Sysroot

MOST_BYTES = 128 << 10

_OF_RE = late_pattern(r"(?m)^MAGIC[ \t]*=[ \t]*([0-9]{1,12})\b")
_OF_BYTE_CODE = late_pattern(r"(?m)^MAGIC_NUMBER[ \t]*=[ \t]*\(([0-9]{1,6})\)")
_NAME = late_pattern(r"python([0-9]\.[0-9]{1,2})t?$")


def is_library(folder: str, where: Sysroot) -> bool:
    """Whether a folder has the modules that every standard library has."""
    return where.is_file(where.join(folder, "os.py")) and where.is_file(where.join(folder, "encodings", "__init__.py"))


def other_library(entries: tuple[SearchEntry, ...], own: str, where: Sysroot) -> EnvironmentFault | None:
    """Return the fault of a standard library that stands before this Python's ``own`` and does not fit it."""
    for entry in entries:
        if entry.path == own:
            return None
        if (
            entry.origin == "standard library"
            and entry.source
            and is_library(entry.path, where)
            and _refuses(entry.path, own, where)
        ):
            detail = _version_of(entry.path, where)
            return EnvironmentFault(
                kind="another library", path=entry.path, source=entry.source, line=entry.line, detail=path_text(detail)
            )
    return None


def _refuses(library: str, own: str, where: Sysroot) -> bool:
    mine, its = (_number(folder, where, _OF_RE, "re/_constants.py", "sre_constants.py") for folder in (own, library))
    if mine is not None and its is not None and mine != its:
        return True
    codes = (_number(folder, where, _OF_BYTE_CODE, "importlib/_bootstrap_external.py") for folder in (own, library))
    older, newer = codes
    return older is not None and newer is not None and newer > older


def _number(library: str, where: Sysroot, pattern: re.Pattern[str], *names: str) -> int | None:
    texts = (where.text(where.join(library, *name.split("/")), MOST_BYTES) or "" for name in names)
    found = next((m for text in texts if (m := pattern.search(text))), None)
    return whole_number(found[1]) if found else None


def _version_of(library: str, where: Sysroot) -> str:
    """Return the minor version that a library's folder has in its name; empty if it has none."""
    found = _NAME.match(where.name(library))
    return found[1] if found else ""
