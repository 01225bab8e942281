"""The wizard's start: the application, its look, and the window on this machine."""

from __future__ import annotations

import os
import sys

from PySide6.QtCore import QSettings, Qt, QTimer
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication

from gui import language
from gui.controller import Controller
from gui.engine import ThisMachine
from gui.window import Window

SERVER = "convalesce-window"


def main() -> int:
    """Show the wizard and return the exit status."""
    settings = QSettings("convalesce", "convalesce")
    app = application()
    language.speak(settings)
    if raise_first_window():
        return 0
    window = Window(Controller(ThisMachine()), settings)
    window.show()
    server = listen(window)
    QTimer.singleShot(0, window.start)
    status = app.exec()
    window.close()  # also where the session ended: what was begun is taken back
    server.close()
    return status


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
