"""The window by real clicks and keys: where it lands, how one walks, what it shows and never does."""

from __future__ import annotations

import threading

from msgspec.structs import replace
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from core.common.progress import Progress
from core.doctor.examine import diagnose_snapshot
from core.model.facts import Unexamined
from core.model.findings import Report
from gui import theme
from gui.controller import Controller
from gui.window.window import Window
from tests import machines
from tests.gui import reports
from tests.gui.conftest import Open, put_away
from tests.gui.engines import Showing
from tests.gui.screen import shown_text


def test_it_lands_on_the_page_of_the_cause(open_window: Open) -> None:
    window = open_window(reports.BROKEN)
    assert window.pages[window.steps.currentRow()].title == "cuDNN"
    assert reports.CAUSE.title in shown_text(window.stack.currentWidget())


def test_a_machine_in_order_lands_on_the_summary(open_window: Open) -> None:
    window = open_window(reports.HEALTHY)
    assert "Everything needed is present" in shown_text(window.stack.currentWidget())


def test_what_could_not_be_examined_is_said_at_the_top(open_window: Open) -> None:
    missed = Unexamined(path="/net/data", seconds=3.0, wanted_by=("PATH",))
    report = diagnose_snapshot(replace(machines.wheel_machine(), unexamined=(missed,)))
    text = shown_text(open_window(report).stack.currentWidget())
    assert "not everything could be examined" in text
    assert "/net/data does not respond" in text.partition("driver")[0]


def test_walking_by_mouse(open_window: Open, qtbot: QtBot) -> None:
    window = open_window(reports.HEALTHY)
    last = len(window.pages) - 1
    for row in range(last - 1, -1, -1):
        qtbot.mouseClick(window.back, Qt.MouseButton.LeftButton)
        assert window.stack.currentWidget() is window.pages[row]
    assert not window.back.isEnabled()
    for row in range(1, last + 1):
        qtbot.mouseClick(window.next, Qt.MouseButton.LeftButton)
        assert window.stack.currentWidget() is window.pages[row]
    assert not window.next.isEnabled()
    item = window.steps.visualItemRect(window.steps.item(2)).center()
    qtbot.mouseClick(window.steps.viewport(), Qt.MouseButton.LeftButton, pos=item)
    assert window.stack.currentWidget() is window.pages[2]


def test_walking_by_keyboard(open_window: Open, qtbot: QtBot) -> None:
    window = open_window(reports.HEALTHY)
    with qtbot.waitActive(window):
        window.activateWindow()
    for row in range(len(window.pages)):
        key = Qt.Key(Qt.Key.Key_1 + row)
        qtbot.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
        assert window.stack.currentWidget() is window.pages[row]
    window.steps.setFocus()
    qtbot.keyClick(window.steps, Qt.Key.Key_Up)
    assert window.stack.currentWidget() is window.pages[-2]


def test_evidence_opens_by_a_key_and_is_copied_whole(open_window: Open, qtbot: QtBot) -> None:
    window = open_window(reports.BROKEN)
    card = window.pages[window.steps.currentRow()].cards[0]
    assert "1,048,576 bytes" not in shown_text(card)
    card.evidence.button.setFocus()
    qtbot.keyClick(card.evidence.button, Qt.Key.Key_Space)
    assert "1,048,576 bytes" in shown_text(card)
    copy = next(b for b in card.evidence.findChildren(QToolButton) if b.accessibleName() == "Copy the evidence")
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert copied.splitlines()[0] == f"Size on disk: 1,048,576 bytes  ({reports.LONG}/libcudnn_cnn.so.9)"


def test_text_of_the_machine_is_shown_as_text(open_window: Open) -> None:
    hostile = replace(reports.CAUSE, title=reports.HOSTILE, why=reports.HOSTILE)
    window = open_window(replace(reports.BROKEN, findings=(hostile,)))
    text = shown_text(window.stack.currentWidget())
    assert "<b>bold</b>" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_steps_carry_icon_word_and_accessible_text(open_window: Open) -> None:
    window = open_window(reports.BROKEN)
    texts = [window.steps.item(i).data(Qt.ItemDataRole.AccessibleTextRole) for i in range(window.steps.count())]
    assert texts[:3] == ["Driver: OK", "CUDA toolkit: Warning", "cuDNN: Fault"]
    assert not window.steps.item(2).icon().isNull()


def test_text_size_and_colours_are_kept(open_window: Open, settings: QSettings) -> None:
    window = open_window(reports.BROKEN)
    before = window.font().pointSizeF()
    window.rail.choose("text size", "200")
    window.rail.choose("theme", "dark")
    assert settings.value("text size") == "200"
    assert window.font().pointSizeF() == 2 * before
    assert window.rail.width() < window.width() // 3  # the page needs the room
    assert window.palette().window().color().name() == theme.DARK_THEME.window


def test_cancel_and_close_while_a_probe_is_at_work(qtbot: QtBot, settings: QSettings) -> None:
    begun = threading.Event()

    def examine(watch: Progress) -> Report:
        begun.set()
        while not watch.cancelled:
            threading.Event().wait(0.01)
        watch.check()
        return reports.HEALTHY

    controller = Controller(Showing(examine))
    window = Window(controller, settings)
    window.show()
    window.start()
    assert begun.wait(5)
    assert window.cancel.isVisible()
    with qtbot.waitSignal(controller.busy_changed):
        qtbot.mouseClick(window.cancel, Qt.MouseButton.LeftButton)
    assert not window.cancel.isVisible()
    assert window.again.isEnabled()
    window.start()
    put_away([window])


def test_a_fault_of_ours_becomes_a_sentence(qtbot: QtBot, settings: QSettings) -> None:
    def examine(_watch: Progress) -> Report:
        raise RuntimeError("no luck")

    controller = Controller(Showing(examine))
    window = Window(controller, settings)
    with qtbot.waitSignal(controller.failed):
        window.start()
    qtbot.waitUntil(lambda: not controller.busy)
    assert "no luck" in window.notice.saying.text()
    assert window.again.isEnabled()
    put_away([window])
