"""A finding as a card: what is wrong, why, the evidence (folded away, one key away), and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent, QTextOption, QWheelEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QTextEdit,
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
LONGEST_WORD = 40
"""Characters; a longer word is broken anywhere."""


def plain_label(text: str, *, muted: bool = False, selectable: bool = True) -> QLabel:
    """Return a label that shows text as it is: never as HTML, since most of it came from the machine."""
    label = QLabel(printable(text))
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setProperty("muted", muted)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def prose(text: str, *, muted: bool = False) -> QWidget:
    """Return a label, or a MachineText where a word (a path) is too long for a label to break."""
    long = max((len(w) for w in text.split()), default=0) > LONGEST_WORD
    return MachineText(text, muted=muted, mono=False) if long else plain_label(text, muted=muted)


class MachineText(QTextEdit):
    """Selectable text of the machine that breaks anywhere, as high as its lines; nothing is added to what is copied."""

    def __init__(self, text: str, *, muted: bool = False, mono: bool = True) -> None:
        super().__init__()
        self.setObjectName("machine")
        self.setProperty("muted", muted)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)
        if mono:
            self.setFont(looks.fixed_font())
        self.setPlainText(printable(text))
        self.setAccessibleName(printable(text))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Grow or shrink to the height of the text at this width."""
        super().resizeEvent(event)
        self.document().setTextWidth(self.viewport().width())
        self.setFixedHeight(math.ceil(self.document().size().height()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll."""
        event.ignore()


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
        title = prose(self.finding.title)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * (1.35 if self.finding.primary else 1.1))
        font.setWeight(font.Weight.DemiBold)
        title.setFont(font)
        box.addWidget(severity)
        box.addWidget(title)
        if self.finding.why:
            box.addWidget(prose(self.finding.why, muted=self.finding.severity <= Severity.NOTE))
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
        advice = prose(fix.advice)
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
        self._finding = finding
        self.body: QWidget | None = None

    def _fold(self, opened: bool) -> None:
        layout = self.layout()
        if self.body is None and layout is not None:  # made when it is first wanted: a page may hold hundreds of lines
            self.body = self._table()
            layout.addWidget(self.body)
        if self.body is not None:
            self.body.setVisible(opened)

    def _table(self) -> QWidget:
        body = QWidget()
        grid = QGridLayout(body)
        grid.setContentsMargins(6, 0, 0, 0)
        grid.setHorizontalSpacing(14)
        grid.setColumnStretch(1, 1)
        for i, e in enumerate(self._finding.evidence):
            label = plain_label(e.label, muted=True)
            label.setMaximumWidth(180)
            grid.addWidget(label, i, 0, Qt.AlignmentFlag.AlignTop)
            cell = QVBoxLayout()
            cell.setSpacing(0)
            cell.addWidget(MachineText(e.value))
            if e.source:
                cell.addWidget(MachineText(e.source, muted=True, mono=False))
            grid.addLayout(cell, i, 1)
        return body


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
