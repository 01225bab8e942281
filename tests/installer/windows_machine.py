"""What the installers' test sees of a Windows: the registry, the folders, the windows and the programs on it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
import time
import winreg
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import wintypes
from pathlib import Path

assert sys.platform == "win32"

from core.host.windows.host import WindowsHost  # noqa: E402 - known on Windows alone

WATCHED = tuple(Path(os.environ[name]) for name in ("LOCALAPPDATA", "APPDATA", "ProgramFiles", "ProgramData"))
"""Folders in which a program could leave something, however deep."""
GLANCED = tuple(
    Path(os.environ[name], below) for name in ("USERPROFILE", "PUBLIC") for below in ("", "Desktop", "Documents")
)
"""Folders of the user's own things (under wine they lead out of the prefix): they are looked at for our name alone."""
NOT_OURS = ("Temp", "Microsoft", "LocalLow", "Templates", "Recent")
"""Names of folders in which Windows itself writes, or which under wine lead out of the prefix."""
LINKS = Path(os.environ["APPDATA"], "Microsoft", "Windows", "Start Menu")
KEYS = (
    (winreg.HKEY_CURRENT_USER, ""),
    (winreg.HKEY_LOCAL_MACHINE, r"Software\Microsoft\Windows\CurrentVersion\Uninstall"),
    (winreg.HKEY_LOCAL_MACHINE, r"Software\convalesce"),
    (winreg.HKEY_LOCAL_MACHINE, r"Software\Microsoft\Windows\CurrentVersion\App Paths"),
    (winreg.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"),
)
FOREIGN = (
    "Console",
    r"Software\Wine",
    r"Software\Classes\Local Settings",
    r"Software\Microsoft\Windows\CurrentVersion\Explorer",
)
"""Keys below HKEY_CURRENT_USER that Windows, or wine, writes by itself for any program."""


def state() -> dict[str, object]:
    """Return every registry value and every file that a program could have left."""
    seen: dict[str, object] = {}
    for root, key in KEYS:
        for name, value in _values(root, key):
            seen[f"{'HKCU' if root == winreg.HKEY_CURRENT_USER else 'HKLM'}\\{name}"] = value
    for folder in (*WATCHED, LINKS):
        for place, folders, files in os.walk(folder):
            folders[:] = [f for f in folders if f not in NOT_OURS]
            seen |= {os.path.join(place, f): "folder" for f in folders}  # noqa: PTH118 - texts
            seen |= {str(path): digest(path) for path in (Path(place, f) for f in files)}
    for folder in GLANCED:
        seen |= {str(path): "there" for path in folder.glob("[Cc]onvalesce*")}
    return seen


def _values(root: int, key: str) -> Iterator[tuple[str, object]]:
    if root == winreg.HKEY_CURRENT_USER and key.startswith(FOREIGN):
        return
    try:
        opened = winreg.OpenKey(root, key)
    except FileNotFoundError:
        return
    with opened:
        subkeys, values, _ = winreg.QueryInfoKey(opened)
        yield f"{key}\\", "key"
        for i in range(values):
            name, data, kind = winreg.EnumValue(opened, i)
            yield f"{key}\\{name}", (data, kind)
        inner = [winreg.EnumKey(opened, i) for i in range(subkeys)]
    for name in inner:
        yield from _values(root, f"{key}\\{name}" if key else name)


def difference(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Return what was added (+), removed (-) and changed (~)."""
    added = [f"+ {name}" for name in after.keys() - before.keys()]
    removed = [f"- {name}" for name in before.keys() - after.keys()]
    changed = [f"~ {n}: {before[n]} -> {after[n]}" for n in before.keys() & after.keys() if before[n] != after[n]]
    return sorted((*added, *removed, *changed))


def tree(folder: Path) -> dict[str, str]:
    """Return every file below a folder with its hash."""
    return {p.relative_to(folder).as_posix(): digest(p) for p in sorted(folder.rglob("*")) if p.is_file()}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fresh() -> dict[str, str]:
    """Return the environment of a program that is started now, without what this Python was given."""
    ours = {n: v for n, v in os.environ.items() if not n.upper().startswith(("PYTHON", "QT_"))}
    return {**ours, **WindowsHost().fresh_environment()}


def run(*argv: str | Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        [str(a) for a in argv], env=fresh(), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
        encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip


def run_silently(*argv: str | Path, timeout: float = 300) -> int:
    """Run a program with a window to its end; return its exit status.

    It gets no pipes: what it starts in turn and leaves behind (under wine the desktop) would hold them open.
    """
    none = subprocess.DEVNULL
    command = [str(a) for a in argv]
    return subprocess.run(
        command, env=fresh(), stdin=none, stdout=none, stderr=none, timeout=timeout, check=False
    ).returncode


def until(what: str, holds: Callable[[], object], seconds: float = 60) -> float:
    """Wait until something holds; return the seconds that it took.

    Raises:
        TimeoutError: it never did.
    """
    start = time.monotonic()
    while not holds():
        if time.monotonic() - start > seconds:
            raise TimeoutError(f"{what}: not within {seconds:.0f} seconds")
        time.sleep(0.02)  # no event tells of another program's window or file
    return time.monotonic() - start


def windows(program: Path) -> list[tuple[int, str]]:
    """Return the visible top-level windows of a program: handle and title."""
    user32, found = ctypes.WinDLL("user32"), list[tuple[int, str]]()
    prototype = ctypes.WINFUNCTYPE(wintypes.BOOL, wintypes.HWND, wintypes.LPARAM)

    def look(window: int, _: int) -> bool:
        if user32.IsWindowVisible(wintypes.HWND(window)):
            process = wintypes.DWORD()
            user32.GetWindowThreadProcessId(wintypes.HWND(window), ctypes.byref(process))
            if image(process.value).lower() == str(program).lower():
                text = ctypes.create_unicode_buffer(200)
                user32.GetWindowTextW(wintypes.HWND(window), text, 200)
                found.append((window, text.value))
        return True

    user32.EnumWindows(prototype(look), 0)
    return found


def image(process: int) -> str:
    """Return the program of a process; empty when it cannot be asked."""
    kernel32 = ctypes.WinDLL("kernel32")
    kernel32.OpenProcess.restype = wintypes.HANDLE
    handle = kernel32.OpenProcess(0x1000, False, process)
    if not handle:
        return ""
    text, size = ctypes.create_unicode_buffer(1000), wintypes.DWORD(1000)
    kernel32.QueryFullProcessImageNameW(wintypes.HANDLE(handle), 0, text, ctypes.byref(size))
    kernel32.CloseHandle(wintypes.HANDLE(handle))
    return text.value


def close(window: int) -> None:
    """Ask a window to close, as its X does."""
    ctypes.WinDLL("user32").PostMessageW(wintypes.HWND(window), 0x10, 0, 0)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a file open so that nobody else can open it."""
    kernel32 = ctypes.WinDLL("kernel32")
    kernel32.CreateFileW.restype = wintypes.HANDLE
    handle = kernel32.CreateFileW(str(path), 0x80000000, 0, None, 3, 0, None)
    assert handle not in (None, ctypes.c_void_p(-1).value), path
    try:
        yield
    finally:
        kernel32.CloseHandle(wintypes.HANDLE(handle))


def free(program: Path) -> bool:
    """Whether no process runs a program any more."""
    try:
        with program.open("r+b"):
            return True
    except FileNotFoundError:
        return True
    except OSError:
        return False
