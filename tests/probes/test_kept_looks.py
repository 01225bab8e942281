"""An answer is kept for as long as nothing changes of what it was read from, and no longer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.common.fact_text import fact_text, form_of, take_forms
from core.loader.earlier_reads import EarlierReads, using
from core.probes.kept_looks import kept_look
from core.probes.sysroot import Sysroot

LONG_AGO = 1_500_000_000


class Looker:
    """Reads a folder and a file in it, and counts how often."""

    def __init__(self, folder: Path, *, lasts: bool = True) -> None:
        self.folder, self.lasts, self.looks = folder, lasts, 0

    def __call__(self, where: Sysroot) -> tuple[tuple[str, ...], bool]:
        self.looks += 1
        return (*(where.names(str(self.folder)) or ()), where.text(str(self.folder / "file")) or "absent"), self.lasts


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch):
    """Let every change count as old enough to show in a file's times."""
    monkeypatch.setattr("core.loader.earlier_reads.SETTLED_NANOSECONDS", -(1 << 62))


def asked(store: EarlierReads, looker: Looker, given: object = 1) -> tuple[str, ...]:
    with using(store):
        return kept_look("test", given, tuple[str, ...], looker, Sysroot("linux"))


@pytest.mark.usefixtures("settled")
def test_nothing_is_read_again_while_nothing_changes(tmp_path: Path):
    (tmp_path / "file").write_text("one")
    looker, store = Looker(tmp_path), EarlierReads()
    first = asked(store, looker)
    later = EarlierReads(store.to_bytes())
    assert asked(later, looker) == first == ("file", "one")
    assert looker.looks == 1
    assert not later.has_news


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("change", ["content", "new name", "gone", "appears"])
def test_a_change_of_anything_that_was_asked_for_is_seen(change: str, tmp_path: Path):
    file = tmp_path / "file"
    if change != "appears":
        file.write_text("one")
        os.utime(file, (LONG_AGO, LONG_AGO))
    looker, store = Looker(tmp_path), EarlierReads()
    asked(store, looker)
    if change == "new name":
        (tmp_path / "other").write_text("")
    elif change == "gone":
        file.unlink()
    else:
        file.write_text("two!")
    os.utime(tmp_path, (LONG_AGO + 9, LONG_AGO + 9))
    assert asked(EarlierReads(store.to_bytes()), looker) == Looker(tmp_path)(Sysroot("linux"))[0]
    assert looker.looks == 2


@pytest.mark.usefixtures("settled")
def test_another_question_and_a_hurried_answer_are_not_mixed_up(tmp_path: Path):
    (tmp_path / "file").write_text("one")
    hurried, store = Looker(tmp_path, lasts=False), EarlierReads()
    asked(store, hurried)
    asked(EarlierReads(store.to_bytes()), hurried)
    assert hurried.looks == 2
    looker, store = Looker(tmp_path), EarlierReads()
    asked(store, looker, given=1)
    asked(EarlierReads(store.to_bytes()), looker, given=2)
    assert looker.looks == 2


@pytest.mark.usefixtures("settled")
def test_a_sentence_that_was_kept_can_still_be_translated(tmp_path: Path):
    def look(where: Sysroot) -> tuple[tuple[str, ...], bool]:
        where.names(str(tmp_path))
        return (fact_text("{name} is whole", name="libx.so"),), True

    store = EarlierReads()
    for _run in range(2):
        take_forms()
        with using(store):
            found = kept_look("test", 1, tuple[str, ...], look, Sysroot("linux"))
        store = EarlierReads(store.to_bytes())
        assert found == ("libx.so is whole",)
    assert form_of("libx.so is whole") == ("{name} is whole", {"name": "libx.so"})
