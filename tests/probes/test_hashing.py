"""Hashing much takes long: it says how long once that is known, and then how far it is."""

from __future__ import annotations

from core.probes.hashing import LONG_BYTES, SAMPLE_BYTES, HashingProgress


def told(total: int, blocks: list[int], seconds: float) -> list[str]:
    """Return what is said while blocks are hashed, the clock at zero first and at ``seconds`` afterwards."""
    times = iter([0.0, *[seconds] * len(blocks)])
    said: list[str] = []
    progress = HashingProgress(total, "/opt/train", said.append, lambda: next(times))
    for block in blocks:
        progress.add(block)
    return said


def test_the_time_of_the_rest_follows_from_the_first_bytes() -> None:
    total = 32 * SAMPLE_BYTES
    first, *rest = told(total, [SAMPLE_BYTES] * 32, seconds=0.5)
    assert first == "Comparing 2.1 GB of libraries in /opt/train with their hashes: about 16 s"
    assert [line.rsplit(": ")[1] for line in rest] == [f"{n}0 %" for n in range(1, 11)]


def test_nothing_is_said_of_what_takes_no_time() -> None:
    assert not told(LONG_BYTES - 1, [LONG_BYTES - 1], seconds=0.1)


def test_no_time_is_named_before_enough_was_read() -> None:
    assert not told(LONG_BYTES, [SAMPLE_BYTES - 1], seconds=9.0)
