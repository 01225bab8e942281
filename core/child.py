"""Run one of our own functions in a child process, frozen or not: native code is touched only there.

The function has the form ``work(request, emit)``: it gets one frozen request and emits frozen events as it goes, so
that what was learnt before a crash is not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from core.host import Host
from core.watch import Watch

R = TypeVar("R")
E = TypeVar("E")


class Answer(msgspec.Struct, Generic[E], frozen=True, kw_only=True):
    """What a child said, and how it ended."""

    events: tuple[E, ...] = ()
    output: str = ""
    """Whatever the libraries printed on stdout and stderr, at most 64 KiB, printable."""
    ended: str = ""
    """Empty when it ended well, else one sentence: "was killed by SIGBUS: a file is shorter than its headers say"."""
    timed_out: bool = False


def ask(
    work: Callable[[R, Callable[[E], None]], None],
    request: R,
    event: type[E],
    *,
    host: Host,
    env: Mapping[str, str],
    timeout: float,
    watch: Watch | None = None,
) -> Answer[E]:
    """Run ``work(request, emit)`` in a child with the environment ``env`` and return every event that it emitted.

    ``work`` must be a module-level function of ``core``, annotated with its request's type. Never raises for
    anything that the child does; a time-out (seconds) or a cancelled watch kills the child and its descendants.
    """
    raise NotImplementedError
