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

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_PLAIN = late_pattern(
    rf"[ \t]*+({_NAME})[ \t]*+(?:\[[ \t]*+{_NAME}(?:[ \t]*+,[ \t]*+{_NAME})*[ \t]*+\])?"
    r"[ \t]*+(?:\(([0-9.*,=!<>~ \t]*+)\)|([0-9.*,=!<>~ \t]*+))[ \t]*+(?:;(.*))?"
)
_RELEASE = r"[0-9]{1,9}(?:\.[0-9]{1,9})*"
_CLAUSE = late_pattern(
    rf"[ \t]*+(?:([=!]=)[ \t]*+({_RELEASE}(?:\.\*)?)|(<=?|>=?)[ \t]*+({_RELEASE})|(~=)[ \t]*+({_RELEASE}\.[0-9]{{1,9}}))[ \t]*+"
)
_VERSION = late_pattern(rf"{_RELEASE}(?:\+[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*)?")
_AND_OR = late_pattern(r"(?<![ \t])[ \t]++(and|or)[ \t]++")
_TERM = late_pattern(r"[ \t]*+([a-z_]+)[ \t]*+([=!<>]=|[<>])[ \t]*+(?:\"([\w.-]*)\"|'([\w.-]*)')[ \t]*+")
_WORD = late_pattern(r"(?!v[0-9])[A-Za-z][A-Za-z0-9_]*")
"""A value that nothing takes for a release."""
_EXTRA = late_pattern(r"(?!v[0-9])[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
"""One whose spelling is the normal one."""
_WORD_FACTS = frozenset(
    [
        "os_name",
        "sys_platform",
        "platform_system",
        "platform_machine",
        "platform_python_implementation",
        "implementation_name",
    ]
)


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
    found = _PLAIN.fullmatch(text)
    if found:
        asked = _plain_clauses(found[2] or found[3] or "")
        terms = [] if found[4] is None else _plain_terms(found[4])
        if asked is not None and terms is not None:
            specifier = ",".join(sorted(how + release for how, release in asked))
            marker = " ".join(f'{word} {key} {how} "{value}"' for word, key, how, value in terms).removeprefix("or ")
            return Requirement(found[1], specifier, marker)
    from packaging.requirements import Requirement as Parsed

    try:
        its = Parsed(text)
    except (ValueError, RecursionError):  # a marker may be nested more deeply than the parser goes
        return None
    return Requirement(its.name, str(its.specifier), str(its.marker or ""))


def clauses(specifier: str) -> list[tuple[str, str]]:
    """Return the comparisons of a specifier: [("!=", "2.1"), (">=", "2")] for "!=2.1,>=2"."""
    releases = ((part.strip(), part.strip().lstrip("=!<>~")) for part in specifier.split(",") if part.strip())
    return [(part[: len(part) - len(release)], release.strip()) for part, release in releases]


def marker_applies(wish: Requirement, facts: Mapping[str, str]) -> bool:
    """Whether a requirement's marker holds; one that cannot be evaluated does not. A fact that is not given is this program's own."""
    if not wish.marker:
        return True
    terms = _plain_terms(wish.marker) or []
    told = [_holds(key, how, value, facts) for _word, key, how, value in terms]
    if told and None not in told:
        ways: list[bool] = []  # "and" binds more closely than "or"
        for (word, *_term), holds in zip(terms, told, strict=True):
            ways = [*ways[:-1], ways[-1] and bool(holds)] if word == "and" else [*ways, bool(holds)]
        return any(ways)
    from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(wish.marker).evaluate(dict(facts))
    except (ValueError, RecursionError, UndefinedComparison, UndefinedEnvironmentName):
        return False


@lru_cache(maxsize=1024)
def is_in_specifier(specifier: str, version: str) -> bool | None:
    """Whether a version satisfies a specifier, pre-releases too; None if they cannot be compared."""
    asked = _plain_clauses(specifier) if _VERSION.fullmatch(version) else None
    if asked is not None:
        return all(_satisfies(version_tuple(version), how, release) for how, release in asked)
    its = parse_python_version(version)
    from packaging.specifiers import SpecifierSet

    try:
        return None if its is None else SpecifierSet(specifier).contains(its, prereleases=True)
    except ValueError:
        return None


def _plain_clauses(specifier: str) -> list[tuple[str, str]] | None:
    """Return the comparisons of a specifier; None where one is not plain, or two may say the same."""
    if not specifier.strip(" \t"):
        return []
    found = [_CLAUSE.fullmatch(part) for part in specifier.split(",")]
    asked = [(how, release) for m in found if m for how, release in [filter(None, m.groups())]]
    different = {(how, _without_zeros(version_tuple(release)), release[-1:] == "*") for how, release in asked}
    return asked if len(different) == len(found) else None


def _plain_terms(marker: str) -> list[tuple[str, str, str, str]] | None:
    """Return the comparisons of a marker, each with the word before it ("or" before the first); None where one is not plain."""
    words = ["or", *_AND_OR.split(marker)]
    terms = []
    for word, text in zip(words[::2], words[1::2], strict=True):
        found = _TERM.fullmatch(text)
        if not found or not _is_plain(*(term := (found[1], found[2], found[3] or found[4] or ""))):
            return None
        terms.append((word, *term))
    return terms


def _is_plain(key: str, how: str, value: str) -> bool:
    if key in ("python_version", "python_full_version"):
        return _CLAUSE.fullmatch(how + value) is not None and not value.endswith("*")
    form = _EXTRA if key == "extra" else _WORD
    return (key == "extra" or key in _WORD_FACTS) and how in ("==", "!=") and form.fullmatch(value) is not None


def _holds(key: str, how: str, value: str, facts: Mapping[str, str]) -> bool | None:
    """Whether a plain comparison holds; None where only ``packaging`` can tell."""
    its = facts.get(key)
    if its is None or (key == "extra" and its and not _EXTRA.fullmatch(its)):
        return None
    if key.startswith("python"):
        return is_in_specifier(how + value, its) if _VERSION.fullmatch(its) else None
    return (its == value) is (how == "==")


def _satisfies(its: tuple[int, ...], how: str, release: str) -> bool:
    asked = version_tuple(release)
    length = max(len(its), len(asked))
    padded, whole = _padded(its, length), _padded(asked, length)
    if release.endswith(".*"):
        return (padded[: len(asked)] == asked) is (how == "==")
    if how == "~=":
        return padded >= whole and padded[: len(asked) - 1] == asked[:-1]
    return _ORDERS[how](padded, whole)


def _padded(parts: tuple[int, ...], length: int) -> tuple[int, ...]:
    return parts + (0,) * (length - len(parts))


def _without_zeros(parts: tuple[int, ...]) -> tuple[int, ...]:
    return _without_zeros(parts[:-1]) if parts and not parts[-1] else parts


_ORDERS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
