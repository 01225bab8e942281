"""Compare one computer before and after a cure: faults that are gone, remaining faults, changed facts."""

from __future__ import annotations

from core.common.i18n import _
from core.model.findings import Report
from core.report.compare import compare_reports


def before_after(before: Report, after: Report) -> tuple[str, ...]:
    """Return a line for each fault that is gone, new or still there, and for each fact that differs."""
    made = compare_reports(after, before)
    order = ("there", "here", "both")
    faults = (_fault(c.where, c.title) for c in sorted(made.causes, key=lambda c: order.index(c.where)))
    facts = (_("{what}: before {old}, now {new}", what=d.what, old=d.there, new=d.here) for d in made.differences)
    return (*faults, *facts)


def _fault(where: str, title: str) -> str:
    if where == "both":
        return _("Still there: {what}", what=title)
    return _("Gone: {what}", what=title) if where == "there" else _("New: {what}", what=title)
