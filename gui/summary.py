"""SummaryPage: the whole in one view: each step's verdict, what is left to do by hand, and the report to take along."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from core.findings import Finding, Report, Severity, Step
from core.i18n import _
from core.redact import redact
from core.report import as_text
from gui import words
from gui.card import FindingCard, plain_label
from gui.page import StepPage, Verdict, heading
from gui.theme import Theme


class SummaryPage(StepPage):
    """The last step. ``on_save`` asks where to save the report."""

    def __init__(self, on_fix: Callable[[Finding], None], on_save: Callable[[], None]) -> None:
        super().__init__(Step.DRIVER, lambda _report, _theme: None, on_fix)
        self.title = _("Summary")
        self.setAccessibleName(self.title)
        self._on_save = on_save

    def show_waiting(self, sentence: str) -> None:
        """Show that the scan is under way."""
        body, box = self._fresh()
        box.addWidget(heading(self.title))
        box.addWidget(plain_label(sentence, selectable=False))
        box.addStretch(1)
        self.setWidget(body)

    def show_report(self, report: Report, theme: Theme) -> None:
        """Show every step's verdict, the cause first."""
        body, box = self._fresh()
        box.addWidget(heading(headline(report)))
        if report.primary:
            self.cards = (FindingCard(report.primary, theme, self._on_fix),)
            box.addWidget(self.cards[0])
        card = QFrame()
        card.setObjectName("card")
        rows = QVBoxLayout(card)
        rows.setContentsMargins(16, 14, 16, 14)
        for step in words.shown_steps():
            name = plain_label(words.title(step), selectable=False)
            name.setStyleSheet("font-weight: 600;")
            rows.addWidget(name)
            rows.addWidget(Verdict(*words.verdict(report, step), theme))
        box.addWidget(card)
        by_hand = [f for f in report.findings if f.fix and f.fix.advice and f.severity >= Severity.WARNING]
        if by_hand:
            left = plain_label(_("Left to do by hand"), selectable=False)
            left.setStyleSheet("font-weight: 600;")
            box.addWidget(left)
            for f in by_hand:
                box.addWidget(plain_label("•  " + (f.fix.title if f.fix else "")))
        row = QHBoxLayout()
        copy = QPushButton(_("Copy report"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(as_text(redact(report))))
        save = QPushButton(_("Save report..."))
        save.clicked.connect(self._on_save)
        row.addWidget(copy)
        row.addWidget(save)
        row.addStretch(1)
        box.addLayout(row)
        box.addStretch(1)
        self.setWidget(body)


def headline(report: Report) -> str:
    """Return the result of a scan in one short line."""
    if report.primary:
        return _("One cause was found")
    if report.worst >= Severity.WARNING:
        return _("Some things need a look")
    if report.worst is Severity.UNKNOWN:
        return _("No fault was found, but not everything could be decided")
    return _("Everything needed is in place")
