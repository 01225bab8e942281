"""TextDialog: lines to read and copy, such as the differences between two computers."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from core.common.i18n import _
from gui import theme
from gui.widgets.layout import spaced
from gui.widgets.text import copy_text_button, heading_label, push_button, shown_text


class TextDialog(QDialog):
    """A title and lines; Escape closes it."""

    def __init__(self, title: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setModal(True)
        outer = spaced(QVBoxLayout(self), (20, 16, 20, 12), 10)
        outer.addWidget(heading_label(title, 1.3))
        self.lines = QPlainTextEdit("\n".join(shown_text(line) for line in text.splitlines()))
        self.lines.setReadOnly(True)
        self.lines.setTabChangesFocus(True)
        self.lines.setAccessibleName(title)
        self.lines.setFont(theme.fixed_font())
        outer.addWidget(self.lines, 1)
        row = QHBoxLayout()
        outer.addLayout(row)
        row.addStretch(1)
        row.addWidget(copy_text_button(text))
        row.addWidget(push_button(_("Close"), self.reject, primary=True))
        self.resize(max(parent.width() - 80, 320), max(parent.height() - 80, 240))
