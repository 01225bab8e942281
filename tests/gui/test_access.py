"""Everybody can use it: names, roles, order, no trap, no clipping at 200 %, enough contrast, nothing by colour alone."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, QSettings, Qt
from PySide6.QtGui import QAccessible, QPalette
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from core.common import i18n
from core.model.steps import Severity
from gui import theme as looks
from gui.widgets.text import MachineText
from gui.window.window import Window
from tests.gui import recorded
from tests.gui.conftest import Open, Opened
from tests.gui.engines import Repairing, Showing
from tests.gui.hand import Hand
from tests.gui.screen import tab_chain, takes_tab, tree

ROLE = QAccessible.Role
NAMED = {
    ROLE.Button, ROLE.ButtonMenu, ROLE.CheckBox, ROLE.EditableText, ROLE.List, ROLE.Tree, ROLE.Table, ROLE.Graphic,
    ROLE.ProgressBar, ROLE.Dialog, ROLE.Window, ROLE.ListItem, ROLE.TreeItem,
}  # fmt: skip
"""Roles of which each one must say what it is."""
THEMES = (looks.LIGHT_THEME, looks.DARK_THEME, looks.CONTRAST_THEME)


def everywhere(window: Window) -> list[QWidget]:
    """Return every page, the second door last."""
    return [*window.pages, window.explain_page]


def go(window: Window, page: QWidget) -> None:
    """Show a page."""
    if page is window.explain_page:
        window.open_message()
    else:
        window.steps.setCurrentRow(window.pages.index(page))
    QApplication.processEvents()


@pytest.mark.parametrize("name", recorded.MACHINES)
def test_every_control_of_every_page_has_a_name_and_a_role(name: str, open_window: Open) -> None:
    window = open_window(recorded.report(name))
    for page in everywhere(window):
        go(window, page)
        for item in tree(window):
            assert item.role() != ROLE.NoRole
            if item.role() in NAMED:
                where = item.object().metaObject().className() if item.object() else ""
                assert item.text(QAccessible.Text.Name).strip(), (page.accessibleName(), item.role(), where)


@pytest.mark.parametrize("name", recorded.MACHINES)
def test_tab_reaches_every_control_in_the_order_of_reading(name: str, open_window: Open) -> None:
    window = open_window(recorded.report(name))
    for page in everywhere(window):
        go(window, page)
        reached = list(tab_chain(window.steps))
        controls = [w for w in window.findChildren(QWidget) if takes_tab(w)]
        assert set(controls) == set(reached)
        within = [w for w in reached if page.isAncestorOf(w)]
        tops = [w.mapTo(page, QPoint(0, 0)).y() for w in within]
        assert tops == sorted(tops) or beside(within, page), [w.accessibleName() or type(w).__name__ for w in within]


def beside(widgets: list[QWidget], page: QWidget) -> bool:
    """Whether each widget that stands higher than the one before it stands to the right of it."""
    places = [QRect(w.mapTo(page, QPoint(0, 0)), w.size()) for w in widgets]
    return all(b.top() >= a.top() or (b.left() >= a.right() and b.bottom() > a.top()) for a, b in pairwise(places))


@pytest.mark.parametrize("size", [(1000, 700), (480, 270)], ids=["usual", "as at 400 %"])
@pytest.mark.parametrize("name", ["shadowed", "everything broken", "ten gpus"])
def test_text_at_200_per_cent_is_not_clipped(name: str, size: tuple[int, int], open_window: Open) -> None:
    window = open_window(recorded.report(name))
    window.rail.choose("text size", "200")
    window.resize(*size)
    for page in everywhere(window):
        go(window, page)
        assert_whole(window)


def assert_whole(window: QWidget) -> None:
    """Hold that no text in a window is cut."""
    for widget in window.findChildren(QWidget):
        if not widget.isVisible() or not widget.visibleRegion().boundingRect().isValid():
            continue
        if isinstance(widget, QLabel) and widget.text().split():
            assert not widget.wordWrap() or widget.height() >= widget.heightForWidth(widget.width()) - 1, widget.text()
            widest = max(widget.fontMetrics().horizontalAdvance(word) for word in widget.text().split())
            assert widget.contentsRect().width() >= widest, widget.text()
        elif isinstance(widget, MachineText):
            assert widget.height() >= widget.document().size().height() - 1, widget.toPlainText()
        elif isinstance(widget, QPushButton | QToolButton):
            hint = widget.sizeHint()
            assert widget.width() >= hint.width(), widget.text()
            assert widget.height() >= hint.height() - 1, widget.text()


@pytest.mark.parametrize("text", ["100", "200"])
@pytest.mark.parametrize("language", ["en", "de", "zh_CN"])
@pytest.mark.parametrize("name", ["shadowed", "ten gpus", "everything broken"])
def test_no_language_cuts_a_text_or_scrolls_a_page_sideways(
    name: str, language: str, text: str, settings: QSettings, opened: Opened, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: i18n.use_language("en"))
    i18n.use_language(language)
    settings.setValue("text size", text)
    window = opened(Showing(recorded.report(name)))
    window.resize(900, 700)
    for page in everywhere(window):
        go(window, page)
        assert_whole(window)
        assert page.horizontalScrollBar().maximum() == 0, page.accessibleName()


def test_the_dialogs_have_names_and_are_walked_by_tab(opened: Opened, tmp_path: Path) -> None:
    engine = Repairing(tmp_path, recorded.windows(r"C:\Users\ada\bin"), recorded.on_windows)
    window = opened(engine)
    hand = Hand(window, keyboard=True)
    hand.press(window.stack.currentWidget().cards[0].fix_button.text())
    for phase in ("Make these changes", "Close", "Undo...", "Undo these changes", "Close"):
        if phase == "Undo...":
            hand.go_to("Summary")
            hand.press(phase)
            continue
        dialog = hand.dialog
        assert dialog is not None
        hand.wait(lambda phase=phase: hand.button(phase), phase)
        for item in tree(dialog):
            if item.role() in NAMED:
                assert item.text(QAccessible.Text.Name).strip(), item.role()
        button = hand.button(phase)
        assert button is not None
        reached = {w for w in tab_chain(button) if dialog.isAncestorOf(w)}
        assert reached == {w for w in dialog.findChildren(QWidget) if takes_tab(w)}
        assert_whole(dialog)
        hand.press(phase)


@pytest.mark.parametrize("size", [(1000, 700), (480, 270)], ids=["beside the page", "in its place"])
def test_the_help_has_names_and_is_walked_by_tab(size: tuple[int, int], open_window: Open) -> None:
    window = open_window(recorded.report("shadowed"))
    window.rail.choose("text size", "200")
    window.resize(*size)
    window.sheet.explain("cudnn_shadowed")
    QApplication.processEvents()
    for item in tree(window):
        if item.role() in NAMED:
            assert item.text(QAccessible.Text.Name).strip(), item.role()
    reached = set(tab_chain(window.sheet.close_button))
    assert reached == {w for w in window.findChildren(QWidget) if takes_tab(w)}
    assert_whole(window.sheet)


def test_buttons_and_pages_stay_within_a_window_of_a_usual_size_at_200_per_cent(open_window: Open) -> None:
    window = open_window(recorded.report("shadowed"))
    window.rail.choose("text size", "200")
    assert window.size().width() == 1000
    for page in window.pages:
        go(window, page)
        assert page.horizontalScrollBar().maximum() == 0, page.title


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_texts_and_what_tells_controls_apart_have_enough_contrast(theme: looks.Theme, qapp: QApplication) -> None:
    palette = looks.make_palette(theme)
    role, group = QPalette.ColorRole, QPalette.ColorGroup
    pairs = ((role.WindowText, role.Window), (role.Text, role.Base), (role.ButtonText, role.Button),
             (role.HighlightedText, role.Highlight), (role.ToolTipText, role.ToolTipBase), (role.PlaceholderText, role.Base),
             (role.Link, role.Base))  # fmt: skip
    for state in (group.Active, group.Inactive, group.Disabled):
        for text, ground in pairs:
            assert contrast(palette.color(state, text).name(), palette.color(state, ground).name()) >= 4.5, (
                state,
                text,
            )
    for severity in Severity:
        for ground in (theme.window, theme.base):
            assert contrast(theme.severity_colour(severity), ground) >= 4.5
    for ground in (theme.window, theme.base):
        assert contrast(theme.accent, ground) >= 3  # the focus ring


def test_no_severity_is_told_by_colour_alone() -> None:
    assert len({looks.severity_word(s) for s in Severity}) == len(Severity)
    for name in (s.word for s in Severity):
        drawings = {
            looks.make_icon(other.word, "#000000").pixmap(24).toImage().constBits().tobytes() for other in Severity
        }
        assert len(drawings) == len(Severity), name


def test_the_focus_can_be_seen(open_window: Open, qtbot: QtBot) -> None:
    window = open_window(recorded.report("shadowed"))
    with qtbot.waitActive(window):
        window.activateWindow()
    for button in (window.next, window.again, window.stack.currentWidget().cards[0].evidence.button):
        assert isinstance(button, QAbstractButton)
        window.steps.setFocus()
        QApplication.processEvents()
        before = button.grab().toImage()
        button.setFocus(Qt.FocusReason.TabFocusReason)
        QApplication.processEvents()
        assert button.grab().toImage() != before, button.text()


def test_what_happens_is_announced(open_window: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(Window, "_announce", lambda _window, sentence: said.append(sentence))
    window = open_window(recorded.report("no driver"))
    assert "The NVIDIA GPU has no NVIDIA driver." in said[-1]
    window.next.click()
    assert said[-1] == "CUDA toolkit"
    window._on_failed("ValueError: no luck")
    assert "no luck" in said[-1]


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
