"""Frameworks sweep: how every framework was built, and the environments that nothing active names. Nothing is run."""

from __future__ import annotations

import time

from core.common.fact_text import fact_text
from core.model.facts import Frameworks
from core.probes.probe import ProbeRequest
from core.probes.python.builds import read_all
from core.probes.python.probe import further
from core.probes.sysroot import sysroot_of

MAX_OTHERS = 200
"""Environments from further away that are kept in the Snapshot at most."""

NEAR_SECONDS, FAR_SECONDS = 2.0, 1.0
"""Seconds after which machine code is no longer read, for environments that are near and for all others."""


def look(request: ProbeRequest) -> Frameworks:
    """Return the builds of all frameworks, and the environments beyond those that ``pythons`` lists."""
    where = sysroot_of(request.host)
    near = request.seen.pythons or ()
    found = further(request, near, time.monotonic)
    problems: tuple[str, ...] = ()
    if len(found) > MAX_OTHERS:
        problems = (
            fact_text("{MAX_OTHERS} more environments were found and not kept.", MAX_OTHERS=len(found) - MAX_OTHERS),
        )
    others = found[:MAX_OTHERS]
    builds = read_all(near, where, NEAR_SECONDS) + read_all(others, where, FAR_SECONDS)
    return Frameworks(builds=builds, others=others, problems=problems)
