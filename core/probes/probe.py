"""The interface of a probe: a function that examines the machine and returns its section of the Snapshot, without
judging.

A probe is ``look(request) -> section``. Results of earlier probes are in ``request.seen``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from core.common.progress import Progress
from core.host.interface import Host
from core.model.facts import Execution, Snapshot, Unexamined
from core.model.scan_options import ScanOptions


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
    shared: dict[str, Any] = msgspec.field(default_factory=dict)
    """Intermediate results that several probes of one scan use."""


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
    """Sections that it does not read but that start first, because others wait for them and it would take the
    interpreter's lock.
    """
