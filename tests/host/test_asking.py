"""Asking again where an answer did not fit: it ends, it is whole, and it is never more than the most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.host.windows.asking import whole_answer


@given(st.integers(1, 50), st.integers(0, 5000), st.integers(50, 2000), st.integers(0, 3))
def test_an_answer_is_whole_or_the_most(room: int, there: int, most: int, grows: int) -> None:
    asked: list[int] = []

    def ask(room: int) -> tuple[int, int]:
        asked.append(room)
        now = there + grows * (len(asked) - 1)
        return min(room, now), now

    answer = whole_answer(ask, room, most)
    assert answer == min(most, there + grows * (len(asked) - 1))
    assert asked == sorted(set(asked))
    assert asked[-1] <= most


def test_an_answer_that_fits_is_asked_for_once() -> None:
    asked: list[int] = []

    def ask(room: int) -> tuple[str, int]:
        asked.append(room)
        return "all", room

    assert whole_answer(ask, 64, 4096) == "all"
    assert asked == [64]
