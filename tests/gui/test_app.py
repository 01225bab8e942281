"""The application: a second start raises the first window; nothing of the engine is loaded for the first one to show."""

from __future__ import annotations

import subprocess
import sys

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from gui import app
from gui.app import FirstPaint
from gui.controller import Controller
from gui.window import Window
from tests.gui import recorded, reports
from tests.gui.conftest import AtOnce, put_away
from tests.gui.engines import Showing


@pytest.fixture
def own_name(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(app, "SERVER", f"convalesce-test-{abs(hash(str(tmp_path)))}")


@pytest.mark.usefixtures("own_name")
def test_a_second_start_raises_the_first_window(qtbot: QtBot, settings: QSettings) -> None:
    assert not app.raise_first_window()
    window = Window(Controller(Showing(reports.HEALTHY), AtOnce()), settings)
    server = app.listen(window)
    window.show()
    window.showMinimized()
    assert window.isMinimized()
    assert app.raise_first_window()
    qtbot.waitUntil(lambda: not window.isMinimized())
    server.close()
    put_away([window])


@pytest.mark.usefixtures("own_name")
def test_what_a_killed_one_left_behind_is_no_window(qtbot: QtBot, settings: QSettings) -> None:
    window = Window(Controller(Showing(reports.HEALTHY), AtOnce()), settings)
    app.listen(window)  # never closed, as by a kill
    server = app.listen(window)
    assert server.isListening()
    server.close()
    put_away([window])


def test_the_engine_is_not_loaded_for_the_window_to_show() -> None:
    code = (
        "import sys; import gui.app, gui.window; "
        "print([m for m in sys.modules if m.startswith(('core.doctor', 'core.probes', 'core.rules', 'core.explain', 'elftools', 'pefile'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_of_linux_alone_is_needed_to_load_the_window() -> None:
    code = "import os, sys; vars(os).pop('getuid', 0), vars(os).pop('geteuid', 0); sys.modules.update(pwd=None, grp=None, resource=None, termios=None); import gui.app, gui.window, gui.changing, gui.engine"
    subprocess.run([sys.executable, "-c", f"{code}, gui.details, gui.explaining, gui.benchmark"], check=True)


def test_size_theme_and_text_size_are_kept_for_the_next_start(qtbot: QtBot, settings: QSettings) -> None:
    first = Window(Controller(Showing(reports.HEALTHY), AtOnce()), settings)
    first.show()
    first.resize(1200, 800)
    first.rail.choose("theme", "dark")
    first.rail.choose("text size", "150")
    put_away([first])
    second = Window(Controller(Showing(reports.HEALTHY), AtOnce()), settings)
    assert (second.width(), second.height()) == (1200, 800)
    assert second._theme.name == "dark"
    chosen = {a.text() for m in second.rail.findChildren(QMenu) for a in m.actions() if a.isChecked()}
    assert chosen == {"D&ark", "150 %", "&System language"}
    put_away([second])


def test_an_error_message_is_proved_on_this_machine(opened: object, qtbot: QtBot) -> None:
    from tests.gui.screen import shown_text

    window = opened(Showing(recorded.report("sub-library missing")))
    qtbot.keyClick(window, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    page = window.explain_page
    assert window.stack.currentWidget() is page
    assert page.text.hasFocus()
    assert not page.find_button.isEnabled()
    qtbot.keyClicks(page.text, "Could not load library libcudnn_cnn.so.9. Error: cannot open shared object file")
    qtbot.keyClick(page.text, Qt.Key.Key_Tab)
    assert page.find_button.hasFocus()
    qtbot.keyClick(page.find_button, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "Proved on this computer" in shown_text(page))
    text = shown_text(page)
    assert "cuDNN is incomplete: libcudnn_cnn.so.9 is missing." in text
    window.rail.choose("text size", "150")
    assert page.text.toPlainText().startswith("Could not load")
    qtbot.waitUntil(lambda: "Proved on this computer" in shown_text(page))
    qtbot.mouseClick(window.back, Qt.MouseButton.LeftButton)
    assert window.stack.currentWidget() is window.pages[window.steps.currentRow()]


def test_what_follows_the_first_paint_follows_it_once(qtbot: QtBot) -> None:
    done: list[str] = []
    widget = QMainWindow()
    widget.setCentralWidget(QPlainTextEdit("it covers the whole window"))
    qtbot.addWidget(widget)
    first = FirstPaint(widget, lambda: done.append("begun"))
    QApplication.processEvents()
    assert done == []
    widget.show()
    qtbot.waitUntil(lambda: done == ["begun"])
    widget.centralWidget().repaint()
    QApplication.processEvents()
    first.over()
    assert done == ["begun"]


def test_a_window_that_is_never_painted_begins_all_the_same(qtbot: QtBot) -> None:
    done: list[str] = []
    widget = QWidget()
    qtbot.addWidget(widget)
    FirstPaint(widget, lambda: done.append("begun")).over()
    assert done == ["begun"]
