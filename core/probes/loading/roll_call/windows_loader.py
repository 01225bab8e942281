"""Windows' loader as the roll call's child uses it: LoadLibraryExW and its error numbers."""

from __future__ import annotations

import ctypes
import ntpath
import sys

from core.common.fact_text import fact_text
from core.probes.loading.roll_call.linux_loader import Loader

WINDOWS_ERRORS = {
    5: "ERROR_ACCESS_DENIED",
    126: "ERROR_MOD_NOT_FOUND",
    127: "ERROR_PROC_NOT_FOUND",
    193: "ERROR_BAD_EXE_FORMAT",
    225: "ERROR_VIRUS_INFECTED",
    226: "ERROR_VIRUS_DELETED",
    362: "ERROR_CLOUD_FILE_PROVIDER_NOT_RUNNING",
    998: "ERROR_NOACCESS",
    1114: "ERROR_DLL_INIT_FAILED",
    1260: "ERROR_ACCESS_DISABLED_BY_POLICY",
    1392: "ERROR_FILE_CORRUPT",
    1455: "ERROR_COMMITMENT_LIMIT",
    4551: "ERROR_SYSTEM_INTEGRITY_POLICY_VIOLATION",
}
"""Error numbers of LoadLibraryExW (Microsoft's system error codes)."""

if sys.platform == "win32":
    from ctypes import wintypes

    LOAD_LIBRARY_SEARCH_DEFAULT_DIRS = 0x1000
    LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR = 0x100
    MAX_PATH = 32768

    class WindowsLoader(Loader):
        """Windows' loader: a bare name is loaded as any program loads it, a full path as Python's ctypes and PyTorch do (0x1100)."""

        def __init__(self, folders: tuple[str, ...]) -> None:
            self._k = k = ctypes.WinDLL("kernel32", use_last_error=True)
            k.LoadLibraryExW.restype = k.GetProcAddress.restype = ctypes.c_void_p
            k.LoadLibraryExW.argtypes = (wintypes.LPCWSTR, ctypes.c_void_p, wintypes.DWORD)
            k.GetProcAddress.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
            k.GetModuleFileNameW.argtypes = (ctypes.c_void_p, wintypes.LPWSTR, wintypes.DWORD)
            k.AddDllDirectory.restype = ctypes.c_void_p
            k.AddDllDirectory.argtypes = (wintypes.LPCWSTR,)
            for folder in folders:
                k.AddDllDirectory(folder)

        def load(self, path: str) -> tuple[int | None, int | None, str]:
            """Call LoadLibraryExW; return its handle, error number and message."""
            full = ntpath.isabs(path)
            flags = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR if full else 0
            ctypes.set_last_error(0)
            handle = self._k.LoadLibraryExW(path, None, flags)
            if handle:
                return int(handle), None, ""
            number = ctypes.get_last_error()
            return None, number, WINDOWS_ERRORS.get(number, fact_text("error {number}", number=number))

        def symbol(self, handle: int, name: str) -> int:
            """Call GetProcAddress."""
            return int(self._k.GetProcAddress(handle, name.encode()) or 0)

        def path(self, handle: int) -> str:
            """Call GetModuleFileNameW."""
            buffer = ctypes.create_unicode_buffer(MAX_PATH)
            self._k.GetModuleFileNameW(handle, buffer, MAX_PATH)
            return buffer.value
