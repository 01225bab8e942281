"""Sets of files on a real Windows file system: placed, replaced, put aside, killed at any step, and back to the last byte."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from core.model.changes import FileItem, FileSet
from core.transaction.execute import Plan, execute, recover, undo
from core.transaction.journal import Journal
from core.transaction.preconditions import resolve_changes
from core.transaction.windows_variable_store import WindowsVariables
from tests.windows import fixing_child

assert sys.platform == "win32"

KILLS = 6


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tree(root: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(root)): p.read_bytes() if p.is_file() else None for p in sorted(root.rglob("*"))}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "Program Files é"
    for name, data in {
        "source/cudnn64_9.dll": b"shim 9.1",
        "source/cudnn_ops64_9.dll": b"ops 9.1" * 1000,
        "bin/cudnn_ops64_9.dll": b"damaged",
        "bin/cudnn_stray64_9.dll": b"stray",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def plan(root: Path) -> Plan:
    """A new folder with a file in it, a file replaced, a file put aside, and a text."""
    line = "import os\n"
    items = (
        FileItem(path=str(root / "own/bin/cudnn64_9.dll"), after="?", source=str(root / "source/cudnn64_9.dll")),
        FileItem(
            path=str(root / "bin/cudnn_ops64_9.dll"),
            before="?",
            after="?",
            source=str(root / "source/cudnn_ops64_9.dll"),
        ),
        FileItem(path=str(root / "bin/cudnn_stray64_9.dll"), before="?"),
        FileItem(path=str(root / "own/convalesce_cuda.pth"), after="?", size=len(line), text=line),
    )
    change = FileSet(title="cuDNN 9.1", folders=(str(root / "own"), str(root / "own\\bin")), items=items)
    return Plan(title="Place it", changes=resolve_changes((change,), WindowsVariables()))


def test_everything_is_done_and_everything_comes_back(machine: Path, tmp_path: Path) -> None:
    before = tree(machine)
    journal = Journal(tmp_path / "state")
    done = execute(plan(machine), writer=WindowsVariables(), journal=journal)
    assert done.kind == "done", done
    after = tree(machine)
    assert after["own\\bin\\cudnn64_9.dll"] == b"shim 9.1"
    assert after["bin\\cudnn_ops64_9.dll"] == b"ops 9.1" * 1000
    assert "bin\\cudnn_stray64_9.dll" not in after
    assert undo(done.entry, writer=WindowsVariables(), journal=journal).kind == "undone"
    assert tree(machine) == before


def test_a_file_that_a_program_holds_stays_as_it_is(machine: Path, tmp_path: Path) -> None:
    before, wish = tree(machine), plan(machine)
    with (machine / "bin/cudnn_stray64_9.dll").open("rb"):
        outcome = execute(wish, writer=WindowsVariables(), journal=Journal(tmp_path / "state"))
    assert outcome.kind in ("refused", "rolled back"), outcome
    assert tree(machine) == before


def test_what_changed_since_it_was_shown_is_refused(machine: Path, tmp_path: Path) -> None:
    wish = plan(machine)
    (machine / "bin/cudnn_ops64_9.dll").write_bytes(b"another's")
    before = tree(machine)
    outcome = execute(wish, writer=WindowsVariables(), journal=Journal(tmp_path / "state"))
    assert (outcome.kind, "changed since it was shown" in outcome.sentence) == ("refused", True)
    assert tree(machine) == before


def test_killed_at_any_step_it_is_the_old_state_or_the_new(machine: Path, tmp_path: Path) -> None:
    """A child makes the plan, and ends at once at the call that is chosen, as if it had been killed."""
    journal = Journal(tmp_path / "state")
    before = tree(machine)
    wish = plan(machine)
    paper = tmp_path / "plan.json"
    paper.write_bytes(fixing_child.encode(wish))

    def run(kill_at: int) -> int:
        command = [sys.executable, "-m", "tests.windows.fixing_child", str(paper), journal.folder, str(kill_at)]
        done = subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL)
        assert done.returncode in (0, fixing_child.KILLED), done.stderr
        return int(done.stdout or b"0")

    steps = run(-1)
    after = tree(machine)
    assert after != before
    assert undo(journal.entries()[-1].id, writer=WindowsVariables(), journal=journal).kind == "undone"
    for step in sorted({1 + i * (steps - 1) // (KILLS - 1) for i in range(KILLS)}):
        run(step)
        outcomes = recover(writer=WindowsVariables(), journal=journal)
        assert all(o.kind == "rolled back" for o in outcomes), (step, outcomes)
        done = [e for e in journal.entries() if getattr(e, "state", "") == "done"]
        assert tree(machine) == (after if done else before), step
        for entry in done:
            assert undo(entry.id, writer=WindowsVariables(), journal=journal).kind == "undone"
    assert tree(machine) == before
