"""The learned table of words: which words and marks indicate which causes (words.json)."""

from __future__ import annotations

from core.knowledge.tables import read_table
from core.model.facts import Frozen


class WordTable(Frozen, frozen=True, kw_only=True):
    """Naive Bayes over words, pairs of words and marks, written by ``python -m tests.learn_words --write``."""

    learned_from: str
    """The texts, in one sentence."""
    causes: tuple[str, ...]
    """The empty one stands for texts about anything else."""
    prior: tuple[float, ...]
    """Log-odds before a word is read, for each cause."""
    absent: tuple[float, ...]
    """What each known feature of the text takes from a cause whose texts never had it."""
    features: dict[str, tuple[int, ...]]
    """feature: (cause, hundredths of log-odds that it gives back), repeated."""


def word_table() -> WordTable:
    """Read words.json, which is large: call it only to explain a text."""
    return read_table("words", WordTable)
