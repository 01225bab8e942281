"""The journal and the engine on real files: done, undone, refused, rolled back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.model import changes
from core.model.changes import FileItem, FileSet, Value
from core.transaction.execute import Plan, execute, recover, undo, unmet_preconditions
from core.transaction.journal import Entry, Journal, JournalError, UnreadableEntry
from tests.fixing.conftest import everything, item, memory, sha, tree
from tests.transaction.memory_store import MemoryWriter


@pytest.mark.usefixtures("way")
def test_done_and_undone_leaves_files_and_variables_exactly_as_before(machine: Path, journal: Journal) -> None:
    writer = memory()
    before, values = tree(machine), dict(writer.values)
    done = execute(everything(machine, writer), writer=writer, journal=journal)
    assert (done.kind, done.problems) == ("done", ())
    assert (machine / "lib/libcudnn_ops.so.9.1").read_bytes() == b"ops 9.1" * 1000
    assert (machine / "own/lib/libcudnn.so.9").resolve() == machine / "own/lib/libcudnn.so.9.1"
    assert not (machine / "lib/stray.so").exists()
    assert writer.values["PATH", "user", ""].text == "C:\\cudnn\\bin;C:\\a;;%USERPROFILE%\\b"
    assert ("CUDA_PATH", "machine", "") not in writer.values
    assert not list(machine.rglob("*convalesce*"))
    assert writer.broadcasts == 1
    [entry] = Journal(journal.folder).entries()
    assert isinstance(entry, Entry)
    assert (entry.state, entry.title, entry.finding) == ("done", "Everything at once", "cudnn.not-on-search-path")
    undone = undo(done.entry, writer=writer, journal=Journal(journal.folder))
    assert undone.kind == "undone"
    assert tree(machine) == before
    assert writer.values == values
    assert undo(done.entry, writer=writer, journal=journal).kind == "refused"


def test_nothing_is_written_before_perform(machine: Path, journal: Journal) -> None:
    writer = memory()
    before, values = tree(machine.parent), dict(writer.values)
    plan = everything(machine, writer)
    assert unmet_preconditions(plan.changes, writer=writer, journal=journal) == ()
    assert plan.lines()
    assert journal.entries() == ()
    assert journal.unfinished() == ()
    assert recover(writer=writer, journal=journal) == ()
    assert (tree(machine.parent), writer.values) == (before, values)


@pytest.mark.usefixtures("way")
def test_what_verify_finds_uncured_is_rolled_back(machine: Path, journal: Journal) -> None:
    writer = memory()
    before, values = tree(machine), dict(writer.values)
    outcome = execute(everything(machine, writer), writer=writer, journal=journal, verify=lambda: "It still fails.")
    assert outcome.kind == "rolled back"
    assert "It still fails." in outcome.sentence
    assert (tree(machine), writer.values) == (before, values)
    assert [e.state for e in journal.entries()] == ["rolled back"]


def test_an_exception_of_verify_goes_on_after_everything_was_taken_back(machine: Path, journal: Journal) -> None:
    writer = memory()
    before, values = tree(machine), dict(writer.values)

    def verify() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(everything(machine, writer), writer=writer, journal=journal, verify=verify)
    assert (tree(machine), writer.values) == (before, values)


class Failing(MemoryWriter):
    """A machine whose registry refuses one variable."""

    def write(self, name: str, scope: changes.PersistentScope, at: str, value: Value | None) -> None:
        if name == "CUDA_PATH" and value is None:
            raise PermissionError(13, "Access is denied", "HKLM")
        super().write(name, scope, at, value)


def test_a_change_that_fails_half_way_takes_the_others_back(machine: Path, journal: Journal) -> None:
    writer = Failing("windows", memory().values)
    before, values = tree(machine), dict(writer.values)
    outcome = execute(everything(machine, writer), writer=writer, journal=journal)
    assert outcome.kind == "rolled back"
    assert "Access is denied" in outcome.sentence
    assert (tree(machine), writer.values) == (before, values)


# --- drift -------------------------------------------------------------------------------------------------------


def test_a_variable_that_others_changed_is_refused_with_both_values(machine: Path, journal: Journal) -> None:
    writer = memory()
    plan = everything(machine, writer)
    writer.values["CUDA_PATH", "machine", ""] = Value(text="C:\\new", kind="REG_SZ")
    before = tree(machine)
    outcome = execute(plan, writer=writer, journal=journal)
    assert outcome.kind == "refused"
    assert "'C:\\\\gone'" in outcome.sentence
    assert "'C:\\\\new' (REG_SZ)" in outcome.sentence
    assert tree(machine) == before
    assert journal.entries() == ()


@pytest.mark.parametrize("name", ["lib/stray.so", "lib/libcudnn_ops.so.9.1", "own", "source/libcudnn.so.9.1"])
def test_a_file_that_others_changed_is_refused(machine: Path, journal: Journal, name: str) -> None:
    writer = memory()
    plan = everything(machine, writer)
    (machine / name).write_bytes(b"theirs")
    before, values = tree(machine), dict(writer.values)
    outcome = execute(plan, writer=writer, journal=journal)
    assert outcome.kind == "refused"
    assert str(machine / name) in outcome.sentence
    assert (tree(machine), writer.values) == (before, values)


def test_a_source_of_the_same_size_with_other_bytes_changes_nothing(machine: Path, journal: Journal) -> None:
    writer = memory()
    plan = everything(machine, writer)
    (machine / "source/libcudnn.so.9.1").write_bytes(b"evil 9.1")
    before, values = tree(machine), dict(writer.values)
    outcome = execute(plan, writer=writer, journal=journal)
    assert outcome.kind == "rolled back"
    assert "SHA-256" in outcome.sentence
    assert (tree(machine), writer.values) == (before, values)


def test_undo_refuses_a_file_that_others_replaced_since(machine: Path, journal: Journal) -> None:
    writer = memory()
    done = execute(everything(machine, writer), writer=writer, journal=journal)
    (machine / "lib/libcudnn_ops.so.9.1").write_bytes(b"newer driver package")
    before, values = tree(machine), dict(writer.values)
    outcome = undo(done.entry, writer=writer, journal=journal)
    assert outcome.kind == "refused"
    assert "libcudnn_ops" in outcome.sentence
    assert (tree(machine), writer.values) == (before, values)
    assert journal.entry(done.entry).state == "done"


def test_undo_spares_entries_that_others_added_to_path(machine: Path, journal: Journal) -> None:
    writer = memory()
    done = execute(everything(machine, writer), writer=writer, journal=journal)
    now = writer.values["PATH", "user", ""]
    writer.values["PATH", "user", ""] = Value(text=f"D:\\first;{now.text};D:\\last", kind=now.kind)
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert writer.values["PATH", "user", ""].text == "D:\\first;C:\\a;;%USERPROFILE%\\b;D:\\last"


def test_several_entries_of_one_path_in_one_plan(journal: Journal) -> None:
    start = Value(text="/dead:/a:/gone:/b", kind="")
    writer = MemoryWriter("linux", {("PATH", "user", ""): start})
    one = changes.remove_entry(start, 2, "linux", name="PATH", scope="user")
    two = changes.remove_entry(one.after, 0, "linux", name="PATH", scope="user")
    done = execute(Plan(title="dead", changes=(one, two)), writer=writer, journal=journal)
    assert writer.values["PATH", "user", ""].text == "/a:/b"
    writer.values["PATH", "user", ""] = Value(text="/a:/b:/new")
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert writer.values["PATH", "user", ""].text == "/dead:/a:/gone:/b:/new"


# --- one at a time -----------------------------------------------------------------------------------------------


def test_two_at_once_do_not_interleave(machine: Path, journal: Journal) -> None:
    writer = memory()
    before = tree(machine)
    with Journal(journal.folder).lock():
        outcome = execute(everything(machine, writer), writer=writer, journal=journal)
        assert recover(writer=writer, journal=journal) == ()
    assert outcome.kind == "refused"
    assert "Another Convalesce" in outcome.sentence
    assert tree(machine) == before
    assert execute(everything(machine, writer), writer=writer, journal=journal).kind == "done"


def test_a_lock_whose_holder_was_killed_is_free(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "state")
    ready, child_ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        with journal.lock():
            os.write(child_ready, b"x")
            os.read(ready, 0)
            os.kill(os.getpid(), 9)
    assert os.read(ready, 1) == b"x"
    os.waitpid(pid, 0)
    os.close(ready)
    os.close(child_ready)
    with journal.lock():
        assert (tmp_path / "state/lock").exists()


# --- the history ---------------------------------------------------------------------------------------------------


def test_damaged_and_newer_entries_are_told_and_left_alone(machine: Path, journal: Journal) -> None:
    writer = memory()
    done = execute(everything(machine, writer), writer=writer, journal=journal)
    folder = Path(journal.folder) / "entries"
    good = (folder / f"{done.entry}.json").read_bytes()
    newer = good.replace(b'"schema": 2', b'"schema": 99').replace(done.entry.encode(), b"29990101T000000Z-0000")
    strange = {
        "29990101T000000Z-0000": newer,
        "29990101T000000Z-0001": good[:100],
        "29990101T000000Z-0002": b"[" * 99_999,
    }
    for name, data in strange.items():
        (folder / f"{name}.json").write_bytes(data)
    os.mkfifo(folder / "29990101T000000Z-0003.json")
    (folder / "not an entry.json").write_bytes(b"?")
    found = journal.entries()
    assert [type(e) for e in found] == [Entry] + [UnreadableEntry] * 4
    assert "newer Convalesce" in found[1].problem
    with pytest.raises(JournalError, match="newer Convalesce"):
        journal.entry("29990101T000000Z-0000")
    with pytest.raises(JournalError, match="no entry"):
        journal.entry("../../etc/passwd")
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert (folder / "29990101T000000Z-0000.json").read_bytes() == newer


OLD_ENTRY = b"""{"schema": 1, "id": "20260101T000000Z-0000", "made": "2026-01-01T00:00:00+00:00", "title": "Old", "state": "done",
 "changes": [{"change": "path", "name": "PATH", "scope": "user", "system": "linux", "entry": "/x", "old": null, "new": 0,
 "at": "", "before": {"text": "/a", "kind": ""}, "after": {"text": "/x:/a", "kind": ""}, "added_later": 7}]}"""


def test_an_entry_written_by_an_earlier_version_is_undone(journal: Journal) -> None:
    """A recorded entry of form 1: this test must stay green for ever."""
    folder = Path(journal.folder) / "entries"
    folder.mkdir(parents=True)
    (folder / "20260101T000000Z-0000.json").write_bytes(OLD_ENTRY)
    writer = MemoryWriter("linux", {("PATH", "user", ""): Value(text="/x:/a")})
    assert undo("20260101T000000Z-0000", writer=writer, journal=journal).kind == "undone"
    assert writer.values["PATH", "user", ""].text == "/a"


@pytest.mark.usefixtures("way")
def test_backups_go_when_nothing_needs_them(machine: Path, journal: Journal) -> None:
    writer = memory()
    done = execute(everything(machine, writer), writer=writer, journal=journal)
    kept = Path(journal.folder) / "kept"
    assert {p.name for p in kept.iterdir()} == {sha(b"damaged"), sha(b"stray")}
    undo(done.entry, writer=writer, journal=journal)
    assert list(kept.iterdir()) == []


@pytest.mark.usefixtures("way")
def test_a_folder_is_put_aside_whole_and_comes_back(machine: Path, journal: Journal) -> None:
    (machine / "cache/deep").mkdir(parents=True)
    (machine / "cache/deep/kernel").write_bytes(b"kernel")
    before = tree(machine)
    change = FileSet(title="cache", items=(FileItem(path=str(machine / "cache"), before="folder", after=""),))
    plan = Plan(title="t", changes=(change,))
    done = execute(plan, writer=memory(), journal=journal)
    assert done.kind == "done", done
    assert not (machine / "cache").exists()
    (machine / "cache").mkdir()
    refused = undo(done.entry, writer=memory(), journal=journal)
    assert (refused.kind, "and is now a folder" in refused.sentence) == ("refused", True)
    (machine / "cache").rmdir()
    assert undo(done.entry, writer=memory(), journal=journal).kind == "undone"
    assert tree(machine) == before
    rolled = execute(plan, writer=memory(), journal=journal, verify=lambda: "No.")
    assert rolled.kind == "rolled back"
    assert tree(machine) == before


def test_a_backup_that_was_spoiled_is_not_put_back(machine: Path, journal: Journal) -> None:
    writer = memory()
    done = execute(everything(machine, writer), writer=writer, journal=journal)
    (Path(journal.folder) / "kept" / sha(b"stray")).write_bytes(b"spoiled")
    outcome = undo(done.entry, writer=writer, journal=journal)
    assert outcome.kind == "stuck"
    assert "SHA-256" in outcome.sentence
    assert not (machine / "lib/stray.so").exists()
    (Path(journal.folder) / "kept" / sha(b"stray")).write_bytes(b"stray")
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert (machine / "lib/stray.so").read_bytes() == b"stray"


@pytest.mark.usefixtures("way")
def test_a_file_with_two_names_is_kept_as_a_copy(machine: Path, journal: Journal) -> None:
    """Writing through the other name, as installers that share files do, must not reach the backup."""
    os.link(machine / "lib/stray.so", machine / "other-name.so")
    change = FileSet(title="stray", items=(item(machine, "lib/stray.so"),))
    writer = memory()
    done = execute(Plan(title="t", changes=(change,)), writer=writer, journal=journal)
    (machine / "other-name.so").write_bytes(b"rewritten in place")
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert (machine / "lib/stray.so").read_bytes() == b"stray"
    assert (machine / "lib/stray.so").stat().st_mode & 0o777 == 0o640
