"""Rules about the GPU, its driver and what stands between them."""

from __future__ import annotations

from collections.abc import Iterator

from core.facts import Snapshot
from core.findings import Finding, Severity, Step

NVIDIA = "10de"
"""PCI vendor id of NVIDIA."""


def no_gpu(seen: Snapshot) -> Iterator[Finding]:
    """A machine without an NVIDIA GPU gets one calm note."""
    if seen.driver is None or seen.driver.pci is None or seen.driver.gpus:
        return
    if not any(d.vendor_id == NVIDIA for d in seen.driver.pci):
        yield Finding(
            id="driver.no-gpu",
            cause="no_nvidia_gpu",
            step=Step.DRIVER,
            severity=Severity.NOTE,
            title="This machine has no NVIDIA GPU.",
        )


RULES = (no_gpu,)
