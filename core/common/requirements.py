"""Requirements of Python packages (PEP 508) in foreign text, by ``packaging``. Nothing here raises, whatever the text holds."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from core.common.versions import parse_python_version

if TYPE_CHECKING:
    from collections.abc import Mapping


class Requirement(msgspec.Struct, frozen=True):
    """What a package requires: another one, in some releases, under some conditions. Extras that it asks for are left out."""

    name: str
    specifier: str = ""
    """The releases as ``packaging`` writes them, such as "!=2.1,>=2"; empty for any."""
    marker: str = ""
    """The conditions, with double quotes; empty for none."""


@lru_cache(maxsize=1024)  # each rule asks for the same ones
def parse_requirement(text: str) -> Requirement | None:
    """Parse a PEP 508 requirement; None for other text."""
    from packaging.requirements import Requirement as Parsed

    try:
        its = Parsed(text)
    except (ValueError, RecursionError):  # a marker may be nested more deeply than the parser goes
        return None
    return Requirement(its.name, str(its.specifier), str(its.marker or ""))


def specifier_clauses(specifier: str) -> list[tuple[str, str]]:
    """Return the comparisons of a specifier: [("!=", "2.1"), (">=", "2")] for "!=2.1,>=2"."""
    releases = ((part.strip(), part.strip().lstrip("=!<>~")) for part in specifier.split(",") if part.strip())
    return [(part[: len(part) - len(release)], release.strip()) for part, release in releases]


def marker_applies(wish: Requirement, facts: Mapping[str, str]) -> bool:
    """Whether a requirement's marker holds; one that cannot be evaluated does not. A fact that is not given is this program's own."""
    if not wish.marker:
        return True
    from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(wish.marker).evaluate(dict(facts))
    except (ValueError, RecursionError, UndefinedComparison, UndefinedEnvironmentName):
        return False


@lru_cache(maxsize=1024)
def is_in_specifier(specifier: str, version: str) -> bool | None:
    """Whether a version satisfies a specifier, pre-releases too; None if they cannot be compared."""
    its = parse_python_version(version)
    from packaging.specifiers import SpecifierSet

    try:
        return None if its is None else SpecifierSet(specifier).contains(its, prereleases=True)
    except ValueError:
        return None
