"""The text and Markdown forms: the verdict first, plain words, and nothing that drives a terminal or a tracker."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.facts import Execution, Machine, Snapshot
from core.model.findings import Report
from core.model.steps import Severity
from core.report.redact import redact
from core.report.text import as_markdown, report_text
from tests import machines as m
from tests.report.test_redact import planted


def broken() -> Report:
    return diagnose_snapshot(m.with_file(m.wheel_machine(), "ops", state="truncated", size=9))


def test_the_text_names_the_cause_before_all_else() -> None:
    lines = [line for line in report_text(broken()).splitlines() if line.strip()]
    assert lines[0].startswith("Convalesce")
    assert lines[1].startswith("  ✗ The cause: ")


def test_the_markdown_names_the_cause_before_all_else_and_folds_what_is_in_order() -> None:
    shown = as_markdown(broken())
    cause, folded = shown.index("- **the cause, error**"), shown.index("<summary>OK")
    assert shown.startswith("**Convalesce")
    assert cause < shown.index("How we know") < folded
    assert "- **ok**" in shown[folded:]
    assert "- **ok**" not in shown[:folded]
    assert shown.count("<details>") == shown.count("</details>")


@pytest.mark.parametrize("form", [report_text, as_markdown])
@pytest.mark.parametrize("name", m.HEALTHY)
def test_a_machine_in_order_is_said_to_be(form: object, name: str) -> None:
    assert "Nothing wrong was found in what was examined." in form(diagnose_snapshot(m.HEALTHY[name]()))


@pytest.mark.parametrize("form", [report_text, as_markdown])
def test_an_empty_report_claims_no_more_than_it_knows(form: object) -> None:
    shown = form(Report(snapshot=Snapshot(machine=Machine(system="linux"))))
    assert "in what was examined" in shown


HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egpj.exe",
    "<script>alert(1)</script>",
    "![x](javascript:1)",
    "`` ` ``",
    "a|b\n# c",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_drives_neither_a_terminal_nor_a_tracker(text: str) -> None:
    for form in (report_text, as_markdown):
        shown = form(planted(text))
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    outside = re.sub(r"(`+).*?\1", "", as_markdown(planted(text)).replace("\n      ", "\n      `x` "))
    listed = [line for line in outside.splitlines() if line.startswith(("- ", "  **"))]
    assert not [line for line in listed if "<script" in line or "![x](" in line]


def test_colour_is_only_where_it_is_asked_for_and_words_say_the_same() -> None:
    plain, coloured = report_text(planted("x")), report_text(planted("x"), colour=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    for heading in ("Undecided", "Also wrong", "Good to know", "OK"):
        assert heading in plain


def test_commands_of_an_advice_stay_whole() -> None:
    command = "    " + "pip install --force-reinstall " + "nvidia-cudnn-cu12==9.1.0.70 " * 8
    first = broken().findings[0]
    assert first.fix
    report = replace(broken(), findings=(replace(first, fix=replace(first.fix, advice=f"Do:\n{command}")),))
    assert command.rstrip() in report_text(report)


def test_what_was_taken_out_is_told_at_the_end_of_both() -> None:
    for form in (report_text, as_markdown):
        shown = form(redact(broken()))
        assert "user names and home folders" in shown[-300:]
    assert Severity.ERROR is broken().worst_severity


def test_what_was_run_is_told_once() -> None:
    ran = Execution(what="roll call", path="/opt/cuda/lib/libnvrtc.so.13", account="ada")
    seen = replace(m.wheel_machine(), executions=(ran, replace(ran, consumer="another way of starting")))
    shown = report_text(diagnose_snapshot(seen))
    assert shown.count("A library loaded and called: /opt/cuda/lib/libnvrtc.so.13") == 1
