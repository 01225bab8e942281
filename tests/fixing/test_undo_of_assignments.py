"""What a file of assignments holds can always be put back as it was, also where Convalesce would not write it anew."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.host.environment_files import read_assignment, write_assignment
from core.model.changes import Change, ChangeError, EditPath, SetVariable, Value
from core.transaction.execute import Plan, execute, undo
from core.transaction.journal import Journal
from core.transaction.variable_store import LinuxVariables

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files of assignments are Linux's")

LINES = ("-1;", "é", "GPU-0|1", "a{b}", "<none>", "0\t", "'0&1'", "!", '"  -1 "', "猫")
FOLDERS = ("/opt/küche", "/data/{x}", "/a&b", "/opt/x!")


def changed(home: Path, line: str, change: Change) -> tuple[Path, LinuxVariables, Journal, str]:
    file = home / ".config/environment.d/10.conf"
    file.parent.mkdir(parents=True)
    file.write_text(f"# mine\n{line}\nEDITOR=vi\n")
    writer, journal = LinuxVariables(str(home.parent), str(home)), Journal(home / "state")
    outcome = execute(Plan(title="t", changes=(change,)), writer=writer, journal=journal)
    assert outcome.kind == "done", outcome
    assert file.read_text() != f"# mine\n{line}\nEDITOR=vi\n"
    return file, writer, journal, outcome.entry


@pytest.mark.parametrize("value", LINES)
def test_a_value_that_was_taken_away_comes_back(tmp_path: Path, value: str) -> None:
    line, at = f"CUDA_VISIBLE_DEVICES={value}", str(tmp_path / "home/.config/environment.d/10.conf")
    [before] = filter(None, [read_assignment(f"{line}\n", "CUDA_VISIBLE_DEVICES")])
    gone = SetVariable(scope="user", at=at, name="CUDA_VISIBLE_DEVICES", before=Value(text=before.text), after=None)
    file, writer, journal, entry = changed(tmp_path / "home", line, gone)
    outcome = undo(entry, writer=writer, journal=journal)
    assert (outcome.kind, journal.entry(entry).state) == ("undone", "undone"), outcome
    assert file.read_text() == f"# mine\n{line}\nEDITOR=vi\n"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_that_was_taken_out_comes_back(tmp_path: Path, folder: str) -> None:
    line, at = f"LD_LIBRARY_PATH={folder}:/bad:/opt/küche", str(tmp_path / "home/.config/environment.d/10.conf")
    [before] = filter(None, [read_assignment(f"{line}\n", "LD_LIBRARY_PATH")])
    out = EditPath(
        scope="user", at=at, system="linux", name="LD_LIBRARY_PATH", before=Value(text=before.text),
        after=Value(text=f"{folder}:/opt/küche"), entry="/bad", old=1, new=None,
    )  # fmt: skip
    file, writer, journal, entry = changed(tmp_path / "home", line, out)
    outcome = undo(entry, writer=writer, journal=journal)
    assert (outcome.kind, journal.entry(entry).state) == ("undone", "undone"), outcome
    assert file.read_text() == f"# mine\n{line}\nEDITOR=vi\n"


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=12), st.sampled_from(["", "'", '"']), st.sampled_from(["", "export ", "  "]))
def test_what_is_read_can_be_written_in_its_own_form(value: str, quote: str, head: str) -> None:
    text = f"A=1\n{head}NAME={quote}{value}{quote}\nB=2\n"
    try:
        found = read_assignment(text, "NAME")
    except ChangeError:
        return
    if found is None:
        return
    without = write_assignment(text, "NAME", None)
    assert write_assignment(without, "NAME", found) == text


@pytest.mark.parametrize("value", ["a\nB=1", "a'b", 'a"b', "$HOME", "`x`", "a\\", "a#b", "a*b", "a\rb"])
def test_what_could_not_be_read_back_is_never_written(value: str) -> None:
    with pytest.raises(ChangeError):
        write_assignment("", "NAME", Value(text=value, kind="0:NAME=*\n"))
    with pytest.raises(ChangeError):
        write_assignment("", "NAME", Value(text=value))
