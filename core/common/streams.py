"""The standard streams, even if one is closed or full: a lost result is an error, a lost message on stderr is not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TextIO, cast

from core.common.text import for_terminal


class UnwritableError(Exception):
    """Standard output cannot be written, with the system's reason. No OSError, because argparse ignores those."""


class Reader(NamedTuple):
    """What is behind a stream: a terminal, a Windows console, a pipe or a file."""

    escapes: bool = True
    """Whether escape sequences are understood, if it is a terminal."""
    page: str = ""
    """The code page whose symbols can be shown ("cp437"); empty: the stream's own encoding."""
    encoding: str = ""
    """The encoding that the stream is to have; empty: it keeps its own."""


USUAL_READER = Reader()


@contextmanager
def replaced_streams(results: Reader = USUAL_READER, complaints: Reader = USUAL_READER) -> Iterator[None]:
    """Provide all three streams within the block, whatever streams the program was started with."""
    before = sys.stdin, sys.stdout, sys.stderr
    _open_missing()
    sys.stdout = cast("TextIO", _Results(sys.stdout, results))
    sys.stderr = cast("TextIO", _Complaints(sys.stderr, complaints))
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def reader_of(stream: TextIO) -> Reader:
    """Return what is behind a stream; its code page is never empty."""
    reader: Reader = getattr(stream, "reader", USUAL_READER)
    return reader if reader.page else reader._replace(page=stream.encoding or "ascii")


def discard_stream(stream: TextIO) -> None:
    """Redirect a stream to nothing: the interpreter's last flush must neither print nor change the exit status."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_missing() -> None:
    """Open closed descriptors, so that no file gets their numbers; using them still fails (Windows: does nothing)."""
    wrong_way = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            flags = os.O_RDWR if sys.platform == "win32" else wrong_way[number]
            fd = os.open(os.devnull, flags)
            stream = open(fd, "r" if number == 0 else "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115, PTH123 - it lives as long as the program
            setattr(sys, name, stream)


class _Stream:
    def __init__(self, stream: TextIO, reader: Reader) -> None:
        self._stream, self.reader = stream, reader
        if reader.encoding and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=reader.encoding, errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Results(_Stream):
    def write(self, text: str) -> int:
        """Write, or raise with the reason."""
        return cast("int", self._call_or_raise(self._stream.write, text))

    def flush(self) -> None:
        """Flush, or raise with the reason."""
        self._call_or_raise(self._stream.flush)

    def _call_or_raise(self, act: Any, *arguments: Any) -> Any:
        try:
            return act(*arguments)
        except BrokenPipeError:
            raise
        except OSError as e:
            raise UnwritableError(e.strerror or str(e)) from None


ONE_LINE = "\r"
"""Returns the cursor to the start of the line, so that progress on a terminal is a single line."""


class _Complaints(_Stream):
    def write(self, text: str) -> int:
        """Write if possible; control characters from files, programs or persons are made visible first."""
        start = ONE_LINE if text.startswith(ONE_LINE) else ""
        try:
            return self._stream.write(start + for_terminal(text[len(start) :]))
        except OSError:
            discard_stream(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush if possible."""
        try:
            self._stream.flush()
        except OSError:
            discard_stream(self._stream)
