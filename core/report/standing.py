"""The state of each step: the worst of its findings, of those with a cause in it, and of its rows."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _, join_sentences, n_
from core.model.facts import Snapshot, full_id, split_id
from core.model.findings import GridCell, GridRow, Report
from core.model.steps import Severity, Step

ACTIVE_IMPORTANCE, EXAMINED_IMPORTANCE = 1, 3
"""Importance of an active environment, and of any that was examined in full."""


def step_standing(report: Report, step: Step) -> tuple[Severity, str]:
    """Return the state of a step, and one plain sentence about it."""
    findings = report.findings_for(step)
    worst = max((f.severity for f in findings), default=Severity.GOOD)
    cell, says = max(_cells(report), key=lambda row: row[0], default=(Severity.GOOD, ""))
    if step is Step.FRAMEWORKS and cell > max(worst, Severity.NOTE):
        return cell, says
    if worst >= Severity.UNKNOWN:
        first = next(f for f in findings if f.severity is worst)
        more = sum(f.severity >= Severity.WARNING for f in findings) - (worst >= Severity.WARNING)
        return worst, first.title + (" " + n_("({n} more below)", "({n} more below)", more) if more else "")
    if step is Step.BENCHMARK and not findings:
        return Severity.NOTE, _("Not run yet; press the button to get this last proof.")
    if not looked_at(report.snapshot, step):
        return Severity.UNKNOWN, join_sentences(_("This was not examined."), _("Scan again to find out."))
    # a note alone does not mean good: there may be nothing that could be good
    for severity in (Severity.GOOD, Severity.NOTE):
        titles = [f.title for f in findings if f.severity is severity]
        if titles:
            return severity, titles[0]
    return Severity.GOOD, _("Nothing wrong was found here.")


def looked_at(snapshot: Snapshot, step: Step) -> bool:
    """Whether the step's own section of the Snapshot is there."""
    section: dict[Step, object] = {
        Step.DRIVER: snapshot.driver,
        Step.TOOLKIT: snapshot.toolkits,
        Step.CUDNN: snapshot.cudnn,
        Step.ENVIRONMENT: snapshot.environment,
        Step.FRAMEWORKS: snapshot.pythons,
        Step.BENCHMARK: snapshot.benchmark,
    }
    return section.get(step) is not None


def machine_standing(report: Report) -> Severity:
    """Return the state of the machine: that of its worst examined step."""
    steps = (step_standing(report, s)[0] for s in Step if looked_at(report.snapshot, s))
    return max((report.worst_severity, *steps))


def in_place(report: Report) -> bool:
    """Whether a GPU can really be used here: no fault, and both driver and cuDNN were found good."""
    proved = (Step.DRIVER, Step.CUDNN)
    return machine_standing(report) <= Severity.NOTE and all(
        step_standing(report, s)[0] is Severity.GOOD and report.findings_for(s) for s in proved
    )


def cell_severity(report: Report, row: GridRow, cell: GridCell) -> Severity:
    """Return the severity of a cell of the grid: that of its finding, else by the importance of the environment."""
    if cell.verdict in ("runs", "should run"):
        return Severity.GOOD
    if row.importance > EXAMINED_IMPORTANCE:
        return Severity.NOTE
    mine = full_id(row.prefix)
    told = [
        f.severity for f in report.findings if f.id == cell.finding and mine in (split_id(c)[0] for c in f.consumers)
    ]
    if told or cell.verdict != "cannot run":
        return max(told, default=Severity.NOTE)
    return Severity.ERROR if row.importance <= ACTIVE_IMPORTANCE else Severity.WARNING


def _cells(report: Report) -> Iterator[tuple[Severity, str]]:
    """Yield the state of each cell of the grid, with a sentence."""
    from core.report.grid import verdict_word

    for row in report.grid.rows if report.grid else ():
        for cell in row.cells:
            says = _(
                "{framework} {version} in {prefix}: {verdict}.",
                framework=cell.framework,
                version=cell.version,
                prefix=row.prefix,
                verdict=verdict_word(cell.verdict),
            )
            yield cell_severity(report, row, cell), join_sentences(says, cell.reason)
