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


class ProbeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A probe's input: the host, the results so far, the consumer's environment, and the person's options."""

    host: Host
    seen: Snapshot
    env: dict[str, str]
    """``host.fresh_environment()``, read once."""
    watch: Progress
    thorough: bool = False
    pythons: tuple[str, ...] = ()
    """Interpreters or environment folders named by the person."""
    suggested: tuple[str, ...] = ()
    """Those that an assistant named: they are run only if nobody else can change them."""
    programs: tuple[str, ...] = ()
    """Programs named by the person: paths, or numbers of running processes."""
    at_once: bool = False
    """Whether frameworks may also be tried as they take a GPU's memory by themselves: other programs get none meanwhile."""
    keep: Callable[[Any], object] = lambda _item: None
    """Keep one item of the section as soon as it is known, even if the probe fails or runs out of time later."""
    miss: Callable[[Unexamined], object] = lambda _item: None
    """Tell of something that could not be examined."""
    tell: Callable[[Execution], object] = lambda _item: None
    """Tell of something that was run or loaded, or that was not since others can change it."""
    shared: dict[str, Any] = {}
    """What one probe came to know and another one asks for as well, in one scan."""


class Probe(msgspec.Struct, frozen=True):
    """A row of PROBES: the section that it fills, its input, and its time limit (seconds)."""

    section: str
    look: Callable[[ProbeRequest], Any]
    needs: tuple[str, ...] = ()
    timeout: float = 30.0
    """A healthy machine takes a hundredth of it, one with a dozen other programs at work a tenth. What hangs has limits of its own: a path
    (``Patience``), a child."""
    after: tuple[str, ...] = ()
    """Sections that it does not read and lets go first: others wait for them, while it would take the interpreter from them."""
