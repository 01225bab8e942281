"""What a person may name as not working: environments that were found, running programs, and project folders."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from core.common.i18n import _
from core.common.patience import Patience, call_patiently
from core.model.findings import Report
from core.report.short_names import environment_names, environment_place

ENVIRONMENTS = (".venv", "venv", "env")
"""Folders of a project that usually hold its environment."""
MIN_FAR = 2
"""Importance from which an environment is neither named nor active."""
RUNNING = ("python", "ollama", "jupyter", "ipython", "llama-server", "blender", "ffmpeg")
"""Prefixes of the names of programs that may use the GPU."""
MOST_RUNNING = 6
MOST_FRAMEWORKS = 2
"""Most frameworks of an environment that a list names."""


def environment_in(named: str) -> str:
    """Return the environment in a project's folder, where it has one, else what was named. Looks at the disk."""
    try:
        return Patience().run(lambda: call_patiently(_environment, named))
    except (OSError, ValueError):
        return named  # the scan says what is wrong with it


def _environment(named: str) -> str:
    found = (Path(named) / name for name in ENVIRONMENTS)
    return next((str(p) for p in found if (p / "pyvenv.cfg").is_file()), named)


class Choice(NamedTuple):
    """Something that the person may name, as a list shows it."""

    name: str
    says: str
    """What is in it: "PyTorch 2.7"."""
    where: str
    named: str
    """What ``core.doctor.programs.sort_chosen`` gets: a path, or a process' number."""


def environment_choices(report: Report) -> tuple[Choice, ...]:
    """Return the environments that were found and have a framework, or are in use; those in use first."""
    names, home = environment_names(report), report.snapshot.machine.home
    rows = [r for r in report.grid.rows if r.cells or r.importance < MIN_FAR] if report.grid else []
    return tuple(
        Choice(
            name=names[r.prefix],
            says=", ".join(f"{c.framework} {short_version(c.version)}" for c in r.cells[:MOST_FRAMEWORKS]),
            where=environment_place(r.prefix, home),
            named=r.prefix,
        )
        for r in sorted(rows, key=lambda r: r.importance)
    )


def running_choices() -> tuple[Choice, ...]:
    """Return the person's own programs that run now and may use the GPU; looks at /proc, and is empty on Windows."""
    from core.host.linux.processes import own_programs

    found = {p.name: p for p in own_programs(RUNNING)}
    return tuple(Choice(p.name, _("running now"), p.command, str(p.pid)) for p in found.values())[:MOST_RUNNING]


def short_version(version: str) -> str:
    """Return the short form of a version: "2.6" for 2.6.0+cu124."""
    return ".".join(version.partition("+")[0].split(".")[:2])
