"""What a person can read and reach in a window."""

from __future__ import annotations

import re
from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import (
    QAbstractButton,
    QLabel,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QTextEdit,
    QToolButton,
    QWidget,
)

from gui.widgets.text import MachineText


def shown_text(widget: QWidget) -> str:
    """Return every text that is visible within a widget."""
    labels = [w.text() for w in widget.findChildren(QLabel) if w.isVisibleTo(widget)]
    return "\n".join(labels + [t.toPlainText() for t in widget.findChildren(MachineText) if t.isVisibleTo(widget)])


def read_text(widget: QWidget) -> str:
    """Return everything that a person reads without scrolling or unfolding: labels, buttons, rows, what a field asks for."""
    found = []
    for w in widget.findChildren(QWidget):
        if not w.isVisible() or w.visibleRegion().isEmpty():
            continue
        if isinstance(w, QLabel):
            found.append(w.text())
        elif isinstance(w, QAbstractButton):
            found.append("" if _is_icon(w) else re.sub(r"\(&\w\)|&(?!&)", "", w.text()))
        elif isinstance(w, QPlainTextEdit):
            found.append(w.toPlainText() or w.placeholderText())
        elif isinstance(w, QTextEdit):
            found.append(w.toPlainText())
        elif isinstance(w, QListWidget):
            rows = [w.item(i) for i in range(w.count())]
            found += [r.text() for r in rows if w.viewport().rect().intersects(w.visualItemRect(r))]
    return "\n".join(found)


def _is_icon(button: QAbstractButton) -> bool:
    """Whether a button shows its icon alone."""
    return isinstance(button, QToolButton) and button.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly


def primary_buttons(widget: QWidget) -> list[QPushButton]:
    """Return the buttons that stand out."""
    return [b for b in widget.findChildren(QPushButton) if b.property("primary") and b.isVisible()]


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
    yield from _below(QAccessible.queryAccessibleInterface(widget))


def _below(here: QAccessibleInterface | None) -> Iterator[QAccessibleInterface]:
    """Yield an object and those under it; a child is asked for when its turn comes: Qt may delete one that nobody asks for again."""
    if here is None or not here.isValid() or here.state().invisible:
        return
    yield here
    for i in reversed(range(here.childCount())):
        yield from _below(here.child(i))
