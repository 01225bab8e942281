"""About: reached from the settings by keyboard and mouse, read and copied without a network, left by Escape."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QApplication, QPlainTextEdit
from pytestqt.qtbot import QtBot

from core import __version__
from gui.window.about import AboutDialog, notices_text
from gui.window.window import Window
from tests.gui import recorded
from tests.gui.conftest import Open
from tests.gui.screen import tab_chain
from tests.gui.test_access import assert_whole

ROOT = Path(__file__).parents[2]


def opened_about(window: Window) -> AboutDialog:
    """Choose About in the settings' menu, as a click or the letter does."""
    menu = window.rail.settings_button.menu()
    (entry,) = [action for action in menu.actions() if isinstance(action, QAction) and "About" in action.text()]
    entry.trigger()
    dialog = window.findChild(AboutDialog)
    assert isinstance(dialog, AboutDialog)
    QApplication.processEvents()
    return dialog


def test_about_names_the_version_the_licence_and_every_locked_package(open_window: Open) -> None:
    dialog = opened_about(open_window(recorded.report("healthy")))
    assert dialog.version.text() == f"Convalesce {__version__}"
    assert "Apache License 2.0" in dialog.licence.text()
    shown = dialog.notices.toPlainText()
    locked = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements/app.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(locked) >= 8
    for name, version in locked:
        assert f"{name} {version}" in shown
    for words in ("GNU LESSER GENERAL PUBLIC LICENSE", "PYTHON SOFTWARE FOUNDATION LICENSE", "APPENDIX: How to apply"):
        assert words in shown


def test_about_is_used_by_keyboard_alone(open_window: Open, qtbot: QtBot) -> None:
    dialog = opened_about(open_window(recorded.report("healthy")))
    assert list(tab_chain(dialog.notices)) == [dialog.notices, dialog.copy_button, dialog.close_button]
    dialog.notices.setFocus()
    qtbot.keyClick(dialog.notices, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    assert dialog.notices.verticalScrollBar().value() == dialog.notices.verticalScrollBar().maximum() > 0
    qtbot.keyClick(dialog.notices, Qt.Key.Key_Tab)
    dialog.copy_button.setFocus()
    qtbot.keyClick(dialog.copy_button, Qt.Key.Key_Space)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith(f"Convalesce {__version__}\n")
    assert copied.endswith(notices_text())
    with qtbot.waitSignal(dialog.finished):
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)


def test_about_can_not_be_edited_and_its_parts_have_names(open_window: Open, qtbot: QtBot) -> None:
    dialog = opened_about(open_window(recorded.report("healthy")))
    before = dialog.notices.toPlainText()
    qtbot.keyClicks(dialog.notices, "x")
    assert dialog.notices.toPlainText() == before
    assert [t.accessibleName() for t in dialog.findChildren(QPlainTextEdit)] == ["Licences and notices"]
    dialog.reject()


def test_about_at_200_per_cent_is_not_clipped(open_window: Open) -> None:
    window = open_window(recorded.report("healthy"))
    window.rail.choose("text size", "200")
    window.resize(480, 400)
    dialog = opened_about(window)
    assert_whole(dialog)
    assert dialog.notices.horizontalScrollBar().maximum() == 0
    dialog.reject()
