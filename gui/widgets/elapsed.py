"""What shows that a task is running: the time so far, and a bar that moves."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QTimer
from PySide6.QtWidgets import QLabel, QProgressBar

from core.common.i18n import _

TICK_MILLISECONDS = 500


class ElapsedLabel(QLabel):
    """Minutes and seconds since ``begin``, until ``stop``."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("muted", True)
        self.setAccessibleName(_("Elapsed time"))
        self._clock = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MILLISECONDS)
        self._timer.timeout.connect(self._tick)

    def begin(self) -> None:
        """Start counting."""
        self._clock.start()
        self._timer.start()
        self._tick()

    def resume(self, before: ElapsedLabel) -> None:
        """Continue from another label's time."""
        self._clock = before._clock
        self._tick()

    def stop(self) -> None:
        """Stop counting."""
        self._timer.stop()

    def _tick(self) -> None:
        seconds = self._clock.elapsed() // 1000
        self.setText(f"{seconds // 60}:{seconds % 60:02}")


def moving_bar() -> QProgressBar:
    """Return a bar that moves, for work whose remaining time is unknown."""
    bar = QProgressBar()
    bar.setAccessibleName(_("Progress"))
    bar.setTextVisible(False)
    bar.setRange(0, 0)
    return bar
