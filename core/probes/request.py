"""What a probe is: a function that looks and returns its section of the Snapshot. It judges nothing.

A probe is ``look(request) -> section``. It reads what earlier probes saw from ``request.seen``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from core.facts import Snapshot
from core.host import Host
from core.watch import Watch


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe may use: the host, what was seen so far, the consumer's environment, and the person's wishes."""

    host: Host
    seen: Snapshot
    env: dict[str, str]
    """``host.fresh_environment()``, read once."""
    watch: Watch
    thorough: bool = False
    pythons: tuple[str, ...] = ()
    """Interpreters or environment folders named by the person."""


class Probe(msgspec.Struct, frozen=True):
    """A row of PROBES: which section it fills, from what, and for how long at most (seconds)."""

    section: str
    look: Callable[[Request], Any]
    needs: tuple[str, ...] = ()
    timeout: float = 10.0
