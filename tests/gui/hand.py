"""A person at the window: presses what is on it, by mouse or by keyboard alone, and waits for what is to come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QWidget

from gui.dialogs.change_dialog import ChangeDialog
from gui.window.window import Window

PATIENCE = 60.0
"""Seconds; a real scan of a slow machine takes some of them."""


class Hand:
    """Knows only what is visible."""

    def __init__(self, window: Window, *, keyboard: bool) -> None:
        self.window, self.keyboard = window, keyboard

    @property
    def dialog(self) -> QDialog | None:
        """The dialog that is open."""
        return next((d for d in self.window.findChildren(ChangeDialog) if d.isVisible()), None)

    def wait(self, until: Callable[[], object], what: str) -> None:
        """Wait for something to become so."""
        end = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < end, f"waited in vain for {what}"
            loop = QEventLoop()  # processEvents() would keep the interpreter from the worker while it waits
            QTimer.singleShot(20, loop.quit)
            loop.exec()

    def button(self, text: str) -> QPushButton | None:
        """The button that says this and can be pressed."""
        top: QWidget = self.dialog or self.window
        return next(
            (
                b
                for b in top.findChildren(QPushButton)
                if b.isVisible() and b.isEnabled() and b.text().replace("&", "") == text
            ),
            None,
        )

    def press(self, text: str) -> None:
        """Press the button that says this, as soon as there is one."""
        self.wait(lambda: self.button(text), f"a button that says {text}")
        top: QWidget = self.dialog or self.window.window()
        self._in_front(top)
        button = self.button(text)
        assert button is not None
        if not self.keyboard:
            QTest.mouseClick(button, Qt.MouseButton.LeftButton)
            return
        for _ in range(200):
            focus = QApplication.focusWidget()
            if focus is button:
                break
            QTest.keyClick(focus or top, Qt.Key.Key_Tab)
        assert QApplication.focusWidget() is button, f"Tab does not reach {text}"
        QTest.keyClick(button, Qt.Key.Key_Return)

    def _in_front(self, top: QWidget) -> None:
        """Do what a window manager does after a dialog: keys go to the active window only."""
        top.activateWindow()
        self.wait(lambda: QApplication.activeWindow() is top, "the window to be active")

    def go_to(self, title: str) -> None:
        """Go to a step, by its key or by clicking it."""
        row = [p.title for p in self.window.pages].index(title)
        if self.keyboard:
            self._in_front(self.window.window())
            QTest.keyClick(self.window, Qt.Key(Qt.Key.Key_1 + row), Qt.KeyboardModifier.ControlModifier)
        else:
            place = self.window.steps.visualItemRect(self.window.steps.item(row)).center()
            viewport = self.window.steps.viewport()
            QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)

    def walk_everywhere(self) -> Iterator[QWidget]:
        """Go from the first page to the last by Next, and back by Back."""
        self.go_to(self.window.pages[0].title)
        for _ in self.window.pages[1:]:
            yield self.window.stack.currentWidget()
            self.press("Next")
        yield self.window.stack.currentWidget()
        for _ in self.window.pages[1:]:
            self.press("Back")
        assert self.window.stack.currentWidget() is self.window.pages[0]
