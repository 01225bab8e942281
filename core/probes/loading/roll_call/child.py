"""Roll call, in the child: load cuDNN as a consumer does, call it, open every part, list what was really mapped.

Nothing here is judged. Each step is announced before it is taken (``begin``), because it may be the child's last.
"""

from __future__ import annotations

import ctypes
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.model.facts import System
    from core.probes.loading.roll_call.protocol import Event, Part, Roll
else:
    Event = dict

PLAIN = True
"""For ``core.host.child``: nothing of msgspec is needed here."""

LOAD: dict[System, str] = {"linux": "dlopen", "windows": "LoadLibraryExW"}
"""What a Call is named that loads a file instead of calling a function."""

_OBJECTS = ("libcudnn", "libcublas", "libcudart", "libnvrtc", "libcuda.", "libnvjitlink")
_DLLS = ("cudnn", "cublas", "cudart", "nvrtc", "nvcuda", "nvjitlink", "zlibwapi")


def is_cuda_file(name: str) -> bool:
    """Whether a mapped file is worth listing, by its name without folders, on either system."""
    low = name.lower()
    return low.startswith(_OBJECTS) or (low.startswith(_DLLS) and low.endswith(".dll"))


def answer(roll: Roll, emit: Callable[[Event], None]) -> None:
    """Do one roll call. Runs in a child process: any step may end it."""
    loader = _loader(roll.folders)
    known: set[str] = set()

    def step(name: str, act: Callable[..., tuple[Event, int | None]], *arguments: object) -> int | None:
        emit(Event(kind="begin", name=name))
        event, handle = act(loader, *arguments)
        emit(event)
        for path in loader.mapped():
            if path not in known:
                known.add(path)
                emit(Event(kind="mapped", name=path))
        return handle

    load = LOAD[roll.system]
    for path in roll.preload:
        step(load, _loaded, load, path)
    main = step(load, _loaded, load, roll.main)
    if main is None:
        return
    emit(Event(kind="loaded", name=loader.path(main)))
    for function in roll.functions:
        step(function, _called, main, function)
    for part in roll.parts:
        step(part.name, _opened, load, part)


def _loader(folders: tuple[str, ...]) -> Loader:
    if sys.platform == "win32":
        from core.probes.loading.roll_call.windows_loader import WindowsLoader

        return WindowsLoader(folders)
    return DynamicLoader()


def _loaded(loader: Loader, load: str, path: str) -> tuple[Event, int | None]:
    handle, number, problem = loader.load(path)
    result = 0 if handle is not None else number
    return Event(kind="call", name=load, library=path, result=result, problem=problem), handle


def _opened(loader: Loader, load: str, part: Part) -> tuple[Event, int | None]:
    """Load a part under the first of its names that works; the first failure is what is told otherwise."""
    number, problem = None, ""
    for path in part.tries:
        handle, failed, reason = loader.load(path)
        if handle is not None:
            return Event(kind="call", name=load, library=loader.path(handle) or path, result=0), handle
        if not problem:
            number, problem = failed, reason
    problem = problem or "There is no file of this name where cuDNN looks for it."
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
                if path.startswith(b"/") and is_cuda_file(path.rsplit(b"/", 1)[1].decode("utf-8", "replace")):
                    yield path.decode("utf-8", "backslashreplace")
