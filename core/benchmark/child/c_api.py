"""Calls of C functions that return a status: one wrapper for the driver, cuDNN, cuBLAS and NVRTC. Child process only."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from core.common.fact_text import fact_text
from core.model.facts import path_text
from core.probes.loading.roll_call.linux_loader import Loader

_KINDS: Mapping[str, Any] = {
    "p": ctypes.c_void_p,
    "z": ctypes.c_size_t,
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "q": ctypes.c_int64,
}


LOAD_FUNCTIONS = ("dlopen", "LoadLibraryExW")
"""The library loaders of Linux and Windows."""


class CallError(Exception):
    """A call that failed: its name, its status (None if it could not be made) and any further details."""

    def __init__(self, call: str, status: int | None, name: str = "", detail: str = "") -> None:
        super().__init__(f"{call}: {name or status or detail}")
        self.call, self.status, self.name, self.detail = call, status, name, detail


class Library:
    """A loaded library and the signatures of its functions: one letter for each argument (see ``_KINDS``)."""

    def __init__(
        self, handle: Any, forms: Mapping[str, str], path: str = "", named: Callable[[Library, int], str] | None = None
    ) -> None:
        self.handle = handle
        self.path = path
        self._forms = forms
        self._named = named
        self._entries: dict[str, Any] = {}

    def exports(self, function: str) -> bool:
        """Whether the library exports a function."""
        return hasattr(self.handle, function)

    def typed_function(self, function: str) -> Any:
        """Return a function with its argument types set.

        Raises:
            CallError: the library does not export it.
        """
        if function not in self._entries:
            try:
                entry = getattr(self.handle, function)
            except AttributeError:
                raise CallError(function, None, detail=fact_text("this library has no such function")) from None
            entry.argtypes = tuple(_KINDS[letter] for letter in self._forms[function])
            entry.restype = ctypes.c_int
            self._entries[function] = entry
        return self._entries[function]

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function.

        Raises:
            CallError: the library does not export it, or its status is not 0.
        """
        status = self.typed_function(function)(*arguments)
        if status != 0:
            name = self._named(self, status) if self._named else ""
            raise CallError(function, status, name)


def load_first(
    tries: tuple[str, ...], forms: Mapping[str, str], by: Loader, named: Callable[[Library, int], str] | None
) -> Library:
    """Load the first of some names or paths.

    Raises:
        CallError: none can be loaded; its detail is the first error message of the loader.
    """
    first = ""
    for name in tries:
        handle, number, problem = by.load(name)
        if handle is not None:
            return Library(ctypes.CDLL(name, handle=handle), forms, by.path(handle) or path_text(name), named)
        first = first or (
            fact_text("{problem} (error {number})", problem=problem, number=number) if number else problem
        )
    raise CallError(
        LOAD_FUNCTIONS[sys.platform == "win32"], None, detail=first or fact_text("it was not found on this machine")
    )


def call_string(function: Any, *arguments: Any) -> str:
    """Call a function that returns a C string."""
    function.restype = ctypes.c_char_p
    return (function(*arguments) or b"").decode("utf-8", "replace")


def context_is_lost(e: CallError) -> bool:
    """Whether a failure makes the GPU unusable for this process: a driver call failed, other than for lack of memory.

    CUDA calls such errors sticky, for example 700 CUDA_ERROR_ILLEGAL_ADDRESS and 719 CUDA_ERROR_LAUNCH_FAILED.
    """
    ours = re.match(r"cu(?!dnn|blas)", e.call) is not None
    return ours and e.status is not None and (e.status == 214 or 700 <= e.status < 800)


def describe_call_error(e: CallError) -> str:
    """Return a failure in one line: call, status and details."""
    return " ".join(filter(None, (e.call, e.name or str(e.status or ""), e.detail)))
