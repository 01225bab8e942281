"""The speeds of two benchmarks side by side: the same convolution, type, direction and layout, on cards of one name."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _, format_plain_number, translate_fact
from core.common.text import printable
from core.common.text_width import pad
from core.model.facts import Frozen, GpuRun, Timing
from core.model.findings import Report

LEAST_DIFFERENCE = 0.05
"""Equal runs on one machine differ by less: a ratio within it, or within both runs' spreads, is not faster or slower."""


class SpeedRatio(Frozen, frozen=True, kw_only=True):
    """One convolution that both measured; ``here`` and ``there`` in milliseconds, ``noise`` as a fraction of them."""

    gpu: str
    timing: Timing
    here: float
    there: float
    noise: float

    @property
    def ratio(self) -> float:
        """How many times as fast it is here."""
        return self.there / self.here

    @property
    def is_within_noise(self) -> bool:
        """Whether the difference is within the noise."""
        return abs(self.here / self.there - 1) <= self.noise


def speed_ratios(here: Report, there: Report) -> tuple[SpeedRatio, ...]:
    """Return every convolution that both reports measured on a card of the same name, the largest change first."""
    theirs = {key: timing for run in _runs(there) for key, timing in _timings(run)}
    found = [
        SpeedRatio(gpu=key[0], timing=mine, here=a, there=b, noise=_noise(mine, other))
        for run in _runs(here)
        for key, mine in _timings(run)
        if (other := theirs.get(key)) is not None and (a := mine.milliseconds) and (b := other.milliseconds)
    ]
    return tuple(sorted(found, key=lambda r: -abs(1 - min(r.ratio, 1 / r.ratio))))


def _runs(report: Report) -> tuple[GpuRun, ...]:
    benchmark = report.snapshot.benchmark
    return benchmark.gpus if benchmark else ()


def _timings(run: GpuRun) -> Iterator[tuple[tuple[str, ...], Timing]]:
    """Yield what was measured, by the card's name, the convolution, and who computed it (without its version)."""
    name = run.card.name if run.card else ""
    for timing in (*run.timings, *(t for f in run.frameworks or () for t in f.timings)):
        who = timing.by.partition(" ")[0]
        yield (name, timing.shape, timing.label, timing.type, timing.direction, timing.layout, who), timing


def _noise(one: Timing, other: Timing) -> float:
    return max(LEAST_DIFFERENCE, 2 * (one.spread or 0.0), 2 * (other.spread or 0.0))


def speeds_text(here: Report, there: Report) -> str:
    """Return the comparison for a terminal: what differs, row by row, and how many are the same."""
    ratios = speed_ratios(here, there)
    if not ratios:
        return _("The reports have no convolution in common that was measured on a card of the same name.") + "\n"
    lines = [_("Speeds, beside those of the other report (milliseconds)")]
    for r in ratios:
        if not r.is_within_noise:
            t = r.timing
            what = ", ".join((translate_fact(t.label) or t.shape, t.type, _(t.direction), t.layout, t.by))
            word = _("{ratio} times as fast", ratio=format_plain_number(r.ratio, 2))
            numbers = f"{format_plain_number(r.here, 4):>9} {format_plain_number(r.there, 4):>9}"
            lines.append(f"  {pad(printable(what), 64)} {numbers}  {word}")
    same = sum(r.is_within_noise for r in ratios)
    lines.append(
        "  " + _("{same} of {all} rows are the same, within the noise of such runs.", same=same, all=len(ratios))
    )
    return "\n".join(lines) + "\n"
