"""Banner: a sentence above the page that stays until it is dismissed, such as an internal error or a saved file."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel

from core.common.i18n import _
from core.model.steps import Severity
from gui import theme as looks
from gui.theme import Theme
from gui.widgets.layout import spaced
from gui.widgets.text import ICON_PIXELS, plain_label, push_button, shown_text


class Banner(QFrame):
    """Hidden until it has a message."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("notice")
        row = spaced(QHBoxLayout(self), (20, 8, 12, 8), 10)
        self._sign = QLabel()
        self.saying = plain_label("")
        self.close_button = push_button("", self.hide)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.saying, 1)
        row.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def say(self, sentence: str, severity: Severity, theme: Theme, close: str = "") -> None:
        """Show a sentence; ``close`` is the button's text."""
        self.close_button.setText(close or _("Close"))
        self._sign.setPixmap(looks.severity_icon(theme, severity).pixmap(ICON_PIXELS))
        self._sign.setAccessibleName(looks.severity_word(severity))
        self.saying.setText(shown_text(sentence))
        self.show()
