"""Killed at every step of exchanging packages: the next start leaves the old ones or the new ones, and nothing between.

``python -m tests.packages.test_kill 300`` spreads that many kills over doing and undoing, in one step and by renames.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from core.host import exchange, file_lock
from core.transaction import package_exchange
from core.transaction.execute import execute, recover, undo
from core.transaction.journal import Entry, Journal
from core.transaction.variable_store import LinuxVariables
from installer.by_hand import by_hand
from tests.fixing import test_kill
from tests.fixing.test_kill import in_child
from tests.packages.trees import NEW, OLD, SITE, lay_out, plan, state, twin_of

OURS = {m.__file__ for m in (exchange, file_lock, package_exchange)}
KILLS = 12
"""Kills of a run of the tests for each way."""


def _writer(root: Path) -> LinuxVariables:
    return LinuxVariables(str(root), str(root / "home"))


def _do(root: Path, prefix: Path, journal: Journal) -> None:
    made = execute(plan(prefix, twin_of(prefix, journal)), writer=_writer(root), journal=journal)
    assert made.kind == "done", made


def _undo(root: Path, prefix: Path, journal: Journal) -> None:
    del prefix
    done = next(e for e in journal.entries() if isinstance(e, Entry) and e.state == "done")
    assert undo(done.id, writer=_writer(root), journal=journal).kind == "undone"


def killed(root: Path, what: Callable[[Path, Path, Journal], None], kill_at: int) -> int:
    """Do or undo in a child that is killed at a step; check what the next start leaves. Returns the steps, if it lived."""
    prefix, journal = lay_out(root), Journal(root / "state")
    if what is _undo:
        _do(root, prefix, journal)

    def work() -> None:
        test_kill.OURS |= OURS
        what(root, prefix, journal)

    _killed, steps = in_child(work, kill_at)
    recover(writer=_writer(root), journal=journal)
    now, entries = state(prefix), journal.entries()
    assert now in (OLD, NEW), f"killed at {kill_at}: {now}"
    assert all(isinstance(e, Entry) and e.state in ("done", "undone", "rolled back") for e in entries)
    holds = any(isinstance(e, Entry) and e.state == "done" for e in entries)
    assert (now == NEW) == holds, f"killed at {kill_at}: {now}, {[e.state for e in entries]}"
    assert (prefix / package_exchange.TWINS).exists() == holds, f"killed at {kill_at}: a twin is left"
    if holds:
        _undo(root, prefix, journal)
        assert state(prefix) == OLD
    assert not (prefix / package_exchange.TWINS).exists()
    assert sorted(p.name for p in (prefix / SITE).parent.iterdir()) == ["site-packages"]
    return steps


def spread(count: int, what: Callable[[Path, Path, Journal], None], base: Path) -> None:
    """Kill at ``count`` steps, evenly over all of them."""
    steps = killed(_made(base / "whole"), what, -1)
    assert steps > 100
    for i in range(count):
        killed(_made(base / str(i)), what, 1 + i * steps // count)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("by", ["one step", "renames"])
@pytest.mark.parametrize("what", [_do, _undo], ids=["doing", "undoing"])
def test_killed_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: Callable[[Path, Path, Journal], None], by: str
) -> None:
    if by == "renames":
        monkeypatch.setattr(exchange, "_exchange", lambda _one, _other: False)
    spread(KILLS, what, tmp_path)


if __name__ == "__main__":
    number = int(by_hand(__doc__, "COUNT")[0]) // 4
    real = exchange._exchange
    for way in (real, lambda _one, _other: False):
        exchange._exchange = way
        for each in (_do, _undo):
            with tempfile.TemporaryDirectory() as place:
                spread(number, each, Path(os.path.realpath(place)))
            print(
                f"{each.__name__}: {number} kills {'in one step' if way is real else 'by renames'}: old or new each time"
            )
