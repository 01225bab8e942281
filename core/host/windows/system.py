"""Windows' own records: registered Pythons (PEP 514), installed programs, long paths, a file's signature."""

from __future__ import annotations

import ctypes
import ntpath
import re
import sys
import winreg
from collections.abc import Iterator
from contextlib import suppress
from ctypes import wintypes

from core.common.late_pattern import late_pattern
from core.model.facts import Program, Signature, path_text

assert sys.platform == "win32"  # tells mypy, too

REGISTRY_ROOTS = (winreg.HKEY_CURRENT_USER, winreg.HKEY_LOCAL_MACHINE)
REGISTRY_VIEWS = (winreg.KEY_WOW64_64KEY, winreg.KEY_WOW64_32KEY)
APP_PATHS_KEY = r"SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths"
UNINSTALL_KEY = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Uninstall"
MAX_KEYS = 4096
WANTED_PROGRAMS = late_pattern(r"nvidia|cudnn|visual c\+\+ .*redistributable", re.IGNORECASE)


def registered_pythons() -> tuple[str, ...]:
    r"""Return the folders of all Pythons that installers registered: Software\Python\COMPANY\TAG\InstallPath (PEP 514).

    And those that a shell starts by the bare name: App Paths\python.exe (Microsoft, "Application Registration").
    """
    found: dict[str, None] = {}
    for root in REGISTRY_ROOTS:
        for view in REGISTRY_VIEWS:
            for company in _keys(root, r"SOFTWARE\Python", view):
                if company.lower() == "pylauncher":  # PEP 514 reserves this name; it is not a distributor.
                    continue
                for tag in _keys(root, rf"SOFTWARE\Python\{company}", view):
                    folder = _registry_text(root, rf"SOFTWARE\Python\{company}\{tag}\InstallPath", "", view)
                    if folder:
                        found.setdefault(folder.rstrip("\\"))
            for name in ("python.exe", "python3.exe"):
                program = _registry_text(root, rf"{APP_PATHS_KEY}\{name}", "", view).strip().strip('"')
                if ntpath.isabs(program):
                    found.setdefault(ntpath.dirname(ntpath.normpath(program)))
    return tuple(found)


def listed_programs() -> tuple[Program, ...]:
    """Return NVIDIA's installed programs and Microsoft's C++ runtimes, as Windows' list of apps has them, sorted."""
    found: dict[tuple[str, str, str], None] = {}
    for root in REGISTRY_ROOTS:
        for view in REGISTRY_VIEWS:
            for key in _keys(root, UNINSTALL_KEY, view):
                names = ("DisplayName", "DisplayVersion", "Publisher")
                name = _registry_text(root, rf"{UNINSTALL_KEY}\{key}", names[0], view)
                version, publisher = (_registry_text(root, rf"{UNINSTALL_KEY}\{key}", n, view) for n in names[1:])
                if name and WANTED_PROGRAMS.search(f"{name} {publisher}"):
                    found.setdefault((path_text(name), path_text(version), path_text(publisher)))
    return tuple(Program(name=n, version=v, publisher=p) for n, v, p in sorted(found))


def windows_display_language() -> str:
    """Return Windows' display language, "de-DE"; empty if it does not say."""
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    name = ctypes.create_unicode_buffer(85)  # LOCALE_NAME_MAX_LENGTH
    kernel32.LCIDToLocaleName(kernel32.GetUserDefaultUILanguage(), name, len(name), 0)
    return name.value


def long_paths_enabled() -> bool | None:
    """Whether programs that support it may use paths of more than 260 characters without a prefix; None if unknown."""
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Control\FileSystem") as key:
            return bool(winreg.QueryValueEx(key, "LongPathsEnabled")[0])
    except FileNotFoundError:
        return False  # older than Windows 10's anniversary update, or never set
    except OSError:
        return None


PROCESSOR_FEATURES = {"sse4_1": 37, "sse4_2": 38, "avx": 39, "avx2": 40}
"""PF_*_INSTRUCTIONS_AVAILABLE of winnt.h. Windows before 10 2004 does not know these numbers, and says no to all."""
SSSE3 = 36
"""PF_SSSE3_INSTRUCTIONS_AVAILABLE: every x86-64 processor since 2011 has it, so a no means that Windows cannot tell."""


def enabled_instructions() -> tuple[str, ...] | None:
    """Return the instruction sets that the processor has and Windows allows programs to use; None if Windows cannot tell."""
    present = ctypes.WinDLL("kernel32").IsProcessorFeaturePresent
    if not present(SSSE3):
        return None
    return tuple(name for name, number in PROCESSOR_FEATURES.items() if present(number))


class _Memory(ctypes.Structure):
    _fields_ = (
        ("length", wintypes.DWORD),
        ("load", wintypes.DWORD),
        *((name, ctypes.c_uint64) for name in ("total", "free", "limit", "left", "space", "unused", "extended")),
    )


def commit_memory() -> tuple[int, int] | tuple[None, None]:
    """Return Windows' commit limit (memory and page file) and what is left of it, in bytes."""
    memory = _Memory(length=ctypes.sizeof(_Memory))
    if not ctypes.WinDLL("kernel32").GlobalMemoryStatusEx(ctypes.byref(memory)):
        return None, None
    return memory.limit, memory.left


def machine_values(path: str) -> dict[str, object]:
    """Return the values of a key of HKEY_LOCAL_MACHINE by name; empty if there is no such key."""
    found: dict[str, object] = {}
    with suppress(OSError), winreg.OpenKey(REGISTRY_ROOTS[1], path, 0, winreg.KEY_READ | REGISTRY_VIEWS[0]) as key:
        for index in range(winreg.QueryInfoKey(key)[1]):
            name, value, _kind = winreg.EnumValue(key, index)
            found[name] = value
    return found


def _keys(root: int, path: str, view: int) -> Iterator[str]:
    try:
        with winreg.OpenKey(root, path, 0, winreg.KEY_READ | view) as key:
            for index in range(min(winreg.QueryInfoKey(key)[0], MAX_KEYS)):
                with suppress(OSError):  # It was removed meanwhile.
                    yield winreg.EnumKey(key, index)
    except OSError:
        return


def _registry_text(root: int, path: str, name: str, view: int) -> str:
    try:
        with winreg.OpenKey(root, path, 0, winreg.KEY_READ | view) as key:
            value = winreg.QueryValueEx(key, name)[0]
    except OSError:
        return ""
    return value if isinstance(value, str) else ""


# --- signatures --------------------------------------------------------------------------------------------------

_MEANINGS: dict[int, Signature] = {
    0: "valid",
    0x80096010: "altered",  # TRUST_E_BAD_DIGEST
    0x800B0100: "not signed",  # TRUST_E_NOSIGNATURE
    0x800B0109: "not trusted",  # CERT_E_UNTRUSTEDROOT
    0x800B0111: "not trusted",  # TRUST_E_EXPLICIT_DISTRUST
}
"""Results of WinVerifyTrust that decide (winerror.h); another one does not."""


class _Guid(ctypes.Structure):
    _fields_ = (("a", wintypes.DWORD), ("b", wintypes.WORD), ("c", wintypes.WORD), ("d", ctypes.c_ubyte * 8))


class _File(ctypes.Structure):
    """WINTRUST_FILE_INFO."""

    _fields_ = (
        ("size", wintypes.DWORD),
        ("path", wintypes.LPCWSTR),
        ("handle", wintypes.HANDLE),
        ("subject", ctypes.c_void_p),
    )


class _Data(ctypes.Structure):
    """WINTRUST_DATA."""

    _fields_ = (
        ("size", wintypes.DWORD),
        ("policy", ctypes.c_void_p),
        ("client", ctypes.c_void_p),
        ("interface", wintypes.DWORD),
        ("revocation", wintypes.DWORD),
        ("choice", wintypes.DWORD),
        ("file", ctypes.POINTER(_File)),
        ("action", wintypes.DWORD),
        ("state", wintypes.HANDLE),
        ("url", wintypes.LPCWSTR),
        ("flags", wintypes.DWORD),
        ("context", wintypes.DWORD),
        ("settings", ctypes.c_void_p),
    )


def file_signature(path: str) -> Signature:
    """Check a file's embedded signature with WinVerifyTrust, without a window or network access."""
    no_window, choose_file, ignore_state, cache_only = 2, 1, 0, 0x1000
    generic = _Guid(0x00AAC56B, 0xCD44, 0x11D0, (ctypes.c_ubyte * 8)(0x8C, 0xC2, 0x00, 0xC0, 0x4F, 0xC2, 0x95, 0xEE))
    file = _File(size=ctypes.sizeof(_File), path=path)
    data = _Data(
        size=ctypes.sizeof(_Data),
        interface=no_window,
        choice=choose_file,
        file=ctypes.pointer(file),
        action=ignore_state,
        flags=cache_only,
    )
    try:
        verify = ctypes.WinDLL("wintrust").WinVerifyTrust
    except (OSError, AttributeError):
        return "undecided"
    verify.argtypes = (wintypes.HWND, ctypes.POINTER(_Guid), ctypes.POINTER(_Data))
    result = int(verify(None, ctypes.byref(generic), ctypes.byref(data))) & 0xFFFFFFFF
    return _MEANINGS.get(result, "undecided")
