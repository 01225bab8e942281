"""StepPage: the one generic page for every step: verdict, explanation, findings, and observations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from core.common.i18n import _, n_
from core.model.steps import Severity, Step
from gui import texts
from gui.theme import Theme
from gui.widgets.card import CardActions, FindingCard
from gui.widgets.layout import spaced
from gui.widgets.text import VerdictRow, flat_button, heading_label, plain_label, width_of

if TYPE_CHECKING:
    from core.model.findings import Finding, Report

MAX_LINE_CHARACTERS = 110
"""Maximum width of a line in average characters; longer lines are hard to read, and tables need some room."""
FINDINGS_AT_ONCE = 5
"""Findings shown at first; further ones are shown on request, so that no page is slow to build."""
Details = Callable[["Report", Theme], QWidget | None]
"""Builds the part of a page with the observations."""
ROOMY_CHARACTERS = 72
"""Width in average characters from which a page has room for margins and for texts side by side."""


class LazyPage(QScrollArea):
    """A page that is built when it is first shown, and rebuilt when there is something new to show."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self.cards: list[FindingCard] = []
        self._make: Callable[[QVBoxLayout], None] | None = None
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(title)

    def show_later(self, make: Callable[[QVBoxLayout], None]) -> None:
        """Set ``make`` to fill the page once it is shown, or once ``build`` is called."""
        self._make = make

    def build(self) -> None:
        """Build the page if there is something new to show."""
        if self._make is None:
            return
        make, self._make = self._make, None
        self.cards = []
        body = QWidget()
        outer = QHBoxLayout(body)
        side, top = (28, 24) if self.is_roomy() else (5, 12)
        outer.setContentsMargins(side, top, side, top)
        column = QWidget()
        column.setMaximumWidth(width_of(MAX_LINE_CHARACTERS))
        box = spaced(QVBoxLayout(column), spacing=12)
        make(box)
        box.addStretch(1)
        outer.addWidget(column, 1)
        outer.addStretch(0)
        self.setWidget(body)

    def is_roomy(self) -> bool:
        """Whether there is space for margins around the text, and for texts side by side."""
        return self.width() > width_of(ROOMY_CHARACTERS)

    def showEvent(self, event: QShowEvent) -> None:
        """Build the page now."""
        self.build()
        super().showEvent(event)

    def add_cards(self, box: QVBoxLayout, cards: list[Callable[[], FindingCard]]) -> None:
        """Add the first cards, and a button for the next ones."""
        for make in cards[:FINDINGS_AT_ONCE]:
            card = make()
            self.cards.append(card)
            box.addWidget(card)
        rest = cards[FINDINGS_AT_ONCE:]
        if rest:
            more = MoreButton(rest, self.cards[-1])
            more.clicked.connect(lambda: self._show_more(box, more))
            box.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def _show_more(self, box: QVBoxLayout, more: MoreButton) -> None:
        """Replace the button with the next cards, and focus the first of them."""
        place = box.indexOf(more)
        new = [make() for make in more.rest[:FINDINGS_AT_ONCE]]
        for i, card in enumerate(new):
            box.insertWidget(place + i, card)
        self.cards += new
        more.rest = more.rest[FINDINGS_AT_ONCE:]
        _tab_in_order([more.last, *new, more])
        more.last = new[-1]
        first = next((w for w in new[0].findChildren(QWidget) if takes_tab(w)), None)
        if first is not None:
            first.setFocus()
        more.say()
        more.setVisible(bool(more.rest))


class MoreButton(QPushButton):
    """Shows the next few of the remaining cards."""

    def __init__(self, rest: list[Callable[[], FindingCard]], last: FindingCard) -> None:
        super().__init__()
        self.rest = rest
        self.last = last
        self.setAutoDefault(True)
        self.say()

    def say(self) -> None:
        """Show how many remain."""
        self.setText(n_("Show {n} more", "Show {n} more", len(self.rest)))


def _tab_in_order(widgets: list[QWidget]) -> None:
    """Make Tab move through the controls of these widgets in this order."""
    controls = [w for widget in widgets for w in (widget, *widget.findChildren(QWidget)) if takes_tab(w)]
    for before, after in pairwise(controls):
        QWidget.setTabOrder(before, after)


def takes_tab(widget: QWidget) -> bool:
    """Whether Tab stops at a widget."""
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)


class StepPage(LazyPage):
    """The page of one step. Reports are immutable, so no locks are needed."""

    def __init__(self, step: Step, details: Details, acts: CardActions) -> None:
        super().__init__(texts.step_title(step))
        self.step = step
        self._details = details
        self._acts = acts

    def show_waiting(self, sentence: str) -> None:
        """Show that the step is being examined."""
        self.show_later(lambda box: self._waiting(box, sentence))

    def _waiting(self, box: QVBoxLayout, sentence: str, *, titled: bool = True) -> None:
        if titled:
            box.addWidget(heading_label(self.title))
        self._what_is_this(box)
        box.addWidget(plain_label(sentence, selectable=False))

    def _actions(self, _box: QVBoxLayout) -> None:
        """Add the page's actions other than the findings'; most pages have none."""

    def _what_is_this(self, box: QVBoxLayout) -> None:
        box.addWidget(plain_label(texts.what_is_this(self.step), muted=True))
        more = flat_button(_("Read more"), partial(self._acts.help, self.step.value))
        more.setAccessibleDescription(self.title)
        box.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def show_report(self, report: Report, theme: Theme) -> None:
        """Show the step's part of a report."""
        self.show_later(lambda box: self._fill(box, report, theme))

    def _fill(self, box: QVBoxLayout, report: Report, theme: Theme) -> None:
        severity, sentence = texts.step_verdict(report, self.step)
        findings = report.findings_for(self.step)
        box.addWidget(heading_label(self.title))
        head = report.headline
        if head is None or head not in findings:
            box.addWidget(VerdictRow(severity, sentence, theme))
        self._what_is_this(box)
        self._actions(box)
        ordered = sorted(findings, key=lambda f: (f is not head, -f.severity))
        self._add(box, [f for f in ordered if f.severity > Severity.GOOD], theme, report)
        details = self._details(report, theme)
        if details is not None:
            box.addSpacing(8)
            box.addWidget(plain_label(_("What was seen"), selectable=False, strong=True))
            box.addWidget(details)
        good = [f for f in ordered if f.severity is Severity.GOOD]
        if good:
            box.addSpacing(8)
            box.addWidget(plain_label(_("OK"), selectable=False, strong=True))
            self._add(box, good, theme, report)

    def _add(self, box: QVBoxLayout, findings: list[Finding], theme: Theme, report: Report) -> None:
        from core.report.short_names import concerned_text  # imported late: there is no report yet at the start

        def card(finding: Finding) -> FindingCard:
            return FindingCard(finding, theme, self._acts, who=concerned_text(finding, report))

        self.add_cards(box, [partial(card, f) for f in findings])
