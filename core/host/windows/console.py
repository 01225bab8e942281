"""The Windows console: enables escape sequences and determines what can be shown. kernel32 is a parameter, so it can be tested on any system."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ctypes import wintypes
from typing import Any

from core.common.streams import Reader

_STANDARD_OUTPUT, _STANDARD_ERROR = -11, -12
_PROCESSED_OUTPUT, _VIRTUAL_TERMINAL = 0x1, 0x4
"""ENABLE_PROCESSED_OUTPUT and ENABLE_VIRTUAL_TERMINAL_PROCESSING of consoleapi.h; the second is for Windows 10 1511 and later."""
_UTF8 = 65001


@contextmanager
def prepared_consoles(kernel: Any, env: Mapping[str, str] = os.environ) -> Iterator[tuple[Reader, Reader]]:
    """Yield the readers of standard output and standard error. A console's mode is restored afterwards."""
    page = kernel.GetConsoleOutputCP()
    with ExitStack() as afterwards:
        yield (
            _reader(kernel, _STANDARD_OUTPUT, page, env, afterwards),
            _reader(kernel, _STANDARD_ERROR, page, env, afterwards),
        )


def _reader(kernel: Any, number: int, page: int, env: Mapping[str, str], afterwards: ExitStack) -> Reader:
    handle, mode = wintypes.HANDLE(kernel.GetStdHandle(number)), wintypes.DWORD()
    if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        named = env.get("PYTHONIOENCODING") and not sys.flags.ignore_environment
        if named:
            return Reader(escapes=False)
        # cmd.exe and Windows PowerShell 5.1 take what comes through a pipe for text in the console's own page: with
        # ASCII's signs it can be read there as well
        return Reader(escapes=False, encoding="utf-8", page="utf-8" if page in (0, _UTF8) else "ascii")
    wanted = mode.value | _PROCESSED_OUTPUT | _VIRTUAL_TERMINAL
    escapes = mode.value == wanted or bool(kernel.SetConsoleMode(handle, wintypes.DWORD(wanted)))
    if escapes and mode.value != wanted:
        afterwards.callback(kernel.SetConsoleMode, handle, wintypes.DWORD(mode.value))
    # Windows Terminal takes letters that one font lacks from another, whatever the page is
    return Reader(escapes=escapes, page="utf-8" if env.get("WT_SESSION") else f"cp{page}")
