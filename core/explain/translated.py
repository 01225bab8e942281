"""Gives messages of Windows, the loader and the shells one English wording, whatever language the system speaks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from core.knowledge.messages import known_translations

_PLACE = re.compile(r"\{(\w+)\}")
_QUOTED = "[ \"'„“”«»]{0,2}"
"""What may stand on either side of a name."""


@dataclass(frozen=True)
class _Sentence:
    pieces: tuple[str, ...]
    """The words between the names; a text without one of them does not have the sentence."""
    said: str
    english: str

    def replaced(self, low: str) -> str:
        if not all(piece in low for piece in self.pieces):
            return low
        return re.sub(self.said, self.english, low)


def in_english(low: str) -> str:
    """Return a text (lower case) with each known sentence of another language in English; its names stay."""
    low = low.replace("’", "'").replace("\u00a0", " ")
    for sentence in _sentences():
        low = sentence.replaced(low)
    return low


@cache
def _sentences() -> tuple[_Sentence, ...]:
    return tuple(_sentence(said, row.english) for row in known_translations() for said in row.said)


def _sentence(said: str, english: str) -> _Sentence:
    parts = [part.strip() for part in _PLACE.split(said)]
    return _Sentence(
        pieces=tuple(part for part in parts[::2] if part),
        said="".join(_name(part) if at % 2 else re.escape(part) for at, part in enumerate(parts)),
        english=_PLACE.sub(r"\\g<\1>", english),
    )


def _name(place: str) -> str:
    return rf"{_QUOTED}(?P<{place}>[^\n\"'，。]{{0,199}}[^\s\"'，。]){_QUOTED}"
