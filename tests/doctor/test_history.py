"""The history in a report: what the journals of the user and of the machine hold, and nothing is made by reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.doctor.history import with_history
from core.model.changes import SetVariable, Value
from core.model.facts import Machine, Snapshot
from core.model.findings import HistoryEntry, Report
from core.report.json_form import from_json, to_json
from core.report.redact import redact
from core.transaction.journal import Journal

CHANGE = SetVariable(name="CUDA_PATH", scope="user", before=None, after=Value(text="/home/marialopez/cuda"))


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return the state folders of the user and of the machine; neither is there yet."""
    user, machine = tmp_path / "user", tmp_path / "machine"
    monkeypatch.setenv("CONVALESCE_STATE", str(user))
    monkeypatch.setattr("core.doctor.history.machine_state_folder", lambda: machine)
    return user, machine


def history() -> tuple[HistoryEntry, ...]:
    found = with_history(Report(snapshot=Snapshot(machine=Machine(system="linux", user="marialopez")))).history
    assert found is not None
    return found


def test_a_machine_that_was_never_changed_has_an_empty_history(folders: tuple[Path, Path]) -> None:
    assert history() == ()
    assert not folders[0].exists()
    assert not folders[1].exists()


def test_both_journals_are_told_with_what_became_of_each_change(folders: tuple[Path, Path]) -> None:
    user, machine = (Journal(f) for f in folders)
    user.change_state(user.begin("Name the toolkit", (CHANGE,)), "done")
    machine.change_state(machine.begin("Undo it", (CHANGE.inverse(),)), "undone", "By hand.")
    found = {d.title: d for d in history()}
    assert found["Name the toolkit"].state == "done"
    assert "+ /home/marialopez/cuda" in found["Name the toolkit"].lines
    assert (found["Undo it"].state, found["Undo it"].note) == ("undone", "By hand.")


def test_a_damaged_entry_and_a_closed_journal_are_told(folders: tuple[Path, Path]) -> None:
    user = Journal(folders[0])
    entry = user.begin("Name the toolkit", (CHANGE,))
    (folders[0] / "entries" / f"{entry.id}.json").write_text("{")
    folders[1].mkdir()
    (folders[1] / "entries").write_text("a file where a folder should be")
    found = history()
    assert [d.state for d in found] == ["unreadable", "unreadable"]
    assert all(d.note for d in found)


def test_the_history_is_redacted_and_survives_the_way_through_json(folders: tuple[Path, Path]) -> None:
    Journal(folders[0]).begin("Name the toolkit", (CHANGE,))
    report = with_history(Report(snapshot=Snapshot(machine=Machine(system="linux", user="marialopez"))))
    clean = redact(report)
    assert b"marialopez" not in to_json(clean)
    assert from_json(to_json(clean)) == clean
