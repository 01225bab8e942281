"""What every step of an exchange of packages needs."""

from __future__ import annotations

import os
from dataclasses import dataclass

from core.common.progress import Progress
from core.fixes.packages.installer import Sources
from core.host.interface import Host
from core.model.changes import ExchangePackages
from core.model.facts import PythonEnvironment, Snapshot
from core.transaction.journal import Journal


def changed_python(change: ExchangePackages, seen: Snapshot) -> PythonEnvironment | None:
    """Return the environment whose packages a change exchanges; None if the scan did not find it."""
    return next((p for p in seen.pythons or () if os.path.realpath(p.prefix) == change.prefix), None)


@dataclass(frozen=True, kw_only=True)
class ExchangeContext:
    """The machine as it is and as it was seen, where packages may come from, and where the work is recorded."""

    seen: Snapshot
    sources: Sources
    host: Host
    journal: Journal
    watch: Progress
    asked: tuple[str, ...] = ()
    """The packages that the finding is about: they are imported in the twin beside its frameworks."""
