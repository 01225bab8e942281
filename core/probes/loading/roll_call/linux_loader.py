"""The loader of the running system as a child asks it: open and call."""

from __future__ import annotations

import ctypes

_OBJECTS = ("libcudnn", "libcublas", "libcudart", "libnvrtc", "libcuda.", "libnvjitlink")


_DLLS = ("cudnn", "cublas", "cudart", "nvrtc", "nvcuda", "nvjitlink", "zlibwapi")


def is_cuda_file(name: str) -> bool:
    """Whether a mapped file is worth listing, by its name without folders, on either system."""
    low = name.lower()
    return low.startswith(_OBJECTS) or (low.startswith(_DLLS) and low.endswith(".dll"))


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
