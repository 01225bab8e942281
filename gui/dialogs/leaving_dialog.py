"""LeavingDialog: shows what will leave this machine before a report is copied or saved."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QHBoxLayout, QListWidget, QVBoxLayout, QWidget

from core.common.i18n import _, n_
from core.model.findings import Report
from core.report.redact import REDACTED_KINDS
from gui.widgets.layout import spaced
from gui.widgets.text import heading_label, plain_label, push_button, shown_text

MOST_KINDS = 4
"""Maximum number of kinds of names listed one by one; the rest is counted."""


class LeavingDialog(QDialog):
    """Lists what was removed from a report and what remains; its button copies or saves."""

    def __init__(self, clean: Report, act: str, parent: QWidget) -> None:
        """``act``: the text of the button."""
        super().__init__(parent)
        self.setWindowTitle(_("What leaves this machine"))
        self.setModal(True)
        outer = spaced(QVBoxLayout(self), (20, 16, 20, 12), 8)
        outer.addWidget(heading_label(_("What leaves this machine"), 1.3))
        self.replaced = self._add_list(outer, _("Replaced by placeholders:"), replaced_kinds(clean))
        self.stays = self._add_list(outer, _("Kept as is:"), kept_kinds())
        row = QHBoxLayout()
        outer.addLayout(row)
        self.act_button, self.cancel_button = (
            push_button(act, self.accept, primary=True),
            push_button(_("Cancel"), self.reject),
        )
        row.addStretch(1)
        row.addWidget(self.act_button)
        row.addWidget(self.cancel_button)
        self.act_button.setFocus()

    def _add_list(self, outer: QVBoxLayout, title: str, lines: tuple[str, ...]) -> QListWidget:
        label = plain_label(title, selectable=False, strong=True)
        rows = QListWidget()
        rows.addItems([shown_text(line) for line in lines])
        rows.setAccessibleName(title)
        rows.setAccessibleDescription("; ".join(lines))
        rows.setTabKeyNavigation(False)
        height = rows.sizeHintForRow(0) * len(lines) + 2 * rows.frameWidth() + 4
        rows.setFixedHeight(height)
        rows.setMinimumWidth(rows.sizeHintForColumn(0) + 40)
        rows.setCurrentRow(0)
        outer.addWidget(label)
        outer.addWidget(rows)
        return rows


def replaced_kinds(clean: Report) -> tuple[str, ...]:
    """Return the kinds of names that were replaced, with the number of places, the most frequent first."""
    taken = sorted(clean.taken_out or (), key=lambda t: -t.places)
    if not taken:
        return (_("nothing: no names were found"),)
    lines = [
        _("{what}: {places}", what=_(REDACTED_KINDS.get(t.kind, t.kind)), places=t.places) for t in taken[:MOST_KINDS]
    ]
    rest = taken[MOST_KINDS:]
    if rest:
        places = sum(t.places for t in rest)
        lines.append(n_("{n} more kind: {places}", "{n} more kinds: {places}", len(rest), places=places))
    return tuple(lines)


def kept_kinds() -> tuple[str, ...]:
    """Return what a report keeps."""
    return (_("versions and GPU models"), _("paths, without names"), _("variables by name, values without names"))
