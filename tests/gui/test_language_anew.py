"""Another language, chosen on any screen: every text is as if it had been spoken from the start, and the place is kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QListWidget,
    QPlainTextEdit,
    QProgressBar,
    QTextBrowser,
    QWidget,
)

from core.common import i18n
from core.doctor.examine import diagnose_snapshot
from core.doctor.headline import headline_word
from core.transaction.execute import Outcome, VerifiedFor
from gui.window.wizard import Wizard
from tests.gui import recorded
from tests.gui.conftest import OpenedWizard
from tests.gui.engines import Repairing, Showing
from tests.gui.test_pseudo_window import said_by
from tests.gui.test_road import Ending
from tests.gui.test_walk import BEFORE
from tests.test_same_everywhere import MACHINES

UNDECIDED = "CUDA error: an illegal memory access was encountered"
LANGUAGES = ("en", "de", "zh_CN")
Walk = Callable[[Wizard], object]


def press(window: Wizard, times: int = 1) -> None:
    """Press the button that stands out."""
    for _ in range(times):
        assert window.road.current.primary is not None
        window.road.current.primary.click()


def unfold(window: Wizard) -> None:
    """Open everything that is folded."""
    for i in range(3):
        window.road.current.unfold((i,))


def explain(window: Wizard) -> None:
    window.road.read_given(text=UNDECIDED)


def ask_named(window: Wizard) -> None:
    window.road.current.choose("named")
    window.road.current.list.setCurrentRow(2)


def ask_message(window: Wizard) -> None:
    window.road.current.choose("message")
    window.road.current.text.setPlainText("some words")


def answered(window: Wizard) -> None:
    explain(window)
    press(window)
    window.road.choose(1)


def caused(window: Wizard) -> None:
    press(window)
    unfold(window)


def fixed(window: Wizard) -> None:
    press(window, 3)
    if window.road._done is not None and window.road._done.outcome.verified_for:
        window.road.current.unfold((0,))  # what was changed, the other one, is a record in the language of its time


def back_at_the_cause(window: Wizard) -> None:
    press(window, 3)
    assert window.notice is not None
    window.notice.hide()  # a notice is put away when the language changes


def elsewhere(window: Wizard) -> None:
    window.road.show_elsewhere(recorded.report("shadowed"))
    if i18n.current_language() != i18n.ENGLISH:
        window._dress_again()


def helped(window: Wizard) -> None:
    press(window)
    window._help()


def told(window: Wizard) -> None:
    press(window, 2)


ON: dict[str, tuple[str, Walk]] = {
    "nothing asked yet": ("fifty pythons", lambda _w: None),
    "an environment chosen": ("fifty pythons", ask_named),
    "a message typed": ("fifty pythons", ask_message),
    "works": ("healthy", press),
    "the cause": ("shadowed", caused),
    "the cause, with help": ("shadowed", helped),
    "by hand": ("no driver", press),
    "its first step": ("no driver", lambda w: press(w, 2)),
    "no gpu": ("no gpu", press),
    "not decided": ("healthy", explain),
    "one question": ("healthy", lambda w: (explain(w), press(w))),
    "its answer": ("healthy", answered),
    "of elsewhere": ("healthy", elsewhere),
    "looking": ("shadowed", lambda w: w.road.wait("look")),
    "changing": ("shadowed", lambda w: w.road.wait("change")),
}
"""What is shown -> the machine, and how one gets there."""
HOLDS = VerifiedFor(way="process", holds=True)
LOST = VerifiedFor(way="login", holds=False)
ENDS: dict[str, tuple[Outcome | None, Walk]] = {
    "what will change": (None, told),
    "fixed": (Outcome(kind="done", sentence=""), fixed),
    "fixed and verified": (Outcome(kind="done", sentence="", verified_for=(HOLDS,)), fixed),
    "fixed in part": (Outcome(kind="done", sentence="", verified_for=(HOLDS, LOST)), fixed),
    "unseen": (Outcome(kind="done", sentence="", verified_for=(VerifiedFor(way="process"),)), fixed),
    "stuck": (Outcome(kind="stuck", sentence="[Errno 28]"), lambda w: press(w, 3)),
    "rolled back": (Outcome(kind="rolled back", sentence="[Errno 28]"), back_at_the_cause),
}
"""How a change ends, and how one gets there."""


def texts(window: Wizard) -> list[tuple[str, ...]]:
    """Return all that the window says to eye and ear, in no particular order, and the state of what holds one."""
    QApplication.processEvents()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    found = []
    for w in window.findChildren(QWidget):
        if not w.isVisible() or (isinstance(w, QLabel) and re.fullmatch(r"\d+:\d\d", w.text())):
            continue
        state = ""
        if isinstance(w, QAbstractButton):
            state = f"{w.isChecked()} {w.isEnabled()}"
        elif isinstance(w, QListWidget):
            state = f"row {w.currentRow()}"
        elif isinstance(w, QProgressBar):
            state = f"{w.value()} of {w.maximum()}"
        elif isinstance(w, QTextBrowser):
            state = w.toMarkdown()
        elif isinstance(w, QPlainTextEdit):
            state = w.toPlainText()
        if said := [*said_by(w), *filter(None, [state])]:
            found.append((type(w).__name__, *said))
    return sorted(found)


def speak(window: Wizard, language: str) -> None:
    """Choose a language as the menu does that is in view."""
    details = window.details
    if details is not None and details.isVisible():
        details.rail.choose("language", language)
    else:
        window._settings.setValue("language", language)
        window._dress_again()
    assert i18n.current_language() == language


def switched(make: Callable[[], Wizard], walk: Walk) -> None:
    """Hold that a walk in one language, switched to any other, shows what a walk in that other one shows.

    Each window goes from its language to another, back, and to the third: so each pair is switched in both directions.
    """
    windows, expected, kinds = {}, {}, set()
    for language in LANGUAGES:
        window = windows[language] = make()
        speak(window, language)
        walk(window)
        expected[language] = texts(window)
        kinds.add(type(window.road.current))
        window.hide()
    assert len(kinds) == 1
    for own, window in windows.items():
        window.show()
        speak(window, own)
        one, two = (language for language in LANGUAGES if language != own)
        for before, language in pairwise((own, one, own, two)):
            speak(window, language)
            assert type(window.road.current) in kinds
            assert texts(window) == expected[language], f"from {before} to {language}"
        window.hide()


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(i18n.LANGUAGE_VARIABLE, raising=False)


@pytest.mark.parametrize("place", ON)
def test_every_screen_is_as_if_it_had_spoken_it_from_the_start(place: str, wizard: OpenedWizard) -> None:
    machine, walk = ON[place]
    switched(lambda: wizard(Showing(recorded.report(machine))), walk)


@pytest.mark.parametrize("end", ENDS)
def test_so_is_every_end_of_a_change(end: str, wizard: OpenedWizard, tmp_path: Path) -> None:
    outcome, walk = ENDS[end]

    def make() -> Wizard:
        engine = (Ending if outcome else Repairing)(tmp_path, recorded.windows(BEFORE["shadowed"]), recorded.on_windows)
        if isinstance(engine, Ending) and outcome is not None:
            engine.end = outcome
        return wizard(engine)

    switched(make, walk)


def test_what_a_person_did_herself_is_called_fixed_in_it(wizard: OpenedWizard) -> None:
    def walk(window: Wizard) -> None:
        press(window, 2)
        window.controller._engine.report = diagnose_snapshot(MACHINES["rule frameworks: healthy"]())
        press(window)

    broken = MACHINES["case: PyTorch without CUDA"]
    switched(lambda: wizard(Showing(diagnose_snapshot(broken()))), walk)


@pytest.mark.parametrize("language", LANGUAGES)
def test_so_are_all_details(language: str, wizard: OpenedWizard) -> None:
    other = LANGUAGES[LANGUAGES.index(language) - 1]
    from_start = in_details(wizard(Showing(recorded.report("shadowed"))), language)
    expected = []
    for row in range(7):
        from_start.open_details().steps.setCurrentRow(row)
        expected.append(texts(from_start))
    window = in_details(wizard(Showing(recorded.report("shadowed"))), other)
    for row in range(7):
        window.open_details().steps.setCurrentRow(row)
        speak(window, language)
        assert window.open_details().steps.currentRow() == row
        assert texts(window) == expected[row], f"step {row + 1}"
        speak(window, other)


def in_details(window: Wizard, language: str) -> Wizard:
    """Go to all details in a language."""
    speak(window, language)
    press(window)
    window.open_details()
    return window


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_what_was_fixed_is_still_fixed_after_a_switch_in_all_details(
    language: str, wizard: OpenedWizard, tmp_path: Path
) -> None:
    engine = Repairing(tmp_path, recorded.windows(BEFORE["shadowed"]), recorded.on_windows)
    window = wizard(engine)
    press(window, 3)
    window.open_details()
    speak(window, language)
    window.close_details()
    assert window.road._head is not None
    assert window.road._head.kind == "fixed"
    assert window.road.current.title == headline_word("fixed")
