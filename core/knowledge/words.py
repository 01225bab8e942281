"""The learned table of words: which words and marks indicate which causes (words.json)."""

from __future__ import annotations

from core.knowledge.tables import read_table
from core.model.facts import Frozen


class WordTable(Frozen, frozen=True, kw_only=True):
    """How alike a text is to the texts of each cause, written by ``python -m tests.learn_words --write``."""

    learned_from: str
    """The texts, in one sentence."""
    digest: str
    """Of what it was learned from: a test compares it with the sources as they are."""
    causes: tuple[str, ...]
    about: float
    """Log-odds, before a word is read, that a text is about a GPU set-up."""
    features: dict[str, tuple[int, int, tuple[int, ...]]]
    """feature: hundredths of log-odds that the text is about a GPU set-up, hundredths of what it weighs in a text,
    (cause, thousandths of its share in the likeness to that cause's texts), repeated."""


def word_table() -> WordTable:
    """Read words.json, which is large: call it only to explain a text."""
    return read_table("words", WordTable)
