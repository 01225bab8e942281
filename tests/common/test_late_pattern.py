"""A late pattern finds what the pattern finds, and is compiled once, when it is asked."""

from __future__ import annotations

import re

import pytest

from core.common.late_pattern import late_pattern


def test_it_finds_what_the_pattern_finds():
    late = late_pattern(r"(\d+)x", re.IGNORECASE)
    assert [m[1] for m in late.finditer("1x 2X")] == ["1", "2"]
    assert late.pattern == r"(\d+)x"
    assert late_pattern(rb"a+").findall(b"aab") == [b"aa"]


def test_it_is_compiled_when_it_is_asked():
    late = late_pattern("(")
    with pytest.raises(re.error):
        late.search("")
