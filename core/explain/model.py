"""What an explanation consists of: ranked causes, meanings of codes, warnings, and one sentence."""

from __future__ import annotations

from typing import Literal

from core.facts import Fact
from core.findings import Evidence, Finding

Verdict = Literal["proved", "refuted", "open"]
"""What the machine says to a cause that the text suggests."""


class Ranked(Fact, frozen=True, kw_only=True):
    """One cause that may stand behind the text, and what the machine says to it."""

    cause: str
    """A word of resources/knowledge/causes.json."""
    score: float
    """Share of belief from the text alone, 0 to 0.9: a text never makes a cause certain. Not changed by a proof."""
    because: tuple[str, ...] = ()
    """What in the text points to it, the strongest first."""
    meaning: str = ""
    """The cause in one plain sentence."""
    verdict: Verdict = "open"
    evidence: tuple[Evidence, ...] = ()
    """What was seen on the machine that proves or refutes it."""
    finding: Finding | None = None
    """The finding that proves it, with its fix."""


class CodeMeaning(Fact, frozen=True, kw_only=True):
    """A code, a message or a file name, in two plain sentences."""

    term: str
    """As the maker writes it: ERROR_MOD_NOT_FOUND, CUDNN_STATUS_NOT_INITIALIZED, cudnn_ops64_9.dll."""
    family: str = ""
    """Whose word it is: "Windows error", "cuDNN 9 status", "CUDA runtime error", ..."""
    number: str = ""
    """Its number, where it has one."""
    meaning: str = ""
    usually: str = ""
    """What usually causes it."""
    source: str = ""


class WrongCure(Fact, frozen=True, kw_only=True):
    """A popular cure that does harm, seen in the text or on the machine."""

    id: str
    title: str
    harm: str
    """Why it harms."""
    undo: str
    """How to take it back."""
    seen: str = ""
    """Where it was seen: a line of the text or a path on the machine."""


class Explanation(Fact, frozen=True, kw_only=True):
    """An error text, explained."""

    sentence: str
    """The result in one sentence."""
    causes: tuple[Ranked, ...] = ()
    """Proved ones first, refuted ones last; among equals the most likely first."""
    codes: tuple[CodeMeaning, ...] = ()
    warnings: tuple[WrongCure, ...] = ()
    foreign: str = ""
    """Why the text seems to come from another machine; empty when nothing says so."""
    decide: str = ""
    """What would decide between the best ones; empty when that is settled."""
    lines: tuple[str, ...] = ()
    """The lines of the text that matter, printable, at most a dozen."""
    failed: tuple[Finding, ...] = ()
    """What could not be judged by a fault of Convalesce's own."""
