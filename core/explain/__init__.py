"""From an error text to ranked causes, each proved or refuted on a Snapshot."""

from core.common.given_text import decode_text
from core.explain.engine import answer_question, explain
from core.explain.model import CodeMeaning, Explanation, RankedCause, WrongCure
from core.explain.render import render_text, to_json

__all__ = [
    "CodeMeaning",
    "Explanation",
    "RankedCause",
    "WrongCure",
    "answer_question",
    "decode_text",
    "explain",
    "render_text",
    "to_json",
]
