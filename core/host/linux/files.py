"""Readers of Linux's own files and variables below a root folder. They can be tested on any system, and never raise."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from core.common.late_pattern import late_pattern
from core.common.patience import call_patiently
from core.model.facts import PciDevice, Scope, Variable, path_text

_MOST = 1 << 20
"""Maximum number of bytes read of a small system file."""


class Root(Protocol):
    """What takes the place of "/": a folder, or the root of a system that is not running, whose links stay inside it."""

    def __truediv__(self, name: str, /) -> Path:
        """Return the path of something below it."""
        ...


def read_small(path: Path) -> str | None:
    """Return a regular file's first MiB as printable text; None if there is none or it cannot be read."""
    data = read_start(path, _MOST)
    return None if data is None else path_text(data)


def read_start(path: Path, most: int) -> bytes | None:
    """Return a regular file's first bytes; None if there is none or it cannot be read. Never blocks on a pipe."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = call_patiently(os.open, os.fspath(path), flags)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        chunks, left = [], most
        while left > 0 and (chunk := os.read(descriptor, left)):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def parse_assignments(content: str) -> list[tuple[str, str]]:
    """Return NAME=value lines without their quotes, as os-release(5), environment.d(5) and pam_env(8) write them."""
    found = []
    for line in content.splitlines():
        match = re.match(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)$", line, re.ASCII)
        if match:
            value = match[2].strip()
            if len(value) >= 2 and value[0] in "\"'" and value[-1] == value[0]:
                value = value[1:-1]
            found.append((match[1], value))
    return found


def pam_assignments(content: str) -> list[tuple[str, str]]:
    """Return the "NAME DEFAULT=value OVERRIDE=value" lines of a pam_env.conf(5); a non-empty OVERRIDE wins."""
    found = []
    for line in content.splitlines():
        match = re.match(r"\s*([A-Za-z_]\w*)\s++(.*\b(?:DEFAULT|OVERRIDE)=.*)$", line, re.ASCII)
        if match:
            parts = dict(re.findall(r"(DEFAULT|OVERRIDE)=(\"[^\"]*\"|\S*)", match[2]))
            value = parts.get("OVERRIDE", "").strip('"') or parts.get("DEFAULT", "").strip('"')
            found.append((match[1], value))
    return found


def environment_file(path: Path, scope: Scope) -> list[Variable]:
    """Return the variables that a file such as /etc/environment sets, raw; empty if there is no such file."""
    content = read_small(path)
    if content is None:
        return []
    pairs = parse_assignments(content) + (pam_assignments(content) if path.name == ".pam_environment" else [])
    return [Variable(name=n, value=v, scope=scope, source=path_text(path)) for n, v in pairs]


def session_variables(root: Root, home: str) -> tuple[Variable, ...]:
    """Return the variables that files set in every session (pam_env(8), environment.d(5)); without ``home``, those for all users."""
    found = environment_file(root / "etc/environment", "machine")
    if not home:
        return tuple(found)
    found += environment_file(root / f"{home}/.pam_environment".lstrip("/"), "user")
    folder = f"{home}/.config/environment.d".lstrip("/")
    try:
        names = sorted(f.name for f in (root / folder).iterdir() if f.suffix == ".conf")
    except OSError:
        names = []
    return (*found, *(v for n in names for v in environment_file(root / f"{folder}/{n}", "user")))


def os_release(root: Root) -> str:
    """Return the distribution's name (os-release(5), PRETTY_NAME); empty if unknown."""
    for name in ("etc/os-release", "usr/lib/os-release"):
        content = read_small(root / name)
        if content is not None:
            values = dict(parse_assignments(content))
            words = (values.get("NAME", "Linux"), values.get("VERSION_ID", ""))
            return values.get("PRETTY_NAME") or " ".join(w for w in words if w)
    return ""


ASKED_FOR = ("sse4_1", "sse4_2", "avx", "avx2", "fma")
"""x86-64 instruction sets that builds of frameworks need, in the kernel's names."""


def processor_instructions(root: Root) -> tuple[str, ...] | None:
    """Return which of ``ASKED_FOR`` the processor has, according to the kernel; None on other architectures."""
    start = read_start(root / "proc/cpuinfo", 1 << 14)
    found = re.search(r"(?m)^flags\s*:(.*)\n", (start or b"").decode("ascii", "replace"))
    if found is None:
        return None
    there = set(found[1].split())
    return tuple(name for name in ASKED_FOR if name in there)


_L4T = re.compile(r"#\s*R(\d{1,3})\s*\(release\),\s*REVISION:\s*(\d{1,3}(?:\.\d{1,3}){0,2})")
_TEGRA = late_pattern(r"nvidia,(tegra\d{2,4})")


def tegra_of(root: Root) -> str:
    """Return the Jetson or other Tegra system: "L4T 36.4.0" from /etc/nv_tegra_release, else the chip from the device
    tree; else empty.

    Servers with NVIDIA's processors (Grace) have neither: they use the ordinary driver.
    """
    told = _L4T.search(read_small(root / "etc/nv_tegra_release") or "")
    if told:
        return f"L4T {told[1]}.{told[2]}"
    chip = _TEGRA.search(read_small(root / "proc/device-tree/compatible") or "")
    return chip[1] if chip else ""


def is_wsl(root: Root) -> bool:
    """Whether this is the Windows Subsystem for Linux: its kernel names Microsoft in /proc/version."""
    return "microsoft" in (read_small(root / "proc/version") or "").lower()


_CGROUPS = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("lxc", "lxc"),
    ("containerd", "containerd"),
)


def container_of(root: Root, environ: Mapping[bytes, bytes]) -> str | None:
    """Return the type of container, or None if none was recognised.

    Indications: KUBERNETES_SERVICE_HOST, /.dockerenv, Podman's /run/.containerenv, Apptainer's variable, systemd's
    /run/systemd/container and "container" variable, and the names in the first process' control groups.
    """
    if environ.get(b"KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    for name, kind in ((".dockerenv", "docker"), ("run/.containerenv", "podman")):
        if os.path.lexists(root / name):
            return kind
    for variable in (b"APPTAINER_CONTAINER", b"SINGULARITY_CONTAINER"):
        if environ.get(variable):
            return "apptainer"
    named = (read_small(root / "run/systemd/container") or path_text(environ.get(b"container", b""))).strip()
    if named and named != "wsl":
        return {"oci": "container"}.get(named, named)
    groups = read_small(root / "proc/1/cgroup") or ""
    return next((kind for mark, kind in _CGROUPS if mark in groups), None)


def pci_devices(root: Root) -> tuple[PciDevice, ...] | None:
    """Return the display controllers (class 0x03....) of /sys/bus/pci/devices; None if they cannot be listed."""
    folder = root / "sys/bus/pci/devices"
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return None
    devices = []
    for device in found:
        its = f"sys/bus/pci/devices/{device.name}"
        if (read_small(root / f"{its}/class") or "").strip().startswith("0x03"):
            devices.append(
                PciDevice(
                    address=path_text(device.name),
                    vendor_id=_hex(read_small(root / f"{its}/vendor")),
                    device_id=_hex(read_small(root / f"{its}/device")),
                    bound_driver=_bound_driver(root / its),
                    source=path_text(device),
                )
            )
    return tuple(devices)


def _hex(content: str | None) -> str:
    return (content or "").strip().removeprefix("0x").lower()


def _bound_driver(device: Path) -> str | None:
    """Return the name of the driver bound to a device; empty if none is, None if that cannot be read."""
    try:
        return path_text((device / "driver").readlink().name)
    except FileNotFoundError:
        return ""
    except OSError:
        return None


_FROZEN = (b"_PYI_", b"_MEIPASS2")


def without_bundle_variables(environ: Mapping[bytes, bytes], frozen: bool | None = None) -> dict[bytes, bytes]:
    """Return the environment without PyInstaller's changes: LD_LIBRARY_PATH and its own variables.

    PyInstaller's manual, "LD_LIBRARY_PATH / LIBPATH considerations": the original value is in LD_LIBRARY_PATH_ORIG,
    which is absent if the variable was not set.
    """
    if frozen is None:
        frozen = bool(getattr(sys, "frozen", False))
    kept = {n: v for n, v in environ.items() if n and not n.startswith(_FROZEN)}
    if not frozen:
        return kept
    original = kept.pop(b"LD_LIBRARY_PATH_ORIG", None)
    kept.pop(b"LD_LIBRARY_PATH", None)
    if original is not None:
        kept[b"LD_LIBRARY_PATH"] = original
    return kept


_LOGIN_GIVES = ("HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY")


SHELLS_OWN = ("_", "SHLVL", "PWD", "OLDPWD")
"""Variables that a shell sets for itself."""


def variables_in(text: str, end: str = "\0") -> dict[str, str]:
    """Return the variables of a text such as ``env -0`` prints and /proc/PID/environ has; ``end``: what ends each."""
    return dict(part.partition("=")[::2] for part in text.split(end) if "=" in part)


def login_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a log-in itself provides, before any start-up file runs (login(1))."""
    bare = {n: environment[n] for n in _LOGIN_GIVES if n in environment}
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **bare}


def loader_architecture(machine: str) -> str:
    """Return uname's machine in the loader's terms: x86_64, aarch64, x86."""
    return {"amd64": "x86_64", "arm64": "aarch64", "i386": "x86", "i586": "x86", "i686": "x86"}.get(
        machine.lower(), machine.lower()
    )
