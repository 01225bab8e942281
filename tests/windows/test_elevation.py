"""ShellExecuteExW's runas: exit codes, refusal, and a plan that an elevated Convalesce carries out on the real registry."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from core.host import ownership
from core.host.windows import elevation as windows_elevation
from core.host.windows import ownership as windows_ownership
from core.host.windows.elevation import ERROR_CANCELLED, run_elevated
from core.host.windows.host import WindowsHost
from core.model.changes import SetVariable, Value
from core.transaction import elevation
from core.transaction.execute import Plan
from core.transaction.journal import Journal
from core.transaction.windows_variable_store import WindowsVariables

assert sys.platform == "win32"

ROOT = Path(__file__).parents[2]
NAME = "CUDA_PATH_V99_9"
SYSTEM = os.environ["SYSTEMROOT"]
"""A folder that is the administrator's on every Windows."""


@pytest.mark.parametrize("status", [0, 4, 77])
def test_the_exit_status_comes_back(status: int) -> None:
    done = run_elevated([sys.executable, "-c", f"import sys; sys.exit({status})"], timeout=60)
    assert (done.status, done.ended) == (status, f"ended with status {status}" if status else "")


def test_arguments_arrive_as_they_were_given(tmp_path: Path) -> None:
    out = tmp_path / "said.txt"
    odd = ['a "quoted" word', "with space\\", "Zoë 猫", ""]
    code = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(repr(sys.argv[2:]), encoding='utf-8')"
    assert run_elevated([sys.executable, "-c", code, str(out), *odd], timeout=60).status == 0
    assert out.read_text(encoding="utf-8") == repr(odd)


def test_what_can_not_be_started_is_a_sentence(tmp_path: Path) -> None:
    done = run_elevated([str(tmp_path / "nothing.exe")], timeout=5)
    assert done.status is None
    assert done.ended.startswith("Windows did not start it (error ")


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> elevation.ElevationOrder:
    """A machine's variable; both journals lie in temporary folders."""
    machine = tmp_path / "machine"
    me = windows_ownership.own_account()  # whoever runs the tests is the administrator; under wine nobody else is
    monkeypatch.setattr(ownership, "ADMINISTRATORS", ownership.ADMINISTRATORS | {me})
    monkeypatch.setattr(elevation, "machine_state_folder", lambda: machine)
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from pathlib import Path; from core.transaction import elevation as elevate; "
        "from core.host import ownership; from core.host.windows import ownership as windows_ownership; "
        "ownership.ADMINISTRATORS |= {windows_ownership.own_account()}; "
        f"elevate.machine_state_folder = lambda: Path({str(machine)!r}); elevate._refuse_changeable_program = lambda *_: None; "
        "elevate._consent_question = lambda _env: lambda _rows: ''; elevate.main(sys.argv[1:])"
    )
    monkeypatch.setattr(
        elevation,
        "elevated_command",
        lambda path, digest, *words: [sys.executable, "-c", code, f"--elevated-{words[0]}", path, digest, words[1]],
    )
    monkeypatch.setattr(elevation, "loose_installation", lambda: "")
    change = SetVariable(name=NAME, scope="machine", before=None, after=Value(text=SYSTEM, kind="REG_SZ"))
    return elevation.ElevationOrder(plan=Plan(title="A test", changes=(change,)))


def test_a_confirmed_plan_is_carried_out_elevated_and_undone(plan: elevation.ElevationOrder, tmp_path: Path) -> None:
    host, journal, writer = WindowsHost(), Journal(tmp_path / "own"), WindowsVariables()
    try:
        done = elevation.ask_elevated(plan, host=host, journal=journal)
        assert (done.kind, done.problems) == ("done", ())
        assert writer.read(NAME, "machine", "") == Value(text=SYSTEM, kind="REG_SZ")
        assert (
            elevation.ask_elevated(elevation.ElevationOrder(undo=done.entry), host=host, journal=journal).kind
            == "undone"
        )
        assert writer.read(NAME, "machine", "") is None
    finally:
        writer.write(NAME, "machine", "", None)


def test_a_refused_consent_changes_nothing(
    plan: elevation.ElevationOrder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_elevation, "start_elevated", lambda _argv: (None, ERROR_CANCELLED))
    outcome = elevation.ask_elevated(plan, host=WindowsHost(), journal=Journal(tmp_path / "own"))
    assert (outcome.kind, outcome.sentence) == ("refused", "Nothing was changed. The consent was refused.")
    assert WindowsVariables().read(NAME, "machine", "") is None
    assert list((tmp_path / "own" / "orders").iterdir()) == []


def test_an_elevated_side_that_says_nothing_is_not_taken_for_done(
    plan: elevation.ElevationOrder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elevation, "elevated_command", lambda *_: [sys.executable, "-c", "raise SystemExit(9)"])
    assert elevation.ask_elevated(plan, host=WindowsHost(), journal=Journal(tmp_path / "own")).kind == "stuck"


def test_owners_and_access_lists_are_read_as_windows_keeps_them(tmp_path: Path) -> None:
    """What icacls shows, by the same numbers: a file of our own is ours, and one that Everyone may write is said to be."""
    file = tmp_path / "x"
    file.write_text("x")
    me = windows_ownership.own_account()
    assert me.startswith("S-1-5-21-")
    owner, writers, _ = windows_ownership.owner_and_rights(str(file), folder=False)
    assert owner in ({me} | ownership.ADMINISTRATORS)
    assert windows_ownership.EVERYONE_SID not in writers
    parts = ownership.who_can_write(str(file))
    assert [p.kind for p in parts][-2:] == ["folder", "file"]
    assert ownership.who_can_write(str(tmp_path / "none/x"))[-1].kind == "missing"
    assert ownership.first_loose(str(file)) != "", "a user's own file is no administrator's"
