"""What distinguishes faulty machines from healthy ones: settings, counted on both sides and ranked.

A group is compared by the log-likelihood ratio of each value (Dunning, "Accurate Methods for the Statistics of Surprise
and Coincidence", Computational Linguistics 19, 1993); one machine by how its settings compare with its peers' (Wang and
others, "Automatic Misconfiguration Troubleshooting with PeerPressure", OSDI 2004).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from core.model.facts import Frozen

ABSENT = "-"
"""Stands for a setting that a machine does not have."""
OTHER = "(other)"
MOST_VALUES = 4096
"""Most values of one setting that are counted; further ones are counted as ``OTHER``, so that memory use is bounded."""
MOST_DIFFERENCES = 10
LEAST_SURPRISE = 6.63
"""The ratio that one in a hundred settings reaches by chance (chi-squared, one degree of freedom)."""


class Difference(Frozen, frozen=True, kw_only=True):
    """A setting that faulty machines have more often than healthy ones."""

    setting: str
    value: str
    sick: int
    of_sick: int
    healthy: int
    of_healthy: int
    score: float
    """Log-likelihood ratio, or PeerPressure's probability: larger is stronger evidence; comparable within one list only."""


class Tally:
    """Counts the values of every setting over machines."""

    def __init__(self) -> None:
        self.machines = 0
        self._values: dict[str, Counter[str]] = {}

    def add(self, settings: dict[str, str]) -> None:
        """Count a machine."""
        self.machines += 1
        for name, value in settings.items():
            values = self._values.get(name)
            if values is None:
                values = self._values[name] = Counter()
            values[value if value in values or len(values) < MOST_VALUES else OTHER] += 1

    def names(self) -> Iterable[str]:
        """Return every setting that any machine has."""
        return self._values

    def values(self, name: str) -> Counter[str]:
        """Return how often each value of a setting occurs, with those that lack it."""
        values = self._values.get(name, Counter())
        lacking = self.machines - values.total()
        return values + Counter({ABSENT: lacking} if lacking else {})


def group_differences(sick: Tally, healthy: Tally) -> tuple[Difference, ...]:
    """Return what a group of faulty machines has more often than the healthy ones, strongest first."""
    if not sick.machines or not healthy.machines:
        return ()
    found = []
    for name in {*sick.names(), *healthy.names()}:
        theirs, ours = sick.values(name), healthy.values(name)
        for value, n in theirs.items():
            m = ours[value]
            score = _likelihood_ratio(n, sick.machines, m, healthy.machines)
            if score >= LEAST_SURPRISE:
                found.append(_difference(name, value, (n, m), (sick, healthy), score))
    return _rank(found)


def peer_differences(settings: dict[str, str], healthy: Tally) -> tuple[Difference, ...]:
    """Return the settings of one machine that are least like its healthy peers', the most suspicious first.

    P = (N + c) / (N + ct + cm(t - 1)) with N peers, c values that they have of the setting, t settings, and m peers that have this
    machine's value.
    """
    names = {*settings, *healthy.names()}
    alone = Tally()
    alone.add(settings)
    found = []
    for name in names:
        value = settings.get(name, ABSENT)
        peers = healthy.values(name)
        m, c, t, n = peers[value], len(peers) + (value not in peers), len(names), healthy.machines
        score = (n + c) / (n + c * t + c * m * (t - 1))
        if m < n:
            found.append(_difference(name, value, (1, m), (alone, healthy), score))
    return _rank(found)


def _rank(found: list[Difference]) -> tuple[Difference, ...]:
    return tuple(sorted(found, key=lambda d: (-d.score, d.healthy, d.setting, d.value))[:MOST_DIFFERENCES])


def _difference(
    name: str, value: str, counts: tuple[int, int], tallies: tuple[Tally, Tally], score: float
) -> Difference:
    sick, healthy = tallies
    return Difference(
        setting=name,
        value=value,
        sick=counts[0],
        of_sick=sick.machines,
        healthy=counts[1],
        of_healthy=healthy.machines,
        score=round(score, 6),
    )


def _likelihood_ratio(n: int, of_n: int, m: int, of_m: int) -> float:
    """Return the log-likelihood ratio of n of ``of_n`` against m of ``of_m``; 0 if the first is not more frequent."""
    if n * of_m <= m * of_n:
        return 0.0
    share = (n + m) / (of_n + of_m)
    cells = ((n, of_n * share), (of_n - n, of_n * (1 - share)), (m, of_m * share), (of_m - m, of_m * (1 - share)))
    return 2 * sum(seen * math.log(seen / expected) for seen, expected in cells if seen)
