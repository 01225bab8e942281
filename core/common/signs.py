"""The program's own signs (✓ ✗ · – and the parts of a bar), and their nearest equivalents in a code page."""

from __future__ import annotations

import re

from core.common.late_pattern import late_pattern

_FIRST = {"✓": "√v", "✗": "×x", "·": ".", "–": "-"}
"""Signs that stand first in their line, each with its substitutes, the best first. The last one is ASCII."""
_ANYWHERE = {"█": "#", "░": ".", "│": "|"}
_SIGN_OF_LINE = late_pattern(rf"^( *(?:\x1b\[\d+m)?)([{''.join(_FIRST)}])(?=[ \x1b])", re.MULTILINE)
"""In the midst of a line the same letter may be part of a path, which stays as it is."""


def with_signs_of(text: str, page: str) -> str:
    """Return a text with the signs that a code page has ("cp437", "utf-8"); a page that Python does not know is ASCII."""
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
