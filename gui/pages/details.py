"""Observations for each step, as widgets: GPU cards, and tables of toolkits, cuDNN copies, search paths, environments."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QVBoxLayout, QWidget

from core.common.i18n import _
from core.model.facts import Gpu, Snapshot
from core.model.findings import Report
from core.model.steps import Step
from gui import texts
from gui.pages import detail_rows
from gui.theme import Theme
from gui.widgets.layout import spaced
from gui.widgets.row_model import TableRow
from gui.widgets.table import RowTable
from gui.widgets.text import enlarge, picture_label, plain_label

CARDS_ACROSS = 2
"""Largest number of GPU cards side by side."""
CARD_SPACING = 12
"""Pixels between two GPU cards."""


def make_details(step: Step, report: Report, theme: Theme) -> QWidget | None:
    """Return the table of a step, or None if there are no observations."""
    makers = {Step.DRIVER: _driver, Step.TOOLKIT: _toolkits, Step.CUDNN: _cudnn, Step.ENVIRONMENT: _environment}
    if step is Step.FRAMEWORKS:
        return _frameworks(report, theme)
    maker = makers.get(step)
    return maker(report, theme) if maker else None


def _rows(step: Step, rows: tuple[TableRow, ...], report: Report) -> tuple[TableRow, ...]:
    """Return the rows of a step's table; none is worse than the step."""
    return detail_rows.limit_severity(rows, texts.step_verdict(report, step)[0])


def _driver(report: Report, theme: Theme) -> QWidget | None:
    snapshot = report.snapshot
    driver = snapshot.driver
    if driver is None:
        return None
    if driver.gpus:
        return GpuCards(driver.gpus, snapshot, theme)
    rows = detail_rows.device_rows(snapshot)
    if rows:
        columns = (_("Device"), _("Held by"), _("PCI address"))
        return RowTable(_("NVIDIA devices"), columns, rows, theme, paths=(0,))
    return plain_label(_("No NVIDIA GPU was found."), muted=True)


class GpuCards(QWidget):
    """Each GPU as a card with its name and its properties; two cards stand side by side where there is room for both."""

    def __init__(self, gpus: tuple[Gpu, ...], snapshot: Snapshot, theme: Theme) -> None:
        super().__init__()
        self._grid = spaced(QGridLayout(self), spacing=CARD_SPACING)
        self._cards = [_gpu(gpu, snapshot, theme) for gpu in gpus]
        self._across = 0
        self._place(CARDS_ACROSS)

    def _card_width(self) -> int:
        """Return the smallest width, in pixels, in which every card is whole."""
        return max(card.minimumSizeHint().width() for card in self._cards)

    def _place(self, across: int) -> None:
        """Put this many cards into each row."""
        if across == self._across:
            return
        self._across = across
        for i, card in enumerate(self._cards):
            self._grid.addWidget(card, i // across, i % across, Qt.AlignmentFlag.AlignTop)
        for column in range(CARDS_ACROSS):
            self._grid.setColumnStretch(column, int(column < across))

    def minimumSizeHint(self) -> QSize:
        """Return room for one card beside none: the others go below it."""
        return QSize(self._card_width(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place as many cards side by side as the new width has room for."""
        room = (event.size().width() + CARD_SPACING) // (self._card_width() + CARD_SPACING)
        self._place(max(1, min(CARDS_ACROSS, room)))
        super().resizeEvent(event)


def _gpu(gpu: Gpu, snapshot: Snapshot, theme: Theme) -> QFrame:
    card = QFrame()
    card.setObjectName("card")
    facts = detail_rows.gpu_facts(gpu, snapshot)
    card.setAccessibleName(f"GPU {gpu.index}: {gpu.name}")
    card.setAccessibleDescription(", ".join(f"{label}: {value}" for label, value in facts))
    grid = spaced(QGridLayout(card), (14, 12, 14, 12))
    grid.setHorizontalSpacing(10)
    grid.setColumnStretch(1, 1)
    grid.addWidget(picture_label("gpu", theme.muted, _("GPU")), 0, 0, Qt.AlignmentFlag.AlignTop)
    box = QVBoxLayout()
    grid.addLayout(box, 0, 1)
    box.setSpacing(6)
    name = plain_label(gpu.name)
    enlarge(name, 1.1)
    box.addWidget(name)
    box.addWidget(plain_label(_("GPU {n}", n=gpu.index), muted=True))
    rows = QGridLayout()
    box.addLayout(rows)
    rows.setHorizontalSpacing(12)
    rows.setVerticalSpacing(2)
    rows.setColumnStretch(1, 1)
    for i, (label, value) in enumerate(facts):
        shown = plain_label(value)
        shown.setWordWrap(False)  # the label beside it breaks instead
        rows.addWidget(plain_label(label, muted=True, selectable=False), i, 0)
        rows.addWidget(shown, i, 1)
    return card


def _toolkits(report: Report, theme: Theme) -> QWidget | None:
    found = report.snapshot.toolkits
    if not found:
        return None
    columns = (_("Version"), _("Where"), _("From"), _("Set by"))
    return RowTable(
        _("CUDA toolkits"), columns, _rows(Step.TOOLKIT, detail_rows.toolkit_rows(found), report), theme, paths=(1,)
    )


def _cudnn(report: Report, theme: Theme) -> QWidget | None:
    if not report.snapshot.cudnn:
        return None
    columns = (_("Version"), _("Where"), _("Complete?"), _("For CUDA"), _("Found first by"))
    return RowTable(
        _("Copies of cuDNN"),
        columns,
        _rows(Step.CUDNN, detail_rows.copy_rows(report.snapshot), report),
        theme,
        paths=(1,),
    )


def _environment(report: Report, theme: Theme) -> QWidget | None:
    body = QWidget()
    box = spaced(QVBoxLayout(body))
    paths = _rows(Step.ENVIRONMENT, detail_rows.search_paths(report.snapshot), report)
    variables = _rows(Step.ENVIRONMENT, detail_rows.variable_rows(report), report)
    if paths:
        columns = (_("Variable"), _("Position"), _("Entry"), _("Remarks"), _("Set for"))
        box.addWidget(RowTable(_("Search paths, in the loader's order"), columns, paths, theme, paths=(2,)))
    if variables:
        headers = (_("Variable"), _("Value"), _("Set for"))
        box.addWidget(RowTable(_("Variables"), headers, variables, theme, paths=(1,)))
    return body if paths or variables else None


def _frameworks(report: Report, theme: Theme) -> QWidget | None:
    grid = report.grid
    if grid is None or not grid.rows:
        return None
    body = QWidget()
    box = spaced(QVBoxLayout(body))
    if chosen := detail_rows.choice_rows(grid):
        headers = (_("For this framework"), _("use this environment"))
        box.addWidget(RowTable(_("Which one to use"), headers, chosen, theme, paths=(1,)))
    if none := detail_rows.choice_sentence(grid):
        box.addWidget(plain_label(none))
    columns = (_("Environment"), _("Python"), *grid.columns)
    rows = _rows(Step.FRAMEWORKS, detail_rows.environment_rows(report), report)
    box.addWidget(RowTable(_("Python environments"), columns, rows, theme, paths=(0,)))
    if meaning := detail_rows.grid_legend(grid):
        box.addWidget(plain_label(meaning, muted=True))
    return body
