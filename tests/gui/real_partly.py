"""On a real display and the real host: cure a variable's fault where it can be cured, and look again.

``python -m tests.gui.real_partly PREFIX``: LD_LIBRARY_PATH leads the environment astray. Prints what was seen.
"""

from __future__ import annotations

import json
import tempfile

import msgspec
from PySide6.QtCore import QSettings

from core.doctor.engine import ThisMachine
from core.transaction.journal import Journal, state_folder
from gui.controller import Controller
from gui.window.app import make_application
from gui.window.frame import Frame
from gui.window.window import Window
from installer.by_hand import by_hand
from tests.gui.hand import Hand
from tests.gui.screen import shown_text

CAUSE = "ld_library_path_override"


def run(prefix: str, scratch: str) -> dict[str, object]:
    """Fix it by mouse, and press "Check again"."""
    settings = QSettings(f"{scratch}/s.ini", QSettings.Format.IniFormat)
    window = Window(Controller(ThisMachine((prefix,))), settings)
    frame = Frame(settings)
    frame.show_content(window)
    hand = Hand(window, keyboard=False)
    frame.show()
    window.start()
    hand.wait(window.again.isEnabled, "the scan's end")
    hand.go_to("cuDNN")
    card = window.stack.currentWidget().cards[0]
    hand.press(card.fix_button.text())
    hand.press("Make these changes")
    hand.wait(lambda: hand.button("Close"), "the verification's end")
    done = hand.dialog.done_with if hand.dialog else None
    said: dict[str, object] = {
        "dialog": shown_text(hand.dialog or window),
        "verified": msgspec.to_builtins(done.outcome.verified_for) if done else None,
    }
    hand.press("Close")
    said["after"] = _left(window)
    hand.press("Check again")
    hand.wait(window.again.isEnabled, "the second scan's end")
    said["again"] = _left(window)
    hand.go_to("cuDNN")
    page = window.stack.currentWidget()
    said["page"] = shown_text(page)
    said["offered"] = [c.finding.cause for c in page.cards if c.fix_button]
    frame.close()
    settings.sync()
    return said


def _left(window: Window) -> list[object] | None:
    found = window.report.findings if window.report else None
    return None if found is None else [msgspec.to_builtins(f) for f in found if f.cause == CAUSE]


def main(arguments: list[str]) -> int:
    """Run it once."""
    make_application()
    with tempfile.TemporaryDirectory() as scratch:
        said = run(arguments[0], scratch)
    print(json.dumps({**said, "journal": [e.id for e in Journal(state_folder()).entries()]}, default=str))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "PREFIX/")))
