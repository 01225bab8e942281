"""SummaryPage: everything in one view: results, changes, what remains to be done, and the report to export."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QVBoxLayout

from core.common.i18n import _, format_moment
from core.model.steps import Severity, Step
from gui import texts
from gui import theme as looks
from gui.pages.step_page import FINDINGS_AT_ONCE, LazyPage
from gui.theme import Theme
from gui.widgets.card import CardActions, FindingCard
from gui.widgets.flow import FlowRow
from gui.widgets.layout import spaced
from gui.widgets.text import (
    VerdictRow,
    flat_button,
    heading_label,
    plain_label,
    prose_label,
    push_button,
    severity_sign,
)

if TYPE_CHECKING:
    from core.model.findings import Report
    from core.transaction.journal import Entry, UnreadableEntry

History = tuple["Entry | UnreadableEntry", ...]
Undo = Callable[[tuple[str, ...]], None]


class SummaryPage(LazyPage):
    """The last step. Its buttons copy and save the report, and undo changes."""

    def __init__(
        self,
        acts: CardActions,
        on_copy: Callable[[], None],
        on_save: Callable[[], None],
        on_undo: Undo,
        to: Callable[[Step], None],
    ) -> None:
        super().__init__(_("Summary"))
        self._acts, self._on_copy, self._on_save, self._on_undo, self._to = acts, on_copy, on_save, on_undo, to
        self._history: History = ()

    def show_waiting(self, sentence: str) -> None:
        """Show that the scan is under way."""

        def waiting(box: QVBoxLayout) -> None:
            box.addWidget(heading_label(self.title))
            box.addWidget(plain_label(sentence, selectable=False))

        self.show_later(waiting)

    def know_history(self, history: History) -> None:
        """Take the history; it is shown with the next report."""
        self._history = history

    def show_report(self, report: Report, theme: Theme) -> None:
        """Show every step's verdict, the cause first."""
        self.show_later(lambda box: self._fill(box, report, theme))

    def _fill(self, box: QVBoxLayout, report: Report, theme: Theme) -> None:
        box.addWidget(heading_label(scan_headline(report)))
        for finding in report.not_examined:
            box.addWidget(VerdictRow(finding.severity, finding.title, theme))
        if report.headline:
            from core.report.short_names import concerned_text  # imported late: there is no report yet at the start

            who = concerned_text(report.headline, report)
            self.cards = [FindingCard(report.headline, theme, self._acts, who=who)]
            box.addWidget(self.cards[0])
        elif texts.in_place(report):
            box.addWidget(plain_label(_("Every part was examined; the result of each:"), muted=True))
        box.addWidget(_verdicts(report, theme, self._to, beside=self.is_roomy()))
        self._left_to_do(box, report)
        self._add_changes(box, theme)
        row = FlowRow()
        if texts.machine_standing(report) < Severity.WARNING and report.snapshot.benchmark is None and _has_gpu(report):
            row.add(push_button(_("Go to the GPU benchmark"), partial(self._to, Step.BENCHMARK), primary=True))
        row.add(push_button(_("Copy report"), self._on_copy))
        row.add(push_button(_("Save report..."), self._on_save))
        box.addWidget(row)

    def _left_to_do(self, box: QVBoxLayout, report: Report) -> None:
        fixes = [f.fix for f in report.findings if f.fix and f.severity >= Severity.WARNING and not f.fix.changes]
        titles = list(dict.fromkeys(fix.title for fix in fixes))
        if not titles:
            return
        box.addWidget(plain_label(_("To do by hand"), selectable=False, strong=True))
        for title in titles[:FINDINGS_AT_ONCE]:
            box.addWidget(prose_label(f"•  {title}"))
        if len(titles) > FINDINGS_AT_ONCE:
            box.addWidget(
                plain_label(_("and {n} more; each step's page has its own.", n=len(titles) - FINDINGS_AT_ONCE))
            )

    def _add_changes(self, box: QVBoxLayout, theme: Theme) -> None:
        if not self._history:
            return
        box.addWidget(plain_label(_("What was changed"), selectable=False, strong=True))
        card = QFrame()
        card.setObjectName("card")
        grid = spaced(QGridLayout(card), (16, 12, 16, 12))
        grid.setHorizontalSpacing(12)
        grid.setColumnStretch(1, 1)
        for i, entry in enumerate(reversed(self._history[-FINDINGS_AT_ONCE:])):
            severity, sentence = describe_entry(entry)
            grid.addWidget(severity_sign(theme, severity), i, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(prose_label(sentence), i, 1)
            if can_undo(entry):
                button = push_button(_("Undo..."), partial(self._on_undo, (entry.id,)))
                button.setAccessibleDescription(sentence)
                grid.addWidget(button, i, 2, Qt.AlignmentFlag.AlignTop)
        box.addWidget(card)
        undoable = tuple(e.id for e in reversed(self._history) if can_undo(e))
        if len(undoable) > 1:
            box.addWidget(push_button(_("Undo all..."), lambda: self._on_undo(undoable)), 0, Qt.AlignmentFlag.AlignLeft)


def _has_gpu(report: Report) -> bool:
    driver = report.snapshot.driver
    return bool(driver and driver.gpus)


def _verdicts(report: Report, theme: Theme, to: Callable[[Step], None], *, beside: bool) -> QFrame:
    """Return every step's verdict, beside the step's name or below it."""
    card = QFrame()
    card.setObjectName("card")
    grid = spaced(QGridLayout(card), (16, 12, 16, 12))
    grid.setHorizontalSpacing(16)
    grid.setVerticalSpacing(10)
    grid.setColumnStretch(1, 1)
    for i, step in enumerate(texts.shown_steps()):
        name = flat_button(texts.step_title(step), partial(to, step))
        severity, sentence = texts.step_verdict(report, step)
        name.setAccessibleDescription(f"{looks.severity_word(severity)}: {sentence}")
        grid.addWidget(name, 2 * i, 0, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        verdict = VerdictRow(severity, sentence, theme)
        if beside:
            grid.addWidget(verdict, 2 * i, 1)
        else:
            grid.addWidget(verdict, 2 * i + 1, 0, 1, 2)
    return card


def scan_headline(report: Report) -> str:
    """Return the result of a scan in one short line."""
    if report.primary:
        return _("One cause was found")
    if report.headline:
        return _("Something is wrong, but its cause could not be determined")
    stands = texts.machine_standing(report)
    if stands >= Severity.WARNING:
        return _("Some things need your attention")
    if stands is Severity.UNKNOWN and report.not_examined:
        return _("No fault was found, but not everything could be examined")
    if stands is Severity.UNKNOWN:
        return _("No fault was found, but some questions remain open")
    return _("Everything needed is present") if texts.in_place(report) else _("No fault was found")


def can_undo(entry: Entry | UnreadableEntry) -> bool:
    """Whether an entry of the history can be undone."""
    from core.transaction.journal import Entry

    return isinstance(entry, Entry) and entry.undoable


def describe_entry(entry: Entry | UnreadableEntry) -> tuple[Severity, str]:
    """Return an entry of the history in a sentence, with its severity."""
    from core.transaction.journal import UnreadableEntry

    if isinstance(entry, UnreadableEntry):
        return Severity.UNKNOWN, entry.problem
    severity, state = {
        "begun": (Severity.UNKNOWN, _("interrupted")),
        "done": (Severity.GOOD, _("done")),
        "rolled back": (Severity.NOTE, _("rolled back at once: it did not help")),
        "undoing": (Severity.UNKNOWN, _("interrupted while it was undone")),
        "undone": (Severity.NOTE, _("undone")),
        "stuck": (Severity.ERROR, _("stuck halfway")),
    }[entry.state]
    note = f" {entry.note}" if entry.note and entry.state in ("stuck", "rolled back") else ""
    return severity, f"{entry.title} ({local_moment(entry.made)}): {state}.{note}"


def local_moment(made: str) -> str:
    """Return a moment in the person's own time zone, to the minute."""
    try:
        return format_moment(datetime.fromisoformat(made).astimezone().isoformat())
    except ValueError:
        return made
