"""The table: causes by count, machines by worst finding, outliers, differences, and files that are not reports."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable

from core.common.i18n import _, n_
from core.common.text import printable
from core.common.text_width import pad
from core.model.facts import Frozen
from core.report.triage.differences import Difference, Tally, group_differences, peer_differences
from core.report.triage.reading import SEVERITY_ORDER, BadFile, Item, ReadReport, Severity, settings_of

MAX_SHOWN = 30
MOST_CAUSES = 5
"""Number of the commonest causes for which the table shows what distinguishes their machines."""


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


class CauseDifferences(Frozen, frozen=True, kw_only=True):
    """What distinguishes the machines of one cause from those with nothing worse than a note."""

    cause: str
    differences: tuple[Difference, ...]


class TriageTable(Frozen, frozen=True, kw_only=True):
    """The summary of many reports."""

    reports: int
    causes: tuple[Count, ...]
    """Root causes, commonest first."""
    worst: tuple[Count, ...]
    """Machines by the worst severity, errors first."""
    machines: tuple[MachineRow, ...]
    """Every machine, worst first."""
    outliers: tuple[Outlier, ...]
    malformed: tuple[BadFile, ...]
    apart: tuple[CauseDifferences, ...] = ()
    """For each of the commonest causes, what distinguishes its machines from the healthy ones."""


def tabulate_reports(items: Iterable[Item]) -> TriageTable:
    """Return the table, reading one report at a time. One process is enough: only a few fields are decoded, and the
    rest is skipped at reading speed (0.2 ms of processor time for a report of 125 kB). Only a row per machine and
    counts are kept in memory.
    """
    rows: list[MachineRow] = []
    bad: list[BadFile] = []
    causes: Counter[str] = Counter()
    worst: Counter[str] = Counter()
    examples: dict[str, str] = {}
    healthy, sick = Tally(), defaultdict[str, Tally](Tally)
    for name, read in items:
        if isinstance(read, BadFile):
            bad.append(read)
            continue
        row = _row(name, read)
        rows.append(row)
        worst[row.worst] += 1
        if row.cause:
            causes[row.cause] += 1
            examples.setdefault(row.cause, row.title)
        if is_healthy(read):
            healthy.add(settings_of(read))
        elif row.cause:
            sick[row.cause].add(settings_of(read))
    commonest = sorted(causes.items(), key=lambda item: (-item[1], item[0]))
    apart = ((cause, group_differences(sick[cause], healthy)) for cause, _n in commonest[:MOST_CAUSES])
    return TriageTable(
        reports=len(rows),
        causes=tuple(Count(what=c, machines=n, example=examples[c]) for c, n in commonest),
        worst=tuple(Count(what=w, machines=worst[w]) for w in SEVERITY_ORDER if worst[w]),
        machines=tuple(sorted(rows, key=lambda r: (SEVERITY_ORDER.index(r.worst), r.file))),
        outliers=tuple(find_outliers(rows)),
        malformed=tuple(sorted(bad, key=lambda b: b.file)),
        apart=tuple(CauseDifferences(cause=c, differences=d) for c, d in apart if d),
    )


def is_healthy(report: ReadReport) -> bool:
    """Whether a machine can serve as a peer: nothing worse than a note was found."""
    return report.worst in ("note", "good")


def machine_differences(items: Iterable[Item], machine: ReadReport) -> tuple[Difference, ...]:
    """Return what distinguishes one machine from the healthy ones among the others."""
    healthy = Tally()
    for _name, read in items:
        if isinstance(read, ReadReport) and is_healthy(read):
            healthy.add(settings_of(read))
    return peer_differences(settings_of(machine), healthy)


def _row(name: str, report: ReadReport) -> MachineRow:
    first = report.leading
    return MachineRow(
        file=name,
        worst=report.worst,
        cause=sys.intern(first.cause) if first else "",
        title=sys.intern(first.title) if first else "",
        system=sys.intern(report.snapshot.machine.release),
        driver=sys.intern(report.driver_version),
        gpus=sys.intern(report.gpu_names),
    )


def find_outliers(rows: list[MachineRow]) -> list[Outlier]:
    """Return the machines whose system, driver or GPU at most one in fifty machines has, while most share another."""
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


def triage_text(table: TriageTable) -> str:
    """Return the table for a terminal; ``--json`` has every machine, this the worst."""
    lines = [
        n_("{n} report", "{n} reports", table.reports)
        + "; "
        + n_("{n} file was skipped", "{n} files were skipped", len(table.malformed))
    ]
    if not table.reports:
        lines.append(_("A report is what `convalesce scan --json` prints: a file *.json, or a line of a file *.jsonl."))
    if table.worst:
        lines += ["", _("Machines by worst finding")]
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
    for one in table.apart:
        lines += ["", _("More frequent on machines with {cause} than on healthy ones", cause=printable(one.cause))]
        lines += difference_lines(one.differences)
    return "\n".join(lines) + "\n"


def difference_lines(differences: Iterable[Difference]) -> list[str]:
    """Return differences for a terminal, a line each."""
    return [
        "  "
        + _(
            "{setting}: {value} ({sick} of {of_sick}; healthy: {healthy} of {of_healthy})",
            setting=_line(d.setting),
            value=_line(d.value),
            sick=d.sick,
            of_sick=d.of_sick,
            healthy=d.healthy,
            of_healthy=d.of_healthy,
        )
        for d in differences
    ]


def _line(text: str) -> str:
    return printable(text).replace("\n", " ")[:160]
