"""Consent: the word or its first letter, in the person's language or in English; anything else is a no."""

from __future__ import annotations

import pytest

from core.common import i18n
from core.common.consent import consent_hint, is_consent

ANSWERS = {
    "en": ("[y/N]", ("y", "YES", " yes \n"), ("j", "ja", "yeah", "", "n", "no")),
    "de": ("[j/N]", ("j", "JA", "y", "yes\n"), ("jawohl", "nein", "n", "", "yep")),
    "zh_CN": ("[是/否]", ("是", "y", "Yes"), ("否", "不是", "")),
}


@pytest.mark.parametrize("language", ANSWERS)
def test_who_agrees(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(i18n, "_translation", i18n._translation)
    i18n.use_language(language)
    hint, agreed, others = ANSWERS[language]
    assert consent_hint() == hint
    assert [a for a in agreed if not is_consent(a)] == []
    assert [a for a in others if is_consent(a)] == []
