"""Road: the four screens in order, and the transitions between them. It decides nothing about the machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.common.i18n import _
from core.model.steps import Severity
from gui.controller import Controller
from gui.road.ask import AskScreen, Question
from gui.road.screen import Screen
from gui.theme import LIGHT_THEME, Theme
from gui.widgets.layout import spaced
from gui.widgets.text import announce

if TYPE_CHECKING:
    from core.doctor.engine import ActionResult, Preview
    from core.doctor.headline import Headline
    from core.explain import Explanation
    from core.model.findings import Finding, Report
    from core.transaction.execute import Outcome
    from gui.pages.summary import History
    from gui.road.answer import AnswerActions
    from gui.road.waiting import Awaited, WaitingScreen

MOST_ENTRIES = 5
"""Maximum number of past changes listed; the summary shows all."""
MOST_PROGRAMS = 4
"""Maximum number of programs to restart that are named."""


class Road(QWidget):
    """Shows one screen at a time. ``report`` is the basis of its answers: this computer's or another one's."""

    shown = Signal(object)
    """The Screen that was just shown."""
    details_wanted = Signal()
    message_wanted = Signal()
    measure_wanted = Signal()
    told = Signal(object, str)
    """A severity and a sentence, shown above the screen until it is dismissed."""
    elsewhere_changed = Signal()
    finished = Signal()
    undo_wanted = Signal(object)
    save_wanted = Signal()
    place_wanted = Signal(object)
    help_wanted = Signal(str)
    browse_wanted = Signal()

    def __init__(self, controller: Controller, make_menu: Callable[[], QWidget]) -> None:
        super().__init__()
        self.controller = controller
        self.theme: Theme = LIGHT_THEME
        self._make_menu = make_menu
        self.report: Report | None = None
        self.shows_other_computer = False
        self.before: Report | None = None
        """The report from before the last fix."""
        self.explanation: Explanation | None = None
        self.message = ""
        self.entries: History = ()
        self._named = ""
        self._fresh = False
        """Whether the scan of the whole computer has ended and its result was not shown yet."""
        self._awaited: Awaited | Literal[""] = ""
        self._then: Callable[[], object] = self.ask
        self._back: Callable[[], object] = self.ask
        self._head: Headline | None = None
        self._word_head: Callable[[], Headline] | None = None
        """Returns the headline in the current language."""
        self._answers: tuple[int, ...] = ()
        """The answers so far to questions about the message."""
        self._planned: tuple[Finding, str] | None = None
        """The finding whose fix is shown, and the source that the person selected."""
        self._done: ActionResult | None = None
        self._make: Callable[[], Screen] = self._ask_screen
        box = spaced(QVBoxLayout(self))
        self._box = box
        self.current: Screen = self._ask_screen()
        self._add_screen(self.current)
        self._connect()

    def _connect(self) -> None:
        says = self.controller
        says.progressed.connect(self._say)
        says.section_changed.connect(self._section)
        says.report_changed.connect(self._take_report)
        says.explained.connect(self._take_explanation)
        says.taken.connect(self._take_given)
        says.proposed.connect(self._take_preview)
        says.finished.connect(self._take_result)
        says.cancelled.connect(self._give_up)
        says.failed.connect(self._on_failed)
        says.history_changed.connect(self._know_history)

    # --- screens -------------------------------------------------------------------------------------------------

    def _add_screen(self, screen: Screen) -> None:
        from gui.widgets.text import flat_button

        screen.left.add(self._make_menu())
        screen.left.add(flat_button(_("All &details"), self.details_wanted.emit))
        self._box.addWidget(screen)

    def show_screen(self, make: Callable[[], Screen]) -> None:
        """Replace the current screen; ``make`` builds it again in other colours or another language."""
        self._make = make
        old, self.current = self.current, make()
        self._add_screen(self.current)
        old.hide()
        self._box.removeWidget(old)
        old.deleteLater()
        self.current.show()
        self.current.start_focus().setFocus()
        self.shown.emit(self.current)
        if self.isVisible():
            said = " ".join(t for t in (self.current.title, self.current.accessibleDescription()) if t)
            announce(self, said)

    def rebuild(self, theme: Theme, *, other_language: bool) -> None:
        """Rebuild the screen after a change of colours, text size or language."""
        self.theme = theme
        if other_language and self.report is not None:
            self._translate_reports()
            if not self._awaited and self._plan_again():
                return
        before, unfolded_parts = self.current, self.current.unfolded_parts
        self.show_screen(self._make)
        if isinstance(self.current, AskScreen) and isinstance(before, AskScreen):
            self.current.resume(before)
        elif (screen := self._waiting()) and (earlier := self._waiting(before)):
            screen.resume(earlier)
        self.current.unfold(unfolded_parts)

    def _translate_reports(self) -> None:
        """Translate the reports and the headline into the new language."""
        from core.doctor.examine import diagnose_again

        assert self.report is not None
        same = self.before is self.report
        self.report = diagnose_again(self.report)
        self.before = self.report if same else diagnose_again(self.before) if self.before else None
        if self._word_head is not None and self.explanation is None:
            self._head = self._word_head()

    def _plan_again(self) -> bool:
        """Repeat the planning whose result is in the old language, if that takes time; return whether it does."""
        from gui.road.change import ChangeScreen

        if isinstance(self.current, ChangeScreen) and self._planned is not None:
            finding, source = self._planned
            self.plan_fix(self._same_finding(finding), source)
            self._back = partial(self.show_screen, self._answer_screen)
            return True
        if self.explanation is not None and not isinstance(self.current, AskScreen):
            make, answers = self._make, self._answers
            self.wait("explain")
            self._then = partial(self._explained_again, make, answers)
            self.controller.explain(self.message, lambda: self.report.snapshot if self.report else None)
            return True
        return False

    def _explained_again(self, make: Callable[[], Screen], answers: tuple[int, ...]) -> None:
        from core.explain import answer_question

        for number in answers:
            assert self.explanation is not None
            self.explanation = answer_question(self.explanation, number)
        self._answers = answers
        assert self._word_head is not None
        self._head = self._word_head()
        self.show_screen(make)

    def _same_finding(self, finding: Finding) -> Finding:
        """Return a finding in its present wording."""
        reports = [r for r in (self.before, self.report) if r is not None]
        return next((f for r in reports for f in r.findings if f.id == finding.id), finding)

    def ask(self) -> None:
        """Show screen 1."""
        self._head, self._word_head, self._done, self.explanation = None, None, None, None
        self.show_screen(self._ask_screen)

    def _ask_screen(self) -> Screen:
        screen = AskScreen(self.begin_with, self.browse_wanted.emit, self.theme)
        if self.report is not None and not self.shows_other_computer:
            self._list_choices(screen, self.report)
        return screen

    def _list_choices(self, screen: AskScreen, report: Report) -> None:
        from core.doctor.named import environment_choices

        screen.show_choices((*environment_choices(report), *self.controller.running))

    def fill_in(self, question: Question) -> None:
        """Enter a question on screen 1."""
        if not isinstance(self.current, AskScreen):
            self.ask()
        if isinstance(self.current, AskScreen):
            self.current.choose(question.way)
            if question.way == "message" and self.current.text is not None:
                self.current.text.setPlainText(question.text)

    def answer(self) -> None:
        """Show screen 2, or 4: the result of the report."""
        if self.report is not None:
            self._show_answer(self._head_of_report)

    def _show_answer(self, word: Callable[[], Headline]) -> None:
        self._word_head, self._head = word, word()
        self.show_screen(self._answer_screen)

    def _head_of_report(self) -> Headline:
        from core.doctor.headline import headline_of, headline_of_message

        assert self.report is not None
        if self.explanation is not None:
            return headline_of_message(self.explanation, self.report)
        head = headline_of(self.report)
        return (
            without_act(head)
            if self.shows_other_computer and head.act in ("try", "place", "look again", "fix")
            else head
        )

    def _head_of_change(self, finding: Finding, outcome: Outcome | None) -> Headline:
        from core.doctor.headline import headline_fixed

        assert self.report is not None
        return headline_fixed(self.report, self._same_finding(finding), outcome)

    def _answer_screen(self) -> Screen:
        from gui.road.answer import LAST, AnswerScreen

        assert self._head is not None
        assert self.report is not None
        return AnswerScreen(
            self._head,
            self.report,
            self._answer_actions(),
            self.theme,
            back=self.ask,
            again=self._start_again(),
            checked=self._checks(),
            undo=bool(self._done and self._done.outcome.entry),
            code=self.session_code() if self._head.kind in LAST else "",
        )

    def _checks(self) -> tuple[str, ...]:
        """Return what was verified after a cure, in sentences."""
        if self._done is None or self.report is None:
            return ()
        from core.doctor.verify import way_sentence
        from core.report.short_names import shorten_paths

        outcome = self._done.outcome
        told = (*filter(None, (outcome.proved,)), *outcome.notes)
        return (*told, *(shorten_paths(way_sentence(v), self.report) for v in outcome.verified_for))

    def _answer_actions(self) -> AnswerActions:
        from gui.road.answer import AnswerActions

        return AnswerActions(
            fix=self.plan_fix,
            place=self.place_wanted.emit,
            try_out=self.look_at,
            steps=partial(self.show_manual_steps, 0),
            again=self.look_again,
            explain=self.help_wanted.emit,
            more=self.message_wanted.emit,
            ask=partial(self.show_screen, self._question_screen),
            measure=self.measure_wanted.emit,
            finish=self.finished.emit,
            ask_again=self.ask,
            undo=lambda: self.undo_wanted.emit((self._done.outcome.entry,) if self._done else ()),
            save=self.save_wanted.emit,
            history=self.history,
        )

    def session_code(self) -> str:
        """Return the session code of the shown report."""
        from core.report.session_code import decoded_report, encode_code

        return encode_code(decoded_report(self.report)) if self.report else ""

    def _start_again(self) -> str:
        """Return the names of the programs to restart after a cure."""
        if self._done is None:
            return ""
        from core.report.programs import known_programs
        from gui.dialogs.diff_view import restart_words

        if running := known_programs(self._done.running or ()):
            names = ", ".join(running[:MOST_PROGRAMS])
            return _("Restart: {names}.", names=names)
        fix = self._head.finding.fix if self._head and self._head.finding else None
        return restart_words(fix.restart) if fix else ""

    def _question_screen(self) -> Screen:
        from core.doctor.headline import help_word
        from gui.road.answer import QuestionScreen

        assert self._head is not None
        assert self.explanation is not None
        return QuestionScreen(
            self.explanation,
            self.theme,
            help_word=help_word(self._head),
            back=partial(self.show_screen, self._answer_screen),
            choose=self.choose,
            more=self.message_wanted.emit,
        )

    def choose(self, number: int) -> None:
        """Take the answer to the question about an error message."""
        from core.explain import answer_question

        if self.explanation is not None:
            self.explanation = answer_question(self.explanation, number)
            self._answers += (number,)
            self.answer()

    def show_manual_steps(self, number: int) -> None:
        """Show the steps that only a person can take, one at a time."""
        self.show_screen(partial(self._steps_screen, number))

    def _steps_screen(self, number: int) -> Screen:
        from gui.road.answer import StepsScreen

        assert self._head is not None
        back = partial(self.show_manual_steps, number - 1) if number else partial(self.show_screen, self._answer_screen)
        return StepsScreen(
            self._head,
            number,
            self.theme,
            back=back,
            onward=partial(self.show_manual_steps, number + 1),
            check=None if self.shows_other_computer else self.check,
        )

    # --- actions ------------------------------------------------------------------------------------------------------

    def start_scan(self) -> None:
        """Examine the whole computer while the person reads the question."""
        if not self.controller.busy:
            self.controller.scan()

    def begin_with(self, question: Question) -> None:
        """Continue from screen 1 with a question."""
        if question.way == "named":
            self.look_at(question.text)
        elif question.way == "message":
            self.read_given(text=question.text)
        elif self._fresh and self.report is not None and not self.shows_other_computer:
            self._fresh = False
            self.answer()
        else:
            self.look_at("")

    def look_at(self, named: str) -> None:
        """Examine what the person named; the whole computer for empty text."""
        self.explanation, self._done, self._named = None, None, named
        under_way = self.controller.busy and not named and not self._awaited and self.report is None
        self.wait("look")
        if not under_way:  # The scan that started with the window is the same.
            self.controller.run_instead(partial(self.controller.scan, named))

    def look_again(self) -> None:
        """Repeat the last examination."""
        self.look_at(self._named)

    def check(self) -> None:
        """Test whether the person's steps have helped."""
        head = self._head
        self.wait("check")
        self._then = partial(self._on_checked, head.finding if head else None, self.report)
        self.controller.run_instead(partial(self.controller.scan, self._named))

    def _on_checked(self, finding: Finding | None, before: Report | None) -> None:
        report = self.report
        if finding is None or not finding.cause or report is None:
            self.answer()
            return
        if any(f.cause == finding.cause for f in report.findings):
            self.answer()
            self.told.emit(Severity.NOTE, _("It is as it was before."))
            return
        self.before = before
        self._show_answer(partial(self._head_of_change, finding, None))

    def read_given(self, *, path: str = "", text: str = "") -> None:
        """Read a file or a text from the person."""
        self.wait("take")
        self.message = text
        if self.report is None:
            self.start_scan()  # The text is compared with this computer.
        self.controller.read_given(path, text)

    def plan_fix(self, finding: Finding, source: str = "") -> None:
        """Plan and rehearse a fix."""
        if self.report is None or self.shows_other_computer:
            return
        self._planned = finding, source
        self.wait("plan")
        self.controller.propose(finding, self.report, source)

    def wait(self, what: Awaited) -> None:
        """Show that a task is running, and where to return if it is cancelled."""
        from gui.road.waiting import WaitingScreen

        if not self._awaited:
            self._back = partial(self.show_screen, self._make)
        self._awaited, self._then = what, self.answer
        self.show_screen(lambda: WaitingScreen(what, self.cancel, self.theme))

    def cancel(self) -> None:
        """Cancel the running task."""
        if self.controller.busy:
            self.controller.cancel()
        else:
            self._give_up()

    # --- signals of the controller ------------------------------------------------------------------------------------

    def _waiting(self, screen: Screen | None = None) -> WaitingScreen | None:
        """Return a screen (the current one by default) if it is a waiting screen."""
        from gui.road.waiting import WaitingScreen

        screen = screen or self.current
        return screen if self._awaited and isinstance(screen, WaitingScreen) else None

    def _say(self, sentence: str) -> None:
        if self._awaited and (screen := self._waiting()):
            screen.say(sentence)

    def _section(self, section: str, state: str) -> None:
        if self._awaited in ("look", "check") and (screen := self._waiting()):
            screen.section(section, state)

    def _take_report(self, report: Report) -> None:
        if self.shows_other_computer and not self._awaited:
            return  # Another computer's report is being read.
        self.report, self.shows_other_computer = report, False
        self.elsewhere_changed.emit()
        if self._awaited in ("look", "check"):
            self._continue()
            return
        self._fresh = True
        if isinstance(self.current, AskScreen):
            self._list_choices(self.current, report)
        elif not self.isVisible():
            self.answer()  # The details view has scanned again.

    def _continue(self) -> None:
        self._awaited, then = "", self._then
        then()

    def _take_given(self, given: object) -> None:
        from core.doctor.given import Given

        if self._awaited != "take" or not isinstance(given, Given):
            return
        if given.message:
            self._awaited, self.message = "explain", given.message
            self.controller.explain(given.message, lambda: self.report.snapshot if self.report else None)
            return
        self._awaited = ""
        if given.report is not None:
            self.show_elsewhere(given.report)
            return
        self._back()
        if given.code:
            self.told.emit(Severity.NOTE, given.code)
        else:
            self.told.emit(Severity.WARNING, given.problem or _("It is empty."))

    def show_elsewhere(self, report: Report) -> None:
        """Show another computer's report."""
        self.report, self.shows_other_computer, self.explanation, self._done = report, True, None, None
        self.elsewhere_changed.emit()
        self.answer()

    def _take_explanation(self, explanation: Explanation) -> None:
        if self._awaited != "explain":
            return
        self.explanation, self._answers = explanation, ()
        self._continue()

    def _take_preview(self, preview: Preview) -> None:
        if self._awaited != "plan":
            return
        self._awaited = ""
        self.show_screen(partial(self._change_screen, preview))

    def _change_screen(self, preview: Preview) -> Screen:
        from gui.road.change import ChangeScreen

        back = partial(self.show_screen, self._answer_screen)
        return ChangeScreen(preview, self.theme, back=back, commit=partial(self._commit, preview))

    def _commit(self, preview: Preview) -> None:
        self.before = preview.report
        self.wait("change")
        self._back = partial(self.show_screen, self._answer_screen)
        self._then = partial(self._on_changed, preview)
        self.controller.apply(preview)

    def _take_result(self, done: ActionResult) -> None:
        if self._awaited == "change":
            self._done = done
            self._continue()

    def _on_changed(self, preview: Preview) -> None:
        done, finding = self._done, preview.proposal.finding
        if done is not None and done.outcome.kind == "stuck":
            self._done = None
            self._show_answer(partial(self._head_of_change, finding, done.outcome))
            return
        if done is None or done.outcome.kind != "done" or done.report is None:
            self._done = None
            self.show_screen(self._answer_screen)
            if done is not None:
                self.told.emit(Severity.WARNING, done.outcome.sentence)
            return
        self.report = done.report
        self._show_answer(partial(self._head_of_change, finding, done.outcome))

    def show_dialog_result(self, done: ActionResult) -> None:
        """Show the state of the computer after a dialog."""
        if done.report is None:
            return
        self.report, self._done, self.explanation = done.report, None, None
        self.answer()

    def _give_up(self) -> None:
        """Return to the screen before the cancelled task."""
        if self._awaited:
            self._awaited = ""
            self._back()

    def _on_failed(self, sentence: str) -> None:
        if not self._awaited:
            return
        self._awaited = ""
        self._back()
        self.told.emit(Severity.ERROR, _("Internal error in Convalesce: {reason}", reason=sentence))

    def history(self) -> QWidget:
        """Return the list of past changes with times, the newest first."""
        from gui.pages.summary import describe_entry
        from gui.widgets.text import VerdictRow

        body = QWidget()
        box = spaced(QVBoxLayout(body))
        for entry in reversed(self.entries[-MOST_ENTRIES:]):
            severity, sentence = describe_entry(entry)
            box.addWidget(VerdictRow(severity, sentence, self.theme))
        return body

    def _know_history(self, entries: History) -> None:
        self.entries = entries


def without_act(head: Headline) -> Headline:
    """Return a headline of another computer without an action, since fixes run on that computer."""
    from msgspec.structs import replace

    steps = head.finding and head.finding.fix and head.finding.fix.advice
    return replace(head, act="steps" if steps else "help" if head.cause else "finish")
