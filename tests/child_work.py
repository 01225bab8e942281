"""What the tests of core.child have done in a child: works that crash, hang, print and answer."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable

from core.facts import Fact


class Asked(Fact, frozen=True, kw_only=True):
    """A request."""

    what: str = ""
    number: int = 0


class Said(Fact, frozen=True, kw_only=True):
    """An event."""

    text: str = ""
    number: int = 0


Emit = Callable[[Said], None]


def echo(request: Asked, emit: Emit) -> None:
    emit(Said(text=request.what, number=request.number))


def count(request: Asked, emit: Emit) -> None:
    for number in range(request.number):
        emit(Said(number=number))


def die(request: Asked, emit: Emit) -> None:
    """Print with C's own stdio, emit, and die as asked."""
    c_puts("last words of a C library")
    emit(Said(text="before"))
    if request.what == "null":
        ctypes.string_at(0)
    elif request.what == "abort":
        (ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)).abort()
    elif request.what == "exit":
        os._exit(request.number)
    elif request.what == "raise":
        raise LookupError("our own mistake")
    else:
        os.kill(os.getpid(), signal.Signals[request.what])
    emit(Said(text="after"))


def c_puts(line: str) -> None:
    runtime = ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)
    runtime.puts(line.encode())
