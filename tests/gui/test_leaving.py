"""Before a report is copied or saved: what leaves this machine, as a list, for eyes, keyboard and screen reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from core.model.findings import Redaction, Report
from core.report.redact import REDACTED_KINDS, redact
from gui.dialogs.leaving_dialog import LeavingDialog
from gui.window.window import Window
from tests.gui import recorded
from tests.gui.conftest import Open
from tests.report.test_redact import TEXTS, planted


def dialog(window: Window) -> LeavingDialog:
    return next(d for d in window.findChildren(LeavingDialog) if d.isVisible())


def words(shown: QWidget) -> list[str]:
    """Return all words that are on it."""
    assert isinstance(shown, LeavingDialog)
    said = [w.text() for kind in (QLabel, QPushButton) for w in shown.findChildren(kind)]
    said += [rows.item(i).text() for rows in (shown.replaced, shown.stays) for i in range(rows.count())]
    return " ".join(said).split()


def test_at_most_sixty_words_whatever_was_taken_out(qtbot: QtBot) -> None:
    most = tuple(Redaction(kind=kind, places=n) for n, kind in enumerate(REDACTED_KINDS, 1))
    for taken in (most, most[:1], ()):
        parent = QWidget()
        qtbot.addWidget(parent)
        clean = Report(snapshot=planted("x").snapshot, taken_out=taken)
        assert len(words(LeavingDialog(clean, "Copy report", parent))) <= 60


def test_every_kind_and_the_number_of_places_is_told(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    clean = redact(planted("\n".join(TEXTS)))
    shown = LeavingDialog(clean, "Copy report", parent)
    told = [shown.replaced.item(i).text() for i in range(shown.replaced.count())]
    numbers = [int(t.rpartition(": ")[2]) for t in told]
    assert sum(numbers) == sum(t.places for t in clean.taken_out or ())
    assert any(t.startswith("network shares: ") for t in told) or "more kind" in told[-1]


def test_copy_waits_for_the_person_and_cancel_copies_nothing(open_window: Open, qtbot: QtBot) -> None:
    window = open_window(recorded.report(next(iter(recorded.MACHINES))))
    QApplication.clipboard().setText("before")
    window.errands.copy()
    assert QApplication.clipboard().text() == "before"
    qtbot.keyClick(dialog(window), Qt.Key.Key_Escape)
    assert QApplication.clipboard().text() == "before"
    window.errands.copy()
    qtbot.keyClick(dialog(window).act_button, Qt.Key.Key_Return)
    assert "Convalesce" in QApplication.clipboard().text()


def test_save_asks_for_a_file_after_consent_only(
    open_window: Open, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def name(*_arguments: object) -> tuple[str, str]:
        asked.append("file")
        return str(tmp_path / "report.json"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", name)
    window = open_window(recorded.report(next(iter(recorded.MACHINES))))
    window.errands.save()
    qtbot.mouseClick(dialog(window).cancel_button, Qt.MouseButton.LeftButton)
    assert not asked
    window.errands.save()
    qtbot.mouseClick(dialog(window).act_button, Qt.MouseButton.LeftButton)
    assert asked
    assert (tmp_path / "report.json").is_file()


def test_a_screen_reader_hears_both_lists_and_tab_reaches_all(open_window: Open, qtbot: QtBot) -> None:
    window = open_window(recorded.report(next(iter(recorded.MACHINES))))
    window.errands.copy()
    shown = dialog(window)
    for rows in (shown.replaced, shown.stays):
        heard = QAccessible.queryAccessibleInterface(rows)
        assert heard.text(QAccessible.Text.Name)
        assert rows.item(0).text() in heard.text(QAccessible.Text.Description)
    reached = {shown.focusWidget()}
    for _ in range(4):
        qtbot.keyClick(shown.focusWidget(), Qt.Key.Key_Tab)
        reached.add(shown.focusWidget())
    assert reached == {shown.act_button, shown.cancel_button, shown.replaced, shown.stays}
    shown.reject()
