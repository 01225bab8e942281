"""The actions behind the pages' buttons: the dialogs of fixes and undo, and choosing files to place or save."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from core.common.i18n import _
from core.model.steps import Severity
from gui import report_export
from gui.controller import Controller
from gui.pages.summary import History
from gui.theme import LIGHT_THEME, Theme

if TYPE_CHECKING:
    from core.doctor.engine import ActionResult
    from core.model.findings import Finding, Report
    from gui.dialogs.change_dialog import ChangeDialog


class Actions:
    """Opens dialogs over a window, one at a time, for the report that the window shows."""

    def __init__(
        self,
        window: QWidget,
        controller: Controller,
        tell: Callable[[Severity, str], None],
        changed: Callable[[ActionResult], None],
    ) -> None:
        self._window, self._controller, self._tell, self._changed = window, controller, tell, changed
        self.report: Report | None = None
        self.shows_other_computer = False
        """Whether the report is another computer's: nothing of it is changed from here."""
        self.before: Report | None = None
        """The report from before a cure, if there was one."""
        self.history: History = ()
        self.theme: Theme = LIGHT_THEME

    def fix(self, finding: Finding, source: str = "") -> None:
        """Show what a finding's fix would change; with ``source``, using that file or folder."""
        if self.report is None or self._controller.busy or self._refuse_foreign_report():
            return
        from gui.dialogs.change_dialog import FixDialog

        self._ask(FixDialog(finding, self.report, self._controller, self.theme, self._window, source=source))

    def place(self, finding: Finding, folder: bool) -> None:
        """Let the person select a cuDNN: a folder, an archive or a wheel."""
        if self._refuse_foreign_report():
            return
        if source := self.choose_cudnn(folder=folder):
            self.fix(finding, source)

    def _refuse_foreign_report(self) -> bool:
        """Return whether the report is another computer's, and tell the person if so."""
        if self.shows_other_computer:
            self._tell(Severity.NOTE, _("This report is from another computer: make this change there."))
        return self.shows_other_computer

    def choose_cudnn(self, *, folder: bool) -> str:
        """Return the path that the person selects; empty if none."""
        from PySide6.QtWidgets import QFileDialog

        if folder:
            source = QFileDialog.getExistingDirectory(self._window, _("A folder with a complete cuDNN"))
        else:
            kinds = _("cuDNN as NVIDIA distributes it") + " (*.zip *.tar.xz *.tgz *.tar.gz *.whl)"
            source, _kind = QFileDialog.getOpenFileName(self._window, _("An archive or a wheel of cuDNN"), "", kinds)
        return source

    def undo(self, ids: tuple[str, ...]) -> None:
        """Show what undoing these entries of the history would change."""
        if self._controller.busy:
            return
        from core.transaction.journal import Entry
        from gui.dialogs.change_dialog import UndoDialog

        known = {e.id: e for e in self.history}
        entries = tuple(e for i in ids if isinstance(e := known.get(i), Entry))
        self._ask(UndoDialog(entries, self._controller, self.theme, self._window))

    def _ask(self, dialog: ChangeDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.finished.connect(lambda: self._on_dialog_closed(dialog))
        dialog.open()
        dialog.start()

    def _on_dialog_closed(self, dialog: ChangeDialog) -> None:
        if dialog.done_with is not None:
            self._changed(dialog.done_with)

    def copy(self) -> None:
        """Show what leaves this machine; then copy the report to the clipboard, and confirm it."""
        self._leave(_("Copy report"), lambda report: self._tell(*report_export.copy_report(report)))

    def save(self) -> None:
        """Show what leaves this machine; then let the person choose a file for the report."""
        self._leave(_("Save report..."), lambda _report: self._save_as())

    def _leave(self, act: str, then: Callable[[Report], object]) -> None:
        report = self.report
        if report is None:
            return
        from core.report.redact import redact
        from gui.dialogs.leaving_dialog import LeavingDialog

        dialog = LeavingDialog(redact(report), act, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: then(report))
        dialog.open()

    def _save_as(self) -> None:
        from PySide6.QtWidgets import QFileDialog

        name, _kind = QFileDialog.getSaveFileName(
            self._window, _("Save report"), report_export.suggested_name(), ";;".join(report_export.FORMS.values())
        )
        if name:
            self.save_to(Path(name))

    def save_to(self, path: Path) -> None:
        """Write the report, and confirm it."""
        if self.report is not None:
            self._tell(*report_export.save_report(self.report, path, self.before))
