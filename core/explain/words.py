"""What a text's words say where no message of it is known: which causes texts with such words came from.

The table is learned (``python -m tests.learn_words``). It ranks below every clue, and proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

from core.explain.reading import ParsedText
from core.knowledge.words import WordTable, word_table

MAX_WORD_CHARACTERS = 4000
"""Of a text, what its words are taken from: the part that a message is written in, not a log."""
FULL_EVIDENCE = 60
"""Known features up to which each counts in full: a longer text repeats itself."""
SPREAD = 2.0
"""Divides the log-odds of the words, so that shares below a half are right as often as they say (cross-validated)."""
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
    known: int
    """Features that the table knows."""


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
    """Return what the words of a text say about each cause; ``table``: another than the product's own."""
    table = table or word_table()
    bonus = [0.0] * len(table.causes)
    known = 0
    for feature in word_features(reading):
        row = table.features.get(feature)
        if row is not None:
            known += 1
            for at, weight in zip(row[::2], row[1::2], strict=True):
                bonus[at] += weight / 100
    share = min(1.0, FULL_EVIDENCE / known) if known else 1.0
    raw = {
        cause: prior + share * (known * absent + extra)
        for cause, prior, absent, extra in zip(table.causes, table.prior, table.absent, bonus, strict=True)
    }
    other = raw.pop("", 0.0)
    whole = _log_sum(raw.values())
    spread = _log_sum(x / SPREAD for x in raw.values())
    return WordBelief({c: x / SPREAD - spread for c, x in raw.items()}, whole - other, known)


def _log_sum(values: Iterable[float]) -> float:
    numbers = tuple(values)
    top = max(numbers)
    return top + log(sum(exp(x - top) for x in numbers))
