"""Two reports side by side: causes first, then the facts that differ; users' names are no difference."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.facts import FrameworkTrial, Nvml, Snapshot
from core.model.findings import Report
from core.report.compare import Comparison, compare_reports, comparison_text
from core.report.json_form import from_json, indented_json
from core.report.json_form import to_json as report_json
from tests import machines as m
from tests.test_snapshots import RECORDED


def compared(here: Snapshot, there: Snapshot) -> Comparison:
    return compare_reports(diagnose_snapshot(here), diagnose_snapshot(there))


@pytest.mark.parametrize("name", m.HEALTHY)
def test_a_machine_does_not_differ_from_itself(name: str) -> None:
    comparison = compared(m.HEALTHY[name](), m.HEALTHY[name]())
    assert comparison.differences == ()
    assert comparison.only_one_looked == ()
    assert not [c for c in comparison.causes if c.where != "both"]


@pytest.mark.parametrize("recorded", RECORDED[:6], ids=lambda p: p.stem)
def test_a_recorded_machine_does_not_differ_from_itself(recorded: object) -> None:
    report = from_json(recorded.read_bytes())
    assert compare_reports(report, report).differences == ()


def test_the_cause_that_only_this_machine_has_comes_first() -> None:
    comparison = compared(m.with_file(m.wheel_machine(), "ops", state="truncated", size=9), m.wheel_machine())
    assert comparison.causes[0].cause == "corrupt_or_truncated_file"
    assert comparison.causes[0].where == "here"
    assert comparison.causes[0].primary
    # what belongs to the step of the cause stands before everything else
    assert comparison.differences[0].step == "cudnn"
    assert "truncated" in comparison.differences[0].here
    assert comparison.differences[0].there == "none"


def test_a_fault_of_both_machines_is_not_the_difference() -> None:
    broken = m.with_file(m.wheel_machine(), "ops", state="truncated", size=9)
    assert {c.where for c in compared(broken, broken).causes} == {"both"}


def test_the_other_machines_fault_is_said_to_be_there() -> None:
    broken = m.with_file(m.wheel_machine(), "ops", state="truncated", size=9)
    assert {c.where for c in compared(m.wheel_machine(), broken).causes} == {"there"}


def test_an_older_driver_differs_and_nothing_else() -> None:
    old = m.with_driver(
        m.wheel_machine(), nvml=Nvml(status=0, driver_version="570.1", driver_cuda="12.8", device_count=1)
    )
    found = compared(old, m.wheel_machine()).differences
    assert [(d.what, d.here, d.there) for d in found] == [("driver version", "570.1", "580.65.06")]


def test_what_one_scan_did_not_look_at_is_no_difference() -> None:
    comparison = compared(replace(m.wheel_machine(), driver=None, cudnn=None), m.wheel_machine())
    assert not [d for d in comparison.differences if d.step == "driver"]
    assert "driver version" in comparison.only_one_looked
    assert "not compared" in comparison_text(comparison)


def test_a_part_that_was_not_examined_makes_no_row_with_none() -> None:
    bare = replace(m.wheel_machine(), loads=None, pythons=None, environment=None)
    comparison = compared(bare, m.wheel_machine())
    assert comparison.differences == ()
    assert {"torch", "cuDNN 9 as torch would load it"} <= set(comparison.only_one_looked)


def test_a_package_that_only_one_machine_has_is_a_difference() -> None:
    found = {
        d.what: (d.here, d.there)
        for d in compared(replace(m.wheel_machine(), pythons=()), m.wheel_machine()).differences
    }
    assert found["torch"] == ("none", "2.6.0")


def test_trials_are_compared_where_both_machines_tried() -> None:
    def tried(**fields: Any) -> Snapshot:
        trial = FrameworkTrial(prefix=m.PREFIX, framework="torch", version="2.6.0", **fields)
        return replace(m.wheel_machine(), trials=(trial,))

    fine = tried(reached="convolution", gpu=True, cudnn="9.1.0")
    found = compared(tried(reached="import", problem="boom\nmore"), fine).differences
    rows = [(d.what, d.here, d.there) for d in found if "tried" in d.what]
    assert rows == [
        ("what torch did when it was tried", "passed: import, boom", "passed: convolution on the GPU, cuDNN 9.1.0")
    ]
    assert not [d for d in compared(m.wheel_machine(), fine).differences if "tried" in d.what]


def test_what_differs_in_the_same_way_for_several_programs_is_told_once() -> None:
    def two(snapshot: Snapshot) -> Snapshot:
        first = (snapshot.loads or ())[0]
        again = replace(first, consumer=replace(first.consumer, id="python:jax", framework="jax 0.5"))
        return replace(snapshot, loads=(*(snapshot.loads or ()), again))

    broken = m.with_load(m.wheel_machine(), roll_call=m.refused(m.cudnn(), "cnn", "file too short"))
    rows = [d.what for d in compared(two(broken), two(m.wheel_machine())).differences]
    assert rows.count("what cuDNN 9 returned to torch, jax") == 1


def test_another_users_home_is_no_difference() -> None:
    text = report_json(diagnose_snapshot(m.wheel_machine())).decode()
    bob = from_json(text.replace("/home/ada", "/home/bob").encode())
    assert compare_reports(diagnose_snapshot(m.wheel_machine()), bob).differences == ()


def test_the_text_has_causes_before_facts_and_shows_both_sides() -> None:
    old = replace(m.wheel_machine(), machine=replace(m.linux_machine(), release="Debian 11"))
    shown = comparison_text(compared(m.with_file(old, "ops", state="missing"), m.wheel_machine()))
    assert shown.index("Only on this machine") < shown.index("What differs") < shown.index("Debian 11")
    assert "there  Debian GNU/Linux 12" in shown


def test_two_empty_reports_say_so() -> None:
    empty = Report(snapshot=Snapshot(machine=m.linux_machine()))
    shown = comparison_text(compare_reports(empty, empty))
    assert "Neither machine has a fault" in shown
    assert "Nothing else" in shown


def test_hostile_text_cannot_drive_the_terminal_and_json_is_one_document() -> None:
    evil = replace(m.wheel_machine(), machine=replace(m.linux_machine(), release="\x1b]0;x\x07\nDebian"))
    comparison = compared(evil, m.wheel_machine())
    assert "\x1b" not in comparison_text(comparison)
    assert set(msgspec.json.decode(indented_json(comparison))) == {"causes", "differences", "only_one_looked"}
