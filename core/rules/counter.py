"""Counter-experiments: the same test without a variable, and what its result proves about that variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from core.model.facts import CudaInit
from core.model.findings import Finding


class CounterOutcome(StrEnum):
    """What a counter-experiment proves about the thing that it leaves out."""

    PROVED = "proved"
    """The test works without it."""
    REFUTED = "refuted"
    """The test fails in the same way without it."""
    CHANGED = "changed"
    """The test fails in another way without it: it explains the first failure only, and hides the second."""
    OPEN = "open"
    """There was no such test, it did not respond, or there was no failure to explain."""


def cuda_starts(cuda: CudaInit | None) -> bool:
    """Whether cuInit succeeded and found at least one GPU."""
    return cuda is not None and cuda.status == 0 and cuda.device_count != 0


def judge_cuda(asked: CudaInit | None, again: CudaInit | None) -> CounterOutcome:
    """Return what cuInit without a variable (``again``) proves about that variable."""
    if asked is None or again is None or cuda_starts(asked):
        return CounterOutcome.OPEN
    if cuda_starts(again):
        return CounterOutcome.PROVED
    if asked.status == again.status and (asked.status is not None or asked.problem == again.problem):
        return CounterOutcome.REFUTED
    return CounterOutcome.OPEN if again.status is None else CounterOutcome.CHANGED


def judge_failures(failures: frozenset[tuple[str, ...]], again: frozenset[tuple[str, ...]] | None) -> CounterOutcome:
    """Return what the failures without a variable prove about it; None if there was no such test.

    A failure is identified so that it compares equal between runs: the call, the file name and the result.
    """
    if not failures or again is None:
        return CounterOutcome.OPEN
    if not again:
        return CounterOutcome.PROVED
    return CounterOutcome.REFUTED if failures <= again else CounterOutcome.CHANGED


def blame_unless_refuted(outcome: CounterOutcome, found: Callable[[], Finding]) -> Iterator[Finding]:
    """Yield the finding that blames the thing left out, unless the same failure occurred without it."""
    if outcome is not CounterOutcome.REFUTED:
        yield found()
