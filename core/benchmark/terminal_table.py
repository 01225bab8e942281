"""The benchmark's results as a table with bars, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from core.benchmark.extent import usual_layout
from core.benchmark.shapes import LARGE_SHAPE
from core.common.i18n import _, format_plain_number, translate_fact
from core.common.text import printable
from core.common.text_width import pad
from core.model.facts import Benchmark, Check, FrameworkRun, GpuRun, RateLimit, Rung, Timing

BAR_WIDTH = 30
"""Characters of a bar at the card's limit."""


def benchmark_table(benchmark: Benchmark | None, *, plain: bool) -> str:
    """Return the table; ``plain`` restricts it to ASCII. Empty if nothing was run."""
    if benchmark is None or not benchmark.gpus:
        return ""
    lines = [line for run in benchmark.gpus for line in _run(run, plain=plain)]
    return printable("\n".join(lines)) + "\n"


def _run(run: GpuRun, *, plain: bool) -> Iterator[str]:
    card = run.card
    name = card.name if card and card.name else "GPU"
    details = []
    if card and card.compute_capability:
        details.append(_("compute capability {compute_capability}", compute_capability=card.compute_capability))
    if card and card.multiprocessors:
        details.append(_("{multiprocessors} multiprocessors", multiprocessors=card.multiprocessors))
    yield f"GPU {run.index}  {name}" + (f"  ({', '.join(details)})" if details else "")
    if run.consumer:
        yield "  " + _(
            "cuDNN {version} as loaded by {consumer}", version=run.version or "?", consumer=translate_fact(run.consumer)
        )
    yield from _ladder(run.rungs)
    yield from _checks(run.checks)
    if run.timings:
        yield ""
        yield from _bars(run, plain=plain)
        yield from _shapes(run)
    yield f"  {format_plain_number(run.seconds, 1)} s"
    yield ""


def _ladder(rungs: tuple[Rung, ...]) -> Iterator[str]:
    marks = {"passed": _("ok"), "failed": _("FAILED"), "absent": _("absent"), "not reached": "-"}
    if rungs and all(r.state in ("passed", "absent") for r in rungs):
        absent = [r.name for r in rungs if r.state == "absent"]
        yield "  " + (
            _(
                "Driver, card, CUDA and cuDNN: all {count} steps passed (not tried, no library found: {absent})",
                count=len(rungs) - len(absent),
                absent=", ".join(map(_, absent)),
            )
            if absent
            else _("Driver, card, CUDA and cuDNN: all {count} steps passed", count=len(rungs))
        )
        return
    for rung in rungs:
        why = f": {rung.call} {rung.answer}".rstrip() if rung.state == "failed" else ""
        yield f"  {marks[rung.state]:<7} {translate_fact(rung.name)}{why}"


def _checks(checks: tuple[Check, ...]) -> Iterator[str]:
    if not checks:
        return
    right = sum(c.right is True for c in checks)
    bad = [c for c in checks if c.right is False]
    undecided = sum(c.right is None for c in checks)
    yield "  " + (
        _(
            "Results: {right} right, {wrong} wrong, {undecided} not offered or not decided",
            right=right,
            wrong=len(bad),
            undecided=undecided,
        )
        if undecided
        else _("Results: {right} right, {wrong} wrong", right=right, wrong=len(bad))
    )
    for c in bad[:8]:
        yield (
            "    "
            + _("WRONG {kind}", kind=translate_fact(c.kind))
            + f": {c.type} {c.layout} {_(c.direction)}, {translate_fact(c.algorithm)}: {translate_fact(c.detail)}"
        )


def _bars(run: GpuRun, *, plain: bool) -> Iterator[str]:
    """Yield one bar for each type: the fraction of the card's limit that the large shape reaches."""
    full, rest, mark = ("#", ".", "|") if plain else ("█", "░", "│")
    limits = {limit.type: limit for limit in run.limits}
    shown = [
        t
        for t in run.timings
        if t.direction == "forward" and t.layout == usual_layout(t.type) and t.label == LARGE_SHAPE.label
    ]
    if not shown:
        return
    yield "  " + (
        _(
            "{label}, forward: TFLOP/s of the card's limit ({mark} marks what such cards reach)",
            label=translate_fact(shown[0].label),
            mark=mark,
        )
        if limits
        else _("{label}, forward: TFLOP/s of the card's limit", label=translate_fact(shown[0].label))
    )
    over = False
    for timing in shown:
        if timing.teraflops is None:
            yield f"  {timing.type:>5}  {translate_fact(timing.problem)}"
            continue
        limit: RateLimit | None = limits.get(timing.type)
        if limit is None:
            yield f"  {timing.type:>5}  {format_plain_number(timing.teraflops, 1):>8}"
            continue
        part = timing.teraflops / limit.teraflops
        bar = list(full * min(BAR_WIDTH, round(part * BAR_WIDTH)) + rest * max(0, BAR_WIDTH - round(part * BAR_WIDTH)))
        if limit.typical:
            bar[min(BAR_WIDTH - 1, round(limit.typical * BAR_WIDTH))] = mark
        over |= part > 1
        yield (
            f"  {timing.type:>5}  {''.join(bar)}  "
            + _(
                "{reached} of {limit}",
                reached=f"{format_plain_number(timing.teraflops, 1):>8}",
                limit=format_plain_number(limit.teraflops, 0),
            )
            + f"  {part:4.0%}"
        )
    if over:
        yield " " * 9 + _(
            "More than 100 %: a Winograd or FFT algorithm performs fewer multiplications than the direct method, which is counted."
        )


def _shapes(run: GpuRun) -> Iterator[str]:
    """Yield one line for each measured convolution, with the framework's result beside it."""
    measured = [f for f in run.frameworks or () if f.timings]
    wide = max(16, *(len(_short(f)) for f in measured)) if measured else 0
    heads = "".join(f"  {_short(f):>{wide}}" for f in measured)
    yield ""
    yield f"  {pad(_('convolution'), 42)} {_('type'):>5} {'ms':>9} {'TFLOP/s':>8} {'+-':>5}{heads}  {_('algorithm')}"
    for t in run.timings:
        label = translate_fact(t.label) or t.shape
        label += f", {_(t.direction)}" if t.direction != "forward" else ""
        label += "" if t.layout == usual_layout(t.type) else f", {t.layout}"
        if t.milliseconds is None:
            yield f"  {pad(label[:42], 42)} {t.type:>5}  {translate_fact(t.problem)}"
            continue
        beside = "".join(f"  {_framework_speed(f, t):>{wide}}" for f in measured)
        yield (
            f"  {pad(label[:42], 42)} {t.type:>5} {format_plain_number(t.milliseconds, 4):>9} {format_plain_number(t.teraflops or 0, 1):>8}"
            f" {format_plain_number(100 * (t.spread or 0), 1) + '%':>5}{beside}  {translate_fact(t.algorithm)}"
        )
    for f in run.frameworks or ():
        if f.problem:
            yield f"  {f.framework}: {translate_fact(f.problem)}"
        elif f.gpu is False:
            yield "  " + _("{framework}: it computes on the processor here", framework=f.framework)


def _short(its: FrameworkRun) -> str:
    return its.framework.partition("+")[0]


def _framework_speed(its: FrameworkRun, ours: Timing) -> str:
    """Return a framework's result for the same convolution; with its layout, if it supports no other."""
    same = [t for t in its.timings if t.is_same_convolution(ours)]
    usually = [t for t in same if ours.layout == usual_layout(ours.type)]
    found = next((t for t in same if t.layout == ours.layout), usually[0] if usually else None)
    if found is None or not found.teraflops:
        return translate_fact(found.problem)[:16] if found else ""
    return format_plain_number(found.teraflops, 1) + ("" if found.layout == ours.layout else f" {found.layout}")
