"""If several causes are about equally likely: one question whose answers separate them."""

from __future__ import annotations

from msgspec.structs import replace

from core.common.i18n import _
from core.explain.model import RankedCause
from core.explain.ranking import conditions_hold, holding_clues
from core.explain.reading import ParsedText
from core.knowledge.causes import cause_rows
from core.knowledge.messages import Question, known_clues

LIKELY_SCORE = 0.7
"""Score from which a text alone makes a cause likely."""
BARRING_WEIGHT = -4.0
"""Log-odds of a clue with which a text's system rules a cause out, such as device nodes on Windows."""


def is_settled(causes: tuple[RankedCause, ...]) -> bool:
    """Whether nothing is left to decide: a cause is proved or likely."""
    if not causes or causes[0].verdict == "proved":
        return True
    return causes[0].score >= LIKELY_SCORE and not causes[0].may


def find_question(causes: tuple[RankedCause, ...], reading: ParsedText) -> Question | None:
    """Return the first question in the table that fits the text, with the answers that neither the machine nor the text's system rules out.

    A question without an answer for the most likely cause decides nothing.
    """
    if is_settled(causes):
        return None
    barred = {r.cause for r in causes if r.verdict == "refuted"}
    barred |= {
        c for clue in holding_clues(reading.marks) for c, weight in clue.causes.items() if weight <= BARRING_WEIGHT
    }
    for question in known_clues().questions:
        left = tuple(a for a in question.answers if a.cause not in barred)
        parts = len(left) > 1 and any(a.cause == causes[0].cause for a in left)
        if parts and conditions_hold(question.when, reading.marks):
            return replace(question, answers=left)
    return None


def ask_what_decides(causes: tuple[RankedCause, ...], asked: Question | None) -> str:
    """Return the question and its answers, one per line; without one, what would decide between the best causes.

    If the machine refutes every cause that the text suggests, return where to look next.
    """
    pointed = [r for r in causes if r.because or r.may or r.verdict == "proved"]
    if pointed and all(r.verdict == "refuted" for r in pointed):
        return _(
            "If the text comes from another machine: run convalesce explain there, or pass its report with --report. If it comes from this one: run the program again; if the message comes back, pass its Python with --python."
        )
    if is_settled(causes):
        return ""
    if not any(r.because or r.may for r in causes):
        # A cause that is merely frequent in general is no reason to look for it here.
        return (
            _("Only the machine itself can tell: run convalesce explain there, or pass its report with --report.")
            if causes
            else ""
        )
    if asked is None:
        deciding = known_clues().decides
        looks = [_(deciding[r.cause]) for r in causes[:3] if r.verdict == "open" and r.cause in deciding]
        return (
            _("To decide between the most likely ones: {questions}.", questions="; ".join(dict.fromkeys(looks)))
            if looks
            else ""
        )
    words = {row.cause: row.meaning for row in cause_rows()}
    rows = [
        _(
            "{number}. {answer}: {meaning} [{cause}]",
            number=number,
            answer=_(a.answer),
            meaning=_(words[a.cause]),
            cause=a.cause,
        )
        for number, a in enumerate(asked.answers, 1)
    ]
    return "\n".join((_("One question decides: {question}", question=_(asked.ask)), *rows))
