"""On a real display and the real host: find a planted fault, cure it, verify it and undo it, by mouse and keyboard.

``python -m tests.gui.real_run PREFIX... FILE``: FILE is missing in the first environment. Prints what was seen.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QSettings
from PySide6.QtWidgets import QApplication

from core.doctor.engine import ThisMachine
from core.transaction.journal import Journal, state_folder
from gui.controller import Controller
from gui.window.app import make_application
from gui.window.frame import Frame
from gui.window.window import Window
from installer.by_hand import by_hand
from tests.gui.hand import Hand
from tests.gui.screen import shown_text

WENT_WELL: dict[str, object] = {
    "before": False,
    "rehearsed": True,
    "touched by the rehearsal": False,
    "verified": True,
    "after": True,
    "left": [],
    "undone": True,
    "in the end": False,
    "threads left": [],
    "widgets left": 0,
}
"""What ``run`` says where all of it is as it should be, beside the page and the cause."""


def run(prefixes: tuple[str, ...], look: Callable[[], object], scratch: str, *, keyboard: bool) -> dict[str, object]:
    """Do all of it once. ``look``: what the fix changes, as it is now."""
    settings = QSettings(f"{scratch}/s.ini", QSettings.Format.IniFormat)
    window = Window(Controller(ThisMachine(prefixes)), settings)
    frame = Frame(settings)
    frame.show_content(window)
    hand = Hand(window, keyboard=keyboard)
    frame.show()
    window.start()
    hand.wait(window.again.isEnabled, "the scan's end")
    page = window.stack.currentWidget()
    cause = page.cards[0].finding
    said: dict[str, object] = {"page": page.title, "cause": cause.cause, "before": look()}
    assert page.cards[0].fix_button is not None
    hand.press(page.cards[0].fix_button.text())
    hand.wait(lambda: hand.button("Make these changes"), "the rehearsal's end")
    said["rehearsed"] = "Rehearsed on this machine: works." in shown_text(hand.dialog or window)
    said["touched by the rehearsal"] = look()
    hand.press("Make these changes")
    hand.wait(lambda: hand.button("Close"), "the verification's end")
    said["verified"] = "Verified: the fault is gone" in shown_text(hand.dialog or window)
    said["after"] = look()
    hand.press("Close")
    hand.press("Check again")
    hand.wait(window.again.isEnabled, "the second scan's end")
    report = window.report
    said["left"] = [f.cause for f in report.findings if f.cause == cause.cause] if report else None
    hand.go_to("Summary")
    hand.press("Undo...")
    hand.press("Undo these changes")
    hand.wait(lambda: hand.button("Close"), "the undoing's end")
    said["undone"] = "Undone:" in shown_text(hand.dialog or window)
    hand.press("Close")
    said["in the end"] = look()
    frame.close()
    settings.sync()  # while its folder is there
    frame.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    said["threads left"] = [t.name for t in threading.enumerate() if t.name.startswith("doctor")]
    said["widgets left"] = len(QApplication.topLevelWidgets())
    return said


def main(arguments: list[str]) -> int:
    """Run by mouse, and again by keyboard alone."""
    app = make_application()
    *prefixes, file = arguments
    with tempfile.TemporaryDirectory() as scratch:
        rounds = [run(tuple(prefixes), Path(file).exists, scratch, keyboard=k) for k in (False, True)]
    states = [getattr(e, "state", "bad") for e in Journal(state_folder()).entries()]
    print(json.dumps({"platform": app.platformName(), "rounds": rounds, "journal": states}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "PREFIX...", "FILE")))
