"""What the tests of core.host.child have done in a child: works that crash, hang, print and answer."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from core.common.fact_text import fact_text
from core.model.facts import Frozen


class Asked(Frozen, frozen=True, kw_only=True):
    """A request."""

    what: str = ""
    number: int = 0


class Nested(Frozen, frozen=True, kw_only=True):
    """A request with requests in it."""

    inner: tuple[Asked, ...] = ()


class Said(Frozen, frozen=True, kw_only=True):
    """An event."""

    text: str = ""
    number: int = 0


Emit = Callable[[Said], None]


def echo(request: Asked, emit: Emit) -> None:
    emit(Said(text=request.what, number=request.number))


def say_a_sentence(request: Asked, emit: Emit) -> None:
    emit(Said(text=fact_text("ended with status {status}", status=request.number)))


def count(request: Asked, emit: Emit) -> None:
    for number in range(request.number):
        emit(Said(number=number))


def die(request: Asked, emit: Emit) -> None:
    """Print with C's own stdio, emit, and die as asked."""
    c_puts("last words of a C library")
    emit(Said(text="before"))
    if request.what == "null":
        import faulthandler

        faulthandler._read_null()  # on Windows, ctypes turns a crash of its own calls into an OSError
    elif request.what == "called":
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


def read_beyond_the_end(request: Asked, emit: Emit) -> None:
    import mmap
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.truncate(3 * mmap.PAGESIZE)
        mapped = mmap.mmap(file.fileno(), 3 * mmap.PAGESIZE)
        os.truncate(file.fileno(), mmap.PAGESIZE)
        emit(Said(number=mapped[2 * mmap.PAGESIZE]))


def emit_a_surrogate(request: Asked, emit: Emit) -> None:
    emit(Said(text="\udcff"))


def hang_with_a_child(request: Asked, emit: Emit) -> None:
    """Start another process, write both numbers to the named file, and hang."""
    import subprocess

    sleeper = [sys.executable, "-I", "-S", "-c", "import threading; threading.Event().wait()"]
    other = subprocess.Popen(sleeper)
    emit(Said(text="hanging"))
    with open(request.what, "w") as file:  # noqa: PTH123  # pathlib would be one import more
        file.write(f"{os.getpid()} {other.pid}")
    other.wait()


def chatter(request: Asked, emit: Emit) -> None:
    for number in range(request.number):
        print("from Python")
        c_puts("from C")
        os.write(1, b"from fd 1\n")
        os.write(2, b"from fd 2\n")
        os.write(1, b"+[1]\n.\n")
        emit(Said(number=number))


def flood(request: Asked, emit: Emit) -> None:
    line = b"x" * 65536
    for number in range(request.number * 16):
        os.write(1 + number % 2, line)
    emit(Said(text="flooded"))


def print_bytes(request: Asked, emit: Emit) -> None:
    os.write(1, b"\x1b[31m\xff\x07\ttab\r\nline\n")


def load(request: Asked, emit: Emit) -> None:
    """Load a library by its bare name, as cuDNN loads its own: 1 where it was found, else 0."""
    if sys.platform == "win32":
        kernel32 = ctypes.WinDLL("kernel32")
        kernel32.LoadLibraryW.restype = ctypes.c_void_p
        emit(Said(number=int(bool(kernel32.LoadLibraryW(request.what)))))
        return
    try:
        ctypes.CDLL(request.what)
        emit(Said(number=1))
    except OSError:
        emit(Said(number=0))


def environment(request: Asked, emit: Emit) -> None:
    for name, value in os.environ.items():
        emit(Said(text=f"{name}={value}"))


def modules(request: Asked, emit: Emit) -> None:
    for name in sorted(sys.modules):
        emit(Said(text=name))


def core_limit(request: Asked, emit: Emit) -> None:
    import resource

    emit(Said(number=resource.getrlimit(resource.RLIMIT_CORE)[0]))


def print_an_answer(asked: Asked, emit: Callable[[Said], None]) -> None:
    """Write what looks like an answer where programs print, past Python's streams."""
    os.write(1, asked.what.encode())
    os.write(2, asked.what.encode())
    emit(Said(text="ours"))


def write_everywhere(asked: Asked, _emit: Callable[[Said], None]) -> None:
    """Write it on every descriptor."""
    for number in range(64):
        with suppress(OSError):
            os.write(number, asked.what.encode())


def map_a_file(asked: Asked, emit: Callable[[Said | None], None]) -> None:
    """Map a file, be looked at, and let go of it."""
    import mmap

    with open(asked.what, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):  # noqa: PTH123 - pathlib would be one more import
        emit(Said(text="mapped"))
        emit(None)
    emit(Said(text="gone"))


def ask_for_looks(asked: Asked, emit: Callable[[Said | None], None]) -> None:
    """Be looked at so many times."""
    for _ in range(asked.number):
        emit(None)
