"""Causes that texts with similar words had. The table is learned (``python -m tests.learn_words``).

It never ranks a cause before those that an exact message names, and proves nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log, sqrt

from core.explain.reading import ParsedText
from core.knowledge.words import WordTable, word_table

MAX_WORD_CHARACTERS = 4000
"""Maximum number of characters of a text whose words are used: the length of a message, not of a log."""
SHARPNESS = 18.7
"""Difference in log-odds between an identical and a completely different text (``python -m tests.explain.yardstick``)."""
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[a-z_]{2,40}|[一-鿿]|\d+")
"""A Chinese character is half a word, so only pairs count."""
_VERSION = re.compile(r"([a-z_]{0,16}?)_?(\d{1,6})(?:\.(\d{1,6}))?[\w.]*")
"""A number with the word that it is joined to and what follows its first dot: ``cu118``, ``sm_120``, ``3.12``."""


@dataclass(frozen=True)
class WordBelief:
    """The result of comparing one text's words."""

    odds: dict[str, float]
    """Logarithm of each cause's share; the shares add up to 1."""
    about: float
    """Log-odds that the text is about a GPU set-up."""


def word_features(reading: ParsedText) -> frozenset[str]:
    """Return the words, pairs of words, versions and marks of a text. As a word, a number counts by its length only."""
    low = reading.low
    if len(low) > MAX_WORD_CHARACTERS:
        # A log repeats its lines with other numbers.
        low = "\n".join(dict.fromkeys(_DIGIT.sub("0", low).split("\n")))[:MAX_WORD_CHARACTERS]
    words = [f"#{len(w)}" if w.isdigit() else w for w in _WORD.findall(low)]
    parts = [part for w in words if "_" in w for part in w.split("_") if len(part) > 1]
    pairs = {f"{a} {b}" for a, b in pairwise(words)}
    singles = (w for w in words if w.isascii())
    numbered = _VERSION.findall(low[:MAX_WORD_CHARACTERS])
    versions = (f"v:{word}{major}.{minor}" if minor else f"v:{word}{major}" for word, major, minor in numbered)
    return frozenset({*singles, *parts, *pairs, *versions, *(f"={mark}" for mark in reading.marks)})


def believe_words(reading: ParsedText, table: WordTable | None = None) -> WordBelief:
    """Return a text's likeness to those of each cause (cosine of words, rare ones weigh more). ``table``: another one."""
    table = table or word_table()
    likeness = [0] * len(table.causes)
    length, about = 0, table.about
    for feature in word_features(reading):
        row = table.features.get(feature)
        if row is not None:
            more, weight, causes = row
            about += more / 100
            length += weight**2
            for at, share in zip(causes[::2], causes[1::2], strict=True):
                likeness[at] += share
    scale = SHARPNESS / (10 * sqrt(length)) if length else 0.0
    odds = [scale * x for x in likeness]
    whole = log(sum(exp(x) for x in odds))
    return WordBelief({c: x - whole for c, x in zip(table.causes, odds, strict=True)}, about)
