"""FlowLayout: widgets side by side, wrapped to further lines where the width does not suffice."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QLayout, QLayoutItem


class FlowLayout(QLayout):
    """Places widgets side by side and wraps them to further lines; ``right`` aligns them there."""

    def __init__(self, *, right: bool = False) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self._right = right
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(8)

    def addItem(self, item: QLayoutItem) -> None:
        """See QLayout."""
        self._items.append(item)

    def count(self) -> int:
        """See QLayout."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """See QLayout."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """See QLayout."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        """Return True: a narrower layout is higher."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines."""
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def sizeHint(self) -> QSize:
        """Return the size of all items in one line."""
        hints = [i.sizeHint() for i in self._shown_items()]
        wide = sum(h.width() for h in hints) + self.spacing() * max(len(hints) - 1, 0)
        return QSize(wide, max((h.height() for h in hints), default=0))

    def minimumSize(self) -> QSize:
        """Return the size of the largest item."""
        hints = [i.minimumSize() for i in self._shown_items()]
        return QSize(max((h.width() for h in hints), default=0), max((h.height() for h in hints), default=0))

    def setGeometry(self, rect: QRect) -> None:
        """Place the items."""
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def _shown_items(self) -> list[QLayoutItem]:
        return [i for i in self._items if not i.isEmpty()]

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        lines: list[list[QLayoutItem]] = [[]]
        used = 0
        for item in self._shown_items():
            width = item.sizeHint().width()
            if lines[-1] and used + width > rect.width():
                lines.append([])
                used = 0
            lines[-1].append(item)
            used += width + self.spacing()
        y = rect.y()
        for line in lines:
            high = max((i.sizeHint().height() for i in line), default=0)
            wide = sum(i.sizeHint().width() for i in line) + self.spacing() * (len(line) - 1)
            x = rect.x() + max(rect.width() - wide, 0) if self._right else rect.x()
            for item in line if move else ():
                size = QSize(min(item.sizeHint().width(), rect.width()), item.sizeHint().height())
                item.setGeometry(QRect(QPoint(x, y + (high - size.height()) // 2), size))
                x += size.width() + self.spacing()
            y += high + self.spacing()
        return y - rect.y() - self.spacing()
