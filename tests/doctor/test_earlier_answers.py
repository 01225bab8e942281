"""What ``packaging`` said of requirements: kept for the next scan, and only for the same ``packaging``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.common import requirements
from core.common.requirements import (
    MAX_ANSWERS,
    MAX_QUESTION,
    Answers,
    Requirement,
    is_in_specifier,
    known_answers,
    marker_applies,
    parse_requirement,
)
from core.doctor import earlier_reads

WISH = 'numpy<3,>=1.26; python_version >= "3.9"'


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give a process without answers, and a cache of its own."""
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(requirements, "_answers", Answers({}, {}, {}))
    monkeypatch.setattr(earlier_reads, "read_cached", lambda name, _limit: kept.get(name, b""))
    monkeypatch.setattr(earlier_reads, "write_cached", kept.__setitem__)
    monkeypatch.setattr(earlier_reads, "lasting_identity", lambda _path: "one release")
    return tmp_path


def ask() -> tuple[Requirement | None, bool, bool | None]:
    wish = parse_requirement(WISH)
    assert wish
    return wish, marker_applies(wish, {"python_version": "3.11"}), is_in_specifier(wish.specifier, "2.2.6")


def test_the_next_process_asks_nothing_again(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with earlier_reads.with_earlier_reads():
        first = ask()
    monkeypatch.setattr(requirements, "_answers", Answers({}, {}, {}))
    for part in ("requirements", "markers", "specifiers"):
        monkeypatch.setitem(sys.modules, f"packaging.{part}", None)  # an import of it raises
    with earlier_reads.with_earlier_reads():
        assert ask() == first == (Requirement("numpy", "<3,>=1.26", 'python_version >= "3.9"'), True, True)


def test_another_packaging_is_asked_anew(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with earlier_reads.with_earlier_reads():
        ask()
    monkeypatch.setattr(requirements, "_answers", Answers({}, {}, {}))
    monkeypatch.setattr(earlier_reads, "lasting_identity", lambda _path: "another release")
    with earlier_reads.with_earlier_reads():
        assert known_answers().count() == 0


def test_facts_that_differ_are_other_questions(fresh: Path) -> None:
    wish = parse_requirement(WISH)
    assert wish
    assert marker_applies(wish, {"python_version": "3.11"})
    assert not marker_applies(wish, {"python_version": "3.8"})
    assert not is_in_specifier("<3", "3.1")
    assert is_in_specifier("<3", "2.1")


def test_what_is_kept_has_a_limit(fresh: Path) -> None:
    parse_requirement("a" * (MAX_QUESTION + 1))
    assert not known_answers().parsed
    for number in range(MAX_ANSWERS + 5):
        parse_requirement(f"a{number}")
    assert len(known_answers().parsed) == MAX_ANSWERS
    assert parse_requirement(f"a{MAX_ANSWERS + 4}") == Requirement(f"a{MAX_ANSWERS + 4}")
