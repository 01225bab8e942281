"""Roll call, in the child: load cuDNN as a consumer does, call it, open every part, list what was really mapped.

Nothing here is judged. Each step is announced before it is taken (``begin``), because it may be the child's last.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

from core.facts import Fact, System

LOAD: dict[System, str] = {"linux": "dlopen", "windows": "LoadLibraryExW"}
"""What a Call is named that loads a file instead of calling a function."""

CUDA_FILE = re.compile(
    r"lib(cudnn|cublas|cudart|nvrtc|cuda\.|nvJitLink)|"
    r"(cudnn|cublas|cudart|nvrtc|nvcuda|nvjitlink|zlibwapi)[^/\\]*\.dll$",
    re.IGNORECASE,
)
"""Names of mapped files that are worth listing."""


class Part(Fact, frozen=True, kw_only=True):
    """A library to load after the calls: its paths or bare names, the first that loads counts."""

    name: str
    """File name, for the answer."""
    tries: tuple[str, ...]


class Roll(Fact, frozen=True, kw_only=True):
    """What a child is asked to do. Paths are those of the running system."""

    system: System
    major: int
    main: str
    """A bare name or a full path."""
    preload: tuple[str, ...] = ()
    """Full paths that the consumer itself loads before."""
    folders: tuple[str, ...] = ()
    """Windows: what the consumer gives to add_dll_directory."""
    functions: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


class Event(Fact, frozen=True, kw_only=True):
    """One step of a child. ``begin`` stands before each ``call``; a begin without its call is where the child died."""

    kind: Literal["begin", "call", "loaded", "mapped"]
    name: str = ""
    """begin: the function, or the file name of a part; call: the function or LOAD's word; else a path."""
    library: str = ""
    result: int | None = None
    """The function's answer. For a load: 0, or the loader's error number on Windows, or None with ``problem``."""
    problem: str = ""


def answer(roll: Roll, emit: Callable[[Event], None]) -> None:
    """Do one roll call. Runs in a child process: any step may end it."""
    loader = _loader(roll.folders)
    known: set[str] = set()

    def step(name: str, act: Callable[[], tuple[Event, int | None]]) -> int | None:
        emit(Event(kind="begin", name=name))
        event, handle = act()
        emit(event)
        for path in loader.mapped():
            if path not in known:
                known.add(path)
                emit(Event(kind="mapped", name=path))
        return handle

    load = LOAD[roll.system]
    for path in roll.preload:
        step(load, partial(_loaded, loader, load, path))
    handle = step(load, partial(_loaded, loader, load, roll.main))
    if handle is None:
        return
    emit(Event(kind="loaded", name=loader.path(handle)))
    for function in roll.functions:
        step(function, partial(_called, loader, handle, function))
    for part in roll.parts:
        step(part.name, partial(_opened, loader, load, part))


def _loader(folders: tuple[str, ...]) -> Loader:
    if sys.platform == "win32":
        from core.probes.roll_call_windows import WindowsLoader

        return WindowsLoader(folders)
    return DynamicLoader()


def _loaded(loader: Loader, load: str, path: str) -> tuple[Event, int | None]:
    handle, number, problem = loader.load(path)
    result = 0 if handle is not None else number
    return Event(kind="call", name=load, library=path, result=result, problem=problem), handle


def _opened(loader: Loader, load: str, part: Part) -> tuple[Event, int | None]:
    """Load a part under the first of its names that works; the first failure is what is told otherwise."""
    failed: Event | None = None
    for path in part.tries:
        event, handle = _loaded(loader, load, path)
        if handle is not None:
            return Event(kind="call", name=load, library=loader.path(handle) or path, result=0), handle
        failed = failed or event
    problem = failed.problem if failed else "There is no file of this name where cuDNN looks for it."
    number = failed.result if failed else None
    return Event(kind="call", name=load, library=part.name, result=number, problem=problem), None


def _called(loader: Loader, handle: int, function: str) -> tuple[Event, int | None]:
    address = loader.symbol(handle, function)
    if not address:
        return Event(kind="call", name=function, problem="This library has no such function."), handle
    kind = ctypes.c_size_t if function.startswith("cudnnGet") else ctypes.c_int
    return Event(kind="call", name=function, result=int(ctypes.CFUNCTYPE(kind)(address)())), handle


class Loader:
    """What both systems' loaders can be asked. Handles are integers."""

    def load(self, path: str) -> tuple[int | None, int | None, str]:
        """Return a handle, or None with the loader's error number (Windows) and text."""
        raise NotImplementedError

    def symbol(self, handle: int, name: str) -> int:
        """Return a function's address; 0 when the library does not export it."""
        raise NotImplementedError

    def path(self, handle: int) -> str:
        """Return the file behind a handle."""
        raise NotImplementedError

    def mapped(self) -> Iterator[str]:
        """Yield the CUDA and cuDNN files that this process has mapped."""
        raise NotImplementedError


class _LinkMap(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


class DynamicLoader(Loader):
    """glibc's: dlopen, with RTLD_NOW as cuDNN's own shim does."""

    RTLD_NOW = 2

    def __init__(self) -> None:
        self._c = ctypes.CDLL(None)
        for function in (self._c.dlopen, self._c.dlsym):
            function.restype = ctypes.c_void_p
        self._c.dlerror.restype = ctypes.c_char_p

    def load(self, path: str) -> tuple[int | None, int | None, str]:
        """What dlopen gives; its error is a text without a number."""
        self._c.dlerror()
        handle = self._c.dlopen(path.encode("utf-8", "surrogateescape"), self.RTLD_NOW)
        if handle:
            return int(handle), None, ""
        return None, None, (self._c.dlerror() or b"dlopen failed and did not say why").decode("utf-8", "replace")

    def symbol(self, handle: int, name: str) -> int:
        """What dlsym finds."""
        return int(self._c.dlsym(ctypes.c_void_p(handle), name.encode()) or 0)

    def path(self, handle: int) -> str:
        """The link map's name."""
        found = ctypes.POINTER(_LinkMap)()
        if self._c.dlinfo(ctypes.c_void_p(handle), 2, ctypes.byref(found)) != 0 or not found:  # 2 = RTLD_DI_LINKMAP
            return ""
        return (found.contents.name or b"").decode("utf-8", "backslashreplace")

    def mapped(self) -> Iterator[str]:
        """Named files of /proc/self/maps, one for each mapping."""
        with open("/proc/self/maps", "rb") as maps:  # noqa: PTH123  # a process file, bytes wanted
            for line in maps:
                path = line[73:].strip()
                if path.startswith(b"/") and CUDA_FILE.match(path.rsplit(b"/", 1)[1].decode("utf-8", "replace")):
                    yield path.decode("utf-8", "backslashreplace")
