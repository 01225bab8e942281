"""Ranks causes by the marks of a text: adds the clues' log-odds to base rates and to what its words say, and normalises."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log

from core.explain.reading import ParsedText
from core.explain.words import believe_words
from core.knowledge.messages import Clue, known_clues

MAX_TEXT_BELIEF = 0.9
"""Belief that a text alone can earn: in 206 resolved public cases the text alone named the cause in 8."""
BASE_RATE_WEIGHT = 0.8
"""Weight of the base rates beside the clues."""
LOG_ODDS_DIVISOR = 1.25
"""Divides the log-odds, because clues of one text overlap and would count twice."""
LATER_SHARE = 0.6
"""What an exact message counts that stands after another one: in a log, the first error is the reason, and others follow."""
SAME_MESSAGE_CHARACTERS = 300
"""Nearer than this, two messages are one error."""
UNNAMED_LOSS = 6.0
"""Log-odds that a cause loses that an exact message of the text does not name: no word of the surroundings outvotes it."""


WORD_SHARE = 0.8
"""What the words of a text count beside its clues."""
LEAST_WORD_ODDS = -15.0
"""A cause does not lose more by words than this."""
MAX_WORD_BELIEF = 0.6
"""Belief that words earn without any clue."""


def rank_causes(reading: ParsedText) -> tuple[tuple[str, float, tuple[str, ...]], ...]:
    """Return (cause, score, because) for every cause, best first. The scores add up to ``MAX_TEXT_BELIEF``, or, without a clue,
    to ``MAX_WORD_BELIEF``: then the words rank alone. Beside clues they order what the clues leave open.
    """
    words = believe_words(reading).odds
    if not matching_clues(reading):
        ranked = sorted(words, key=lambda cause: -words[cause])
        return tuple((cause, MAX_WORD_BELIEF * exp(words[cause]), ()) for cause in ranked)
    table = known_clues()
    odds = {cause: BASE_RATE_WEIGHT * log(count) for cause, count in table.base.items()}
    said: dict[str, list[tuple[float, str]]] = {cause: [] for cause in odds}
    named: set[str] = set()
    holding = [clue for clue in table.clues if conditions_hold(clue.when, reading.marks)]
    earliest = min(
        (place for clue in holding if clue.exact and (place := _place(clue, reading)) is not None), default=0
    )
    for clue in holding:
        named |= {cause for cause, weight in clue.causes.items() if clue.exact and weight > 0}
        later = clue.exact and (_place(clue, reading) or 0) > earliest + SAME_MESSAGE_CHARACTERS
        for cause, weight in clue.causes.items():
            odds[cause] += weight * (LATER_SHARE if later and weight > 0 else 1.0)
            if clue.because and weight > 0:
                said[cause].append((weight, clue.because))
    if named:
        odds = {cause: x if cause in named else x - UNNAMED_LOSS for cause, x in odds.items()}
    leader = max((cause for cause in odds if said[cause]), key=lambda cause: odds[cause])
    top = max(odds.values())
    shares = {cause: exp((x - top) / LOG_ODDS_DIVISOR) for cause, x in odds.items()}
    whole = sum(shares.values())
    # words say which of the others comes next, and not how sure that is
    order = sorted(odds, key=lambda c: (c != leader, -(odds[c] + WORD_SHARE * max(words[c], LEAST_WORD_ODDS))))
    return tuple(
        (
            cause,
            MAX_TEXT_BELIEF * share / whole,
            tuple(dict.fromkeys(text for _, text in sorted(said[cause], key=lambda s: -s[0]))),
        )
        for cause, share in zip(order, sorted(shares.values(), reverse=True), strict=True)
    )


def _place(clue: Clue, reading: ParsedText) -> int | None:
    """Return where what a clue is about first occurs in the text; None for what is no message of the table."""
    words = (word for part in clue.when if not part.startswith("!") for word in part.split("|"))
    return min((reading.first[word] for word in words if word in reading.first), default=None)


def conditions_hold(when: Iterable[str], marks: frozenset[str]) -> bool:
    """Whether a clue's conditions hold: all of them; ``a|b`` either, ``!a`` not."""
    return all(
        (part[1:] not in marks) if part.startswith("!") else any(word in marks for word in part.split("|"))
        for part in when
    )


def matching_clues(reading: ParsedText) -> tuple[Clue, ...]:
    """Return the clues that speak for something and hold: empty when nothing in the text is about the GPU set-up."""
    return tuple(
        c
        for c in known_clues().clues
        if c.because and max(c.causes.values()) >= 1 and conditions_hold(c.when, reading.marks)
    )
