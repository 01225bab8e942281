"""StepList: the steps on the left with icon, word and colour, the two other entries below them, and the settings."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.common.i18n import _
from core.model.steps import SECTIONS_OF_STEP, Severity, Step
from gui import texts
from gui import theme as looks
from gui.theme import Theme
from gui.widgets.flow import FlowRow
from gui.widgets.layout import spaced
from gui.widgets.settings_button import SettingsButton
from gui.widgets.text import enlarge, push_button, width_of

if TYPE_CHECKING:
    from core.model.findings import Report

MIN_WIDTH_PIXELS = 232
"""Minimum width in pixels; a long title makes it wider."""
MIN_LINES = 34
"""Minimum height of a window, in lines of text, for buttons with words below the steps."""
NARROW_PADDING = 84
"""Pixels around a name: margins, padding, the gap after its icon, and the scroll bar."""
MIN_PAGE_ROOM_CHARACTERS = 64
"""Minimum width of a page in average characters; with less, the list wraps its names."""
MIN_NARROW_ROOM_CHARACTERS = 36
"""Minimum width of a page beside wrapped names, in average characters; with less, the list shows icons only."""


class StepList(QFrame):
    """Shows the current step, and the severity of each.

    In a narrow window, names are wrapped and buttons are icons; in the narrowest, only icons remain, with accessible
    names.
    """

    setting_changed = Signal()

    def __init__(
        self,
        titles: tuple[str, ...],
        settings: QSettings,
        doors: tuple[Callable[[], object], ...],
        leave: Callable[[], object] | None,
    ) -> None:
        """``doors``: actions to examine again and to explain an error message.

        ``leave``: returns to the four screens, if there are any.
        """
        super().__init__()
        self._titles = titles
        self._says = [""] * len(titles)
        self._narrow, self._compact, self._low = False, False, False
        self.setObjectName("rail")
        self.steps = QListWidget()
        self.steps.setObjectName("steps")
        self.steps.setAccessibleName(_("Steps"))
        self.steps.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.steps.setWordWrap(True)
        self.steps.setMinimumHeight(48)
        for i, title in enumerate(titles):
            self.steps.addItem(QListWidgetItem(title))
            self.steps.item(i).setToolTip(f"{title} (Ctrl+{i + 1})")
        check, message = doors
        self.leave = push_button(_("&Simple view"), leave) if leave else None
        self.again = push_button(_("Check &again"), check)
        self.message = push_button(_("I have an &error message"), message)
        self.message.setToolTip("Ctrl+E")
        self.settings_button = SettingsButton(settings)
        self.settings_button.changed.connect(self.setting_changed)
        self._column = QVBoxLayout(self)
        self._column.setSpacing(6)
        self._column.addWidget(self._brand())
        self._column.addWidget(self.steps, 1)
        self._buttons = FlowRow(spacing=6)
        for button, _says in self._words():
            self._buttons.add(button)
        self._column.addWidget(self._buttons)
        if self.leave:
            self.leave.setToolTip("Ctrl+D")

    def _brand(self) -> QWidget:
        self.brand = QWidget()
        row = spaced(QHBoxLayout(self.brand), (8, 0, 0, 8))
        self.sign = QLabel()
        self.sign.setAccessibleName("Convalesce")
        self.name = QLabel("Convalesce")
        enlarge(self.name, 1.15)
        row.addWidget(self.sign)
        row.addWidget(self.name)
        row.addStretch(1)
        return self.brand

    # --- look -------------------------------------------------------------------------------------------------

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme's colours, and the application's text size."""
        em = QFontMetrics(QApplication.font()).height()
        side = max(22, em)
        self.steps.setIconSize(QSize(side, side))
        self.sign.setPixmap(looks.make_icon("convalesce", theme.text, max(28, em)).pixmap(max(28, em)))
        icons = {self.again: "again", self.message: "message", self.settings_button: "settings"}
        for button, icon in (icons | ({self.leave: "convalesce"} if self.leave else {})).items():
            button.setIcon(looks.make_icon(icon, theme.text if isinstance(button, QPushButton) else theme.note, side))
            button.setIconSize(QSize(side, side))
        self.name.setFont(QApplication.font())
        enlarge(self.name, 1.15)
        self._arrange()

    def choose(self, key: str, value: str) -> None:
        """Store a setting, and announce it."""
        self.settings_button.choose(key, value)

    def fit_to(self, window: int, height: int) -> None:
        """Choose between words and icons for a window of this size (pixels); in a low window the steps keep their words."""
        low = height < QFontMetrics(QApplication.font()).height() * MIN_LINES
        room = width_of(MIN_PAGE_ROOM_CHARACTERS)
        narrow = window - self._full_width() < room
        least = width_of(MIN_NARROW_ROOM_CHARACTERS)
        compact = window - self._narrow_width() < least
        if (narrow, compact, low) != (self._narrow, self._compact, self._low):
            self._narrow, self._compact, self._low = narrow, compact, low
            self._arrange()

    def _full_width(self) -> int:
        metrics = QFontMetrics(QApplication.font())
        lines = [*self._titles, _("I have an &error message").replace("&", "")]
        return max(
            MIN_WIDTH_PIXELS,
            max(metrics.horizontalAdvance(line) for line in lines) + 72 + self.steps.iconSize().width(),
        )

    def _narrow_width(self) -> int:
        """Return the width at which the longest word of a name fits on one line."""
        metrics = QFontMetrics(QApplication.font())
        words = [w for title in self._titles for w in title.split()]
        return max(metrics.horizontalAdvance(w) for w in words) + NARROW_PADDING + self.steps.iconSize().width()

    def _break(self, title: str) -> str:
        """Wrap a name into lines for the narrow list: Qt shortens some of the names that it should wrap."""
        metrics = QFontMetrics(QApplication.font())
        room = self._narrow_width() - NARROW_PADDING - self.steps.iconSize().width()
        lines = [""]
        for word in title.split():
            longer = f"{lines[-1]} {word}".lstrip()
            if metrics.horizontalAdvance(longer) <= room:
                lines[-1] = longer
            else:
                lines.append(word)
        return "\n".join(filter(None, lines))

    def _arrange(self) -> None:
        small = self._narrow
        icon_width = self.steps.iconSize().width() + 44
        width = icon_width if self._compact else self._narrow_width() if small else self._full_width()
        self._column.setContentsMargins(*((2, 8, 2, 6) if small else (8, 16, 8, 12)))
        self.setFixedWidth(width)
        self.brand.setVisible(not small)
        icons = small or self._low
        for button, says in self._words():
            button.setText("" if icons else says)
            button.setAccessibleName(says.replace("&", ""))
            button.setToolTip(says.replace("&", "") if icons else button.toolTip())
            button.setMinimumWidth(0 if icons or button is self.settings_button else self._full_width() - 16)
        style = Qt.ToolButtonStyle.ToolButtonIconOnly if icons else Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        self.settings_button.setToolButtonStyle(style)
        for row in range(self.steps.count()):
            self._write(row)

    def _words(self) -> tuple[tuple[QPushButton | QToolButton, str], ...]:
        return (
            *(((self.leave, _("&Simple view")),) if self.leave else ()),
            (self.again, _("Check &again")),
            (self.message, _("I have an &error message")),
            (self.settings_button, _("Se&ttings")),
        )

    def show_waiting(self, theme: Theme) -> None:
        """Show that nothing is known yet."""
        for row in range(self.steps.count()):
            self.mark_step(row, "waiting", theme.muted, "")

    def show_section(self, section: str, state: str, ended: Collection[str], theme: Theme) -> None:
        """Show that a section of the Snapshot is being examined, was examined, or could not be."""
        for row, step in enumerate(texts.shown_steps()):
            if section in SECTIONS_OF_STEP[step]:
                done = set(SECTIONS_OF_STEP[step]) <= set(ended)
                icon = "unknown" if state == "failed" else "waiting" if done else "looking"
                says = {"unknown": _("not decided"), "waiting": _("examined"), "looking": _("looking")}[icon]
                self.mark_step(row, icon, theme.muted, says)

    def show_report(self, report: Report, theme: Theme) -> None:
        """Show the severity of each step, and of the whole on the last one."""
        for row, step in enumerate(texts.shown_steps()):
            if step is Step.BENCHMARK and report.snapshot.benchmark is None:
                self.mark_step(row, "waiting", theme.muted, _("not run"))
            else:
                self._mark_severity(row, texts.step_verdict(report, step)[0], theme)
        self._mark_severity(self.steps.count() - 1, texts.machine_standing(report), theme)

    def _mark_severity(self, row: int, severity: Severity, theme: Theme) -> None:
        self.mark_step(row, severity.word, theme.severity_colour(severity), looks.severity_word(severity))

    def mark_step(self, row: int, icon: str, colour: str, says: str) -> None:
        """Mark a step with an icon in a colour, and a word."""
        self._says[row] = says
        self.steps.item(row).setIcon(looks.make_icon(icon, colour, self.steps.iconSize().width()))
        self._write(row)

    def _write(self, row: int) -> None:
        item, title, says = self.steps.item(row), self._titles[row], self._says[row]
        wide = f"{title}\n{says}" if says else title
        item.setText("" if self._compact else self._break(title) if self._narrow else wide)
        item.setToolTip(f"{title}: {says} (Ctrl+{row + 1})" if says else f"{title} (Ctrl+{row + 1})")
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{title}: {says}" if says else title)
