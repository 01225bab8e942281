"""Lines for a terminal: wrapped and padded by display width (a Chinese character takes two columns)."""

from __future__ import annotations

import textwrap
from unicodedata import combining, east_asian_width

from core.common.late_pattern import late_pattern

TEXT_WIDTH = 96
"""Columns of a text where nothing limits it: as many as are read with ease."""
_CHINESE, _CLOSING = "⺀-鿿豈-﫿︰-﹏＀-￯", "、。，．：；！？）》」』】”’…"
_PIECES = late_pattern(rf"[ \t\n]+|[（《「『【]*[{_CHINESE}][{_CLOSING}]*|[^\s{_CHINESE}]+[{_CLOSING}]*")
"""Blanks, a Chinese character with following punctuation that may not start a line, or a word."""


def column_count(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def pad(text: str, width: int) -> str:
    """Return ``text`` padded with blanks to ``width`` columns; longer text unchanged."""
    return text + " " * (width - column_count(text))


def wrap(
    text: str, width: int, initial_indent: str = "", subsequent_indent: str = "", *, whole_words: bool = False
) -> list[str]:
    """Return the lines of a text, at most ``width`` columns wide. A word that is wider than a line is broken, or with
    ``whole_words`` (for paths, which are copied) left as it is.
    """
    if column_count(text) == len(text):
        return textwrap.wrap(
            text,
            width,
            initial_indent=initial_indent,
            subsequent_indent=subsequent_indent,
            break_long_words=not whole_words,
            break_on_hyphens=False,
        )
    lines: list[str] = []
    line, empty = initial_indent, True
    for piece in _PIECES.findall(text.strip()):
        blank = piece.isspace()
        if not empty and column_count(line) + column_count(" " if blank else piece) > width:
            lines.append(line.rstrip())
            line, empty = subsequent_indent, True
        if blank:
            line += "" if empty else " "
            continue
        while not whole_words and column_count(line) + column_count(piece) > width:
            room = next(
                (i for i in range(len(piece), 0, -1) if column_count(line) + column_count(piece[:i]) <= width), 1
            )
            lines.append(line + piece[:room])
            line, piece = subsequent_indent, piece[room:]  # noqa: PLW2901 - the rest of a word that is wider than a line
        line += piece
        empty = not piece
    return [*lines, line.rstrip()] if not empty else lines
