"""Other running programs on Windows: which ones have a file open or loaded, and which still have an old variable."""

from __future__ import annotations

import ctypes
import ntpath
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import wintypes

from core.host.windows.asking import whole_answer
from core.model import path_list

assert sys.platform == "win32"  # tells mypy, too

_QUERY, _READ, _LIMITED = 0x400, 0x10, 0x1000
"""PROCESS_QUERY_INFORMATION, PROCESS_VM_READ, PROCESS_QUERY_LIMITED_INFORMATION (winnt.h)."""
_ALL_MODULES = 0x3
MAX_PATH_CHARACTERS = 32_768
USUAL_PROCESSES, MAX_PROCESSES = 1024, 65_536
USUAL_MODULES, MAX_MODULES = 512, 16_384
USUAL_HOLDERS, MAX_HOLDERS = 64, 4096
"""Number of entries in the first buffer, and the maximum; Windows is asked again if the first is too small."""
_MORE_DATA = 234
"""ERROR_MORE_DATA of winerror.h."""
MAX_ENVIRONMENT_BYTES = 4 << 20
"""Maximum number of bytes read of another program's variables."""


class _UniqueProcess(ctypes.Structure):
    _fields_ = (("id", wintypes.DWORD), ("started", wintypes.FILETIME))


class _ProcessInfo(ctypes.Structure):
    """RM_PROCESS_INFO of restartmanager.h."""

    _fields_ = (
        ("process", _UniqueProcess),
        ("name", wintypes.WCHAR * 256),
        ("service", wintypes.WCHAR * 64),
        ("kind", ctypes.c_int),
        ("status", wintypes.ULONG),
        ("session", wintypes.DWORD),
        ("restartable", wintypes.BOOL),
    )


def programs_using(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the programs that have one of the files open or loaded as a DLL, as "python.exe (4711)", sorted.

    The Restart Manager knows both; if it is missing or fails, the modules of every process that this user may inspect
    are compared.
    """
    if not paths:
        return ()
    own = ctypes.WinDLL("kernel32").GetCurrentProcessId()
    wanted = {ntpath.normcase(path) for path in paths}
    found = dict(_by_restart_manager(paths))
    for process in running_processes():
        if process not in found and any(ntpath.normcase(m) in wanted for m in loaded_modules(process)):
            found[process] = program_name(process)
    return tuple(sorted(f"{name} ({process})" for process, name in found.items() if process != own))


def _by_restart_manager(paths: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield (process, name). Nothing if the Restart Manager is missing or refuses."""
    try:
        manager = ctypes.WinDLL("rstrtmgr")
        start, register, listed = manager.RmStartSession, manager.RmRegisterResources, manager.RmGetList
    except (OSError, AttributeError):
        return
    session, key = wintypes.DWORD(), ctypes.create_unicode_buffer(33)
    if start(ctypes.byref(session), 0, key) != 0:
        return
    try:
        files = (wintypes.LPCWSTR * len(paths))(*paths)
        if register(session, len(paths), files, 0, None, 0, None) != 0:
            return

        def ask(room: int) -> tuple[list[_ProcessInfo], int]:
            needed, count, reason = wintypes.UINT(), wintypes.UINT(room), wintypes.DWORD()
            rows = (_ProcessInfo * room)()
            said = listed(session, ctypes.byref(needed), ctypes.byref(count), rows, ctypes.byref(reason))
            return rows[: count.value] if said == 0 else [], needed.value if said == _MORE_DATA else 0

        for row in whole_answer(ask, USUAL_HOLDERS, MAX_HOLDERS):
            yield int(row.process.id), program_name(int(row.process.id)) or str(row.name)
    finally:
        manager.RmEndSession(session)


def _kernel() -> ctypes.WinDLL:
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = kernel.CreateFileW.restype = ctypes.c_void_p
    kernel.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
    kernel.CloseHandle.argtypes = (ctypes.c_void_p,)
    kernel.K32EnumProcessModulesEx.argtypes = (
        *(ctypes.c_void_p, ctypes.c_void_p, wintypes.DWORD),
        *(ctypes.POINTER(wintypes.DWORD), wintypes.DWORD),
    )
    kernel.K32GetModuleFileNameExW.argtypes = (ctypes.c_void_p, ctypes.c_void_p, wintypes.LPWSTR, wintypes.DWORD)
    kernel.QueryFullProcessImageNameW.argtypes = (
        *(ctypes.c_void_p, wintypes.DWORD, wintypes.LPWSTR),
        ctypes.POINTER(wintypes.DWORD),
    )
    kernel.ReadProcessMemory.argtypes = (
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
        ctypes.POINTER(ctypes.c_size_t),
    )
    return kernel


def running_processes(room: int = USUAL_PROCESSES) -> tuple[int, ...]:
    """Return the ids of all processes. ``room``: how many the first buffer holds."""

    def ask(room: int) -> tuple[tuple[int, ...], int]:
        numbers, told = (wintypes.DWORD * room)(), wintypes.DWORD()
        if not _kernel().K32EnumProcesses(numbers, ctypes.sizeof(numbers), ctypes.byref(told)):
            return (), 0
        count = told.value // ctypes.sizeof(wintypes.DWORD)
        return tuple(numbers[:count]), count + (count >= room)  # A full list does not say how many there are.

    return whole_answer(ask, room, MAX_PROCESSES)


@contextmanager
def _open_process(process: int, access: int) -> Iterator[int | None]:
    """Open a process; None if this user may not, or it has ended."""
    kernel = _kernel()
    handle = kernel.OpenProcess(access, False, process)
    try:
        yield handle or None
    finally:
        if handle:
            kernel.CloseHandle(handle)


def loaded_modules(process: int, room: int = USUAL_MODULES) -> tuple[str, ...]:
    """Return the files that a process has loaded; empty if this user may not inspect it. ``room``: how many the first buffer holds."""
    kernel, buffer = _kernel(), ctypes.create_unicode_buffer(MAX_PATH_CHARACTERS)
    with _open_process(process, _QUERY | _READ) as handle:
        if handle is None:
            return ()

        def ask(room: int) -> tuple[list[int | None], int]:
            loaded, told = (ctypes.c_void_p * room)(), wintypes.DWORD()
            size = ctypes.sizeof(loaded)
            if not kernel.K32EnumProcessModulesEx(handle, loaded, size, ctypes.byref(told), _ALL_MODULES):
                return [], 0
            count = told.value // ctypes.sizeof(ctypes.c_void_p)
            return loaded[:count], count

        found = []
        for module in whole_answer(ask, room, MAX_MODULES):
            if kernel.K32GetModuleFileNameExW(handle, module, buffer, MAX_PATH_CHARACTERS):
                found.append(buffer.value)
        return tuple(found)


def program_name(process: int) -> str:
    """Return the file name of a process's program; empty if it cannot be determined."""
    buffer, size = ctypes.create_unicode_buffer(MAX_PATH_CHARACTERS), wintypes.DWORD(MAX_PATH_CHARACTERS)
    with _open_process(process, _LIMITED) as handle:
        if handle is None or not _kernel().QueryFullProcessImageNameW(handle, 0, buffer, ctypes.byref(size)):
            return ""
        return ntpath.basename(buffer.value)


def programs_with_old_value(name: str, entry: str) -> tuple[str, ...]:
    """Return the running programs whose search path ``name`` lacks ``entry``, as "explorer.exe (4711)".

    Only those that this user may inspect: elevated programs and the system's own are left out.
    """
    wanted = path_list.entry_key(entry, "windows")
    found = []
    for process in running_processes():
        value = variables_of(process).get(name.upper())
        if value is not None and wanted not in (
            path_list.entry_key(e, "windows") for e in path_list.searched_entries(value, "windows")
        ):
            found.append(f"{program_name(process)} ({process})")
    return tuple(sorted(found))


def variables_of(process: int) -> dict[str, str]:
    """Return the variables of a running 64-bit program, names in upper case; empty if they may not be read.

    They are found through its PEB: ProcessParameters at 0x20, in those Environment at 0x80 and its size at 0x3f0
    (winternl.h and the public symbols of ntdll for 64-bit Windows).
    """

    class Basic(ctypes.Structure):
        _fields_ = (("status", ctypes.c_void_p), ("peb", ctypes.c_void_p), ("rest", ctypes.c_void_p * 4))

    with _open_process(process, _QUERY | _READ) as handle:
        if handle is None:
            return {}
        basic = Basic()
        query = ctypes.WinDLL("ntdll").NtQueryInformationProcess
        query.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, wintypes.ULONG, ctypes.c_void_p)
        if query(handle, 0, ctypes.byref(basic), ctypes.sizeof(basic), None) != 0 or not basic.peb:
            return {}
        parameters = _number(handle, basic.peb + 0x20)
        start, size = _number(handle, parameters + 0x80), _number(handle, parameters + 0x3F0)
        if not start or not 0 < size <= MAX_ENVIRONMENT_BYTES:
            return {}
        block = _memory(handle, start, size).decode("utf-16-le", "replace").partition("\0\0")[0]
    pairs = (row.partition("=") for row in block.split("\0") if not row.startswith("="))
    return {n.upper(): value for n, equals, value in pairs if equals}


def _number(handle: int, address: int) -> int:
    return int.from_bytes(_memory(handle, address, 8), "little")


def _memory(handle: int, address: int, size: int) -> bytes:
    buffer, done = ctypes.create_string_buffer(size), ctypes.c_size_t()
    if not _kernel().ReadProcessMemory(handle, address, buffer, size, ctypes.byref(done)):
        return b""
    return buffer.raw[: done.value]


def may_change(folder: str) -> bool:
    """Whether this user may create files in a folder: the folder is opened for that, and nothing is created."""
    add_file, all_shares, open_existing, folders_too = 0x2, 0x7, 3, 0x02000000
    kernel = _kernel()
    kernel.CreateFileW.argtypes = (
        *(wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD, ctypes.c_void_p),
        *(wintypes.DWORD, wintypes.DWORD, ctypes.c_void_p),
    )
    handle = kernel.CreateFileW(folder, add_file, all_shares, None, open_existing, folders_too, None)
    if handle in (None, ctypes.c_void_p(-1).value):
        return False
    kernel.CloseHandle(handle)
    return True
