"""Rules about the driver: whether there is a GPU, whether its driver starts, and if not, why."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _, n_
from core.model.facts import Driver, Execution, Snapshot
from core.model.findings import Finding
from core.rules.driver import device_nodes, gpu_access, kernel_module, user_mode
from core.rules.driver.facts import cuda_libraries, describe_answer, driver_answers, driver_works, has_gpu_on_bus
from core.rules.wording import GOOD, NOTE, UNKNOWN, changeable_evidence, make_finding, manual_fix, observation


def gpu_presence(seen: Snapshot) -> Iterator[Finding]:
    """No GPU: one note; a working GPU: good; an unreadable bus: undecided."""
    driver = seen.driver
    if driver is None:
        return
    loose = [e for e in seen.executions if e.what == "driver" and e.account and e.changeable]
    yield from map(_changeable, loose)
    if driver_works(driver):
        if not loose:
            yield _good(driver)
        return
    there = has_gpu_on_bus(seen)
    if there or seen.machine.other_root:
        return
    broken = any(lib.problem or lib.stub for lib in cuda_libraries(driver)) or bool(driver.module_version)
    if there is None and not seen.machine.wsl and broken:
        return  # ``driver_start`` judges the driver.
    yield _unknown_gpu(seen, driver) if there is None and not seen.machine.wsl else _no_gpu(seen, driver)


def _unknown_gpu(seen: Snapshot, driver: Driver) -> Finding:
    return make_finding(
        "driver.gpu-unknown",
        UNKNOWN,
        _("Convalesce could not determine whether there is an NVIDIA GPU."),
        why=_("The list of devices could not be read, and no NVIDIA driver responded. The list of devices would tell."),
        evidence=driver_answers(driver),
        fix=manual_fix(_("Check the list of devices"), _how_to_list(seen)),
    )


def _no_gpu(seen: Snapshot, driver: Driver) -> Finding:
    where = (
        _("this {container} container", container=seen.machine.container)
        if seen.machine.container
        else _("this machine")
    )
    bus = (
        _("no NVIDIA driver library, which WSL would bring")
        if driver.pci is None
        else _("{count}, none from NVIDIA", count=len(driver.pci))
    )
    return make_finding(
        "driver.no-gpu",
        NOTE,
        _("There is no NVIDIA GPU in {where}.", where=where),
        cause="no_nvidia_gpu",
        why=_("Programs run on the processor here. Everything else was judged anyway."),
        evidence=(
            observation(_("Display devices"), bus, _("list of devices")),
            *(observation(_("Device"), f"{d.name or d.device_id} ({d.vendor_id})") for d in (driver.pci or ())[:3]),
        ),
    )


def _changeable(one: Execution) -> Finding:
    """Others can change a library of the driver that was queried: it is on a search path, so programs use it."""
    at = one.changeable
    return make_finding(
        "driver.changeable",
        NOTE,
        _("The driver's library {path} is where other users can change it.", path=one.path),
        why=_("Whoever can change a library decides what it answers, so its answers alone prove nothing."),
        evidence=changeable_evidence(at) if at else [],
        subject=one.path,
    )


def _good(driver: Driver) -> Finding:
    names = [
        _(
            "{name} (compute capability {compute_capability})",
            name=g.name,
            compute_capability=g.compute_capability or _("unknown"),
        )
        for g in driver.gpus or ()
    ]
    version = driver.version
    evidence = [observation("GPU", name, "NVML") for name in names]
    count = len(names)
    if driver.cuda is not None:
        count = driver.cuda.device_count or count
        evidence.append(
            observation(_("cuInit"), describe_answer(driver.cuda), driver.cuda.library or _("child process"))
        )
        if driver.cuda.driver_cuda:
            text = _(
                "{driver_cuda} (the driver's maximum, not an installed toolkit)", driver_cuda=driver.cuda.driver_cuda
            )
            evidence.append(observation(_("Newest CUDA that this driver runs"), text, "cuDriverGetVersion"))
    title = (
        n_(
            "The driver {version} works: {n} GPU responded.",
            "The driver {version} works: {n} GPUs responded.",
            count,
            version=version,
        )
        if version
        else n_("The driver works: {n} GPU responded.", "The driver works: {n} GPUs responded.", count)
    )
    return make_finding("driver.works", GOOD, title, evidence=evidence)


def _how_to_list(seen: Snapshot) -> str:
    if seen.machine.system == "windows":
        return _("Open the Device Manager (devmgmt.msc) and look under Display adapters.")
    return _("Run: lspci -nn | grep -i nvidia")


EXPLANATIONS = (
    user_mode.damaged_library,
    user_mode.wrong_library,
    user_mode.compatibility_library,
    user_mode.hidden_library,
    gpu_access.hidden_gpus,
    gpu_access.blamed_variable,
    user_mode.limited_addresses,
    user_mode.container_without_compute,
    user_mode.container_without_gpu,
    user_mode.wsl_library,
    user_mode.lost_gpu,
    kernel_module.other_module,
    kernel_module.memory_windows,
    kernel_module.fabric_not_ready,
    kernel_module.module_not_loaded,
    kernel_module.version_mismatch,
    user_mode.no_library,
    device_nodes.wrong_nodes,
    device_nodes.lost_devices,
    device_nodes.closed_nodes,
    gpu_access.mig_without_instance,
    kernel_module.stale_uvm,
    user_mode.unexplained_failure,
)
"""Reasons for a driver that does not start, the most certain first. Only the first that applies is reported."""


def driver_start(seen: Snapshot) -> Iterator[Finding]:
    """Why the driver does not start, if there is a GPU (or a wrong library in its driver's place)."""
    driver = seen.driver
    if driver is None or driver_works(driver):
        return
    there = has_gpu_on_bus(seen)
    explanations = (
        EXPLANATIONS if there or driver.module_version else (user_mode.damaged_library, user_mode.wrong_library)
    )
    for reason in explanations:
        found = tuple(reason(seen, driver))
        if found:
            yield from found
            return


RULES = (gpu_presence, driver_start)
