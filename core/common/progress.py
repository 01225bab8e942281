"""Progress: reports the current step and carries a cancellation. Every long operation gets one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

SectionState = Literal["looking", "looked", "failed"]


class CancelledError(Exception):
    """The person cancelled; this is not an error."""


class Progress:
    """Carries progress sentences out and a request to cancel in. Safe to use from several threads."""

    def __init__(
        self,
        progress: Callable[[str], None] = lambda _sentence: None,
        sections: Callable[[str, SectionState], None] = lambda _section, _state: None,
        heard: Callable[[bytes], None] = lambda _data: None,
    ) -> None:
        self._heard = heard
        self._progress = progress
        self._sections = sections
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._calls: list[Callable[[], None]] = []

    def say(self, sentence: str) -> None:
        """Report progress in one short sentence."""
        self._progress(sentence)

    def on_output(self, data: bytes) -> None:
        """Pass on the output of a running child as it arrives."""
        self._heard(data)

    def section(self, name: str, state: SectionState) -> None:
        """Report that a section of the Snapshot is being examined, was examined, or could not be."""
        self._sections(name, state)

    def cancel(self) -> None:
        """Ask the work to stop; children are killed, and ``check`` raises from now on."""
        with self._lock:
            self._cancelled.set()
            calls = tuple(self._calls)
        for call in calls:
            call()

    @contextmanager
    def on_cancel(self, call: Callable[[], None]) -> Iterator[None]:
        """Within the block, have ``call`` called (in the cancelling thread) once somebody asks to stop, or at once."""
        with self._lock:
            self._calls.append(call)
            late = self._cancelled.is_set()
        try:
            if late:
                call()
            yield
        finally:
            with self._lock:
                self._calls.remove(call)

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked to stop."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Raise CancelledError once somebody asked to stop. Call it between pieces of work."""
        if self._cancelled.is_set():
            raise CancelledError
