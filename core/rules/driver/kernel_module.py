"""Why the GPU's driver does not start, in the kernel: one function for each reason, which yields at most one finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from core.common.i18n import N_, _
from core.common.late_pattern import late_pattern
from core.common.versions import versions_differ
from core.model.facts import Driver, Snapshot
from core.model.findings import Evidence, Finding
from core.model.remedies import UseSystemTool
from core.rules.driver.facts import (
    NVIDIA_VENDOR_ID,
    answer_unhidden,
    cuda_libraries,
    driver_answers,
    driver_error,
    has_gpu_on_bus,
    is_unloaded,
)
from core.rules.guides import numbered_steps
from core.rules.wording import manual_fix, observation

REFUSED_MODULE = late_pattern(
    r"key was rejected|loading of unsigned module is rejected|required key not available|lockdown", re.I
)
"""Messages of Linux kernels when Secure Boot rejects a module."""


LOADED_MODULE = late_pattern(r"NVRM: loading NVIDIA")
"""The module logs this whenever it is loaded; messages of an earlier one no longer count."""
OPEN_WANTED = late_pattern(r"requires use of the NVIDIA open kernel modules", re.I)
LEGACY_DRIVER = late_pattern(r"supported through the NVIDIA ([\w.-]+) Legacy drivers", re.I)
TOO_OLD = late_pattern(
    r"is not supported by open nvidia\.ko|is not supported by the (?:NVIDIA )?[\d.]* ?(?:NVIDIA )?driver release", re.I
)
"""Messages with which NVIDIA's module rejects a GPU (kernel-open/nvidia/nv-pci.c in NVIDIA/open-gpu-kernel-modules, and
its closed counterpart).
"""


def other_module(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The kernel module reports that this GPU needs another one: the open module, or an older branch."""
    lines = [line for line in driver.kernel_log or () if "NVRM" in line]
    start = max((n for n, line in enumerate(lines) if LOADED_MODULE.search(line)), default=0)
    lines = lines[start:]
    # The message is one record of several lines and has several forms: join the lines without their prefixes.
    said = " ".join(" ".join(re.split(r"(?:\\x0a|^)\s*+(?:\[[^\]]{0,40}\]\s*+)?NVRM:\s*", line)) for line in lines)
    said = " ".join(said.split())
    branch = driver.module_version or (driver.nvml.driver_version if driver.nvml else None) or ""
    rows = [observation(_("Kernel log"), line.strip(), "kernel") for line in lines if not LOADED_MODULE.search(line)][
        :6
    ]
    evidence = [*rows, *driver_answers(driver)]
    legacy = LEGACY_DRIVER.search(said)
    if OPEN_WANTED.search(said):
        yield _open_module_required(branch, evidence)
    elif legacy or TOO_OLD.search(said):
        yield _legacy_driver_required(legacy[1] if legacy else "", evidence)


def _open_module_required(branch: str, evidence: list[Evidence]) -> Finding:
    return driver_error(
        "driver.open-module-required",
        "open_kernel_module_required",
        _("This GPU needs NVIDIA's open kernel module, but the proprietary one is installed."),
        _(
            "The loaded module says so in the kernel log, and ignores the GPU. The version of the driver does not matter."
        ),
        evidence=evidence,
        fix=manual_fix(
            _("Install the same driver with its open kernel module"),
            _("Ubuntu: sudo apt install nvidia-driver-{branch}-open", branch=branch.partition(".")[0])
            if branch
            else _("Ubuntu: take the driver whose name ends with -open."),
            _("From NVIDIA's package repository: sudo apt install nvidia-open (or: sudo dnf install nvidia-open)"),
            _("When NVIDIA's installer asks for the type of kernel module, choose MIT/GPL."),
            restart="computer",
        ),
    )


def _legacy_driver_required(branch: str, evidence: list[Evidence]) -> Finding:
    return driver_error(
        "driver.legacy-driver-required",
        "legacy_driver_required",
        _("This GPU is too old for the installed driver: it needs NVIDIA's branch {branch}.", branch=branch)
        if branch
        else _("This GPU is too old for the installed driver's kernel module."),
        _("The loaded module says so in the kernel log, and ignores the GPU."),
        evidence=evidence,
        fix=manual_fix(
            _("Install the driver that still supports this GPU"),
            _("Get the branch {branch} from your distribution, or from www.nvidia.com/drivers.", branch=branch)
            if branch
            else _(
                "Select this GPU on www.nvidia.com/drivers, and choose a driver with the proprietary kernel module."
            ),
            _("Then choose builds of your frameworks for a CUDA that this driver runs."),
            restart="computer",
        ),
    )


NO_MEMORY_WINDOW = late_pattern(r"PCI I/O region assigned to your NVIDIA device is invalid|BAR\d is 0M @ 0x0", re.I)
"""The module's messages that the firmware assigned no memory window to a card (kernel-open/nvidia/nv-pci.c)."""


def memory_windows(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The kernel module reports that the firmware assigned no memory windows (BARs) to the GPU."""
    lines = driver.kernel_log or ()
    start = max((n for n, line in enumerate(lines) if LOADED_MODULE.search(line)), default=0)
    told = [line for line in lines[start:] if NO_MEMORY_WINDOW.search(line)]
    if not told:
        return
    yield driver_error(
        "driver.no-memory-window",
        "pci_memory_unassigned",
        _("The firmware assigned this GPU no memory windows, so its driver cannot start it."),
        _("The loaded module says so in the kernel log. The driver itself needs no repair."),
        evidence=[
            *(observation(_("Kernel log"), line.strip(), "kernel") for line in told[:4]),
            *driver_answers(driver),
        ],
        fix=manual_fix(
            _("Let the firmware assign the GPU's memory"),
            *numbered_steps("firmware", seen),
            _("See the windows: sudo lspci -vv -d 10de: | grep -i -e region -e memory"),
            _(
                'In the firmware\'s setup, turn on "Above 4G Decoding" and turn off CSM; update a firmware that lacks it.'
            ),
            _("In a virtual machine, use UEFI firmware and a larger 64-bit window."),
            _("If none of this helps, add pci=realloc to the kernel's command line."),
            _("It worked if nvidia-smi lists the card."),
            restart="computer",
        ),
    )


SYSTEM_NOT_READY = 802
"""CUDA_ERROR_SYSTEM_NOT_READY (cuda.h)."""
SWITCHED = late_pattern(r"\bSXM\d?\b|\bHBM3|\bH[128]00\b(?!.*PCIe)|\bB[123]00\b|\bH20\b|\bGB\d{3}\b")
"""Names of GPUs on boards with NVSwitch."""


def fabric_not_ready(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """CUDA waits for the GPU fabric, whose service does not run."""
    answer = answer_unhidden(driver)
    if answer is None or answer.status != SYSTEM_NOT_READY or driver.fabric_manager:
        return
    gpus = driver.gpus or ()
    if not driver.nvswitches and not any(SWITCHED.search(g.name) for g in gpus):
        return
    branch = driver.version.split(".", maxsplit=1)[0]
    yield driver_error(
        "driver.fabric-not-ready",
        "fabric_manager_not_running",
        _("CUDA waits for the switches between the GPUs: the fabric manager does not run."),
        _(
            "The GPUs of this machine are connected by NVSwitch. CUDA starts only after NVIDIA's fabric manager, of exactly "
            "the driver's version, has set the switches up."
        ),
        evidence=[
            *([observation("NVSwitch", driver.nvswitches, "kernel")] if driver.nvswitches else []),
            *(observation("GPU", g.name, g.source) for g in gpus[:1]),
            observation(
                _("Fabric manager"),
                _("installed, and not running") if driver.fabric_manager is False else _("not found"),
            ),
            *driver_answers(driver),
        ],
        fix=manual_fix(
            _("Start the fabric manager"),
            ""
            if driver.fabric_manager is False
            else _(
                "Install the version of exactly your driver: sudo apt install nvidia-fabricmanager-{branch}",
                branch=branch or "570",
            ),
            "sudo systemctl enable --now nvidia-fabricmanager",
            _("In a virtual machine, its host may run it instead: ask who manages it."),
            _('It worked if this shows Completed: nvidia-smi -q | grep -A2 "Fabric"'),
        ),
    )


def module_not_loaded(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The kernel module is not loaded, or another driver holds the GPU."""
    if not has_gpu_on_bus(seen) or seen.machine.wsl:
        return
    cards = [d for d in driver.pci or () if d.vendor_id.lower() == NVIDIA_VENDOR_ID]
    other = next(
        (d.bound_driver for d in cards if d.bound_driver and not d.bound_driver.lower().startswith("nv")), None
    )
    windows = seen.machine.system == "windows"
    missing = driver.libraries == () if windows else is_unloaded(driver)
    uvm = driver.modules is not None and "nvidia" in driver.modules and "nvidia_uvm" not in driver.modules
    cuda = answer_unhidden(driver)
    if not missing and not (other and not driver.gpus) and not (uvm and cuda and cuda.status):
        return
    installed = bool(cuda_libraries(driver))
    evidence = driver_answers(driver)
    if driver.secure_boot is not None:
        evidence.append(observation(_("Secure Boot"), _("on") if driver.secure_boot else _("off"), N_("firmware")))
    refused = [line for line in driver.kernel_log or () if REFUSED_MODULE.search(line)]
    if missing and driver.secure_boot and refused:
        yield _secure_boot(seen, evidence + [observation(_("Kernel log"), line, "kernel") for line in refused])
        return
    title, steps = _why_not_loaded(seen, driver, other, missing=missing, installed=installed)
    yield driver_error(
        "driver.module-not-loaded",
        "driver_module_not_loaded",
        title,
        _(
            "Without the kernel part of the driver, no program reaches the GPU. CUDA and cuDNN cannot work "
            "before it does."
        ),
        evidence=evidence,
        fix=manual_fix(_("Get the GPU's driver running"), *steps, restart="computer"),
        remedy=UseSystemTool(kind="nouveau-off")
        if other == "nouveau" and installed and not seen.machine.container
        else None,
    )


def _why_not_loaded(
    seen: Snapshot, driver: Driver, other: str | None, *, missing: bool, installed: bool
) -> tuple[str, Sequence[str]]:
    """Return what holds the driver back, and the steps that get it running."""
    if seen.machine.system == "windows":
        return _("The NVIDIA GPU has no NVIDIA driver."), [_(_WINDOWS_DRIVER)]
    if other:
        steps = _other_driver(other, seen.machine.release if installed else "")
        return _("The driver {other} holds the GPU, so NVIDIA's driver cannot.", other=other), steps
    if not missing:
        title = _("The kernel module nvidia_uvm, which CUDA needs, is not loaded.")
        return title, ["sudo modprobe nvidia_uvm", _("If that fails, restart the computer.")]
    if installed:
        return _("The NVIDIA kernel module is not loaded."), _module_steps(driver)
    own = _(
        "Install the driver that your distribution offers (Ubuntu: sudo ubuntu-drivers install; Debian: sudo apt install nvidia-driver)."
    )
    return _("The NVIDIA GPU has no NVIDIA driver."), numbered_steps("driver", seen) or [own]


_WINDOWS_DRIVER = N_("Install the driver for this GPU from www.nvidia.com/drivers, then restart the computer.")


INITRAMFS = (
    (("debian", "ubuntu", "mint", "pop!"), "sudo update-initramfs -u"),
    (("fedora", "red hat", "rocky", "alma", "centos", "suse"), "sudo dracut --force"),
    (("arch", "manjaro"), "sudo mkinitcpio -P"),
)
"""Words of a distribution's name -> the command that rebuilds the initramfs, from which nouveau is loaded."""


def _other_driver(other: str, release: str) -> list[str]:
    if other == "vfio-pci":
        return [_("The GPU is reserved for a virtual machine (vfio-pci). Undo that if this system is to use it.")]
    if other == "nouveau" and release:
        command = next((c for words, c in INITRAMFS if any(w in release.lower() for w in words)), "")
        return [
            _(
                "NVIDIA's driver is installed. Keep nouveau from loading, with these two lines in /etc/modprobe.d/nouveau.conf:"
            ),
            "blacklist nouveau",
            "options nouveau modeset=0",
            _("Then rebuild the initial RAM file system (initramfs): {command}", command=command) if command else "",
            _("Restart the computer, and check: lsmod | grep nouveau prints nothing."),
        ]
    return [
        _("Install NVIDIA's driver for your distribution; it disables {other}. Then restart the computer.", other=other)
    ]


def _module_steps(driver: Driver) -> list[str]:
    steps = ["sudo modprobe nvidia", _("If that fails, the message says why; see also: sudo dmesg | grep -i nvidia")]
    if driver.secure_boot and driver.kernel_log is None:
        steps.append(
            _("Secure Boot is on: 'Key was rejected by service' in that log means that it rejects the module.")
        )
    steps.append(_("After a kernel update, reinstall the headers of the running kernel and the driver."))
    return steps


def _secure_boot(seen: Snapshot, evidence: list[Evidence]) -> Finding:
    return driver_error(
        "driver.secure-boot",
        "secure_boot_blocks_module",
        _("Secure Boot rejects the NVIDIA kernel module."),
        _("The module is not signed with a key that this computer trusts, so the kernel did not load it."),
        evidence=evidence,
        fix=manual_fix(
            _("Have the module signed with a trusted key"),
            *(
                numbered_steps("secure-boot", seen)
                or [
                    _(
                        "Enroll your machine's own key: sudo mokutil --import /var/lib/dkms/mok.pub (Ubuntu: "
                        "/var/lib/shim-signed/mok/MOK.der)"
                    )
                ]
            ),
            _("Restart, choose Enroll MOK in the blue screen, and enter the password that you set."),
            _("Or use your distribution's signed driver package, or turn Secure Boot off in the firmware."),
            restart="computer",
        ),
    )


def version_mismatch(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The kernel module and the driver's libraries have different versions."""
    nvml = driver.nvml.status if driver.nvml else None
    answer = answer_unhidden(driver)
    cuda = answer.status if answer else None
    used = answer.library if answer else ""
    libraries = [
        lib
        for lib in driver.libraries or ()
        if lib.version
        and ("libcuda.so" in lib.path or "libnvidia-ml.so" in lib.path)
        and not lib.stub
        and versions_differ(lib.version, driver.module_version)
        and "compat" not in lib.path
    ]
    if used:
        libraries = [lib for lib in libraries if used in (lib.path, lib.real_path)] or libraries
    told = nvml == 18 or cuda == 803
    if not told and (not libraries or cuda == 0 or nvml == 0 or cuda is None):
        return
    rows = [
        observation(_("Driver library"), _("{path} is {version}", path=lib.path, version=lib.version), lib.source)
        for lib in libraries
    ]
    inside_container = bool(seen.machine.container)
    steps = (
        [_("Remove the driver packages (libnvidia-*, libcuda1) inside the container: the host passes its own in.")]
        if inside_container
        else [
            _("Restart the computer: the new kernel module is then loaded."),
            _("If it persists, reinstall the driver."),
        ]
    )
    yield driver_error(
        "driver.library-mismatch",
        "driver_library_mismatch",
        _("The GPU driver's two halves have different versions."),
        _(
            "The kernel module and the libraries of a driver must have the same version. This is usual after "
            "an update until you restart the computer."
        ),
        evidence=rows + driver_answers(driver),
        fix=manual_fix(
            _("Bring both halves to the same version"), *steps, restart="" if inside_container else "computer"
        ),
    )


def stale_uvm(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """After a suspend, NVML works and cuInit does not."""
    cuda = answer_unhidden(driver)
    if not (cuda and cuda.status in (3, 999) and driver.nvml and driver.nvml.status == 0):
        return
    if driver.modules is not None and "nvidia_uvm" not in driver.modules:
        return
    if not driver.resumed or (driver.booted is not None and driver.resumed <= driver.booted):
        return
    yield driver_error(
        "driver.stale-after-suspend",
        "uvm_stale_after_suspend",
        _("CUDA has not started since the computer was suspended."),
        _(
            "The GPU responds, but CUDA's memory module (nvidia_uvm) did not survive the suspend. Reload it "
            "to fix that."
        ),
        evidence=[
            *driver_answers(driver),
            observation(_("Last resume"), _("after the last start of the computer"), "kernel"),
        ],
        fix=manual_fix(
            _("Reload the module"),
            _("Close all programs that use the GPU."),
            "sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm",
            _("If that is refused, restart the computer."),
        ),
        remedy=None if seen.machine.container else UseSystemTool(kind="reload-uvm"),
    )
