"""The kernel's side of the driver on Linux: modules, device nodes, Secure Boot, the kernel log, suspend."""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
import time
from typing import Any

from core.common import turns
from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.model.facts import CdiSpecification, DeviceNode, ExpectedNode, path_text
from core.probes.driver.compute_cache import group_name, owner_name
from core.probes.driver.kernel_log import kernel_log, resumed_at
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot

KERNEL_MODULES = (
    "nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia_peermem", "nouveau", "nova_core", "vfio_pci",
)  # fmt: skip

NODE_TIMEOUT_SECONDS = 4.0
"""Seconds for all device nodes; opening one wakes its GPU."""

SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
"""Four bytes of attributes, then 1 for on: UEFI specification, section on global variables."""

_GPU_MINOR = late_pattern(r"^Device Minor:\s*(\d{1,3})\s*$", re.MULTILINE)
CONTROL_MINOR = 255
"""Minor number of /dev/nvidiactl: NVIDIA driver's README, "How and why are device nodes created"."""

CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
"""Where container engines look for specifications (Container Device Interface, SPEC.md)."""
_NAMED_LIBCUDA = late_pattern(r"/libcuda\.so\.(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)\b")

NVSWITCHES = "/proc/driver/nvidia-nvswitch/devices"
FABRIC_MANAGER = ("/usr/bin/nv-fabricmanager", "/usr/sbin/nv-fabricmanager")
FABRIC_MANAGER_PID = "/run/nvidia-fabricmanager/nv-fabricmanager.pid"
"""PID file and program of nvidia-fabricmanager.service (Fabric Manager for NVIDIA NVSwitch Systems User Guide)."""

_NODE = late_pattern(r"nvidia(ctl|\d+|-uvm|-uvm-tools|-modeset)")
_RELEASE = late_pattern(r"Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)*)")


def look_at_kernel(request: ProbeRequest, where: Sysroot) -> dict[str, Any]:
    """Return the fields of Driver that exist on Linux only."""
    modules = loaded_modules(where)
    booted = boot_time(where)
    alive = not request.seen.machine.other_root  # Do not open the device nodes and log of a system that does not run.
    log = kernel_log(request, where) if alive else None
    return {
        "modules": modules,
        "module_version": module_version(modules, where),
        "nodes": device_nodes(where) if alive else None,
        "expected_nodes": expected_nodes(where),
        "cdi": cdi_specifications(where),
        "nvswitches": len(where.names(NVSWITCHES) or ()) or None,
        "fabric_manager": fabric_manager(where) if alive else None,
        "secure_boot": secure_boot(where),
        "kernel_log": log.lines if log is not None else None,
        "booted": booted,
        "resumed": resumed_at(log, booted, where, now=time.time(), asleep=seconds_asleep()) if alive else None,
    }


def loaded_modules(where: Sysroot) -> tuple[str, ...] | None:
    """Return which of MODULES are loaded; None if /proc/modules cannot be read."""
    content = where.text("/proc/modules", 1 << 20)
    if content is None:
        return None
    names = {line.split(" ", 1)[0] for line in content.splitlines()}
    return tuple(name for name in KERNEL_MODULES if name in names)


def module_version(modules: tuple[str, ...] | None, where: Sysroot) -> str | None:
    """Return the loaded NVIDIA module's version; empty if none is loaded, None if unknown."""
    version = where.text("/sys/module/nvidia/version", 128)
    if version and version.strip():
        return path_text(version.strip())
    said = _RELEASE.search(where.text("/proc/driver/nvidia/version", 4096) or "")
    if said:
        return said[1]
    return "" if modules is not None and "nvidia" not in modules else None


def device_nodes(where: Sysroot) -> tuple[DeviceNode, ...] | None:
    """Return the /dev/nvidia* nodes and whether each can be opened; None if /dev cannot be listed.

    The nodes of /dev/nvidia-caps are left out: they are the administrator's, and CUDA works without them. Nodes are
    opened in a thread: a failing GPU may never respond, and then ``opened`` stays None.
    """
    names = where.names("/dev")
    if names is None:
        return None
    paths = [f"/dev/{name}" for name in names if _NODE.fullmatch(name) or name == "dxg"]
    found: dict[str, DeviceNode] = {}

    def open_all() -> None:
        for path in paths:
            found[path] = open_device_node(path, where)

    thread = threading.Thread(target=open_all, daemon=True)
    thread.start()
    with turns.others_turn():
        thread.join(NODE_TIMEOUT_SECONDS)
    silent = DeviceNode(
        path="",
        problem=fact_text("did not answer within {NODE_PATIENCE} seconds", NODE_PATIENCE=f"{NODE_TIMEOUT_SECONDS:.0f}"),
    )
    return tuple(found.get(path) or DeviceNode(path=path, problem=silent.problem) for path in paths)


def expected_nodes(where: Sysroot) -> tuple[ExpectedNode, ...] | None:
    """Return the nodes that the loaded kernel module serves, by its own lists; None if it does not say.

    The module's main device was named nvidia-frontend before driver 550, and nvidia since.
    """
    listed = where.text("/proc/devices", 1 << 16) or ""
    majors = {m[2]: int(m[1]) for m in re.finditer(r"^\s*(\d{1,5}) (nvidia[\w-]*)$", listed, re.MULTILINE)}
    main = next((majors[n] for n in ("nvidia-frontend", "nvidia", "nvidiactl") if n in majors), None)
    if main is None:
        return None
    found = [ExpectedNode(path="/dev/nvidiactl", major=majors.get("nvidiactl", main), minor=CONTROL_MINOR)]
    if "nvidia-uvm" in majors:
        found.append(ExpectedNode(path="/dev/nvidia-uvm", major=majors["nvidia-uvm"], minor=0))
    for address in where.names("/proc/driver/nvidia/gpus") or ():
        said = _GPU_MINOR.search(where.text(f"/proc/driver/nvidia/gpus/{address}/information", 4096) or "")
        if said:
            minor = int(said[1])
            found.append(ExpectedNode(path=f"/dev/nvidia{minor}", major=main, minor=minor, gpu=path_text(address)))
    return tuple(found)


def cdi_specifications(where: Sysroot) -> tuple[CdiSpecification, ...]:
    """Return the specifications in CDI's two folders that name a libcuda, each with its version."""
    found = []
    for folder in CDI_FOLDERS:
        for name in where.names(folder) or ():
            path = where.join(folder, name)
            said = _NAMED_LIBCUDA.search(where.text(path, 1 << 20) or "") if name.endswith((".yaml", ".json")) else None
            if said:
                found.append(CdiSpecification(path=path_text(path), version=said[1]))
    return tuple(found)


def fabric_manager(where: Sysroot) -> bool | None:
    """Return whether the fabric manager runs; None if it is not installed."""
    number = whole_number((where.text(FABRIC_MANAGER_PID, 64) or "").strip())
    if number and where.exists(f"/proc/{number}"):
        return True
    return False if any(map(where.is_file, FABRIC_MANAGER)) else None


def open_device_node(path: str, where: Sysroot) -> DeviceNode:
    """Open and close one device node for reading and writing, as the driver's library does; nothing is written."""
    real = where.local_path(path)
    opened: bool | None = None
    problem = name = ""
    try:
        seen = os.stat(real)  # noqa: PTH116 - os.open needs the text, too
    except OSError as error:
        return DeviceNode(path=path, opened=False, problem=os.strerror(error.errno or 0))
    if not stat.S_ISCHR(seen.st_mode):
        return DeviceNode(path=path, mode=oct(seen.st_mode & 0o7777)[2:], problem=fact_text("is not a device"))
    try:
        os.close(os.open(real, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY))
        opened = True
    except OSError as error:
        opened, problem = False, os.strerror(error.errno or 0)
        name = errno.errorcode.get(error.errno or 0, "")
    return DeviceNode(
        path=path,
        mode=f"{seen.st_mode & 0o7777:04o}",
        owner=owner_name(seen.st_uid),
        group=group_name(seen.st_gid),
        opened=opened,
        problem=problem,
        errno=name,
        major=os.major(seen.st_rdev),
        minor=os.minor(seen.st_rdev),
    )


def secure_boot(where: Sysroot) -> bool | None:
    """Return whether Secure Boot is on. A machine not started through EFI has none; None = unknown."""
    value = where.read(SECURE_BOOT, 16)
    if value is not None and len(value) >= 5:
        return value[4] == 1
    firmware = where.names("/sys/firmware")
    if not firmware or "efi" in firmware:
        return None
    return False


def boot_time(where: Sysroot) -> float | None:
    """Return when the system started, in seconds since the epoch: btime of /proc/stat."""
    said = re.search(r"^btime (\d+)$", where.text("/proc/stat", 1 << 20) or "", re.MULTILINE)
    return float(said[1]) if said else None


def seconds_asleep() -> float | None:
    """Return how long the system has slept since it started: CLOCK_BOOTTIME includes that, CLOCK_MONOTONIC does not."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    try:
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC))
    except OSError:
        return None
