"""The application: a second start raises the first window; nothing of the engine is loaded for the first one to show."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, QSize, Qt, QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from gui import theme
from gui.controller import Controller
from gui.window import app
from gui.window.app import FirstPaint
from gui.window.frame import Frame
from gui.window.window import Window
from gui.window.wizard import Wizard
from tests.gui import recorded, reports
from tests.gui.conftest import AtOnce, put_away
from tests.gui.engines import Showing
from tests.gui.screen import shown_text


@pytest.fixture
def own_name(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(app, "SERVER_NAME", f"convalesce-test-{abs(hash(str(tmp_path)))}")


@pytest.mark.usefixtures("qapp", "own_name")
def test_a_second_start_raises_the_first_window(qtbot: QtBot, settings: QSettings) -> None:
    assert not app.raise_first_window()
    lock = app.lock_single_instance()
    assert lock
    frame = Frame(settings)
    server = app.listen_for_second(frame)
    frame.show()
    frame.showMinimized()
    assert frame.isMinimized()
    assert app.lock_single_instance() is None
    qtbot.waitUntil(lambda: not frame.isMinimized())
    server.close()
    put_away([frame])


@pytest.mark.usefixtures("qapp", "own_name")
def test_a_first_wizard_that_has_ended_or_does_not_answer_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = app.lock_single_instance()
    assert first
    monkeypatch.setattr(app, "START_TIMEOUT_MILLISECONDS", 200)
    assert app.lock_single_instance(), "it holds the lock and never answers"
    monkeypatch.setattr(app, "raise_first_window", first.unlock)
    assert app.lock_single_instance(), "it has just ended"


@pytest.mark.usefixtures("qapp", "own_name")
def test_where_no_lock_can_be_written_the_wizard_starts_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: QSettings
) -> None:
    monkeypatch.setattr("core.common.frozen.portable_folder", lambda: str(tmp_path / "not there"))
    monkeypatch.setattr(app, "START_TIMEOUT_MILLISECONDS", -1)  # for ever
    assert app.lock_single_instance(), "as on a stick that is write-protected"
    frame = Frame(settings)
    server = app.listen_for_second(frame)
    assert app.lock_single_instance() is None
    server.close()
    put_away([frame])


@pytest.mark.usefixtures("qapp", "own_name")
def test_what_a_killed_one_left_behind_is_no_window(settings: QSettings) -> None:
    frame = Frame(settings)
    app.listen_for_second(frame)  # never closed, as by a kill
    server = app.listen_for_second(frame)
    assert server.isListening()
    server.close()
    put_away([frame])
    code = f"import os; from gui.window import app; app.SERVER_NAME = {app.SERVER_NAME!r}; lock = app.lock_single_instance(); os._exit(0 if lock else 1)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert app.lock_single_instance(), "the lock of one that was killed is taken over"


@pytest.mark.usefixtures("qapp", "own_name")
def test_the_frame_is_there_first_and_then_holds_the_wizard(qtbot: QtBot, settings: QSettings) -> None:
    frame = Frame(settings)
    held = app.WindowLoader(frame, settings, Showing(reports.BROKEN))
    FirstPaint(frame, held.load_window)
    with qtbot.waitActive(frame):
        frame.show()
    qtbot.waitUntil(lambda: isinstance(frame.centralWidget(), Wizard))
    window = frame.centralWidget()
    assert isinstance(window, Wizard)
    qtbot.waitUntil(lambda: window.road.report is not None and not window.controller.busy)
    assert window.size() == frame.size()
    assert not frame.windowIcon().isNull()
    assert "What does not work?" in shown_text(frame)
    focus = QApplication.focusWidget()
    assert focus is not None
    assert window.isAncestorOf(focus)
    qtbot.keyClick(focus, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert window.details is not None
    assert reports.CAUSE.title in shown_text(frame)
    qtbot.keyClick(window.details.steps, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert window.details.stack.currentWidget() is window.details.pages[0]
    assert app.raise_first_window()
    put_away([frame])


def test_a_remembered_size_is_held_within_the_screen(settings: QSettings, qtbot: QtBot) -> None:
    settings.setValue("size", QSize(9000, 7000))
    frame = Frame(settings)
    qtbot.addWidget(frame)
    there = frame.screen().availableSize()
    assert frame.size() == frame.size().boundedTo(there)


def test_what_the_frame_holds_has_its_size_before_it_is_painted(settings: QSettings, qtbot: QtBot) -> None:
    settings.setValue("size", QSize(760, 640))
    frame = Frame(settings)
    with qtbot.waitExposed(frame):
        frame.show()
    sizes: list[QSize] = []

    class Painted(QWidget):
        def paintEvent(self, _event: QPaintEvent) -> None:
            sizes.append(self.size())

    frame.show_content(Painted())
    assert sizes[:1] == [QSize(760, 640)]
    put_away([frame])


def test_a_wizard_that_cannot_be_made_ends_with_the_reason(
    qtbot: QtBot, settings: QSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gui.window.wizard", None)  # as where a file of the installation is missing
    frame = Frame(settings)
    held = app.WindowLoader(frame, settings)
    QTimer.singleShot(0, held.load_window)
    assert QApplication.exec() == 1
    assert isinstance(held.problem, ImportError)
    assert not isinstance(frame.centralWidget(), Wizard)
    put_away([frame])


def test_the_engine_is_not_loaded_for_the_window_to_show() -> None:
    code = (
        "import sys; import gui.window.app, gui.window.wizard; "
        "print([m for m in sys.modules if m.startswith(('core.doctor.scan', 'core.probes', 'core.rules', 'core.explain', 'core.model.facts', 'msgspec', 'elftools', 'pefile'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_of_linux_alone_is_needed_to_load_the_window() -> None:
    code = "import os, sys; vars(os).pop('getuid', 0), vars(os).pop('geteuid', 0); sys.modules.update(pwd=None, grp=None, resource=None, termios=None); import gui.window.app, gui.window.wizard, gui.window.window, gui.dialogs.change_dialog, core.doctor.engine"
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"{code}, gui.pages.details, gui.pages.explain, gui.pages.benchmark, gui.road.answer, gui.road.change, gui.road.waiting",
        ],
        check=True,
    )


@pytest.mark.usefixtures("qapp")
def test_size_theme_and_text_size_are_kept_for_the_next_start(settings: QSettings) -> None:
    first = Frame(settings)
    window = Window(Controller(Showing(reports.HEALTHY), AtOnce()), settings)
    first.show()
    first.show_content(window)
    first.resize(760, 640)
    window.rail.choose("theme", "dark")
    window.rail.choose("text size", "150")
    put_away([first])
    second = Frame(settings)
    assert (second.width(), second.height()) == (760, 640)
    assert second.palette().window().color().name() == theme.DARK_THEME.window
    window = Window(Controller(Showing(reports.HEALTHY), AtOnce()), settings)
    assert window._theme.name == "dark"
    assert window.rail.settings_button.menu().actions()
    chosen = {a.text() for m in window.rail.findChildren(QMenu) for a in m.actions() if a.isChecked()}
    assert chosen == {"D&ark", "150 %", "&System language"}
    put_away([second, window])


def test_an_error_message_is_proved_on_this_machine(opened: object, qtbot: QtBot) -> None:
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


def test_an_explained_cause_has_its_fix_and_the_three_statements_in_order(opened: object, qtbot: QtBot) -> None:
    window = opened(Showing(recorded.report("folder not on path")))
    page = window.explain_page
    window.open_message()
    page.text.setPlainText("Could not locate cudnn64_9.dll. Please make sure it is in your library path!")
    page.find_button.click()
    qtbot.waitUntil(lambda: "Proved on this computer" in shown_text(page))
    text = shown_text(page)
    title = page.cards[0].finding.title
    order = [text.index(said) for said in ("What the message says", "A fault of this computer causes", title)]
    assert order == sorted(order)
    assert text.count(title) == 1
    assert page.cards[0].finding.fix.changes
    assert page.cards[0].fix_button is not None


def test_a_fault_beside_the_message_is_told_and_not_called_its_cause(opened: object, qtbot: QtBot) -> None:
    window = opened(Showing(recorded.report("folder not on path")))
    page = window.explain_page
    window.open_message()
    page.text.setPlainText("CUDA out of memory. Tried to allocate 20.00 MiB")
    page.find_button.click()
    qtbot.waitUntil(lambda: "This machine also shows" in shown_text(page))
    assert "Proved" not in shown_text(page)
    assert page.cards == []


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
    first.stop_waiting()
    assert done == ["begun"]


def test_a_window_that_is_never_painted_begins_all_the_same(qtbot: QtBot) -> None:
    done: list[str] = []
    widget = QWidget()
    qtbot.addWidget(widget)
    FirstPaint(widget, lambda: done.append("begun")).stop_waiting()
    assert done == ["begun"]


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows the folder is the account's own")
@pytest.mark.usefixtures("qapp", "own_name")
def test_lock_and_socket_lie_where_nobody_else_can_put_one_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the folder for everybody's temporary files another account could hold the lock, and answer for a window."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lock = app.lock_single_instance()
    assert lock
    folder = tmp_path / "state/convalesce"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert lock.fileName().startswith(f"{folder}/")
    assert app._server_name().startswith(f"{folder}/")
    lock.unlock()
    folder.chmod(0o777)
    assert app._own_folder() == "", "others could write it"
    assert app.lock_single_instance(), "better two wizards than none"


@pytest.mark.skipif(sys.platform != "linux", reason="the peer is asked of Linux's sockets")
@pytest.mark.usefixtures("qapp")
def test_a_window_of_another_account_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert app._is_own(ours.fileno())
        monkeypatch.setattr(os, "getuid", lambda: 54_321)
        assert not app._is_own(ours.fileno())


def test_a_click_on_an_answer_ranks_the_causes_anew(opened: object, qtbot: QtBot) -> None:
    window = opened(Showing(recorded.report("healthy")))
    page = window.explain_page
    window.open_message()
    page.text.setPlainText("CUDA error: an illegal memory access was encountered")
    page.find_button.click()
    qtbot.waitUntil(lambda: "One question decides" in shown_text(page))
    assert [b.accessibleName()[:3] for b in page.answers.buttons][:2] == ["1. ", "2. "]
    qtbot.mouseClick(page.answers.buttons[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "You answered: yes" in shown_text(page))
    assert "One question decides" not in shown_text(page)
    window.rail.choose("text size", "150")
    qtbot.waitUntil(lambda: "You answered: yes" in shown_text(page))
