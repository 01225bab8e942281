"""Numbers and versions in foreign text: files, tables, other programs' answers. Nothing here raises, whatever the text holds.

``int`` refuses more than 4,300 digits, and ``str.isdigit`` is true of "²", which ``int`` refuses as well. So every
number in foreign text is read here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.version import Version

_WHOLE = re.compile(r"[0-9]{1,18}")
_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*(?![0-9])")
_NUMBER = re.compile(r"(?<![0-9])[0-9]{1,9}(?![0-9])")


def whole_number(text: str | None) -> int | None:
    """Return a number of 1 to 18 ASCII digits and nothing else; None for any other text."""
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None


def version_tuple(version: str | None) -> tuple[int, ...]:
    """Return the leading numbers of a dotted version: (12, 4, 127) for "12.4.127rc1"; empty for none."""
    found = _VERSION.match(version or "")
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def all_numbers(text: str) -> tuple[int, ...]:
    """Return every run of 1 to 9 ASCII digits, in order; longer runs are left out."""
    return tuple(int(n) for n in _NUMBER.findall(text))


def parse_python_version(text: str) -> Version | None:
    """Parse a PEP 440 version; None for other text."""
    from packaging.version import Version  # imported late: it takes a tenth of the program's import time

    try:
        return Version(text)
    except ValueError:  # InvalidVersion is a ValueError; a number of 5,000 digits raises another
        return None


def is_older(one: str | None, other: str | None) -> bool | None:
    """Whether ``one`` is older, to the precision of both (9.1 is not older than 9.1.0); None if unknown."""
    both = _to_one_precision(one, other)
    return both[0] < both[1] if both else None


def versions_differ(one: str | None, other: str | None) -> bool | None:
    """Whether two versions differ, to the precision of both; None if one is unknown."""
    both = _to_one_precision(one, other)
    return both[0] != both[1] if both else None


def _to_one_precision(one: str | None, other: str | None) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    a, b = version_tuple(one), version_tuple(other)
    shared = min(len(a), len(b))
    return (a[:shared], b[:shared]) if shared else None
