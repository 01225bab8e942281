"""Searching a text for one of hundreds of regular expressions, most of which are not there.

Compiling an expression takes ten times as long as seeing that a text lacks the words that every match has.
"""

from __future__ import annotations

import re
from functools import cache

_TOKENS = re.compile(
    r"(?P<words>[^\\\[\](){}|.?*+^$]+)|(?P<set>\[\^?\]?)|(?P<sign>\\\W)|(?P<around>\(\?<?[=!])|(?P<open>\((?:\?:|\?P<\w{1,40}>)?)"
    r"|(?P<close>\))|(?P<or>\|)|(?P<often>[?*+]\??|\{[\d,]{1,9}\}\??)|\\.|.",
    re.DOTALL,
)
_OTHER = re.compile(r"(?<!\\)\(\?(?![:=!]|<[=!]|P<)")
"""Flags, and what else is written with a question mark behind a bracket."""
_NOTHING: tuple[str, ...] = ("",)


def quick_search(form: str, text: str) -> re.Match[str] | None:
    """Return what ``re.search(form, text)`` returns; the form is compiled only if the text can have a match."""
    return re.search(form, text) if can_match(form, text) else None


def can_match(form: str, text: str) -> bool:
    """Whether a text has the words that a match of the form needs."""
    return any(words in text for words in needed_words(form))


@cache
def needed_words(form: str) -> tuple[str, ...]:
    """Return words of which every match of a form has at least one; the empty string where none is needed.

    They are runs of plain characters. Of several that are needed, those whose shortest is longest are returned. Forms
    with flags of their own ("(?i)"), which change what plain characters mean, and with back-references need nothing.
    """
    if _OTHER.search(form):
        return _NOTHING
    groups = [_Group()]
    is_in_set = False
    for token in _TOKENS.finditer(form):
        kind, said = token.lastgroup, token[0]
        group = groups[-1]
        if is_in_set:
            is_in_set = said[-1] != "]" or kind == "sign"
        elif kind == "words":
            group.run += said
        elif kind == "sign":
            group.run += said[1]
        elif kind in ("open", "around"):
            group.end_run()
            groups.append(_Group(is_looked_at_only=kind == "around"))
        elif kind == "close":
            groups.pop()
            groups[-1].last = _NOTHING if group.is_looked_at_only else group.needed()
        elif kind == "or":
            group.end_alternative()
        elif kind == "often":  # a repetition belongs to the last character or group alone, which may be absent
            group.run, group.last = group.run[:-1], _NOTHING
            group.end_run()
        else:
            is_in_set = kind == "set"
            group.end_run()
    return groups[0].needed()


class _Group:
    """What is known of a group, or of the whole form, while it is read."""

    def __init__(self, is_looked_at_only: bool = False) -> None:
        self.is_looked_at_only = is_looked_at_only
        """A look-ahead or look-behind: what it holds need not be part of the match."""
        self.run = ""
        self.last = _NOTHING
        """What the group that has just ended needs: a repetition may follow."""
        self.best, self.shortest = _NOTHING, 0
        self.before: tuple[str, ...] = ()
        """What the alternatives before this one need."""

    def end_run(self) -> None:
        for needed in (self.last, (self.run,)):
            if needed != _NOTHING and (shortest := len(min(needed, key=len))) > self.shortest:
                self.best, self.shortest = needed, shortest
        self.run, self.last = "", _NOTHING

    def end_alternative(self) -> None:
        self.end_run()
        self.before += self.best
        self.best, self.shortest = _NOTHING, 0

    def needed(self) -> tuple[str, ...]:
        self.end_alternative()
        return _NOTHING if "" in self.before else self.before
