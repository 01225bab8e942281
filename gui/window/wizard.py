"""Wizard: the frame's content: the four screens, the details view, and the actions that both offer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from core.common import i18n
from core.common.i18n import _
from core.model.steps import Severity, Step
from gui import language, theme
from gui.actions import Actions
from gui.controller import Controller
from gui.road.ask import AskScreen, Question
from gui.road.road import Road
from gui.theme import Theme
from gui.widgets.layout import spaced
from gui.widgets.settings_button import SettingsButton

if TYPE_CHECKING:
    from core.doctor.engine import ActionResult
    from core.model.findings import Finding, Report
    from gui.widgets.help_sheet import HelpSheet
    from gui.window.banner import Banner
    from gui.window.window import Window


class Wizard(QWidget):
    """Shows the screens or the details.

    Owns no thread, decides nothing about the machine, and builds each part when it is needed.
    """

    def __init__(self, controller: Controller, settings: QSettings) -> None:
        super().__init__()
        self.controller, self._settings = controller, settings
        self._theme: Theme = theme.dress_as_chosen(settings)
        language.use_chosen_language(settings)
        self._language = i18n.current_language()
        self.errands = Actions(self, controller, self.show_notice, self._on_changed)
        self.errands.theme = self._theme
        self.details: Window | None = None
        self.notice: Banner | None = None
        self.whose: Banner | None = None
        self.sheet: HelpSheet | None = None
        self._mine: Report | None = None
        """The last report on this computer."""
        self._may_close = False
        self.setAcceptDrops(True)
        self.setWindowIcon(theme.window_icon(self._theme))
        self.road = Road(controller, self._menu)
        self.road.theme = self._theme
        self.stack = QStackedWidget()
        self.stack.addWidget(self.road)
        self._column = spaced(QVBoxLayout(self), spacing=0)
        self._row = QHBoxLayout()
        self._column.addLayout(self._row, 1)
        self._row.setSpacing(0)
        self._row.addWidget(self.stack, 1)
        self._connect()

    def _connect(self) -> None:
        road = self.road
        road.details_wanted.connect(self.open_details)
        road.message_wanted.connect(self.open_message)
        road.measure_wanted.connect(self.open_benchmark)
        road.told.connect(self.show_notice)
        road.elsewhere_changed.connect(self._say_whose)
        road.finished.connect(self._leave)
        road.undo_wanted.connect(self.errands.undo)
        road.save_wanted.connect(self.save)
        road.place_wanted.connect(self._place)
        road.help_wanted.connect(self.explain)
        road.browse_wanted.connect(self._browse)
        road.shown.connect(lambda _screen: self._put_notice_away())
        self.controller.report_changed.connect(self._know_mine)
        self.controller.history_changed.connect(partial(setattr, self.errands, "history"))
        self.controller.finished.connect(self._keep_up)
        self.controller.compared.connect(self._show_comparison)
        self.controller.busy_changed.connect(self._close_at_last)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._dress_again)
        keys: tuple[tuple[str, Callable[[], object]], ...] = (
            ("Ctrl+D", self.toggle_details),
            ("Ctrl+Q", self._leave),
            ("Ctrl+W", self._leave),
            ("Ctrl+O", self._open),
        )
        for key, act in keys:
            QShortcut(QKeySequence(key), self, act)
        standard = QKeySequence.StandardKey
        for which, act in (
            (standard.HelpContents, self._help),
            (standard.Save, self.save),
            (standard.Paste, self.paste),
        ):
            QShortcut(QKeySequence(which), self.road, act, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def start(self) -> None:
        """Start the scan while the person reads."""
        self.road.start_scan()

    def focus_first(self) -> None:
        """Focus the screen's first control."""
        self.road.current.start_focus().setFocus()

    # --- menu ----------------------------------------------------------------------------------------------------

    def _menu(self) -> QWidget:
        entries = (
            (_("&Open a report..."), "Ctrl+O", self._open),
            (_("Com&pare with another report..."), "", self._compare),
            (_("&Save report..."), "Ctrl+S", self.save),
            (_("Cop&y report"), "", self._copy),
            (_("Session &code"), "", self._tell_code),
            (_("&Help on this screen"), "F1", self._help),
            (_("&Quit"), "Ctrl+Q", self._leave),
        )
        button = SettingsButton(self._settings, entries, _("Menu"))
        button.changed.connect(self._dress_again)
        side = theme.icon_side(button)
        button.setIcon(theme.make_icon("settings", self._theme.note, side))
        button.setIconSize(theme.icon_size(side))
        return button

    def _dress_again(self) -> None:
        """Apply changed colours, text size or language."""
        self._theme = self.errands.theme = theme.dress_as_chosen(self._settings)
        language.use_chosen_language(self._settings)
        other = i18n.current_language() != self._language
        self._language = i18n.current_language()
        if self.details is not None and self.stack.currentWidget() is not self.details:
            self.details.deleteLater()  # It is rebuilt when it is opened.
            self.details = None
        self.road.rebuild(self._theme, other_language=other)
        self._say_whose()
        if self.sheet is not None:
            self.sheet.apply_theme()

    # --- details -------------------------------------------------------------------------------------------------

    def toggle_details(self) -> None:
        """Switch between all details and the four screens."""
        if self.stack.currentWidget() is self.road:
            self.open_details()
        else:
            self.close_details()

    def open_details(self) -> Window:
        """Show all steps."""
        from gui.window.window import Window

        if self.details is None:
            self.details = Window(self.controller, self._settings, self.close_details)
            self.details.setting_changed.connect(self._dress_again)
            self.stack.addWidget(self.details)
            QShortcut(QKeySequence(Qt.Key.Key_Escape), self.details, self._escape)
        self._put_help_away()
        details, report = self.details, self.road.report
        details.shows_other_computer = self.road.shows_other_computer
        details.errands.before = self.road.before
        details._know_history(() if self.road.shows_other_computer else self.road.entries)
        if report is not None and not _is_same_look(details.report, report):
            details.show_report(report)
        self.stack.setCurrentWidget(details)
        details.steps.setFocus()
        return details

    def _escape(self) -> None:
        if self.details is not None and self.details.sheet.isVisible():
            self.details.sheet.put_away()
        else:
            self.close_details()

    def open_message(self) -> None:
        """Show everything known of an error message."""
        details = self.open_details()
        details.explain_page.text.setPlainText(self.road.message)
        details.open_message()
        if self.road.explanation is not None:
            details._show_explanation(self.road.explanation)

    def open_benchmark(self) -> None:
        """Show the benchmark step."""
        details = self.open_details()
        details.steps.setCurrentRow(list(Step).index(Step.BENCHMARK))

    def close_details(self) -> None:
        """Return to the four screens."""
        self.stack.setCurrentWidget(self.road)
        shown = self.details.report if self.details else None
        is_news = shown is not None and not _is_same_look(shown, self.road.report)
        if is_news and not isinstance(self.road.current, AskScreen):
            self.road.report, self.road.shows_other_computer = (
                shown,
                self.details.shows_other_computer if self.details else False,
            )
            self._say_whose()
            self.road.answer()
        self.focus_first()

    # --- messages -----------------------------------------------------------------------------------------------------

    def show_notice(self, severity: Severity, sentence: str) -> None:
        """Show a sentence above the screen until it is dismissed."""
        from gui.widgets.text import announce
        from gui.window.banner import Banner

        if self.notice is None:
            self.notice = Banner()
            self._column.insertWidget(1 if self.whose is not None else 0, self.notice)
        self.notice.say(sentence, severity, self._theme)
        announce(self, sentence)

    def _put_notice_away(self) -> None:
        if self.notice is not None:
            self.notice.hide()

    def _say_whose(self) -> None:
        """Show whose report it is, above everything, if it is another computer's."""
        if not self.road.shows_other_computer or self.road.report is None:
            if self.whose is not None:
                self.whose.hide()
            return
        from core.doctor.given import describe_computer
        from gui.window.banner import Banner

        if self.whose is None:
            self.whose = Banner()
            self.whose.setObjectName("notice")
            self.whose.close_button.clicked.connect(self._come_home)
            self._column.insertWidget(0, self.whose)
        sentence = _("Another computer's report: {whose}", whose=describe_computer(self.road.report))
        self.whose.say(sentence, Severity.NOTE, self._theme, _("Leave it"))

    def _come_home(self) -> None:
        """Leave another computer's report."""
        self.road.report, self.road.shows_other_computer = self._mine, False
        if self.details is not None:
            self.details.shows_other_computer = False
        self.stack.setCurrentWidget(self.road)
        self.road.ask()

    def _know_mine(self, report: Report) -> None:
        self._mine = report

    def _keep_up(self, done: ActionResult) -> None:
        if done.report is not None:
            self._mine = done.report

    # --- help ----------------------------------------------------------------------------------------------------

    def _help(self) -> None:
        self.explain(self.road.current.help_word)

    def explain(self, word: str) -> None:
        """Show a help page beside the screen."""
        from gui.widgets.help_sheet import HelpSheet, HelpSplitter

        if self.sheet is None:
            focus = QApplication.focusWidget()
            self.sheet = HelpSheet()
            holder = HelpSplitter(self.stack, self.sheet)
            self._row.addWidget(holder, 1)
            holder.show()
            if focus is not None:
                focus.setFocus()  # Focus is lost while the screen is moved.
        self.sheet.apply_theme()
        if not self.sheet.explain(word):
            self.show_notice(Severity.NOTE, _("There is no help page about this yet."))

    def _put_help_away(self) -> None:
        if self.sheet is not None:
            self.sheet.put_away()

    # --- help desk ----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        from PySide6.QtWidgets import QFileDialog

        path, _kind = QFileDialog.getOpenFileName(self, _("Open a report"), "", _("Reports and logs") + " (*)")
        if path:
            self.take_file(path)

    def take_file(self, path: str) -> None:
        """Read a report or a log."""
        self.stack.setCurrentWidget(self.road)
        self.road.read_given(path=path)

    def _compare(self) -> None:
        if self.road.report is None or self.controller.busy:
            return
        if self.road.shows_other_computer and self._mine is not None:
            self.controller.compare(self._mine, self.road.report)
            return
        from PySide6.QtWidgets import QFileDialog

        path, _kind = QFileDialog.getOpenFileName(self, _("Compare with another report"), "", "JSON (*.json)")
        if path:
            self.controller.compare(self.road.report, path=path)

    def _show_comparison(self, text: str) -> None:
        from gui.dialogs.text_dialog import TextDialog

        dialog = TextDialog(_("This computer and the other one"), text, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def save(self) -> None:
        """Save the report that is shown."""
        self._give_errands()
        self.errands.save()

    def _copy(self) -> None:
        self._give_errands()
        self.errands.copy()

    def _give_errands(self) -> None:
        self.errands.report = self.road.report
        self.errands.before = None if self.road.shows_other_computer else self.road.before

    def _tell_code(self) -> None:
        if code := self.road.session_code():
            QGuiApplication.clipboard().setText(code)
            self.show_notice(Severity.NOTE, _("Session code: {code} (copied)", code=code))

    def paste(self) -> None:
        """Start with the clipboard's content."""
        text = QGuiApplication.clipboard().text()
        if text.strip() and isinstance(self.road.current, AskScreen):
            self.road.fill_in(Question("message", text))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files and texts."""
        if event.mimeData().hasUrls() or event.mimeData().hasText():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Examine a folder, read a file or a text."""
        urls = [u.toLocalFile() for u in event.mimeData().urls() if u.isLocalFile()]
        event.acceptProposedAction()
        if urls:
            self.open_dropped(urls[0])
        elif event.mimeData().hasText():
            self.road.fill_in(Question("message", event.mimeData().text()))

    def open_dropped(self, path: str) -> None:
        """Handle a dropped path: read a file that contains text, examine anything else."""
        self.stack.setCurrentWidget(self.road)
        if path.lower().endswith((".json", ".txt", ".log", ".out", ".err", ".md")):
            self.road.read_given(path=path)
        else:
            self.road.look_at(path)

    def _browse(self) -> None:
        from PySide6.QtWidgets import QFileDialog

        if path := QFileDialog.getExistingDirectory(self, _("The folder of a program or environment")):
            self.road.look_at(path)

    # --- changes -------------------------------------------------------------------------------------------------

    def _place(self, finding: Finding) -> None:
        if source := self.errands.choose_cudnn(folder=False):
            self.road.plan_fix(finding, source)

    def _on_changed(self, done: ActionResult) -> None:
        self.road.show_dialog_result(done)

    # --- closing ------------------------------------------------------------------------------------------------------

    def _leave(self) -> None:
        self.window().close()

    def closeEvent(self, event: QCloseEvent) -> None:
        """End the work; while the computer is being changed, ask once."""
        if self.controller.changing and not self._may_close:
            event.ignore()
            self._ask_to_close()
            return
        self.controller.close()
        super().closeEvent(event)

    def _ask_to_close(self) -> None:
        from PySide6.QtWidgets import QMessageBox

        if self.findChild(QMessageBox) is not None:
            return
        box = QMessageBox(
            QMessageBox.Icon.Question, _("Convalesce"), _("Convalesce is changing this computer."), parent=self
        )
        box.setInformativeText(_("If you close now, the changes are rolled back."))
        stop = box.addButton(_("Roll back and close"), QMessageBox.ButtonRole.AcceptRole)
        keep = box.addButton(_("Continue"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(keep)
        box.setEscapeButton(keep)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        stop.clicked.connect(self._stop_and_close)
        box.open()

    def _stop_and_close(self) -> None:
        self._may_close = True
        if self.controller.busy:
            self.controller.cancel()  # It closes once everything is undone.
        else:
            self._leave()

    def _close_at_last(self, busy: bool) -> None:
        if self._may_close and not busy:
            self._leave()


def _is_same_look(one: Report | None, other: Report | None) -> bool:
    """Whether two reports are of the same examination, in whatever language."""
    return one is other or (one is not None and other is not None and one.snapshot is other.snapshot)
