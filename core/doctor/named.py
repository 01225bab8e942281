"""What a person names as not working (a folder, a program, a running process), as options of a scan."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from core.common.patience import Patience, call_patiently
from core.model.findings import Report
from core.report.short_names import environment_names, place

ENVIRONMENTS = (".venv", "venv", "env")
"""Folders of a project that usually hold its environment."""
MIN_FAR = 2
"""Importance from which an environment is neither named nor active."""
MOST_FRAMEWORKS = 2
"""Frameworks of an environment that are named in a list."""


class ScanOptions(NamedTuple):
    """What of a scan depends on what was named."""

    pythons: tuple[str, ...] = ()
    trials: bool = False
    """Whether its frameworks are started: the person named them."""


def scan_options(named: str) -> ScanOptions:
    """Return how to look at what was named; empty text is the whole computer. Looks at the disk."""
    if not named:
        return ScanOptions()
    try:
        found = Patience().run(lambda: call_patiently(_environment, named))
    except (OSError, ValueError):
        found = named  # the scan says what is wrong with it
    return ScanOptions(pythons=(found,), trials=True)


def _environment(named: str) -> str:
    """Return the environment in a project's folder, where it has one."""
    found = (Path(named) / name for name in ENVIRONMENTS)
    return next((str(p) for p in found if (p / "pyvenv.cfg").is_file()), named)


class Choice(NamedTuple):
    """Something that the person may name, as it stands in a list. Running programs are further rows here."""

    name: str
    says: str
    """What is in it: "PyTorch 2.7"."""
    where: str
    named: str
    """What ``scan_options`` gets."""


def choices(report: Report) -> tuple[Choice, ...]:
    """Return the environments that were found and have a framework, or are in use; those in use first."""
    names, home = environment_names(report), report.snapshot.machine.home
    rows = [r for r in report.grid.rows if r.cells or r.importance < MIN_FAR] if report.grid else []
    return tuple(
        Choice(
            name=names[r.prefix],
            says=", ".join(f"{c.framework} {short_version(c.version)}" for c in r.cells[:MOST_FRAMEWORKS]),
            where=place(r.prefix, home),
            named=r.prefix,
        )
        for r in sorted(rows, key=lambda r: r.importance)
    )


def short_version(version: str) -> str:
    """Return a version as people say it: "2.6" for 2.6.0+cu124."""
    return ".".join(version.partition("+")[0].split(".")[:2])
