"""RowTable: rows under columns, as high as its content; long machine text is elided in the middle and available in full."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QModelIndex, QSize, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyle, QTreeView

from core.model.steps import Severity
from gui.theme import Theme, fixed_font
from gui.widgets.row_model import RowModel, TableRow

MAX_ROWS = 14
"""Maximum number of rows shown at once; a longer table scrolls."""
PATH_CHARACTERS = 26
"""Minimum width of a column of machine text, in characters; the table scrolls horizontally before it is narrower."""
MAX_PATH_CHARACTERS = 120
"""Widest that such a column becomes to tell its texts apart."""
MAX_CELL_CHARACTERS = 26
"""Maximum width of any other column, in characters; the tooltip shows the whole text."""
SAMPLED_ROWS = 40
"""Number of rows from which a column's width is determined."""


class RowTable(QTreeView):
    """A read-only table. Ctrl+C copies the selected row; a click on a column's header sorts by it."""

    def __init__(
        self, name: str, columns: tuple[str, ...], rows: tuple[TableRow, ...], theme: Theme, *, paths: tuple[int, ...]
    ) -> None:
        super().__init__()
        self._rows = model = RowModel(columns, rows, theme, paths=paths, parent=self)
        self._least = {i: distinct_characters(model.index(n, i).data() for n in range(len(rows))) for i in paths}
        """Column of machine text -> its minimum width, in characters."""
        self.setModel(self._rows)
        self.setAccessibleName(name)
        self.setRootIsDecorated(any(row.inner for row in rows))
        icon = any(row.severity >= Severity.UNKNOWN for row in rows) * self._of_style(
            QStyle.PixelMetric.PM_SmallIconSize
        )
        self._beside = self.rootIsDecorated() * self.indentation() + icon
        """Width of the arrow and the icon in the first column."""
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._size_columns(columns, rows, paths)
        self.header().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)  # in the given order until a header is clicked
        self.header().setSortIndicatorClearable(True)
        self.setSortingEnabled(True)
        self.expanded.connect(self._span)
        self.expanded.connect(self._fit)
        self.collapsed.connect(self._fit)
        if rows:
            self.setCurrentIndex(self._rows.index(0, 0))
            self.clearSelection()
        self._fit()

    def _size_columns(self, columns: tuple[str, ...], rows: tuple[TableRow, ...], paths: tuple[int, ...]) -> None:
        """Choose widths from the first rows: measuring thousands would take too long."""
        metrics = QFontMetrics(self.font())
        header = self.header()
        header.setStretchLastSection(not paths)
        header.setMinimumSectionSize(metrics.averageCharWidth() * 5)
        sample = [r for row in rows[:SAMPLED_ROWS] for r in (row, *row.inner[:4])]
        for i, title in enumerate(columns):
            header.setSectionResizeMode(i, QHeaderView.ResizeMode.Interactive)
            if i in paths:
                continue
            texts = [r.cells[i][:60] for r in sample if i < len(r.cells)]
            widest = max((metrics.horizontalAdvance(t) for t in texts), default=0)
            most = max(metrics.averageCharWidth() * MAX_CELL_CHARACTERS, metrics.horizontalAdvance(title))
            room = 72 if i == 0 else 24
            header.resizeSection(i, min(max(widest, metrics.horizontalAdvance(title)), most) + room)

    def _span(self, index: QModelIndex) -> None:
        """Make an inner row of one cell, a sentence, span all columns."""
        for i in range(self._rows.rowCount(index)):
            if len(self._rows.row(self._rows.index(i, 0, index)).cells) == 1:
                self.setFirstColumnSpanned(i, index, True)

    def _fit(self, _index: QModelIndex | None = None) -> None:
        """Adjust the height to the visible rows."""
        model = self._rows
        count = model.rowCount()
        for i in range(min(count, MAX_ROWS)):
            index = model.index(i, 0)
            if self.isExpanded(index):
                count += model.rowCount(index)
        height = self.sizeHintForRow(0) if count else 0
        frame = 2 * self.frameWidth() + self.header().sizeHint().height()
        wide = self.header().length() > self.viewport().width()
        bar = self.horizontalScrollBar().sizeHint().height() if wide else 6
        self.setFixedHeight(frame + min(count, MAX_ROWS) * height + bar)

    def _of_style(self, metric: QStyle.PixelMetric) -> int:
        return self.style().pixelMetric(metric)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave room for a horizontal scroll bar, if one is needed."""
        super().resizeEvent(event)
        header = self.header()
        others = sum(header.sectionSize(i) for i in range(header.count()) if i not in self._least)
        metrics = QFontMetrics(fixed_font())
        margins = 4 * (self._of_style(QStyle.PixelMetric.PM_FocusFrameHMargin) + 1)  # of the text, and of an icon
        for i, characters in self._least.items():
            beside = self._beside if i == 0 else 0
            width = (self.viewport().width() - others) // len(self._least)
            header.resizeSection(i, max(width, metrics.horizontalAdvance("0" * characters) + margins + beside))
        self._fit()

    def minimumSizeHint(self) -> QSize:
        """Return a small width: the table scrolls horizontally."""
        return QSize(120, self.minimumHeight())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the current row; other keys go to the view."""
        if event.matches(QKeySequence.StandardKey.Copy) and self.currentIndex().isValid():
            row = self._rows.row(self.currentIndex())
            QGuiApplication.clipboard().setText("\t".join(row.cells))
            return
        super().keyPressEvent(event)


def distinct_characters(texts: Iterable[str]) -> int:
    """Return the number of characters from which different texts look different when they are elided in the middle."""
    different, room = set(texts), PATH_CHARACTERS
    while room < MAX_PATH_CHARACTERS and len({_ends(t, room) for t in different}) < len(different):
        room += 1
    return room


def _ends(text: str, room: int) -> tuple[str, ...]:
    side = (room - 2) // 2
    return (text,) if len(text) <= room else (text[:side], text[-side:])
