"""One thread works at a time, and whoever waits too long for it goes on without."""

from __future__ import annotations

import threading
import time

import pytest

from core.common import turns


def beside(work) -> threading.Thread:
    """Start ``work`` in a thread."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST_WAIT_SECONDS", 60.0)


@pytest.mark.usefixtures("patient")
def test_one_works_at_a_time():
    at_work, most, done = [], [], []

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
def test_another_works_while_one_waits():
    worked = threading.Event()

    def work() -> None:
        with turns.turn():
            worked.set()

    with turns.turn():
        other = beside(work)
        assert not worked.is_set()
        with turns.others_turn():
            other.join()
        assert worked.is_set()


def test_one_that_never_ends_holds_nobody_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "LONGEST_WAIT_SECONDS", 0.01)
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
            assert turns._holder[0] == threading.get_ident()

    hangs = beside(stuck)
    entered.wait()
    beside(work).join()
    assert worked.is_set()
    assert turns._holder[0] == 0


def test_who_has_no_turn_gives_none_away():
    with turns.others_turn():
        assert turns._holder[0] == 0
