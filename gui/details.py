"""What was seen, per step: GPU cards, toolkits, cuDNN copies with their files, PATH as the loader sees it, environments."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from core.facts import CudnnCopy, Gpu, LibraryFile
from core.findings import Report, Step
from core.i18n import _
from core.report import printable
from gui.card import plain_label
from gui.theme import Theme, fixed_font

Row = tuple[Sequence[str], Sequence[Sequence[str]]]
"""A row's cells, and the rows inside it."""


def details(step: Step, report: Report, theme: Theme) -> QWidget | None:
    """Return the table of a step, or None where nothing was seen."""
    makers = {
        Step.DRIVER: _driver,
        Step.TOOLKIT: _toolkits,
        Step.CUDNN: _cudnn,
        Step.ENVIRONMENT: _environment,
        Step.FRAMEWORKS: _frameworks,
    }
    maker = makers.get(step)
    return maker(report, theme) if maker else None


def size(count: int | None) -> str:
    """Return a number of bytes in words: "245 MB"; empty for None."""
    if count is None:
        return ""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"


def table(name: str, columns: Sequence[str], rows: Sequence[Row], paths: Sequence[int] = ()) -> QTreeWidget:
    """Return a read-only table; ``paths`` are columns of machine text: monospaced, elided in the middle."""
    tree = QTreeWidget()
    tree.setAccessibleName(name)
    tree.setHeaderLabels(list(columns))
    tree.setRootIsDecorated(any(inner for _cells, inner in rows))
    tree.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    tree.setUniformRowHeights(True)
    tree.setAllColumnsShowFocus(True)
    tree.setTabKeyNavigation(False)
    fixed = fixed_font()
    for cells, inner in rows:
        item = _item(cells, paths, fixed)
        item.addChildren([_item(row, paths, fixed) for row in inner])
        tree.addTopLevelItem(item)
    header = tree.header()
    header.setStretchLastSection(False)
    for i in range(len(columns)):
        mode = QHeaderView.ResizeMode.Stretch if i in paths else QHeaderView.ResizeMode.ResizeToContents
        header.setSectionResizeMode(i, mode)
    shown = min(len(rows), 12) + 1
    tree.setFixedHeight(shown * (tree.sizeHintForRow(0) + 8 if rows else 24) + 16)
    return tree


def _item(cells: Sequence[str], paths: Sequence[int], fixed: object) -> QTreeWidgetItem:
    item = QTreeWidgetItem([printable(c) for c in cells])
    for i, cell in enumerate(cells):
        item.setToolTip(i, printable(cell))
        if i in paths:
            item.setData(i, Qt.ItemDataRole.FontRole, fixed)
    return item


def _driver(report: Report, _theme: Theme) -> QWidget | None:
    driver = report.snapshot.driver
    if driver is None:
        return None
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(0, 0, 0, 0)
    gpus = driver.gpus or ()
    version = driver.nvml.driver_version if driver.nvml else None
    newest = (driver.cuda.driver_cuda if driver.cuda else None) or (driver.nvml.driver_cuda if driver.nvml else None)
    if gpus:
        columns = (_("GPU"), _("Compute capability"), _("Memory"), _("Driver"), _("Runs CUDA up to"))
        rows: list[Row] = [(_gpu(g, version, newest), ()) for g in gpus]
        column.addWidget(table(_("GPUs"), columns, rows))
    devices = [d for d in driver.pci or () if d.vendor_id == "10de"]
    if devices and not gpus:
        rows = [((d.address, d.name or d.device_id, d.bound_driver or _("none")), ()) for d in devices]
        column.addWidget(table(_("Devices"), (_("PCI address"), _("Device"), _("Held by driver")), rows))
    if not gpus and not devices:
        column.addWidget(plain_label(_("No NVIDIA GPU was seen."), muted=True))
    return box


def _gpu(gpu: Gpu, driver: str | None, newest: str | None) -> tuple[str, ...]:
    return (
        f"{gpu.index}: {gpu.name}",
        gpu.compute_capability or "?",
        size(gpu.memory_total) or "?",
        driver or "?",
        newest or "?",
    )


def _toolkits(report: Report, _theme: Theme) -> QWidget | None:
    toolkits = report.snapshot.toolkits
    if not toolkits:
        return None
    rows: list[Row] = [
        (
            (t.version or "?", t.origin, t.folder or t.root, ", ".join(t.named_by)),
            [(f.version or "?", f.state, f.name, size(f.size)) for f in t.libraries],
        )
        for t in toolkits
    ]
    return table(_("CUDA toolkits"), (_("Version"), _("From"), _("Where"), _("Named by")), rows, paths=(2,))


def _cudnn(report: Report, _theme: Theme) -> QWidget | None:
    copies = report.snapshot.cudnn
    if not copies:
        return None
    first = _first_for(report)
    rows: list[Row] = [(_copy(c, first.get(c.folder, "")), [_file(f) for f in (*c.files, *c.links)]) for c in copies]
    columns = (_("Version"), _("Complete?"), _("For CUDA"), _("Where"), _("Found first by"))
    return table(_("Copies of cuDNN"), columns, rows, paths=(3,))


def _copy(c: CudnnCopy, first: str) -> tuple[str, ...]:
    bad = sum(f.state != "good" for f in c.files)
    complete = _("yes") if not c.missing and not bad else _("no: {n} files").format(n=len(c.missing) + bad)
    return (c.version or f"{c.major}.?", complete, str(c.cuda_major or "?"), c.folder, first)


def _file(f: LibraryFile) -> tuple[str, ...]:
    return (f.version or "?", f.state, f.architecture, f.name, size(f.size))


def _first_for(report: Report) -> dict[str, str]:
    """Folder of the cuDNN that each consumer finds first -> the consumers' names."""
    found: dict[str, list[str]] = {}
    for load in report.snapshot.loads or ():
        path = load.roll_call.loaded if load.roll_call else ""
        folder = path.rpartition("\\" if "\\" in path else "/")[0]
        if folder:
            found.setdefault(folder, []).append(load.consumer.label)
    return {folder: ", ".join(dict.fromkeys(labels)) for folder, labels in found.items()}


def _environment(report: Report, _theme: Theme) -> QWidget | None:
    environment = report.snapshot.environment
    if environment is None or not environment.entries:
        return None
    rows: list[Row] = [
        ((e.variable, str(e.index + 1), e.text, ", ".join(e.marks) or _("in order")), ()) for e in environment.entries
    ]
    columns = (_("Variable"), _("Place"), _("Entry"), _("Remarks"))
    return table(_("Search paths, in the loader's order"), columns, rows, paths=(2,))


def _frameworks(report: Report, _theme: Theme) -> QWidget | None:
    pythons = report.snapshot.pythons
    if not pythons:
        return None
    rows: list[Row] = [
        (
            (p.prefix, p.version or "?", p.kind, p.problem or str(len(p.distributions))),
            [(d.name, d.version, "", d.location) for d in p.distributions],
        )
        for p in pythons
    ]
    columns = (_("Environment"), _("Python"), _("Kind"), _("Packages that matter"))
    return table(_("Python environments"), columns, rows, paths=(0,))
