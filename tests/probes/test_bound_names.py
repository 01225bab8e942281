"""What a text may bind, found without parsing: the quick look agrees with the whole one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.probes.python.text.bound_names import likely_names, may_bind
from core.probes.python.text.module_text import attributes_of, binds_name

WORDS = ("np", "run", "as", "def", "class", "import", "_x")
PIECES = (*WORDS, " ", "\t", "\n", "\r\n", ",", "(", ")", ":", "=", "#", ".", "'")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(TEXTS)
@example("import a as run")
@example(f"class{' ' * 90}run:")
def test_a_text_may_bind_what_is_among_its_likely_names(text: str):
    assert {w for w in WORDS if may_bind(text, w)} == {w for w in WORDS if w in likely_names(text)}


@given(TEXTS)
def test_attributes_are_those_that_one_pattern_for_all_names_finds(text: str):
    spelt = re.findall(r"(?<![\w.])((?:np|run|_x)(?:\.[A-Za-z_]\w*)+)", text)
    assert attributes_of(text, ("np", "run", "_x")) == {tuple(one.split(".")) for one in spelt}


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("def run():", True),
        ("class run:", True),
        ("x = 1\nrun = 2", True),
        ("\nrun: int", True),
        ("import a as run\n", True),
        ("from .a import b as run, c", True),
        ("def rerun():", False),
        ("def runs():", False),
        ("from . import run\n", False),
        ("x.run = 2", False),
        ("rerun = 1\ndef run(): 2", True),
    ],
)
def test_a_package_binds_a_name_to_something_else_than_its_module(text: str, bound: bool):
    assert binds_name(text, "run") is bound


def test_this_file_agrees_with_itself():
    text = Path(__file__).read_text(encoding="utf-8")
    words = set(re.findall(r"[A-Za-z_]\w+", text))
    assert {w for w in words if may_bind(text, w)} == words & likely_names(text)
