"""PageStack: every step's page, the summary and the error-text page; each is created when it is first shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from core.model.steps import Step
from gui import texts
from gui.pages.benchmark import BenchmarkPage
from gui.pages.explain import ExplainPage
from gui.pages.step_page import LazyPage, StepPage
from gui.pages.summary import SummaryPage
from gui.theme import Theme
from gui.widgets.card import CardActions

if TYPE_CHECKING:
    from core.explain import Explanation
    from core.model.findings import Report

SEARCH_PATH = "search-path"
"""The help page if no step is selected: how programs find their libraries."""


@dataclass(frozen=True)
class PageActions(CardActions):
    """The actions of the pages' buttons."""

    undo: Callable[[tuple[str, ...]], None]
    copy: Callable[[], None]
    save: Callable[[], None]
    measure: Callable[[bool], None]
    explain: Callable[[str], None]
    answered: Callable[[Explanation], None]
    go_to: Callable[[Step], None]


def _details(step: Step, report: Report, theme: Theme) -> QWidget | None:
    """Return the observations of a step. Imported with the first report, so that the window appears first."""
    from gui.pages.details import make_details

    return make_details(step, report, theme)


class PageStack(QStackedWidget):
    """The steps' pages in their order, the summary last, and the page for error messages."""

    def __init__(self, verbs: PageActions) -> None:
        super().__init__()
        self.summary = SummaryPage(verbs, verbs.copy, verbs.save, verbs.undo, verbs.go_to)
        self.steps: tuple[StepPage | SummaryPage, ...] = (
            *(
                StepPage(step, partial(_details, step), verbs)
                for step in texts.shown_steps()
                if step is not Step.BENCHMARK
            ),
            BenchmarkPage(verbs.measure, verbs),
            self.summary,
        )
        self.message = ExplainPage(verbs.explain, verbs.answered, verbs)
        for page in (*self.steps, self.message):
            self.addWidget(page)

    @property
    def at_message(self) -> bool:
        """Whether the page for error messages is open."""
        return self.currentWidget() is self.message

    def show_waiting(self, sentence: str) -> None:
        """Show on every step that nothing is known yet."""
        for page in self.steps:
            page.show_waiting(sentence)
        self.refresh()

    def show_report(self, report: Report, theme: Theme) -> None:
        """Show a report; ``refresh`` builds the visible page."""
        for page in self.steps:
            page.show_report(report, theme)

    def refresh(self) -> None:
        """Rebuild the visible page; the others are built when they are shown."""
        page = self.currentWidget()
        if isinstance(page, LazyPage) and page.isVisible():
            page.build()

    def subject(self) -> str:
        """Return the word of the help page for the visible page: its cause, else its step."""
        page = self.currentWidget()
        causes = [c.finding.cause for c in page.cards if c.finding.primary] if isinstance(page, LazyPage) else []
        if causes and causes[0]:
            return causes[0]
        return page.step.value if isinstance(page, StepPage) else SEARCH_PATH

    def cure(self) -> QPushButton | None:
        """Return the button that cures the primary cause, if it is on the visible page."""
        page = self.currentWidget()
        cards = page.cards if isinstance(page, StepPage | SummaryPage) else []
        return cards[0].fix_button if cards and cards[0].finding.primary else None
