"""AnswerRows: the answers to a question, each a numbered button beside its words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QGridLayout, QPushButton, QSizePolicy, QWidget

from gui.widgets.layout import spaced
from gui.widgets.text import plain_label, push_button, shown_text


class AnswerRows(QWidget):
    """The number is a button, so that long texts can wrap, and its keyboard shortcut while one of them has the focus.
    ``choose`` is called with the number, counted from 1.
    """

    def __init__(self, choices: tuple[str, ...], choose: Callable[[int], object]) -> None:
        super().__init__()
        grid = spaced(QGridLayout(self))
        grid.setHorizontalSpacing(12)
        grid.setColumnStretch(1, 1)
        self.buttons: list[QPushButton] = []
        for number, words in enumerate(choices, 1):
            button = push_button(str(number), partial(choose, number))
            button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
            button.setAccessibleName(f"{number}. {shown_text(words)}")
            QShortcut(
                QKeySequence(str(number)), self, button.click, context=Qt.ShortcutContext.WidgetWithChildrenShortcut
            )
            said = plain_label(words, selectable=False)
            said.setBuddy(button)
            grid.addWidget(button, number, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(said, number, 1)
            self.buttons.append(button)
