"""Requirements of Python packages (PEP 508) in foreign text: parsed and compared. Nothing here raises, whatever the text holds.

The library ``packaging`` decides. Its import takes longer than most probes, and almost every requirement is a plain one: releases of
digits and dots, and a marker without parentheses. Those are read here, with its results: a test compares them.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from core.common.late_pattern import late_pattern
from core.common.versions import parse_python_version, version_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _quoted(value: str) -> str:
    return rf"[ \t]*(?:\"{value}\"|'{value}')"


_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_RELEASE = r"[0-9]{1,9}(?:\.[0-9]{1,9})*"
_CLAUSE = rf"(?:(?:==|!=)[ \t]*{_RELEASE}(?:\.\*)?|(?:<=|>=|<|>)[ \t]*{_RELEASE}|~=[ \t]*{_RELEASE}\.[0-9]{{1,9}})"
_CLAUSES = rf"{_CLAUSE}(?:[ \t]*,[ \t]*{_CLAUSE})*"
_WORDS = "os_name|sys_platform|platform_system|platform_machine|platform_python_implementation|implementation_name"
_TERM = (
    rf"(?:python_(?:full_)?version[ \t]*(?:[=!<>]=|[<>]){_quoted(_RELEASE)}"
    rf"|(?:{_WORDS})[ \t]*[=!]={_quoted('(?!v[0-9])[A-Za-z][A-Za-z0-9_]*')}"  # nothing that could be taken for a release
    rf"|extra[ \t]*[=!]={_quoted('(?!v[0-9])[a-z][a-z0-9]*(?:-[a-z0-9]+)*')})"
)
_MARKER = rf"{_TERM}(?:[ \t]+(?:and|or)[ \t]+{_TERM})*"
_PLAIN = late_pattern(
    rf"({_NAME})[ \t]*(?:\[[ \t]*{_NAME}(?:[ \t]*,[ \t]*{_NAME})*[ \t]*\])?[ \t]*"
    rf"(?:({_CLAUSES})|\([ \t]*({_CLAUSES})[ \t]*\))?[ \t]*(?:;[ \t]*({_MARKER}))?"
)
_PLAIN_MARKER = late_pattern(_MARKER)
_PLAIN_CLAUSES = late_pattern(rf"(?:{_CLAUSES})?")
_PLAIN_VERSION = late_pattern(rf"{_RELEASE}(?:\+[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*)?")
_ONE_CLAUSE = late_pattern(r"\s*([=!<>~]+)\s*(\S+)\s*")
_ONE_TERM = late_pattern(r"(\w+)[ \t]*([=!<>]+)[ \t]*[\"']([^\"']*)[\"']")


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
    found = _PLAIN.fullmatch(text.strip(" \t"))
    if found:
        name, bare, inner, marker = found.groups("")
        asked = clauses(bare or inner)
        if len({(how, _without_zeros(release)) for how, release in asked}) == len(asked):  # else two say the same
            specifier = ",".join(sorted(how + release for how, release in asked))
            return Requirement(name, specifier, " ".join(_ONE_TERM.sub(r'\1 \2 "\3"', marker).split()))
    from packaging.requirements import Requirement as Parsed

    try:
        its = Parsed(text)
    except (ValueError, RecursionError):  # a marker may be nested more deeply than the parser goes
        return None
    return Requirement(its.name, str(its.specifier), str(its.marker or ""))


def clauses(specifier: str) -> list[tuple[str, str]]:
    """Return the comparisons of a specifier: [("!=", "2.1"), (">=", "2")] for "!=2.1,>=2"."""
    return [(found[1], found[2]) for part in specifier.split(",") if (found := _ONE_CLAUSE.fullmatch(part))]


def marker_applies(wish: Requirement, facts: Mapping[str, str]) -> bool:
    """Whether a requirement's marker holds; one that cannot be evaluated does not. A fact that is not given is this program's own."""
    if not wish.marker:
        return True
    if _PLAIN_MARKER.fullmatch(wish.marker):
        told = [_term_holds(found[1], found[2], found[3], facts) for found in _ONE_TERM.finditer(wish.marker)]
        if None not in told:
            words = _ONE_TERM.sub("", wish.marker).split()
            ways = [told[:1]]
            for word, holds in zip(words, told[1:], strict=True):
                if word == "or":
                    ways.append([])
                ways[-1].append(holds)
            return any(map(all, ways))
    from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(wish.marker).evaluate(dict(facts))
    except (ValueError, RecursionError, UndefinedComparison, UndefinedEnvironmentName):
        return False


def _term_holds(key: str, how: str, value: str, facts: Mapping[str, str]) -> bool | None:
    """Whether one comparison of a plain marker holds; None where only ``packaging`` can tell."""
    its = facts.get(key)
    if its is None:
        return None
    if key.startswith("python"):
        return is_in_specifier(how + value, its) if _PLAIN_VERSION.fullmatch(its) else None
    if key == "extra" and its and not _PLAIN_MARKER.fullmatch(f'extra == "{its}"'):
        return None  # its spelling counts no more than a package's
    return (its == value) is (how == "==")


@lru_cache(maxsize=1024)
def is_in_specifier(specifier: str, version: str) -> bool | None:
    """Whether a version satisfies a specifier, pre-releases too; None if they cannot be compared."""
    if _PLAIN_VERSION.fullmatch(version) and _PLAIN_CLAUSES.fullmatch(specifier):
        its = version_tuple(version)  # a build's own label counts nowhere
        return all(_satisfies(its, how, release) for how, release in clauses(specifier))
    its_own = parse_python_version(version)
    from packaging.specifiers import SpecifierSet

    try:
        return None if its_own is None else SpecifierSet(specifier).contains(its_own, prereleases=True)
    except ValueError:
        return None


def _satisfies(its: tuple[int, ...], how: str, release: str) -> bool:
    asked = version_tuple(release)
    if release.endswith(".*"):
        return (_padded(its, len(asked))[: len(asked)] == asked) is (how == "==")
    longest = max(len(its), len(asked))
    its, whole = _padded(its, longest), _padded(asked, longest)
    if how == "~=":
        return its >= whole and its[: len(asked) - 1] == asked[:-1]
    return _ORDERS[how](its, whole)


def _without_zeros(release: str) -> tuple[tuple[int, ...], bool]:
    parts = version_tuple(release)
    while parts[-1:] == (0,):
        parts = parts[:-1]
    return parts, release.endswith("*")


def _padded(parts: tuple[int, ...], length: int) -> tuple[int, ...]:
    return parts + (0,) * (length - len(parts))


_ORDERS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
