"""RowModel: a read-only table over tuples, whose rows may contain rows; nothing is created before it is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont, QIcon

from core.common.versions import whole_number
from core.model.steps import Severity
from gui import theme as looks
from gui.theme import Theme
from gui.widgets.text import shown_text, tooltip_text

MIN_COMMON = 8
"""Minimum number of characters of common folders for leaving them out."""
Index = QModelIndex | QPersistentModelIndex
_NONE = QModelIndex()
_ALWAYS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row's cells, inner rows and severity; WARNING and worse get an icon in the first cell."""

    cells: tuple[str, ...]
    inner: tuple[TableRow, ...] = ()
    severity: Severity = Severity.GOOD


class RowModel(QAbstractItemModel):
    """Two levels of rows under named columns; ``paths`` are the columns with paths."""

    def __init__(
        self,
        columns: tuple[str, ...],
        rows: tuple[TableRow, ...],
        theme: Theme,
        *,
        paths: tuple[int, ...],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._columns = columns
        self._rows = rows
        self._paths = paths
        self._theme = theme
        self._fixed: QFont = looks.fixed_font()
        self._icons: dict[Severity, QIcon] = {}
        self._given = rows
        self._common = {i: common_folder([r.cells[i] for r in rows if i < len(r.cells)]) for i in paths}

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort the outer rows by a column, numbers by value; a column below 0 restores the original order."""
        self.beginResetModel()
        down = order == Qt.SortOrder.DescendingOrder
        given = self._given
        self._rows = given if column < 0 else tuple(sorted(given, key=lambda r: _sort_key(r, column), reverse=down))
        self.endResetModel()

    def row(self, index: Index) -> TableRow:
        """Return the row at an index, whose internal id is 0 for an outer row, else its outer row's position + 1."""
        outer = index.internalId()
        return self._rows[outer - 1].inner[index.row()] if outer else self._rows[index.row()]

    def index(self, row: int, column: int, parent: Index = _NONE) -> QModelIndex:
        """See QAbstractItemModel."""
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, child: Index = _NONE) -> QModelIndex:  # type: ignore[override]  # QObject.parent() is another
        """See QAbstractItemModel."""
        outer = child.internalId() if child.isValid() else 0
        return self.createIndex(outer - 1, 0, 0) if outer else QModelIndex()

    def rowCount(self, parent: Index = _NONE) -> int:
        """See QAbstractItemModel."""
        if not parent.isValid():
            return len(self._rows)
        return 0 if parent.internalId() or parent.column() else len(self._rows[parent.row()].inner)

    def columnCount(self, parent: Index = _NONE) -> int:  # noqa: ARG002 - Qt's form
        """See QAbstractItemModel."""
        return len(self._columns)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """See QAbstractItemModel."""
        return _ALWAYS if index.isValid() else Qt.ItemFlag.NoItemFlags

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """See QAbstractItemModel."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self._columns[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """See QAbstractItemModel."""
        row, column = self.row(index), index.column()
        text = row.cells[column] if column < len(row.cells) else ""
        if role == Qt.ItemDataRole.DisplayRole:
            return shown_text(self._without_common(index, column, text))
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip_text(text)
        if role == Qt.ItemDataRole.FontRole and column in self._paths:
            return self._fixed
        marked = row.severity >= Severity.UNKNOWN
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and marked:
            return self._icon(row.severity)
        if role == Qt.ItemDataRole.ForegroundRole and column == 0 and marked:
            return QColor(self._theme.severity_colour(row.severity))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            says = f"{looks.severity_word(row.severity)}: " if column == 0 and marked else ""
            return f"{says}{self._columns[column]}: {shown_text(text)}"
        return None

    def _without_common(self, index: Index, column: int, text: str) -> str:
        """Return a path without the parent folders that all rows of the column share."""
        common = self._common.get(column, 0)
        return f"…{text[common:]}" if common and not index.internalId() else text

    def _icon(self, severity: Severity) -> QIcon:
        if severity not in self._icons:
            self._icons[severity] = looks.severity_icon(self._theme, severity)
        return self._icons[severity]


def common_folder(paths: list[str]) -> int:
    """Return the number of leading characters of the folders that several paths share; 0 if that saves nothing."""
    if len(paths) < 2:
        return 0
    first, last = min(paths), max(paths)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    end = max(first.rfind("/", 0, same), first.rfind("\\", 0, same))
    return end if end >= MIN_COMMON else 0


def _sort_key(row: TableRow, column: int) -> list[tuple[int, int, str]]:
    """Return a row's sort key: runs of digits by value, everything else as text."""
    text = row.cells[column] if column < len(row.cells) else ""
    parts = [p for p in re.split(r"(\d+)", text) if p]
    return [(1, 0, p.casefold()) if (number := whole_number(p)) is None else (0, number, "") for p in parts]
