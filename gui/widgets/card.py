"""Cards: a finding (what is wrong, why, what to do, how we know), with its evidence collapsed behind one key press."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.common.i18n import _, n_, translate_fact
from core.doctor.offers import takes_cudnn
from core.model.steps import Severity
from gui import texts
from gui import theme as looks
from gui.theme import Theme
from gui.widgets.layout import spaced
from gui.widgets.text import (
    MachineText,
    as_label,
    copy_button,
    enlarge,
    flat_button,
    line_height,
    plain_label,
    prose_label,
    push_button,
    severity_sign,
    shown_text,
    tooltip_text,
)

if TYPE_CHECKING:
    from core.model.findings import Evidence, Finding, Fix


@dataclass(frozen=True)
class CardActions:
    """The actions of a finding's buttons."""

    fix: Callable[[Finding], object]
    place: Callable[[Finding, bool], object]
    """Fix it with a cuDNN set that the person selects: a folder, or else an archive or a wheel."""
    help: Callable[[str], object]
    """Explain a cause or a step, by its word."""


class Card(QFrame):
    """An icon, a word above a title, and other widgets below."""

    def __init__(self, icon: QLabel, word: str, colour: str, title: str, *, large: bool = False) -> None:
        super().__init__()
        self.setObjectName("card")
        self.setAccessibleName(f"{word}: {shown_text(title)}")
        grid = spaced(QGridLayout(self), (16, 14, 16, 14))
        grid.setHorizontalSpacing(12)
        grid.setColumnStretch(1, 1)
        grid.addWidget(icon, 0, 0, Qt.AlignmentFlag.AlignTop)
        self._box = QVBoxLayout()
        self._box.setSpacing(6)
        grid.addLayout(self._box, 0, 1)
        over = plain_label(word, selectable=False, strong=True)
        over.setStyleSheet(f"color: {colour};")
        self._box.addWidget(over)
        name = prose_label(title)
        enlarge(name, 1.35 if large else 1.1)
        self._box.addWidget(name)

    def add(self, widget: QWidget, *, wide: bool = True) -> None:
        """Put a widget below the others."""
        self._box.addWidget(widget, 0, Qt.AlignmentFlag(0) if wide else Qt.AlignmentFlag.AlignLeft)


class FindingCard(Card):
    """One finding, and its actions."""

    def __init__(self, finding: Finding, theme: Theme, acts: CardActions, word: str = "", who: str = "") -> None:
        """``who``: short names of the environments that it concerns."""
        over = word or _head_word(finding) or looks.severity_word(finding.severity)
        super().__init__(
            severity_sign(theme, finding.severity),
            f"{over} · {shown_text(who)}" if who else over,
            theme.severity_colour(finding.severity),
            finding.title,
            large=finding.primary or finding.headline,
        )
        self.finding = finding
        self.fix_button: QPushButton | None = None
        if finding.why:
            self.add(prose_label(finding.why, muted=finding.severity <= Severity.NOTE))
        if finding.fix and finding.fix.changes:
            self.fix_button = fix_button(finding, finding.fix, acts)
            self.add(self.fix_button, wide=False)
        if finding.fix and finding.fix.advice:
            self.add(AdviceSteps(finding.fix, theme))
        if takes_cudnn(finding):
            self.add(place_button(finding, acts), wide=False)
        self.evidence = FoldedEvidence(finding.evidence, finding.title, theme) if finding.evidence else None
        if self.evidence:
            self.add(self.evidence)
        if finding.cause:
            self.add(about_button(finding, acts), wide=False)


def _head_word(finding: Finding) -> str:
    """Return the word above the report's headline finding; empty for any other."""
    if finding.primary:
        return _("The cause")
    return _("The cause could not be determined") if finding.headline else ""


def about_button(finding: Finding, acts: CardActions) -> QPushButton:
    """Return the button that explains a finding's cause to newcomers."""
    button = flat_button(_("What does this mean?"), partial(acts.help, finding.cause))
    button.setAccessibleDescription(shown_text(finding.title))
    return button


def fix_button(finding: Finding, fix: Fix, acts: CardActions) -> QPushButton:
    """Return the fix's button, whose text says what it does; the dots mean that it asks first."""
    button = push_button(f"{as_label(texts.fix_verb(fix))}...", partial(acts.fix, finding), primary=finding.primary)
    button.setObjectName("fix")
    button.setToolTip(tooltip_text(fix.title))
    button.setAccessibleDescription(shown_text(fix.title))
    return button


def place_button(finding: Finding, acts: CardActions) -> QPushButton:
    """Return the button for a cuDNN that the person downloaded; it is checked before anything is changed."""
    button = QPushButton(_("Place cuDNN from a file..."))
    button.setObjectName("place")
    button.setAccessibleDescription(shown_text(finding.title))
    menu = QMenu(button)
    menu.addAction(_("An &archive or a wheel (.zip, .tar.xz, .whl)..."), partial(acts.place, finding, False))
    menu.addAction(_("A &folder..."), partial(acts.place, finding, True))
    button.setMenu(menu)
    return button


class AdviceSteps(QWidget):
    """Steps for the person, with commands ready to copy."""

    def __init__(self, fix: Fix, theme: Theme) -> None:
        super().__init__()
        box = spaced(QVBoxLayout(self), (0, 4, 0, 0), 4)
        title = _("Or by hand") if fix.changes else fix.title
        box.addWidget(plain_label(title, selectable=False, strong=True))
        row = QHBoxLayout()
        box.addLayout(row)
        advice = prose_label(fix.advice)
        advice.setObjectName("advice")
        row.addWidget(advice, 1)
        row.addWidget(copy_button(fix.advice, _("Copy these steps"), theme), 0, Qt.AlignmentFlag.AlignTop)


class FoldedEvidence(QWidget):
    """Evidence behind a button; Space or Enter opens it, Copy copies all of it."""

    def __init__(self, evidence: tuple[Evidence, ...], about: str, theme: Theme) -> None:
        super().__init__()
        self._evidence = evidence
        self._theme = theme
        box = spaced(QVBoxLayout(self), spacing=6)
        self.button = QToolButton()
        self.button.setProperty("flat", True)
        self.button.setCheckable(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._chevron(opened=False)
        self.button.setText(n_("How we know ({n})", "How we know ({n})", len(evidence)))
        self.button.setAccessibleDescription(shown_text(about))
        self.button.toggled.connect(self._fold)
        row = QHBoxLayout()
        box.addLayout(row)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.button)
        lines = "\n".join(
            f"{translate_fact(e.label)}: {translate_fact(e.value)}" + (f"  ({e.source})" if e.source else "")
            for e in evidence
        )
        row.addWidget(copy_button(lines, _("Copy the evidence"), theme))
        row.addStretch(1)
        self.body: QWidget | None = None

    def _fold(self, opened: bool) -> None:
        layout = self.layout()
        # created when it is first opened: a page may contain hundreds of lines
        if self.body is None and layout is not None:
            self.body = observation_rows(self._evidence)
            layout.addWidget(self.body)
        if self.body is not None:
            self.body.setVisible(opened)
        self._chevron(opened=opened)

    def _chevron(self, *, opened: bool) -> None:
        side = line_height(self.button)
        self.button.setIconSize(QSize(side, side))
        self.button.setIcon(looks.make_icon("opened" if opened else "chevron", self._theme.note, side))


def observation_rows(evidence: tuple[Evidence, ...]) -> QWidget:
    """Return each observation: its label, value and source."""
    body = QWidget()
    box = spaced(QVBoxLayout(body), (6, 0, 0, 0), 8)
    for e in evidence:
        cell = QVBoxLayout()
        box.addLayout(cell)
        cell.setSpacing(0)
        cell.addWidget(plain_label(translate_fact(e.label), muted=True))
        cell.addWidget(MachineText(translate_fact(e.value)))
        if e.source:
            cell.addWidget(prose_label(e.source, muted=True))
    return body
