"""Facts about the GPU and its driver, in the form that the rules about them need."""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.common.i18n import N_, _, n_, translate_fact
from core.knowledge.causes import OptionalCause
from core.knowledge.releases import status_code
from core.model.facts import CudaInit, Driver, DriverLibrary, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import is_inside
from core.model.remedies import Remedy
from core.rules.counter import CounterOutcome, cuda_starts, judge_cuda
from core.rules.wording import ERROR, make_finding, observation

NVIDIA_VENDOR_ID = "10de"
"""PCI vendor id of NVIDIA."""
WSL_FOLDER = "/usr/lib/wsl/lib"
"""Folder in which WSL provides the driver's libraries of Windows (microsoft/WSL issue 8587)."""


def has_gpu_on_bus(seen: Snapshot) -> bool | None:
    """Return whether the machine has an NVIDIA GPU; None if that could not be determined."""
    driver = seen.driver
    if driver is None:
        return None
    if driver.gpus or any(d.vendor_id.lower() == NVIDIA_VENDOR_ID for d in driver.pci or ()):
        return True
    if (
        (driver.nvml and driver.nvml.device_count)
        or cuda_starts(driver.cuda_unhidden)
        or cuda_starts(driver.cuda_clean)
        or cuda_starts(driver.cuda_bare)
    ):
        return True
    if seen.machine.wsl:  # WSL has no PCI device for Windows' GPU, but provides that driver's library.
        return True if any(is_inside("linux", lib.path, WSL_FOLDER) for lib in cuda_libraries(driver)) else None
    return None if driver.pci is None else False


def driver_works(driver: Driver) -> bool:
    """Whether the driver works for at least one GPU."""
    return cuda_starts(driver.cuda)


def is_unloaded(driver: Driver) -> bool:
    """Whether no NVIDIA module is loaded, according to the kernel, or else to NVML or to a card without a driver."""
    if driver.module_version is not None:
        return not driver.module_version
    cards = [d for d in driver.pci or () if d.vendor_id.lower() == NVIDIA_VENDOR_ID]
    unheld = bool(cards) and all(d.bound_driver == "" for d in cards)
    return unheld or bool(driver.nvml and driver.nvml.status == 9)


def answer_unhidden(driver: Driver) -> CudaInit | None:
    """Return cuInit's result without the variables that hide GPUs, if it is another failure: that one has to be explained."""
    changed = judge_cuda(driver.cuda, driver.cuda_unhidden) is CounterOutcome.CHANGED
    return driver.cuda_unhidden if changed else driver.cuda


def cuda_libraries(driver: Driver) -> tuple[DriverLibrary, ...]:
    """Return the files of the driver's CUDA library."""
    return tuple(lib for lib in driver.libraries or () if re.search(r"(libcuda\.so|nvcuda\.dll)", lib.path, re.I))


def driver_answers(driver: Driver) -> list[Evidence]:
    """Return the results from the driver and the kernel, as evidence."""
    rows = []
    calls = (
        ("cuInit", driver.cuda),
        (_("cuInit without the variable"), driver.cuda_unhidden),
        (_("cuInit without LD_LIBRARY_PATH"), driver.cuda_clean),
        (_("cuInit without this session's variables"), driver.cuda_bare),
    )
    for label, cuda in calls:
        if cuda is not None:
            rows.append(observation(label, describe_answer(cuda), cuda.library or _("child process")))
    if driver.nvml is not None:
        status = _("it answered") if driver.nvml.status == 0 else f"{driver.nvml.status} {driver.nvml.status_name}"
        rows.append(observation("NVML", translate_fact(driver.nvml.problem) or status.strip(), driver.nvml.library))
    if driver.module_version is not None:
        rows.append(observation(_("Kernel module"), driver.module_version or _("not loaded"), "kernel"))
    for device in driver.pci or ():
        if device.vendor_id.lower() == NVIDIA_VENDOR_ID:
            values = {"name": device.name or device.device_id, "address": device.address, "driver": device.bound_driver}
            form = {None: N_("{name} at {address}"), "": N_("{name} at {address}, held by no driver")}.get(
                device.bound_driver, N_("{name} at {address}, held by {driver}")
            )
            rows.append(observation(_("GPU on the bus"), _(form, **values)))
    return rows


def describe_answer(cuda: CudaInit) -> str:
    """Return cuInit's result in words."""
    if cuda.status is None:
        return translate_fact(cuda.problem) or _("no answer")
    if cuda.status == 0:
        return "0" if cuda.device_count is None else "0, " + n_("{n} GPU", "{n} GPUs", cuda.device_count)
    known = status_code("cuInit", cuda.status)
    name = cuda.status_name or (known.name if known else "")
    return f"{cuda.status} {name}{': ' + _(known.meaning) if known else ''}".strip()


def driver_error(
    id: str,
    cause: OptionalCause,
    title: str,
    why: str,
    *,
    evidence: Iterable[Evidence],
    fix: Fix,
    subject: str = "",
    remedy: Remedy | None = None,
) -> Finding:
    """Return an error in the driver step."""
    return make_finding(
        id,
        ERROR,
        title,
        cause=cause,
        why=why,
        evidence=evidence,
        fix=fix,
        subject=subject,
        remedy=remedy,
    )
