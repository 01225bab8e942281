"""Marks of the driver's results on this machine, for comparison with a text's."""

from __future__ import annotations

from core.explain.reading import CUDA_NUMBERS, read_text
from core.model.facts import Snapshot

EXACT_FIRST = tuple(
    frozenset(marks.split())
    for marks in (
        "secure-boot",
        "cuda-unknown nvml-unknown lib-mismatch-driver compat stub driver-insufficient libcuda-dlopen missing:libcuda",
        "no-device bad-ordinal",
        "no-driver-words smi-failed",
    )
)
"""Marks of the driver's results, from exact to general: if a text has several, the more exact one decides."""
NVML_SAYS = {
    # nvmlReturn_t in the words of nvidia-smi and frameworks (nvml.h)
    9: frozenset({"no-driver-words", "smi-failed"}),
    12: frozenset({"no-driver-words", "smi-failed"}),
    18: frozenset({"lib-mismatch-driver"}),
    999: frozenset({"nvml-unknown", "cuda-unknown"}),
}
SIMILAR_MARKS = {
    # what frameworks print for the same result
    "driver-insufficient": frozenset({"no-driver-words"}),
    "missing:libcuda": frozenset({"no-driver-words", "driver-insufficient"}),
}
_NOT_THERE = {"missing:libcuda", "libcuda-dlopen"}


def driver_marks(seen: Snapshot) -> frozenset[str]:
    """Return the marks of the driver's results on this machine; empty if it starts, or was not queried."""
    driver = seen.driver
    if driver is None:
        return frozenset()
    marks: set[str] = set()
    if driver.cuda and driver.cuda.status:
        marks |= {m.id for m in read_text(CUDA_NUMBERS.get(driver.cuda.status, driver.cuda.status_name)).symptoms}
    elif driver.cuda and driver.cuda.status is None and driver.cuda.problem:
        marks |= {"no-driver-words"} | (
            _NOT_THERE if "missing:libcuda" in read_text(driver.cuda.problem).marks else set()
        )
        marks -= set() if seen.machine.wsl else {"libcuda-dlopen"}
    if driver.nvml and driver.nvml.status:
        marks |= NVML_SAYS.get(driver.nvml.status, frozenset())
    elif driver.nvml and driver.nvml.status is None and driver.nvml.problem:
        marks |= {"no-driver-words", "smi-failed"}
    return frozenset(marks).union(*(SIMILAR_MARKS.get(m, ()) for m in marks))
