"""Help beside the page, and the door for those who have downloaded cuDNN: by real clicks and keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from core.doctor.offers import takes_cudnn
from core.model.findings import Finding, Fix
from core.model.steps import Severity, Step
from gui import texts
from gui.dialogs.change_dialog import FixDialog
from gui.window.window import Window
from tests.gui import recorded, reports
from tests.gui.conftest import Open, Opened
from tests.gui.engines import Repairing
from tests.gui.hand import Hand
from tests.gui.screen import shown_text


def press(window: Window, text: str, qtbot: QtBot) -> QPushButton:
    page = window.stack.currentWidget()
    button = next(b for b in page.findChildren(QPushButton) if b.text() == text)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    return button


def test_a_cause_is_explained_beside_its_page_and_escape_leads_back(open_window: Open, qtbot: QtBot) -> None:
    window = open_window(reports.BROKEN)
    button = press(window, "What does this mean?", qtbot)
    assert window.sheet.word == reports.CAUSE.cause
    assert window.stack.isVisible()
    assert "How to fix it" in window.sheet.body.toPlainText()
    assert window.sheet.body.hasFocus()
    qtbot.keyClick(window.sheet.body, Qt.Key.Key_Escape)
    assert window.sheet.isHidden()
    assert QApplication.focusWidget() is button


def test_f1_explains_the_cause_or_else_the_step(open_window: Open, qtbot: QtBot) -> None:
    window = open_window(reports.BROKEN)
    qtbot.keyClick(window, Qt.Key.Key_F1)
    assert window.sheet.word == reports.CAUSE.cause
    window.steps.setCurrentRow(0)
    qtbot.keyClick(window, Qt.Key.Key_F1)
    assert window.sheet.word == "driver"
    window.open_message()
    qtbot.keyClick(window, Qt.Key.Key_F1)
    assert window.sheet.word == "search-path"


@pytest.mark.parametrize("step", texts.shown_steps())
def test_every_step_has_its_page(step: Step, open_window: Open, qtbot: QtBot) -> None:
    window = open_window(reports.HEALTHY)
    window.steps.setCurrentRow(texts.shown_steps().index(step))
    press(window, "Read more", qtbot)
    assert window.sheet.word == step.value
    assert len(window.sheet.body.toPlainText()) > 200
    assert "#" not in window.sheet.body.toPlainText()


def test_where_there_is_no_room_the_help_takes_the_pages_place_until_a_page_is_wanted(
    open_window: Open, qtbot: QtBot
) -> None:
    window = open_window(reports.BROKEN)
    window.resize(480, 270)
    QApplication.processEvents()
    qtbot.keyClick(window, Qt.Key.Key_F1)
    assert not window.stack.isVisible()
    window.resize(1400, 800)
    QApplication.processEvents()
    assert window.stack.isVisible()
    assert window.sheet.isVisible()
    window.resize(480, 270)
    QApplication.processEvents()
    qtbot.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert window.sheet.isHidden()
    assert window.stack.isVisible()


def test_a_page_without_a_button_to_go_back_to_is_no_fault(open_window: Open, qtbot: QtBot) -> None:
    window = open_window(reports.BROKEN)
    press(window, "What does this mean?", qtbot)
    window.show_report(reports.HEALTHY)  # the button that was pressed is gone with its page
    QApplication.sendPostedEvents(None, 52)  # deferred deletions
    qtbot.keyClick(window.sheet.body, Qt.Key.Key_Escape)
    assert window.sheet.isHidden()


MISSING = replace(
    reports.CAUSE, cause="cudnn_not_installed", id="cudnn.not-installed", severity=Severity.ERROR, step=Step.CUDNN, fix=None
)  # fmt: skip


@pytest.mark.parametrize(
    ("finding", "offered"),
    [
        (MISSING, True),
        (replace(MISSING, fix=Fix(title="By hand", advice="Install it")), True),
        (replace(MISSING, severity=Severity.NOTE), False),
        (replace(MISSING, cause="cudnn_not_on_search_path"), False),
        (replace(MISSING, step=Step.FRAMEWORKS), False),
    ],
)
def test_who_is_offered_to_place_cudnn(finding: Finding, offered: bool) -> None:
    assert takes_cudnn(finding) is offered


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_what_a_person_names_is_checked_and_shown_before_anything_is_done(
    folder: bool, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Repairing(tmp_path, recorded.windows(r"C:\Users\ada\bin"), recorded.without_cudnn)
    window = opened(engine)
    named = tmp_path / "download"
    named.mkdir()
    (named / "cudnn64_9.dll").write_bytes(b"<html>not found</html>")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a, **_k: (str(named / "cudnn64_9.dll"), ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_a, **_k: str(named))
    button = window.findChild(QPushButton, "place")
    button.menu().actions()[folder].trigger()
    hand = Hand(window, keyboard=False)
    hand.wait(lambda: hand.button("Close"), "a refusal")
    assert isinstance(hand.dialog, FixDialog)
    assert hand.button("Make these changes") is None
    told = shown_text(hand.dialog)
    assert (
        "cudnn64_9.dll in download:" if folder else "is damaged, or is not an archive that Convalesce reads"
    ) in told
    assert "Internal error" not in told
    hand.press("Close")
    assert engine.path == r"C:\Users\ada\bin"
    assert engine.journal.entries() == ()


def test_nothing_happens_when_nothing_is_named(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Repairing(tmp_path, recorded.windows(r"C:\Users\ada\bin"), recorded.without_cudnn)
    window = opened(engine)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_a, **_k: "")
    window.findChild(QPushButton, "place").menu().actions()[1].trigger()
    assert Hand(window, keyboard=False).dialog is None
