"""BenchmarkPage: run convolutions on the GPU; a bar for each number type against what this card should reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QGridLayout, QSizePolicy, QVBoxLayout, QWidget

from core.common.i18n import _, format_plain_number, translate_fact
from core.model.steps import Step
from gui.pages.step_page import StepPage
from gui.theme import Theme
from gui.widgets.card import CardActions
from gui.widgets.layout import spaced
from gui.widgets.text import heading_label, plain_label, push_button

if TYPE_CHECKING:
    from core.model.facts import FrameworkRun, GpuRun, RateLimit, Timing
    from core.model.findings import Report

Run = Callable[[bool], None]


class BenchmarkPage(StepPage):
    """Not part of a scan: the benchmark runs when its button is pressed, and only after a scan. ``on_run`` is called
    with whether it is to be quick.
    """

    def __init__(self, on_run: Run, acts: CardActions) -> None:
        super().__init__(Step.BENCHMARK, make_charts, acts)
        self._on_run = on_run
        self._is_next = False  # whether nothing has to be fixed first
        self._has_gpu = False

    def _fill(self, box: QVBoxLayout, report: Report, theme: Theme) -> None:
        self._is_next = report.primary is None
        self._has_gpu = bool(report.snapshot.driver and report.snapshot.driver.gpus)
        if report.snapshot.benchmark is None:
            box.addWidget(heading_label(self.title))
            self._waiting(box, _("Not run yet. It changes nothing; the GPU is busy while it runs."), titled=False)
            self._actions(box)
        else:
            super()._fill(box, report, theme)

    def _actions(self, box: QVBoxLayout) -> None:
        if not self._has_gpu:
            box.addWidget(plain_label(_("No NVIDIA GPU responds here, so there is nothing to measure.")))
            return
        self.quick = push_button(_("Run the &quick benchmark"), lambda: self._on_run(True), primary=self._is_next)
        self.quick.setAccessibleDescription(_("Under ten seconds"))
        self.whole = push_button(_("Run the &whole benchmark"), lambda: self._on_run(False))
        self.whole.setAccessibleDescription(_("Under a minute"))
        for button in (self.quick, self.whole):  # One below the other: large text in a long language needs the width.
            box.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)


def make_charts(report: Report, theme: Theme) -> QWidget | None:
    """Return a chart for each GPU that was measured."""
    benchmark = report.snapshot.benchmark
    runs = [run for run in benchmark.gpus if run.timings] if benchmark else []
    if not runs:
        return None
    body = QWidget()
    box = spaced(QVBoxLayout(body), spacing=12)
    for run in runs:
        box.addWidget(_chart(run, theme))
    return body


def _chart(run: GpuRun, theme: Theme) -> QWidget:
    card = QFrame()
    card.setObjectName("chart")
    card.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # One tab stop; a screen reader reads all of the chart there.
    grid = spaced(QGridLayout(card), (4, 4, 4, 4))
    grid.setHorizontalSpacing(12)
    grid.setColumnStretch(1, 1)
    title = f"GPU {run.index} {run.card.name if run.card else ''}".strip()
    grid.addWidget(plain_label(title, strong=True), 0, 0, 1, 3)
    limits = {limit.type: limit for limit in run.limits}
    says = _("TFLOP/s of the large convolution, and its share of the card's limit.")
    if any(limit.typical for limit in run.limits):
        says = _("TFLOP/s of the large convolution; the line marks what such cards usually reach.")
    grid.addWidget(plain_label(says, muted=True), 1, 0, 1, 3)
    spoken = []
    row = 2
    for timing in largest_timings(run):
        words, part, usual = measured_speed(timing, limits.get(timing.type))
        beside = " · ".join(_framework_lines(run, timing))
        name = f"{timing.type}: {words}"
        if usual is not None:
            name = _("{measured}; such cards usually reach {usual}", measured=name, usual=format(usual, ".0%"))
        grid.addWidget(plain_label(timing.type), row, 0)
        if part is not None:
            grid.addWidget(SpeedBar(part, usual, name, theme), row, 1)
            grid.addWidget(plain_label(words), row, 2)
        else:
            grid.addWidget(plain_label(words), row, 1, 1, 2)
        if beside:
            grid.addWidget(plain_label(beside, muted=True), row + 1, 1, 1, 2)
        spoken.append(f"{name}; {beside}" if beside else name)
        row += 2
    for its in run.frameworks or ():
        if remark := _remark(its):
            grid.addWidget(plain_label(remark, muted=True), row, 0, 1, 3)
            spoken.append(remark)
            row += 1
    card.setAccessibleName(f"{title}. {says}")
    card.setAccessibleDescription(". ".join(spoken))
    return card


def _framework_lines(run: GpuRun, ours: Timing) -> Iterator[str]:
    """Yield the frameworks' speeds in the same convolution."""
    for its in run.frameworks or ():
        same = [t for t in its.timings if t.is_same_convolution(ours)]
        found = next((t for t in same if t.layout == ours.layout), same[0] if same else None)
        if found and found.teraflops:
            name = its.framework.partition("+")[0]
            yield f"{name}: {format(found.teraflops, '.1f')}" + (
                f" {found.layout}" if found.layout != ours.layout else ""
            )


def _remark(its: FrameworkRun) -> str:
    if its.problem:
        return _("{framework}: {problem}", framework=its.framework, problem=its.problem)
    if its.gpu is False:
        return _("{framework} computes on the processor here.", framework=its.framework)
    return ""


def largest_timings(run: GpuRun) -> tuple[Timing, ...]:
    """Return the largest convolution's timing for each number type."""
    from core.benchmark.extent import usual_layout
    from core.benchmark.shapes import LARGE_SHAPE

    chosen = [t for t in run.timings if t.direction == "forward" and t.label == LARGE_SHAPE.label]
    return tuple(t for t in chosen if t.layout == usual_layout(t.type))


def measured_speed(timing: Timing, limit: RateLimit | None) -> tuple[str, float | None, float | None]:
    """Return a timing in words, the fraction of the card's limit that it reached, and the usual fraction."""
    if timing.teraflops is None:
        return translate_fact(timing.problem) or _("not measured"), None, None
    if limit is None:
        return _("{rate} TFLOP/s", rate=format_plain_number(timing.teraflops, 1)), None, None
    part = timing.teraflops / limit.teraflops
    words = _(
        "{rate} of {limit}, {part}",
        rate=format_plain_number(timing.teraflops, 1),
        limit=format_plain_number(limit.teraflops, 0),
        part=f"{part:.0%}",
    )
    return words, part, limit.typical


class SpeedBar(QWidget):
    """One bar relative to the card's limit, with a mark at the usual fraction."""

    def __init__(self, part: float, usual: float | None, says: str, theme: Theme) -> None:
        super().__init__()
        self._part, self._usual, self._theme = min(part, 1.0), usual, theme
        self.setAccessibleName(says)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return a line's height."""
        return QSize(160, QFontMetrics(self.font()).height())

    def minimumSizeHint(self) -> QSize:
        """Return the smallest size at which bars can be told apart."""
        return QSize(60, QFontMetrics(self.font()).height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the background, the bar and the mark."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = QRectF(self.rect()).adjusted(1, 2, -1, -2)
        painter.setPen(QPen(QColor(self._theme.muted), 1))
        painter.setBrush(QColor(self._theme.raised))
        painter.drawRoundedRect(ground, 4, 4)
        reached = QRectF(ground)
        reached.setWidth(ground.width() * self._part)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.accent))
        painter.drawRoundedRect(reached, 4, 4)
        if self._usual is not None:
            x = ground.left() + ground.width() * min(self._usual, 1.0)
            painter.setPen(QPen(QColor(self._theme.text), 2))
            painter.drawLine(int(x), self.rect().top(), int(x), self.rect().bottom())
