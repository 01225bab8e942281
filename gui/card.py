"""A finding as a card: what is wrong, why, the evidence (folded away, one key away), and what to do."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.findings import Finding, Severity
from core.i18n import _, n_
from core.report import printable
from gui import theme as looks
from gui.theme import Theme

ICON = 24


def plain_label(text: str, *, muted: bool = False, mono: bool = False, selectable: bool = True) -> QLabel:
    """Return a label that shows text as it is: never as HTML, since most of it came from the machine."""
    label = QLabel(printable(text))
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setProperty("muted", muted)
    if mono:
        label.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
    if selectable:
        label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        label.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return label


def soft(text: str) -> str:
    """Let long paths break after their separators, by characters of no width."""
    return text.replace("/", "/\u200b").replace("\\", "\\\u200b")


class FindingCard(QFrame):
    """One finding. ``on_fix`` is called with the finding when its button is pressed."""

    def __init__(self, finding: Finding, theme: Theme, on_fix: Callable[[Finding], None]) -> None:
        super().__init__()
        self.finding = finding
        self.setObjectName("card")
        self.setAccessibleName(f"{looks.word(finding.severity)}: {printable(finding.title)}")
        grid = QGridLayout(self)
        grid.setContentsMargins(16, 14, 16, 14)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        sign = QLabel()
        sign.setPixmap(looks.severity_icon(theme, finding.severity).pixmap(ICON))
        sign.setAccessibleName(looks.word(finding.severity))
        grid.addWidget(sign, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addLayout(self._words(theme), 0, 1)
        if finding.fix and finding.fix.changes:
            button = QPushButton(finding.fix.title)
            button.setObjectName("fix")
            button.setProperty("primary", finding.primary)
            button.clicked.connect(lambda: on_fix(finding))
            grid.addWidget(button, 1, 1, Qt.AlignmentFlag.AlignLeft)
        if finding.fix and finding.fix.advice:
            grid.addWidget(_Advice(finding, theme), 2, 1)
        if finding.evidence:
            self.evidence = _Folded(finding, theme)
            grid.addWidget(self.evidence, 3, 1)

    def _words(self, theme: Theme) -> QVBoxLayout:
        box = QVBoxLayout()
        box.setSpacing(4)
        severity = plain_label(
            (_("The cause") if self.finding.primary else looks.word(self.finding.severity)), selectable=False
        )
        severity.setStyleSheet(f"color: {theme.of(self.finding.severity)}; font-weight: 600;")
        title = plain_label(soft(self.finding.title))
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * (1.35 if self.finding.primary else 1.1))
        font.setWeight(font.Weight.DemiBold)
        title.setFont(font)
        box.addWidget(severity)
        box.addWidget(title)
        if self.finding.why:
            box.addWidget(plain_label(soft(self.finding.why), muted=self.finding.severity <= Severity.NOTE))
        return box


class _Advice(QWidget):
    """Steps for the person, with commands ready to copy."""

    def __init__(self, finding: Finding, theme: Theme) -> None:
        super().__init__()
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        fix = finding.fix
        if fix is None:
            return
        head = plain_label(fix.title if not fix.changes else _("By hand"), selectable=False)
        head.setStyleSheet("font-weight: 600;")
        box.addWidget(head)
        row = QHBoxLayout()
        advice = plain_label(soft(fix.advice))
        advice.setObjectName("advice")
        row.addWidget(advice, 1)
        row.addWidget(copy_button(fix.advice, _("Copy these steps"), theme), 0, Qt.AlignmentFlag.AlignTop)
        box.addLayout(row)


class _Folded(QWidget):
    """Evidence behind a button; Space or Enter opens it, Copy takes all of it."""

    def __init__(self, finding: Finding, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(6)
        self.button = QToolButton()
        self.button.setProperty("flat", True)
        self.button.setCheckable(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        count = len(finding.evidence)
        self.button.setText(n_("How we know ({n} observation)", "How we know ({n} observations)", count))
        self.button.setAccessibleDescription(printable(finding.title))
        self.button.toggled.connect(self._fold)
        row = QHBoxLayout()
        row.addWidget(self.button)
        lines = "\n".join(f"{e.label}: {e.value}" + (f"  ({e.source})" if e.source else "") for e in finding.evidence)
        row.addWidget(copy_button(lines, _("Copy the evidence"), theme))
        row.addStretch(1)
        box.addLayout(row)
        self.body = QWidget()
        grid = QGridLayout(self.body)
        grid.setContentsMargins(6, 0, 0, 0)
        grid.setColumnStretch(1, 1)
        for i, e in enumerate(finding.evidence):
            label = plain_label(e.label, muted=True)
            label.setWordWrap(False)
            grid.addWidget(label, i, 0, Qt.AlignmentFlag.AlignTop)
            cell = QVBoxLayout()
            cell.setSpacing(0)
            cell.addWidget(plain_label(soft(e.value), mono=True))
            if e.source:
                cell.addWidget(plain_label(soft(e.source), muted=True))
            grid.addLayout(cell, i, 1)
        self.body.setVisible(False)
        box.addWidget(self.body)

    def _fold(self, opened: bool) -> None:
        self.body.setVisible(opened)


def copy_button(text: str, name: str, theme: Theme) -> QToolButton:
    """Return a small button that puts ``text`` on the clipboard."""
    button = QToolButton()
    button.setProperty("flat", True)
    button.setIcon(looks.icon("copy", theme.note))
    button.setToolTip(name)
    button.setAccessibleName(name)
    button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    button.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))
    return button
