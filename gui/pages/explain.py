"""ExplainPage: paste an error message; its causes are proved or refuted on this computer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from core.common.i18n import _, join_sentences, n_
from gui.pages.step_page import FINDINGS_AT_ONCE, MAX_LINE_CHARACTERS, LazyPage
from gui.theme import Theme
from gui.widgets.answers import AnswerRows
from gui.widgets.card import Card, CardActions, FindingCard, FoldedEvidence
from gui.widgets.layout import spaced
from gui.widgets.text import heading_label, picture_label, plain_label, prose_label, push_button, width_of

if TYPE_CHECKING:
    from core.explain import CodeMeaning, Explanation, RankedCause, WrongCure


class ExplainPage(LazyPage):
    """Error messages. ``on_explain`` is called with the text, ``on_answer`` with the explanation after an answer."""

    def __init__(
        self, on_explain: Callable[[str], None], on_answer: Callable[[Explanation], object], acts: CardActions
    ) -> None:
        super().__init__(_("I have an error message"))
        self._on_explain, self._on_answer = on_explain, on_answer
        self._acts = acts
        self.text = QPlainTextEdit()
        self.text.setAccessibleName(_("Error message or log"))
        self.text.setPlaceholderText(_("Paste the message, or the whole log, here"))
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.text.textChanged.connect(self._on_text_changed)
        self.find_button = push_button(_("&Find the cause"), self._explain, primary=True)
        self._answer = QWidget()
        self._keep_apart()
        self.show_later(self._form)

    def _keep_apart(self) -> None:
        """Take the widgets that outlive a form out of it."""
        for widget in (self.text, self.find_button, self._answer):
            widget.setParent(self)
            widget.hide()

    def apply_theme(self) -> None:
        """Apply the application's text size; the typed text stays."""
        self._keep_apart()
        self.show_later(self._form)
        self.text.setFixedHeight(QFontMetrics(QApplication.font()).height() * 7 + 16)

    def _form(self, box: QVBoxLayout) -> None:
        box.addWidget(heading_label(self.title))
        explained = _(
            "Paste the output of the program. Convalesce reads it here and sends it nowhere; it then checks "
            "every cause that the text suggests against this computer."
        )
        box.addWidget(plain_label(explained, muted=True))
        box.addWidget(self.text)
        row = QHBoxLayout()
        box.addLayout(row)
        row.addWidget(self.find_button)
        row.addStretch(1)
        self._box = box
        box.addWidget(self._answer)
        for widget in (self.text, self.find_button, self._answer):
            widget.show()
        self._on_text_changed()

    def _on_text_changed(self) -> None:
        self.find_button.setEnabled(bool(self.text.document().characterCount() > 1))

    def _explain(self) -> None:
        text = self.text.toPlainText()
        if text.strip():
            self._on_explain(text)

    def show_waiting(self, sentence: str) -> None:
        """Show that the text is being examined."""
        self._replace(lambda box: box.addWidget(plain_label(sentence, selectable=False)))

    def show_explanation(self, explanation: Explanation, theme: Theme) -> None:
        """Show the result below the text."""
        self._replace(lambda box: self._fill(box, explanation, theme))

    def _replace(self, make: Callable[[QVBoxLayout], object]) -> None:
        self.build()
        new = QWidget()
        new.setMaximumWidth(width_of(MAX_LINE_CHARACTERS))
        box = spaced(QVBoxLayout(new), spacing=12)
        self.cards = []
        make(box)
        self._box.replaceWidget(self._answer, new)
        self._answer.hide()
        self._answer.deleteLater()
        self._answer = new

    def _fill(self, box: QVBoxLayout, e: Explanation, theme: Theme) -> None:
        from core.explain.model import own_reasons
        from core.explain.render import link_sentence, named_sentence, worth_showing

        if e.says.meaning and e.says.meaning != e.sentence:
            box.addWidget(plain_label(_("What the message says"), selectable=False, strong=True))
            box.addWidget(prose_label(e.says.meaning))
            if e.says.names:
                box.addWidget(prose_label(named_sentence(e), muted=True))
        proved = {r.finding.title for r in e.causes if r.verdict == "proved" and r.finding is not None}
        if others := [fault for fault in e.shows if fault.title not in proved]:  # a proved one has a card of its own
            box.addWidget(plain_label(_("What this computer shows"), selectable=False, strong=True))
            shown = [f"•  {join_sentences(s.title, link_sentence(s), s.against)}" for s in others[:FINDINGS_AT_ONCE]]
            box.addWidget(plain_label("\n".join(shown)))
        carded = e.link == "proved" and bool(proved)
        box.addWidget(heading_label(_("A fault of this computer causes this message") if carded else e.sentence, 1.25))
        for text in (e.foreign, e.decide if not e.choices else ""):
            if text:
                box.addWidget(prose_label(text))
        if e.choices:
            box.addWidget(plain_label(_("One question decides"), selectable=False, strong=True))
            box.addWidget(prose_label(e.question))
            self.answers = AnswerRows(e.choices, lambda number: self._on_answer(rank_after_answer(e, number)))
            box.addWidget(self.answers)
        for warning in e.warnings:
            box.addWidget(_wrong_cure(warning, theme))
        worth = worth_showing(e.causes)
        for ranked, reasons in zip(worth[:FINDINGS_AT_ONCE], own_reasons(worth), strict=False):
            box.addWidget(self._cause(ranked, reasons, theme))
        if e.codes:
            box.addWidget(plain_label(_("What the words mean"), selectable=False, strong=True))
            for code in e.codes[:FINDINGS_AT_ONCE]:
                box.addWidget(_code(code, theme))

    def _cause(self, r: RankedCause, reasons: tuple[str, ...], theme: Theme) -> QWidget:
        icon, colour, word = verdict_sign("may" if r.may else r.verdict, theme)
        if r.by_text:
            from core.explain.render import BY_TEXT_WORDS

            word = _(BY_TEXT_WORDS[r.verdict])
        if r.verdict == "open" and not r.may:
            share = round(r.score * 100)
            by_words = _("{word}; from the text's words alone: {share} %", word=word, share=share)
            word = by_words if r.by_words else _("{word}; from the text alone: {share} %", word=word, share=share)
        if r.finding is not None:
            card: Card = FindingCard(r.finding, theme, self._acts, word=word)
            self.cards.append(card)  # type: ignore[arg-type]  # it is one, by the line above
            if reasons:
                card.add(reasons_label(reasons))
            return card
        card = Card(picture_label(icon, colour, word), word, colour, r.meaning or r.cause)
        if reasons:
            card.add(reasons_label(reasons))
        if r.evidence:
            card.add(FoldedEvidence(r.evidence, r.meaning, theme))
        if r.steps:
            card.add(plain_label(_("What to do"), selectable=False, strong=True))
            card.add(prose_label(r.steps))
        return card


def rank_after_answer(e: Explanation, number: int) -> Explanation:
    """Return an explanation, ranked again with an answer."""
    from core.explain import answer_question

    return answer_question(e, number)


def verdict_sign(word: str, theme: Theme) -> tuple[str, str, str]:
    """Return icon, colour and words of the machine's verdict on a cause."""
    return {
        "proved": ("error", theme.error, _("Proved on this computer")),
        "may": ("unknown", theme.unknown, _("This computer can cause such a message; not proved")),
        "refuted": ("good", theme.good, _("Ruled out on this computer")),
        "open": ("unknown", theme.unknown, _("Undecided")),
    }[word]


def reasons_label(because: tuple[str, ...]) -> QLabel:
    """Return a label with the parts of the text that suggest a cause."""
    head = n_("The text points to it:", "The text points to it:", len(because))
    return plain_label("\n".join((head, *(f"•  {reason}" for reason in because))), muted=True)


def _wrong_cure(w: WrongCure, theme: Theme) -> Card:
    word = _("Do not do this")
    card = Card(picture_label("warning", theme.warning, word), word, theme.warning, w.title)
    for text in (w.harm, _("To undo it: {undo}", undo=w.undo) if w.undo else ""):
        if text:
            card.add(prose_label(text))
    if w.seen:
        card.add(prose_label(_("Seen: {where}", where=w.seen), muted=True))
    return card


def _code(c: CodeMeaning, theme: Theme) -> Card:
    over = ", ".join(t for t in (c.family, c.number if c.number != c.term else "") if t) or _("Good to know")
    card = Card(picture_label("note", theme.note, _("Good to know")), over, theme.note, c.term)
    card.add(prose_label(" ".join(t for t in (c.meaning, c.usually) if t)))
    if c.source:
        card.add(prose_label(c.source, muted=True))
    return card
