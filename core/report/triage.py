"""Many reports in one table: causes by count, machines by their worst, outliers; malformed files are named."""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path
from typing import Literal

import msgspec

from core.common.i18n import _, format_number
from core.common.text import printable
from core.common.text_width import pad
from core.model.facts import SCHEMA_VERSION, Frozen

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Bytes of a file that can be a report."""
MAX_SHOWN = 30
Severity = Literal["good", "note", "unknown", "warning", "error"]
SEVERITY_ORDER: tuple[Severity, ...] = ("error", "warning", "unknown", "note", "good")


# --- the few fields that are read: everything else of a report is skipped, not decoded -------------------------


class _Machine(Frozen, frozen=True, kw_only=True):
    release: str = ""
    host_name: str = ""


class _Nvml(Frozen, frozen=True, kw_only=True):
    driver_version: str | None = None


class _Gpu(Frozen, frozen=True, kw_only=True):
    name: str


class _Driver(Frozen, frozen=True, kw_only=True):
    nvml: _Nvml | None = None
    gpus: tuple[_Gpu, ...] | None = None


class _Snapshot(Frozen, frozen=True, kw_only=True):
    machine: _Machine
    driver: _Driver | None = None


class _Finding(Frozen, frozen=True, kw_only=True):
    cause: str
    severity: Severity
    title: str = ""
    primary: bool = False
    headline: bool = False


class _Report(Frozen, frozen=True, kw_only=True):
    schema: int
    snapshot: _Snapshot
    findings: tuple[_Finding, ...] = ()


# --- the table -------------------------------------------------------------------------------------------------


class MachineRow(Frozen, frozen=True, kw_only=True):
    """One machine: its file, the worst that was found, and the root cause."""

    file: str
    worst: Severity
    cause: str = ""
    title: str = ""
    system: str = ""
    driver: str = ""
    gpus: str = ""


class BadFile(Frozen, frozen=True, kw_only=True):
    """A file that is no report, and why."""

    file: str
    problem: str


class Count(Frozen, frozen=True, kw_only=True):
    """How many machines have something, and an example."""

    what: str
    machines: int
    example: str = ""


class Outlier(Frozen, frozen=True, kw_only=True):
    """A machine that differs from almost all others in one fact."""

    file: str
    what: str
    value: str
    usual: str


class TriageTable(Frozen, frozen=True, kw_only=True):
    """Everything that many reports tell together."""

    reports: int
    causes: tuple[Count, ...]
    """Root causes, commonest first."""
    worst: tuple[Count, ...]
    """Machines by the worst severity, errors first."""
    machines: tuple[MachineRow, ...]
    """Every machine, worst first."""
    outliers: tuple[Outlier, ...]
    malformed: tuple[BadFile, ...]


def triage_folder(folder: Path) -> TriageTable:
    """Read every ``*.json`` under a folder, and return the table. Links to folders are not followed.

    One process is enough: only the few fields above are decoded, and the rest is passed over at the speed of reading.
    """
    return tabulate([read_row(folder, name) for name in sorted(_files(folder))])


def _files(folder: Path) -> list[str]:
    return [
        os.path.relpath(os.path.join(at, name), folder)  # noqa: PTH118 - ten thousand names; strings are quicker
        for at, _, names in os.walk(folder)
        for name in names
        if name.lower().endswith(".json")
    ]


def read_row(folder: Path, name: str) -> MachineRow | BadFile:
    """Return the row of one file, or why it has none. Nothing but a regular file is opened."""
    try:
        path = folder / name
        seen = path.stat()
        if not stat.S_ISREG(seen.st_mode):
            return BadFile(file=name, problem=_("is not a regular file"))
        if seen.st_size > MAX_FILE_BYTES:
            return BadFile(file=name, problem=_("is larger than any report (64 MiB)"))
        report = msgspec.json.decode(path.read_bytes(), type=_Report)
    except OSError as e:
        return BadFile(file=name, problem=_("cannot be read: {strerror}", strerror=e.strerror))
    except RecursionError:
        return BadFile(file=name, problem=_("is nested more deeply than any report"))
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        return BadFile(file=name, problem=_("is no report: {e}", e=e))
    if report.schema != SCHEMA_VERSION:
        return BadFile(
            file=name,
            problem=_(
                "has schema {theirs}; this version of Convalesce reads schema {ours}",
                theirs=report.schema,
                ours=SCHEMA_VERSION,
            ),
        )
    return _row(name, report)


def _row(name: str, report: _Report) -> MachineRow:
    worst: Severity = min((f.severity for f in report.findings), key=SEVERITY_ORDER.index, default="good")
    first = next((f for f in report.findings if f.primary or f.headline), None)
    if first is None and worst in ("error", "warning"):
        first = next(f for f in report.findings if f.severity == worst)
    driver = report.snapshot.driver
    return MachineRow(
        file=name,
        worst=worst,
        cause=first.cause if first else "",
        title=first.title if first else "",
        system=report.snapshot.machine.release,
        driver=(driver.nvml.driver_version or "") if driver and driver.nvml else "",
        gpus=", ".join(sorted({g.name for g in (driver.gpus or ())})) if driver else "",
    )


def tabulate(rows: list[MachineRow | BadFile]) -> TriageTable:
    """Return the table of what was read."""
    good = [r for r in rows if isinstance(r, MachineRow)]
    causes = Counter(r.cause for r in good if r.cause)
    examples = {r.cause: r.title for r in reversed(good)}
    worst = Counter(r.worst for r in good)
    return TriageTable(
        reports=len(good),
        causes=tuple(
            Count(what=c, machines=n, example=examples[c])
            for c, n in sorted(causes.items(), key=lambda item: (-item[1], item[0]))
        ),
        worst=tuple(Count(what=w, machines=worst[w]) for w in SEVERITY_ORDER if worst[w]),
        machines=tuple(sorted(good, key=lambda r: (SEVERITY_ORDER.index(r.worst), r.file))),
        outliers=tuple(find_outliers(good)),
        malformed=tuple(sorted((r for r in rows if isinstance(r, BadFile)), key=lambda b: b.file)),
    )


def find_outliers(rows: list[MachineRow]) -> list[Outlier]:
    """Return the machines whose system, driver or GPU is that of at most one in fifty where most share another."""
    found = []
    for what in ("system", "driver", "gpus"):
        counts = Counter(getattr(r, what) for r in rows if getattr(r, what))
        if not counts or len(rows) < 5:
            continue
        usual, most = counts.most_common(1)[0]
        if most * 2 < len(rows):
            continue
        rare = {v for v, n in counts.items() if v != usual and (n == 1 or n * 50 <= len(rows))}
        found += [
            Outlier(file=r.file, what=what, value=getattr(r, what), usual=usual)
            for r in rows
            if getattr(r, what) in rare
        ]
    return found


# --- forms -----------------------------------------------------------------------------------------------------


def triage_json(table: TriageTable) -> bytes:
    """Return the table as JSON, indented, with a final line feed."""
    return msgspec.json.format(msgspec.json.encode(table), indent=2) + b"\n"


def triage_text(table: TriageTable) -> str:
    """Return the table for a terminal; ``--json`` has every machine, this the worst."""
    lines = [
        _(
            "{reports} reports; {bad} files skipped",
            reports=format_number(table.reports),
            bad=format_number(len(table.malformed)),
        )
    ]
    if table.worst:
        lines += ["", _("Machines by their worst finding")]
        lines += [f"  {c.machines:>7}  {_(c.what)}" for c in table.worst]
    if table.causes:
        lines += ["", _("Root causes")]
        lines += [f"  {c.machines:>7}  {printable(c.what)}: {_line(c.example)}" for c in table.causes]
    broken = [r for r in table.machines if r.worst in ("error", "warning")]
    if broken:
        lines += ["", _("Machines, worst first")]
        lines += [f"  {pad(_(r.worst), 8)} {_line(r.file)}: {_line(r.cause or r.title)}" for r in broken[:MAX_SHOWN]]
        lines += (
            ["  " + _("and {count} more (--json has them all)", count=len(broken) - MAX_SHOWN)]
            if len(broken) > MAX_SHOWN
            else []
        )
    if table.outliers:
        lines += ["", _("Unlike the others")]
        lines += [
            "  "
            + _(
                "{file}: {what} {value}, where most have {usual}",
                file=_line(o.file),
                what=_(o.what),
                value=_line(o.value),
                usual=_line(o.usual),
            )
            for o in table.outliers[:MAX_SHOWN]
        ]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    return printable(text).replace("\n", " ")[:160]
