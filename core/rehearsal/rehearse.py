"""Rehearse: examine the machine as a plan would leave it, with overlay folders for files. Nothing is changed.

The finding's own proof is the same examination that found it. It uses a Host with the planned variables, so every
child, roll call and search sees the planned machine. File changes are in core/rehearsal/files.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.common.i18n import _, join_sentences, translate_fact
from core.common.progress import Progress
from core.host.interface import Host
from core.host.with_environment import HostWithEnvironment
from core.model.changes import Change, FileSet
from core.model.facts import full_id, split_id
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.model.system_steps import SystemStep, take_effect_later
from core.rehearsal.files import (
    Rehearsal,
    cache_of,
    empty_cache,
    failed_rehearsal,
    not_rehearsed,
    planned_folders,
    real_names,
    rehearse_completion,
    rehearse_removal,
    successful_rehearsal,
)
from core.rehearsal.interpreters import import_problem
from core.rehearsal.planned_host import PlannedHost
from core.rules.frameworks.finding_ids import ENDED_ID
from core.rules.incomplete_scan import PROBE_SUBJECTS
from core.rules.ways import THIS_SESSION

__all__ = [
    "Examine",
    "Rehearsal",
    "compare_reports",
    "open_question",
    "planned_folders",
    "rehearse",
    "remaining_finding",
    "remaining_problem",
]

Examine = Callable[[Host], Report]


def rehearse(
    finding: Finding, report: Report, changes: tuple[Change, ...], *, host: Host, watch: Progress, examine: Examine
) -> Rehearsal:
    """Try the changes out without making them. ``report``: the one that the finding stands in.

    ``examine`` looks at a host and diagnoses what it saw. Temporary folders with links are made and removed again.
    """
    only_files = all(isinstance(c, FileSet) for c in changes)
    if (
        only_files and finding.cause == "module_shadowed"
    ):  # Python's search is determined by reading, not by running Python
        return compare_reports(finding, report, examine(PlannedHost(host, changes=changes)))
    if cache_of(changes):
        with empty_cache() as folder:
            env = {**host.fresh_environment(), "CUDA_CACHE_PATH": folder}
            said = compare_reports(finding, report, examine(HostWithEnvironment(host, env)))
        how = _("It ran with an empty folder as the cache (CUDA_CACHE_PATH).")
        return Rehearsal(works=said.works, sentence=join_sentences(said.sentence, how), loaded=said.loaded)
    if any(isinstance(c, SystemStep) for c in changes):
        if not take_effect_later(changes):
            return not_rehearsed()
        words = _("This cannot be rehearsed: it takes effect only in programs that are started afterwards.")
        return Rehearsal(works=None, sentence=words)
    if only_files and not any(i.after for c in changes if isinstance(c, FileSet) for i in c.items):
        return rehearse_removal(changes, report.snapshot, host, watch)
    if only_files and all(i.text is not None for c in changes if isinstance(c, FileSet) for i in c.items):
        return compare_reports(finding, report, examine(PlannedHost(host, changes=changes)))
    with planned_folders(changes) as moved:
        said_of_files = rehearse_completion(changes, moved, report.snapshot, host, watch)
        if said_of_files is not None:
            return said_of_files
        if only_files:
            return not_rehearsed()
        if problem := import_problem(changes, report.snapshot, host, watch):
            return failed_rehearsal(problem)
        after = examine(PlannedHost(host, changes=changes, moved=moved))
        return compare_reports(finding, report, after, real_names(changes, moved))


def compare_reports(
    finding: Finding, before: Report, after: Report, real: Mapping[str, str] | None = None
) -> Rehearsal:
    """Compare two reports: is the finding gone, and is nothing worse?"""
    still = remaining_problem(finding, before, after)
    if still:
        return failed_rehearsal(still)
    if problem := open_question(finding, before, after):
        return Rehearsal(works=None, sentence=_("It could not be rehearsed here: {problem}", problem=problem))
    mapped = [m for load in after.snapshot.loads or () if load.roll_call for m in load.roll_call.mapped]
    return successful_rehearsal(tuple(dict.fromkeys(mapped)), real or {})


def remaining_problem(finding: Finding, before: Report, after: Report) -> str:
    """Return one sentence if the finding is still there, or something became worse; empty when all is well."""
    old = {(f.id, f.subject): f.severity for f in before.findings}
    if still := remaining_finding(finding, after):
        return still
    for f in after.findings:
        if f.severity >= Severity.ERROR and f.severity > old.get((f.id, f.subject), Severity.GOOD):
            return _("It would cause another fault: {title}", title=f.title)
    return ""


def remaining_finding(finding: Finding, after: Report) -> str:
    """Return one sentence if the finding is still there, for a way of starting that it was about; empty when it is gone.

    One about every way is judged by the way that was examined: the others are examined by themselves.
    """
    its_ways = {*finding.ways} or {THIS_SESSION}
    for f in after.findings:
        still = (f.id, f.subject) == (finding.id, finding.subject) and f.severity >= finding.severity
        if still and (not f.ways or its_ways & {*f.ways}):
            return _("Still present: {title}", title=f.title)
    return ""


def open_question(finding: Finding, before: Report, after: Report) -> str:
    """Return what kept the later scan from seeing whether the finding is gone, in one sentence; empty when it saw all that decides it.

    An absent finding is gone only if the probes that it rests on came to their end.
    """
    steps, earlier = {finding.step, *finding.also}, {e.probe for e in before.snapshot.errors}
    for error in after.snapshot.errors:
        its_step, _question = PROBE_SUBJECTS.get(error.probe, (Step.ENVIRONMENT, ""))
        if error.probe in ("loads", "driver") or (error.probe not in earlier and its_step in steps):
            return translate_fact(error.message)
    homes = {split_id(c)[0] for c in finding.consumers} if finding.id.startswith(f"frameworks.{ENDED_ID}") else set()
    for one in after.snapshot.unexamined:
        if one.what == "imports" and full_id(one.path) in homes:
            return _("Time ran out before everything that {path} imports was examined.", path=one.path)
    return ""
