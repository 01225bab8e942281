"""Examine: scan a machine and diagnose it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from msgspec.structs import replace

from core import __version__
from core.common.i18n import _
from core.common.progress import Progress
from core.host.interface import Host
from core.model.facts import Snapshot
from core.model.findings import Finding, Report
from core.model.scan_options import DEFAULT_SCAN, ScanOptions
from core.model.steps import Step

if TYPE_CHECKING:
    from core.explain import Explanation
    from core.rules.reused_runs import RuleRuns


def examine(host: Host, watch: Progress, options: ScanOptions = DEFAULT_SCAN) -> Report:
    """Scan the machine and diagnose it. ``options.steps`` limits both, but the headline is kept whatever its step."""
    from core.doctor.scan import take_snapshot

    begun: list[RuleRuns] = []

    def begin(seen: Snapshot) -> None:
        from core.rules import root_cause

        begun.append(root_cause.begin(seen))

    snapshot = take_snapshot(host, watch, options, preload=preload_rules, meanwhile=begin)
    watch.say(_("Finding the cause"))
    return diagnose_snapshot(snapshot, options.steps, *begun)


def diagnose_again(report: Report) -> Report:
    """Return a report whose Snapshot is diagnosed again, by these rules and in the current language."""
    return replace(diagnose_snapshot(report.snapshot), taken_out=report.taken_out, history=report.history)


def with_findings(report: Report) -> Report:
    """Return a report with findings: a recorded Snapshot may have none, and would seem healthy."""
    return report if report.findings else replace(report, findings=diagnose_snapshot(report.snapshot).findings)


def preload_rules() -> None:
    """Import what comes after a scan: what ``diagnose_snapshot`` needs, and what a report is written with."""
    import core.doctor.history
    import core.doctor.report_share
    import core.fixes.already_made
    import core.fixes.catalogue
    import core.report.json_form
    import core.report.redact
    import core.rules.frameworks.grid
    import core.rules.root_cause  # noqa: F401 - for the one after


def preload_explain() -> None:
    """Import and read what ``explain_text`` needs."""
    preload_rules()
    from core.knowledge.messages import known_clues, known_messages
    from core.knowledge.words import word_table

    known_messages(), known_clues(), word_table()


def diagnose_snapshot(snapshot: Snapshot, steps: Collection[Step] = (), begun: RuleRuns | None = None) -> Report:
    """Diagnose a Snapshot, from this machine or another. ``begun``: the rules' runs before it was complete."""
    from core.fixes.already_made import without_made_changes
    from core.fixes.catalogue import attach_changes
    from core.rules.frameworks.grid import make_grid
    from core.rules.guard import run_guarded
    from core.rules.root_cause import diagnose, worst_first

    failures: list[Finding] = []

    def with_fix(finding: Finding) -> Finding:
        name = f"fixes.{finding.id}"
        fixed = run_guarded(lambda: attach_changes(finding, snapshot), name, failures, finding, finding.step)
        return without_made_changes(fixed, snapshot)

    findings = tuple(map(with_fix, diagnose(snapshot, begun)))
    table = None
    if snapshot.pythons is not None:
        table = run_guarded(lambda: make_grid(snapshot, findings), "grid", failures, None, Step.FRAMEWORKS)
    report = Report(snapshot=snapshot, findings=worst_first((*findings, *failures)), grid=table, version=__version__)
    if steps:
        kept = (f for f in report.findings if f.headline or {f.step, *f.also} & {*steps} or f in report.not_examined)
        report = replace(report, findings=tuple(kept))
    return report


def explain_text(
    text: str,
    seen: Snapshot | None,
    host: Callable[[], Host] | None,
    watch: Progress,
    options: ScanOptions = DEFAULT_SCAN,
) -> tuple[Explanation, Snapshot | None]:
    """Explain an error text by a ``seen`` Snapshot, else by a scan of ``host``; without either, by the text alone."""
    if seen is None and host is not None:
        from core.doctor.scan import take_snapshot

        seen = take_snapshot(host(), watch, options, preload=preload_explain)
    from core.explain import explain

    findings = diagnose_snapshot(seen).findings if seen is not None else ()
    return explain(text, seen, findings), seen
