"""Threads that are not learned from yet: each is new, has a known cause or none, and is of no set of the corpus."""

from __future__ import annotations

from core.knowledge.causes import cause_ranks
from tests.explain.threads import SETS, all_threads, unscored_threads

SYSTEMS = {"windows", "linux", "wsl", "container", "macos", "unknown"}


def test_no_thread_waits_that_another_set_has() -> None:
    waiting = [t.url for t in unscored_threads()]
    assert len(waiting) == len({*waiting} - {t.url for t in all_threads()})


def test_each_waiting_thread_can_be_scored() -> None:
    for thread in unscored_threads():
        assert thread.cause in {*cause_ranks(), "none"}
        assert thread.set not in SETS
        assert thread.url.startswith(f"https://github.com/{thread.source}/")
        assert thread.system in SYSTEMS
        assert thread.year in range(2020, 2027)
        assert thread.text.strip()


def test_labels_part_the_waiting_threads() -> None:
    sure, weak = unscored_threads(("certain",)), unscored_threads(("weak",))
    assert {*sure} | {*weak} == {*unscored_threads()}
    assert not {*sure} & {*weak}
