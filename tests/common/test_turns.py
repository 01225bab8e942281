"""One thread works at a time, the lowest rank first, and whoever waits too long for it goes on without."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from core.common.patience import Patience, call_patiently
from core.common.turns import FIRST, MadeOnce, Turns, others_turn


def beside(work: Callable[[], object]) -> threading.Thread:
    """Start ``work`` in a thread."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.common.turns.LONGEST_WAIT_SECONDS", 60.0)


@pytest.mark.usefixtures("patient")
def test_one_works_at_a_time() -> None:
    turns = Turns()
    at_work: list[int] = []
    most: list[int] = []
    done: list[int] = []

    def work() -> None:
        with turns.turn():
            at_work.append(1)
            most.append(len(at_work))
            time.sleep(0)
            at_work.pop()
        done.append(1)

    for thread in [beside(work) for _n in range(8)]:
        thread.join()
    assert (max(most), len(done)) == (1, 8)


@pytest.mark.usefixtures("patient")
def test_another_works_while_one_waits() -> None:
    turns, worked = Turns(), threading.Event()

    def work() -> None:
        with turns.turn():
            worked.set()

    with turns.turn():
        other = beside(work)
        assert not worked.is_set()
        with others_turn():
            other.join()
        assert worked.is_set()


@pytest.mark.usefixtures("patient")
def test_the_lowest_rank_comes_first() -> None:
    turns = Turns()
    came: list[int] = []

    def work(rank: int) -> None:
        with turns.turn(rank):
            came.append(rank)

    with turns.turn():
        threads = [beside(lambda rank=rank: work(rank)) for rank in (3, 1, FIRST, 2)]
        while len(turns._waiting) < len(threads):
            time.sleep(0)
    for thread in threads:
        thread.join()
    assert came == [FIRST, 1, 2, 3]


def test_one_that_never_ends_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.common.turns.LONGEST_WAIT_SECONDS", 0.01)
    turns = Turns()
    entered, let_go, worked = threading.Event(), threading.Event(), threading.Event()

    def stuck() -> None:
        with turns.turn():
            entered.set()
            let_go.wait()

    def work() -> None:
        with turns.turn():
            worked.set()
            let_go.set()
            hangs.join()  # it ends, and does not end our turn
            assert turns.holder == threading.get_ident()

    hangs = beside(stuck)
    entered.wait()
    beside(work).join()
    assert worked.is_set()
    assert turns.holder == 0


def test_who_has_no_turn_gives_none_away() -> None:
    turns, given = Turns(), []

    def work() -> None:
        with others_turn():
            given.append(turns.holder)

    with turns.turn():
        beside(work).join()
        assert given == [turns.holder] == [threading.get_ident()]


@pytest.mark.usefixtures("patient")
def test_who_waits_for_a_folder_works_no_more() -> None:
    patience, hung, worked = Patience(), threading.Event(), threading.Event()

    def hang(_path: str) -> None:
        hung.wait(30)

    beside(lambda: patience.run(lambda: call_patiently(hang, "/dead/share")))
    while not patience.turns.holder:
        time.sleep(0.001)
    other = beside(lambda: patience.run(worked.set))
    assert worked.wait(2.5), "less than the call's own time-out"
    hung.set()
    other.join()


@pytest.mark.usefixtures("patient")
def test_what_two_ask_for_is_made_once_and_the_other_gives_up_its_turn_meanwhile() -> None:
    turns, made, began = Turns(), MadeOnce[int](), threading.Event()
    found: list[int] = []

    def make() -> int:
        began.set()
        with others_turn():
            time.sleep(0.05)
        return len(found) + 1

    def work() -> None:
        with turns.turn():
            found.append(made.get("key", make))

    first = beside(work)
    began.wait()
    for thread in (first, beside(work)):
        thread.join()
    assert found == [1, 1]


def test_what_fails_is_made_again_by_the_next() -> None:
    made = MadeOnce[int]()
    with pytest.raises(ZeroDivisionError):
        made.get("key", lambda: 1 // 0)
    assert made.get("key", lambda: 2) == 2
