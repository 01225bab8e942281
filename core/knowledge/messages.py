"""Typed tables for explaining error texts: messages, clues and codes."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.knowledge.causes import Cause
from core.knowledge.tables import read_table
from core.model.facts import Frozen

LACKS_GPU = late_pattern(
    r"cudaErrorInsufficientDriver|cudaErrorNoDevice|no CUDA-capable device|CUDA_ERROR_NO_DEVICE"
    r"|CUDA driver version is insufficient|Found no NVIDIA driver|libcuda\.so\.1|nvcuda\.dll",
    re.IGNORECASE,
)
"""Messages of frameworks on a machine without an NVIDIA GPU.

The CUDA runtime calls a missing driver an insufficient one.
"""

NAMED_CAUSE_WEIGHT = 7.0
"""Log-odds of a sentence that names one cause itself."""


class Message(Frozen, frozen=True, kw_only=True):
    """A family of messages: the words that identify it, in any language, and its meaning."""

    id: str
    """The mark that it leaves."""
    kind: Literal["context", "symptom", "harmless"] = "symptom"
    """context: where it happened; symptom: what is wrong; harmless: looks like a fault, but is none."""
    phrases: tuple[str, ...]
    """Lower case; ``*`` stands for up to 120 characters of the same line."""
    forms: tuple[str, ...] = ()
    """Regular expressions over the text in lower case, for what each program words otherwise. Bounded: linear in the text."""
    meaning: str = ""
    usually: str = ""
    source: str = ""
    code: str = ""
    """The status that it is about: codes.json says what that means, once for all."""
    cause: Cause | Literal[""] = ""
    """The one cause that the sentence itself names; clues say the rest."""


class Clue(Frozen, frozen=True, kw_only=True):
    """What a combination of marks says about causes, in natural log-odds: 1 slight, 2 clear, 3 strong, 5 nearly decisive."""

    when: tuple[str, ...]
    """Marks that must all be there; ``a|b`` is either, ``!a`` is not."""
    because: str = ""
    """What the user reads; empty for a clue of context."""
    causes: dict[Cause, float]
    exact: bool = False
    """A sentence that one program alone prints: causes that no exact clue of the text names are out of the question."""
    beside: bool = False
    """What the text tells of its history or its machine: its causes stay in question beside any exact clue."""


class Answer(Frozen, frozen=True, kw_only=True):
    """One answer to a question, and the cause that remains."""

    answer: str
    cause: Cause


class Question(Frozen, frozen=True, kw_only=True):
    """A question for a text with several likely causes: one thing to look at, whose answers separate them."""

    when: tuple[str, ...]
    """As with clues."""
    ask: str
    answers: tuple[Answer, ...]


class Clues(Frozen, frozen=True, kw_only=True):
    """The whole table: base rates of causes in resolved public cases, and the clues."""

    base: dict[Cause, float]
    clues: tuple[Clue, ...]
    questions: tuple[Question, ...] = ()
    """The first one whose marks hold is asked."""
    decides: dict[Cause, str] = {}  # noqa: RUF012 - msgspec copies defaults
    """What would decide about a cause: part of a sentence that begins with whether, what or how."""


class _Sentences(Frozen, frozen=True, kw_only=True):
    """The part of kernel_log.json that is read as messages."""

    sentences: tuple[Message, ...]


class CodeEntry(Frozen, frozen=True, kw_only=True):
    """One entry of the dictionary of codes."""

    name: str
    family: str
    number: str = ""
    meaning: str
    usually: str
    source: str


@cache
def known_messages() -> tuple[Message, ...]:
    """Return resources/knowledge/messages.json, and the sentences of the kernel's log (kernel_log.json)."""
    written = read_table("messages", tuple[Message, ...]) + read_table("kernel_log", _Sentences).sentences
    # the newest release's row of a name that several releases have
    codes = {c.name: c for c in known_codes()} if any(m.code for m in written) else {}
    return tuple(
        replace(m, meaning=codes[m.code].meaning, usually=codes[m.code].usually, source=codes[m.code].source)
        if m.code
        else m
        for m in written
    )


@cache
def known_clues() -> Clues:
    """Return resources/knowledge/clues.json, and a clue for each sentence of the kernel's log that names its cause."""
    written = read_table("clues", Clues)
    named = tuple(
        Clue(when=(m.id,), exact=True, because=m.meaning, causes={m.cause: NAMED_CAUSE_WEIGHT})
        for m in read_table("kernel_log", _Sentences).sentences
        if m.cause
    )
    return replace(written, clues=written.clues + named)


class Translation(Frozen, frozen=True, kw_only=True):
    """A sentence of Windows, the loader or a shell, in lower case; ``{dll}`` and the like stand for a name."""

    english: str
    said: tuple[str, ...]
    """The same in other languages."""


def known_translations() -> tuple[Translation, ...]:
    """Return resources/knowledge/translations.json."""
    return read_table("translations", tuple[Translation, ...])


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
