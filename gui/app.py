"""The wizard's start: the application, its look, and the window on this machine."""

from __future__ import annotations

import os
import sys

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication

from core.findings import Report
from core.watch import Watch
from gui.controller import Controller
from gui.window import Window

SERVER = "convalesce-window"


def main() -> int:
    """Show the wizard and return the exit status."""
    app = QApplication(sys.argv[:1])
    app.setApplicationName("convalesce")
    app.setApplicationDisplayName("Convalesce")
    app.setDesktopFileName("convalesce")
    if raise_first_window():
        return 0
    window = Window(Controller(examine_this_machine), QSettings("convalesce", "convalesce"))
    window.show()
    server = listen(window)
    QTimer.singleShot(0, window.start)
    status = app.exec()
    server.close()
    return status


def examine_this_machine(watch: Watch) -> Report:
    """Look at this machine. The engine is loaded here, on the worker's thread: the window is there before it."""
    from core.doctor import examine
    from core.host import this_host

    return examine(this_host(), watch)


def _server_name() -> str:
    # a name of this user alone: others on the machine have windows of their own
    return f"{SERVER}-{os.environ.get('USERNAME') or os.getuid()}" if os.name == "nt" else f"{SERVER}-{os.getuid()}"


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
