"""Requirements of Python packages (PEP 508) in foreign text, by ``packaging``. Nothing here raises, whatever the text holds.

Importing ``packaging`` and asking it takes a tenth of a scan's time, so its answers are kept, from one scan to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from core.common.versions import parse_python_version

Answer = TypeVar("Answer")


class Requirement(msgspec.Struct, frozen=True):
    """What a package requires: another one, in some releases, under some conditions. Extras that it asks for are left out."""

    name: str
    specifier: str = ""
    """The releases as ``packaging`` writes them, such as "!=2.1,>=2"; empty for any."""
    marker: str = ""
    """The conditions, with double quotes; empty for none."""


class Answers(msgspec.Struct, frozen=True):
    """What ``packaging`` said of texts; each answer depends on its text alone."""

    parsed: dict[str, Requirement | None] = {}
    """Requirement -> what it says."""
    within: dict[str, bool | None] = {}
    """Specifier and version -> whether the one satisfies the other."""
    applies: dict[str, bool] = {}
    """Marker and facts -> whether it holds."""

    def count(self) -> int:
        """Return the number of answers."""
        return len(self.parsed) + len(self.within) + len(self.applies)


MAX_ANSWERS = 8192
"""Number of answers of each kind that are kept: those of about ten environments with every GPU framework."""

MAX_QUESTION = 1000
"""Number of characters of the longest text whose answer is kept."""

_answers = Answers()


def known_answers() -> Answers:
    """Return every answer of this process."""
    return _answers


def learn_answers(earlier: Answers) -> None:
    """Use an earlier process's answers: they must be of the same ``packaging``."""
    _answers.parsed.update(earlier.parsed)
    _answers.within.update(earlier.within)
    _answers.applies.update(earlier.applies)


def _answer(known: dict[str, Answer], text: str, ask: Callable[[], Answer]) -> Answer:
    """Return the known answer to a text, or else ask, and remember what was said."""
    if text in known:
        return known[text]
    answer = ask()
    if len(known) < MAX_ANSWERS and len(text) <= MAX_QUESTION:
        known[text] = answer
    return answer


def parse_requirement(text: str) -> Requirement | None:
    """Parse a PEP 508 requirement; None for other text."""
    return _answer(_answers.parsed, text, lambda: _parse(text))


def _parse(text: str) -> Requirement | None:
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
    question = repr((wish.marker, sorted(facts.items())))
    return _answer(_answers.applies, question, lambda: _evaluate(wish.marker, facts))


def _evaluate(marker: str, facts: Mapping[str, str]) -> bool:
    from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(marker).evaluate(dict(facts))
    except (ValueError, RecursionError, UndefinedComparison, UndefinedEnvironmentName):
        return False


def is_in_specifier(specifier: str, version: str) -> bool | None:
    """Whether a version satisfies a specifier, pre-releases too; None if they cannot be compared."""
    return _answer(_answers.within, f"{specifier}\n{version}", lambda: _compare(specifier, version))


def _compare(specifier: str, version: str) -> bool | None:
    its = parse_python_version(version)
    from packaging.specifiers import SpecifierSet

    try:
        return None if its is None else SpecifierSet(specifier).contains(its, prereleases=True)
    except ValueError:
        return None
