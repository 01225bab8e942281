"""Histories that somebody else wrote: not obeyed, and nothing of what they say is done."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from core.model.changes import Change, FileItem, FileSet, SetVariable, Value
from core.transaction import elevation
from core.transaction.broker.closed_list import refusal_sentences
from core.transaction.broker.ground import RealGround
from core.transaction.elevation import ElevationOrder
from core.transaction.execute import Plan, execute, recover, undo
from core.transaction.journal import Entry, Journal, JournalError
from tests.malice.conftest import EVE, ROOT, Box, as_eve, give, grant, needs_root

pytestmark = needs_root

PRELOAD = SetVariable(name="LD_PRELOAD", scope="machine", before=Value(text="/opt/evil.so"), after=None)
"""Undone, it would set the variable."""


def forged(journal: Journal, change: Change = PRELOAD, state: str = "begun") -> Path:
    """Write an entry that was never made, as root's own hand would; return its file."""
    journal.prepare()
    entry = Entry(id="20260101T000000Z-0000", made="2026-01-01", title="t", changes=(change,), state=state)
    file = Path(journal.folder) / "entries" / f"{entry.id}.json"
    file.write_bytes(msgspec.json.encode(entry))
    file.chmod(0o644)
    return file


def swapped(box: Box, journal: Journal) -> None:
    """The folder is a link into Eve's."""
    Path(journal.folder).rename(box.eve / "history")
    Path(journal.folder).symlink_to(box.eve / "history")


SPOILS: dict[str, Callable[[Box, Journal, Path], object]] = {
    "the entry is Eve's": lambda _b, _j, file: give(file),
    "the entry can be written by all": lambda _b, _j, file: file.chmod(0o666),
    "the entry can be written by its list": lambda _b, _j, file: grant(file),
    "the entries are Eve's": lambda _b, _j, file: give(file.parent),
    "the entries can be written by all": lambda _b, _j, file: file.parent.chmod(0o777),
    "the entries can be written by their list": lambda _b, _j, file: grant(file.parent),
    "the folder is Eve's": lambda _b, j, _f: give(j.folder),
    "the folder can be written by its group": lambda _b, j, _f: (
        os.chown(j.folder, 0, EVE),
        Path(j.folder).chmod(0o775),
    ),
    "the folder above is Eve's": lambda _b, j, _f: give(Path(j.folder).parent),
    "the backups are Eve's": lambda _b, j, _f: give(Path(j.folder) / "kept"),
    "the folder was swapped for a link": lambda b, j, _f: swapped(b, j),
}


@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("elevated", [True, False], ids=["machine's", "root's own"])
def test_a_forged_entry_is_not_obeyed(box: Box, spoil: str, elevated: bool) -> None:
    journal = box.machines if elevated else box.mine
    file = forged(journal)
    SPOILS[spoil](box, journal, file)
    before = (box.root / "etc/environment").read_bytes()
    journal = Journal(Path(journal.folder), shared=elevated)  # as a new start opens it
    outcomes = recover(writer=box.writer, journal=journal)
    said = undo("20260101T000000Z-0000", writer=box.writer, journal=journal)
    assert (box.root / "etc/environment").read_bytes() == before
    assert said.kind == "refused"
    words = " ".join([*(o.sentence for o in outcomes), said.sentence])
    assert "another account" in words, words
    assert "Convalesce ignores" in words, words


def test_an_entry_of_root_s_own_goes_through_the_gate_of_a_plan(box: Box) -> None:
    """Even a history that nobody else can have written undoes nothing that no plan may do."""
    forged(box.machines, state="done")
    path, digest = box.order(ElevationOrder(undo="20260101T000000Z-0000"))
    said = elevation.execute_order(
        path, digest, writer=box.writer, journal=box.machines, env={}, agreed=lambda _rows: ""
    )
    assert said.kind == "refused"
    assert "does not set the variable LD_PRELOAD (machine)" in said.sentence


def test_recovery_with_rights_goes_through_it_too(box: Box) -> None:
    file = forged(box.machines)
    plan = Plan(
        title="t", changes=(SetVariable(name="CUDA_VISIBLE_DEVICES", scope="machine", before=Value(text="-1")),)
    )
    path, digest = box.order(ElevationOrder(plan=plan))
    said = elevation.execute_order(
        path, digest, writer=box.writer, journal=box.machines, env={}, agreed=lambda _rows: ""
    )
    assert said.kind == "done"
    assert "LD_PRELOAD" not in (box.root / "etc/environment").read_text()
    assert msgspec.json.decode(file.read_bytes(), type=Entry).state == "stuck"


def test_root_refuses_the_history_of_another_account(box: Box) -> None:
    theirs = Journal(box.eve / "state")
    (box.eve / "state/entries").mkdir(parents=True)
    give(box.eve / "state/entries")
    give(box.eve / "state")
    with pytest.raises(JournalError, match="home/eve belongs to another account"):
        theirs.entries()
    change = SetVariable(name="CUDA_HOME", scope="user", after=Value(text="/usr"))
    said = execute(Plan(title="t", changes=(change,)), writer=box.writer, journal=theirs)
    assert (said.kind, "Convalesce ignores" in said.sentence) == ("refused", True)


def everything(root: Path) -> dict[str, tuple[object, ...]]:
    """Every file, folder and link, with its times: a write, a renaming and a change of rights each leave a trace there."""
    found = {}
    for path in (root, *root.rglob("*")):
        seen = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (
            seen.st_ino,
            seen.st_mode,
            seen.st_uid,
            seen.st_nlink,
            seen.st_mtime_ns,
            seen.st_ctime_ns,
            data,
        )
    return found


@pytest.mark.parametrize("state", ["begun", "done", "stuck", "undone", "rolled back"])
def test_listing_changes_nothing(box: Box, state: str) -> None:
    forged(box.mine, SetVariable(name="CUDA_HOME", scope="user", after=Value(text="/usr")), state)
    for name in ("staging/left", "twins"):
        (Path(box.mine.folder) / name).mkdir(parents=True)
    (Path(box.mine.folder) / "twins/0123abcd").write_text(str(box.root / "opt/.convalesce/0123abcd"))
    (box.root / "opt/.convalesce/0123abcd").mkdir(parents=True)
    (Path(box.mine.folder) / "entries/damaged.json").write_text("{")
    before = everything(box.root)
    env = {**os.environ, "CONVALESCE_STATE": box.mine.folder, "HOME": str(box.root / "home/root")}
    done = subprocess.run(
        [sys.executable, "-m", "core", "undo", "--list"], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "20260101T000000Z-0000" in done.stdout) == (0, True), done
    assert everything(box.root) == before


@pytest.mark.parametrize("spoil", ["another's bytes", "another's file", "a link", "one that all can write"])
def test_a_forged_backup_is_not_put_back(box: Box, spoil: str) -> None:
    path = box.root / "opt/cuda/lib64/libcudnn_cnn.so.9"
    state = hashlib.sha256(path.read_bytes()).hexdigest()
    plan = Plan(title="t", changes=(FileSet(title="t", items=(FileItem(path=str(path), before=state, after=""),)),))
    entry = execute(plan, writer=box.writer, journal=box.machines).entry
    kept = Path(box.machines.folder) / "kept" / state
    if spoil == "a link":
        kept.unlink()
        kept.symlink_to(box.eve / "libcudnn_cnn.so.9")
    elif spoil == "one that all can write":
        kept.chmod(0o666)
    else:
        kept.unlink()
        kept.write_bytes(b"evil" if spoil == "another's bytes" else b"cut")
    if spoil == "another's file":
        give(kept)
    said = undo(entry, writer=box.writer, journal=box.machines)
    assert said.kind in ("stuck", "refused"), said
    assert not path.exists()
    assert said.sentence.endswith(".")


def test_nobody_else_can_write_a_history_that_was_made_here(box: Box) -> None:
    """Under any umask, from the first instant: Eve tries every folder and file of it."""
    old = os.umask(0)
    try:
        change = SetVariable(name="CUDA_VISIBLE_DEVICES", scope="machine", before=Value(text="-1"))
        assert execute(Plan(title="t", changes=(change,)), writer=box.writer, journal=box.machines).kind == "done"
    finally:
        os.umask(old)
    places = [box.machines.folder, *map(str, Path(box.machines.folder).rglob("*"))]
    code = (
        "import os, sys\n"
        "for p in sys.argv[1:]:\n"
        "    if os.access(p, os.W_OK): print(p)\n"
        "    try: open(p + '/x' if os.path.isdir(p) else p, 'a').close(); print('wrote', p)\n"
        "    except OSError: pass\n"
    )
    tried = as_eve(code, *places)
    assert (tried.returncode, tried.stdout) == (0, ""), tried


def test_a_gate_that_is_shut_for_every_change_of_an_entry_is_told_as_such(box: Box) -> None:
    [row] = refusal_sentences((PRELOAD.inverse(),), RealGround(), back=True)
    assert "the variable LD_PRELOAD" in row
