"""The statements of a PowerShell script, and lines for which PowerShell refuses the whole script. Only text is read.

Source: Microsoft, "about_Parsing".
"""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from core.common.late_pattern import late_pattern
from core.host.startup.state import fill
from core.probes.starting.windows.command_words import option_left_behind

MOST_CHARACTERS, MOST_STATEMENTS, MOST_BLOCKS = 1 << 17, 2000, 24


class Statement(msgspec.Struct, frozen=True):
    """A statement, or the head of a block with what is in it."""

    text: str
    line: int
    body: tuple[Statement, ...] | None = None


_PIECE = late_pattern(
    r"(?P<comment><#.*?(?:#>|\Z)|(?<![^\s;{}()])#[^\n]*)|(?P<here>@(['\"])[ \t]*\n.*?(?:\n\3@|\Z))|(?P<goes_on>`\r?\n)|(?P<escaped>`.)"
    r"|(?P<text>'(?:[^']|'')*(?:'|\Z)|\"(?:`.|\"\"|[^\"`])*(?:\"|\Z))|(?P<end>\r?\n|;|&&|\|\|)|(?P<open>\{)|(?P<close>\})|(?P<in>[(\[])|(?P<out>[)\]])",
    re.DOTALL,
)


def statements_of_script(text: str) -> tuple[Statement, ...]:
    """Return the statements of a script; one within brackets, and a table of values (@{...}), is part of what is around it."""
    return tuple(_Reader(text[:MOST_CHARACTERS]).block(0))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def block(self, depth: int) -> list[Statement]:
        """Return the statements up to the bracket that ends this block."""
        found: list[Statement] = []
        parts: list[str] = []
        last, begin, level, tables = "", self.at, 0, 0

        def add(text: str) -> None:
            nonlocal last
            parts.append(text)
            last = text.rstrip()[-1:] or last

        def end(body: tuple[Statement, ...] | None = None) -> None:
            nonlocal last
            if last or body is not None:
                line = self.text.count("\n", 0, begin) + 1
                found.append(Statement("".join(parts).strip(), line, body))
            parts.clear()
            last = ""

        while self.at < len(self.text) and len(found) < MOST_STATEMENTS:
            piece = _PIECE.search(self.text, self.at)
            plain = self.text[self.at : piece.start() if piece else len(self.text)]
            if plain.strip() and not last:
                begin = self.at + len(plain) - len(plain.lstrip())
            add(plain)
            if piece is None:
                self.at = len(self.text)
                break
            if not last:
                begin = piece.start()
            self.at = piece.end()
            kind = piece.lastgroup or ""
            if kind in ("comment", "goes_on"):
                add(" ")
            elif kind == "end" and level == 0 and tables == 0:
                end()
            elif kind == "open" and last and last in "@$":
                if plain.endswith("$"):
                    add("{" + self._braced())
                else:
                    tables += 1
                    add("{")
            elif kind == "open" and level == 0 and tables == 0 and depth < MOST_BLOCKS:
                body = tuple(self.block(depth + 1))
                end(body)
            elif kind == "close" and tables == 0 and level == 0:
                end()
                return found
            else:
                tables -= 1 if kind == "close" and tables else 0
                level = max(0, level + (kind == "in") - (kind == "out"))
                add("\n" if kind == "end" else piece[0])
        end()
        return found

    def _braced(self) -> str:
        """Take a variable's name in braces."""
        begin, stop = self.at, self.text.find("}", self.at)
        self.at = len(self.text) if stop < 0 else stop + 1
        return self.text[begin : self.at]


_NO_CODE = late_pattern(r"(?s)<#.*?#>|@(['\"])[ \t]*\r?\n.*?\r?\n\1@")
"""Comments of several lines, and texts of several lines."""
_NO_CALL = late_pattern(
    r"(?im)^[ \t]*((['\"])[^'\"\r\n]+\.(?:exe|bat|cmd|ps1)\2)[ \t]+(?:[\w$.\\'\"]|--|-(?:m|c|u|[BIEsSWX])(?![\w-]))"
)
"""A program in quotation marks without ``&``, and its arguments."""


def refused_line(text: str, joins: tuple[str, ...] = ()) -> tuple[int, str] | None:
    """Return number and first word of a line for which PowerShell refuses the whole script; None for none.

    ``joins``: signs between statements that this edition does not know.
    """
    plain = fill(_NO_CODE, lambda m: "\n" * m[0].count("\n"), text[:MOST_CHARACTERS])
    lines = plain.split("\n")
    for number, (line, following) in enumerate(pairwise(lines), 2):
        option = option_left_behind(line, following, "`")
        if option and "\n".join(lines[: number - 1]).count('"') % 2 == 0:
            return number, option
    for found in _NO_CALL.finditer(plain):
        before = plain[: found.start()]
        if before.count('"') % 2 == 0 and before.rstrip()[-1:] not in ("`", ",", "|", "=", "+", "("):
            return plain.count("\n", 0, found.start(1)) + 1, found[1]
    joined = (p for p in _PIECE.finditer(plain) if p["end"] in joins) if joins else ()
    return next(((plain.count("\n", 0, p.start()) + 1, p[0]) for p in joined), None)
