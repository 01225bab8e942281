"""NavigationBar: progress, the current activity, elapsed time, Cancel, Back and Next; and the layout of the window's parts."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from core.common.i18n import _
from core.model.steps import SECTIONS_OF_STEP
from gui.widgets.elapsed import ElapsedLabel, moving_bar
from gui.widgets.layout import spaced
from gui.widgets.text import ElidedLabel, push_button

SECTIONS = len({s for sections in SECTIONS_OF_STEP.values() for s in sections})


class NavigationBar(QFrame):
    """During a scan, the bar shows the fraction of parts that have ended; for other work it moves."""

    def __init__(self, cancel: Callable[[], None], go: Callable[[int], None]) -> None:
        super().__init__()
        self.setObjectName("bar")
        row = spaced(QHBoxLayout(self), (20, 10, 20, 10))
        self.progress = moving_bar()
        self.progress.setMaximumWidth(160)
        self.saying = ElidedLabel()
        self.elapsed = ElapsedLabel()
        self.cancel = push_button(_("&Cancel"), cancel)
        self.back = push_button(_("&Back"), lambda: go(-1))
        self.next = push_button(_("&Next"), lambda: go(1), primary=True)
        row.addWidget(self.progress)
        row.addWidget(self.elapsed)
        row.addWidget(self.saying, 1)
        for button in (self.cancel, self.back, self.next):
            row.addWidget(button)

    def set_busy(self, busy: bool) -> None:
        """Show whether a task is running."""
        self.progress.setVisible(busy)
        self.progress.setRange(0, 0)
        self.elapsed.setVisible(busy)
        self.cancel.setVisible(busy)
        if busy:
            self.elapsed.begin()
        else:
            self.elapsed.stop()
            self.saying.say("")

    def show_part(self, ended: int) -> None:
        """Show how many parts of a scan have ended."""
        self.progress.setRange(0, SECTIONS)
        self.progress.setValue(ended)

    def enable_buttons(self, *, back: bool, forth: bool) -> None:
        """Enable Back and Next where they lead somewhere; at either end the focus moves to the other button."""
        lost = self.back.hasFocus() or self.next.hasFocus()
        self.back.setEnabled(back)
        self.next.setEnabled(forth)
        if lost and not (self.back.hasFocus() or self.next.hasFocus()):
            (self.back if back else self.next).setFocus()


def arrange_parts(left: QWidget, top: QWidget, middle: QWidget, bottom: QWidget) -> QWidget:
    """Return the window's parts, laid out."""
    whole = QWidget()
    row = spaced(QHBoxLayout(whole), spacing=0)
    row.addWidget(left)
    right = QVBoxLayout()
    row.addLayout(right, 1)
    right.setSpacing(0)
    right.addWidget(top)
    right.addWidget(middle, 1)
    right.addWidget(bottom)
    return whole
