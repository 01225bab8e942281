"""WaitingScreen: the running task, a moving bar, elapsed time, and Cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtWidgets import QHBoxLayout

from core.common.i18n import _
from core.model.steps import SECTIONS_OF_STEP
from gui.road.screen import Screen
from gui.theme import Theme
from gui.widgets.elapsed import ElapsedLabel, moving_bar
from gui.widgets.text import announce, plain_label, shown_text

Awaited = Literal["look", "check", "take", "explain", "plan", "change"]
"""The tasks that can run."""
SECTIONS = len({s for sections in SECTIONS_OF_STEP.values() for s in sections})


class WaitingScreen(Screen):
    """Shown while a task runs."""

    def __init__(self, what: Awaited, cancel: Callable[[], object], theme: Theme) -> None:
        title, note = awaited_words(what)
        super().__init__(title, theme, help_word="first-screen", back=cancel)
        self._cancel = cancel
        self._ended: set[str] = set()
        self.add_title(title)
        self.bar = moving_bar()
        self.box.addWidget(self.bar)
        row = QHBoxLayout()
        self.box.addLayout(row)
        self.step = plain_label(note, muted=True, selectable=False)
        self.step.setObjectName("step")
        self.elapsed = ElapsedLabel()
        row.addWidget(self.step, 1)
        row.addWidget(self.elapsed)
        self.end()
        self.stop = self.add_button(_("Cancel"), self._stop)
        self.elapsed.begin()

    def resume(self, before: WaitingScreen) -> None:
        """Continue from the screen that this one replaces, with its time and progress."""
        self.elapsed.resume(before.elapsed)
        self._ended = before._ended
        self.bar.setRange(before.bar.minimum(), before.bar.maximum())
        self.bar.setValue(before.bar.value())
        if not before.stop.isEnabled():
            self._show_stopping()

    def _stop(self) -> None:
        self._show_stopping()
        self._cancel()

    def _show_stopping(self) -> None:
        self.stop.setEnabled(False)
        self.step.setText(_("Stopping; the changes so far are rolled back."))

    def say(self, sentence: str) -> None:
        """Show the current step."""
        if self.stop.isEnabled():
            self.step.setText(shown_text(sentence))
            announce(self, self.step.text())

    def section(self, section: str, state: str) -> None:
        """Advance the bar: a part of the scan has ended."""
        if state != "looking":
            self._ended.add(section)
            self.bar.setRange(0, SECTIONS)
            self.bar.setValue(len(self._ended))


def awaited_words(what: Awaited) -> tuple[str, str]:
    """Return the title of a task, and what it does to the computer."""
    nothing = _("This changes nothing.")
    return {
        "look": (_("Looking"), nothing),
        "check": (_("Checking"), nothing),
        "take": (_("Reading"), nothing),
        "explain": (_("Reading"), nothing),
        "plan": (_("Testing the fix beforehand"), _("Nothing is changed yet.")),
        "change": (_("Making the change"), _("A new scan checks it afterwards.")),
    }[what]
