"""Colours, icons and the style sheet: light, dark and high contrast. Severity is icon, word and colour."""

from __future__ import annotations

import math
from typing import NamedTuple

from PySide6.QtCore import QByteArray, QRectF, QSettings, QSize
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

import resources
from core.common.i18n import _
from core.model.steps import Severity

TEXT_SIZES = ("100", "125", "150", "200")
"""Text sizes in per cent of the desktop's own."""


class Theme(NamedTuple):
    """A set of colours. Every text colour has a contrast of at least 4.5 on ``window`` and on ``base`` (WCAG AA)."""

    name: str
    window: str
    base: str
    raised: str
    text: str
    muted: str
    line: str
    accent: str
    on_accent: str
    good: str
    note: str
    unknown: str
    warning: str
    error: str

    def severity_colour(self, severity: Severity) -> str:
        """Return the colour of a severity."""
        colour: str = getattr(self, severity.word)
        return colour


LIGHT_THEME = Theme(
    name="light",
    window="#f5f6f7",
    base="#ffffff",
    raised="#e9ecee",
    text="#1b1f23",
    muted="#525a62",
    line="#d3d8dc",
    accent="#1f6f5c",
    on_accent="#ffffff",
    good="#1a7034",
    note="#0a5fb0",
    unknown="#6442b5",
    warning="#8a5200",
    error="#b8202a",
)
DARK_THEME = Theme(
    name="dark",
    window="#1b1e21",
    base="#24282c",
    raised="#2f353a",
    text="#e8eaec",
    muted="#a9b2ba",
    line="#3d444a",
    accent="#63c9ac",
    on_accent="#10211c",
    good="#67c884",
    note="#7cbcff",
    unknown="#bfabff",
    warning="#f2b651",
    error="#ff8a86",
)
CONTRAST_THEME = Theme(
    name="contrast",
    window="#000000",
    base="#000000",
    raised="#1a1a1a",
    text="#ffffff",
    muted="#ffffff",
    line="#808080",
    accent="#ffff00",
    on_accent="#000000",
    good="#3ff23f",
    note="#8fd3ff",
    unknown="#e3b8ff",
    warning="#ffd500",
    error="#ff9a9a",
)

THEMES_BY_NAME = {theme.name: theme for theme in (LIGHT_THEME, DARK_THEME, CONTRAST_THEME)}
MAX_DARK_LIGHTNESS = 128
"""Lightness, 0 to 255, below which a ground is dark."""


def choose_theme(choice: str) -> Theme:
    """Return the theme for a setting; "system" and unknown words follow the desktop's colour scheme."""
    from PySide6.QtCore import Qt

    accessibility = getattr(QGuiApplication.styleHints(), "accessibility", None)  # from Qt 6.10 on
    if (
        choice == "system"
        and accessibility
        and accessibility().contrastPreference() is Qt.ContrastPreference.HighContrast
    ):
        return CONTRAST_THEME
    dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
    return THEMES_BY_NAME.get(choice) or (DARK_THEME if dark else LIGHT_THEME)


def initial_theme(settings: QSettings) -> Theme:
    """Return the chosen theme, else one like the desktop's background, since no more is known before ``Qt`` is used."""
    dark = QGuiApplication.palette().window().color().lightness() < MAX_DARK_LIGHTNESS
    return THEMES_BY_NAME.get(str(settings.value("theme", ""))) or (DARK_THEME if dark else LIGHT_THEME)


def severity_word(severity: Severity) -> str:
    """Return the word for a severity."""
    return {
        Severity.GOOD: _("OK"),
        Severity.NOTE: _("Good to know"),
        Severity.UNKNOWN: _("Undecided"),
        Severity.WARNING: _("Warning"),
        Severity.ERROR: _("Fault"),
    }[severity]


def make_palette(theme: Theme) -> QPalette:
    """Return the Qt palette of a theme."""
    role = QPalette.ColorRole
    colours = {
        role.Window: theme.window,
        role.WindowText: theme.text,
        role.Base: theme.base,
        role.AlternateBase: theme.window,
        role.Text: theme.text,
        role.PlaceholderText: theme.muted,
        role.Button: theme.raised,
        role.ButtonText: theme.text,
        role.Highlight: theme.accent,
        role.HighlightedText: theme.on_accent,
        role.ToolTipBase: theme.base,
        role.ToolTipText: theme.text,
        role.Link: theme.note,
        role.Mid: theme.line,
        role.Accent: theme.accent,
    }
    result = QPalette()
    for which, colour in colours.items():
        result.setColor(which, QColor(colour))
    for which in (role.Text, role.ButtonText, role.WindowText):
        result.setColor(QPalette.ColorGroup.Disabled, which, QColor(theme.muted))
    return result


def style_sheet(t: Theme) -> str:
    """Return the style sheet for what Fusion's palette cannot express."""
    # The border that distinguishes a button from its background.
    edge = t.line if t.name == CONTRAST_THEME.name else t.raised
    focus = f"border: 2px solid {t.accent};"
    return f"""
    QWidget {{ color: {t.text}; }}
    QMainWindow, QDialog, QScrollArea, QScrollArea > QWidget > QWidget {{ background: {t.window}; }}
    QListWidget#steps {{ background: {t.window}; border: none; outline: none; padding: 4px; }}
    QListWidget#steps::item {{ padding: 8px 10px; border-radius: 8px; border: 2px solid transparent; color: {t.text}; }}
    QListWidget#steps::item:hover {{ background: {t.raised}; }}
    QListWidget#steps::item:selected {{ background: {t.base}; border-left: 4px solid {t.accent}; color: {t.text}; }}
    QListWidget#steps::item:selected:focus {{ {focus} }}
    QFrame#rail {{ background: {t.window}; border-right: 1px solid {t.line}; }}
    QFrame#sheet {{ background: {t.base}; border-left: 1px solid {t.line}; }}
    QFrame#bar {{ background: {t.window}; border-top: 1px solid {t.line}; }}
    QFrame#card {{ background: {t.base}; border: 1px solid {t.line}; border-radius: 10px; }}
    QFrame#hero {{ background: {t.base}; border: 2px solid {t.line}; border-radius: 12px; }}
    QFrame#chart {{ border: 2px solid transparent; border-radius: 8px; }}
    QFrame#chart:focus {{ {focus} }}
    QLabel {{ background: transparent; }}
    QLabel[muted="true"] {{ color: {t.muted}; }}
    QLabel[strong="true"] {{ font-weight: 600; }}
    QFrame#notice {{ background: {t.base}; border-bottom: 1px solid {t.line}; }}
    QPushButton, QToolButton {{ background: {t.raised}; border: 2px solid {edge}; border-radius: 7px;
        padding: 6px 14px; }}
    QPushButton:hover, QToolButton:hover {{ border-color: {t.line}; }}
    QPushButton:focus, QToolButton:focus {{ {focus} }}
    QPushButton:disabled, QToolButton:disabled {{ color: {t.muted}; background: {t.window}; }}
    QPushButton[primary="true"] {{ background: {t.accent}; background-clip: padding; border-color: transparent;
        color: {t.on_accent}; font-weight: 600; }}
    QPushButton[primary="true"]:focus {{ border: 2px solid {t.text}; }}
    QPushButton[primary="true"]:disabled {{ background: {t.raised}; color: {t.muted}; }}
    QToolButton[flat="true"], QPushButton[flat="true"] {{ background: transparent; border-color: transparent;
        color: {t.note}; padding: 4px 2px; text-align: left; }}
    QToolButton[flat="true"]:hover, QPushButton[flat="true"]:hover {{ text-decoration: underline; }}
    QToolButton[flat="true"]:focus, QPushButton[flat="true"]:focus {{ {focus} }}
    QTableView, QTreeView, QPlainTextEdit {{ background: {t.base}; border: 1px solid {t.line}; border-radius: 8px;
        gridline-color: {t.line}; selection-background-color: {t.accent}; selection-color: {t.on_accent}; }}
    QListWidget#choices {{ background: {t.base}; border: 1px solid {t.line}; border-radius: 8px; outline: none; padding: 3px; }}
    QListWidget#choices::item {{ padding: 4px 6px; border-radius: 5px; color: {t.text}; }}
    QListWidget#choices::item:selected {{ background: {t.accent}; color: {t.on_accent}; }}
    QListWidget#choices:focus {{ {focus} }}
    QRadioButton {{ padding: 4px; spacing: 10px; border: 2px solid transparent; border-radius: 7px; }}
    QRadioButton:focus {{ {focus} }}
    QRadioButton::indicator {{ width: 14px; height: 14px; border: 2px solid {t.muted}; border-radius: 9px;
        background: {t.base}; }}
    QRadioButton::indicator:checked {{ border: 5px solid {t.accent}; width: 8px; height: 8px; }}
    QPlainTextEdit {{ padding: 4px; placeholder-text-color: {t.muted}; }}
    QTextEdit {{ background: transparent; border: none; }}
    QTextEdit#lines {{ background: {t.base}; border: 1px solid {t.line}; border-radius: 8px; padding: 8px; }}
    QTextEdit#lines:focus {{ {focus} }}
    QTextEdit[muted="true"] {{ color: {t.muted}; }}
    QScrollBar:vertical {{ background: transparent; width: 12px; margin: 2px; }}
    QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 2px; }}
    QScrollBar::handle {{ background: {t.line}; border-radius: 4px; min-height: 32px; min-width: 32px; }}
    QScrollBar::handle:hover {{ background: {t.muted}; }}
    QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{
        background: transparent; width: 0; height: 0; }}
    QTreeView::item {{ padding: 4px 2px; }}
    QTableView:focus, QTreeView:focus, QPlainTextEdit:focus {{ {focus} }}
    QHeaderView {{ background: transparent; border: none; }}
    QHeaderView::section {{ background: transparent; color: {t.muted}; border: none; padding: 6px 8px;
        border-bottom: 1px solid {t.line}; }}
    QProgressBar {{ background: {t.raised}; border: none; border-radius: 3px; max-height: 6px; }}
    QProgressBar::chunk {{ background: {t.accent}; border-radius: 3px; }}
    QMenu {{ background: {t.base}; border: 1px solid {t.line}; padding: 4px; }}
    QMenu::item {{ padding: 6px 24px; border-radius: 5px; }}
    QMenu::item:selected {{ background: {t.accent}; color: {t.on_accent}; }}
    QToolButton::menu-indicator {{ image: none; }}
    QToolTip {{ background: {t.base}; color: {t.text}; border: 1px solid {t.line}; padding: 4px; }}
    """


def make_icon(name: str, colour: str, size: int = 24) -> QIcon:
    """Return resources/icons/NAME.svg drawn in ``colour``, sharp at the screen's scale."""
    from PySide6.QtCore import Qt
    from PySide6.QtSvg import QSvgRenderer  # The empty frame has no icon.

    with open(f"{resources.__path__[0]}/icons/{name}.svg", "rb") as file:  # noqa: PTH123 - importlib.resources and pathlib would hold the window up
        svg = file.read().replace(b"currentColor", colour.encode())
    renderer = QSvgRenderer(QByteArray(svg))
    result = QIcon()
    highest = max((screen.devicePixelRatio() for screen in QGuiApplication.screens()), default=1.0)
    for scale in {1, math.ceil(highest)}:
        pixmap = QPixmap(QSize(size, size) * scale)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter, QRectF(0, 0, size * scale, size * scale))
        painter.end()
        pixmap.setDevicePixelRatio(scale)
        for mode in (QIcon.Mode.Normal, QIcon.Mode.Selected):  # Otherwise Qt tints the icon of a selected item.
            result.addPixmap(pixmap, mode)
    return result


def to_qcolor(text: str) -> QColor:
    """Return a theme's colour as a QColor."""
    return QColor(text)


def window_icon(theme: Theme) -> QIcon:
    """Return the wizard's own icon, for its window and the taskbar."""
    return make_icon("convalesce", theme.text, 64)


def severity_icon(theme: Theme, severity: Severity) -> QIcon:
    """Return the icon of a severity in its colour."""
    return make_icon(severity.word, theme.severity_colour(severity))


def dress_as_chosen(settings: QSettings) -> Theme:
    """Apply the colours and the text size that the person chose; return the theme."""
    theme = choose_theme(str(settings.value("theme", "system")))
    size = str(settings.value("text size", TEXT_SIZES[0]))
    app = QApplication.instance()
    if isinstance(app, QApplication):
        apply_theme(app, theme, int(size) if size in TEXT_SIZES else 100)
    return theme


def apply_theme(app: QApplication, theme: Theme, text_size: int) -> None:
    """Apply colours and text size (per cent of the desktop's own) to the application, whose style is always Fusion."""
    from PySide6.QtCore import Qt

    palette, sheet = make_palette(theme), style_sheet(theme)
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPointSizeF(font.pointSizeF() * text_size / 100)
    if (app.palette(), app.font(), app.styleSheet()) != (palette, font, sheet):
        app.setPalette(palette)
        app.setFont(font)
        app.setStyleSheet(sheet)  # Qt dresses every widget anew, even for the same sheet
    app.setEffectEnabled(Qt.UIEffect.UI_AnimateMenu, False)  # no animations


def icon_side(widget: QWidget) -> int:
    """Return the size of an icon on a button, in pixels: the height of its text."""
    return max(20, widget.fontMetrics().height())


def icon_size(side: int) -> QSize:
    """Return the size of an icon."""
    return QSize(side, side)


def fixed_font() -> QFont:
    """Return the monospaced font for machine text, in the application's size."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF())
    return font
