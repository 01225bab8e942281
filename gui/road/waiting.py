"""WaitingScreen: what is being done, a bar that moves, the time that has passed, and Cancel."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QHBoxLayout, QProgressBar

from core.common.i18n import _
from core.model.steps import SECTIONS_OF_STEP
from gui.road.screen import Screen
from gui.theme import Theme
from gui.widgets.elapsed import ElapsedLabel
from gui.widgets.text import announce, plain_label, shown_text

SECTIONS = len({s for sections in SECTIONS_OF_STEP.values() for s in sections})


class WaitingScreen(Screen):
    """Shown while something takes time."""

    def __init__(self, title: str, note: str, cancel: Callable[[], object], theme: Theme) -> None:
        super().__init__(title, theme, help_word="first-screen", back=cancel)
        self._cancel = cancel
        self._ended: set[str] = set()
        self.add_title(title)
        self.bar = QProgressBar()
        self.bar.setAccessibleName(_("Progress"))
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 0)  # it moves, since the remaining time is unknown
        self.box.addWidget(self.bar)
        row = QHBoxLayout()
        self.step = plain_label(note, muted=True, selectable=False)
        self.step.setObjectName("step")
        self.elapsed = ElapsedLabel()
        row.addWidget(self.step, 1)
        row.addWidget(self.elapsed)
        self.box.addLayout(row)
        self.end()
        self.stop = self.add_button(_("Cancel"), self._stop)
        self.elapsed.begin()

    def _stop(self) -> None:
        self.stop.setEnabled(False)
        self.step.setText(_("Stopping; the changes so far are rolled back."))
        self._cancel()

    def say(self, sentence: str) -> None:
        """Show the step that is being done."""
        if self.stop.isEnabled():
            self.step.setText(shown_text(sentence))
            announce(self, self.step.text())

    def section(self, section: str, state: str) -> None:
        """Move the bar: a part of the scan has ended."""
        if state != "looking":
            self._ended.add(section)
            self.bar.setRange(0, SECTIONS)
            self.bar.setValue(len(self._ended))
