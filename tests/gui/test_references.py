"""The binding to Qt must not lose references to None: Python 3.11 dies of it after some thousand events (PySide6 6.12.0)."""

from __future__ import annotations

import sys

from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

EVENTS = 200


class Painted(QWidget):
    """Counts how often it was painted, by a method that Qt calls."""

    painted = 0

    def paintEvent(self, _event: QPaintEvent) -> None:
        self.painted += 1


def test_events_leave_the_count_of_none_alone(qtbot: QtBot) -> None:
    widget = Painted()
    qtbot.addWidget(widget)
    with qtbot.waitExposed(widget):
        widget.show()
    before, painted = sys.getrefcount(None), widget.painted
    for _ in range(EVENTS):
        widget.repaint()
        QApplication.sendPostedEvents()
    assert widget.painted - painted == EVENTS
    assert sys.getrefcount(None) > before - EVENTS // 2
