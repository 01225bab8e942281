"""What a person names as not working (a folder, a program, a running process), as options of a scan."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from core.common.patience import Patience, call_patiently
from core.model.findings import Report
from core.report.short_names import environment_names, place

ENVIRONMENTS = (".venv", "venv", "env")
"""Folders of a project that usually hold its environment."""
MOST_FRAMEWORKS = 2
"""Frameworks of an environment that are named in a list."""


class ScanOptions(NamedTuple):
    """What of a scan depends on what was named."""

    pythons: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
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
    if found == named and (named.isdecimal() or not _is_folder(named)):
        from core.doctor.programs import scan_options as of_program
        from core.host.this_host import this_host

        its = of_program([named], this_host())
        return ScanOptions(pythons=its.pythons, programs=its.programs, trials=bool(its.pythons))
    return ScanOptions(pythons=(found,), trials=True)


def _is_folder(named: str) -> bool:
    try:
        return Patience().run(lambda: call_patiently(os.path.isdir, named))
    except (OSError, ValueError):
        return True  # it gives no answer: the scan says so


def _environment(named: str) -> str:
    """Return the environment in a project's folder, where it has one."""
    found = (Path(named) / name for name in ENVIRONMENTS)
    return next((str(p) for p in found if (p / "pyvenv.cfg").is_file()), named)


class Choice(NamedTuple):
    """Something that the person may name, as it stands in a list. Running programs are further rows here."""

    name: str
    says: str
    """What is in it: "PyTorch 2.7.1"."""
    where: str
    named: str
    """What ``scan_options`` gets."""


def choices(report: Report) -> tuple[Choice, ...]:
    """Return the environments that were found and have a framework, those in use first."""
    names, home = environment_names(report), report.snapshot.machine.home
    rows = [r for r in report.grid.rows if r.cells] if report.grid else []
    return tuple(
        Choice(
            name=names[r.prefix],
            says=", ".join(f"{c.framework} {c.version.partition('+')[0]}" for c in r.cells[:MOST_FRAMEWORKS]),
            where=place(r.prefix, home),
            named=r.prefix,
        )
        for r in sorted(rows, key=lambda r: r.importance)
    )
