"""The messages of NVIDIA's driver in the kernel log: the numbers of its catalogue (Xid), and sentences of its module."""

from __future__ import annotations

from typing import Literal

from core.common.late_pattern import late_pattern
from core.knowledge.causes import Cause
from core.knowledge.messages import Message
from core.knowledge.tables import read_table
from core.model.facts import Frozen

XidKind = Literal["program", "card", "link", "driver", "note"]
"""Whose fault it mostly is: that of a program, the card, a link, the driver, or nobody's."""
_XID = late_pattern(r"\bxid(?: \(pci:[^)\n]{0,40}\))?(?: error| code)?[ :=#]{1,3}(\d{1,3})\b")


class Xid(Frozen, frozen=True, kw_only=True):
    """One number of NVIDIA's catalogue of Xid errors."""

    code: int
    meaning: str
    """Part of a sentence: "the GPU has fallen off the bus"."""
    action: str
    """A word of ``KernelLog.actions``: NVIDIA's immediate action."""
    kind: XidKind
    next: str = ""
    """What to do, where the action alone says too little."""
    cause: Cause | Literal[""] = ""
    """Empty where the catalogue leaves it open."""


class KernelLog(Frozen, frozen=True, kw_only=True):
    """kernel_log.json."""

    known_until: str
    source: str
    actions: dict[str, str]
    xids: tuple[Xid, ...]
    sentences: tuple[Message, ...]

    def advice(self, xid: Xid) -> str:
        """Return what to do about a number."""
        return xid.next or self.actions[xid.action]


def kernel_log_table() -> KernelLog:
    """Read kernel_log.json."""
    return read_table("kernel_log", KernelLog)


def logged_xids(text: str) -> tuple[int, ...]:
    """Return the numbers of all Xid lines of a text, each once, in its order."""
    return tuple(dict.fromkeys(int(m[1]) for m in _XID.finditer(text.lower())))
