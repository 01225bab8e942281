"""A rule, a maker of fixes or a judge that fails is a finding, and everything else stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from core import explain
from core.cli.terminal import status_of
from core.common.exit_codes import UNEXAMINED
from core.doctor.examine import diagnose_snapshot
from core.explain import verdicts
from core.fixes import catalogue
from core.model.facts import Snapshot
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.report.html import as_html
from core.report.json_form import from_json, to_json
from core.report.text import as_markdown, report_text
from core.rules import root_cause
from core.rules.every_rule import RULES, Rule
from core.rules.frameworks import grid
from core.rules.guard import rule_failed, rule_name
from core.rules.root_cause import diagnose
from tests import machines as m


def failing(*_: object, **__: object) -> Any:
    raise ValueError("secret contents of a file")


def half(snapshot: Snapshot) -> Iterator[Finding]:
    yield Finding(id="cudnn.half", cause="", step=Step.CUDNN, severity=Severity.NOTE, title="Half of it.")
    failing()


def failed(report: Report) -> list[Finding]:
    return [f for f in report.findings if f.id.endswith(".rule-failed")]


@pytest.mark.parametrize(
    "place", range(len(RULES)), ids=[f"{r.__module__.rpartition('.')[2]}.{r.__name__}" for r in RULES]
)
def test_any_rule_may_fail_and_the_findings_of_all_others_stand(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = m.with_file(m.wheel_machine(), "ops", state="empty", size=0)
    rule = RULES[place]
    theirs = {(f.id, f.subject) for f in rule(snapshot)}
    whole = {(f.id, f.subject) for f in diagnose(snapshot)}
    monkeypatch.setattr(root_cause, "RULES", (*RULES[:place], failing, *RULES[place + 1 :]))
    found = diagnose(snapshot)
    told = [f for f in found if f.id.endswith(".rule-failed")]
    assert [(f.severity, f.primary, f.cause) for f in told] == [(Severity.UNKNOWN, False, "")]
    assert whole - theirs <= {(f.id, f.subject) for f in found}


def test_what_a_rule_found_before_it_failed_is_kept_and_the_error_is_named_without_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(root_cause, "RULES", (half,))
    report = diagnose_snapshot(m.wheel_machine())
    assert {f.id for f in report.findings} == {"cudnn.half", "environment.rule-failed"}
    (told,) = failed(report)
    assert told.subject == f"{__name__}.half"
    assert [e.value for e in told.evidence] == ["ValueError"]
    assert status_of(report) == UNEXAMINED
    for text in (report_text(report), as_markdown(report), as_html(report), to_json(report).decode()):
        assert "half" in text
        assert "secret" not in text
    assert failed(from_json(to_json(report))) == [told]


def test_a_real_error_stays_first_and_primary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_cause, "RULES", (failing, *RULES))
    report = diagnose_snapshot(m.with_file(m.wheel_machine(), "ops", state="empty", size=0))
    assert report.findings[0].cause == "corrupt_or_truncated_file"
    assert report.findings[0].primary
    assert report_text(report).index("Not examined") < report_text(report).index("The cause:")


def test_a_maker_of_fixes_that_fails_leaves_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "attach_changes", failing)
    report = diagnose_snapshot(m.with_file(m.wheel_machine(), "ops", state="empty", size=0))
    assert report.primary is not None
    assert report.primary.fix is not None
    assert f"fixes.{report.primary.id}" in {f.subject for f in failed(report)}


def test_a_grid_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "make_grid", failing)
    report = diagnose_snapshot(m.wheel_machine())
    assert report.grid is None
    assert [f.subject for f in failed(report)] == ["grid"]


def test_a_judge_of_causes_that_fails_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Could not load library libcudnn_cnn_infer.so.8. Error: cannot open shared object file"
    monkeypatch.setattr(verdicts, "PROOFS", dict.fromkeys(verdicts.PROOFS, failing))
    monkeypatch.setattr(verdicts, "REFUTATIONS", dict.fromkeys(verdicts.REFUTATIONS, (failing,)))
    made = explain.explain(text, m.wheel_machine())
    assert made.causes
    assert {f.subject for f in made.failed} == {f"{__name__}.failing"}
    assert f"{__name__}.failing" in explain.render_text(made)
    assert b'"failed"' in explain.to_json(made)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_fails_is_told_on_the_page_of_its_topic(rule: Rule) -> None:
    topic = rule.__module__.removeprefix("core.rules.").partition(".")[0]
    at = rule_failed(rule_name(rule), ValueError()).step
    assert at.value == topic or topic not in {step.value for step in Step}
