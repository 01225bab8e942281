"""The four screens on a real display and the real host, from the question to the end, by mouse or by keyboard alone.

``python -m tests.gui.real_road PREFIX [message]``: PREFIX does not work, or the message tells so. Prints what was read.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable

import msgspec
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QListWidget, QPushButton

from core.doctor.engine import Engine, ThisMachine
from core.transaction.journal import Journal, state_folder
from gui.controller import Controller
from gui.road.ask import AskScreen
from gui.road.waiting import WaitingScreen
from gui.window.app import make_application
from gui.window.frame import Frame
from gui.window.wizard import Wizard
from installer.by_hand import by_hand
from tests.gui.hand import Hand
from tests.gui.screen import read_text

Look = Callable[[], object]


def walk(
    engine: Engine,
    settings: QSettings,
    look: Look,
    *,
    named: str = "",
    message: str = "",
    keyboard: bool = False,
) -> dict[str, object]:
    """Go from screen to screen by the one primary button, and undo at the end. ``look``: what the cure changes, as it is."""
    window = Wizard(Controller(engine), settings)
    frame = Frame(settings)
    frame.show_content(window)
    hand = Hand(window, keyboard=keyboard)
    began = time.monotonic()
    frame.show()
    window.focus_first()
    window.start()
    hand.wait(lambda: window.road.report, "the first look")
    presses = 0
    if named or message:
        screen = window.road.current
        assert isinstance(screen, AskScreen)
        way = "named" if named else "message"
        hand._in_front(frame)
        _choose(screen, way, keyboard=keyboard)
        presses += 1
        if message and screen.text is not None:
            screen.text.setPlainText(message)
        if named and screen.list is not None:
            rows = [i for i, c in enumerate(screen._known or ()) if c.named == named]
            _choose_row(screen.list, rows[0], keyboard=keyboard)
            presses += 1
    said: list[tuple[str, str]] = []
    before = look()
    while True:
        hand.wait(lambda: not isinstance(window.road.current, WaitingScreen), "the next screen")
        said.append((window.road.current.title, read_text(window)))
        if window.road.current.title in ("Fixed", "Works", "No NVIDIA GPU") or len(said) > 5:
            break
        primary = [b for b in window.road.current.findChildren(QPushButton) if b.property("primary")]
        hand.press(primary[0].text().replace("&", ""))
        presses += 1
    result = {
        "platform": QApplication.platformName(),
        "screens": said,
        "presses": presses,
        "seconds": time.monotonic() - began,
        "before": before,
        "after": look(),
    }
    done = window.road._done
    if done is not None:
        result["verified"] = msgspec.to_builtins(done.outcome.verified_for)
        hand.press("Undo...")
        hand.press("Undo these changes")
        hand.wait(lambda: hand.button("Close"), "the undoing's end")
        hand.press("Close")
        result["in the end"] = look()
    frame.close()
    settings.sync()
    result["journal"] = [getattr(e, "state", "bad") for e in Journal(state_folder()).entries()]
    return result


def _choose_row(rows: QListWidget, row: int, *, keyboard: bool) -> None:
    if keyboard:
        rows.setFocus()
        for _ in range(row):
            QTest.keyClick(rows, Qt.Key.Key_Down)
    else:
        place = rows.visualItemRect(rows.item(row)).center()
        QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    assert rows.currentRow() == row


def _choose(screen: AskScreen, way: str, *, keyboard: bool) -> None:
    button = screen.buttons[way]
    if not keyboard:
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        return
    for _ in screen.buttons:
        if button.isChecked():
            return
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Up)


def main(arguments: list[str]) -> int:
    """Walk once."""
    make_application()
    prefix, *message = arguments
    named = "" if message else prefix
    with tempfile.TemporaryDirectory() as scratch:
        settings = QSettings(f"{scratch}/s.ini", QSettings.Format.IniFormat)
        print(json.dumps(walk(ThisMachine((prefix,)), settings, lambda: None, named=named, message=" ".join(message))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "PREFIX/", "[MESSAGE...]")))
