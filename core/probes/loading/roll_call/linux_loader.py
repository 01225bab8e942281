"""glibc's loader as the roll call's child uses it: open and call."""

from __future__ import annotations

import ctypes
import sys

_OBJECTS = ("libcudnn", "libcublas", "libcudart", "libnvrtc", "libcuda.", "libnvjitlink")


_DLLS = ("cudnn", "cublas", "cudart", "nvrtc", "nvcuda", "nvjitlink", "zlibwapi")


def is_cuda_file(name: str) -> bool:
    """Whether a mapped file is relevant, judged by its name without folders, on either system."""
    low = name.lower()
    return low.startswith(_OBJECTS) or (low.startswith(_DLLS) and low.endswith(".dll"))


class Loader:
    """The operations of both systems' loaders; handles are integers."""

    def load(self, path: str) -> tuple[int | None, int | None, str]:
        """Return a handle, or None with the loader's error number (Windows) and message."""
        raise NotImplementedError

    def symbol(self, handle: int, name: str) -> int:
        """Return a function's address; 0 if the library does not export it."""
        raise NotImplementedError

    def path(self, handle: int) -> str:
        """Return the file of a handle."""
        raise NotImplementedError


class _LinkMap(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


class DynamicLoader(Loader):
    """glibc's loader: dlopen with RTLD_NOW, as cuDNN's own shim does."""

    RTLD_NOW = 2

    def __init__(self) -> None:
        self._c = ctypes.CDLL(None)
        for function in (self._c.dlopen, self._c.dlsym):
            function.restype = ctypes.c_void_p
        self._c.dlerror.restype = ctypes.c_char_p

    def load(self, path: str) -> tuple[int | None, int | None, str]:
        """See Loader. dlopen's error is a message without a number."""
        self._c.dlerror()
        handle = self._c.dlopen(path.encode("utf-8", "surrogateescape"), self.RTLD_NOW)
        if handle:
            return int(handle), None, ""
        return None, None, (self._c.dlerror() or b"dlopen failed and did not say why").decode("utf-8", "replace")

    def symbol(self, handle: int, name: str) -> int:
        """See Loader."""
        return int(self._c.dlsym(ctypes.c_void_p(handle), name.encode()) or 0)

    def path(self, handle: int) -> str:
        """See Loader. The path comes from the link map."""
        found = ctypes.POINTER(_LinkMap)()
        if self._c.dlinfo(ctypes.c_void_p(handle), 2, ctypes.byref(found)) != 0 or not found:  # 2 = RTLD_DI_LINKMAP
            return ""
        return (found.contents.name or b"").decode("utf-8", "backslashreplace")


def system_loader(folders: tuple[str, ...] = ()) -> Loader:
    """Return the running system's loader; on Windows, with folders for add_dll_directory."""
    if sys.platform == "win32":
        from core.probes.loading.roll_call.windows_loader import WindowsLoader

        return WindowsLoader(folders)
    return DynamicLoader()
