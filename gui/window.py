"""The wizard's window: steps at the left, one page at a time, Back and Next. Next never changes anything."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtGui import (
    QCloseEvent,
    QGuiApplication,
    QKeySequence,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QProgressBar,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from core.findings import SECTIONS, Finding, Report, Severity, Step
from core.i18n import _
from gui import theme as looks
from gui import words
from gui.benchmark import BenchmarkPage
from gui.controller import Controller
from gui.explaining import ExplainPage
from gui.notice import Notice
from gui.page import Page, StepPage
from gui.rail import SIZES, Rail
from gui.summary import History, SummaryPage, headline
from gui.text import Elided, announce, push
from gui.theme import Theme

if TYPE_CHECKING:
    from core.explain import Explanation
    from core.facts import Snapshot
    from gui.changing import ChangeDialog
    from gui.engine import Done

SMALLEST = QSize(320, 240)


def _details(step: Step, report: Report, theme: Theme) -> QWidget | None:
    """Return what was seen of a step. Loaded with the first report: the window is there before it."""
    from gui.details import details

    return details(step, report, theme)


class Window(QMainWindow):
    """Shows what the controller reports. Owns no thread and makes no decision about the machine."""

    def __init__(self, controller: Controller, settings: QSettings) -> None:
        super().__init__()
        self._controller = controller
        self._settings = settings
        self._theme: Theme = looks.LIGHT
        self._report: Report | None = None
        self._history: History = ()
        self._explanation: Explanation | None = None
        self._moved = False  # whether the person chose a page during the scan
        self._scanning = False
        self._ended: set[str] = set()  # sections that were looked at
        self.setWindowTitle("Convalesce")
        self.setMinimumSize(SMALLEST)
        steps = words.shown_steps()
        self.summary = SummaryPage(self._fix, self._copy, self._save, self._undo, lambda s: self._jump(steps.index(s)))
        self.pages: tuple[StepPage | SummaryPage, ...] = (
            *(StepPage(s, partial(_details, s), self._fix) for s in steps if s is not Step.BENCHMARK),
            BenchmarkPage(self._measure, self._fix),
            self.summary,
        )
        self.explain_page = ExplainPage(self._explain, self._fix)
        self._dress_application()
        self._build()
        self._connect()
        self._dress_window()
        self._busy(controller.busy)
        self.steps.setCurrentRow(0)
        size = settings.value("size")
        self.resize(size if isinstance(size, QSize) else QSize(1000, 700))

    # --- building ----------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.rail = Rail(tuple(p.title for p in self.pages), self._settings, (self.start, self.open_message))
        self.steps, self.again = self.rail.steps, self.rail.again
        self.stack = QStackedWidget()
        for page in (*self.pages, self.explain_page):
            self.stack.addWidget(page)
        self.notice = Notice()
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.notice)
        right.addWidget(self.stack, 1)
        right.addWidget(self._bar())
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.rail)
        row.addLayout(right, 1)
        middle = QWidget()
        middle.setLayout(row)
        self.setCentralWidget(middle)

    def _bar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("bar")
        row = QHBoxLayout(bar)
        row.setContentsMargins(20, 10, 20, 10)
        self.progress = QProgressBar()
        self.progress.setAccessibleName(_("Progress"))
        self.progress.setTextVisible(False)
        self.progress.setMaximumWidth(160)
        self.saying = Elided()
        self.cancel = push(_("&Cancel"), self._controller.cancel)
        self.back = push(_("&Back"), lambda: self._go(-1))
        self.next = push(_("&Next"), lambda: self._go(1), primary=True)
        row.addWidget(self.progress)
        row.addWidget(self.saying, 1)
        for button in (self.cancel, self.back, self.next):
            row.addWidget(button)
        return bar

    def _connect(self) -> None:
        self.steps.currentRowChanged.connect(self._show_page)
        self.steps.itemClicked.connect(self._person_chose)
        self.rail.setting_changed.connect(self._dress)
        for i in range(len(self.pages)):
            QShortcut(QKeySequence(f"Ctrl+{i + 1}"), self, partial(self._jump, i))
        QShortcut(QKeySequence("Ctrl+E"), self, self.open_message)
        QShortcut(QKeySequence.StandardKey.Refresh, self, self.start)
        QShortcut(QKeySequence.StandardKey.Save, self, self._save)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._dress)
        says = self._controller
        says.busy_changed.connect(self._busy)
        says.progressed.connect(self._say)
        says.section_changed.connect(self._section)
        says.report_changed.connect(self.show_report)
        says.history_changed.connect(self._know_history)
        says.measured.connect(self._show_measured)
        says.explained.connect(self._show_explanation)
        says.cancelled.connect(self._cancelled)
        says.failed.connect(self._failed)

    # --- look --------------------------------------------------------------------------------------------

    def _dress_application(self) -> None:
        self._theme = looks.choose(str(self._settings.value("theme", "system")))
        size = str(self._settings.value("text size", SIZES[0]))
        app = QApplication.instance()
        if isinstance(app, QApplication):
            looks.dress(app, self._theme, int(size) if size in SIZES else 100)

    def _dress(self) -> None:
        self._dress_application()
        self._dress_window()

    def _dress_window(self) -> None:
        self.setWindowIcon(looks.icon("convalesce", self._theme.text, 64))
        self.rail.dress(self._theme)
        self.explain_page.dress()
        self.rail.fit(self.width())
        if self._report is not None:
            self._fill(self._report)
            self._refresh()
        elif not self._controller.busy:
            self._show_waiting(_("Not looked at yet."))
        if self._explanation is not None:
            self.explain_page.show_explanation(self._explanation, self._theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the page room."""
        super().resizeEvent(event)
        self.rail.fit(self.width())

    # --- moving ------------------------------------------------------------------------------------------

    def _person_chose(self) -> None:
        self._moved = True
        self._show_page(self.steps.currentRow())  # also from the other door, where the row stayed the same

    def _jump(self, row: int) -> None:
        self._moved = True
        self.steps.setCurrentRow(row)
        self._show_page(row)

    def _go(self, by: int) -> None:
        if self.stack.currentWidget() is self.explain_page:
            self._jump(self.steps.currentRow())
        else:
            self._jump(max(0, min(self.steps.currentRow() + by, len(self.pages) - 1)))

    def _show_page(self, row: int) -> None:
        page = self.pages[row]
        if self.stack.currentWidget() is page:
            return
        self.steps.item(row).setSelected(True)
        self.stack.setCurrentWidget(page)
        self._arm()
        self._announce(page.title)

    def _arm(self) -> None:
        """Let Back and Next do what they can from here."""
        elsewhere = self.stack.currentWidget() is self.explain_page
        row = self.steps.currentRow()
        lost = self.back.hasFocus() or self.next.hasFocus()
        self.back.setEnabled(elsewhere or row > 0)
        self.next.setEnabled(not elsewhere and row < len(self.pages) - 1)
        if lost and not (self.back.hasFocus() or self.next.hasFocus()):  # at an end, the other one takes over
            (self.back if self.back.isEnabled() else self.next).setFocus()

    def open_message(self) -> None:
        """Open the second door: an error message."""
        self._moved = True
        self.stack.setCurrentWidget(self.explain_page)
        self.steps.clearSelection()  # one is at none of the steps
        self._arm()
        self.explain_page.text.setFocus()
        self._announce(self.explain_page.title)

    def _refresh(self) -> None:
        """Make the visible page anew; the others are made when they are shown."""
        page = self.stack.currentWidget()
        if isinstance(page, Page) and page.isVisible():
            page.build()

    def _announce(self, sentence: str) -> None:
        if self.isVisible():
            announce(self, sentence)

    # --- what the controller says ------------------------------------------------------------------------

    def start(self) -> None:
        """Start looking at the machine."""
        if self._controller.busy:
            return
        self._moved = self.stack.currentWidget() is self.explain_page
        self._ended = set()
        self._scanning = True
        self.notice.hide()
        self._show_waiting(_("Looking ... Nothing is changed by it."))
        self._controller.scan()

    def _show_waiting(self, sentence: str) -> None:
        for i, page in enumerate(self.pages):
            page.show_waiting(sentence)
            self.rail.mark(i, "waiting", self._theme.muted, "")
        self._refresh()

    def _busy(self, busy: bool) -> None:
        self.progress.setVisible(busy)
        self.progress.setRange(0, len({s for sections in SECTIONS.values() for s in sections}))
        self.progress.setValue(0)
        lost = self.cancel.hasFocus() or self.again.hasFocus()
        self.cancel.setVisible(busy)
        self.again.setEnabled(not busy)
        if lost and not (self.cancel.hasFocus() or self.again.hasFocus()):
            (self.cancel if busy else self.again).setFocus()
        if not busy:
            self.saying.say("")

    def _say(self, sentence: str) -> None:
        self.saying.say(sentence + " ...")

    def _section(self, section: str, state: str) -> None:
        if state != "looking":
            self._ended.add(section)
            self.progress.setValue(len(self._ended))
        for i, step in enumerate(words.shown_steps()):
            if section in SECTIONS[step]:
                done = self._ended.issuperset(SECTIONS[step])
                icon = "unknown" if state == "failed" else "waiting" if done else "looking"
                says = {"unknown": _("not decided"), "waiting": _("looked at"), "looking": _("looking")}[icon]
                self.rail.mark(i, icon, self._theme.muted, says)

    def _know_history(self, history: History) -> None:
        self._history = history
        self.summary.know_history(history)

    def show_report(self, report: Report) -> None:
        """Fill every page, and land on the one with the cause, or on the summary."""
        self._report, self._scanning = report, False
        self._fill(report)
        primary = report.primary
        if not self._moved:
            shown = words.shown_steps()
            self.steps.setCurrentRow(
                shown.index(primary.step) if primary and primary.step in shown else len(self.pages) - 1
            )
        self._refresh()
        if not self._moved:
            self._focus_on_cure()
        self._announce(primary.title if primary else headline(report))

    def _focus_on_cure(self) -> None:
        """Put the keyboard on the cure's button, which asks before it does anything; else on the steps."""
        page = self.stack.currentWidget()
        cards = page.cards if isinstance(page, StepPage | SummaryPage) else []
        button = cards[0].fix_button if cards and cards[0].finding.primary else None
        (button or self.steps).setFocus()

    def _fill(self, report: Report) -> None:
        for i, page in enumerate(self.pages):
            page.show_report(report, self._theme)
            severity = words.verdict(report, page.step)[0] if isinstance(page, StepPage) else report.worst
            if page.title == words.title(Step.BENCHMARK) and report.snapshot.benchmark is None:
                self.rail.mark(i, "waiting", self._theme.muted, _("not run"))
                continue
            severity = Severity.GOOD if severity is Severity.NOTE else severity
            self.rail.mark(i, severity.word, self._theme.of(severity), looks.word(severity))

    def _cancelled(self) -> None:
        if not self._scanning:  # a dialog says it itself
            return
        self._scanning = False
        if self._report is not None:
            self._fill(self._report)
            self._refresh()
        else:
            self._show_waiting(_("Cancelled before it was looked at."))
        self._announce(_("Cancelled"))

    def _failed(self, sentence: str) -> None:
        if QApplication.activeModalWidget() is not None:  # a dialog says it itself
            return
        self._scanning = False
        if self._report is None:
            self._show_waiting(_("Not decided: Convalesce itself failed."))
        else:
            self._fill(self._report)
            self._refresh()
        self._tell(Severity.ERROR, _("Convalesce itself failed: {reason}").format(reason=sentence))

    def _tell(self, severity: Severity, sentence: str) -> None:
        self.notice.say(sentence, severity, self._theme)
        self._announce(sentence)

    # --- verbs -------------------------------------------------------------------------------------------

    def _fix(self, finding: Finding, source: str = "") -> None:
        if self._report is None or self._controller.busy:
            return
        from gui.changing import FixDialog

        self._ask(FixDialog(finding, self._report, self._controller, self._theme, self, source=source))

    def _measure(self, quick: bool) -> None:
        if self._report is not None and not self._controller.busy:
            self.rail.mark(words.shown_steps().index(Step.BENCHMARK), "looking", self._theme.muted, _("running"))
            self._scanning = True
            self._controller.benchmark(self._report, quick=quick)

    def _show_measured(self, report: Report) -> None:
        self._moved = True
        self.show_report(report)

    def _undo(self, ids: tuple[str, ...]) -> None:
        if self._controller.busy:
            return
        from core.journal import Entry
        from gui.changing import UndoDialog

        known = {e.id: e for e in self._history}
        entries = tuple(e for i in ids if isinstance(e := known.get(i), Entry))
        self._ask(UndoDialog(entries, self._controller, self._theme, self))

    def _ask(self, dialog: ChangeDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.finished.connect(lambda: self._changed(dialog.done_with))
        dialog.open()
        dialog.start()

    def _changed(self, done: Done | None) -> None:
        """Show what the machine looks like after a dialog."""
        if done is None or self._report is None:
            return
        self._moved = False
        self.show_report(done.report or self._report)

    def _explain(self, text: str) -> None:
        self._explanation = None
        waiting = _("Reading it. It is held against this computer as soon as that has been looked at.")
        self.explain_page.show_waiting(waiting)
        self._controller.explain(text, self._snapshot)

    def _snapshot(self) -> Snapshot | None:
        return self._report.snapshot if self._report else None

    def _show_explanation(self, explanation: Explanation) -> None:
        self._explanation = explanation
        self.explain_page.show_explanation(explanation, self._theme)
        self._announce(explanation.sentence)

    def _copy(self) -> None:
        if self._report is not None:
            from core.redact import redact
            from core.report import as_text

            QGuiApplication.clipboard().setText(as_text(redact(self._report)))
            self._tell(Severity.GOOD, _("The report is on the clipboard, without names of persons and machines."))

    def _save(self) -> None:
        if self._report is None:
            return
        from PySide6.QtWidgets import QFileDialog

        name, _filter = QFileDialog.getSaveFileName(self, _("Save report"), "convalesce-report.json", "JSON (*.json)")
        if name:
            self.save_to(Path(name))

    def save_to(self, path: Path) -> None:
        """Write the report, without names of persons and machines, and say so."""
        from core.findings import to_json
        from core.redact import redact

        if self._report is None:
            return
        try:
            path.write_bytes(to_json(redact(self._report)))
        except OSError as e:
            self._tell(Severity.ERROR, _("The report could not be written: {reason}").format(reason=e.strerror))
        else:
            self._tell(Severity.GOOD, _("The report was saved to {path}").format(path=path))

    def come_to_front(self) -> None:
        """Show the window above others: somebody started Convalesce a second time."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.raise_()
        self.activateWindow()

    def closeEvent(self, event: QCloseEvent) -> None:
        """End the work, and keep the window's size."""
        self._controller.close()
        self._settings.setValue("size", self.size())
        super().closeEvent(event)
