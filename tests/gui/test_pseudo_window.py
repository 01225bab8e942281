"""No text of the window escapes translation, and its layouts bear texts that are two fifths longer."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QPlainTextEdit,
    QTableView,
    QTreeView,
    QWidget,
)

from core.common import i18n
from core.doctor.examine import diagnose_snapshot
from gui.widgets.text import MachineText
from tests.gui import recorded
from tests.gui.conftest import Opened
from tests.gui.engines import Showing
from tests.gui.test_access import assert_whole, everywhere, go
from tests.pseudo import Pseudo, escaped, of_snapshot

PSEUDO = Pseudo()


@pytest.mark.parametrize("name", ["healthy", "shadowed", "no driver", "ten gpus", "everything broken"])
def test_no_word_of_the_window_escapes_and_nothing_is_cut(
    name: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.language.use_chosen_language", lambda _settings: False)
    monkeypatch.setattr(i18n, "_translation", PSEUDO)
    report = diagnose_snapshot(recorded.report(name).snapshot)
    window = opened(Showing(report))
    window.resize(1000, 700)
    ids = [w for f in report.findings for w in (f.id, f.cause, f.subject)]
    given = [*of_snapshot(msgspec.json.encode(report.snapshot)), *ids, report.version]
    for page in everywhere(window):
        go(window, page)
        assert_whole(window)
        assert page.horizontalScrollBar().maximum() == 0, page.title
        texts = [t for w in window.findChildren(QWidget) if w.isVisible() for t in said_by(w)]
        assert {w: next(t for t in texts if w in t) for w in escaped("\n".join(texts), given)} == {}
    menus = [window.rail.settings_button.menu(), *window.rail.settings_button.menu().findChildren(QMenu)]
    actions = [a.text() for m in menus for a in m.actions()]
    assert escaped("\n".join(actions), ["English", "Deutsch"]) == set()


def said_by(widget: QWidget) -> list[str]:
    """Return every text that a widget shows or tells a screen reader."""
    texts = [widget.toolTip(), widget.accessibleName(), widget.accessibleDescription()]
    if isinstance(widget, QLabel | QAbstractButton | QLineEdit):
        texts.append(widget.text())
    if isinstance(widget, QPlainTextEdit):
        texts.append(widget.placeholderText())
    if isinstance(widget, MachineText | QPlainTextEdit):
        texts.append(widget.toPlainText())
    if isinstance(widget, QComboBox):
        texts += [widget.itemText(i) for i in range(widget.count())]
    if isinstance(widget, QListWidget):
        texts += [widget.item(i).text() for i in range(widget.count())]
    elif isinstance(widget, QTableView | QTreeView) and (model := widget.model()) is not None:
        texts += [str(model.headerData(c, Qt.Orientation.Horizontal) or "") for c in range(model.columnCount())]
        texts += [
            str(model.index(r, c).data() or "") for r in range(model.rowCount()) for c in range(model.columnCount())
        ]
    return [t.replace("&", "") for t in texts if t]
