"""ChangeScreen: what will change, in words; whether it was rehearsed; what to restart. The exact changes are collapsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from core.common.i18n import _
from core.model.steps import Severity
from core.report.change_words import change_words
from gui import texts
from gui import theme as looks
from gui.dialogs.diff_view import DiffView, restart_words
from gui.road.screen import Screen
from gui.theme import Theme
from gui.widgets.text import as_label

if TYPE_CHECKING:
    from core.doctor.engine import Preview

MOST_CHANGES = 3
"""Maximum number of changes described in words; the rest is counted, and shown among the exact changes."""


class ChangeScreen(Screen):
    """Screen 3. Only its button changes the computer, and the button says what it does."""

    def __init__(
        self, preview: Preview, theme: Theme, *, back: Callable[[], object], commit: Callable[[], object]
    ) -> None:
        super().__init__(_("What will change"), theme, help_word="what-changes", back=back)
        proposal, rehearsal = preview.proposal, preview.rehearsal
        self.add_title(self.title)
        told = change_words(proposal.plan.changes, preview.report)
        for sentence in told[:MOST_CHANGES]:
            self.add_text(sentence)
        if len(told) > MOST_CHANGES:
            self.add_text(_("And {n} more.", n=len(told) - MOST_CHANGES))
        for problem in proposal.problems[:1]:
            self.add_sign(Severity.WARNING, problem)
        works = rehearsal.works if rehearsal else None
        if not proposal.problems and not proposal.is_prepared:
            self.add_text(_("It is downloaded, and tested in a copy first; if that fails, nothing is changed."))
        elif rehearsal is not None:
            severity = {True: Severity.GOOD, False: Severity.ERROR, None: Severity.NOTE}[works]
            self.add_sign(severity, rehearsed_sentence(works))
        if proposal.elevated:
            self.add_text(_("The system asks for an administrator's password."), muted=True)
        again = restart_words(proposal.finding.fix.restart) if proposal.finding.fix else ""
        self.add_text(" ".join(t for t in (again, _("You can undo it at any time.")) if t), muted=True)
        lines = proposal.plan.lines()
        self.add_fold(_("Show the exact change"), lambda: DiffView(lines, theme))
        self.end()
        possible = not proposal.problems and works is not False
        self.add_button(_("&Cancel"), back, primary=not possible)
        if possible and proposal.finding.fix:
            button = self.add_button(as_label(texts.fix_verb(proposal.finding.fix)), commit, primary=True)
            button.setObjectName("commit")
            if proposal.elevated:
                button.setIcon(looks.make_icon("shield", theme.on_accent))


def rehearsed_sentence(works: bool | None) -> str:
    """Return the rehearsal's result in words."""
    if works is None:
        return _("It cannot be tested beforehand; it is checked afterwards, and rolled back if it does not help.")
    if works:
        return _("Tested beforehand, without changing anything: it works.")
    return _("Tested beforehand, without changing anything: it does not work.")
