"""Elevation on Windows: start a program with administrator rights, once the person consents, and wait for it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Sequence
from ctypes import wintypes

from core.common.fact_text import fact_text
from core.host.interface import CompletedProcess

assert sys.platform == "win32"  # tells mypy, too

ERROR_CANCELLED = 1223
"""ERROR_CANCELLED: the person answered No, or the window of consent was closed."""
_NO_CLOSE_PROCESS, _NO_ASYNC, _NO_UI = 0x40, 0x100, 0x400
_HIDDEN, _TIMED_OUT = 0, 0x102


class _Execute(ctypes.Structure):
    """SHELLEXECUTEINFOW of shellapi.h."""

    _fields_ = (
        ("size", wintypes.DWORD),
        ("mask", wintypes.ULONG),
        ("window", wintypes.HWND),
        ("verb", wintypes.LPCWSTR),
        ("file", wintypes.LPCWSTR),
        ("parameters", wintypes.LPCWSTR),
        ("folder", wintypes.LPCWSTR),
        ("show", ctypes.c_int),
        ("instance", wintypes.HINSTANCE),
        ("list", ctypes.c_void_p),
        ("kind", wintypes.LPCWSTR),
        ("key", wintypes.HKEY),
        ("hot_key", wintypes.DWORD),
        ("icon", wintypes.HANDLE),
        ("process", wintypes.HANDLE),
    )


def run_elevated(argv: Sequence[str], *, timeout: float) -> CompletedProcess:
    """Start a program by ShellExecuteExW's "runas", wait for it (seconds) and return its exit status. Never raises.

    We have no access to its streams. A refusal is status None with a sentence; a program that exceeds the time keeps
    running.
    """
    handle, error = start_elevated(argv)
    if handle is None:
        words = (
            fact_text("The consent was refused.")
            if error == ERROR_CANCELLED
            else fact_text("Windows did not start it (error {error}).", error=error)
        )
        return CompletedProcess(status=None, ended=words)
    kernel = ctypes.WinDLL("kernel32")
    kernel.WaitForSingleObject.argtypes = (wintypes.HANDLE, wintypes.DWORD)
    kernel.GetExitCodeProcess.argtypes = (wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD))
    kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
    try:
        if kernel.WaitForSingleObject(handle, int(timeout * 1000)) == _TIMED_OUT:
            return CompletedProcess(
                status=None,
                ended=fact_text("did not end within {timeout} seconds", timeout=f"{timeout:.0f}"),
                timed_out=True,
            )
        status = wintypes.DWORD()
        kernel.GetExitCodeProcess(handle, ctypes.byref(status))
        return CompletedProcess(
            status=status.value,
            ended="" if status.value == 0 else fact_text("ended with status {status}", status=status.value),
        )
    finally:
        kernel.CloseHandle(handle)


def start_elevated(argv: Sequence[str]) -> tuple[int | None, int]:
    """Return the handle of the started process, or None with Windows' error number."""
    shell = ctypes.WinDLL("shell32", use_last_error=True)
    shell.ShellExecuteExW.argtypes = (ctypes.POINTER(_Execute),)
    order = _Execute(
        size=ctypes.sizeof(_Execute),
        mask=_NO_CLOSE_PROCESS | _NO_ASYNC | _NO_UI,
        verb="runas",
        file=argv[0],
        parameters=subprocess.list2cmdline(argv[1:]),
        show=_HIDDEN,
    )
    if not shell.ShellExecuteExW(ctypes.byref(order)):
        return None, ctypes.get_last_error()
    return (int(order.process), 0) if order.process else (None, 0)


def ask_in_box(text: str) -> bool:
    """Show a text in a message box above all windows, and return whether the person pressed Yes (No is the default)."""
    yes_no, warning, second, front, yes = 0x4, 0x30, 0x100, 0x10000 | 0x40000, 6
    user = ctypes.WinDLL("user32")
    user.MessageBoxW.argtypes = (wintypes.HWND, wintypes.LPCWSTR, wintypes.LPCWSTR, wintypes.UINT)
    return bool(user.MessageBoxW(None, text, "Convalesce", yes_no | warning | second | front) == yes)
