"""StepPage: the one generic page of every step: verdict, what is this, findings, and what was seen."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from core.findings import Finding, Report, Severity, Step
from core.i18n import _
from gui import theme as looks
from gui import words
from gui.card import FindingCard, plain_label, prose
from gui.theme import Theme

MOST_WIDE = 900
"""Lines longer than this (pixels at 100 %) are hard to read."""
Details = Callable[[Report, Theme], QWidget | None]
"""Makes the part of a page that shows what was seen."""


class StepPage(QScrollArea):
    """A page that is made anew from each report; reports are immutable, so that there is nothing to lock."""

    def __init__(self, step: Step, details: Details, on_fix: Callable[[Finding], None]) -> None:
        super().__init__()
        self.step = step
        self.title = words.title(step)
        self._details = details
        self._on_fix = on_fix
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(self.title)
        self.cards: tuple[FindingCard, ...] = ()

    def show_waiting(self, sentence: str) -> None:
        """Show that the step is being looked at."""
        body, box = self._fresh()
        box.addWidget(heading(self.title))
        box.addWidget(plain_label(words.what_is_this(self.step), muted=True))
        box.addWidget(plain_label(sentence, selectable=False))
        box.addStretch(1)
        self.setWidget(body)

    def show_report(self, report: Report, theme: Theme) -> None:
        """Show the step's part of a report."""
        body, box = self._fresh()
        severity, sentence = words.verdict(report, self.step)
        findings = report.of(self.step)
        box.addWidget(heading(self.title))
        primary = report.primary
        if primary is None or primary.step is not self.step:
            box.addWidget(Verdict(severity, sentence, theme))
        box.addWidget(plain_label(words.what_is_this(self.step), muted=True))
        self.cards = tuple(
            FindingCard(f, theme, self._on_fix) for f in sorted(findings, key=lambda f: (not f.primary, -f.severity))
        )
        for card in self.cards:
            box.addWidget(card)
        details = self._details(report, theme)
        if details is not None:
            seen = plain_label(_("What was seen"), selectable=False)
            seen.setStyleSheet("font-weight: 600;")
            box.addSpacing(8)
            box.addWidget(seen)
            box.addWidget(details)
        box.addStretch(1)
        self.setWidget(body)

    def _fresh(self) -> tuple[QWidget, QVBoxLayout]:
        self.cards = ()
        body = QWidget()
        outer = QHBoxLayout(body)
        outer.setContentsMargins(28, 24, 28, 24)
        column = QWidget()
        column.setMaximumWidth(MOST_WIDE)
        box = QVBoxLayout(column)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(12)
        outer.addWidget(column, 1)
        outer.addStretch(0)
        return body, box


class Verdict(QWidget):
    """A step's verdict: icon, word and sentence."""

    def __init__(self, severity: Severity, sentence: str, theme: Theme) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        sign = QLabel()
        sign.setPixmap(looks.severity_icon(theme, severity).pixmap(24))
        sign.setAccessibleName(looks.word(severity))
        row.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
        label = prose(sentence)
        label.setObjectName("verdict")
        row.addWidget(label, 1)


def heading(text: str) -> QLabel:
    """Return a page's heading."""
    label = plain_label(text, selectable=False)
    font = label.font()
    font.setPointSizeF(font.pointSizeF() * 1.6)
    font.setWeight(font.Weight.DemiBold)
    label.setFont(font)
    return label
