"""A window on a made-up report, without threads: the executor runs each piece of work at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSettings, QThreadPool
from pytestqt.qtbot import QtBot

from core.findings import Report
from gui.controller import Controller
from gui.window import Window
from tests.gui.engines import Showing


class AtOnce(Executor):
    """Runs work when it is submitted, on the same thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


Open = Callable[[Report], Window]


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    chosen = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    chosen.setValue("theme", "light")
    return chosen


@pytest.fixture
def open_window(qtbot: QtBot, settings: QSettings) -> Iterator[Open]:
    """Return a function that opens a window in which the scan of a report has just ended."""
    windows = []

    def make(report: Report) -> Window:
        window = Window(Controller(Showing(report), AtOnce()), settings)
        qtbot.addWidget(window)
        window.show()
        qtbot.waitExposed(window)
        window.start()
        windows.append(window)
        return window

    yield make
    for window in windows:
        window.close()
    assert QThreadPool.globalInstance().activeThreadCount() == 0
