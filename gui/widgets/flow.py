"""FlowRow: widgets side by side, wrapped to further lines where the width does not suffice.

It is a widget and not a QLayout: Qt makes and deletes a layout's items, and a Python layout that keeps them is left with
wrappers of freed memory. The next object at such an address crashes PySide.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget


class FlowRow(QWidget):
    """Places widgets side by side and wraps them to further lines; ``right`` aligns them there."""

    def __init__(self, *, spacing: int = 8, right: bool = False) -> None:
        super().__init__()
        self._widgets: list[QWidget] = []
        self._spacing = spacing
        self._right = right
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def add(self, widget: QWidget) -> None:
        """Add a widget at the end."""
        widget.setParent(self)
        self._widgets.append(widget)
        self.updateGeometry()

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines."""
        return self._arrange(width, move=False)

    def sizeHint(self) -> QSize:
        """Return the size of all widgets in one line."""
        hints = [w.sizeHint() for w in self._shown_widgets()]
        wide = sum(h.width() for h in hints) + self._spacing * max(len(hints) - 1, 0)
        return QSize(wide, max((h.height() for h in hints), default=0))

    def minimumSizeHint(self) -> QSize:
        """Return the size of the largest widget."""
        hints = [_least(w) for w in self._shown_widgets()]
        return QSize(max((h.width() for h in hints), default=0), max((h.height() for h in hints), default=0))

    def event(self, event: QEvent) -> bool:
        """Place the widgets anew when one is shown, hidden or gets another size hint."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
            self._arrange(self.width(), move=True)
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the widgets."""
        super().resizeEvent(event)
        self._arrange(self.width(), move=True)

    def _shown_widgets(self) -> list[QWidget]:
        return [w for w in self._widgets if not w.isHidden()]

    def _arrange(self, room: int, *, move: bool) -> int:
        lines: list[list[QWidget]] = [[]]
        used = 0
        for widget in self._shown_widgets():
            width = widget.sizeHint().width()
            if lines[-1] and used + width > room:
                lines.append([])
                used = 0
            lines[-1].append(widget)
            used += width + self._spacing
        y = 0
        for line in lines:
            high = max((w.sizeHint().height() for w in line), default=0)
            wide = sum(w.sizeHint().width() for w in line) + self._spacing * (len(line) - 1)
            x = max(room - wide, 0) if self._right else 0
            for widget in line if move else ():
                size = QSize(min(widget.sizeHint().width(), room), widget.sizeHint().height())
                widget.setGeometry(QRect(QPoint(x, y + (high - size.height()) // 2), size))
                x += size.width() + self._spacing
            y += high + self._spacing
        return y - self._spacing


def _least(widget: QWidget) -> QSize:
    return widget.minimumSizeHint().expandedTo(widget.minimumSize())
