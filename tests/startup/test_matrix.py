"""A sample of the start-up matrix with every run: each place once; the whole: ``python -m tests.startup``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.startup.matrix import SHELLS, run_row
from tests.startup.places import PLACES, VALUES, Place

NAMES = tuple(VALUES)
SAMPLE = [(place, NAMES[n % len(NAMES)], place.shells[n % len(place.shells)]) for n, place in enumerate(PLACES)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "ada"
    made.mkdir(mode=0o700)
    return made


def test_there_are_places_enough() -> None:
    assert len({p.name for p in PLACES}) >= 12
    assert set(SHELLS) == {"bash", "zsh", "fish", "dash"}, "dev.py installs them"
    kinds = {k for p in PLACES for s in p.shells for k in p.reads(s)}
    assert {"terminal", "desktop", "ssh", "cron", "notebook"} <= kinds
    assert {s for p in PLACES for s in p.shells} == {"bash", "zsh", "fish", "dash"}


@pytest.mark.parametrize(("place", "name", "shell"), SAMPLE, ids=[f"{p.name}-{n}-{s}" for p, n, s in SAMPLE])
def test_a_line_is_named_cured_verified_and_undone(
    place: Place, name: str, shell: str, home: Path, tmp_path: Path
) -> None:
    row = run_row(place, name, shell, home, tmp_path / "state")
    assert row.problems == []
    assert row.named or row.idle
