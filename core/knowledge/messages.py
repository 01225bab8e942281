"""Typed reading of the explaining tables: messages, clues and codes."""

from __future__ import annotations

from typing import Literal

from core.knowledge.causes import Cause
from core.knowledge.tables import read_table
from core.model.facts import Frozen


class Message(Frozen, frozen=True, kw_only=True):
    """A family of messages: the words that give it away, in whatever language, and what they mean."""

    id: str
    """The mark that it leaves."""
    kind: Literal["context", "symptom", "harmless"] = "symptom"
    """context says where it happened; symptom says what is wrong; harmless looks like a fault and is none."""
    phrases: tuple[str, ...]
    """Lower case; ``*`` stands for up to 120 characters of the same line."""
    meaning: str = ""
    usually: str = ""
    source: str = ""


class Clue(Frozen, frozen=True, kw_only=True):
    """What some marks together say about causes, in natural log-odds: 1 slight, 2 clear, 3 strong, 5 nearly decisive."""

    when: tuple[str, ...]
    """Marks that must all be there; ``a|b`` is either, ``!a`` is not."""
    because: str = ""
    """What the user reads; empty for a clue of context."""
    causes: dict[Cause, float]
    exact: bool = False
    """A sentence that one program alone prints: causes that no exact clue of the text names are out of the question."""


class Clues(Frozen, frozen=True, kw_only=True):
    """The whole table: base rates of causes in resolved public cases, and the clues."""

    base: dict[Cause, float]
    clues: tuple[Clue, ...]
    decides: dict[Cause, str] = {}  # noqa: RUF012 - msgspec copies defaults
    """What would decide about a cause: part of a sentence that begins with whether, what or how."""


class CodeEntry(Frozen, frozen=True, kw_only=True):
    """One entry of the dictionary of codes."""

    name: str
    family: str
    number: str = ""
    meaning: str
    usually: str
    source: str


def known_messages() -> tuple[Message, ...]:
    """Return resources/knowledge/messages.json."""
    return read_table("messages", tuple[Message, ...])


def known_clues() -> Clues:
    """Return resources/knowledge/clues.json."""
    return read_table("clues", Clues)


def known_codes() -> tuple[CodeEntry, ...]:
    """Return resources/knowledge/codes.json."""
    return read_table("codes", tuple[CodeEntry, ...])


class HarmfulCure(Frozen, frozen=True, kw_only=True):
    """A popular cure that does harm."""

    id: str
    title: str
    harm: str
    undo: str


def wrong_cures() -> tuple[HarmfulCure, ...]:
    """Return resources/knowledge/wrong_cures.json."""
    return read_table("wrong_cures", tuple[HarmfulCure, ...])
