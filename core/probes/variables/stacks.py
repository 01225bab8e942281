"""Stacks of OpenMP's threads that are larger than the memory of the machine.

Measured with torch 2.6.0 on a machine of 24 GB that grants memory by its usual heuristic: 12G works, 40G ends the program ("libgomp: Thread creation
failed"). Sources: libgomp's documentation, "OMP_STACKSIZE" and "GOMP_STACKSIZE"; the kernel's, "Overcommit Accounting".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from core.common.late_pattern import late_pattern
from core.model.facts import Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot

STACKS = ("OMP_STACKSIZE", "GOMP_STACKSIZE")
READERS = late_pattern(r"torch|scikit-learn|ctranslate2|onnxruntime(-gpu)?")
"""Distributions that bring libgomp and start its threads."""
UNITS = {"b": 1, "k": 1 << 10, "": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def too_large_stacks(
    given: Mapping[str, tuple[str, ...]], request: ProbeRequest, where: Sysroot
) -> Iterator[Vocabulary]:
    """Yield the sizes that no thread can have."""
    if where.system != "linux" or not any(given.values()):
        return
    memory = sum(
        int(found[1]) << 10
        for name in ("MemTotal", "SwapTotal")
        if (found := re.search(rf"(?m)^{name}:\s+(\d+) kB", where.text("/proc/meminfo") or ""))
    )
    if not memory or (where.text("/proc/sys/vm/overcommit_memory") or "0").strip() == "1":
        return
    for name, values in given.items():
        large = [v for v in dict.fromkeys(values) if (bytes_of(v) or 0) > memory]
        for python in request.seen.pythons or () if large else ():
            if reader := next((d.name for d in python.distributions if READERS.fullmatch(d.name)), ""):
                yield Vocabulary(
                    variable=name,
                    prefix=python.prefix,
                    files=(),
                    known=(str(memory),),
                    unknown=tuple(path_text(v) for v in large),
                    takes="memory",
                    reader=reader,
                    sure=False,
                )


def bytes_of(value: str) -> int | None:
    """Return the bytes of a size such as 64M, which counts KiB without a unit; None if it is not one."""
    found = re.fullmatch(r"\s*(\d{1,12})\s*([bkmg]?)\s*", value.lower())
    return int(found[1]) * UNITS[found[2]] if found else None
