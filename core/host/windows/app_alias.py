"""App Execution Aliases: zero-byte files in a WindowsApps folder that start an app from the Store. Can be tested on any system."""

from __future__ import annotations

import ctypes
import struct
from ctypes import wintypes
from typing import Any

APPEXECLINK = 0x8000001B
"""IO_REPARSE_TAG_APPEXECLINK of winnt.h."""
_TARGET = 2
"""Which of its texts is the program: after the package and the app in it (PowerShell's FileSystemProvider.cs reads the same:
https://github.com/PowerShell/PowerShell/blob/master/src/System.Management.Automation/namespaces/FileSystemProvider.cs)."""
_MOST_BYTES = 16 * 1024
"""MAXIMUM_REPARSE_DATA_BUFFER_SIZE of winnt.h."""


def target_in(data: bytes) -> str:
    """Return the program named in an alias's reparse data; empty if it is no alias or names none."""
    if len(data) < 12:
        return ""
    tag, length = struct.unpack_from("<IH", data)
    texts = data[12 : 8 + length].decode("utf-16-le", "replace").split("\0")
    return texts[_TARGET] if tag == APPEXECLINK and len(texts) > _TARGET else ""


def alias_target(kernel: Any, path: str) -> str:
    """Return the program that an alias starts; empty if it is none or cannot be queried."""
    get_reparse_point, open_existing, itself_and_folders, all_shares = 0x900A8, 3, 0x00200000 | 0x02000000, 0x7
    kernel.CreateFileW.restype = ctypes.c_void_p
    kernel.CreateFileW.argtypes = (
        *(wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD, ctypes.c_void_p),
        *(wintypes.DWORD, wintypes.DWORD, ctypes.c_void_p),
    )
    kernel.DeviceIoControl.argtypes = (
        *(ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p, wintypes.DWORD),
        *(ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p, ctypes.c_void_p),
    )
    kernel.CloseHandle.argtypes = (ctypes.c_void_p,)
    handle = kernel.CreateFileW(path, 0, all_shares, None, open_existing, itself_and_folders, None)
    if handle in (None, ctypes.c_void_p(-1).value):
        return ""
    try:
        buffer, done = ctypes.create_string_buffer(_MOST_BYTES), wintypes.DWORD()
        told = kernel.DeviceIoControl(handle, get_reparse_point, None, 0, buffer, len(buffer), ctypes.byref(done), None)
        return target_in(buffer.raw[: done.value]) if told else ""
    finally:
        kernel.CloseHandle(handle)
