"""The screens with an answer. AnswerScreen: the headline, one sentence, and the next action. StepsScreen: a person's
manual steps, one at a time. QuestionScreen: the one question whose answer decides the cause of an error message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.common.i18n import _, n_
from core.doctor.headline import (
    Headline,
    headline_detail,
    headline_sentence,
    headline_severity,
    headline_word,
    help_word,
    who_text,
)
from core.report.reading import commands_of, hand_steps
from gui import texts
from gui.road.screen import Screen
from gui.theme import Theme
from gui.widgets.answers import AnswerRows
from gui.widgets.card import observation_rows
from gui.widgets.layout import spaced
from gui.widgets.text import MachineText, as_label, copy_text_button, enlarge, heading_label, prose_label

if TYPE_CHECKING:
    from core.explain import Explanation
    from core.model.findings import Finding, Report

LAST = ("works", "no gpu", "fixed")
"""Headlines after which nothing is left to do; the screen then shows the session code in large type."""


@dataclass(frozen=True)
class AnswerActions:
    """The actions of an answer's buttons."""

    fix: Callable[[Finding], object]
    place: Callable[[Finding], object]
    try_out: Callable[[str], object]
    steps: Callable[[], object]
    again: Callable[[], object]
    explain: Callable[[str], object]
    more: Callable[[], object]
    ask: Callable[[], object]
    measure: Callable[[], object]
    finish: Callable[[], object]
    ask_again: Callable[[], object]
    undo: Callable[[], object]
    save: Callable[[], object]
    history: Callable[[], QWidget]


class AnswerScreen(Screen):
    """Screens 2 and 4: an answer. ``again``: programs to restart; ``checked``: what was verified afterwards."""

    def __init__(
        self,
        head: Headline,
        report: Report,
        acts: AnswerActions,
        theme: Theme,
        *,
        back: Callable[[], object],
        again: str,
        checked: tuple[str, ...],
        undo: bool,
        code: str,
    ) -> None:
        super().__init__(headline_word(head.kind), theme, help_word=help_word(head), back=back)
        self.head = head
        self.setAccessibleDescription(headline_sentence(head))
        self.add_headline(self.title, headline_severity(head), headline_sentence(head))
        if detail := headline_detail(head, report):
            self.add_text(detail, muted=True)
        if again:
            self.add_text(again)
        if code:
            self._add_code(code)
        self._add_links(head, acts, checked, undo=undo)
        self.end()
        if head.kind in LAST:
            self.add_button(_("Something &else does not work"), acts.ask_again)
        else:
            self.add_button(_("&Back"), back)
        text, act = self._next(head, acts)
        button = self.add_button(text, act, primary=True)
        if head.act == "fix" and head.finding and head.finding.fix:
            button.setAccessibleDescription(head.finding.fix.title)

    def _add_links(self, head: Headline, acts: AnswerActions, checked: tuple[str, ...], *, undo: bool) -> None:
        finding = head.finding
        if checked:
            self.add_fold(n_("How we know ({n})", "How we know ({n})", len(checked)), lambda: sentence_rows(checked))
        if head.kind == "fixed" or undo:
            self.add_fold(_("What was changed"), acts.history)
            if undo:
                self.add_link(_("&Undo..."), acts.undo)
            self.add_link(_("&Save report..."), acts.save)
            return
        if head.act == "ask":
            self.add_link(_("&More about it"), acts.more)
        if head.kind == "works" and head.gpu:
            self.add_link(_("&Measure its speed"), acts.measure)
        if finding and finding.evidence:
            seen = finding.evidence
            self.add_fold(n_("How we know ({n})", "How we know ({n})", len(seen)), lambda: observation_rows(seen))
        if head.cause and head.act != "help":
            self.add_link(_("What does this mean?"), lambda: acts.explain(self.help_word))

    def _add_code(self, code: str) -> None:
        self.add_text(_("Code for the help desk:"), muted=True)
        text = MachineText(code)
        enlarge(text, 1.3)
        text.setObjectName("code")
        text.setAccessibleName(_("Session code: {code}", code=code))
        self.box.addWidget(text)

    def _next(self, head: Headline, acts: AnswerActions) -> tuple[str, Callable[[], object]]:
        finding = head.finding
        if head.act == "fix" and finding and finding.fix:
            return f"{as_label(texts.fix_verb(finding.fix))}...", partial(acts.fix, finding)
        if head.act == "place" and finding:
            return _("Place cuDNN from a file..."), partial(acts.place, finding)
        if head.act == "try":
            return _("Try {who}", who=as_label(who_text(head.who))), partial(acts.try_out, head.prefix)
        if head.act == "steps" and head.kind == "no framework":
            return _("&Install PyTorch..."), acts.steps
        if head.act == "steps":
            decides = head.kind == "not decided"
            return _("What &decides it") if decides else _("Show the &steps"), acts.steps
        if head.act == "help":
            return _("What to do"), lambda: acts.explain(self.help_word)
        if head.act == "more":
            return _("&More about it"), acts.more
        if head.act == "ask":
            return _("&Answer one question"), acts.ask
        if head.act == "look again":
            return _("&Look again"), acts.again
        return _("&Finish"), acts.finish


def sentence_rows(sentences: tuple[str, ...]) -> QWidget:
    """Return sentences below each other."""
    body = QWidget()
    box = spaced(QVBoxLayout(body))
    for sentence in sentences:
        box.addWidget(prose_label(sentence))
    return body


class StepsScreen(Screen):
    """One of the person's steps, ready to copy; after the last one the computer is examined again."""

    def __init__(
        self,
        head: Headline,
        number: int,
        theme: Theme,
        *,
        back: Callable[[], object],
        onward: Callable[[], object],
        check: Callable[[], object] | None,
    ) -> None:
        """``check`` tests whether the steps have helped; None if that cannot be tested from here."""
        steps = hand_steps(head.finding.fix if head.finding else None)
        title = head.finding.fix.title if head.finding and head.finding.fix else headline_word(head.kind)
        super().__init__(title, theme, help_word=help_word(head), back=back)
        self.add_title(title)
        if len(steps) > 1:
            self.add_text(_("Step {n} of {count}", n=number + 1, count=len(steps)), muted=True)
        text = StepText(steps[number], mono=False)
        text.setObjectName("lines")
        self.box.addWidget(text)
        self._copy = copy_text_button(commands_of(steps[number]))
        self.box.addWidget(self._copy, 0, Qt.AlignmentFlag.AlignLeft)
        self.end()
        self.add_button(_("&Back"), back, primary=check is None and number + 1 == len(steps))
        if number + 1 < len(steps):
            self.add_button(_("&Next step"), onward, primary=check is None)
        if check is not None:
            self.add_button(_("&Check this step"), check, primary=True)


class QuestionScreen(Screen):
    """One question in place of several equally likely causes; each answer leaves one of them."""

    def __init__(
        self,
        asked: Explanation,
        theme: Theme,
        *,
        help_word: str,
        back: Callable[[], object],
        choose: Callable[[int], object],
        more: Callable[[], object],
    ) -> None:
        super().__init__(_("One question decides"), theme, help_word=help_word, back=back)
        self.setAccessibleDescription(asked.question)
        self.add_text(self.title, muted=True)
        self.box.addWidget(heading_label(asked.question, 1.25))
        self.answers = AnswerRows(asked.choices, choose)
        self.box.addWidget(self.answers)
        self.end()
        self.add_button(_("&Back"), back)
        self.add_button(_("&More about it"), more, primary=True)

    def start_focus(self) -> QWidget:
        """Return the first answer's button."""
        return self.answers.buttons[0]


class StepText(MachineText):
    """A step in a frame."""

    inset = 9
