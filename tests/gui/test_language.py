"""The window's language: chosen in the settings, used at once, kept for the next time, with Qt's own words and menus that work."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QLocale, QSettings
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu

from core.common import i18n
from gui import language
from gui.window.window import Window
from tests.gui import recorded
from tests.gui.conftest import Opened
from tests.gui.engines import Showing
from tests.gui.test_access import assert_whole, everywhere, go


@pytest.fixture
def no_variable(monkeypatch: pytest.MonkeyPatch, qapp: QApplication) -> Iterator[None]:
    """As for a person whose environment names no language; Qt speaks English again afterwards."""
    for name in (i18n.LANGUAGE_VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    yield
    i18n.use_language(i18n.ENGLISH)
    monkeypatch.setenv(i18n.LANGUAGE_VARIABLE, i18n.ENGLISH)
    language.use_chosen_language(QSettings())


def menu_action(window: Window, name: str) -> object:
    menus = window.rail.settings_button.menu().findChildren(QMenu)
    return next(a for m in menus for a in m.actions() if a.text() == name)


@pytest.mark.usefixtures("no_variable")
def test_a_language_is_used_at_once_and_kept(opened: Opened, settings: QSettings) -> None:
    window = opened(Showing(recorded.report("shadowed")))
    row = window.steps.currentRow()
    title = window.report.primary.title
    menu_action(window, "Deutsch").trigger()
    QApplication.processEvents()
    assert (window.next.text(), window.back.text()) == ("&Weiter", "&Zurück")
    assert window.steps.currentRow() == row
    assert window.report.primary.title != title
    assert window.stack.currentWidget().cards[0].finding == window.report.primary
    assert settings.value(language.SETTING_KEY) == "de"
    assert QLocale().language() == QLocale.Language.German
    menu_action(window, "简体中文").trigger()
    QApplication.processEvents()
    assert window.next.text() == "下一步(&N)"
    menu_action(window, "English").trigger()
    QApplication.processEvents()
    assert (window.next.text(), window.report.primary.title) == ("&Next", title)


@pytest.mark.usefixtures("no_variable")
@pytest.mark.parametrize("name", ["de", "zh_CN"])
def test_nothing_is_cut_and_every_accelerator_stands_alone(name: str, opened: Opened, settings: QSettings) -> None:
    settings.setValue(language.SETTING_KEY, name)
    window = opened(Showing(recorded.report("everything broken")))
    window.resize(1000, 700)
    assert i18n.current_language() == name
    for page in everywhere(window):
        go(window, page)
        assert_whole(window)
        assert page.horizontalScrollBar().maximum() == 0, page.title
        buttons = [b.text() for b in window.findChildren(QAbstractButton) if b.isVisible()]
        assert_alone(buttons)
    for menu in (window.rail.settings_button.menu(), *window.rail.settings_button.menu().findChildren(QMenu)):
        assert_alone([a.text() for a in menu.actions()])


def assert_alone(texts: list[str]) -> None:
    """Hold that no two texts that are shown together take the same key."""
    keys = [m[1].lower() for text in texts if (m := re.search(r"&(\w)", text))]
    assert len(keys) == len(set(keys)), texts
