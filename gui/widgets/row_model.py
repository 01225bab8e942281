"""Rows: a read-only table over tuples, in which a row may hold rows; nothing is made before it is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont, QIcon

from core.model.steps import Severity
from gui import theme as looks
from gui.theme import Theme
from gui.widgets.text import shown_text, tip

Index = QModelIndex | QPersistentModelIndex
_NONE = QModelIndex()
_ALWAYS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row's cells, the rows inside it, and how it stands; WARNING and worse get an icon in the first cell."""

    cells: tuple[str, ...]
    inner: tuple[TableRow, ...] = ()
    severity: Severity = Severity.GOOD


class RowModel(QAbstractItemModel):
    """Two levels of rows under named columns; ``paths`` are the columns of machine text."""

    def __init__(
        self,
        columns: tuple[str, ...],
        rows: tuple[TableRow, ...],
        theme: Theme,
        *,
        paths: tuple[int, ...] = (),
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._columns = columns
        self._rows = rows
        self._paths = paths
        self._theme = theme
        self._fixed: QFont = looks.fixed_font()
        self._icons: dict[Severity, QIcon] = {}

    def row(self, index: Index) -> TableRow:
        """Return what stands at an index; its internal number is 0 for an outer row, else its outer row's place + 1."""
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
            return shown_text(text)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(text)
        if role == Qt.ItemDataRole.FontRole and column in self._paths:
            return self._fixed
        marked = row.severity >= Severity.UNKNOWN
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and marked:
            return self._icon(row.severity)
        if role == Qt.ItemDataRole.ForegroundRole and column == 0 and marked:
            return QColor(self._theme.of(row.severity))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            says = f"{looks.severity_word(row.severity)}: " if column == 0 and marked else ""
            return f"{says}{self._columns[column]}: {shown_text(text)}"
        return None

    def _icon(self, severity: Severity) -> QIcon:
        if severity not in self._icons:
            self._icons[severity] = looks.severity_icon(self._theme, severity)
        return self._icons[severity]
