"""Numbers in foreign text: what is none is None, whatever the digits, and nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.common import versions

LONG = "9" * 5000
HOSTILE = st.one_of(
    st.text(),
    st.lists(st.sampled_from((LONG, "²³", "٣", "1", ".", "-", "+cu", "rc", " ", "\0", "(", ">=")), max_size=9).map(
        "".join
    ),
)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("12", 12), ("007", 7), ("9" * 18, 10**18 - 1), ("9" * 19, None), (LONG, None)]
    + [(t, None) for t in ("", " 1", "1\n", "-1", "1.0", "²³", "٣", "1²", "x")],
)
def test_a_whole_number_is_ascii_and_of_a_sane_length(text: str, number: int | None) -> None:
    assert versions.whole_number(text) == number


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("12.4.127", (12, 4, 127)),
        ("2.7.0+cu128", (2, 7, 0)),
        ("9.1.0rc1", (9, 1, 0)),
        ("v9", ()),
        ("", ()),
        (None, ()),
        (LONG, ()),
        (f"9.{LONG}", (9,)),
        ("²³", ()),
        ("9.²", (9,)),
        ("9.1.", (9, 1)),
    ],
)
def test_a_version_is_its_leading_numbers(text: str | None, parts: tuple[int, ...]) -> None:
    assert versions.version_tuple(text) == parts


def test_all_numbers_leaves_out_what_is_too_long() -> None:
    assert versions.all_numbers(f"(8, 9, {LONG}, 7²)") == (8, 9, 7)


@given(HOSTILE, HOSTILE)
def test_nothing_raises(one: str, other: str) -> None:
    assert versions.whole_number(one) is None or one.isascii()
    assert all(part < 10**9 for part in (*versions.version_tuple(one), *versions.all_numbers(one)))
    version = versions.parse_python_version(one)
    assert version is None or str(version)
