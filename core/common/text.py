"""Text for people: printable, capitalised, joined."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable

from core.common.i18n import _
from core.common.late_pattern import late_pattern

_LAYOUT = {ord("\n"): None, ord("\t"): None}
_OURS = late_pattern(r"(\x1b\[(?:0|1|2|3[1-6])m)")
"""The colour codes of our own reports; none of them hides or moves text."""


def printable(text: str) -> str:
    r"""Return text that cannot drive a terminal: control and direction characters appear as ``\xNN`` or ``\uNNNN``.

    Line feeds and tabs stay.
    """
    if text.translate(_LAYOUT).isprintable():
        return text
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else _escape(c) for c in text
    )


def for_terminal(text: str) -> str:
    """Return ``printable`` text that keeps a report's colours; text from the machine cannot control the terminal."""
    if "\x1b" not in text:
        return printable(text)
    return "".join(part if _OURS.fullmatch(part) else printable(part) for part in _OURS.split(text))


def _escape(c: str) -> str:
    return f"\\x{ord(c):02x}" if ord(c) < 0x100 else f"\\u{ord(c):04x}"


def join_names(items: Iterable[str], most: int = 5) -> str:
    """Return names as a readable list: "a, b and c"; beyond ``most`` the rest is counted."""
    names = list(items)
    if len(names) > most:
        return _("{names} and {count} more", names=_row(names[:most]), count=len(names) - most)
    return _("{names} and {last}", names=_row(names[:-1]), last=names[-1]) if len(names) > 1 else "".join(names)


def _row(names: list[str]) -> str:
    return functools.reduce(lambda row, name: _("{names}, {next}", names=row, next=name), names)


def capitalise(text: str) -> str:
    """Return a text with a capital letter at its start."""
    return text[:1].upper() + text[1:]


def describe_crash(error: BaseException) -> str:
    """Return an exception in a line, with the module and the line number where it was raised."""
    tail = error.__traceback__
    while tail is not None and tail.tb_next is not None:
        tail = tail.tb_next
    where = f" ({tail.tb_frame.f_globals.get('__name__')}:{tail.tb_lineno})" if tail else ""
    return f"{type(error).__name__}: {error}{where}"
