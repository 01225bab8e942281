"""The data of an explanation: ranked causes, meanings of codes, warnings, and one sentence."""

from __future__ import annotations

from typing import Literal

from core.model.facts import Frozen
from core.model.findings import Evidence, Finding

Verdict = Literal["proved", "refuted", "open"]
"""The machine's verdict on a cause that the text suggests."""
Link = Literal["", "proved", "possible", "contrary", "elsewhere", "not linked", "nothing found"]
"""Whether the faults of a machine cause the text."""


class RankedCause(Frozen, frozen=True, kw_only=True):
    """One possible cause of the text, and the machine's verdict on it."""

    cause: str
    """A cause of resources/knowledge/causes.json."""
    score: float
    """Probability from the text alone, 0 to 0.9, since a text never makes a cause certain.

    A proof does not change it.
    """
    because: tuple[str, ...] = ()
    """Reasons in the text, the strongest first."""
    meaning: str = ""
    """The cause in one plain sentence."""
    verdict: Verdict = "open"
    evidence: tuple[Evidence, ...] = ()
    """Observations on the machine that prove, refute or support it."""
    finding: Finding | None = None
    """The finding that proves it or may be behind it, with its fix."""
    may: bool = False
    """The machine has this fault, but other faults produce such a text, too: possible, not proved."""
    by_words: bool = False
    """The text has no known message: the learned table of words suggests the cause."""
    by_text: bool = False
    """The verdict comes from the text itself (a pasted nvidia-smi, pip list, ...), not from a scan."""
    steps: str = ""
    """General steps for a cause that the text suggests and the machine leaves open; a finding has a fix of its own."""


class NamedThing(Frozen, frozen=True, kw_only=True):
    """Something that a text names."""

    kind: Literal["file", "status", "symbol", "version", "framework", "device", "system"]
    name: str
    """In its maker's spelling."""


def own_reasons(causes: tuple[RankedCause, ...]) -> tuple[tuple[str, ...], ...]:
    """Return for each cause the reasons that no earlier cause has, so that none is repeated."""
    told: set[str] = set()
    own = []
    for r in causes:
        own.append(tuple(b for b in r.because if b not in told))
        told |= set(r.because)
    return tuple(own)


class TextSummary(Frozen, frozen=True, kw_only=True):
    """What a text says, regardless of the machine."""

    meaning: str = ""
    """One or two plain sentences; empty if the text has no known message."""
    names: tuple[NamedThing, ...] = ()


class MachineFault(Frozen, frozen=True, kw_only=True):
    """A fault of the machine, and how it relates to the text."""

    finding: str
    """Id of the finding."""
    cause: str
    subject: str = ""
    title: str = ""
    link: Literal["makes", "may make", "contradicted", "none"] = "none"
    """makes: this fault produces such a text. may make: so do many other faults. contradicted: the text contains evidence against it."""
    against: str = ""
    """Evidence in the text against it, in one sentence."""


class CodeMeaning(Frozen, frozen=True, kw_only=True):
    """A code, a message or a file name, with its meaning in two plain sentences."""

    term: str
    """In its maker's spelling: ERROR_MOD_NOT_FOUND, CUDNN_STATUS_NOT_INITIALIZED, cudnn_ops64_9.dll."""
    family: str = ""
    """The list that it belongs to: "Windows error", "cuDNN 9 status", "CUDA runtime error", ..."""
    number: str = ""
    """Its number, if it has one."""
    kind: Literal["", "status", "windows error"] = ""
    """status: the result of a call. windows error: the same on Windows. Empty: a file, a message, a line of a log."""
    meaning: str = ""
    usually: str = ""
    """What usually causes it."""
    source: str = ""


class WrongCure(Frozen, frozen=True, kw_only=True):
    """A popular but harmful cure, found in the text or on the machine."""

    id: str
    title: str
    harm: str
    """Why it harms."""
    undo: str
    """How to undo it."""
    seen: str = ""
    """Where it was found: a line of the text or a path on the machine."""


class Explanation(Frozen, frozen=True, kw_only=True):
    """The explanation of an error text."""

    sentence: str
    """The result in one or two sentences: whether the machine's faults cause the text."""
    says: TextSummary = TextSummary()
    """What the text says by itself."""
    shows: tuple[MachineFault, ...] = ()
    """The faults of the machine, the primary first; empty without a machine, and for one without faults."""
    link: Link = ""
    """Whether the machine's faults cause the text.

    Empty: no machine was given, or the text is not about the GPU. possible: a fault of the machine produces such texts,
    as others do. contrary: the machine refutes what the text suggests. elsewhere: the text is from another machine. not
    linked: there are faults, but none is known to produce this text. nothing found: there are none.
    """
    causes: tuple[RankedCause, ...] = ()
    """Proved ones first, refuted ones last; among equals the most likely first."""
    codes: tuple[CodeMeaning, ...] = ()
    warnings: tuple[WrongCure, ...] = ()
    foreign: str = ""
    """Why the text seems to be from another machine; empty if nothing suggests that."""
    decide: str = ""
    """What would decide between the best causes; empty if that is settled.

    A question is followed by its answers, one per line.
    """
    question: str = ""
    """The question that separates the best causes; empty if there is none."""
    choices: tuple[str, ...] = ()
    """Its answers in words."""
    answers: tuple[str, ...] = ()
    """The causes that remain after each answer, in the same order."""
    lines: tuple[str, ...] = ()
    """The relevant lines of the text, printable, at most a dozen."""
    failed: tuple[Finding, ...] = ()
    """What could not be judged because of an internal error."""
