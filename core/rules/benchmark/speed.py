"""Rules about the benchmark's speed: slower than such a card should be, and the observed reasons; memory."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _, format_plain_number, n_
from core.common.text import join_names
from core.knowledge.gpu_rates import GpuRates, gpu_rates
from core.model.facts import GpuRun, RateLimit, Snapshot, Timing
from core.model.findings import Evidence, Finding
from core.model.steps import Severity
from core.rules.benchmark.wording import (
    free_memory,
    gpu_holders,
    gpu_name,
    gpu_runs,
    is_busy,
    limit_fractions,
    memory_short,
    run_subject,
    working_states,
)
from core.rules.wording import GOOD, NOTE, UNKNOWN, WARNING, make_finding, observation

SLOW_SHARE = 0.7
"""Fraction of a card's typical result below which it counts as slow: far outside the spread of repeated runs."""


LOWERED_CLOCK_SHARE = 0.9
"""Fraction of a card's highest clock below which it was throttled."""


def slow_card(seen: Snapshot) -> Iterator[Finding]:
    """The card is much slower than cards of its kind; with the observed reasons."""
    known = gpu_rates()
    for run in gpu_runs(seen):
        if reached := limit_fractions(run):
            judged = [(t, limit, share) for t, limit, share in reached if limit.typical]
            low = [
                (t, limit, share) for t, limit, share in reached if limit.typical and share / limit.typical < SLOW_SHARE
            ]
            reasons, around = list(slowness_reasons(run, known)), list(run_circumstances(run, seen))
            if low:
                yield _much_slower(run, [_below_typical(*row) for row in low], reasons, around)
            elif is_busy(run):
                yield make_finding(
                    "benchmark.busy",
                    WARNING,
                    _("{named}: another program computes on it, so the figures are not valid.", named=gpu_name(run)),
                    subject=run_subject(run),
                    evidence=reasons,
                )
            elif judged:
                yield _as_fast(run, judged)
            else:
                yield _not_judged(run, reached, [*reasons, *around])


def _below_typical(timing: Timing, limit: RateLimit, share: float) -> Evidence:
    return observation(
        f"{timing.type}, {timing.label}",
        _(
            "{teraflops} TFLOP/s, {share} of the limit; such a card reaches {typical}",
            teraflops=format_plain_number(timing.teraflops or 0.0, 0),
            share=format(share, ".0%"),
            typical=format(limit.typical, ".0%"),
        ),
    )


def _much_slower(run: GpuRun, rows: list[Evidence], reasons: list[Evidence], around: list[Evidence]) -> Finding:
    named = gpu_name(run)
    if is_busy(run):
        title = _(
            "{named} is slower than such a card should be; another program computes on it at the same time.",
            named=named,
        )
        return _slow(run, "busy", WARNING, title, [*rows, *reasons, *around])
    if reasons:
        title = _("{named} is slower than such a card should be; observations during the run explain it.", named=named)
        return _slow(run, "slow", WARNING, title, [*rows, *reasons, *around])
    title = _("{named} is slower than such a card should be; nothing that was observed explains it.", named=named)
    return _slow(run, "slow", UNKNOWN, title, [*rows, *around])


def _as_fast(run: GpuRun, judged: list[tuple[Timing, RateLimit, float]]) -> Finding:
    text = join_names(f"{t.type} {share:.0%}" for t, _limit, share in judged)
    return make_finding(
        "benchmark.speed",
        GOOD,
        _("{named} is as fast as such a card should be: {text} of its limit.", named=gpu_name(run), text=text),
        subject=run_subject(run),
    )


def _not_judged(run: GpuRun, reached: list[tuple[Timing, RateLimit, float]], rows: list[Evidence]) -> Finding:
    text = join_names(f"{t.type} {share:.0%}" for t, _limit, share in reached)
    return make_finding(
        "benchmark.speed-unjudged",
        NOTE,
        _(
            "{named} reaches these shares of its limit: {text}. It is not known how fast such a card should be.",
            named=gpu_name(run),
            text=text,
        ),
        why=_(
            "There is no measurement of what such a card usually reaches. To decide it, run the same benchmark on another card of the same model."
        ),
        subject=run_subject(run),
        evidence=rows,
    )


def _slow(run: GpuRun, name: str, severity: Severity, title: str, rows: list[Evidence]) -> Finding:
    samples = n_(
        "{n} sample of the card during the work", "{n} samples of the card during the work", len(working_states(run))
    )
    return make_finding(
        f"benchmark.{name}",
        severity,
        title,
        cause="gpu_busy" if name == "busy" else "",
        why=_("The results are right; only the speed is low. If nothing explains it, run the same benchmark after a cold start, with nothing else running.") if name == "slow" else _("Close the other program, or measure when it has finished."),
        subject=run_subject(run),
        evidence=[*rows, observation(_("Based on"), samples)],
    )  # fmt: skip


def card_memory_full(seen: Snapshot) -> Iterator[Finding]:
    """Nearly all of the card's memory is in use, although the run completed."""
    for run in gpu_runs(seen):
        failed = any(r.state == "failed" for r in run.rungs)
        if memory_short(run) and not failed:
            yield make_finding(
                "benchmark.memory",
                WARNING,
                _("{named}: nearly all of its memory is in use.", named=gpu_name(run)),
                cause="gpu_memory_exhausted",
                why=_(
                    "The benchmark passed with less; a training run would fail with CUDA_ERROR_OUT_OF_MEMORY or "
                    "CUDNN_STATUS_INTERNAL_ERROR."
                ),
                subject=run_subject(run),
                evidence=gpu_holders(run),
                fix=free_memory(run),
            )


def memory_errors(seen: Snapshot) -> Iterator[Finding]:
    """The card's memory had uncorrectable errors, although the results are correct."""
    for run in gpu_runs(seen):
        errors = run.card.ecc_uncorrected if run.card else None
        if errors and not any(c.right is False for c in run.checks):
            yield make_finding(
                "benchmark.memory-errors",
                WARNING,
                _("{named}: its memory had uncorrectable errors.", named=gpu_name(run)),
                cause="hardware_fault",
                why=_(
                    "The results of this run are right. Data that such an error affects is lost, and the program "
                    "that holds it ends; the driver takes the memory out of use at its next start. Recurring errors "
                    "mean a faulty card."
                ),
                subject=run_subject(run),
                evidence=[
                    observation(_("Uncorrected memory errors"), _("{n} since the driver was loaded", n=errors), "NVML")
                ],
            )


RULES = (slow_card, card_memory_full, memory_errors)


def slowness_reasons(run: GpuRun, known: GpuRates) -> Iterator[Evidence]:
    """Yield the reasons why a card is slow: other users, throttled clocks, a lower power limit, no tensor cores."""
    states = working_states(run)
    card = run.card
    if is_busy(run):
        yield observation(_("Load before the benchmark"), f"{run.before.load if run.before else 0} %", "NVML")
        yield from gpu_holders(run)[:3]
    for reason in known.reasons:
        count = sum(bool((s.reasons or 0) & reason.bit) for s in states)
        if reason.slows and count * 4 >= len(states) > 0:
            yield observation(
                _("Clocks"),
                _(
                    "{meaning} ({count} of {count2} samples)",
                    meaning=_(reason.meaning),
                    count=count,
                    count2=len(states),
                ),
                _("NVML, clock event reasons"),
            )
    clocks = sorted(s.clock for s in states if s.clock)
    if clocks and card and card.max_clock and clocks[len(clocks) // 2] < LOWERED_CLOCK_SHARE * card.max_clock:
        yield observation(
            _("Clock during the work"),
            _("{clocks} of {max_clock} MHz (median)", clocks=clocks[len(clocks) // 2], max_clock=card.max_clock),
            "NVML",
        )
    if card and card.power_limit and card.power_limit_default and card.power_limit < 0.95 * card.power_limit_default:
        yield observation(
            _("Power limit"),
            _(
                "{power_limit} W; this card's own is {power_limit_default} W",
                power_limit=format_plain_number(card.power_limit, 0),
                power_limit_default=format_plain_number(card.power_limit_default, 0),
            ),
            "NVML",
        )
    if card and card.on_battery:
        yield observation(_("Power"), _("the computer runs on its battery"), _("operating system"))
    for timing, _limit, _part in limit_fractions(run):
        if timing.tensor_cores is False and timing.type in ("fp16", "bf16", "tf32") and _has_tensor_cores(run):
            yield observation(
                _("Tensor cores"),
                _(
                    "not used: the fastest algorithm for {type} does not need it ({algorithm})",
                    type=timing.type,
                    algorithm=timing.algorithm,
                ),
                "cuDNN",
            )


def _has_tensor_cores(run: GpuRun) -> bool:
    """Whether this card's limits are those of its tensor cores: more than twice the fp32 limit."""
    limits = {limit.type: limit.teraflops for limit in run.limits}
    return limits.get("fp16", 0.0) > 3 * limits.get("fp32", 0.0) > 0


def run_circumstances(run: GpuRun, seen: Snapshot) -> Iterator[Evidence]:
    """Yield circumstances that do not explain slow convolutions but are worth knowing: the PCIe link, the desktop, a laptop, Windows."""
    card = run.card
    if card is None:
        return
    working_now = working_states(run)
    widths = [s.pcie_width for s in working_now if s.pcie_width]
    if widths and card.pcie_width_max and max(widths) < card.pcie_width_max:
        yield observation(
            _("PCIe link"),
            _(
                "{widths} of {pcie_width_max} lanes (it slows copies, not convolutions)",
                widths=max(widths),
                pcie_width_max=card.pcie_width_max,
            ),
            "NVML",
        )
    generations = [s.pcie_generation for s in working_now if s.pcie_generation]
    if generations and card.pcie_generation_max and max(generations) < card.pcie_generation_max:
        yield observation(
            _("PCIe link"),
            _(
                "generation {now} of {most} during the work (it slows copies, not convolutions)",
                now=max(generations),
                most=card.pcie_generation_max,
            ),
            "NVML",
        )
    if card.display:
        yield observation(_("Display"), _("this card drives a screen, which takes a share of its time"), "NVML")
    if card.driver_model == "WDDM":
        yield observation(
            _("Driver model"),
            _(
                "WDDM: Windows shares the card with the desktop, collects launches, and ends a kernel that takes over two seconds"
            ),
            "NVML",
        )
    other = [d for d in (seen.driver.pci or () if seen.driver else ()) if d.vendor_id.lower() in ("8086", "1002")]
    if card.on_battery is not None and other:
        yield observation(
            _("Laptop"),
            _(
                "this card shares heat and power with the processor, and the screen may be driven by {name}",
                name=other[0].name or other[0].vendor_id,
            ),
            other[0].source,
        )
