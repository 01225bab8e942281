"""SettingsButton: a menu with colours, text size, language and other entries; a setting takes effect at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSettings, Qt, Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from core.common.i18n import _
from gui import language
from gui import theme as looks

Entry = tuple[str, str, Callable[[], object]]
"""Text of a menu entry, its shortcut (empty for none), and its action."""


class SettingsButton(QToolButton):
    """Its menu is created when it is first opened. ``entries`` come before the settings."""

    changed = Signal()

    def __init__(self, settings: QSettings, entries: Sequence[Entry] = (), name: str = "") -> None:
        super().__init__()
        self._settings = settings
        self._entries = entries
        self.setAccessibleName(name or _("Settings"))
        self.setToolTip(name or _("Settings"))
        self.setProperty("flat", True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.aboutToShow.connect(partial(self._fill, menu))
        self.setMenu(menu)

    def _fill(self, menu: QMenu) -> None:
        if menu.actions():
            return
        for text, key, act in self._entries:
            action = menu.addAction(f"{text}\t{key}" if key else text)
            action.triggered.connect(lambda _on=False, act=act: act())
        if self._entries:
            menu.addSeparator()
        names = {
            "system": _("Like the &desktop"),
            "light": _("&Light"),
            "dark": _("D&ark"),
            "contrast": _("&High contrast"),
        }
        self._choices(menu.addMenu(_("&Colours")), "theme", names, "system")
        self._choices(menu.addMenu(_("&Text size")), "text size", {n: f"{n} %" for n in looks.TEXT_SIZES}, "100")
        self._choices(menu.addMenu(_("Lan&guage")), language.SETTING_KEY, language.language_choices(), "")
        menu.addSeparator()
        menu.addAction(_("&About Convalesce")).triggered.connect(self._show_about)

    def menu(self) -> QMenu:
        """Return the menu, filled."""
        menu = super().menu()
        self._fill(menu)
        return menu

    def _show_about(self) -> None:
        from gui.window.about import AboutDialog  # imported late: a hundred pages of licences that few people read

        dialog = AboutDialog(self.window())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _choices(self, menu: QMenu, key: str, names: dict[str, str], usual: str) -> None:
        group = QActionGroup(menu)
        for value, name in names.items():
            action = menu.addAction(name)
            action.setCheckable(True)
            action.setChecked(str(self._settings.value(key, usual)) == value)
            action.triggered.connect(partial(self.choose, key, value))
            group.addAction(action)

    def choose(self, key: str, value: str) -> None:
        """Store a setting, and announce it."""
        self._settings.setValue(key, value)
        self.changed.emit()
