"""ChangeDialog: the changes, before and after; then progress, verification, and the result in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.common.i18n import _
from core.doctor.engine import ActionResult, Preview
from core.model.changes import Change
from core.model.findings import Finding, Report
from core.model.steps import Severity
from gui import theme as looks
from gui.controller import Controller
from gui.dialogs.diff_view import DiffView, restart_words
from gui.theme import Theme
from gui.widgets.elapsed import ElapsedLabel, moving_bar
from gui.widgets.layout import spaced
from gui.widgets.text import (
    ElidedLabel,
    VerdictRow,
    announce,
    heading_label,
    plain_label,
    prose_label,
    push_button,
    shown_text,
)

if TYPE_CHECKING:
    from core.transaction.journal import Entry

MAX_SHOWN_PROGRAMS = 12
PROGRESS_WIDTH = 120
OUTCOME_SEVERITIES = {
    "done": Severity.GOOD,
    "undone": Severity.GOOD,
    "refused": Severity.WARNING,
    "rolled back": Severity.WARNING,
    "stuck": Severity.ERROR,
}


class ChangeDialog(QDialog):
    """The frame of both dialogs: a body that is rebuilt for each phase, and a Cancel button that works in every phase."""

    def __init__(self, title: str, controller: Controller, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._controller, self._theme = controller, theme
        self._working = False
        self.done_with: ActionResult | None = None
        self.setWindowTitle(title)
        self.setModal(True)
        outer = spaced(QVBoxLayout(self), spacing=0)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        outer.addWidget(self._scroll, 1)
        outer.addWidget(self._bar())
        for signal, slot in (
            (controller.progressed, self._say),
            (controller.finished, self._on_finished),
            (controller.failed, self._on_failed),
            (controller.cancelled, self._on_cancelled),
            (controller.proposed, self._on_proposed),
        ):
            signal.connect(slot)
        self.resize(self._fitting(parent))

    def start(self) -> None:
        """Start the work, after the dialog was opened."""

    def _fitting(self, parent: QWidget) -> QSize:
        em = QFontMetrics(self.font()).averageCharWidth()
        screen = self.screen().availableSize()
        return QSize(
            min(em * 104, screen.width(), max(parent.width() - 40, 320)),
            min(int(em * 78), screen.height(), max(parent.height() - 40, 240)),
        )

    def _bar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("bar")
        row = spaced(QHBoxLayout(bar), (20, 10, 20, 10))
        self.progress = moving_bar()
        self.progress.setMaximumWidth(PROGRESS_WIDTH)
        self.elapsed = ElapsedLabel()
        self.saying = ElidedLabel()
        self.commit = push_button("", self._commit, primary=True)
        self.cancel = push_button(_("Cancel"), self.reject)
        row.addWidget(self.progress)
        row.addWidget(self.elapsed)
        row.addWidget(self.saying, 1)
        row.addWidget(self.commit)
        row.addWidget(self.cancel)
        return bar

    # --- phases ---------------------------------------------------------------------------------------------------

    def _phase(
        self, make: Callable[[QVBoxLayout], None], *, commit: str = "", close: str = "", working: bool = False
    ) -> None:
        """Show a phase: the title, its body, the button that continues (if any), and the button that closes."""
        body = QWidget()
        box = spaced(QVBoxLayout(body), (28, 24, 28, 24), 12)
        box.addWidget(heading_label(self.windowTitle(), 1.3))
        make(box)
        box.addStretch(1)
        self._scroll.setWidget(body)
        self._working = working
        self.saying.say(_("Working") + " ..." if working else "")
        self.progress.setVisible(working)
        self.elapsed.setVisible(working)
        if working:
            self.elapsed.begin()
        else:
            self.elapsed.stop()
        self.commit.setText(commit)
        self.commit.setVisible(bool(commit))
        self.cancel.setText(close or _("Cancel"))
        self.cancel.setEnabled(True)
        (self.cancel if working or not commit else self.commit).setFocus()

    def _commit(self) -> None:
        raise NotImplementedError

    def _on_proposed(self, preview: Preview) -> None:
        """Take a preview; only a fix has one."""

    def _say(self, sentence: str) -> None:
        if self._working:
            self.saying.say(sentence + " ...")

    def reject(self) -> None:
        """Cancel the running work, and stay open until it has ended; close at once if there is none."""
        if self._working:
            self.cancel.setEnabled(False)
            self.saying.say(_("Stopping; the changes so far are rolled back."))
            self._controller.cancel()
            return
        super().reject()

    # --- results --------------------------------------------------------------------------------------------------

    def _on_cancelled(self) -> None:
        if self._working:
            self._result(Severity.NOTE, _("Cancelled. Everything is as it was before."))

    def _on_failed(self, sentence: str) -> None:
        if self._working:
            self._result(Severity.ERROR, _("Internal error in Convalesce: {reason}", reason=sentence))

    def _on_finished(self, done: ActionResult) -> None:
        if not self._working:
            return
        self.done_with = done
        outcome = done.outcome
        rest = tuple(p for p in outcome.problems if p not in outcome.sentence)
        self._result(
            OUTCOME_SEVERITIES[outcome.kind], outcome.sentence, (*rest, *outcome.notes, *self._next_steps(done))
        )

    def _next_steps(self, _done: ActionResult) -> tuple[str, ...]:
        return ()

    def _result(self, severity: Severity, sentence: str, more: tuple[str, ...] = ()) -> None:
        def make(box: QVBoxLayout) -> None:
            self.verdict = VerdictRow(severity, sentence, self._theme)
            box.addWidget(self.verdict)
            for text in more:
                box.addWidget(prose_label(text))

        self._phase(make, close=_("Close"))
        announce(self, sentence)


class FixDialog(ChangeDialog):
    """A finding's fix: planned and rehearsed at once; carried out only when the person confirms."""

    def __init__(
        self, finding: Finding, report: Report, controller: Controller, theme: Theme, parent: QWidget, *, source: str
    ) -> None:
        title = finding.fix.title if finding.fix else finding.title
        super().__init__(shown_text(title), controller, theme, parent)
        self._finding = finding
        self.preview: Preview | None = None
        self._report, self._source = report, source
        self._phase(self._planning, working=True)

    def start(self) -> None:
        """Plan the fix."""
        self._controller.propose(self._finding, self._report, self._source)

    def _planning(self, box: QVBoxLayout) -> None:
        box.addWidget(prose_label(self._finding.title, muted=True))
        box.addWidget(plain_label(_("Preparing and rehearsing the changes. Nothing has changed yet.")))

    def _on_proposed(self, preview: Preview) -> None:
        if not self._working:
            return
        self.preview = preview
        problems, rehearsal = preview.proposal.problems, preview.rehearsal
        possible = not problems and (rehearsal is None or rehearsal.works is not False)
        if preview.proposal.plan.title:
            self.setWindowTitle(shown_text(preview.proposal.plan.title))
        self._phase(
            self._show_preview, commit=_("Make these changes") if possible else "", close="" if possible else _("Close")
        )
        if preview.proposal.elevated:
            self.commit.setIcon(looks.make_icon("shield", self._theme.on_accent))
        announce(self, problems[0] if problems else _("This will change"))

    def _show_preview(self, box: QVBoxLayout) -> None:
        preview = self.preview
        if preview is None:
            return
        proposal, rehearsal = preview.proposal, preview.rehearsal
        box.addWidget(prose_label(self._finding.title, muted=True))
        for problem in proposal.problems:
            box.addWidget(VerdictRow(Severity.WARNING, problem, self._theme))
        if rehearsal is not None:
            severity = {True: Severity.GOOD, False: Severity.ERROR, None: Severity.UNKNOWN}[rehearsal.works]
            box.addWidget(VerdictRow(severity, rehearsal.sentence, self._theme))
        if not proposal.plan.changes:
            return
        box.addWidget(plain_label(_("What changes: − before, + after"), selectable=False, strong=True))
        self.lines = DiffView(proposal.plan.lines(), self._theme)
        box.addWidget(self.lines)
        if proposal.elevated:
            rights = _("This needs administrator rights: the system asks for them, for these changes only.")
            box.addWidget(plain_label(rights))
        fix = self._finding.fix
        again = restart_words(fix.restart) if fix else ""
        box.addWidget(plain_label(" ".join(t for t in (again, _("You can undo it at any time.")) if t), muted=True))

    def _commit(self) -> None:
        preview = self.preview
        if preview is None or self._working:
            return

        def working(box: QVBoxLayout) -> None:
            box.addWidget(plain_label(_("The changes are applied, and then verified by a new scan.")))
            box.addWidget(DiffView(preview.proposal.plan.lines(), self._theme))

        self._phase(working, working=True)
        self._controller.apply(preview)

    def _next_steps(self, done: ActionResult) -> tuple[str, ...]:
        if done.outcome.kind != "done":
            return ()
        from core.doctor.verify import verification_sentences

        rows = [*verification_sentences(done.outcome.verified_for), *filter(None, (done.outcome.proved,))]
        if self._finding.fix and self._finding.fix.restart:
            rows.append(restart_words(self._finding.fix.restart))
        if done.running:
            names = ", ".join(done.running[:MAX_SHOWN_PROGRAMS]) + (
                " ..." if len(done.running) > MAX_SHOWN_PROGRAMS else ""
            )
            rows.append(_("These running programs still have the old variables: {names}", names=names))
        elif done.running is None:
            rows.append(_("Running programs keep the old variables until you restart them."))
        return tuple(rows)


class UndoDialog(ChangeDialog):
    """Entries of the history, undone after a preview."""

    def __init__(self, entries: tuple[Entry, ...], controller: Controller, theme: Theme, parent: QWidget) -> None:
        super().__init__(_("Undo"), controller, theme, parent)
        self._entries = entries
        self._phase(self._show_preview, commit=_("Undo these changes"))

    def _show_preview(self, box: QVBoxLayout) -> None:
        for entry in self._entries:
            box.addWidget(prose_label(entry.title))
            inverses: tuple[Change, ...] = tuple(c.inverse() for c in reversed(entry.changes))
            box.addWidget(DiffView(tuple(line for c in inverses for line in c.lines()), self._theme))
        box.addWidget(plain_label(_("Changes that others have since made in the same place are kept."), muted=True))

    def _commit(self) -> None:
        if self._working:
            return

        def working(box: QVBoxLayout) -> None:
            box.addWidget(plain_label(_("The changes are undone, and the machine is scanned again.")))

        self._phase(working, working=True)
        self._controller.undo(tuple(e.id for e in self._entries))
