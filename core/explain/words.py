"""What a text's words say: which causes texts with such words came from.

The table is learned (``python -m tests.learn_words``). It puts no cause before those that clues name, and proves nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log, sqrt

from core.explain.reading import ParsedText
from core.knowledge.words import WordTable, word_table

MAX_WORD_CHARACTERS = 4000
"""Of a text, what its words are taken from: the part that a message is written in, not a log."""
SHARPNESS = 14.0
"""Log-odds between a text that is wholly alike and one that is not at all (cross-validated)."""
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[a-z_]{2,40}|[一-鿿]|\d+")
"""A Chinese sign is half a word: it counts in pairs alone."""


@dataclass(frozen=True)
class WordBelief:
    """What the words of one text say."""

    odds: dict[str, float]
    """Log-share of each cause; they add up to 1 before the logarithm."""
    about: float
    """Log-odds that the text is about a GPU set-up at all, and not about anything else."""


def word_features(reading: ParsedText) -> frozenset[str]:
    """Return the words, the pairs of words and the marks of a text. Numbers count by their length alone."""
    low = reading.low
    if len(low) > MAX_WORD_CHARACTERS:
        # a log repeats its lines with other numbers
        low = "\n".join(dict.fromkeys(_DIGIT.sub("0", low).split("\n")))[:MAX_WORD_CHARACTERS]
    words = [f"#{len(w)}" if w.isdigit() else w for w in _WORD.findall(low)]
    parts = [part for w in words if "_" in w for part in w.split("_") if len(part) > 1]
    pairs = {f"{a} {b}" for a, b in pairwise(words)}
    singles = (w for w in words if w.isascii())
    return frozenset({*singles, *parts, *pairs, *(f"={mark}" for mark in reading.marks)})


def believe_words(reading: ParsedText, table: WordTable | None = None) -> WordBelief:
    """Return how alike a text is to those of each cause: the cosine between their words, rare ones weighing more.

    ``table``: another than the product's own.
    """
    table = table or word_table()
    likeness = [0] * len(table.causes)
    length, about = 0, table.about
    for feature in word_features(reading):
        row = table.features.get(feature)
        if row is not None:
            about += row[0] / 100
            length += row[1] ** 2
            for at, share in zip(row[2::2], row[3::2], strict=True):
                likeness[at] += share
    scale = SHARPNESS / (10 * sqrt(length)) if length else 0.0
    odds = [scale * x for x in likeness]
    whole = log(sum(exp(x) for x in odds))
    return WordBelief({c: x - whole for c, x in zip(table.causes, odds, strict=True)}, about)
