"""AskScreen: what does not work? A program or environment, an error message, or nothing in particular."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QButtonGroup,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from core.common.i18n import _
from gui.road.screen import Screen
from gui.theme import Theme
from gui.widgets.layout import spaced
from gui.widgets.text import flat_button, shown_text, tooltip_text

if TYPE_CHECKING:
    from core.doctor.named import Choice

Way = Literal["named", "message", "whole"]
SHOWN_ROWS = 4
"""Environments that are visible at first."""
SHOWN_LINES = 5
FRAME_PIXELS = 8
"""Border and padding of the list, above and below, as the style sheet has them."""


class Question(NamedTuple):
    """The person's question."""

    way: Way
    text: str = ""
    """The named environment, or the message."""


class _Option(QRadioButton):
    """An option that says when the mouse or its letter chose it. Arrow keys only pass over it, and keep the focus."""

    taken = Signal()

    def event(self, event: QEvent) -> bool:
        """Say it after the event, which gives the option the focus."""
        done = super().event(event)
        if event.type() in (QEvent.Type.MouseButtonRelease, QEvent.Type.Shortcut):
            self.taken.emit()
        return done


class AskScreen(Screen):
    """The first screen. ``look`` is called with the question; ``browse`` lets the person select a folder."""

    def __init__(self, look: Callable[[Question], object], browse: Callable[[], object], theme: Theme) -> None:
        super().__init__(_("What does not work?"), theme, help_word="first-screen")
        self._look, self._browse = look, browse
        self.add_title(self.title)
        self._group = QButtonGroup(self)
        self._places: dict[Way, int] = {}
        self._parts: dict[Way, QWidget] = {}
        self.list: QListWidget | None = None
        self.text: QPlainTextEdit | None = None
        self._known: tuple[Choice, ...] | None = None
        self.buttons: dict[Way, QRadioButton] = {}
        self._option("named", _("A &program or environment"))
        self._option("message", _("An &error message"))
        self._option("whole", _("Just &check this computer"))
        self.add_text(_("A scan changes nothing. You can also drop a folder or a file here."), muted=True)
        self.end()
        self.add_button(_("&Look"), self.submit, primary=True)
        self.buttons["whole"].setChecked(True)
        self._group.idToggled.connect(self._on_chosen)

    def _option(self, way: Way, text: str) -> None:
        button = _Option(text)
        button.taken.connect(lambda: self.choose(way))
        font = button.font()
        font.setPointSizeF(font.pointSizeF() * 1.1)
        button.setFont(font)
        self._group.addButton(button, len(self.buttons))
        self.buttons[way] = button
        self.box.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def chosen_way(self) -> Way:
        """Which of the three options is selected."""
        return next(w for w, b in self.buttons.items() if b.isChecked())

    def choose(self, way: Way) -> None:
        """Select an option, and focus its input."""
        self.buttons[way].setChecked(True)
        within = self.list if way == "named" else self.text if way == "message" else None
        (within or self.buttons[way]).setFocus()

    def _on_chosen(self, _number: int, _on: bool) -> None:
        made = {"named": self._make_list, "message": self._make_text}
        if self.chosen_way in made and self.chosen_way not in self._parts:
            self._parts[self.chosen_way] = made[self.chosen_way]()
        for way, part in self._parts.items():
            part.setVisible(way == self.chosen_way)
        if self.primary is not None:
            self.primary.setEnabled(self.question() is not None)

    # --- the input of each option, created when it is selected --------------------------------------------------------

    def _add_part(self, way: Way, *parts: QWidget) -> QWidget:
        holder = QWidget()
        column = spaced(QVBoxLayout(holder), (28, 0, 0, 0))
        for part in parts:
            column.addWidget(part, 0, Qt.AlignmentFlag(0) if part is parts[0] else Qt.AlignmentFlag.AlignLeft)
        self.box.insertWidget(self.box.indexOf(self.buttons[way]) + 1, holder)
        for before, after in pairwise((self.buttons[way], *parts)):
            QWidget.setTabOrder(before, after)
        return holder

    def _make_list(self) -> QWidget:
        self.list = QListWidget()
        self.list.setObjectName("choices")
        self.list.setAccessibleName(_("Programs and environments"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setTabKeyNavigation(False)
        self.list.itemDoubleClicked.connect(lambda _item: self.submit())
        self._fill()
        return self._add_part("named", self.list, flat_button(_("&Browse..."), self._browse))

    def _make_text(self) -> QWidget:
        self.text = QPlainTextEdit()
        self.text.setAccessibleName(_("Error message, session code or report"))
        self.text.setPlaceholderText(_("Paste the message, a session code or a report"))
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(QFontMetrics(self.text.font()).lineSpacing() * SHOWN_LINES + 16)
        self.text.textChanged.connect(lambda: self._on_chosen(0, True))
        return self._add_part("message", self.text)

    def show_choices(self, known: tuple[Choice, ...]) -> None:
        """Take the environments and programs found; the list shows them once it is visible."""
        self._known = known
        if self.list is not None:
            self._fill()
            self._on_chosen(0, True)

    def _fill(self) -> None:
        if self.list is None:
            return
        kept = self.list.currentRow()
        self.list.clear()
        for choice in self._known or ():
            item = QListWidgetItem(f"{shown_text(choice.name)}    {shown_text(choice.says)}")
            item.setToolTip(tooltip_text(choice.where))
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, shown_text(choice.where))
            self.list.addItem(item)
        if self._known:
            self.list.setCurrentRow(max(kept, 0))
        else:
            waiting = _("Still looking for them") if self._known is None else _("None was found; browse to its folder.")
            item = QListWidgetItem(waiting)
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self.list.ensurePolished()
        row = max(self.list.sizeHintForRow(0), QFontMetrics(self.list.font()).height())
        self.list.setFixedHeight(row * min(max(self.list.count(), 1), SHOWN_ROWS) + FRAME_PIXELS)

    # --- result -------------------------------------------------------------------------------------------------------

    def question(self) -> Question | None:
        """Return the question; None if something is missing."""
        if self.chosen_way == "named":
            row = self.list.currentRow() if self.list is not None and self._known else -1
            return Question("named", self._known[row].named) if self._known and row >= 0 else None
        if self.chosen_way == "message":
            text = self.text.toPlainText() if self.text is not None else ""
            return Question("message", text) if text.strip() else None
        return Question("whole")

    def resume(self, before: AskScreen) -> None:
        """Restore what was chosen, typed and selected on the screen that this one replaces."""
        self.buttons[before.chosen_way].setChecked(True)
        if self.text is not None and before.text is not None:
            self.text.setPlainText(before.text.toPlainText())
        if self.list is not None and before.list is not None and self._known:
            self.list.setCurrentRow(before.list.currentRow())

    def submit(self) -> None:
        """Submit the question."""
        asked = self.question()
        if asked is not None:
            self._look(asked)

    def start_focus(self) -> QWidget:
        """Return the selected option."""
        return self.buttons[self.chosen_way]
