"""DiffView: the lines of a preview, old ones struck through; and what to restart afterwards, in words."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCharFormat, QTextCursor

from core.common.i18n import _
from core.model.findings import Restart
from gui import theme as looks
from gui.theme import Theme
from gui.widgets.text import MachineText, shown_text


class DiffView(MachineText):
    """The lines of a preview: old ones with a minus and struck through, new ones with a plus."""

    inset = 9

    def __init__(self, lines: tuple[str, ...], theme: Theme) -> None:
        super().__init__("")
        self.setObjectName("lines")
        self.setAccessibleName(_("What changes"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        plain, old, new = QTextCharFormat(), QTextCharFormat(), QTextCharFormat()
        old.setFontStrikeOut(True)
        old.setForeground(looks.to_qcolor(theme.error))
        new.setForeground(looks.to_qcolor(theme.good))
        cursor = QTextCursor(self.document())
        signs = {"-": ("− ", old), "+": ("+ ", new)}
        for i, line in enumerate(lines):
            sign, style = signs.get(line[:1], ("  ", plain))
            cursor.insertText(("\n" if i else "") + sign, plain)
            cursor.insertText(shown_text(line[2:]), style)
        says = {"-": _("before"), "+": _("after")}
        self.setAccessibleDescription("; ".join(f"{says[t[0]]}: {t[2:]}" if t[:1] in says else t for t in lines))


def restart_words(restart: Restart) -> str:
    """Return what to restart, in one sentence; empty if there is nothing."""
    return {
        "": "",
        "program": _("Restart the program afterwards."),
        "terminal": _("Open a new terminal afterwards; open terminals keep the old values."),
        "session": _("Sign out and back in afterwards."),
        "computer": _("Restart the computer afterwards."),
    }[restart]
