"""Five walks from the question to the end, by mouse and again by keyboard alone, in at most five presses; and what surrounds them."""

from __future__ import annotations

import threading
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from core.common import i18n
from core.common.progress import Progress
from core.doctor.engine import ActionResult, Preview
from core.doctor.examine import diagnose_snapshot
from core.model.findings import Report
from core.report.json_form import to_json
from core.report.reading import MAX_WORDS, count_words
from core.report.redact import redact
from core.report.session_code import decoded_report, encode_code
from core.transaction.execute import Outcome, VerifiedFor
from core.transaction.journal import Entry
from gui.dialogs.text_dialog import TextDialog
from gui.road.answer import QuestionScreen
from gui.road.ask import AskScreen
from gui.road.waiting import WaitingScreen
from gui.window.wizard import Wizard
from tests.gui import recorded, reports
from tests.gui.conftest import OpenedWizard
from tests.gui.engines import Repairing, Showing
from tests.gui.hand import Hand
from tests.gui.screen import primary_buttons, read_text
from tests.gui.test_access import assert_whole
from tests.gui.test_behaviour import Slow
from tests.gui.test_walk import AFTER, BEFORE
from tests.test_same_everywhere import MACHINES

MOST_PRESSES = 5
BY = pytest.mark.parametrize("keyboard", [False, True], ids=["mouse", "keyboard"])


class Person(Hand):
    """Counts what she presses."""

    def __init__(self, window: Wizard, *, keyboard: bool) -> None:
        super().__init__(window, keyboard=keyboard)
        self.wizard, self.presses = window, 0

    def press(self, text: str) -> None:
        self.presses += 1
        super().press(text)

    def choose(self, way: str) -> None:
        """Choose what does not work, by clicking or by the arrow keys."""
        self.presses += 1
        screen = self.wizard.road.current
        assert isinstance(screen, AskScreen)
        button = screen.buttons[way]
        if not self.keyboard:
            QTest.mouseClick(button, Qt.MouseButton.LeftButton)
            return
        for _ in range(3):
            if button.isChecked():
                return
            QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Up)

    @property
    def reads(self) -> str:
        """What is on the screen."""
        return read_text(self.wizard)

    @property
    def headline(self) -> str:
        return self.wizard.road.current.title


class Mending(Showing):
    """Shows a fault until the person has done something about it."""

    def __init__(self, before: Report, after: Report) -> None:
        super().__init__(before)
        self._after = after

    def mend(self) -> None:
        self.report = self._after


@BY
def test_a_venv_with_a_build_for_the_processor(keyboard: bool, wizard: OpenedWizard) -> None:
    broken = diagnose_snapshot(MACHINES["case: PyTorch without CUDA"]())
    engine = Mending(broken, diagnose_snapshot(MACHINES["rule frameworks: healthy"]()))
    person = Person(wizard(engine), keyboard=keyboard)
    person.choose("named")
    assert "PyTorch 2.6" in person.reads
    person.press("Look")
    assert engine.named[-1] == r"C:\ml\venv"
    assert person.headline == "Only a person can do this"
    assert "The variant without GPU support is installed in ml." in person.reads
    person.press("Show the steps")
    assert "-m pip install" in person.reads
    engine.mend()
    person.press("Check this step")
    assert person.headline == "Fixed"
    assert person.presses <= MOST_PRESSES


@BY
def test_error_126_on_windows(keyboard: bool, wizard: OpenedWizard, tmp_path: Path) -> None:
    name = "folder not on path"
    engine = Repairing(tmp_path, recorded.windows(BEFORE[name]), recorded.on_windows)
    person = Person(wizard(engine), keyboard=keyboard)
    QGuiApplication.clipboard().setText("Could not load library cudnn64_9.dll. Error code 126")
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert "Error code 126" in person.reads
    person.press("Look")
    assert person.headline == "The cause"
    assert "your programs cannot find it" in person.reads
    person.press("Add folder to PATH...")
    assert "Tested beforehand, without changing anything: it works." in person.reads
    assert engine.path == BEFORE[name]
    person.press("Add folder to PATH")
    assert engine.path == AFTER[name]
    assert person.headline == "Fixed"
    assert "The fault is gone, and nothing got worse." in person.reads
    assert person.presses <= MOST_PRESSES
    person.press("What was changed")
    assert "done." in person.reads
    person.press("Undo...")
    person.press("Undo these changes")
    person.press("Close")
    assert engine.path == BEFORE[name]
    assert person.headline == "The cause"
    assert [e.state for e in engine.journal.entries() if isinstance(e, Entry)] == ["undone"]


@BY
def test_a_machine_without_a_gpu(keyboard: bool, wizard: OpenedWizard) -> None:
    person = Person(wizard(Showing(recorded.report("no gpu"))), keyboard=keyboard)
    person.press("Look")
    assert person.headline == "No NVIDIA GPU"
    assert "compute on the processor" in person.reads
    person.press("Something else does not work")
    assert person.headline == "What does not work?"
    person.press("Look")
    person.press("Finish")
    assert not person.wizard.isVisible()
    assert person.presses <= MOST_PRESSES


def drop(window: Wizard, path: Path) -> None:
    """Let a file fall on the window."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    where, button = QPointF(10, 10), Qt.MouseButton.LeftButton
    window.dropEvent(QDropEvent(where, Qt.DropAction.CopyAction, data, button, Qt.KeyboardModifier.NoModifier))


@BY
def test_a_report_from_elsewhere_at_the_help_desk(keyboard: bool, wizard: OpenedWizard, tmp_path: Path) -> None:
    theirs = redact(recorded.report("shadowed"))
    (tmp_path / "theirs.json").write_bytes(to_json(theirs))
    person = Person(wizard(Showing(recorded.report("healthy"))), keyboard=keyboard)
    window = person.wizard
    drop(window, tmp_path / "theirs.json")
    person.wait(lambda: window.road.shows_other_computer, "the report")
    assert "Another computer's report" in person.reads
    assert window.road.report is not None
    assert not any(f.fix and f.fix.changes for f in window.road.report.findings), "nothing of it can be changed here"
    assert "An older cuDNN, or another program's, is found before the right one" in person.reads
    window._compare()
    dialog = window.findChild(TextDialog)
    assert dialog is not None
    assert "Only on the other machine" in dialog.lines.toPlainText()
    dialog.reject()
    person.press("All details")
    assert window.details is not None
    assert window.details.report is window.road.report
    assert not window.details.findChildren(QPushButton, "fix")
    assert "Another computer's report" in person.reads
    QTest.keyClick(window.details.steps, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert person.headline == "Only a person can do this"
    window.road.show_manual_steps(0)
    assert person.button("Check this step") is None, "a look from here would be at this computer"
    person.press("Leave it")
    assert person.headline == "What does not work?"
    assert "Another computer's report" not in person.reads
    person.press("Look")
    assert person.headline == "Works"
    assert person.presses <= MOST_PRESSES


# The fifth walk, a folder that ~/.profile leaks, is a real one: tests/gui/test_real.py.


@pytest.mark.parametrize("given", ["code", "report", "nothing", "broken"])
def test_what_can_be_pasted_into_the_field(given: str, wizard: OpenedWizard) -> None:
    theirs = recorded.report("no driver")
    text = {
        "code": encode_code(decoded_report(theirs)),
        "report": to_json(redact(theirs)).decode(),
        "nothing": "{}",
        "broken": "CV-0000-0000-0000",
    }[given]
    person = Person(wizard(Showing(recorded.report("healthy"))), keyboard=False)
    person.choose("message")
    person.wizard.road.current.text.setPlainText(text)
    person.press("Look")
    told = {
        "code": "driver_module_not_loaded",
        "report": "Another computer's report",
        "nothing": "Nothing in this text is about the GPU setup.",
        "broken": "This session code was made by a newer Convalesce.",
    }
    assert told[given] in person.reads
    assert not isinstance(person.wizard.road.current, WaitingScreen)


@pytest.mark.parametrize(("way", "key"), [("named", Qt.Key.Key_P), ("message", Qt.Key.Key_E)])
def test_who_chooses_an_option_can_type_or_tab_into_its_input(
    way: Literal["named", "message"], key: Qt.Key, wizard: OpenedWizard
) -> None:
    window = wizard(Showing(recorded.report("fifty pythons")))
    screen = window.road.current
    assert isinstance(screen, AskScreen)

    def field() -> QWidget | None:
        return screen.list if way == "named" else screen.text

    QTest.keyClick(window, key, Qt.KeyboardModifier.AltModifier)
    assert field() is not None
    assert QApplication.focusWidget() is field()
    screen.buttons["whole"].setFocus()
    QTest.mouseClick(screen.buttons[way], Qt.MouseButton.LeftButton)
    assert QApplication.focusWidget() is field()
    screen.buttons[way].setFocus()
    QTest.keyClick(screen.buttons[way], Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is field()


def test_a_named_environment_is_asked_for_again_and_again(wizard: OpenedWizard, tmp_path: Path) -> None:
    engine = Showing(recorded.report("fifty pythons"))
    person = Person(wizard(engine), keyboard=False)
    drop(person.wizard, tmp_path)
    assert engine.named == ["", str(tmp_path)]
    QTest.keyClick(person.wizard.road.current, Qt.Key.Key_Escape)
    assert person.headline == "What does not work?"


def test_enter_is_the_primary_button_and_keys_do_what_they_do_elsewhere(wizard: OpenedWizard) -> None:
    window = wizard(Showing(recorded.report("shadowed")))
    assert isinstance(QApplication.focusWidget(), type(window.road.current.buttons["whole"]))
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    assert window.road.current.title == "The cause"
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F1)
    assert window.sheet is not None
    assert window.sheet.word == "cudnn_shadowed"
    QTest.keyClick(window.sheet, Qt.Key.Key_Escape)
    assert not window.sheet.isVisible()
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert window.road.current.title == "What does not work?"
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    assert not window.isVisible()


def test_what_is_under_way_is_shown_and_can_be_cancelled(wizard: OpenedWizard, qtbot: QtBot) -> None:
    begun = threading.Event()

    def examine(watch: Progress) -> Report:
        watch.say("Looking for Python environments")
        watch.section("driver", "looked")
        begun.set()
        while not watch.cancelled:
            threading.Event().wait(0.01)
        watch.check()
        return reports.HEALTHY

    from concurrent.futures import ThreadPoolExecutor

    window = wizard(Showing(examine), ThreadPoolExecutor(1, thread_name_prefix="doctor"))
    person = Person(window, keyboard=False)
    person.press("Look")
    assert begun.wait(5)
    screen = window.road.current
    assert isinstance(screen, WaitingScreen)
    qtbot.waitUntil(lambda: not screen.elapsed.text().endswith("0:00"))
    assert screen.bar.isVisible()
    person.press("Cancel")
    qtbot.waitUntil(lambda: isinstance(window.road.current, AskScreen))
    assert not window.controller.busy


def test_closing_while_changing_asks_once_and_takes_it_back(wizard: OpenedWizard, qtbot: QtBot, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    engine = Slow(tmp_path)
    window = wizard(engine, ThreadPoolExecutor(1, thread_name_prefix="doctor"))
    person = Person(window, keyboard=False)
    qtbot.waitUntil(lambda: not window.controller.busy)
    before = engine.path
    person.press("Look")
    person.press("Add folder to PATH...")
    person.wait(lambda: person.button("Add folder to PATH"), "the preview")
    engine.slow = True
    person.press("Add folder to PATH")
    person.wait(engine.reached.is_set, "the work")
    assert engine.path != before
    assert not window.close()
    assert not window.close()
    [box] = window.findChildren(QMessageBox)
    stop = next(b for b in box.findChildren(QPushButton) if "Roll back and close" in b.text())
    QTest.mouseClick(stop, Qt.MouseButton.LeftButton)
    person.wait(lambda: not window.isVisible(), "the end")
    assert engine.path == before


def test_a_cure_that_does_not_help_leads_back_to_the_cause(wizard: OpenedWizard, tmp_path: Path) -> None:
    variables = recorded.windows(BEFORE["shadowed"])
    engine = Repairing(tmp_path, variables, lambda _v: recorded.on_windows(variables))
    person = Person(wizard(engine), keyboard=False)
    person.press("Look")
    person.press(next(b.text() for b in person.wizard.road.current.findChildren(QPushButton) if b.property("primary")))
    assert "it does not work" in person.reads
    person.press("Cancel")
    assert person.headline == "The cause"
    assert not engine.journal.entries()


class Ending(Repairing):
    """Makes the change, and says of its end what it is given."""

    end: Outcome

    def apply(self, preview: Preview, watch: Progress) -> ActionResult:
        done = super().apply(preview, watch)
        kept = replace(self.end, entry=done.outcome.entry)
        return replace_fields(done, outcome=kept, report=done.report if kept.kind == "done" else None)


def change_that_ends(end: Outcome, wizard: OpenedWizard, folder: Path) -> Person:
    """Walk until a change has ended so."""
    engine = Ending(folder, recorded.windows(BEFORE["shadowed"]), recorded.on_windows)
    engine.end = end
    person = Person(wizard(engine), keyboard=False)
    person.press("Look")
    for _ in range(2):
        [primary] = primary_buttons(person.wizard)
        person.press(primary.text())
    assert count_words(person.reads) <= MAX_WORDS
    assert_whole(person.wizard.road.current)
    return person


def test_a_cure_that_holds_for_some_ways_of_starting_says_for_which_it_does_not(
    wizard: OpenedWizard, tmp_path: Path
) -> None:
    ways = (VerifiedFor(way="process", holds=True), VerifiedFor(way="login", holds=False))
    person = change_that_ends(Outcome(kind="done", sentence="Done.", verified_for=ways), wizard, tmp_path)
    assert person.headline == "Fixed"
    assert "for some ways of starting a program, but not for all" in person.reads
    assert "Started after a new sign-in: the fault is still there." in person.reads
    assert "nothing got worse" not in person.reads
    person.press("How we know (2)")
    assert "Started from here: the fault is gone." in person.reads
    assert person.button("Undo...")


def test_a_cure_that_nobody_could_verify_is_not_called_fixed(wizard: OpenedWizard, tmp_path: Path) -> None:
    ways = (VerifiedFor(way="process"), VerifiedFor(way="login"))
    person = change_that_ends(Outcome(kind="done", sentence="Done.", verified_for=ways), wizard, tmp_path)
    assert person.headline == "Undecided"
    assert "nothing shows that it helped" in person.reads
    assert "Fixed" not in person.reads
    assert person.button("Undo...")
    person.press("Look again")
    assert person.headline == "No framework", "the fault is gone"


def test_what_a_cure_has_proved_is_on_the_last_screen(wizard: OpenedWizard, tmp_path: Path) -> None:
    ways = (VerifiedFor(way="process", holds=True),)
    end = Outcome(kind="done", sentence="Done.", verified_for=ways, proved="Imported: torch 2.8.0.")
    assert "Imported: torch 2.8.0." in change_that_ends(end, wizard, tmp_path).reads


def test_a_change_that_is_stuck_is_said_and_never_called_fixed(wizard: OpenedWizard, tmp_path: Path) -> None:
    said = "The disk is full. What was changed is taken back at the next start."
    person = change_that_ends(Outcome(kind="stuck", sentence=said), wizard, tmp_path)
    assert person.headline == "Undecided"
    assert said in person.reads
    assert "Fixed" not in person.reads
    assert person.button("Undo...") is None, "nothing stands that could be undone"
    [primary] = primary_buttons(person.wizard)
    assert primary.text().replace("&", "") == "Look again"


@pytest.mark.parametrize("end", ["html", "md", "json"])
def test_a_report_is_saved_in_the_form_that_its_name_asks_for(end: str, wizard: OpenedWizard, tmp_path: Path) -> None:
    engine = Repairing(tmp_path, recorded.windows(BEFORE["shadowed"]), recorded.on_windows)
    person = Person(wizard(engine), keyboard=False)
    person.press("Look")
    for _ in range(2):
        primary = [b for b in person.wizard.road.current.findChildren(QPushButton) if b.property("primary")]
        person.press(primary[0].text().replace("&", ""))
    assert person.headline == "Fixed"
    person.wizard._give_errands()
    file = tmp_path / f"report.{end}"
    person.wizard.errands.save_to(file)
    assert "was saved to" in person.reads
    text = file.read_text(encoding="utf-8")
    assert {"html": "<!DOCTYPE html>", "md": "**Convalesce", "json": '"schema": 1'}[end].lower() in text.lower()
    assert ("Gone: " in text) == (end != "json")


def test_another_language_and_other_colours_take_effect_at_once(
    wizard: OpenedWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(i18n.LANGUAGE_VARIABLE)
    window = wizard(Showing(recorded.report("shadowed")))
    window.road.current.primary.click()
    before = window.palette().window().color().name()
    window._settings.setValue("theme", "dark")
    window._settings.setValue("language", "de")
    window._dress_again()
    assert window.palette().window().color().name() != before
    assert window.road.current.head.kind == "cause"
    window.open_details()
    assert window.details is not None
    assert window.details.pages[-1].title == "Zusammenfassung"
    window.details.rail.choose("language", "en")
    assert window.details.pages[-1].title == "Summary"
    window.details.rail.choose("language", "zh_CN")
    assert window.details.pages[-1].title != "Summary"
    window.close_details()
    assert window.road.current.title not in ("The cause", "Die Ursache")


def test_nothing_of_another_computer_is_changed_here(wizard: OpenedWizard, tmp_path: Path) -> None:
    (tmp_path / "theirs.json").write_bytes(
        to_json(redact(diagnose_snapshot(MACHINES["case: cuDNN was never installed"]())))
    )
    window = wizard(Showing(recorded.report("healthy")))  # whose engine cannot propose anything
    drop(window, tmp_path / "theirs.json")
    details = window.open_details()
    details.steps.setCurrentRow(2)
    card = details.pages[2].cards[0]
    assert card.findChild(QPushButton, "place") is not None
    details.errands.place(card.finding, folder=True)
    details.errands.fix(card.finding, str(tmp_path))
    assert "make this change there" in read_text(window)
    assert not window.findChildren(QDialog)


def test_what_all_details_found_anew_is_what_the_screens_say(wizard: OpenedWizard) -> None:
    engine = Mending(recorded.report("no driver"), recorded.report("healthy"))
    person = Person(wizard(engine), keyboard=False)
    person.press("Look")
    assert person.headline == "Only a person can do this"
    person.press("All details")
    engine.mend()
    person.press("Check again")
    person.press("Simple view")
    assert person.headline == "Works"


def test_where_no_framework_is_the_right_one_is_named(wizard: OpenedWizard) -> None:
    engine = Mending(
        diagnose_snapshot(MACHINES["healthy windows"]()), diagnose_snapshot(MACHINES["rule frameworks: healthy"]())
    )
    person = Person(wizard(engine), keyboard=False)
    person.press("Look")
    assert person.headline == "No framework"
    person.press("Install PyTorch...")
    person.press("Copy")
    first, second = QGuiApplication.clipboard().text().splitlines()
    assert first == "py -m venv gpu"
    assert second.startswith(r"gpu\Scripts\python.exe -m pip install")
    engine.mend()
    person.press("Check this step")
    assert person.headline == "Works"


def test_copied_text_says_so(wizard: OpenedWizard) -> None:
    broken = diagnose_snapshot(MACHINES["case: PyTorch without CUDA"]())
    person = Person(wizard(Showing(broken)), keyboard=False)
    person.press("Look")
    person.press("Show the steps")
    person.press("Copy")
    assert person.button("Copied")
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith(r"C:\ml\venv\python.exe -m pip install")
    assert "\n" not in copied, "what stands in brackets is no command"


def test_no_environment_of_the_list_looks_like_another(wizard: OpenedWizard) -> None:
    from core.doctor.named import environment_choices

    for make in MACHINES.values():
        names = [c.name for c in environment_choices(diagnose_snapshot(make()))]
        assert len(names) == len(set(names))
    twins = recorded.fifty_pythons()
    assert twins.pythons
    alike = tuple(replace(p, prefix=p.prefix.replace("/home/ada/projects", "/srv/work")) for p in twins.pythons[1:3])
    names = [c.name for c in environment_choices(diagnose_snapshot(replace(twins, pythons=(*twins.pythons, *alike))))]
    assert len(names) == len(set(names))
    assert any(n.startswith("work/") for n in names)


def test_every_kind_of_change_is_told_in_words() -> None:
    from core.model.changes import EditLine, EditPath, FileItem, FileSet, SetVariable, Value
    from core.report.change_words import change_words

    report = recorded.report("fifty pythons")
    prefix = report.grid.rows[0].prefix if report.grid else ""
    home = report.snapshot.machine.home or "/home/ada"
    items = (FileItem(path=f"{prefix}/lib/x.so", before="", after="0" * 64),)
    changes = (
        FileSet(title="cuDNN", items=items),
        EditPath(
            name="Path", scope="user", system="windows", entry=r"C:\x", old=None, new=0, after=Value(text=r"C:\x")
        ),
        EditPath(
            name="Path", scope="user", system="windows", entry=r"C:\y", old=0, new=None, before=Value(text=r"C:\y")
        ),
        SetVariable(name="CUDA_VISIBLE_DEVICES", scope="user", before=Value(text="-1")),
        SetVariable(name="LD_LIBRARY_PATH", scope="environment", at=prefix, after=Value(text="drop /x")),
        EditLine(path=f"{home}/.profile", form="posix", line=12, name="LD_LIBRARY_PATH"),
        EditLine(path=f"{home}/.profile", form="posix", line=13, name="PATH", entry="/opt/x"),
        EditLine(path=f"{home}/.profile", form="posix", line=14, name="CUDA_HOME", value="/opt/cuda"),
    )
    said = change_words((*changes, changes[0]), report)
    assert len(said) == len(changes), "the same is said once"
    assert said[0] == "Put 1 file into ml."
    assert said[1:4] == (
        r"Add the folder C:\x to PATH.",
        r"Remove the folder C:\y from PATH.",
        "Remove the setting CUDA_VISIBLE_DEVICES.",
    )
    assert said[4] == "Correct LD_LIBRARY_PATH whenever ml is activated."
    assert all("line 1" in s for s in said[5:])


@BY
def test_one_question_leads_from_a_message_to_its_cause(keyboard: bool, wizard: OpenedWizard) -> None:
    person = Person(wizard(Showing(recorded.report("healthy"))), keyboard=keyboard)
    person.choose("message")
    person.wizard.road.current.text.setPlainText("CUDA error: an illegal memory access was encountered")
    person.press("Look")
    person.press("Answer one question")
    screen = person.wizard.road.current
    assert isinstance(screen, QuestionScreen)
    assert QApplication.focusWidget() is screen.answers.buttons[0]
    assert count_words(read_text(person.wizard)) <= MAX_WORDS
    assert_whole(screen)
    if keyboard:
        QTest.keyClick(screen.answers.buttons[0], Qt.Key.Key_1)
    else:
        QTest.mouseClick(screen.answers.buttons[0], Qt.MouseButton.LeftButton)
    assert "The program itself asks for something impossible" in person.reads
    person.press("More about it")
    person.wait(lambda: "You answered: yes" in person.reads, "the answer")
