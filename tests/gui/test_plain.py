"""Text of the machine is shown as it is: a folder that is called like HTML is no HTML, in no label and in no tooltip."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import Qt as QtText
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLabel, QTextEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from core.doctor.examine import diagnose_snapshot
from core.model.findings import Report
from core.report.redact import every_text
from gui.widgets.text import ElidedLabel, tooltip_text
from gui.window.window import Window
from tests.gui import recorded
from tests.gui.conftest import Open
from tests.gui.test_access import everywhere, go

HOSTILE = "<img src='http:&#47;&#47;x'><b>bold</b>&amp;"


def hostile(name: str) -> Report:
    """Return a recorded machine whose folders are called like HTML."""
    seen = every_text(
        recorded.report(name).snapshot, lambda t: re.sub(r"(/home/|\\Users\\)ada\b", lambda m: m[1] + HOSTILE, t)
    )
    return diagnose_snapshot(seen)


def seen_as_text(told: str) -> str:
    """Return what a tooltip shows of a text: Qt takes it for HTML where it looks so."""
    if not QtText.mightBeRichText(told):
        return told
    page = QTextDocument()
    page.setHtml(told)
    assert "\ufffc" not in page.toPlainText()  # an image
    return page.toPlainText()


def tooltips(window: Window) -> list[str]:
    found = [w.toolTip() for w in window.findChildren(QWidget)]
    for view in window.findChildren(QAbstractItemView):
        model = view.model()
        if model is not None:
            for row in range(min(model.rowCount(QModelIndex()), 50)):
                for column in (c for c in range(12) if model.hasIndex(row, c)):
                    found.append(str(model.index(row, column).data(Qt.ItemDataRole.ToolTipRole) or ""))
    return [t for t in found if t]


@pytest.mark.parametrize("name", recorded.MACHINES)
def test_no_page_takes_a_name_for_html(name: str, open_window: Open) -> None:
    window = open_window(hostile(name))
    shown = set()
    for page in everywhere(window):
        go(window, page)
        for button in [b for b in page.findChildren(QToolButton) if b.isCheckable()]:
            button.setChecked(True)
        QApplication.processEvents()
        for label in window.findChildren(QLabel):
            plain = label.textFormat() == Qt.TextFormat.PlainText
            assert plain or not QtText.mightBeRichText(label.text()), label.text()
        for edit in window.findChildren(QTextEdit):
            assert "\ufffc" not in edit.toPlainText()
        shown |= {t for t in tooltips(window) if "bold" in t}
        for told in tooltips(window):
            assert "bold" not in told or "<b>bold</b>" in seen_as_text(told), told
    assert shown, "no page shows the name"


@pytest.mark.parametrize("text", [HOSTILE, "a\n<i>b</i>", "plain /a/b", "<qt>x</qt>", "a < b"])
def test_a_tooltip_shows_every_character(text: str, qtbot: QtBot) -> None:
    assert seen_as_text(tooltip_text(text)) == text
    line = ElidedLabel()
    qtbot.addWidget(line)
    line.say(text)
    assert seen_as_text(line.toolTip()) == text
