"""Consent at a terminal: the question's hint, and which answers agree. English is understood in every language."""

from __future__ import annotations

from core.common.i18n import _


def consent_hint() -> str:
    """Return the hint after a question: the letters for yes and no, with the default as a capital."""
    return f"[{_agreement()[:1]}/{_('no')[:1].upper()}]"


def is_consent(answer: str) -> bool:
    """Whether an answer agrees: the word or its first letter, in the person's language or in English."""
    word = _agreement()
    return answer.strip().lower() in ("y", "yes", word[:1], word)


def _agreement() -> str:
    return _("yes").strip().lower()
