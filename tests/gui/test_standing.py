"""No page shows a calm verdict above something worse, over every machine; a fault of a variable colours Environment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from PySide6.QtWidgets import QApplication, QLabel

from core.doctor.examine import diagnose_snapshot
from core.model.facts import Snapshot
from core.model.findings import Report
from core.model.steps import Severity, Step
from core.report.standing import machine_standing, step_standing
from gui import texts, theme
from gui.pages import detail_rows
from gui.pages.details import make_details
from gui.pages.step_page import StepPage
from gui.pages.summary import scan_headline
from gui.widgets.card import CardActions
from gui.widgets.row_model import TableRow
from gui.widgets.table import RowTable
from gui.widgets.text import VerdictRow
from tests import machines as m
from tests.gui import recorded
from tests.test_same_everywhere import MACHINES

WORDS = {theme.severity_word(s): s for s in Severity}
ACTS = CardActions(fix=print, place=print, help=print)
PAGES = [name for name in MACHINES if not name.startswith(("rule", "case"))]
"""Machines whose pages are really made; for the others, what a page is made of."""


def rows(report: Report, step: Step) -> tuple[TableRow, ...]:
    """Return every row of a step's tables, as they would be without their page."""
    snapshot = report.snapshot
    return {
        Step.TOOLKIT: lambda: detail_rows.toolkit_rows(snapshot.toolkits or ()),
        Step.CUDNN: lambda: detail_rows.copy_rows(snapshot),
        Step.ENVIRONMENT: lambda: (*detail_rows.search_paths(snapshot), *detail_rows.variable_rows(report)),
        Step.FRAMEWORKS: lambda: detail_rows.environment_rows(report),
    }.get(step, tuple)()


def every(rows_: tuple[TableRow, ...]) -> Iterator[TableRow]:
    for row in rows_:
        yield row
        yield from every(row.inner)


@pytest.mark.parametrize("name", MACHINES)
def test_a_step_is_as_bad_as_the_worst_that_belongs_to_it(name: str) -> None:
    report = diagnose_snapshot(MACHINES[name]())
    for step in Step:
        stands, sentence = step_standing(report, step)
        assert sentence
        worst = max((f.severity for f in report.findings_for(step)), default=Severity.GOOD)
        assert stands >= worst or worst is Severity.NOTE
        assert all(f in report.findings_for(f.step) for f in report.findings)
        assert all(
            r.severity <= max(stands, Severity.NOTE)
            for r in every(detail_rows.limit_severity(rows(report, step), stands))
        )
        if step is Step.FRAMEWORKS:  # the grid has a judgement of its own, which is never toned down
            assert all(r.severity <= max(stands, Severity.NOTE) for r in every(rows(report, step)))
    assert machine_standing(report) >= report.worst_severity
    assert texts.machine_standing(report) is Severity.GOOD or texts.machine_standing(report) is machine_standing(report)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_shows_a_calm_verdict_above_something_worse(name: str, qapp: QApplication) -> None:
    report = diagnose_snapshot(MACHINES[name]())
    for step in Step:
        page = StepPage(step, partial(make_details, step), ACTS)
        page.show_report(report, theme.LIGHT_THEME)
        page.build()
        shown = [c.finding.severity for c in page.cards]
        for table in page.findChildren(RowTable):
            model = table.model()
            outer = [model.index(i, 0) for i in range(model.rowCount())]
            inner = [model.index(j, 0, index) for index in outer for j in range(model.rowCount(index))]
            shown += [model.row(index).severity for index in (*outer, *inner)]
        verdicts = [
            WORDS[label.accessibleName()]
            for verdict in page.findChildren(VerdictRow)
            for label in verdict.findChildren(QLabel)
            if label.accessibleName() in WORDS
        ]
        verdicts += [c.finding.severity for c in page.cards if c.finding.headline]
        assert len(verdicts) == 1
        if verdicts[0] <= Severity.NOTE:
            assert max(shown, default=Severity.GOOD) <= Severity.NOTE
        page.deleteLater()


def hidden(value: str) -> Snapshot:
    """Return a machine whose GPU a variable hides."""
    seen_ = m.with_variable(m.wheel_machine(), "CUDA_VISIBLE_DEVICES", value)
    return m.with_driver(seen_, cuda=m.CudaInit(status=100, library="/usr/lib/x86_64-linux-gnu/libcuda.so.1"))


OF_ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": lambda: hidden("-1"),
    "CUDA_PATH": lambda: m.with_variable(m.wheel_machine(), "CUDA_PATH", "/gone", "missing"),
    "PATH": lambda: recorded.report("shadowed").snapshot,
}
"""A variable, and a machine on which it is at fault."""


@pytest.mark.parametrize("name", OF_ENVIRONMENT)
def test_a_fault_of_a_variable_colours_the_environment_and_stands_on_its_page(name: str) -> None:
    report = diagnose_snapshot(OF_ENVIRONMENT[name]())
    assert report.primary is not None
    assert step_standing(report, Step.ENVIRONMENT)[0] is report.primary.severity
    assert step_standing(report, report.primary.step)[0] is report.primary.severity
    assert report.primary in report.findings_for(Step.ENVIRONMENT)
    shown = [row for row in every(rows(report, Step.ENVIRONMENT)) if row.cells[0].upper() == name]
    assert max(row.severity for row in shown) >= Severity.WARNING
    assert not any(f.id == "environment.in-order" for f in report.findings)


def test_a_fault_of_ld_library_path_colours_the_environment() -> None:
    from tests.rules.test_root_cause import overridden

    report = diagnose_snapshot(overridden(m.wheel_machine()))
    assert report.primary is not None
    assert (report.primary.cause, report.primary.step) == ("ld_library_path_override", Step.CUDNN)
    assert step_standing(report, Step.ENVIRONMENT)[0] is Severity.ERROR


def test_an_open_cause_is_said_to_be_open() -> None:
    from tests.rules.test_root_cause import failing

    report = diagnose_snapshot(failing(m.wheel_machine(), m.PREFIX))
    assert scan_headline(report) == "Something is wrong, but its cause could not be determined"
