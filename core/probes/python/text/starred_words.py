"""Which star imports of a module may bring a name, by the words of the texts behind them; no parser runs.

A package with three hundred modules behind its stars is asked for hundreds of names, and each name stands in few of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from core.common.late_pattern import late_pattern

MOST_ASKED = 8
"""Names that are looked up without a table of words; making one takes as long as some of these."""

_WORD = late_pattern(r"\w+")


class Behind(NamedTuple):
    """What is known of a module whose names a star import takes."""

    text: str
    stars: list[str]
    parts: Iterable[str]
    """Names of the modules in a package's folder."""
    is_closed: bool
    """Whether it has no name that its text does not spell."""


class StarredWords:
    """The words behind the star imports of one environment's modules.

    ``look`` returns what is known of a module.
    """

    def __init__(self, look: Callable[[str], Behind]) -> None:
        self._look = look
        self._asked: Counter[str] = Counter()
        self._tables: dict[str, tuple[set[str], dict[str, list[str]]]] = {}
        """File -> the stars that may have names that no text spells, and for each word the stars that spell it."""

    def left(self, path: str, stars: list[str], name: str) -> list[str]:
        """Return the star imports of a file without those that surely do not bring the name; those that spell it come first."""
        if not stars:
            return stars
        if path not in self._tables:
            self._asked[path] += 1
            if self._asked[path] <= MOST_ASKED:
                return stars
            self._tables[path] = self._table(stars)
        may_have_others, spelling = self._tables[path]
        its = spelling.get(name, ())
        return [*its, *(star for star in stars if star in may_have_others and star not in its)]

    def _table(self, stars: list[str]) -> tuple[set[str], dict[str, list[str]]]:
        may_have_others, spelling = set[str](), dict[str, list[str]]()
        for star in dict.fromkeys(stars):
            words, is_closed = self._words_behind(star)
            if not is_closed:
                may_have_others.add(star)
            for word in words:
                spelling.setdefault(word, []).append(star)
        return may_have_others, spelling

    def _words_behind(self, star: str) -> tuple[set[str], bool]:
        """Return every word of a module's text and of those that it stars in turn, and whether none of them may have other names."""
        todo, seen, words, is_closed = [star], set[str](), set[str](), True
        while todo:
            if (module := todo.pop()) in seen:
                continue
            seen.add(module)
            its = self._look(module)
            is_closed &= its.is_closed
            words.update(_WORD.findall(its.text), its.parts)
            todo += its.stars
        return words, is_closed
