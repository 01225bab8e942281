"""The measure: it counts places, fails on a gap, and the corpus keeps what is held out apart."""

from __future__ import annotations

import pytest

from core.knowledge.messages import Clue, known_clues
from tests import learn_words, measure_explain
from tests.explain.cases import CASES
from tests.explain.threads import SETS, UNSEEN, Thread, all_threads


def thread(text: str, cause: str) -> Thread:
    return Thread(
        url="https://example.org/1",
        source="example.org",
        year=None,
        system="linux",
        framework="PyTorch",
        set="first",
        cause=cause,
        text=text,
    )


def test_the_texts_are_messages_with_their_source_and_cause() -> None:
    threads = all_threads()
    assert len({t.url for t in threads}) == len(threads) > 450
    assert all(t.url.startswith("https://") and t.text.strip() and t.cause and t.source for t in threads)
    assert {t.set for t in threads} == set(SETS)


def test_no_source_is_both_held_out_and_trained_on() -> None:
    held = {t.source for t in all_threads(measure_explain.HELD_OUT)}
    assert held
    assert not held & {t.source for t in all_threads(measure_explain.TRAINED)}


def test_the_fifth_set_has_repositories_of_its_own_and_nothing_is_learned_from_it() -> None:
    fifth = {t.source for t in all_threads(("fifth",))}
    assert len(fifth) > 50
    assert not fifth & {t.source for t in all_threads([s for s in SETS if s not in UNSEEN or s == "held out"])}
    assert not {*UNSEEN} & {*learn_words.LEARNED}


def test_places_are_counted() -> None:
    right = measure_explain.answer(thread("CUDA out of memory", "gpu_memory_exhausted"))
    wrong = measure_explain.answer(thread("CUDA out of memory", "zlibwapi_missing"))
    assert right.place == 1 < wrong.place
    assert measure_explain.recall([right, wrong], 1) == 0.5
    assert measure_explain.row("x", [right, wrong]).startswith("| x | 2 | 50% |")


def test_a_gap_between_the_samples_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = (
        thread("CUDA out of memory", "gpu_memory_exhausted"),
        thread("CUDA out of memory", "zlibwapi_missing"),
    )
    for unseen, status in ((right, 0), (wrong, 1)):
        monkeypatch.setattr(
            measure_explain,
            "all_threads",
            lambda sets, unseen=unseen: (right,) if sets == measure_explain.TRAINED else (unseen,),
        )
        assert measure_explain.main([]) == status
    assert "out-of-sample" in capsys.readouterr().out


def test_own_cases_reach_the_goals() -> None:
    places = [
        measure_explain.answer(thread(c.text, c.cause)).place
        for name, c in CASES.items()
        if "another interpreter" not in name
    ]
    assert sum(p == 1 for p in places) / len(places) >= 0.6
    assert sum(p <= 5 for p in places) / len(places) >= 0.96


def test_the_document_has_the_tables_as_they_are() -> None:
    text = measure_explain.DOCUMENT.read_text(encoding="utf-8")
    written = text.split(measure_explain.BEGIN)[1].split(measure_explain.END)[0]
    lines, gap = measure_explain.tables()
    assert written.strip("\n") == "\n".join(lines)
    assert gap <= measure_explain.MAX_GAP


def test_a_clue_is_right_in_a_third_of_the_unseen_texts_that_it_fires_on() -> None:
    assert measure_explain.weak_clues(known_clues().clues, all_threads(UNSEEN)) == []


@pytest.mark.parametrize(("right", "wrong", "goes"), [(2, 4, False), (1, 4, True), (0, 4, False), (0, 5, True)])
def test_a_clue_that_is_right_too_rarely_goes(right: int, wrong: int, goes: bool) -> None:
    clue = Clue(when=("oom",), because="x", causes={"gpu_memory_exhausted": 3, "zlibwapi_missing": -9})
    against = Clue(when=("oom",), because="y", causes={"gpu_memory_exhausted": -3})
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB"
    threads = [thread(text, "gpu_memory_exhausted")] * right + [thread(text, "zlibwapi_missing")] * wrong
    assert bool(measure_explain.weak_clues([clue, against], threads)) == goes
