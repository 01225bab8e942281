"""What has the keyboard, and what is chosen, can be seen: pixels of the real window, at 3 to 1, in every theme."""

from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QApplication, QListWidget, QWidget

from gui import theme as looks
from gui.window.wizard import Wizard
from tests.gui import recorded
from tests.gui.conftest import OpenedWizard
from tests.gui.engines import Showing
from tests.gui.screen import takes_tab
from tests.gui.test_access import contrast

LEAST = 3.0
"""Contrast that WCAG 2.2 asks for between what is focused or chosen and what is not (1.4.11, 2.4.13)."""
THEMES = tuple(looks.THEMES_BY_NAME)


def colours(image: QImage, area: QRect) -> list[str]:
    """Return the colour of every pixel of an area."""
    return [
        image.pixelColor(x, y).name()
        for y in range(area.top(), area.bottom() + 1)
        for x in range(area.left(), area.right() + 1)
    ]


def picture(window: QWidget) -> QImage:
    """Return what a person sees, a pixel for each point whatever the screen's scale."""
    QApplication.processEvents()
    return window.grab().toImage().scaled(window.size())


def place(widget: QWidget) -> QRect:
    """Return where a widget stands in its window."""
    whole = QRect(widget.mapTo(widget.window(), QPoint(0, 0)), widget.size())
    return whole & widget.window().rect()


def changed(before: list[str], after: list[str]) -> int:
    """Return how many pixels differ so much that everybody sees it."""
    pairs = Counter((a, b) for a, b in zip(before, after, strict=True) if a != b)
    return sum(count for (a, b), count in pairs.items() if contrast(a, b) >= LEAST)


def assert_focus_is_seen(window: QWidget, within: QWidget) -> int:
    """Hold that each control shows that it has the keyboard, by at least a line around it; return how many there are."""
    controls = [w for w in within.findChildren(QWidget) if takes_tab(w) and not w.visibleRegion().isEmpty()]
    for control in controls:
        if (focused := QApplication.focusWidget()) is not None:
            focused.clearFocus()
        before = picture(window)
        control.setFocus(Qt.FocusReason.TabFocusReason)
        after = picture(window)
        area = place(control)
        seen = changed(colours(before, area), colours(after, area))
        row = control.visualItemRect(control.currentItem()).size() if isinstance(control, QListWidget) else area.size()
        name = control.text() if isinstance(control, QAbstractButton) else control.accessibleName()
        assert seen >= row.width() + row.height(), (name, seen)
    return len(controls)


def dressed(wizard: OpenedWizard, theme: str) -> Wizard:
    """Return a window in a theme, on a machine with many environments and one fault."""
    window = wizard(Showing(recorded.report("shadowed")))
    window._settings.setValue("theme", theme)
    window._dress_again()
    return window


@pytest.mark.parametrize("theme", THEMES)
def test_what_has_the_keyboard_is_seen_on_the_screens(theme: str, wizard: OpenedWizard) -> None:
    window = dressed(wizard, theme)
    road = window.road
    for way in ("named", "message", "whole"):
        road.current.choose(way)
        assert assert_focus_is_seen(window, window) >= 4
    road.answer()
    assert assert_focus_is_seen(window, window) >= 5


@pytest.mark.parametrize("theme", THEMES)
def test_what_has_the_keyboard_is_seen_in_all_details(theme: str, wizard: OpenedWizard) -> None:
    details = dressed(wizard, theme).open_details()
    for row in (2, len(details.pages) - 1):
        details.steps.setCurrentRow(row)
        assert assert_focus_is_seen(details.window(), details.rail) >= 4
        assert assert_focus_is_seen(details.window(), details.bottom) >= 1


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_chosen_is_seen(theme: str, wizard: OpenedWizard) -> None:
    window = dressed(wizard, theme)
    window.road.report = recorded.report("fifty pythons")
    window.road.ask()
    window.road.current.choose("named")
    details = window.open_details()
    window.close_details()
    choices = window.road.current.list
    for rows in (choices, details.steps):
        if rows is details.steps:
            window.open_details()
        rows.setCurrentRow(0)
        window.setFocus()
        before = picture(window)
        rows.setCurrentRow(1)
        after = picture(window)
        inside = rows.visualItemRect(rows.item(1))
        area = QRect(rows.viewport().mapTo(window, inside.topLeft()), inside.size())
        assert changed(colours(before, area), colours(after, area)) >= inside.height()


def test_the_same_look_is_not_put_on_twice(wizard: OpenedWizard, monkeypatch: pytest.MonkeyPatch) -> None:
    window = dressed(wizard, "dark")
    sheets: list[str] = []
    monkeypatch.setattr(QApplication, "setStyleSheet", lambda _app, sheet: sheets.append(sheet))
    window._dress_again()
    assert sheets == []
    window._settings.setValue("text size", "200")
    window._dress_again()
    assert len(sheets) == 1
