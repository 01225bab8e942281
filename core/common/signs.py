"""The program's symbols (✓ ✗ · – and the parts of a bar), and their nearest equivalents in a code page."""

from __future__ import annotations

import re

from core.common.late_pattern import late_pattern

_FIRST = {"✓": "√v", "✗": "×x", "·": ".", "–": "-"}
"""Symbols at the start of a line, each with its substitutes, best first. The last one is ASCII."""
_ANYWHERE = {"█": "#", "░": ".", "│": "|"}
_SIGN_OF_LINE = late_pattern(rf"^( *(?:\x1b\[\d+m)?)([{''.join(_FIRST)}])(?=[ \x1b])", re.MULTILINE)
"""Elsewhere in a line the same character may be part of a path, which must not change."""


def with_signs_of(text: str, page: str) -> str:
    """Return a text with symbols that a code page has ("cp437", "utf-8"); an unknown code page counts as ASCII."""
    nearest = {
        sign: next(s for s in sign + instead if s.isascii() or _has(page, s))
        for sign, instead in (*_FIRST.items(), *_ANYWHERE.items())
    }
    text = text.translate({ord(sign): nearest[sign] for sign in _ANYWHERE})
    return _SIGN_OF_LINE.sub(lambda m: m[1] + nearest[m[2]], text)


def _has(page: str, sign: str) -> bool:
    try:
        sign.encode(page)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
