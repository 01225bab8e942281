"""Starting the wizard: the application, its appearance, and the window on this machine."""

from __future__ import annotations

import gc
import os
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QDeadlineTimer, QDir, QEvent, QLockFile, QObject, QSettings, QStandardPaths, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from core.common import frozen
from gui.window.frame import Frame

if TYPE_CHECKING:
    from PySide6.QtNetwork import QLocalServer

    from core.doctor.engine import Engine

SERVER_NAME = "convalesce-window"
MAX_WAIT_MILLISECONDS = 1000
"""Milliseconds after which a window that is not painted (because it started minimised) starts its work."""
SWITCH_INTERVAL_SECONDS = 0.0005
"""Seconds after which the worker yields the interpreter to the window's thread.

With Python's default of 0.005, a few Qt calls in a row, each of which may have to wait, blocked the window for 50
milliseconds.
"""
START_TIMEOUT_MILLISECONDS = 3000
"""Milliseconds that a second wizard waits for the first to start, if that holds the lock."""


def main() -> int:
    """Show the wizard and return the exit status."""
    settings = stored_settings()
    app = make_application()
    lock = lock_single_instance()
    if lock is None:
        return 0
    frame = Frame(settings)
    held = WindowLoader(frame, settings)
    seen = FirstPaint(frame, held.load_window)
    frame.show()
    QTimer.singleShot(MAX_WAIT_MILLISECONDS, seen.stop_waiting)
    status = app.exec()
    frame.close()  # also at the end of the session: work that has begun is undone
    if held.problem is not None:
        raise held.problem
    lock.unlock()
    return status


class WindowLoader:
    """Loads the frame's content once the frame was painted."""

    def __init__(self, frame: Frame, settings: QSettings, engine: Engine | None = None) -> None:
        self._frame, self._settings, self._engine = frame, settings, engine
        self.problem: Exception | None = None
        """Why the content could not be created (a file of the installation is missing); the wizard ends with it."""

    def load_window(self) -> None:
        """Load the wizard, show it, handle further starts, and examine the machine."""
        try:
            from core.doctor.engine import ThisMachine
            from gui.controller import Controller
            from gui.window.wizard import Wizard

            window = Wizard(Controller(self._engine or ThisMachine()), self._settings)
        except Exception as e:  # noqa: BLE001 - Qt would print it and go on with an empty window
            self.problem = e
            QApplication.exit(1)
            return
        self._frame.show_content(window)
        window.focus_first()
        listen_for_second(self._frame)
        gc.freeze()
        gc.enable()  # Garbage collection was off while the window was built.
        window.start()


class FirstPaint(QObject):
    """Calls a function once, after its window's first paint, which must not be delayed by what the function starts.

    It waits for the system's expose event, which Qt answers by painting everything at once; the window's own widget
    gets no paint event if others cover it.
    """

    def __init__(self, window: QWidget, then: Callable[[], None]) -> None:
        super().__init__(window)
        self._then = [then]
        window.winId()  # From now on it has a handle.
        window.windowHandle().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Wait for the first paint."""
        if event.type() is QEvent.Type.Expose:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self.stop_waiting)
        return False

    def stop_waiting(self) -> None:
        """Stop waiting."""
        if self._then:
            self._then.pop()()


def stored_settings() -> QSettings:
    """Return the window's settings: in the system's place for a user's settings, or in the folder of a portable copy."""
    if folder := frozen.portable_folder():
        return QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat)
    return QSettings("convalesce", "convalesce")


def make_application() -> QApplication:
    """Return the application with the style that the window's colours are made for."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    app = QApplication([*sys.argv[:1], "-style", "Fusion"])
    app.setApplicationName("convalesce")
    app.setApplicationDisplayName("Convalesce")
    app.setDesktopFileName("convalesce")
    return app


def _own_folder() -> str:
    """Return a folder that only this user can write, for the lock and the socket; empty if there is none."""
    if sys.platform == "win32":
        return QDir.tempPath()  # Each account has its own folder there.
    kinds = QStandardPaths.StandardLocation
    if os.environ.get("XDG_RUNTIME_DIR") and (place := QStandardPaths.writableLocation(kinds.RuntimeLocation)):
        return place  # Qt has checked its owner.
    place = QStandardPaths.writableLocation(kinds.GenericStateLocation) + "/convalesce"
    try:
        os.makedirs(place, 0o700, exist_ok=True)  # noqa: PTH103 - pathlib is not loaded at the start
        found = os.stat(place)  # noqa: PTH116 - the same
    except OSError:
        return ""
    return place if found.st_uid == os.getuid() and not found.st_mode & 0o022 else ""


def _server_name() -> str:
    """Return the name for this user's window: a pipe's on Windows, else a socket's in a folder of the user's own."""
    return (
        f"{SERVER_NAME}-{os.environ.get('USERNAME', '')}"
        if sys.platform == "win32"
        else f"{_own_folder()}/{SERVER_NAME}"
    )


def lock_single_instance() -> QLockFile | None:
    """Return the lock of this user's only wizard; None if one is already running."""
    lock = QLockFile(f"{frozen.portable_folder() or _own_folder()}/{SERVER_NAME}.lock")
    lock.setStaleLockTime(0)  # However long it runs; the lock of a killed wizard is taken over nevertheless.
    if lock.tryLock(0):
        return lock
    held = lock.error() is QLockFile.LockError.LockFailedError  # Otherwise no file can be written there.
    end = QDeadlineTimer(START_TIMEOUT_MILLISECONDS if held else 0)
    while not raise_first_window():
        if lock.tryLock(50) or end.hasExpired():
            return lock  # It has ended, or does not respond: two wizards are better than none.
    return None


def raise_first_window() -> bool:
    """Ask a running wizard to come to the front; return whether one answers."""
    from PySide6.QtNetwork import QLocalSocket  # imported late: only a second start needs it

    socket = QLocalSocket()
    socket.connectToServer(_server_name())
    return socket.waitForConnected(200) and _is_own(socket.socketDescriptor())


def _is_own(descriptor: int) -> bool:
    """Whether the program at the other end is this user's (Linux; a Windows pipe only admits this user)."""
    if sys.platform != "linux":
        return True
    import socket

    with socket.socket(fileno=os.dup(descriptor)) as peer:
        found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", found)[1] == os.getuid())


def listen_for_second(frame: Frame) -> QLocalServer:
    """Raise ``frame`` whenever a second wizard is started."""
    from PySide6.QtNetwork import QLocalServer

    server = QLocalServer(frame)
    server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
    QLocalServer.removeServer(_server_name())  # a socket left behind by a killed wizard
    server.newConnection.connect(frame.come_to_front)
    server.listen(_server_name())
    if app := QApplication.instance():
        app.aboutToQuit.connect(server.close)
    return server


if __name__ == "__main__":
    raise SystemExit(main())
