"""A window on a made-up report, without threads: the executor runs each piece of work at once."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "windows" if sys.platform == "win32" else "offscreen")

from PySide6.QtCore import QEvent, QSettings, QThreadPool
from PySide6.QtWidgets import QApplication, QLayout, QLayoutItem, QMenu, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import Shiboken

from core.model.findings import Report
from gui.controller import Controller
from gui.window.frame import USUAL_WINDOW_SIZE
from gui.window.window import Window
from gui.window.wizard import Wizard
from tests.gui.engines import Showing


class AtOnce(Executor):
    """Runs work when it is submitted, on the same thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


Open = Callable[[Report], Window]
Opened = Callable[[object], Window]
OpenedWizard = Callable[..., Wizard]


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    chosen = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    chosen.setValue("theme", "light")
    return chosen


@pytest.fixture
def opened(qtbot: QtBot, settings: QSettings) -> Iterator[Opened]:
    """Return a function that opens a window on an engine and starts it; nothing of it may be left at the end."""
    windows: list[Window] = []

    def make(engine: object) -> Window:
        window = Window(Controller(engine, AtOnce()), settings)
        with qtbot.waitActive(window):
            window.show()
            window.activateWindow()
        window.start()
        windows.append(window)
        return window

    yield make
    put_away(windows)


@pytest.fixture
def open_window(opened: Opened) -> Open:
    """Return a function that opens a window in which the scan of a report has just ended."""
    return lambda report: opened(Showing(report))


@pytest.fixture
def wizard(qtbot: QtBot, settings: QSettings) -> Iterator[OpenedWizard]:
    """Return a function that opens the whole wizard on an engine and starts it; nothing of it may be left at the end."""
    windows: list[Wizard] = []

    def make(engine: object, executor: Executor | None = None) -> Wizard:
        window = Wizard(Controller(engine, executor or AtOnce()), settings)
        window.resize(USUAL_WINDOW_SIZE)
        with qtbot.waitActive(window):
            window.show()
            window.activateWindow()
        window.focus_first()
        window.start()
        windows.append(window)
        return window

    yield make
    put_away(windows)


def put_away(windows: list[QWidget] | list[Window] | list[Wizard]) -> None:
    """Close windows as a person does, and hold that no widget and no thread is left, and that no layout had an item in Python.

    Adding a layout that is already filled makes PySide wrap each of its items. Qt deletes an item with its widget; the wrapper stays,
    and the next object at that address crashes PySide. So a layout is added first and filled then.
    """
    assert [
        w for w in Shiboken.getAllValidWrappers() if isinstance(w, QLayoutItem) and not isinstance(w, QLayout)
    ] == []
    for window in windows:
        window.close()
        window.deleteLater()
    windows.clear()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert [w for w in QApplication.allWidgets() if not isinstance(w, QMenu)] == []
    assert [t.name for t in threading.enumerate() if t.name.startswith("doctor")] == []
    assert QThreadPool.globalInstance().activeThreadCount() == 0


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    """The style that the window is made for."""
    return ["convalesce", "-style", "Fusion"]
