"""Malice: tampered plans, swapped links, sources that others can write; refused with a sentence, nothing changed."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from core.model import changes
from core.model.changes import FileItem, FileSet, SetVariable, Value
from core.transaction.execute import Plan, execute, unmet_preconditions
from core.transaction.journal import Entry, Journal
from tests.fixing.conftest import Busy, item, memory, tree
from tests.transaction.memory_store import MemoryWriter

# --- malice ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        FileSet(title="dots", items=(FileItem(path="/tmp/../etc/x", after="0" * 64),)),
        FileSet(title="relative", items=(FileItem(path="x", after="0" * 64),)),
        FileSet(title="nothing", items=(FileItem(path="/x"),)),
        FileSet(title="link out", items=(FileItem(path="/x", after="-> ../etc/shadow"),)),
        FileSet(title="link up", items=(FileItem(path="/x", after="-> .."),)),
        FileSet(title="no hash", items=(FileItem(path="/x", after="abc"),)),
        FileSet(title="other text", items=(FileItem(path="/x", after="0" * 64, text="evil"),)),
        FileSet(title="twice", items=(FileItem(path="/x", after="0" * 64), FileItem(path="/x", after="1" * 64))),
        FileSet(title="source", items=(FileItem(path="/x", after="0" * 64, source="/etc/../etc/passwd"),)),
        FileSet(title="folder", folders=("/tmp/../etc/y",), items=()),
        SetVariable(name="A=B", scope="user", after=Value(text="x")),
        SetVariable(name="", scope="user", after=Value(text="x")),
        SetVariable(name="A", scope="user", after=Value(text="x\0y")),
    ],
    ids=lambda c: c.title if isinstance(c, FileSet) else f"variable {c.name!r}",
)
def test_a_malformed_plan_is_refused_with_a_sentence(change: changes.Change, journal: Journal) -> None:
    outcome = execute(Plan(title="t", changes=(change,)), writer=MemoryWriter("windows"), journal=journal)
    assert outcome.kind == "refused"
    assert outcome.sentence.startswith("Nothing was changed. ")
    assert outcome.sentence.endswith(".")
    assert journal.entries() == ()


def test_an_empty_plan_is_refused(journal: Journal) -> None:
    assert execute(Plan(title="t", changes=()), writer=memory(), journal=journal).kind == "refused"


@pytest.mark.usefixtures("way")
def test_a_link_swapped_in_for_a_folder_is_not_followed(machine: Path, journal: Journal) -> None:
    elsewhere = machine / "elsewhere"
    elsewhere.mkdir()
    plan = Plan(
        title="t", changes=(FileSet(title="t", items=(item(machine, "lib/new.so", "source/libcudnn.so.9.1"),)),)
    )
    (machine / "lib").rename(machine / "lib-real")
    (machine / "lib").symlink_to(elsewhere)
    before = tree(machine)
    outcome = execute(plan, writer=memory(), journal=journal)
    assert outcome.kind == "refused"
    assert "link" in outcome.sentence
    assert tree(machine) == before


@pytest.mark.usefixtures("way")
def test_a_link_swapped_in_between_check_and_use_is_not_followed(machine: Path, journal: Journal) -> None:
    """The swap happens after the preconditions were checked, when the journal begins its entry."""
    victim = machine / "victim"
    victim.mkdir()
    (victim / "stray.so").write_bytes(b"stray")

    class Swapping(Journal):
        def begin(self, *args: object, **words: object) -> Entry:
            (machine / "lib").rename(machine / "lib-real")
            (machine / "lib").symlink_to(victim)
            return super().begin(*args, **words)

    plan = Plan(title="t", changes=(FileSet(title="t", items=(item(machine, "lib/stray.so"),)),))
    outcome = execute(plan, writer=memory(), journal=Swapping(journal.folder))
    assert outcome.kind in ("rolled back", "stuck")
    assert (victim / "stray.so").read_bytes() == b"stray"
    assert (machine / "lib-real/stray.so").read_bytes() == b"stray"


@pytest.mark.usefixtures("way")
def test_a_file_swapped_for_a_link_or_a_fifo_is_not_opened(machine: Path, journal: Journal) -> None:
    secret = machine / "secret"
    secret.write_bytes(b"shim 9.1")
    plan = Plan(
        title="t", changes=(FileSet(title="t", items=(item(machine, "lib/new.so", "source/libcudnn.so.9.1"),)),)
    )
    source = machine / "source/libcudnn.so.9.1"
    source.unlink()
    source.symlink_to(secret)
    outcome = execute(plan, writer=memory(), journal=journal)
    assert (outcome.kind, "not a regular file" in outcome.sentence) == ("refused", True)
    source.unlink()
    os.mkfifo(source)
    outcome = execute(plan, writer=memory(), journal=journal)
    assert (outcome.kind, "not a regular file" in outcome.sentence) == ("refused", True)


@pytest.mark.parametrize("part", ["source", "source/libcudnn.so.9.1"])
def test_a_source_that_others_can_write_is_refused(machine: Path, journal: Journal, part: str) -> None:
    change = FileSet(title="t", items=(item(machine, "lib/new.so", "source/libcudnn.so.9.1"),))
    assert unmet_preconditions((change,), writer=memory(), journal=journal) == ()
    (machine / part).chmod(0o777)
    outcome = execute(Plan(title="t", changes=(change,)), writer=memory(), journal=journal)
    assert outcome.kind == "refused"
    assert f"{machine / part} can be changed by other users" in outcome.sentence
    assert not (machine / "lib/new.so").exists()


def test_too_little_space_is_found_before_anything_is_done(machine: Path, journal: Journal) -> None:
    huge = msgspec.structs.replace(item(machine, "lib/new.so", "source/libcudnn.so.9.1"), size=1 << 60)
    rows = unmet_preconditions((FileSet(title="t", items=(huge,)),), writer=memory(), journal=journal)
    assert any("MiB free" in row for row in rows)


def test_a_file_that_a_program_holds_is_refused_with_the_name_of_the_program(machine: Path, journal: Journal) -> None:
    change = FileSet(title="t", items=(item(machine, "lib/stray.so"),))
    outcome = execute(Plan(title="t", changes=(change,)), writer=Busy("windows"), journal=journal)
    assert outcome.kind == "refused"
    assert "python.exe (4711, stray.so)" in outcome.sentence


@pytest.mark.parametrize(
    ("entry", "kind", "words"),
    [
        ("%CUDA%\\bin", "REG_SZ", "does not expand"),
        ("C:\\x", "REG_BINARY", "cannot be a search path"),
        ("C:\\" + "x" * 32_760, "REG_EXPAND_SZ", "at most 32,766"),
    ],
)
def test_an_edit_of_path_that_windows_would_spoil_is_refused(
    journal: Journal, entry: str, kind: str, words: str
) -> None:
    before = Value(text="C:\\a", kind=kind)
    writer = MemoryWriter("windows", {("PATH", "user", ""): before})
    change = changes.insert_entry(before, entry, 0, "windows", name="PATH", scope="user")
    outcome = execute(Plan(title="t", changes=(change,)), writer=writer, journal=journal)
    assert outcome.kind == "refused"
    assert words in outcome.sentence
    assert writer.values["PATH", "user", ""] == before


def test_the_two_halves_of_path_together_stay_within_the_limit(journal: Journal) -> None:
    before = Value(text="C:\\a", kind="REG_EXPAND_SZ")
    writer = MemoryWriter(
        "windows",
        {("PATH", "user", ""): before, ("PATH", "machine", ""): Value(text="x" * 32_755, kind="REG_EXPAND_SZ")},
    )
    change = changes.insert_entry(before, "C:\\b\\bin", 0, "windows", name="PATH", scope="user")
    assert "in a program" in execute(Plan(title="t", changes=(change,)), writer=writer, journal=journal).sentence


def test_a_tampered_plan_is_refused(journal: Journal) -> None:
    before = Value(text="/a", kind="")
    writer = MemoryWriter("linux", {("PATH", "user", ""): before})
    good = changes.insert_entry(before, "/b", 0, "linux", name="PATH", scope="user")
    evil = msgspec.structs.replace(good, after=Value(text="/evil:/b:/a"))
    outcome = execute(Plan(title="t", changes=(evil,)), writer=writer, journal=journal)
    assert outcome.kind == "refused"
    assert "one entry changed" in outcome.sentence
