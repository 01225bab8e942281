"""What an explanation consists of: ranked causes, meanings of codes, warnings, and one sentence."""

from __future__ import annotations

from typing import Literal

from core.model.facts import Frozen
from core.model.findings import Evidence, Finding

Verdict = Literal["proved", "refuted", "open"]
"""What the machine says to a cause that the text suggests."""
Link = Literal["", "proved", "possible", "contrary", "elsewhere", "not linked", "nothing found"]
"""Whether what a machine shows causes what a text says."""


class RankedCause(Frozen, frozen=True, kw_only=True):
    """One possible cause of the text, and what the machine says to it."""

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
    """What was seen on the machine that proves or refutes it, or speaks for it."""
    finding: Finding | None = None
    """The finding that proves it, or may be behind it, with its fix."""
    may: bool = False
    """This machine has such a fault, and it can make such a text as others can: near, and not proved."""
    by_words: bool = False
    """No message of the text is known: texts with such words came from this cause, by the learned table."""
    by_text: bool = False
    """The verdict is from what the text itself shows of its machine (a pasted nvidia-smi, pip list, ...), not from a look."""
    steps: str = ""
    """What cures it in general, for one that is open and points from the text: what a finding's own fix says better."""


class NamedThing(Frozen, frozen=True, kw_only=True):
    """One thing that a text names."""

    kind: Literal["file", "status", "symbol", "version", "framework", "device", "system"]
    name: str
    """As the maker writes it."""


def own_reasons(causes: tuple[RankedCause, ...]) -> tuple[tuple[str, ...], ...]:
    """Return for each cause the reasons that no earlier cause has, so that none is repeated."""
    told: set[str] = set()
    own = []
    for r in causes:
        own.append(tuple(b for b in r.because if b not in told))
        told |= set(r.because)
    return tuple(own)


class TextSummary(Frozen, frozen=True, kw_only=True):
    """What a text says by itself, whatever the machine."""

    meaning: str = ""
    """One or two plain sentences; empty for a text without a message that is known."""
    names: tuple[NamedThing, ...] = ()


class MachineFault(Frozen, frozen=True, kw_only=True):
    """A fault that this machine has, and what it has to do with the text."""

    finding: str
    """Its id."""
    cause: str
    subject: str = ""
    title: str = ""
    link: Literal["makes", "may make", "contradicted", "none"] = "none"
    """makes: this fault makes such a text. may make: so do many others. contradicted: the text's own evidence is against it."""
    against: str = ""
    """What in the text is against it, in one sentence."""


class CodeMeaning(Frozen, frozen=True, kw_only=True):
    """A code, a message or a file name, in two plain sentences."""

    term: str
    """As the maker writes it: ERROR_MOD_NOT_FOUND, CUDNN_STATUS_NOT_INITIALIZED, cudnn_ops64_9.dll."""
    family: str = ""
    """Whose word it is: "Windows error", "cuDNN 9 status", "CUDA runtime error", ..."""
    number: str = ""
    """Its number, where it has one."""
    kind: Literal["", "status", "windows error"] = ""
    """status: what a call answered. windows error: the same of Windows. Empty: a file, a message, a line of a log."""
    meaning: str = ""
    usually: str = ""
    """What usually causes it."""
    source: str = ""


class WrongCure(Frozen, frozen=True, kw_only=True):
    """A popular cure that does harm, seen in the text or on the machine."""

    id: str
    title: str
    harm: str
    """Why it harms."""
    undo: str
    """How to undo it."""
    seen: str = ""
    """Where it was seen: a line of the text or a path on the machine."""


class Explanation(Frozen, frozen=True, kw_only=True):
    """An error text, explained."""

    sentence: str
    """The result in one sentence or two: whether what the text says and what the machine shows belong together."""
    says: TextSummary = TextSummary()
    """First: what the text says by itself."""
    shows: tuple[MachineFault, ...] = ()
    """Then: the faults of this machine, the primary first; empty without a machine, and for one in order."""
    link: Link = ""
    """Last: whether the one causes the other. Empty: no machine was looked at, or the text is not about the GPU.
    possible: a fault of the machine can make it, as others can. contrary: the machine refutes what the text points to. elsewhere: the text is another machine's.
    not linked: there are faults, and none is known to make this text. nothing found: there is none."""
    causes: tuple[RankedCause, ...] = ()
    """Proved ones first, refuted ones last; among equals the most likely first."""
    codes: tuple[CodeMeaning, ...] = ()
    warnings: tuple[WrongCure, ...] = ()
    foreign: str = ""
    """Why the text seems to come from another machine; empty when nothing says so."""
    decide: str = ""
    """What would decide between the best ones; empty when that is settled. A question has its answers in further lines."""
    question: str = ""
    """The one question whose answers part the best causes; empty where none is asked."""
    choices: tuple[str, ...] = ()
    """Its answers in words."""
    answers: tuple[str, ...] = ()
    """The causes that these answers leave, in the same order."""
    lines: tuple[str, ...] = ()
    """The lines of the text that matter, printable, at most a dozen."""
    failed: tuple[Finding, ...] = ()
    """What could not be judged by a fault of Convalesce's own."""
