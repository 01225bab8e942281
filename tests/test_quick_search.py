"""Forms are searched for only in texts that have the words which every match needs."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.common.quick_search import needed_words, quick_search
from core.explain.endings import ENDINGS
from core.knowledge.messages import known_messages

FORMS = sorted({*(f for m in known_messages() for f in m.forms), *(f for e in ENDINGS for f in e.forms)})


@pytest.mark.parametrize(
    ("form", "needed"),
    [
        ("cuda error", ("cuda error",)),
        (r"\bcuda\b [a-z]+ not found", (" not found",)),
        (r"no gpu|not? here", ("no gpu", " here")),
        (r"colou?rs{2}", ("colo",)),
        (r"(?:cuda|cudnn) is", ("cuda", "cudnn")),
        (r"(?:cuda|cudnn) is not", (" is not",)),
        (r"(?:cuda)? (?:on|off)+", (" ",)),
        (r"(?:either|\d)", ("",)),
        (r"(?:(?:one|two) three|(four) 5)!", (" three", "four")),
        (r"(?:(?:one|two) three|(four) 5)", (" three", "four")),
        (r"a\.so\(1\)[\]()|]\d", ("a.so(1)",)),
        (r"libcudnn|\d+", ("",)),
        (r"ab(?=cdef)de(?!x|y)|(?<!long)me", ("ab", "me")),
        (r"(?P<name>some)\d", ("some",)),
        (r"\(?(?:code|status)=", ("code", "status")),
        (r"(?i)word", ("",)),
        (r"(?i:word)", ("",)),
        (r"(?:iword)", ("iword",)),
        (r"(?P<a>b)(?P=a)", ("",)),
        (r"wo[^]x]rds", ("rds",)),
        (r"wo[a[]rds", ("rds",)),
        (r"wo[a\]b]rds", ("rds",)),
        ("", ("",)),
    ],
)
def test_needed_words(form: str, needed: tuple[str, ...]) -> None:
    assert needed_words(form) == needed


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
def test_each_match_of_a_known_form_has_them(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(FORMS))
    text = data.draw(st.from_regex(form))
    found, expected = quick_search(form, text), re.search(form, text)
    assert expected
    assert found
    assert found.span() == expected.span()


def test_most_forms_are_not_compiled_for_a_text_without_them() -> None:
    told = [
        form for form in FORMS if any(words in "runtimeerror: cudnn error: unknown" for words in needed_words(form))
    ]
    assert len(told) < len(FORMS) / 3
