"""What was seen, per step, as widgets: GPU cards, and tables of toolkits, cuDNN copies, search paths, environments."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QFrame, QGridLayout, QVBoxLayout, QWidget

from core.facts import Gpu, Snapshot
from core.findings import Grid, Report
from core.i18n import _
from core.steps import Step
from gui import seen
from gui.table import Table
from gui.text import enlarge, picture, plain_label
from gui.theme import Theme

ACROSS = 2
"""GPU cards side by side."""


def details(step: Step, report: Report, theme: Theme) -> QWidget | None:
    """Return the table of a step, or None where nothing was seen."""
    makers = {
        Step.DRIVER: _driver,
        Step.TOOLKIT: _toolkits,
        Step.CUDNN: _cudnn,
        Step.ENVIRONMENT: _environment,
    }
    if step is Step.FRAMEWORKS:
        return _frameworks(report.grid, theme)
    maker = makers.get(step)
    return maker(report.snapshot, theme) if maker else None


def _driver(snapshot: Snapshot, theme: Theme) -> QWidget | None:
    driver = snapshot.driver
    if driver is None:
        return None
    if driver.gpus:
        return GpuCards(driver.gpus, snapshot, theme)
    rows = seen.devices(snapshot)
    if rows:
        columns = (_("Device"), _("Held by"), _("PCI address"))
        return Table(_("NVIDIA devices"), columns, rows, theme, paths=(0,))
    return plain_label(_("No NVIDIA GPU was seen."), muted=True)


class GpuCards(QWidget):
    """Each GPU as a card: its name, and what it can do."""

    def __init__(self, gpus: tuple[Gpu, ...], snapshot: Snapshot, theme: Theme) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(12)
        for i, gpu in enumerate(gpus):
            grid.addWidget(_gpu(gpu, snapshot, theme), i // ACROSS, i % ACROSS, Qt.AlignmentFlag.AlignTop)
        for column in range(ACROSS):
            grid.setColumnStretch(column, 1)


def _gpu(gpu: Gpu, snapshot: Snapshot, theme: Theme) -> QFrame:
    card = QFrame()
    card.setObjectName("card")
    facts = seen.gpu_facts(gpu, snapshot)
    card.setAccessibleName(f"GPU {gpu.index}: {gpu.name}")
    card.setAccessibleDescription(", ".join(f"{label}: {value}" for label, value in facts))
    grid = QGridLayout(card)
    grid.setContentsMargins(14, 12, 14, 12)
    grid.setHorizontalSpacing(10)
    grid.setColumnStretch(1, 1)
    grid.addWidget(picture("gpu", theme.muted, _("GPU")), 0, 0, Qt.AlignmentFlag.AlignTop)
    box = QVBoxLayout()
    box.setSpacing(6)
    name = plain_label(gpu.name)
    enlarge(name, 1.1)
    box.addWidget(name)
    box.addWidget(plain_label(_("GPU {n}", n=gpu.index), muted=True))
    form = QFormLayout()
    form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    form.setHorizontalSpacing(12)
    form.setVerticalSpacing(2)
    for label, value in facts:
        form.addRow(plain_label(label, muted=True, selectable=False), plain_label(value))
    box.addLayout(form)
    grid.addLayout(box, 0, 1)
    return card


def _toolkits(snapshot: Snapshot, theme: Theme) -> QWidget | None:
    if not snapshot.toolkits:
        return None
    columns = (_("Version"), _("Where"), _("From"), _("Named by"))
    return Table(_("CUDA toolkits"), columns, seen.toolkits(snapshot.toolkits), theme, paths=(1,))


def _cudnn(snapshot: Snapshot, theme: Theme) -> QWidget | None:
    if not snapshot.cudnn:
        return None
    columns = (_("Version"), _("Where"), _("Complete?"), _("For CUDA"), _("Found first by"))
    return Table(_("Copies of cuDNN"), columns, seen.copies(snapshot), theme, paths=(1,))


def _environment(snapshot: Snapshot, theme: Theme) -> QWidget | None:
    rows = seen.search_paths(snapshot)
    if not rows:
        return None
    columns = (_("Variable"), _("Place"), _("Entry"), _("Remarks"), _("Set for"))
    return Table(_("Search paths, in the loader's order"), columns, rows, theme, paths=(2,))


def _frameworks(grid: Grid | None, theme: Theme) -> QWidget | None:
    if grid is None or not grid.rows:
        return None
    body = QWidget()
    box = QVBoxLayout(body)
    box.setContentsMargins(0, 0, 0, 0)
    if chosen := seen.choices(grid):
        headers = (_("For this framework"), _("use this environment"))
        box.addWidget(Table(_("Which one to use"), headers, chosen, theme, paths=(1,)))
    columns = (_("Environment"), _("Python"), *grid.columns)
    box.addWidget(Table(_("Python environments"), columns, seen.environments(grid), theme, paths=(0,)))
    if meaning := seen.legend(grid):
        box.addWidget(plain_label(meaning, muted=True))
    return body
