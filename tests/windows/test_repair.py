"""A fix of the user's real PATH: made, told to those who still have the old one, undone to the last byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.doctor import repair
from core.host.interface import Host
from core.host.windows.host import WindowsHost
from core.model.changes import insert_entry
from core.model.facts import Machine, Snapshot
from core.model.findings import Finding, Fix, Report
from core.model.steps import Severity, Step

assert sys.platform == "win32"

ENTRY = "C:\\convalesce test\\cuDNN\\bin"


def test_a_new_entry_of_path_and_who_does_not_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONVALESCE_STATE", str(tmp_path))
    shop = repair.repair_context(WindowsHost())
    before = shop.writer.read("Path", "user", "")
    index = len(before.text.split(";")) if before and before.text else 0
    change = insert_entry(before, ENTRY, index, "windows", name="Path", scope="user")
    fix = Fix(title="Put it on PATH", changes=(change,))
    finding = Finding(id="x", cause="", step=Step.CUDNN, severity=Severity.ERROR, title="x", fix=fix)
    report = Report(snapshot=Snapshot(machine=Machine(system="windows")), findings=(finding,), version="0")

    def cured(_host: Host) -> Report:
        return Report(snapshot=report.snapshot, findings=(), version="0")

    pipe = subprocess.PIPE
    code = "import sys; print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, env=dict(os.environ)) as old:
        assert old.stdout
        assert old.stdin
        assert old.stdout.readline().strip() == b"ready"
        outcome = repair.apply(repair.propose(finding, shop), report, shop, cured)
        old.stdin.close()
    assert (outcome.kind, outcome.problems) == ("done", ())
    fresh = {name.upper(): value for name, value in WindowsHost().fresh_environment().items()}
    assert ENTRY in fresh["PATH"].split(";")
    assert any("keep the old PATH" in note for note in outcome.notes)
    assert repair.undo(outcome.entry, shop).kind == "undone"
    assert shop.writer.read("Path", "user", "") == before
