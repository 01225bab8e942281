"""A sample of the measurement: "proved" is not said of strangers' messages, and is said of a machine's own."""

from __future__ import annotations

import pytest

from tests import measure_proofs as measure

SAMPLE = (
    *("ops-deleted", "variable-names-distribution", "hidden-5", "stub-libcuda", "file-mode-600"),
    *("window: shadowed", "window: no driver", "window: folder not on path"),
    *("case: an incomplete set", "case: PyTorch without CUDA", "case: GPU memory is used up", "case: cuDNN was never installed"),
    *("case: a GPU that the build has dropped", "case: two halves of cuBLAS", "case: CUDA_PATH names a folder that is gone"),
)  # fmt: skip
EVERY = 6
"""Of the texts one in so many is tried."""


@pytest.fixture(scope="module")
def machines() -> dict[str, measure.Machine]:
    return {m.name: m for m in measure.made()}


def test_strangers_messages_are_not_proved(machines: dict[str, measure.Machine]) -> None:
    texts = measure.threads()[::EVERY]
    results = [measure.wrongly_proved(machines[name], texts) for name in SAMPLE]
    wrong, tried = sum(len(bad) for bad, _ in results), sum(n for _, n in results)
    assert tried > 400
    assert wrong / tried <= measure.MOST_STRANGERS, [t.text for bad, _ in results for t in bad]


def test_own_messages_are_proved(machines: dict[str, measure.Machine]) -> None:
    told = [(m, text) for m in machines.values() for text in measure.messages(m)]
    right = [
        e.link == "proved" and e.causes[0].cause == m.primary.cause
        for m, text in told
        if m.primary is not None and (e := m.explain(text))
    ]
    assert len(right) > 60
    assert sum(right) / len(right) >= measure.LEAST_OWN
