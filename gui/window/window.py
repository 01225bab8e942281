"""Window: all details. Steps on the left, one page at a time, Back and Next. Next never changes anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from core.common.i18n import _
from core.model.steps import Severity, Step
from gui import language, texts, theme
from gui.actions import Actions
from gui.controller import Controller
from gui.pages.page_stack import PageActions, PageStack
from gui.pages.summary import History, scan_headline
from gui.theme import Theme
from gui.widgets.help_sheet import HelpSheet, HelpSplitter
from gui.widgets.layout import spaced
from gui.widgets.text import announce
from gui.window.banner import Banner
from gui.window.frame import USUAL_WINDOW_SIZE
from gui.window.navigation_bar import NavigationBar, arrange_parts
from gui.window.step_list import StepList

if TYPE_CHECKING:
    from core.doctor.engine import ActionResult
    from core.explain import Explanation
    from core.model.facts import Snapshot
    from core.model.findings import Report


class Window(QWidget):
    """Shows the controller's results, step by step. Owns no thread, decides nothing about the machine."""

    setting_changed = Signal()

    def __init__(self, controller: Controller, settings: QSettings, leave: Callable[[], object] | None = None) -> None:
        """``leave`` returns to the four screens, if the window shows their details."""
        super().__init__()
        self._leave = leave
        self.resize(USUAL_WINDOW_SIZE)  # A stand-alone window; a frame sets the size of its content.
        self._controller = controller
        self._settings = settings
        self._theme: Theme = theme.LIGHT_THEME
        self._explanation: Explanation | None = None
        self._moved = False  # whether the person chose a page during the scan
        self._scanning = False
        self._ended: set[str] = set()  # sections that were examined
        self.errands = Actions(self, controller, self._show_notice, self._on_changed)
        self._all = spaced(QVBoxLayout(self))
        self._whole = QWidget()
        self._all.addWidget(self._whole)
        self._dress_application()
        language.use_chosen_language(settings)
        self._build()
        self._connect()
        self._dress_window()
        self._busy(controller.busy)
        self.steps.setCurrentRow(0)

    @property
    def shows_other_computer(self) -> bool:
        """Whether another computer's report is shown."""
        return self.errands.shows_other_computer

    @shows_other_computer.setter
    def shows_other_computer(self, other: bool) -> None:
        self.errands.shows_other_computer = other

    @property
    def report(self) -> Report | None:
        """The report that is shown; None before the first scan has ended."""
        return self.errands.report

    # --- building ----------------------------------------------------------------------------------------

    def _build(self) -> None:
        steps = texts.shown_steps()
        self.stack = PageStack(
            PageActions(
                fix=self.errands.fix,
                place=self.errands.place,
                help=self._show_help,
                undo=self.errands.undo,
                copy=self.errands.copy,
                save=self.errands.save,
                measure=self._measure,
                explain=self._explain,
                answered=self._show_explanation,
                go_to=lambda step: self._jump(steps.index(step)),
            )
        )
        self.pages, self.summary, self.explain_page = self.stack.steps, self.stack.summary, self.stack.message
        self.rail = StepList(
            tuple(p.title for p in self.pages), self._settings, (self.start, self.open_message), self._leave
        )
        self.steps, self.again = self.rail.steps, self.rail.again
        self.notice = Banner()
        self.bottom = NavigationBar(self._controller.cancel, self._go_by)
        self.back, self.next, self.cancel = self.bottom.back, self.bottom.next, self.bottom.cancel
        self.sheet = HelpSheet()
        self._beside = HelpSplitter(self.stack, self.sheet)
        before, self._whole = self._whole, arrange_parts(self.rail, self.notice, self._beside, self.bottom)
        self._all.replaceWidget(before, self._whole)
        before.hide()
        before.deleteLater()

    def _connect_rail(self) -> None:
        self.steps.currentRowChanged.connect(self._show_page)
        self.steps.itemClicked.connect(self._person_chose)
        self.rail.setting_changed.connect(self._apply_theme)
        self.rail.setting_changed.connect(self.setting_changed)

    def _connect(self) -> None:
        self._connect_rail()
        for i in range(len(self.pages)):
            QShortcut(QKeySequence(f"Ctrl+{i + 1}"), self, partial(self._jump, i))
        QShortcut(QKeySequence("Ctrl+E"), self, self.open_message)
        QShortcut(QKeySequence.StandardKey.Refresh, self, self.start)
        QShortcut(QKeySequence.StandardKey.Save, self, self.errands.save)
        QShortcut(QKeySequence.StandardKey.HelpContents, self, lambda: self._show_help(self.stack.help_word()))
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._apply_theme)
        says = self._controller
        says.busy_changed.connect(self._busy)
        says.progressed.connect(self._say)
        says.section_changed.connect(self._section)
        says.report_changed.connect(self._take_report)
        says.history_changed.connect(self._know_history)
        says.measured.connect(self._show_measured)
        says.explained.connect(self._show_explanation)
        says.cancelled.connect(self._on_cancelled)
        says.failed.connect(self._on_failed)

    # --- look --------------------------------------------------------------------------------------------

    def _dress_application(self) -> None:
        self._theme = self.errands.theme = theme.dress_as_chosen(self._settings)

    def _apply_theme(self) -> None:
        self._dress_application()
        if language.use_chosen_language(self._settings):
            self._retranslate()
        self._dress_window()

    def _retranslate(self) -> None:
        """Build everything again in another language, and stay at the same place."""
        row, at_message, text = self.steps.currentRow(), self.stack.at_message, self.explain_page.text.toPlainText()
        if self.report is not None:
            from core.doctor.examine import diagnose_again  # imported late: the window appears without the engine

            self.errands.report = diagnose_again(self.report)
        self._build()
        self._connect_rail()
        self._busy(self._controller.busy)
        self.summary.know_history(self.errands.history)
        self.steps.setCurrentRow(row)
        self._enable_buttons()
        self.explain_page.text.setPlainText(text)
        if at_message:
            self.open_message()
        if self._explanation is not None:
            self._explain(text)

    def _dress_window(self) -> None:
        self.window().setWindowIcon(theme.window_icon(self._theme))
        self.rail.apply_theme(self._theme)
        self.explain_page.apply_theme()
        self.sheet.apply_theme()
        self.rail.fit_to(self.width(), self.height())
        if self.report is not None:
            self._fill(self.report)
            self.stack.refresh()
        elif not self._controller.busy:
            self._show_waiting(_("Not examined yet."))
        if self._explanation is not None:
            self.explain_page.show_explanation(self._explanation, self._theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the page room."""
        super().resizeEvent(event)
        self.rail.fit_to(self.width(), self.height())

    # --- moving ------------------------------------------------------------------------------------------

    def _person_chose(self) -> None:
        self._moved = True
        # also if the row stayed the same, when coming from the page for error messages
        self._show_page(self.steps.currentRow())

    def _jump(self, row: int) -> None:
        self._moved = True
        self.steps.setCurrentRow(row)
        self._show_page(row)

    def _go_by(self, by: int) -> None:
        if self.stack.at_message:
            self._jump(self.steps.currentRow())
        else:
            self._jump(max(0, min(self.steps.currentRow() + by, len(self.pages) - 1)))

    def _show_page(self, row: int) -> None:
        page = self.pages[row]
        self._make_room()
        if self.stack.currentWidget() is page:
            return
        self.steps.item(row).setSelected(True)
        self.stack.setCurrentWidget(page)
        self._enable_buttons()
        self._announce(page.title)

    def _make_room(self) -> None:
        """Close the help if it covers the page that the person wants to see."""
        if self._beside.sheet_covers_page:
            self.sheet.put_away()

    def _enable_buttons(self) -> None:
        """Enable Back and Next where they lead somewhere."""
        elsewhere = self.stack.at_message
        row = self.steps.currentRow()
        self.bottom.enable_buttons(back=elsewhere or row > 0, forth=not elsewhere and row < len(self.pages) - 1)

    def open_message(self) -> None:
        """Open the page for error messages."""
        self._moved = True
        self._make_room()
        self.stack.setCurrentWidget(self.explain_page)
        self.steps.clearSelection()  # That page belongs to no step.
        self._enable_buttons()
        self.explain_page.text.setFocus()
        self._announce(self.explain_page.title)

    def _announce(self, sentence: str) -> None:
        if self.isVisible():
            announce(self, sentence)

    # --- signals of the controller ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start examining the machine."""
        if self._controller.busy:
            return
        self._moved = self.stack.at_message
        self._ended = set()
        self._scanning = True
        self.notice.hide()
        self._show_waiting(_("Scanning ... This changes nothing."))
        self._controller.scan()

    def _show_waiting(self, sentence: str) -> None:
        self.rail.show_waiting(self._theme)
        self.stack.show_waiting(sentence)

    def _busy(self, busy: bool) -> None:
        lost = self.cancel.hasFocus() or self.again.hasFocus()
        self.bottom.set_busy(busy)
        self.again.setEnabled(not busy)
        if lost and not (self.cancel.hasFocus() or self.again.hasFocus()):
            (self.cancel if busy else self.again).setFocus()

    def _say(self, sentence: str) -> None:
        self.bottom.saying.say(sentence + " ...")

    def _section(self, section: str, state: str) -> None:
        if not self._scanning:  # A rehearsal scans, too; the steps keep what the real scan found.
            return
        if state != "looking":
            self._ended.add(section)
            self.bottom.show_part(len(self._ended))
        self.rail.show_section(section, state, self._ended, self._theme)

    def _know_history(self, history: History) -> None:
        self.errands.history = history
        self.summary.know_history(history)

    def _take_report(self, report: Report) -> None:
        if self.shows_other_computer and not self._scanning:
            return  # Another computer's report is being read.
        self.shows_other_computer = False
        self.show_report(report)

    def show_report(self, report: Report) -> None:
        """Fill every page, and show the one with the cause, or the summary."""
        self.errands.report, self._scanning = report, False
        self._fill(report)
        head = report.headline
        if not self._moved:
            shown = texts.shown_steps()
            self.steps.setCurrentRow(shown.index(head.step) if head and head.step in shown else len(self.pages) - 1)
        self.stack.refresh()
        if not self._moved:
            (self.stack.cure_button() or self.steps).setFocus()  # The fix's button asks before it changes anything.
        self._announce(report.primary.title if report.primary else scan_headline(report))

    def _fill(self, report: Report) -> None:
        self.stack.show_report(report, self._theme)
        self.rail.show_report(report, self._theme)

    def _on_cancelled(self) -> None:
        if not self._scanning:  # A dialog shows it itself.
            return
        self._scanning = False
        if self.report is not None:
            self._fill(self.report)
            self.stack.refresh()
        else:
            self._show_waiting(_("Cancelled before it was examined."))
        self._announce(_("Cancelled"))

    def _on_failed(self, sentence: str) -> None:
        if QApplication.activeModalWidget() is not None:  # A dialog shows it itself.
            return
        self._scanning = False
        if self.report is None:
            self._show_waiting(_("Undecided: internal error in Convalesce."))
        else:
            self._fill(self.report)
            self.stack.refresh()
        self._show_notice(Severity.ERROR, _("Internal error in Convalesce: {reason}", reason=sentence))

    def _show_notice(self, severity: Severity, sentence: str) -> None:
        self.notice.say(sentence, severity, self._theme)
        self._announce(sentence)

    # --- actions ------------------------------------------------------------------------------------------------------

    def _show_help(self, word: str) -> None:
        if not self.sheet.explain(word):
            self._show_notice(Severity.NOTE, _("There is no help page about this yet."))

    def _measure(self, quick: bool) -> None:
        if self.report is not None and not self._controller.busy and not self.shows_other_computer:
            self.rail.mark_step(texts.shown_steps().index(Step.BENCHMARK), "looking", self._theme.muted, _("running"))
            self._scanning = True
            self._controller.benchmark(self.report, quick=quick)

    def _show_measured(self, report: Report) -> None:
        self._moved = True
        self.show_report(report)

    def _on_changed(self, done: ActionResult) -> None:
        """Show the state of the machine after a dialog."""
        report = done.report or self.report
        if report is not None:
            self._moved = False
            self.show_report(report)

    def _explain(self, text: str) -> None:
        self._explanation = None
        waiting = _("Reading the text. Convalesce checks it against this computer as soon as the scan is complete.")
        self.explain_page.show_waiting(waiting)
        self._controller.explain(text, self._snapshot)

    def _snapshot(self) -> Snapshot | None:
        return self.report.snapshot if self.report else None

    def _show_explanation(self, explanation: Explanation) -> None:
        self._explanation = explanation
        self.explain_page.show_explanation(explanation, self._theme)
        self._announce(explanation.sentence)

    def closeEvent(self, event: QCloseEvent) -> None:
        """End the work."""
        self._controller.close()
        super().closeEvent(event)
