"""The wizard's window: steps at the left, one page at a time, Back and Next. Next never changes anything."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QActionGroup,
    QCloseEvent,
    QFontMetrics,
    QKeySequence,
    QShortcut,
)
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMainWindow,
    QMenu,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.findings import SECTIONS, Finding, Report, Severity, Step, to_json
from core.i18n import _
from core.redact import redact
from core.report import printable
from gui import theme as looks
from gui import words
from gui.controller import Controller
from gui.details import details
from gui.page import StepPage
from gui.summary import SummaryPage, headline
from gui.theme import Theme

RAIL_WIDTH = 232
"""Pixels at the least; wider where the longest title needs it."""


class Window(QMainWindow):
    """Shows what the controller reports. Owns no thread and makes no decision about the machine."""

    def __init__(self, controller: Controller, settings: QSettings) -> None:
        super().__init__()
        self._controller = controller
        self._settings = settings
        self._theme: Theme = looks.LIGHT
        self._report: Report | None = None
        self._moved = False  # whether the person chose a page during the scan
        self.setWindowTitle("Convalesce")
        self.pages: tuple[StepPage, ...] = (
            *(StepPage(s, partial(details, s), self._fix) for s in words.shown_steps()),
            SummaryPage(self._fix, self._save),
        )
        self._dress()
        self._build()
        self._connect()
        self._fit_rail()
        self._busy(controller.busy)
        self.steps.setCurrentRow(0)
        size = settings.value("size")
        self.resize(size if isinstance(size, QSize) else QSize(1000, 700))

    # --- building ----------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.steps = QListWidget()
        self.steps.setObjectName("steps")
        self.steps.setAccessibleName(_("Steps"))
        self.steps.setIconSize(QSize(22, 22))
        self.steps.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.steps.setWordWrap(True)
        self.stack = QStackedWidget()
        for i, page in enumerate(self.pages):
            item = QListWidgetItem(looks.icon("waiting", self._theme.muted), page.title)
            item.setToolTip(f"{page.title} (Ctrl+{i + 1})")
            self.steps.addItem(item)
            self.stack.addWidget(page)
        rail = QFrame()
        rail.setObjectName("rail")
        self.rail = rail
        column = QVBoxLayout(rail)
        column.setContentsMargins(8, 16, 8, 12)
        column.addWidget(self._brand())
        column.addWidget(self.steps, 1)
        self.again = QPushButton(_("Check &again"))
        column.addWidget(self.again)
        column.addWidget(self._settings_button())
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.stack, 1)
        right.addWidget(self._bar())
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(rail)
        row.addLayout(right, 1)
        middle = QWidget()
        middle.setLayout(row)
        self.setCentralWidget(middle)

    def _brand(self) -> QWidget:
        brand = QWidget()
        row = QHBoxLayout(brand)
        row.setContentsMargins(8, 0, 8, 8)
        sign = QLabel()
        sign.setPixmap(looks.icon("convalesce", self._theme.text, 28).pixmap(28))
        sign.setAccessibleName("Convalesce")
        name = QLabel("Convalesce")
        font = name.font()
        font.setPointSizeF(font.pointSizeF() * 1.15)
        font.setWeight(font.Weight.DemiBold)
        name.setFont(font)
        row.addWidget(sign)
        row.addWidget(name)
        row.addStretch(1)
        return brand

    def _settings_button(self) -> QToolButton:
        button = QToolButton()
        button.setText(_("Se&ttings"))
        button.setProperty("flat", True)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        themes = menu.addMenu(_("&Colours"))
        names = {
            "system": _("Like the desktop"),
            "light": _("Light"),
            "dark": _("Dark"),
            "contrast": _("High contrast"),
        }
        self._choices(themes, "theme", names, "system")
        sizes = menu.addMenu(_("&Text size"))
        self._choices(sizes, "text size", {str(n): f"{n} %" for n in (100, 125, 150, 200)}, "100")
        button.setMenu(menu)
        self.settings_button = button
        return button

    def _choices(self, menu: QMenu, key: str, names: dict[str, str], usual: str) -> None:
        group = QActionGroup(menu)
        for value, name in names.items():
            action = menu.addAction(name)
            action.setCheckable(True)
            action.setChecked(str(self._settings.value(key, usual)) == value)
            action.triggered.connect(partial(self._choose, key, value))
            group.addAction(action)

    def _fit_rail(self) -> None:
        metrics = QFontMetrics(QApplication.font())
        widest = max(metrics.horizontalAdvance(page.title) for page in self.pages)
        self.rail.setFixedWidth(max(RAIL_WIDTH, widest + 90))

    def _choose(self, key: str, value: str) -> None:
        self._settings.setValue(key, value)
        self._dress()
        self._fit_rail()
        if self._report is not None:
            self._fill(self._report)

    def _dress(self) -> None:
        choice = str(self._settings.value("theme", "system"))
        self._theme = looks.choose(choice)
        size = str(self._settings.value("text size", "100"))
        app = QApplication.instance()
        if isinstance(app, QApplication):
            looks.dress(app, self._theme, int(size) if size in ("100", "125", "150", "200") else 100)
        self.setWindowIcon(looks.icon("convalesce", self._theme.text, 64))

    def _bar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("bar")
        row = QHBoxLayout(bar)
        row.setContentsMargins(20, 10, 20, 10)
        self.progress = QProgressBar()
        self.progress.setAccessibleName(_("Progress"))
        self.progress.setTextVisible(False)
        self.progress.setMaximumWidth(160)
        self.saying = QLabel()
        self.saying.setProperty("muted", True)
        self.saying.setTextFormat(Qt.TextFormat.PlainText)
        self.cancel = QPushButton(_("&Cancel"))
        self.back = QPushButton(_("&Back"))
        self.next = QPushButton(_("&Next"))
        self.next.setProperty("primary", True)
        row.addWidget(self.progress)
        row.addWidget(self.saying, 1)
        for button in (self.cancel, self.back, self.next):
            row.addWidget(button)
        return bar

    def _connect(self) -> None:
        self.steps.currentRowChanged.connect(self._show_page)
        self.steps.itemClicked.connect(self._person_moved)
        self.back.clicked.connect(lambda: self._go(-1))
        self.next.clicked.connect(lambda: self._go(1))
        self.again.clicked.connect(self.start)
        self.cancel.clicked.connect(self._controller.cancel)
        for i in range(len(self.pages)):
            QShortcut(QKeySequence(f"Ctrl+{i + 1}"), self, lambda i=i: self._jump(i))
        QShortcut(QKeySequence.StandardKey.Refresh, self, self.start)
        QShortcut(QKeySequence.StandardKey.Save, self, self._save)
        self._controller.busy_changed.connect(self._busy)
        self._controller.progressed.connect(self._say)
        self._controller.section_changed.connect(self._section)
        self._controller.report_changed.connect(self.show_report)
        self._controller.failed.connect(self._failed)

    # --- moving ------------------------------------------------------------------------------------------

    def _person_moved(self) -> None:
        self._moved = True

    def _jump(self, row: int) -> None:
        self._moved = True
        self.steps.setCurrentRow(row)

    def _go(self, by: int) -> None:
        self._jump(max(0, min(self.steps.currentRow() + by, len(self.pages) - 1)))

    def _show_page(self, row: int) -> None:
        self.stack.setCurrentIndex(row)
        self.back.setEnabled(row > 0)
        self.next.setEnabled(row < len(self.pages) - 1)
        self._announce(self.pages[row].title)

    def _announce(self, sentence: str) -> None:
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, sentence))

    # --- what the controller says ------------------------------------------------------------------------

    def start(self) -> None:
        """Start looking at the machine."""
        if self._controller.busy:
            return
        self._moved = False
        for i, page in enumerate(self.pages):
            page.show_waiting(_("Looking ..."))
            self._mark(i, "waiting", self._theme.muted, _("waiting"))
        self._controller.scan()

    def _busy(self, busy: bool) -> None:
        self.progress.setVisible(busy)
        self.progress.setRange(0, 0 if busy else 1)
        self.cancel.setVisible(busy)
        self.again.setEnabled(not busy)
        if not busy:
            self.saying.clear()

    def _say(self, sentence: str) -> None:
        self.saying.setText(printable(sentence) + " ...")

    def _section(self, section: str, state: str) -> None:
        for i, page in enumerate(self.pages[:-1]):
            if section in SECTIONS[page.step]:
                name = {"looking": "looking", "failed": "unknown"}.get(state, "waiting")
                says = {"looking": _("looking"), "failed": _("not decided")}.get(state, _("looked at"))
                self._mark(i, name, self._theme.muted, says)

    def _mark(self, row: int, icon: str, colour: str, says: str) -> None:
        item = self.steps.item(row)
        item.setIcon(looks.icon(icon, colour))
        item.setText(f"{self.pages[row].title}\n{says}")
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{self.pages[row].title}: {says}")

    def show_report(self, report: Report) -> None:
        """Fill every page, and land on the one with the cause, or on the summary."""
        self._report = report
        self._fill(report)
        primary = report.primary
        if not self._moved:
            shown: tuple[Step, ...] = words.shown_steps()
            self.steps.setCurrentRow(
                shown.index(primary.step) if primary and primary.step in shown else len(self.pages) - 1
            )
        self._announce(primary.title if primary else headline(report))

    def _fill(self, report: Report) -> None:
        for i, page in enumerate(self.pages):
            page.show_report(report, self._theme)
            is_summary = i == len(self.pages) - 1
            severity = report.worst if is_summary else words.verdict(report, page.step)[0]
            severity = Severity.GOOD if severity is Severity.NOTE else severity
            self._mark(i, severity.word, self._theme.of(severity), looks.word(severity))

    def _failed(self, sentence: str) -> None:
        self.saying.setText(printable(sentence))
        self._announce(sentence)

    # --- verbs -------------------------------------------------------------------------------------------

    def _fix(self, finding: Finding) -> None:
        raise NotImplementedError(finding.id)

    def _save(self) -> None:
        if self._report is None:
            return
        name, _filter = QFileDialog.getSaveFileName(self, _("Save report"), "convalesce-report.json", "JSON (*.json)")
        if name:
            try:
                Path(name).write_bytes(to_json(redact(self._report)))
            except OSError as e:
                self._failed(_("The report could not be written: {reason}").format(reason=e.strerror))

    def come_to_front(self) -> None:
        """Show the window above others: somebody started Convalesce a second time."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.raise_()
        self.activateWindow()

    def closeEvent(self, event: QCloseEvent) -> None:
        """End the work, and keep the window's size."""
        self._controller.close()
        self._settings.setValue("size", self.size())
        super().closeEvent(event)
