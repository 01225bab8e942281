"""What a person can read and reach in a window."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QLabel, QWidget

from gui.widgets.text import MachineText


def shown_text(widget: QWidget) -> str:
    """Return every text that is visible within a widget."""
    labels = [w.text() for w in widget.findChildren(QLabel) if w.isVisibleTo(widget)]
    return "\n".join(labels + [t.toPlainText() for t in widget.findChildren(MachineText) if t.isVisibleTo(widget)])


def tab_chain(start: QWidget, most: int = 2000) -> Iterator[QWidget]:
    """Yield the widgets that Tab reaches from ``start``, once around.

    Raises:
        AssertionError: Tab never comes back.
    """
    widget = start
    for _ in range(most):
        yield widget
        following = widget.nextInFocusChain()
        while not takes_tab(following):
            following = following.nextInFocusChain()
        if following is start:
            return
        widget = following
    raise AssertionError("Tab is trapped")


def takes_tab(widget: QWidget) -> bool:
    """Whether Tab stops at a widget now."""
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.isVisible() and widget.isEnabled()


def tree(widget: QWidget) -> Iterator[QAccessibleInterface]:
    """Yield the accessible objects under a widget that are not invisible."""
    todo = [QAccessible.queryAccessibleInterface(widget)]
    while todo:
        here = todo.pop()
        if here is None or not here.isValid() or here.state().invisible:
            continue
        yield here
        todo.extend(here.child(i) for i in range(here.childCount()))
