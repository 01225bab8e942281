"""No text that a person reads escapes translation, in any form of a report, over every recorded and made machine."""

from __future__ import annotations

import argparse
import re
from html import unescape
from pathlib import Path

import msgspec
import pytest

from core.benchmark.terminal_table import benchmark_table
from core.cli import fix, main
from core.common import i18n
from core.doctor.examine import diagnose_snapshot
from core.explain import explain, render_text
from core.model.changes import SetVariable, Value
from core.model.facts import Snapshot
from core.model.findings import Report
from core.report.compare import compare_reports, comparison_text
from core.report.html import as_html
from core.report.json_form import from_json
from core.report.text import as_markdown, report_text
from core.transaction.journal import Entry, UnreadableEntry
from tests import machines
from tests.explain.cases import CASES
from tests.gui import recorded
from tests.pseudo import CLOSE, OPEN, Pseudo, escaped, of_snapshot, outside
from tests.rules import (
    test_cudnn,
    test_driver,
    test_environment,
    test_frameworks_cublas,
    test_frameworks_host,
    test_frameworks_verdicts,
    test_loading,
    test_toolkit,
)
from tests.test_snapshots import RECORDED

MADE = {
    **{p.stem: p for p in RECORDED},
    **{f"healthy {name}": make for name, make in machines.HEALTHY.items()},
    **{f"window: {name}": name for name in recorded.MACHINES},
    **{f"case: {name}": case.machine for name, case in CASES.items()},
}


RULES = {
    f"{module.__name__.rpartition('_')[2]}: {name}": row[0]
    for module in (test_cudnn, test_driver, test_environment, test_loading, test_toolkit)
    for name, row in module.TABLE.items()
} | {
    f"frameworks: {name}": seen
    for name, seen, *_more in (
        *test_frameworks_verdicts.TABLE,
        *test_frameworks_cublas.TABLE,
        *test_frameworks_host.TABLE,
    )
}
"""The machine of every row in the rules' tables."""


@pytest.fixture(autouse=True)
def pseudo(english: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(i18n, "_translation", PSEUDO)


PSEUDO = Pseudo()


def snapshot(name: str) -> Snapshot:
    made = MADE[name]
    if isinstance(made, Path):
        return from_json(made.read_bytes()).snapshot
    if isinstance(made, str):
        return recorded.report(made).snapshot
    return made() if callable(made) else made


def machine_words(seen: Snapshot) -> tuple[str, ...]:
    return of_snapshot(msgspec.json.encode(seen))


def shown_in_html(page: str) -> str:
    page = re.sub(r"<(style|title)\b.*?</\1>", " ", page, flags=re.DOTALL)
    labels = " ".join(re.findall(r'aria-label="([^"]*)"', page))
    return unescape(re.sub(r"<[^>]*>", " ", page)) + " " + labels


def ids(report: Report) -> tuple[str, ...]:
    return tuple(w for f in report.findings for w in (f.id, f.cause, f.subject))


@pytest.mark.parametrize("name", MADE)
def test_no_word_of_a_report_escapes(name: str) -> None:
    report = diagnose_snapshot(snapshot(name))
    given = (*machine_words(report.snapshot), *ids(report), report.version)
    forms = {
        "terminal": report_text(report, width=10_000),
        "markdown": as_markdown(report),
        "html": shown_in_html(as_html(report)),
        "benchmark": benchmark_table(report.snapshot.benchmark, plain=True),
        "plans": "\n".join(line for f in report.findings if f.fix for c in f.fix.changes for line in c.lines()),
    }
    found = {form: sorted(escaped(text, given)) for form, text in forms.items()}
    assert {form: words for form, words in found.items() if words} == {}


@pytest.mark.parametrize("name", RULES)
def test_no_word_of_a_rules_findings_escapes(name: str) -> None:
    made = RULES[name]
    report = diagnose_snapshot(made() if callable(made) else made)
    given = (*machine_words(report.snapshot), *ids(report), report.version)
    assert escaped(report_text(report, width=10_000), given) == set()


@pytest.mark.parametrize("name", list(MADE)[::6])
def test_no_word_of_a_comparison_escapes(name: str) -> None:
    here, there = (
        diagnose_snapshot(snapshot(name)),
        diagnose_snapshot(machines.wheel_machine()),
    )
    given = (*machine_words(here.snapshot), *machine_words(there.snapshot), *ids(here), *ids(there))
    assert escaped(comparison_text(compare_reports(here, there), 10_000), given) == set()


@pytest.mark.parametrize("name", CASES)
def test_no_word_of_an_explanation_escapes(name: str) -> None:
    case = CASES[name]
    seen = case.machine()
    told = explain(case.text, seen)
    given = (*machine_words(seen), case.text, *(w for r in told.causes for w in (r.cause, r.steps)))
    given = (*given, *(w for c in told.codes for w in (c.term, c.number, c.source)))
    given = (*given, *(s.finding for s in told.shows), *(n.name for n in told.says.names if n.kind != "device"))
    assert escaped(render_text(told, width=10_000), given) == set()


def test_no_word_of_the_command_lines_help_escapes() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(i18n, "_language", "qps")
        patch.setitem(vars(argparse), "_", argparse._)
        patch.setitem(vars(argparse), "ngettext", argparse.ngettext)
        parser = main._parser()
        commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
        for name, command in {"": parser, **commands}.items():
            options = [o for a in command._actions for o in a.option_strings]
            choices = [str(c) for a in command._actions if a.option_strings for c in a.choices or ()]
            places = re.findall(r"\b[A-Z][A-Z.-]+\b", command.format_usage())
            given = [
                name,
                *commands,
                *options,
                *choices,
                *places,
                *i18n.available_languages(),
                "STEP FILE PATH ENTRY FINDING ID COMMAND LANGUAGE",
            ]
            assert escaped(command.format_help(), given) == set(), name


def test_no_word_of_the_history_escapes(tmp_path: Path) -> None:
    change = SetVariable(name="CUDA_PATH", scope="machine", before=None, after=Value(text="/usr/local/cuda"))
    states = ("begun", "done", "rolled back", "undoing", "undone", "stuck")
    for state in states:
        row = fix._row(Entry(id="1", made="2026-11-21T10:00:00+00:00", title="/x", changes=(change,), state=state))
        assert escaped(row, ["/x"]) == set(), state
    assert escaped(fix._row(UnreadableEntry(id="1", problem="/x")), ["/x"]) == set()
    lines = [line for c in (change, change.inverse()) for line in c.lines()]
    assert escaped("\n".join(lines), ["CUDA_PATH /usr/local/cuda"]) == set()


def test_the_pseudo_language_keeps_values_and_marks_texts() -> None:
    text = i18n._("{path} is found first, and it is damaged.", path="/a b/c")
    assert text.startswith(f"/a b/c {OPEN}")
    assert text.endswith(CLOSE)
    assert outside(text).strip() == "/a b/c"
    assert escaped("/a b/c unlike others", ["/a b/c"]) == {"unlike", "others"}
