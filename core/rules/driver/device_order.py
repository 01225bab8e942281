"""The GPUs that a program gets, in the order of CUDA: the first is the one that a program uses that names none.

Source: CUDA C++ Programming Guide, "CUDA Environment Variables": CUDA_VISIBLE_DEVICES, and CUDA_DEVICE_ORDER, which is FASTEST_FIRST
unless it is set.
"""

from __future__ import annotations

import re

from core.common.i18n import _
from core.model.facts import Gpu, Snapshot
from core.model.findings import Fix
from core.rules.snapshot_queries import capability_number, effective_variable
from core.rules.wording import manual_fix


def hides_all(value: str, count: int | None) -> bool | None:
    """Whether this CUDA_VISIBLE_DEVICES hides every GPU; None where that depends on what is not known.

    The driver takes numbers up to the first that does not exist, and no GPU at all if one of them comes twice. What begins
    with neither a number nor GPU- or MIG- is no GPU: an empty value, -1, quotes, "cuda:0" (driver 580.159.04).
    """
    numbers = _numbers(value, count)
    if len(set(numbers)) < len(numbers):
        return True
    if numbers:
        return None if count is None else False
    first = value.partition(",")[0].strip()
    return None if first.startswith(("GPU-", "MIG-", "0x")) else True


def _numbers(value: str, count: int | None) -> list[int]:
    """Return the numbers of a CUDA_VISIBLE_DEVICES, up to the first word that is none or that no GPU has."""
    numbers: list[int] = []
    for word in value.split(","):
        number = re.match(r"\s*\+?([0-9]{1,9})(?![0-9x])", word)
        if number is None or (count is not None and int(number[1]) >= count):
            break
        numbers.append(int(number[1]))
    return numbers


def ends_early(value: str, count: int) -> bool:
    """Whether CUDA gives a program some GPUs of this CUDA_VISIBLE_DEVICES, and stops before a word that names one more.

    "0 1" and "0;1" are the first GPU alone, as "0,5" is where there are two (driver 580.159.04).
    """
    words = re.findall(r"[^\s,;]+", value)
    return 0 < len(_numbers(value, count)) < len(words)


def visible_gpus(seen: Snapshot) -> tuple[Gpu, ...]:
    """Return the GPUs that programs get, as CUDA counts them; all of them where a variable hides every one, or where one is divided."""
    gpus = _in_order(seen)
    value = effective_variable(seen, "CUDA_VISIBLE_DEVICES")
    if value is None or any(g.mig for g in gpus):
        return gpus
    words = [w.strip() for w in value.value.split(",")]
    if words[0].startswith("GPU-"):
        chosen = [g for w in words for g in gpus if g.uuid and g.uuid.startswith(w)]
    else:
        chosen = [] if hides_all(value.value, len(gpus)) else [gpus[n] for n in _numbers(value.value, len(gpus))]
    return tuple(chosen) or gpus


def _in_order(seen: Snapshot) -> tuple[Gpu, ...]:
    """Return all GPUs in the order of CUDA; where cuInit did not tell the fastest, the newer generation counts as faster."""
    driver = seen.driver
    gpus = (driver.gpus or ()) if driver else ()
    said = effective_variable(seen, "CUDA_DEVICE_ORDER")
    if said is not None and said.value.strip() == "PCI_BUS_ID":
        return tuple(sorted(gpus, key=lambda g: (g.pci.lower(), g.index)))
    order = (driver.cuda_order if driver else None) or ()
    if order:
        return tuple(sorted(gpus, key=lambda g: order.index(g.index) if g.index in order else len(order)))
    return tuple(sorted(gpus, key=lambda g: -(capability_number(g.compute_capability) or 0)))


def use_alone(fit: list[Gpu], seen: Snapshot) -> Fix:
    """Return how to have programs use these GPUs alone."""
    gpus = _in_order(seen)
    value = ",".join(g.uuid if all(one.uuid for one in fit) else str(gpus.index(g)) for g in fit)
    windows = seen.machine.system == "windows"
    return manual_fix(
        _("Exclude the other GPU"),
        f"set CUDA_VISIBLE_DEVICES={value}" if windows else f"export CUDA_VISIBLE_DEVICES={value}",
        _("Programs that are started from this terminal then get no other GPU."),
        restart="program",
    )
