"""Windows: the registry, variables, machine facts and display adapters. The only user of winreg."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
import winreg
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ctypes import wintypes
from pathlib import Path
from typing import Unpack

from core.common.fact_text import fact_text
from core.host import process
from core.host.interface import CompletedProcess, RunOptions
from core.host.linux.files import loader_architecture
from core.host.windows.environment import (
    compose_environment,
    is_display,
    pci_address,
    pci_ids,
    proxy_of_settings,
    release_name,
)
from core.host.windows.registered import SERVICES, registered_starts
from core.model.facts import Machine, PciDevice, RegisteredStart, Scope, Signature, System, Variable, path_text

assert sys.platform == "win32"  # tells mypy, too

MACHINE_KEY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
"""Where the machine's variables are (Microsoft, "Environment Variables", ProcThread)."""
USER_KEY = "Environment"
_VOLATILE_KEY = "Volatile Environment"
_INTERNET_KEY = r"Software\Microsoft\Windows\CurrentVersion\Internet Settings"
_VERSION_KEY = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"
_PCI_KEY = r"SYSTEM\CurrentControlSet\Enum\PCI"

_KINDS = {
    getattr(winreg, name): name
    for name in ("REG_SZ", "REG_EXPAND_SZ", "REG_MULTI_SZ", "REG_BINARY", "REG_DWORD", "REG_QWORD", "REG_NONE")
}

from core.host.windows.system import (  # noqa: E402 - known on Windows alone
    commit_memory,
    enabled_instructions,
    file_signature,
    listed_programs,
    long_paths_enabled,
    registered_pythons,
)

Value = tuple[str, object, int]


class WindowsHost:
    """The running Windows. ``user_key`` is a parameter for tests, below HKEY_CURRENT_USER."""

    def __init__(self, user_key: str = USER_KEY) -> None:
        self._user_key = user_key

    @property
    def system(self) -> System:
        """Always "windows"."""
        return "windows"

    @property
    def root(self) -> Path:
        """The system drive's root folder."""
        return Path(os.environ.get("SYSTEMDRIVE", "C:") + "\\")

    def machine(self) -> Machine:
        """Describe the machine from the registry and our own token. Never raises."""
        version = {n: str(v) for n, v, _ in _values(winreg.HKEY_LOCAL_MACHINE, _VERSION_KEY) or ()}
        native = {n.upper(): str(v) for n, v, _ in _values(winreg.HKEY_LOCAL_MACHINE, MACHINE_KEY) or ()}
        build = ".".join(n for n in (version.get("CurrentBuild", ""), version.get("UBR", "")) if n)
        major = version.get("CurrentMajorVersionNumber", "10"), version.get("CurrentMinorVersionNumber", "0")
        limit, left = commit_memory()
        return Machine(
            system="windows",
            release=path_text(release_name(version)),
            architecture=loader_architecture(native.get("PROCESSOR_ARCHITECTURE") or platform.machine()),
            kernel=".".join((*major, build)),
            instructions=enabled_instructions(),
            commit_limit=limit,
            commit_left=left,
            elevated=is_elevated(),
            user=path_text(os.environ.get("USERNAME", "")),
            host_name=path_text(os.environ.get("COMPUTERNAME", "")),
            home=path_text(os.environ.get("USERPROFILE", "")),
            programs=listed_programs(),
            long_paths=long_paths_enabled(),
        )

    def variables(self) -> tuple[Variable, ...]:
        """Our own environment, then the registry's: the machine's, the user's and the session's, raw."""
        ours = (Variable(name=path_text(n), value=path_text(v), source="environment") for n, v in os.environ.items())
        return (
            *ours,
            *_variables(winreg.HKEY_LOCAL_MACHINE, "HKLM", MACHINE_KEY, "machine"),
            *_variables(winreg.HKEY_CURRENT_USER, "HKCU", self._user_key, "user"),
            *_variables(winreg.HKEY_CURRENT_USER, "HKCU", _VOLATILE_KEY, "user"),
            *_own_proxy(),
        )

    def fresh_environment(self) -> dict[str, str]:
        """What a program gets that Explorer starts now: the registry's variables, the machine's before the user's."""
        return compose_environment(self.variables())

    def login_environment(self, timeout: float = 10.0) -> dict[str, str] | None:  # noqa: ARG002 - the protocol's form
        """The registry's variables: a log-in reads nothing else."""
        return self.fresh_environment()

    def pci_devices(self) -> tuple[PciDevice, ...] | None:
        """Display and 3D controllers that are present, from the registry's PCI branch; None if it cannot be read."""
        models = _subkeys(winreg.HKEY_LOCAL_MACHINE, _PCI_KEY)
        if models is None:
            return None
        found = (
            _device(model, i)
            for model in models
            for i in _subkeys(winreg.HKEY_LOCAL_MACHINE, rf"{_PCI_KEY}\{model}") or ()
        )
        return tuple(device for device in found if device is not None)

    def registered_pythons(self) -> tuple[str, ...]:
        r"""Folders listed below Software\Python, the user's before the machine's, in both views of the registry."""
        return registered_pythons()

    def registered_starts(self) -> tuple[RegisteredStart, ...]:
        """Services that are neither drivers nor disabled, and what begins with the session, the machine's before the user's."""
        roots = {"HKLM": winreg.HKEY_LOCAL_MACHINE, "HKCU": winreg.HKEY_CURRENT_USER}

        def read(root: str, key: str) -> dict[str, object]:
            return {name.lower(): data for name, data, _kind in _values(roots[root], key) or ()}

        return tuple(registered_starts(_subkeys(winreg.HKEY_LOCAL_MACHINE, SERVICES) or (), read))

    def signature(self, path: str) -> Signature:
        """Ask WinVerifyTrust; where that is inconclusive, check the file's own signed hash."""
        return file_signature(path)

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> CompletedProcess:
        """Run a program; see ``Host.run``."""
        return process.run_program(argv, **options)

    def announce_environment(self, timeout: float = 5.0) -> bool:
        """Tell all windows that variables changed (WM_SETTINGCHANGE); False if one did not answer in time (seconds).

        Only programs that listen react (Explorer, and so what it starts later); others keep their environment. The
        system's time-out applies to each window, so the call runs in a thread, and the wait covers all of them.
        """
        answered = threading.Event()

        def send() -> None:
            everybody, setting_change, abort_if_hung = 0xFFFF, 0x1A, 0x2
            user32 = ctypes.WinDLL("user32")
            call = user32.SendMessageTimeoutW
            call.argtypes = (
                *(wintypes.HWND, wintypes.UINT, wintypes.WPARAM, wintypes.LPCWSTR),
                *(wintypes.UINT, wintypes.UINT, ctypes.c_void_p),
            )
            call.restype = ctypes.c_ssize_t
            if call(everybody, setting_change, 0, "Environment", abort_if_hung, int(timeout * 1000), None):
                answered.set()

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        thread.join(timeout)
        return answered.is_set()


def _open(root: int, key: str) -> winreg.HKEYType:
    return winreg.OpenKey(root, key, 0, winreg.KEY_READ | winreg.KEY_WOW64_64KEY)


def _values(root: int, key: str) -> tuple[Value, ...] | None:
    """All values of a key: name, data, type; None if the key cannot be read."""
    try:
        with _open(root, key) as opened:
            return tuple(_registry_values(opened))
    except OSError:
        return None


def _registry_values(opened: winreg.HKEYType) -> Iterator[Value]:
    for index in range(winreg.QueryInfoKey(opened)[1]):
        with suppress(OSError):  # It was removed meanwhile.
            yield winreg.EnumValue(opened, index)


def _own_proxy() -> Iterator[Variable]:
    """Yield Windows' own setting for a proxy, where Python makes one of SOCKS of it. No program gets it as a variable."""
    values = {name: data for name, data, _kind in _values(winreg.HKEY_CURRENT_USER, _INTERNET_KEY) or ()}
    if address := proxy_of_settings(values):
        source = rf"HKCU\{_INTERNET_KEY}"
        yield Variable(name="ProxyServer", value=path_text(address), scope="login", source=source)


def _subkeys(root: int, key: str) -> tuple[str, ...] | None:
    try:
        with _open(root, key) as opened:
            return tuple(winreg.EnumKey(opened, index) for index in range(winreg.QueryInfoKey(opened)[0]))
    except OSError:
        return None


def _variables(root: int, short: str, key: str, scope: Scope) -> tuple[Variable, ...]:
    values = _values(root, key) or ()
    return tuple(
        Variable(
            name=path_text(name),
            value=path_text(data) if isinstance(data, str) else "" if data is None else repr(data),
            scope=scope,
            kind=_KINDS.get(kind, fact_text("kind {kind}", kind=kind)),
            source=rf"{short}\{key}",
        )
        for name, data, kind in values
        if name  # A key's default value is not a variable.
    )


def _device(model: str, instance: str) -> PciDevice | None:
    """One instance of a PCI device, if it is a display controller and is present."""
    key = rf"{_PCI_KEY}\{model}\{instance}"
    values = {n: v for n, v, _ in _values(winreg.HKEY_LOCAL_MACHINE, key) or ()}
    ids = [str(i) for name in ("CompatibleIDs", "HardwareID") for i in _as_list(values.get(name))]
    if not is_display(str(values.get("ClassGUID", "")), ids) or not _is_present(rf"PCI\{model}\{instance}"):
        return None
    vendor, device = pci_ids(model)
    return PciDevice(
        address=path_text(pci_address(str(values.get("LocationInformation", ""))) or instance),
        vendor_id=vendor,
        device_id=device,
        name=path_text(_readable_end(values.get("FriendlyName")) or _readable_end(values.get("DeviceDesc"))),
        bound_driver=path_text(str(values.get("Service", ""))),
        source=rf"HKLM\{key}",
    )


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _readable_end(value: object) -> str:
    """The readable end of "@file.inf,%resource%;NVIDIA GeForce RTX 4090"."""
    return str(value).rpartition(";")[2] if isinstance(value, str) else ""


def _is_present(instance_id: str) -> bool:
    """Whether the device is plugged in now: the registry remembers every one that ever was.

    CM_Locate_DevNodeW finds only present ones (CR_NO_SUCH_DEVNODE = 13 for others); with any other error the registry
    is believed.
    """
    no_such_device = 13
    try:
        call = ctypes.WinDLL("cfgmgr32").CM_Locate_DevNodeW
    except (OSError, AttributeError):
        return True
    call.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR, wintypes.ULONG)
    node = wintypes.DWORD()
    return bool(call(ctypes.byref(node), instance_id, 0) != no_such_device)


def is_elevated() -> bool | None:
    """Whether our own process has an administrator's rights; None if the system does not say."""
    try:
        return bool(ctypes.WinDLL("shell32").IsUserAnAdmin())
    except (OSError, AttributeError):
        return None
