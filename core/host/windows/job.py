"""Windows job objects: a process and all its descendants end together, and never outlive us."""

from __future__ import annotations

import _winapi
import ctypes
import errno
import msvcrt
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from ctypes import wintypes
from pathlib import Path

from core.common.fact_text import fact_text
from core.common.variable_names import variable_in
from core.model.path_list import searched_entries

assert sys.platform == "win32"  # tells mypy, too

_KILL_ON_JOB_CLOSE = 0x2000
_EXTENDED_LIMIT_INFORMATION = 9
_BASIC_PROCESS_ID_LIST = 3

_starting = threading.Lock()
"""Held while SetDllDirectory is undone, which holds for the whole process."""


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION (winnt.h); we set only LimitFlags."""

    _fields_ = (
        ("times", ctypes.c_int64 * 2),
        ("flags", wintypes.DWORD),
        ("working_set", ctypes.c_size_t * 2),
        ("active_processes", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("classes", wintypes.DWORD * 2),
        ("io", ctypes.c_uint64 * 6),
        ("memory", ctypes.c_size_t * 4),
    )


class _Processes(ctypes.Structure):
    """JOBOBJECT_BASIC_PROCESS_ID_LIST (winnt.h)."""

    _fields_ = (("assigned", wintypes.DWORD), ("listed", wintypes.DWORD), ("numbers", ctypes.c_size_t * 64))


def _kernel32() -> ctypes.WinDLL:
    """Return a private kernel32, so that nobody else's argtypes conflict with ours."""
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel32.CreateJobObjectW.restype = wintypes.HANDLE
    kernel32.CreateJobObjectW.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR)
    kernel32.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD)
    kernel32.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
    kernel32.QueryInformationJobObject.argtypes = (
        *(wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD),
        ctypes.c_void_p,
    )
    kernel32.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
    kernel32.SetDllDirectoryW.argtypes = (wintypes.LPCWSTR,)
    kernel32.GetDllDirectoryW.argtypes = (wintypes.DWORD, wintypes.LPWSTR)
    return kernel32


def find_program(name: str, env: Mapping[str, str]) -> str:
    """Return the path of a program named without a folder, by the given PATH.

    CreateProcess itself would search our own folder, the working directory and our own PATH.

    Raises:
        FileNotFoundError: it is in none of the folders.
    """
    if os.path.dirname(name):  # noqa: PTH120  # text, not a path: "tool" and ".\\tool" differ
        return name
    path = variable_in(env, "PATH")
    for folder in (Path(f.strip('"')) for f in searched_entries(path, "windows")):
        for candidate in (folder / name, folder / f"{name}.exe"):
            if candidate.is_absolute() and candidate.suffix.lower() == ".exe" and candidate.is_file():
                return str(candidate)
    raise FileNotFoundError(errno.ENOENT, fact_text("No such program on PATH"), name)


def start_process(
    argv: Sequence[str], env: Mapping[str, str] | None, handles: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    """Start a process with three pipes (two where it also gets ``handles``), no window, no error dialogs and the system's own DLL search order.

    A frozen application's SetDllDirectory reaches the processes that it starts (PyInstaller's manual, "Launching
    external programs"), so it is undone while one starts.

    Raises:
        OSError, ValueError: the program could not be started.
    """
    kernel32 = _kernel32()
    system_root = os.environ.get("SystemRoot") or "C:\\Windows"  # noqa: SIM112  # the name's usual spelling
    if env is not None and not any(name.upper() == "SYSTEMROOT" for name in env):
        env = {**env, "SystemRoot": system_root}  # The C run time does not start without it.
    program = find_program(argv[0], os.environ if env is None else env)
    pipe = subprocess.PIPE
    more = subprocess.STARTUPINFO(lpAttributeList={"handle_list": list(handles)}) if handles else None
    with _starting:
        msvcrt.SetErrorMode(msvcrt.SetErrorMode(0) | msvcrt.SEM_FAILCRITICALERRORS | msvcrt.SEM_NOGPFAULTERRORBOX)
        buffer = ctypes.create_unicode_buffer(32768)
        ours = buffer.value if kernel32.GetDllDirectoryW(len(buffer), buffer) else None
        kernel32.SetDllDirectoryW(None)
        try:
            return subprocess.Popen(
                [program, *argv[1:]],
                stdin=pipe,
                stdout=pipe,
                stderr=subprocess.STDOUT if handles else pipe,
                startupinfo=more,
                env=env,
                bufsize=0,
                cwd=system_root,
                creationflags=subprocess.CREATE_NO_WINDOW,
            )
        finally:
            if ours:
                kernel32.SetDllDirectoryW(ours)


class Job:
    """A started process in a job that ends with its last handle, and so with us."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._kernel32 = _kernel32()
        self._lock = threading.Lock()
        self._handle: int | None = self._kernel32.CreateJobObjectW(None, None)
        if self._handle:
            limits = _Limits(flags=_KILL_ON_JOB_CLOSE)
            size = ctypes.sizeof(limits)
            self._kernel32.SetInformationJobObject(
                self._handle, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), size
            )
            self._kernel32.AssignProcessToJobObject(self._handle, int(process._handle))  # type: ignore[attr-defined]  # the only way to the handle

    def kill(self) -> None:
        """Kill the process and all that it started."""
        with self._lock:
            if self._handle:
                self._kernel32.TerminateJobObject(self._handle, 1)
        with suppress(OSError):
            self._process.kill()

    def mapped_files(self) -> Iterator[str]:
        """Yield the modules of all its processes: a virtual environment's python.exe starts the real one."""
        from core.host.windows.processes import loaded_modules

        listed = _Processes()
        with self._lock:
            if self._handle:
                self._kernel32.QueryInformationJobObject(
                    self._handle, _BASIC_PROCESS_ID_LIST, ctypes.byref(listed), ctypes.sizeof(listed), None
                )
        for process in listed.numbers[: listed.listed]:
            yield from loaded_modules(process)

    def wait(self) -> None:
        """Wait for the process' end, kill what it left behind, and collect its exit status."""
        self._process.wait()
        with self._lock:
            if self._handle:
                self._kernel32.TerminateJobObject(self._handle, 1)
                _winapi.CloseHandle(self._handle)
                self._handle = None
