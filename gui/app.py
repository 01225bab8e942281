"""The wizard's start: the application, its look, and the window on this machine."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QSettings, Qt, QTimer
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QWidget

from core import frozen
from gui import language
from gui.controller import Controller
from gui.engine import ThisMachine
from gui.window import Window

SERVER = "convalesce-window"
LONGEST_WAIT = 1000
"""Milliseconds until a window that is not painted (it was started minimised) begins all the same."""


def main() -> int:
    """Show the wizard and return the exit status."""
    settings = stored_settings()
    app = application()
    language.speak(settings)
    if raise_first_window():
        return 0
    window = Window(Controller(ThisMachine()), settings)
    seen = FirstPaint(window, lambda: begin(window))
    window.show()
    server = listen(window)
    QTimer.singleShot(LONGEST_WAIT, seen.over)
    status = app.exec()
    window.close()  # also where the session ended: what was begun is taken back
    server.close()
    return status


class FirstPaint(QObject):
    """Calls a function once, after its window was painted for the first time: what it starts must not delay that.

    It waits for the system's word that the window is to be seen, which Qt answers by painting all of it at once; the
    window's own widget gets no word of it where others cover it.
    """

    def __init__(self, window: QWidget, then: Callable[[], None]) -> None:
        super().__init__(window)
        self._then = [then]
        window.winId()  # from now on it has a handle
        window.windowHandle().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Wait for the first paint."""
        if event.type() is QEvent.Type.Expose:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self.over)
        return False

    def over(self) -> None:
        """Wait no longer."""
        if self._then:
            self._then.pop()()


def begin(window: Window) -> None:
    """Look at the machine; garbage, which nobody looked for while the window was made, matters from now on."""
    gc.freeze()
    gc.enable()
    window.start()


def stored_settings() -> QSettings:
    """Return the window's settings: where the system keeps a user's, or in the folder of a portable copy."""
    if folder := frozen.portable_folder():
        return QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat)
    return QSettings("convalesce", "convalesce")


def application() -> QApplication:
    """Return the application in the one style that the window's own colours are made for."""
    app = QApplication([*sys.argv[:1], "-style", "Fusion"])
    app.setApplicationName("convalesce")
    app.setApplicationDisplayName("Convalesce")
    app.setDesktopFileName("convalesce")
    app.setEffectEnabled(Qt.UIEffect.UI_AnimateMenu, False)  # nothing here moves by itself
    return app


def _server_name() -> str:
    """Return a name of this user alone: others on the machine have windows of their own."""
    user = os.environ.get("USERNAME", "") if sys.platform == "win32" else str(os.getuid())
    return f"{SERVER}-{user}"


def raise_first_window() -> bool:
    """Ask a wizard that is already running to come to the front; return whether there is one."""
    socket = QLocalSocket()
    socket.connectToServer(_server_name())
    return socket.waitForConnected(200)


def listen(window: Window) -> QLocalServer:
    """Raise ``window`` whenever a second wizard is started."""
    server = QLocalServer(window)
    server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
    QLocalServer.removeServer(_server_name())  # left behind by one that was killed
    server.newConnection.connect(window.come_to_front)
    server.listen(_server_name())
    return server


if __name__ == "__main__":
    raise SystemExit(main())
