"""zsh's arrays: those that are tied to a variable, and those that keep each word once.

After zsh's manual, "Array Parameters" and "typeset" (-T, -U) in zshbuiltins(1), and the tied parameters of zshparam(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from core.common.late_pattern import late_pattern
from core.host.startup.state import UNKNOWN
from core.host.startup.syntax import NAME

TIED = {"path": "PATH", "fpath": "FPATH", "cdpath": "CDPATH", "manpath": "MANPATH", "mailpath": "MAILPATH"}
"""Array -> the variable that zsh ties to it from the start."""


class Tie(msgspec.Struct, frozen=True):
    """The variable that holds an array's words, and what separates them there."""

    scalar: str
    separator: str = ":"


class ZshArrays(msgspec.Struct):
    """Which arrays are tied, and whose words are kept once."""

    ties: dict[str, Tie] = msgspec.field(default_factory=lambda: {a: Tie(s) for a, s in TIED.items()})
    unique: set[str] = msgspec.field(default_factory=set)
    """Names of arrays and of variables."""

    def tie(self, names: list[str]) -> None:
        """Tie as ``typeset -T SCALAR array [separator]`` does."""
        scalar = names[0].partition("=")[0]
        if len(names) > 1 and not any(UNKNOWN in n for n in names):
            separator = names[2][:1] if len(names) > 2 else ":"
            self.ties[names[1].partition("=")[0]] = Tie(scalar, separator)

    def keep_once(self, names: Iterable[str]) -> None:
        """Keep each word of these once from now on; an array and its variable have that in common."""
        for name in names:
            both = {name} | {a for a, t in self.ties.items() if t.scalar == name}
            self.unique |= both | {self.ties[a].scalar for a in both if a in self.ties}

    def joined(self, array: str, words: Iterable[str]) -> str:
        """Return the text that the variable of a tied array holds."""
        its = dict.fromkeys(words) if array in self.unique else words
        return self.ties[array].separator.join(its)

    def split(self, array: str, value: str) -> list[str]:
        """Return the words of a tied array."""
        return value.split(self.ties[array].separator) if value else []

    def once(self, name: str, value: str) -> str:
        """Return a variable's new value, with each entry once where that was asked for."""
        array = next((a for a, t in self.ties.items() if t.scalar == name and a in self.unique), "")
        return self.joined(array, self.split(array, value)) if array else value


_INDEX = re.compile(r"-?\d+")
ALL_WORDS = ("", "@", "*")


def picked(words: list[str], index: str) -> str:
    """Return the element of an array that an index names, or all words for none."""
    if index in ALL_WORDS:
        return " ".join(words)
    if not _INDEX.fullmatch(index):
        return UNKNOWN
    at = int(index)
    inside = 0 < at <= len(words) or 0 < -at <= len(words)
    return words[at - 1 if at > 0 else at] if inside else ""


# --- words and places ------------------------------------------------------------------------------------------------

AT_A_PLACE = late_pattern(rf"({NAME})\[([^\]]+)\]=(.*)\Z", re.DOTALL)
"""path[1,0]=/opt/cuda/bin"""
QUALIFIER = "\ufdd0"
"""Stands between a word and its qualifiers; no file's name contains it."""


def qualifiers_marked(text: str) -> str:
    """Return the words of an array with a mark instead of the parentheses of qualifiers: /opt/cuda/bin(N-/)."""
    return re.sub(r"(?<=[^\s(])\(([^()\s]{1,8})\)", rf"{QUALIFIER}\1", text)


def is_as_qualified(kind: str, asked: str) -> bool:
    """Whether a place is there, and of the kind that qualifiers ask for; one that is not there is left out (N)."""
    if "/" in asked:
        return kind == "folder"
    return kind == "file" if "." in asked else kind != "missing"
