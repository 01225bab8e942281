"""Rank causes by the marks of a text: add the clues' log-odds to base rates and to the evidence of its words, then normalise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, log

from core.explain.reading import ParsedText
from core.explain.words import believe_words
from core.knowledge.messages import Clue, known_clues
from core.knowledge.words import WordTable

MAX_TEXT_BELIEF = 0.9
"""Maximum probability from a text alone: in 206 resolved public cases, the text alone named the cause in 8."""
BASE_RATE_WEIGHT = 0.5
"""Weight of the base rates, which clues and words already contain."""
CLUE_WEIGHT = 0.8
"""Weight of the clues' log-odds beside the words': clues are right less often in texts that nobody had in sight."""
WORD_WEIGHT = 1.3
"""Weight of the words' log-odds beside the clues': in texts that nobody had in sight, words are right more often (``python -m tests.explain.yardstick``)."""
LOG_ODDS_DIVISOR = 3.5
"""Divides the log-odds, because clues and words of one text overlap and would count twice.

With this value, scores above 0.8 are right in more than nine of ten texts that were not learned from (cross-validated).
"""
LATER_SHARE = 0.6
"""Weight of an exact message after another one: in a log, the first error is the reason, and others follow."""
SAME_MESSAGE_CHARACTERS = 300
"""Characters within which two messages are one error."""
UNNAMED_LOSS = 6.0
"""Log-odds subtracted from causes that an exact message of the text does not name; one that it names leads."""
CLEAR_LEAD = 2.0
"""Lead in log-odds over the next cause with which the clues alone decide what is first, whatever the words suggest (``python -m tests.explain.yardstick``)."""
MAX_UNCLEAR_BELIEF = 0.75
"""Maximum probability of the first cause where clues leave another one about as likely, and words decide: of 34 such scores above 0.8, 22 were right (cross-validated)."""
SURE_LEAD = 1.2
"""Lead in log-odds of the clues over the next cause from which the first one's score may be above ``MAX_UNCLEAR_BELIEF``, if words agree with it."""
OF_THE_MACHINE = frozenset({"other_maker_gpu", "jetson_build_required"})
"""Causes that a text names by whose GPU it is, which is not always why the program fails: of 55 scores above 0.8, 44 were right as unseen."""
MAX_WORD_BELIEF = 0.6
"""Maximum probability from words without any clue."""
BEHIND_MANY = frozenset({"upstream_packaging_bug", "requirement_broken", "program_error"})
"""Causes whose messages are those of many others: a release that lacks a file says what a lost file says."""
GAIN_OF_MANY = 0.7
"""Log-odds that they gain behind the first cause: 1.0 was best in cross-validation by sets; with less, bare symptoms keep their likely causes among five."""
GAIN_BEHIND_NAMED = 1.5
"""The same where an exact message names causes, which are often twins of one another (a library that is missing, or not searched), or where the text's history speaks for one of them."""


def rank_causes(
    reading: ParsedText, by_words: bool = True, table: WordTable | None = None
) -> tuple[tuple[str, float, tuple[str, ...]], ...]:
    """Return (cause, score, because) for every cause, best first.

    The scores add up to at most ``MAX_TEXT_BELIEF``, or to ``MAX_WORD_BELIEF`` if there is no clue and words alone rank; none is above
    ``MAX_UNCLEAR_BELIEF`` where words decide between causes that the clues name, or where the first is told by whose GPU it is. A cause
    that the clues put clearly first, else one that an exact message names, leads. Without ``by_words``, for a single term, clues decide. ``table``: replaces
    the product's own.
    """
    words = believe_words(reading, table).odds
    words = words if by_words else dict.fromkeys(words, 0.0)
    if not matching_clues(reading):
        ranked = _in_order(max(words, key=lambda cause: words[cause]), words, GAIN_OF_MANY if by_words else 0.0)
        return tuple((cause, MAX_WORD_BELIEF * share, ()) for cause, share in zip(ranked, shares(words), strict=True))
    belief = believe_clues(reading, words)
    said = belief.said
    odds = {cause: x + WORD_WEIGHT * words[cause] for cause, x in belief.odds.items()}
    first, *others = sorted((cause for cause in odds if said[cause]), key=lambda cause: -belief.odds[cause])
    lead = belief.odds[first] - belief.odds[others[0]] if others else CLEAR_LEAD
    best = max(belief.named_first | belief.beside if belief.named else odds, key=lambda cause: odds[cause])
    alone = belief.beside <= {first}
    leader = first if alone and lead >= CLEAR_LEAD else best
    # Where words speak for another one, both are about equally likely.
    odds[leader] = max(odds.values())
    gain = GAIN_BEHIND_NAMED if belief.named or belief.beside else GAIN_OF_MANY
    order = _in_order(leader, odds, gain if by_words else 0.0)
    parts = shares(odds)
    sure = leader == first and alone and lead >= SURE_LEAD and leader not in OF_THE_MACHINE
    belief_of_all = MAX_TEXT_BELIEF if sure else min(MAX_TEXT_BELIEF, MAX_UNCLEAR_BELIEF / parts[0])
    return tuple(
        (
            cause,
            belief_of_all * share,
            tuple(dict.fromkeys(text for _, text in sorted(said[cause], key=lambda s: -s[0]))),
        )
        for cause, share in zip(order, parts, strict=True)
    )


def _in_order(leader: str, odds: dict[str, float], gain: float) -> list[str]:
    """Return the causes with the leader first; behind it by their odds, to which ``BEHIND_MANY`` have ``gain`` added."""
    return sorted(odds, key=lambda c: (c != leader, -odds[c] - (gain if c in BEHIND_MANY else 0.0)))


@dataclass(frozen=True)
class ClueBelief:
    """What the clues that hold say about each cause."""

    odds: dict[str, float]
    """Log-odds as they count beside those of words, base rates included."""
    said: dict[str, list[tuple[float, str]]]
    """The sentences that speak for it, each with its weight."""
    named: frozenset[str]
    """Causes that an exact message names."""
    named_first: frozenset[str] = frozenset()
    """Those that the first of several exact messages names; one of them leads."""
    beside: frozenset[str] = frozenset()
    """Those that the text's history or machine speaks for, whatever its messages name."""


def believe_clues(reading: ParsedText, causes: Iterable[str]) -> ClueBelief:
    """Return what the clues say of each of ``causes``."""
    known = known_clues()
    base = {str(cause): BASE_RATE_WEIGHT * log(count) for cause, count in known.base.items()}
    clues = {cause: base.get(cause, 0.0) for cause in causes}
    said: dict[str, list[tuple[float, str]]] = {cause: [] for cause in clues}
    named: set[str] = set()
    named_first: set[str] = set()
    beside: set[str] = set()
    holding = holding_clues(reading.marks)
    earliest = min(
        (place for clue in holding if clue.exact and (place := _place(clue, reading)) is not None), default=0
    )
    for clue in holding:
        later = clue.exact and (_place(clue, reading) or 0) > earliest + SAME_MESSAGE_CHARACTERS
        its = {cause for cause, weight in clue.causes.items() if clue.exact and weight > 0}
        named |= its
        beside |= {cause for cause, weight in clue.causes.items() if clue.beside and weight > 0}
        named_first |= set() if later else its
        for cause, weight in clue.causes.items():
            clues[cause] += weight * (LATER_SHARE if later and weight > 0 else 1.0)
            if clue.because and weight > 0:
                said[cause].append((weight, clue.because))
    odds = {
        cause: CLUE_WEIGHT * x - (UNNAMED_LOSS if named and cause not in named | beside else 0)
        for cause, x in clues.items()
    }
    return ClueBelief(odds, said, frozenset(named), frozenset(named_first), frozenset(beside))


def shares(odds: dict[str, float]) -> list[float]:
    """Return log-odds as shares of the whole, the largest first."""
    top = max(odds.values())
    raw = sorted((exp((x - top) / LOG_ODDS_DIVISOR) for x in odds.values()), reverse=True)
    whole = sum(raw)
    return [x / whole for x in raw]


def _place(clue: Clue, reading: ParsedText) -> int | None:
    """Return the index of the message that a clue is about; None if it is not about a message of the table."""
    words = (word for part in clue.when if not part.startswith("!") for word in part.split("|"))
    return min((reading.first[word] for word in words if word in reading.first), default=None)


def conditions_hold(when: Iterable[str], marks: frozenset[str]) -> bool:
    """Whether all of a clue's conditions hold; ``a|b`` means either, ``!a`` means not."""
    needed, barred = _read_conditions(tuple(when))
    return barred.isdisjoint(marks) and not any(either.isdisjoint(marks) for either in needed)


@cache
def _read_conditions(when: tuple[str, ...]) -> tuple[tuple[frozenset[str], ...], frozenset[str]]:
    """Return the sets of marks of which a text needs one each, and the marks that it must not have."""
    needed = tuple(frozenset(part.split("|")) for part in when if not part.startswith("!"))
    return needed, frozenset(part[1:] for part in when if part.startswith("!"))


def matching_clues(reading: ParsedText) -> tuple[Clue, ...]:
    """Return the clues that apply and support a cause; empty if nothing in the text is about GPUs."""
    return tuple(c for c in holding_clues(reading.marks) if c.because and max(c.causes.values()) >= 1)


@lru_cache(maxsize=4)
def holding_clues(marks: frozenset[str]) -> tuple[Clue, ...]:
    """Return the clues whose conditions hold; one text is asked about several times."""
    return tuple(clue for clue in known_clues().clues if conditions_hold(clue.when, marks))
