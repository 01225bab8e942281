"""Text on screen: labels with literal text, machine text that breaks anywhere, headings, verdicts, buttons."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QResizeEvent, QTextDocument, QTextOption, QWheelEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QTextEdit,
    QToolButton,
    QWidget,
)

from core.common.i18n import _
from core.model.steps import Severity
from gui import theme as looks
from gui.theme import Theme
from gui.widgets.layout import spaced

ICON_PIXELS = 24
MAX_WORD_CHARACTERS = 24
"""Characters above which a word may break anywhere."""
MAX_SHOWN_CHARACTERS = 4000
"""Maximum number of characters shown of one text; copied evidence and saved reports have all of it."""


def shown_text(text: str) -> str:
    """Return machine text for the screen: printable, and of limited length."""
    text = text[: MAX_SHOWN_CHARACTERS + 1]
    if not all(line.isprintable() for line in text.split("\n")):
        from core.common.text import printable  # imported late: it loads the engine's rules

        text = printable(text)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}..."


def tooltip_text(text: str) -> str:
    """Return text for a tooltip, which Qt interprets as HTML if it contains a tag."""
    text = shown_text(text)
    return f"<qt>{escape(text).replace(chr(10), '<br>')}</qt>" if "<" in text else text


def plain_label(text: str, *, muted: bool = False, selectable: bool = True, strong: bool = False) -> QLabel:
    """Return a label with literal text, never HTML, since most of it comes from the machine."""
    label = QLabel(shown_text(text))
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    if muted:
        label.setProperty("muted", True)
    if strong:
        label.setProperty("strong", True)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def prose_label(text: str, *, muted: bool = False) -> QWidget:
    """Return a label, or a MachineText if a word (a path) is too long for a label to break."""
    long = max((len(w) for w in text.split()), default=0) > MAX_WORD_CHARACTERS
    return MachineText(text, muted=muted, mono=False) if long else plain_label(text, muted=muted)


class MachineText(QTextEdit):
    """Selectable machine text that breaks anywhere, as high as its lines; copying adds nothing to it."""

    inset = 0
    """Pixels of border and padding on each side, as the style sheet has them."""

    def __init__(self, text: str, *, muted: bool = False, mono: bool = True) -> None:
        super().__init__()
        self.setObjectName("machine")
        self.setProperty("muted", muted)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)
        if mono:
            self.setFont(looks.fixed_font())
        self._heights: dict[int, int] = {}
        self._measure: QTextDocument | None = None
        self.setPlainText(shown_text(text))
        self.setAccessibleName(shown_text(text))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines at a width; measured on a copy, since the document itself is displayed."""
        if width not in self._heights:
            if self._measure is None:
                self._measure = QTextDocument(self.toPlainText())
                self._measure.setDocumentMargin(0)
                option = QTextOption()
                option.setWrapMode(self.wordWrapMode())
                self._measure.setDefaultTextOption(option)
            self._measure.setDefaultFont(self.font())
            self._measure.setTextWidth(max(width - 2 * self.inset, 1))
            self._heights[width] = math.ceil(self._measure.size().height()) + 2 * self.inset
        return self._heights[width]

    def changeEvent(self, event: QEvent) -> None:
        """Measure again with a changed font."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._heights = {}
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        """Return a usual width, and the height for it."""
        width = max(self.width(), 240) if self.isVisible() else 400
        return QSize(240, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        """Return a width at which the text is still readable."""
        return QSize(80, QFontMetrics(self.font()).height())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll."""
        event.ignore()


class ElidedLabel(QLabel):
    """One line that is elided at its end; its tooltip has the whole text."""

    def __init__(self) -> None:
        super().__init__()
        self.whole = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("muted", True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def say(self, text: str) -> None:
        """Show a sentence, or nothing."""
        self.whole = shown_text(text)
        self.setToolTip(tooltip_text(text))
        self.setAccessibleName(self.whole)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Elide again."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(QFontMetrics(self.font()).elidedText(self.whole, Qt.TextElideMode.ElideRight, self.width()))


class VerdictRow(QWidget):
    """A severity's icon and a sentence; the icon's accessible name is the word."""

    def __init__(self, severity: Severity, sentence: str, theme: Theme) -> None:
        super().__init__()
        row = spaced(QHBoxLayout(self), spacing=10)
        row.addWidget(severity_sign(theme, severity), 0, Qt.AlignmentFlag.AlignTop)
        label = prose_label(sentence)
        label.setObjectName("verdict")
        row.addWidget(label, 1, Qt.AlignmentFlag.AlignVCenter)


def severity_sign(theme: Theme, severity: Severity) -> QLabel:
    """Return a severity's icon, as high as a line of text."""
    return picture_label(severity.word, theme.severity_colour(severity), looks.severity_word(severity))


def picture_label(name: str, colour: str, says: str) -> QLabel:
    """Return an icon as a label; ``says`` is its accessible name."""
    label = QLabel()
    side = max(ICON_PIXELS, QFontMetrics(label.font()).height() + 4)
    label.setPixmap(looks.make_icon(name, colour, side).pixmap(side))
    label.setAccessibleName(says)
    return label


def line_height(widget: QWidget) -> int:
    """Return the size of an icon in a line of text."""
    return max(16, QFontMetrics(widget.font()).height())


def width_of(characters: int) -> int:
    """Return how many pixels so many characters of the window's font take."""
    return QFontMetrics(QApplication.font()).averageCharWidth() * characters


def heading_label(text: str, factor: float = 1.6) -> QLabel:
    """Return a page's heading."""
    label = plain_label(text, selectable=False)
    enlarge(label, factor)
    return label


def enlarge(widget: QWidget, factor: float) -> None:
    """Make a widget's text larger and bolder."""
    font = widget.font()
    font.setPointSizeF(font.pointSizeF() * factor)
    font.setWeight(font.Weight.DemiBold)
    widget.setFont(font)


def push_button(text: str, act: Callable[[], object], *, primary: bool = False) -> QPushButton:
    """Return a button that Space and Enter press."""
    button = QPushButton(text)
    button.setAutoDefault(True)
    if primary:
        button.setProperty("primary", True)
    button.clicked.connect(lambda *_: act())
    return button


def flat_button(text: str, act: Callable[[], object]) -> QPushButton:
    """Return a button that looks like a link."""
    button = push_button(text, act)
    button.setProperty("flat", True)
    return button


def announce(widget: QWidget, sentence: str) -> None:
    """Make a screen reader say a sentence."""
    from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, sentence))


def as_label(text: str) -> str:
    """Return machine text for a button, with ampersands escaped."""
    return shown_text(text).replace("&", "&&")


def copy_button(text: str, name: str, theme: Theme) -> QToolButton:
    """Return a small button that copies ``text`` to the clipboard."""
    button = QToolButton()
    button.setProperty("flat", True)
    side = line_height(button)
    button.setIcon(looks.make_icon("copy", theme.note, side))
    button.setIconSize(QSize(side, side))
    button.setToolTip(tooltip_text(name))
    button.setAccessibleName(name)
    button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    button.clicked.connect(lambda: _copy(button, text))
    return button


def copy_text_button(text: str) -> QPushButton:
    """Return a button that says "Copy", and then that it has copied."""
    button = push_button(_("&Copy"), lambda: _copy(button, text))
    return button


def _copy(button: QToolButton | QPushButton, text: str) -> None:
    """Copy a text to the clipboard, and confirm it on the button."""
    QGuiApplication.clipboard().setText(text)
    announce(button, _("Copied"))
    if isinstance(button, QToolButton):
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
    button.setText(_("Copied"))
