"""About: version, licence and third-party work; needs no network, and can be copied."""

from __future__ import annotations

from importlib.resources import files

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QTextOption
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from core import __version__
from core.common.i18n import _
from gui import theme
from gui.widgets.layout import spaced
from gui.widgets.text import announce, heading_label, plain_label, push_button


def notices_text() -> str:
    """Return whose work Convalesce contains, then every licence text, our own first."""
    folder = files("resources") / "notices"
    texts = {f.name[:-4]: f.read_text(encoding="utf-8").strip() for f in folder.iterdir() if f.name[-4:] == ".txt"}
    parts = [texts.pop("third-party")]
    parts += (f"{name}\n\n{texts[name]}" for name in sorted(texts, key=lambda name: (name != "convalesce", name)))
    return ("\n\n" + "-" * 64 + "\n\n").join(parts)


class AboutDialog(QDialog):
    """Shows version, licence and notices. Escape closes it; Tab moves through text and buttons."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(_("About Convalesce"))
        self.setModal(True)
        outer = spaced(QVBoxLayout(self), spacing=0)
        body = QVBoxLayout()
        outer.addLayout(body, 1)
        body.setContentsMargins(28, 24, 28, 16)
        body.setSpacing(12)
        self.version = heading_label(f"Convalesce {__version__}")
        self.licence = plain_label("Apache License 2.0")
        self.notices = self._notices()
        for widget in (self.version, self.licence):
            body.addWidget(widget)
        body.addWidget(self.notices, 1)
        outer.addWidget(self._bar())
        self.resize(self._fitting(parent))

    def _notices(self) -> QPlainTextEdit:
        text = QPlainTextEdit(notices_text())
        text.setObjectName("notices")
        text.setAccessibleName(_("Licences and notices"))
        text.setReadOnly(True)
        # its own cursor, so that Page Down and End scroll and Shift selects
        reading = Qt.TextInteractionFlag.TextSelectableByKeyboard | Qt.TextInteractionFlag.TextSelectableByMouse
        text.setTextInteractionFlags(reading)
        text.setTabChangesFocus(True)
        text.setFont(theme.fixed_font())
        text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        return text

    def _bar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("bar")
        row = spaced(QHBoxLayout(bar), (20, 10, 20, 10))
        self.copy_button = push_button(_("&Copy everything"), self._copy)
        self.close_button = push_button(_("Close"), self.reject)
        row.addStretch(1)
        row.addWidget(self.copy_button)
        row.addWidget(self.close_button)
        return bar

    def _copy(self) -> None:
        words = (self.version.text(), self.licence.text(), "", self.notices.toPlainText())
        QGuiApplication.clipboard().setText("\n".join(words))
        announce(self, _("Copied"))

    def _fitting(self, parent: QWidget) -> QSize:
        em, screen = QFontMetrics(theme.fixed_font()).averageCharWidth(), self.screen().availableSize()
        return QSize(min(em * 130, screen.width(), max(parent.width() - 40, 320)),
                     min(em * 75, screen.height(), max(parent.height() - 40, 240)))  # fmt: skip
