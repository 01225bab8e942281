"""Over every recorded and made machine, in three languages, on the real window: few words, one button, nothing cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest
from PySide6.QtCore import QEvent, QPoint, QSize
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea, QWidget

from core.common import i18n
from core.doctor.examine import diagnose_snapshot
from core.doctor.headline import Kind, headline_detail, headline_of, headline_sentence
from core.doctor.named import environment_choices
from core.model.facts import split_id
from core.model.findings import Report
from core.model.steps import Step
from core.report.reading import MAX_WORDS, count_words, hand_steps
from core.report.short_names import concerned_text
from gui.road.screen import Screen
from gui.window.wizard import Wizard
from tests.gui import recorded
from tests.gui.conftest import OpenedWizard
from tests.gui.engines import Showing
from tests.gui.screen import primary_buttons, read_text
from tests.gui.test_access import assert_whole
from tests.test_same_everywhere import MACHINES

LANGUAGES = ("en", "de", "zh_CN")
ALWAYS_RIGHT = {
    "no gpu": "no gpu",
    "no driver": "by hand",
    "shadowed": "cause",
    "healthy": "works",
    "fifty pythons": "works",
}
"""Machines of the window's own tests, and what each comes to."""


def screens(window: Wizard, report: Report) -> Iterator[Screen]:
    """Show every screen that a report leads to without a change."""
    road = window.road
    road.report, road.shows_other_computer = report, False
    road.ask()
    yield road.current
    road.current.choose("named")
    yield road.current
    road.answer()
    yield road.current
    head = headline_of(report)
    for i in range(len(hand_steps(head.finding.fix if head.finding else None)) if head.act == "steps" else 0):
        road.show_manual_steps(i)
        yield road.current


def reach(screen: Screen) -> None:
    """Hold that all of a screen can be reached, and that nothing lies beside it."""
    area = screen.findChild(QScrollArea)
    assert area is not None
    inside = area.widget()
    assert inside.width() <= area.viewport().width()
    reach_buttons(screen, inside)


def reach_buttons(whole: QWidget, *scrolled: QWidget) -> None:
    """Hold that every button lies in the window, but for those that scroll into it."""
    window = whole.window()
    inside = [*scrolled, *(a.widget() for a in whole.findChildren(QScrollArea) if a.widget() is not None)]
    for button in whole.findChildren(QAbstractButton):
        if button.isVisible() and not any(part.isAncestorOf(button) for part in inside):
            corner = button.mapTo(window, QPoint(button.width(), button.height()))
            assert 0 < corner.x() <= window.width(), button.text()
            assert 0 < corner.y() <= window.height(), button.text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_few_words_one_button_and_a_headline_of_the_list(language: str, wizard: OpenedWizard) -> None:
    window = wizard(Showing(recorded.report("healthy")))
    i18n.use_language(language)
    wrong, seen = [], set()
    for name, make in MACHINES.items():
        report = diagnose_snapshot(make())
        assert headline_of(report).kind in get_args(Kind)
        head = headline_of(report)
        told = (
            *environment_choices(report),
            headline_sentence(head),
            headline_detail(head, report),
            head.finding and head.finding.fix,
        )
        if told in seen:
            continue
        seen.add(told)
        for screen in screens(window, report):
            QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            text = read_text(window)
            if count_words(text) > MAX_WORDS or len(primary_buttons(window)) != 1:
                wrong.append((name, count_words(text), [b.text() for b in primary_buttons(window)], text))
            assert_whole(screen)
            reach(screen)
    assert not wrong


@pytest.mark.parametrize("name", ALWAYS_RIGHT)
def test_what_a_machine_comes_to(name: str) -> None:
    assert headline_of(recorded.report(name)).kind == ALWAYS_RIGHT[name]


@pytest.mark.parametrize("name", MACHINES)
def test_a_headline_agrees_with_the_report(name: str) -> None:
    report = diagnose_snapshot(MACHINES[name]())
    head = headline_of(report)
    assert headline_sentence(head)
    if head.kind == "works":
        assert report.headline is None or head.who
        assert report.snapshot.driver is not None
        assert report.snapshot.driver.gpus
    if report.primary is not None and report.primary.cause != "no_nvidia_gpu" and head.kind != "works":
        assert head.finding is report.primary
        assert (head.act == "fix") == bool(report.primary.fix and report.primary.fix.changes)


SIZES = {
    f"{w}x{h} at {p} %": QSize(w * 100 // p, (h - 60) * 100 // p)
    for w, h in ((1366, 768), (1920, 1080))
    for p in (100, 125, 150, 200)
}
"""What a screen has for a window, in pixels of the window's own, without the desktop's bar."""
NAMES_FROM = {"en": 900, "de": 900, "zh_CN": 600}
"""Pixels that a window needs for the rail's names at a text size of 200 %; with less, the page's heading has the name."""
ITEM_PADDING = 32
"""Pixels beside a name and its icon in the rail."""


@pytest.mark.parametrize("text", ["100", "200"])
def test_it_fits_every_screen(text: str, wizard: OpenedWizard) -> None:
    window = wizard(Showing(recorded.report("shadowed")))
    window._settings.setValue("text size", text)
    window._dress_again()
    for size, room in SIZES.items():
        window.resize(room)
        for name in ("shadowed", "everything broken", "fifty pythons"):
            for screen in screens(window, recorded.report(name)):
                QApplication.processEvents()
                assert window.size() == room, f"it asks for more room than there is: {size}"
                assert_whole(screen)
                reach(screen)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", SIZES)
def test_the_rail_keeps_its_names_and_the_page_its_room(
    size: str, language: str, wizard: OpenedWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(i18n.LANGUAGE_VARIABLE, language)
    i18n.use_language(language)
    window = wizard(Showing(recorded.report("shadowed")))
    window.resize(SIZES[size])
    details = window.open_details()
    steps = details.steps
    for text in ("100", "200"):
        window._settings.setValue("text size", text)
        details._apply_theme()
        QApplication.processEvents()
        for row, page in enumerate(details.pages):
            steps.setCurrentRow(row)
            QApplication.processEvents()
            assert page.horizontalScrollBar().maximum() == 0, page.title
            item = steps.item(row)
            if text == "200" and SIZES[size].width() < NAMES_FROM[language]:
                assert item.toolTip().startswith(page.title)  # there is room for its icon alone
                continue
            room = steps.viewport().width() - steps.iconSize().width() - ITEM_PADDING
            assert item.text().replace("\n", " ").startswith(page.title)
            lines = item.text().splitlines()
            assert all(steps.fontMetrics().horizontalAdvance(line) <= room for line in lines)
            assert steps.visualItemRect(item).height() >= len(lines) * steps.fontMetrics().height(), "a line is cut"
        reach_buttons(details)


@pytest.mark.parametrize("name", MACHINES)
def test_no_two_cards_of_a_page_look_the_same_and_each_names_its_environment(name: str) -> None:
    report = diagnose_snapshot(MACHINES[name]())
    for step in Step:
        found = [(f.title, concerned_text(f, report)) for f in report.findings_for(step)]
        assert len(found) == len(set(found))
        assert all(
            who or not any(split_id(c)[0].partition(":")[2] for c in f.consumers)
            for f, (_t, who) in zip(report.findings_for(step), found, strict=True)
        )
