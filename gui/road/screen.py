"""Screen: one question or answer and one primary button; other actions are small links."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.common.i18n import _
from core.model.steps import Severity
from gui.theme import Theme
from gui.widgets.flow import FlowRow
from gui.widgets.layout import spaced
from gui.widgets.text import enlarge, flat_button, heading_label, prose_label, push_button, severity_sign, width_of

COLUMN_CHARACTERS = 76
"""Width of the widest line, in average characters."""


class Screen(QWidget):
    """A column of text in the middle, and a bar with the buttons. Enter presses the primary one."""

    def __init__(self, title: str, theme: Theme, *, help_word: str, back: Callable[[], object] | None = None) -> None:
        super().__init__()
        self.title, self.theme, self.help_word, self.back = title, theme, help_word, back
        self.setAccessibleName(title)
        self.primary: QPushButton | None = None
        outer = spaced(QVBoxLayout(self), spacing=0)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget()
        self._row = QHBoxLayout(body)
        column = QWidget()
        column.setMaximumWidth(width_of(COLUMN_CHARACTERS))
        self.box = spaced(QVBoxLayout(column), spacing=14)
        self._row.addStretch(1)
        self._row.addWidget(column, 1000)
        self._row.addStretch(1)
        self._scroll.setWidget(body)
        self._links: FlowRow | None = None
        self._folds: list[tuple[QPushButton, list[QWidget]]] = []
        self.left, self.right = FlowRow(), FlowRow(right=True)
        outer.addWidget(self._scroll, 1)
        outer.addWidget(self._bar())

    def _bar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("bar")
        row = spaced(QHBoxLayout(bar), (16, 10, 16, 10))
        row.addWidget(self.left, 1)
        row.addWidget(self.right, 2)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        bar.setSizePolicy(policy)
        return bar

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep a margin around the text if there is room."""
        super().resizeEvent(event)
        roomy = self.width() > 640 and self.height() > 420
        self._row.setContentsMargins(*((40, self.height() // 9, 40, 24) if roomy else (14, 12, 14, 12)))

    # --- content ------------------------------------------------------------------------------------------------------

    def add_headline(self, word: str, severity: Severity, sentence: str) -> None:
        """Add a headline with its icon and colour, and the sentence that summarises it."""
        row = QHBoxLayout()
        self.box.addLayout(row)
        row.setSpacing(10)
        row.addWidget(severity_sign(self.theme, severity))
        over = heading_label(word, 1.15)
        over.setObjectName("headline")
        over.setStyleSheet(f"color: {self.theme.severity_colour(severity)};")
        row.addWidget(over, 1)
        self.add_title(sentence)

    def add_title(self, sentence: str) -> None:
        """Add the main sentence in large type."""
        title = prose_label(sentence)
        title.setObjectName("title")
        enlarge(title, 1.6)
        self.box.addWidget(title)

    def add_text(self, text: str, *, muted: bool = False) -> QWidget:
        """Add a sentence."""
        label = prose_label(text, muted=muted)
        self.box.addWidget(label)
        return label

    def add_sign(self, severity: Severity, sentence: str) -> None:
        """Add a sentence with its icon."""
        row = QHBoxLayout()
        self.box.addLayout(row)
        row.setSpacing(10)
        sign = severity_sign(self.theme, severity)
        row.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(prose_label(sentence), 1)

    def add_link(self, text: str, act: Callable[[], object]) -> QPushButton:
        """Add a link to further information: a small button beside others."""
        if self._links is None:
            self._links = FlowRow(spacing=18)
            self.box.addWidget(self._links)
        button = flat_button(text, act)
        self._links.add(button)
        return button

    def add_fold(self, text: str, make: Callable[[], QWidget]) -> QPushButton:
        """Add a link that shows and hides something that few people need."""
        body: list[QWidget] = []

        def fold() -> None:
            if not body:
                body.append(make())
                self.box.insertWidget(self.box.count() - 1, body[0])  # before the stretch at the end
                body[0].show()
            else:
                body[0].setVisible(body[0].isHidden())
            button.setAccessibleDescription(_("shown") if body[0].isVisible() else "")

        button = self.add_link(text, fold)
        self._folds.append((button, body))
        return button

    @property
    def unfolded_parts(self) -> tuple[int, ...]:
        """Indexes of the open folds, in order."""
        return tuple(i for i, (_b, body) in enumerate(self._folds) if body and not body[0].isHidden())

    def unfold(self, which: tuple[int, ...]) -> None:
        """Open these folds."""
        for i in which:
            if i < len(self._folds):
                self._folds[i][0].click()

    def add_button(self, text: str, act: Callable[[], object], *, primary: bool = False) -> QPushButton:
        """Add a button at the right; the primary one comes last."""
        button = push_button(text, act, primary=primary)
        self.right.add(button)
        if primary:
            self.primary = button
        return button

    def end(self) -> None:
        """Finish the screen: nothing more is added."""
        self.box.addStretch(1)

    def start_focus(self) -> QWidget:
        """Return the widget that gets the keyboard focus first."""
        return self.primary or next(iter(self.findChildren(QPushButton)), self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the primary button with Enter, go back with Esc, unless the focused widget uses the key."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.primary is not None:
            if self.primary.isEnabled():
                self.primary.click()
        elif event.key() == Qt.Key.Key_Escape and self.back is not None:
            self.back()
        else:
            super().keyPressEvent(event)
