"""What was seen during a run that explains a slow card, and what may have to do with it."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _, plain_number
from core.knowledge.gpu_rates import GpuRates
from core.model.facts import GpuRun, Snapshot
from core.model.findings import Evidence
from core.rules.benchmark.wording import busy, fractions, holders, working
from core.rules.wording import observation

LOWERED = 0.9
"""Part of a card's highest clock below which it was held down."""


def explaining(run: GpuRun, known: GpuRates) -> Iterator[Evidence]:
    """Yield what makes a card slow: others on it, clocks held down, less power, no tensor cores."""
    states = working(run)
    card = run.card
    if busy(run):
        yield observation(_("Load before the benchmark"), f"{run.before.load if run.before else 0} %", "NVML")
        yield from holders(run)[:3]
    for reason in known.reasons:
        count = sum(bool((s.reasons or 0) & reason.bit) for s in states)
        if reason.slows and count * 4 >= len(states) > 0:
            yield observation(
                _("Clocks"),
                _("{meaning} ({count} of {count2} looks)", meaning=_(reason.meaning), count=count, count2=len(states)),
                _("NVML, clock event reasons"),
            )
    clocks = sorted(s.clock for s in states if s.clock)
    if clocks and card and card.max_clock and clocks[len(clocks) // 2] < 0.9 * card.max_clock:
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
                power_limit=plain_number(card.power_limit, 0),
                power_limit_default=plain_number(card.power_limit_default, 0),
            ),
            "NVML",
        )
    if card and card.on_battery:
        yield observation(_("Power"), _("the computer runs on its battery"), _("operating system"))
    for timing, _limit, _part in fractions(run):
        if timing.tensor_cores is False and timing.type in ("fp16", "bf16", "tf32") and _has_tensor_cores(run):
            yield observation(
                _("Tensor cores"),
                _(
                    "not used: the fastest algorithm for {type} does without ({algorithm})",
                    type=timing.type,
                    algorithm=timing.algorithm,
                ),
                "cuDNN",
            )


def _has_tensor_cores(run: GpuRun) -> bool:
    """Whether the limits of this card are its tensor cores': more than twice that of fp32."""
    limits = {limit.type: limit.teraflops for limit in run.limits}
    return limits.get("fp16", 0.0) > 3 * limits.get("fp32", 0.0) > 0


def circumstances(run: GpuRun, seen: Snapshot) -> Iterator[Evidence]:
    """Yield what is no explanation for slow convolutions but worth knowing: the link, the desktop, a laptop, Windows."""
    card = run.card
    if card is None:
        return
    working_now = working(run)
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
        yield observation(_("Display"), _("a screen is driven by this card, whose drawing takes its share"), "NVML")
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
