"""Frame: the wizard's window before it has any content. It appears at once; its content is loaded afterwards.

Nothing here uses the namespace ``Qt`` before the frame is painted: PySide6 creates its hundred enumerations on first
use, which took 17 ms where a bare window's whole start took 100.
"""

from __future__ import annotations

from PySide6.QtCore import QSettings, QSize
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QMainWindow, QWidget

from gui import theme

MIN_WINDOW_SIZE = QSize(320, 240)
USUAL_WINDOW_SIZE = QSize(1000, 700)


class Frame(QMainWindow):
    """Title, size and colours; the wizard's name until ``show_content`` is called."""

    def __init__(self, settings: QSettings) -> None:
        super().__init__()
        self._settings = settings
        self.setWindowTitle("Convalesce")
        self.setMinimumSize(MIN_WINDOW_SIZE)
        size = settings.value("size")
        wanted = size if isinstance(size, QSize) else USUAL_WINDOW_SIZE
        self.resize(wanted.boundedTo(self.screen().availableSize()))  # The screen may be another one now.
        QApplication.setPalette(theme.make_palette(theme.initial_theme(settings)))
        empty = QWidget()
        row = QHBoxLayout(empty)
        row.addStretch(1)
        row.addWidget(QLabel("Convalesce"))
        row.addStretch(1)
        self.setCentralWidget(empty)

    def show_content(self, content: QWidget) -> None:
        """Show ``content`` from now on, painted before anything else is done."""
        self.setCentralWidget(content)
        self.setWindowIcon(content.windowIcon())
        content.show()
        content.repaint()

    def come_to_front(self) -> None:
        """Raise the window: somebody started Convalesce a second time."""
        from PySide6.QtCore import Qt

        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.raise_()
        self.activateWindow()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Let the content end its work, and store the window's size."""
        held = self.centralWidget()
        if held is not None and not held.close():
            event.ignore()  # It is asked first.
            return
        self._settings.setValue("size", self.size())
        super().closeEvent(event)
