"""The interface of a probe: a function that examines the machine and returns its section of the Snapshot, without
judging.

A probe is ``look(request) -> section``. Results of earlier probes are in ``request.seen``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from core.common.progress import CancelledError, Progress
from core.host.interface import Host
from core.model.facts import Execution, Snapshot, Unexamined
from core.model.scan_options import ScanOptions

T = TypeVar("T")


def _raise(error: Exception) -> None:
    raise error


def in_turn(*parts: Callable[[], Iterable[T]]) -> Iterator[T]:
    """Yield what each part finds; a crash of one ends all."""
    for part in parts:
        yield from part()


class ProbeRequest(ScanOptions, frozen=True, kw_only=True):
    """A probe's input: the host, the results so far, the consumer's environment, and the person's options."""

    host: Host
    seen: Snapshot
    env: dict[str, str]
    """``host.fresh_environment()``, read once."""
    watch: Progress
    keep: Callable[[Any], object] = lambda _item: None
    """Store one item of the section as soon as it is known, in case the probe later fails or runs out of time."""
    miss: Callable[[Unexamined], object] = lambda _item: None
    """Report something that could not be examined."""
    tell: Callable[[Execution], object] = lambda _item: None
    """Report something that was run or loaded, or that was not because others can change it."""
    fail: Callable[[Exception], object] = _raise
    """Report a crash of one part of the probe; the other parts go on. A scan makes it a ProbeError, everything else raises it."""
    shared: dict[str, Any] = msgspec.field(default_factory=dict)
    """Intermediate results that several probes of one scan use."""

    def kept(self, items: Iterable[T]) -> tuple[T, ...]:
        """Return all items of the section; each is stored as soon as it is known."""
        found = []
        for item in items:
            found.append(item)
            self.keep(item)
        return tuple(found)

    def apart(self, *parts: Callable[[], Iterable[T]]) -> Iterator[T]:
        """Yield what each part finds: one that crashes, at a file that nobody foresaw, takes no other along."""
        for part in parts:
            try:
                yield from part()
            except CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - the edge of a part, as the scan's of a probe
                self.fail(error)


class Probe(msgspec.Struct, frozen=True):
    """A row of PROBES: the section that it fills, its input, and its time limit (seconds)."""

    section: str
    look: Callable[[ProbeRequest], Any]
    needs: tuple[str, ...] = ()
    timeout: float = 30.0
    """Seconds; a healthy machine takes a hundredth of it, one with a dozen other programs at work a tenth.

    Anything that may hang has a limit of its own: a path (``Patience``), a child.
    """
    after: tuple[str, ...] = ()
    """Sections that it does not read but that start first, because others wait for them and it would take the interpreter's lock."""
