"""Triage: ten thousand reports become one table, and what is no report is named and passed over."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.facts import Machine, Snapshot
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.report.json_form import to_json
from core.report.triage import BadFile, MachineRow, read_row, triage_folder, triage_json, triage_text
from tests import machines
from tests.benchmarks import triage as benchmark


def broken(cause: str = "hardware_fault", title: str = "It is broken.") -> Report:
    finding = Finding(id="driver.x", cause=cause, step=Step.DRIVER, severity=Severity.ERROR, title=title, primary=True)
    return Report(snapshot=Snapshot(machine=Machine(system="linux", release="Debian 12")), findings=(finding,))


def put(folder: Path, name: str, report: Report) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_json(report))


def test_causes_are_counted_and_machines_stand_worst_first(tmp_path: Path) -> None:
    put(tmp_path, "a.json", diagnose_snapshot(machines.wheel_machine()))
    put(tmp_path, "b/one.json", broken())
    put(tmp_path, "b/two.json", broken())
    put(tmp_path, "c.json", broken("driver_too_old", "Too old."))
    (tmp_path / "notes.txt").write_text("not read")
    table = triage_folder(tmp_path)
    assert table.reports == 4
    assert [(c.what, c.machines) for c in table.causes] == [("hardware_fault", 2), ("driver_too_old", 1)]
    assert (table.worst[0].what, table.worst[0].machines) == ("error", 3)
    assert [m.file.replace(os.sep, "/") for m in table.machines] == ["b/one.json", "b/two.json", "c.json", "a.json"]
    assert table.malformed == ()


MALFORMED = {
    "empty.json": b"",
    "half.json": to_json(broken())[:300],
    "text.json": b"hello",
    "list.json": b"[1, 2]",
    "other.json": b'{"schema": 1}',
    "newer.json": to_json(broken()).replace(b'"schema": 1', b'"schema": 99'),
    "latin.json": b'{"schema": 1, "snapshot": {"machine": {"release": "\xe9"}}}',
    "deep.json": b"[" * 200_000,
    "deep-inside.json": to_json(broken()).replace(b'"version"', b'"x": ' + b"[" * 200_000 + b', "version"'),
    "wrong.json": to_json(broken()).replace(b'"error"', b'"dreadful"'),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_named_and_the_others_are_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(MALFORMED[name])
    put(tmp_path, "good.json", broken())
    table = triage_folder(tmp_path)
    assert [b.file for b in table.malformed] == [name]
    assert table.malformed[0].problem
    assert [m.file for m in table.machines] == ["good.json"]


@pytest.mark.skipif(os.name == "nt", reason="FIFOs are of POSIX systems")
def test_a_fifo_and_a_link_to_nothing_do_not_stop_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    put(tmp_path, "good.json", broken())
    table = triage_folder(tmp_path)
    assert [b.file for b in table.malformed] == ["gone.json", "pipe.json"]
    assert table.reports == 1


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(1 << 40)
    found = read_row(tmp_path, "huge.json")
    assert isinstance(found, BadFile)
    assert "larger" in found.problem


def test_a_machine_unlike_the_others_is_an_outlier(tmp_path: Path) -> None:
    base = diagnose_snapshot(machines.wheel_machine())
    for n in range(9):
        put(tmp_path, f"{n}.json", base)
    old = replace(base, snapshot=replace(base.snapshot, machine=machines.linux_machine(kernel="x")))
    old = replace(old, snapshot=replace(old.snapshot, machine=Machine(system="linux", release="Debian 8")))
    put(tmp_path, "odd.json", old)
    assert [(o.file, o.what, o.value) for o in triage_folder(tmp_path).outliers] == [("odd.json", "system", "Debian 8")]


def test_fleets_of_many_kinds_have_no_outliers(tmp_path: Path) -> None:
    for n in range(10):
        machine = Machine(system="linux", release=f"System {n}")
        put(tmp_path, f"{n}.json", Report(snapshot=Snapshot(machine=machine)))
    assert triage_folder(tmp_path).outliers == ()


def test_a_warning_without_a_primary_still_names_its_cause(tmp_path: Path) -> None:
    report = broken()
    put(tmp_path, "a.json", replace(report, findings=(replace(report.findings[0], primary=False),)))
    row = read_row(tmp_path, "a.json")
    assert isinstance(row, MachineRow)
    assert row.cause == "hardware_fault"


def test_hostile_words_cannot_drive_the_terminal(tmp_path: Path) -> None:
    put(tmp_path, "a\x1b[31m.json", broken("x\x1b[2J", "y\x07\nz"))
    shown = triage_text(triage_folder(tmp_path))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "hardware" not in shown


def test_json_has_every_machine_and_an_empty_folder_is_an_empty_table(tmp_path: Path) -> None:
    assert msgspec.json.decode(triage_json(triage_folder(tmp_path)))["machines"] == []
    assert triage_text(triage_folder(tmp_path)).startswith("0 reports")
    for n in range(40):
        put(tmp_path, f"{n:02}.json", broken())
    table = triage_folder(tmp_path)
    assert len(msgspec.json.decode(triage_json(table))["machines"]) == 40
    assert "and 10 more" in triage_text(table)


def test_the_benchmark_reads_what_it_wrote_and_passes_over_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.main(500) == 0
    assert "499 reports, 1 passed over" in capsys.readouterr().out
