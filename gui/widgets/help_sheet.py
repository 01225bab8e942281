"""HelpSheet: the help page on a step or a cause, beside the page that it is about; available offline."""

from __future__ import annotations

from functools import cached_property

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QLabel, QTextBrowser, QVBoxLayout, QWidget

from core.common.i18n import _
from gui.widgets.layout import spaced
from gui.widgets.text import announce, enlarge, heading_label, push_button, width_of

SHEET_CHARACTERS = 46
"""Width of the sheet in average characters."""
MIN_PAGE_CHARACTERS = 50
"""Minimum width of the page beside the sheet in average characters; with less, the sheet replaces the page."""


class HelpSheet(QFrame):
    """Hidden until help is requested; Esc and its button close it."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sheet")
        self.setAccessibleName(_("Help"))
        self.word = ""
        """The word of the help page that is shown; empty while the sheet is closed."""
        self._asked_from: QWidget | None = None
        self._title: QLabel = heading_label("", 1.25)
        self.close_button = push_button(_("Close"), self.put_away)
        box = spaced(QVBoxLayout(self), (20, 18, 12, 12))
        head = QHBoxLayout()
        box.addLayout(head)
        head.addWidget(self._title, 1)
        head.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        self._box = box
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self, self.put_away, context=Qt.ShortcutContext.WindowShortcut)
        self.hide()

    @cached_property
    def body(self) -> QTextBrowser:
        """The text; created on first use, since it would delay the window's first paint."""
        body = QTextBrowser()
        body.setOpenLinks(False)
        body.setMinimumHeight(24)  # In a very small window, the title comes first.
        self._box.addWidget(body, 1)
        return body

    def explain(self, word: str) -> bool:
        """Show the page on a step or a cause; return whether there is one."""
        from core.report.help_pages import find_page  # imported late: not needed at the start

        if find_page(word) is None:
            return False
        if self.isHidden():
            self._asked_from = QApplication.focusWidget()
        self.word = word
        self._fill()
        self.show()
        self.body.setFocus()
        announce(self, self._title.text())
        return True

    def _fill(self) -> None:
        from core.report.help_pages import find_page

        found = find_page(self.word)
        if found is None:
            return
        self._title.setText(found.title)
        text = found.markdown.partition("\n")[2].replace("\n## ", "\n#### ")  # Qt draws large headings too large.
        self.body.setMarkdown(text)
        self.body.setAccessibleName(found.title)

    def put_away(self) -> None:
        """Close the sheet and restore the keyboard focus."""
        if self.isHidden():
            return
        back, self._asked_from, self.word = self._asked_from, None, ""
        self.hide()
        try:
            if back is not None and back.isVisible():
                back.setFocus()
        except RuntimeError:  # The page was rebuilt meanwhile, and the button no longer exists.
            pass

    def apply_theme(self) -> None:
        """Apply the application's text size and the theme's colours."""
        self._title.setFont(QApplication.font())
        enlarge(self._title, 1.25)
        self.setAccessibleName(_("Help"))
        self.close_button.setText(_("Close"))
        if self.word:
            self._fill()


class HelpSplitter(QWidget):
    """The page with the sheet on its right; if there is no room for both, the sheet replaces the page."""

    def __init__(self, page: QWidget, sheet: HelpSheet) -> None:
        super().__init__()
        self._page, self._sheet = page, sheet
        row = spaced(QHBoxLayout(self), spacing=0)
        row.addWidget(page, 1)
        row.addWidget(sheet)
        sheet.installEventFilter(self)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        """Make room when the sheet is opened or closed."""
        if watched is self._sheet and event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self._arrange()
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Make room."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        alone = self.width() < width_of(SHEET_CHARACTERS + MIN_PAGE_CHARACTERS)
        self._page.setVisible(not alone or self._sheet.isHidden())
        self._sheet.setFixedWidth(self.width() if alone else width_of(SHEET_CHARACTERS))

    @property
    def sheet_covers_page(self) -> bool:
        """Whether the sheet replaces the page."""
        return self._page.isHidden()
