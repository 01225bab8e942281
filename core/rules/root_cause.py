"""Diagnose: run every rule on a Snapshot, order the findings, and name the one root cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from core.knowledge.causes import UNKNOWN_CAUSE_RANK, cause_ranks
from core.model.facts import Snapshot, full_id, split_id
from core.model.findings import Finding
from core.model.paths import normalise
from core.model.steps import Severity, Step
from core.rules.consumer_loads import environment_rank
from core.rules.every_rule import RULES
from core.rules.frameworks.finding_ids import ENDED_ID, LIBRARIES_ID, OF_WHOLE_VARIABLES
from core.rules.frameworks.libraries.findings import imported_packages
from core.rules.frameworks.libraries.one_card import join_cards
from core.rules.frameworks.tried_imports import CAUSES_OF_IMPORTS
from core.rules.gone_files import with_gone_files
from core.rules.ignored_lines import with_ignored_lines
from core.rules.own_path import with_own_path
from core.rules.refuted import without_refuted
from core.rules.reused_runs import RuleRuns
from core.rules.undecided import deciding_steps
from core.rules.ways import with_other_ways

PLAIN_IMPORTANCE, NOBODY_IMPORTANCE = 2, 3
"""Importance of a fault for programs on the search path, and of a fault that concerns no one in particular."""

UNUSED_ID_STARTS = "cudnn.unused-", "toolkit.unused-", "cudnn.header-differs"
"""Prefixes of ids about things that no examined program loads: never primary."""

ALL_IN_ORDER_ID = "environment.in-order"
"""Id of the finding about a whole step, which applies only if nothing in the step is at fault."""

TRIED = "frameworks.trial-"
"""Prefix of the ids of real trials: they lead before another cause inferred from files, but not before the same one."""

DRIVER_EXPLAINS = ("cudnn.roll-call-failed", "driver.cuda-init", "benchmark.ladder-driver", "benchmark.ladder-device")
"""Ids that any fault of the driver explains."""


def begin(snapshot: Snapshot) -> RuleRuns:
    """Run the rules on a Snapshot of which sections are still missing, for ``diagnose``."""
    return RuleRuns(RULES, snapshot)


def diagnose(snapshot: Snapshot, begun: RuleRuns | None = None) -> tuple[Finding, ...]:
    """Return all findings, the headline first, then worst first. The headline is the primary, or a fault with an open cause.

    A rule that fails is a finding, too.
    """
    runs = begun.on(snapshot) if begun else begin(snapshot)

    def collect(seen: Snapshot) -> list[Finding]:
        # without duplicates, and with one finding for all that a consumer's own binaries lack
        return join_cards(_without_duplicates(runs.findings(seen)), seen)

    found = with_other_ways(collect(snapshot), snapshot, collect)
    found = with_own_path(with_gone_files(without_refuted(found, snapshot), snapshot), snapshot)
    found = with_ignored_lines(found, snapshot)
    head = _headline(found, importance_of_findings(snapshot))
    if head is not None and head.cause:
        found = [mark_consequences(f, head) for f in found]
    elif head is not None:
        found = [replace(f, headline=True) if f is head else f for f in found]
    if any(f.severity >= Severity.WARNING and Step.ENVIRONMENT in (f.step, *f.also) for f in found):
        found = [f for f in found if f.id != ALL_IN_ORDER_ID]
    return worst_first(_with_what_decides(f, snapshot) for f in found)


def worst_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings worst first, the headline before all."""
    steps = list(Step)
    return tuple(sorted(found, key=lambda f: (not f.headline, -f.severity, bool(f.follows_from), steps.index(f.step))))


def _without_duplicates(findings: Iterable[Finding]) -> list[Finding]:
    """Keep one finding of each identity (id and subject): the worst."""
    kept: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        old = kept.get((finding.id, finding.subject))
        if old is None or finding.severity > old.severity:
            kept[finding.id, finding.subject] = finding
    return list(kept.values())


def may_lead(finding: Finding) -> bool:
    """Whether a finding can be the headline: a fault in something that is used."""
    fault = not finding.cause or cause_ranks().get(finding.cause, UNKNOWN_CAUSE_RANK) is not None
    return finding.severity >= Severity.WARNING and fault and not finding.id.startswith(UNUSED_ID_STARTS)


def importance_of_findings(snapshot: Snapshot) -> Callable[[Finding], int]:
    """Return a function for the importance of a finding's consumers: 0 if named, 1 if active, 2 if on the search path.

    A fault of the driver concerns every program, and so the most important environment that uses a GPU.
    """
    system = snapshot.machine.system
    users = (*(load.consumer.prefix for load in snapshot.loads or ()), *(t.prefix for t in snapshot.trials or ()))
    using = {normalise(system, prefix) for prefix in (*users, *(b.prefix for b in snapshot.builds)) if prefix}
    best = min((environment_rank(snapshot, prefix) for prefix in using), default=NOBODY_IMPORTANCE)
    known = {full_id(p.prefix): environment_rank(snapshot, p.prefix) for p in snapshot.pythons or ()} | {
        "plain": PLAIN_IMPORTANCE
    }

    def importance(finding: Finding) -> int:
        nobody = best if finding.step is Step.DRIVER else NOBODY_IMPORTANCE
        return min((known.get(split_id(c)[0], NOBODY_IMPORTANCE) for c in finding.consumers), default=nobody)

    return importance


def _headline(found: list[Finding], importance: Callable[[Finding], int]) -> Finding | None:
    """Return the finding that leads the report: the first root cause from which all more urgent findings follow, if
    there is one.

    Else the most urgent fault, whose cause then is undecided.
    """
    faults = [f for f in found if may_lead(f)]
    press = {id(f): (importance(f), -f.severity) for f in faults}
    for root in (f for f in faults if f.id in FRAMEWORK_ELSEWHERE):  # mild by itself, but the origin of a worse one
        more = [f for f in faults if press[id(f)] < press[id(root)]]
        if any(f.cause == "extension_abi_mismatch" for f in more) and all(is_consequence(f, root) for f in more):
            return root
    read = {f.cause for f in faults if not _was_tried(f)}
    faults.sort(
        key=lambda f: (
            press[id(f)],
            _root_rank(f),
            not _was_tried(f) or f.cause in read,
            f.id not in OF_WHOLE_VARIABLES,
        )
    )
    for root in faults:
        more = [f for f in faults if press[id(f)] < press[id(root)]]
        known = root.cause or (more and root.step is Step.DRIVER)  # Without CUDA, its consequences do not lead either.
        if known and all(is_consequence(f, root) for f in more):
            return root
    return faults[0] if faults else None


def _root_rank(finding: Finding) -> int:
    """Return a cause's rank from root to leaf; a cause that ends an import ranks before everything later in the program."""
    rank = cause_ranks().get(finding.cause) or UNKNOWN_CAUSE_RANK
    if finding.cause and _ends_an_import(finding):
        return min(rank, cause_ranks().get("installation_interrupted") or rank)
    return (cause_ranks().get(finding.cause) or UNKNOWN_CAUSE_RANK) if finding.cause else UNKNOWN_CAUSE_RANK + 1


def _was_tried(finding: Finding) -> bool:
    """Whether a finding is about a trial that failed, and names the cause."""
    return finding.id.startswith(TRIED) and finding.cause in CAUSES_OF_IMPORTS


def _ends_an_import(finding: Finding) -> bool:
    name = finding.id.partition(".")[2]
    return (
        _was_tried(finding) or name.startswith(ENDED_ID) or name in {f"{LIBRARIES_ID}{p}" for p in imported_packages()}
    )


def mark_consequences(finding: Finding, primary: Finding) -> Finding:
    """Mark the primary finding and those that follow from it."""
    if finding is primary:
        return replace(finding, primary=True, headline=True)
    return replace(finding, follows_from=primary.id) if is_consequence(finding, primary) else finding


FRAMEWORK_ELSEWHERE = frozenset(f"frameworks.shadowed-{name}" for name in ("torch", "tensorflow", "jax"))
OF_TWO_RELEASES = ("extension_abi_mismatch", "requirement_broken", "cudnn_shadowed")
"""Causes that appear in an environment whose framework is imported from elsewhere; reinstalling a package does not help."""


def is_consequence(finding: Finding, primary: Finding) -> bool:
    """Whether a finding is a consequence of the primary."""
    if finding.severity < Severity.UNKNOWN or finding.id == primary.id:
        return False
    same = _share_consumer(finding, primary)
    dead = primary.step is Step.DRIVER and primary.severity is Severity.ERROR and (same or not primary.consumers)
    by_driver = dead and finding.id in DRIVER_EXPLAINS
    on_its_files = bool(set(finding.all_subjects) & set(primary.all_subjects))
    by_files = primary.step is Step.CUDNN and (same or on_its_files) and finding.step in (Step.CUDNN, Step.BENCHMARK)
    lacking = primary.id.partition(".")[2].startswith(LIBRARIES_ID) and same
    by_files = by_files or (lacking and finding.step in (Step.CUDNN, Step.TOOLKIT, Step.BENCHMARK))
    near = {split_id(c)[0] for c in finding.consumers} & {split_id(c)[0] for c in primary.consumers}
    ended = primary.id.partition(".")[2].startswith(ENDED_ID) and same
    unfit = primary.cause == "extension_abi_mismatch" and bool(near)
    by_files = by_files or ((lacking or unfit or ended) and finding.cause == "requirement_broken")
    mixed = finding.cause in OF_TWO_RELEASES or finding.id.startswith("frameworks.tool-")
    by_files = by_files or (primary.id in FRAMEWORK_ELSEWHERE and bool(near) and mixed)
    tried = finding.id.startswith(TRIED) and not finding.cause and finding.severity <= primary.severity
    by_driver = by_driver or (tried and dead)
    imported = _was_tried(finding) and finding.cause == primary.cause
    by_files = by_files or ((tried or imported) and same)
    by_driver = by_driver or (primary.cause == "driver_too_old" == finding.cause)
    by_search = finding.id == "cudnn.roll-call-failed" and primary.step is Step.ENVIRONMENT and same
    by_path = finding.id == "environment.broken-entry" and primary.cause.endswith("_not_on_search_path")
    by_path = by_path or (primary.id in OF_WHOLE_VARIABLES and same and finding.cause.endswith("_not_on_search_path"))
    return by_driver or by_files or by_search or by_path


def _share_consumer(one: Finding, other: Finding) -> bool:
    """Whether two findings concern the same consumer; a finding about an environment concerns each framework in it."""
    theirs = [split_id(c) for c in other.consumers]
    return any(
        mine == its and (not framework or not name or framework == name)
        for mine, framework in map(split_id, one.consumers)
        for its, name in theirs
    )


def _with_what_decides(finding: Finding, snapshot: Snapshot) -> Finding:
    """Add to an undecided finding the steps that would decide it, if it has none."""
    is_open = finding.severity is Severity.UNKNOWN or (finding.headline and not finding.primary)
    return replace(finding, fix=deciding_steps(finding, snapshot)) if is_open and finding.fix is None else finding
