"""A card's peak rates: multiprocessors times clock times operations per clock of its architecture."""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.common.fact_text import fact_text
from core.knowledge.tables import read_table
from core.model.facts import Frozen, GpuCard, NumberType, RateLimit


class RateRow(Frozen, frozen=True, kw_only=True):
    """Operations per clock of one multiprocessor, dense, accumulated in fp32; the first row that fits a card counts."""

    architecture: str
    compute_capability: tuple[str, ...]
    names: str = ""
    """Regular expression for the product's name; empty for every other of this compute capability."""
    rates: Mapping[NumberType, float]
    typical: Mapping[NumberType, float] = {}
    """Fraction that a large convolution reached on such a card, if measured."""
    source: str
    """The published figures from which the rates follow, with the multiprocessors and the clock that they were given for."""
    addresses: tuple[str, ...]
    """Where they were read."""


class ClockReason(Frozen, frozen=True, kw_only=True):
    """A bit of NVML's clock event reasons."""

    bit: int
    word: str
    meaning: str
    slows: bool
    source: str


class GpuRates(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/gpu_rates.json."""

    cards: tuple[RateRow, ...]
    reasons: tuple[ClockReason, ...]


def gpu_rates() -> GpuRates:
    """Return the table."""
    return read_table("gpu_rates", GpuRates)


def rate_limits(card: GpuCard, known: GpuRates) -> tuple[RateLimit, ...]:
    """Return the card's limit for each number type; empty if its architecture, clock or size is unknown."""
    row = next(
        (r for r in known.cards if card.compute_capability in r.compute_capability and re.search(r.names, card.name)),
        None,
    )
    if row is None or not card.multiprocessors or not card.max_clock:
        return ()
    clocks = card.multiprocessors * card.max_clock * 1e6 / 1e12
    size = fact_text(
        "{multiprocessors} multiprocessors at {max_clock} MHz",
        multiprocessors=card.multiprocessors,
        max_clock=card.max_clock,
    )
    return tuple(
        RateLimit(
            type=kind,
            teraflops=round(rate * clocks, 2),
            typical=row.typical.get(kind),
            source=fact_text(
                "{size} (NVML, driver), {rate} operations a clock: {source}",
                size=size,
                rate=f"{rate:g}",
                source=row.source,
            ),
        )
        for kind, rate in row.rates.items()
    )
