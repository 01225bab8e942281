"""The wizard's start: the application, its look, and the window on this machine."""

from __future__ import annotations

import sys

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from core.doctor import examine
from core.host import this_host
from gui import theme as looks
from gui.controller import Controller
from gui.window import Window


def main() -> int:
    """Show the wizard and return the exit status."""
    app = QApplication.instance() or QApplication(sys.argv[:1])
    if not isinstance(app, QApplication):
        return 3
    app.setApplicationName("convalesce")
    app.setApplicationDisplayName("Convalesce")
    app.setDesktopFileName("convalesce")
    settings = QSettings("convalesce", "convalesce")
    choice = settings.value("theme", "system")
    theme = looks.choose(choice if choice in ("light", "dark", "contrast") else "system")
    dress(app, theme)
    host = this_host()
    window = Window(Controller(lambda watch: examine(host, watch)), theme, settings)
    window.setWindowIcon(looks.icon("convalesce", theme.text, 64))
    window.show()
    QTimer.singleShot(0, window.start)
    return app.exec()


def dress(app: QApplication, theme: looks.Theme) -> None:
    """Give the application its style, palette and style sheet."""
    app.setStyle("Fusion")
    app.setPalette(looks.palette(theme))
    app.setStyleSheet(looks.style_sheet(theme))
