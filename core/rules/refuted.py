"""What a trial refutes: an import or a cuDNN that by reading cannot work, and that really worked in the same environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from core.common.i18n import _, join_sentences
from core.model.facts import FrameworkTrial, Snapshot, full_id, is_part_of, split_id
from core.model.findings import Finding
from core.model.steps import Severity
from core.rules.frameworks.finding_ids import ENDED_ID
from core.rules.snapshot_queries import cudnn_mapped
from core.rules.ways import THIS_SESSION

ENDED, SHADOWED = f"frameworks.{ENDED_ID}", "frameworks.shadowed-"
"""Ids about imports that end, and about a module that is in the way of a framework."""

STANDARD = "frameworks.shadowed-standard-library"
"""Id about a module in the way of one of Python's own."""

OVERRIDDEN = "cudnn.overridden-by-variable"
"""Id about a variable that puts another cuDNN before the environment's own."""


def without_refuted(found: Iterable[Finding], seen: Snapshot) -> Iterator[Finding]:
    """Yield the findings; what a trial of this session refutes for every program that it concerns becomes a note.

    A finding about the cuDNN that is found first no longer concerns the frameworks that computed with it.
    """
    trials = seen.trials or ()
    whole = {full_id(t.prefix, t.framework) for t in trials if _worked(t)}
    imported = whole | {full_id(t.prefix, p.distribution) for t in trials for p in t.packages if p.state == "imported"}
    computed = [
        full_id(t.prefix, t.framework) for t in trials if _worked(t) and t.gpu and t.right and _used_override(t)
    ]
    programs = [t.state == "imported" for t in seen.program_trials or ()]
    all_work = bool(programs) and all(programs) and all(_worked(t) for t in trials)
    for finding in found:
        here = not finding.ways or THIS_SESSION in finding.ways
        if not here or finding.severity <= Severity.NOTE:
            yield finding
        elif finding.id == STANDARD and finding.severity is Severity.WARNING and all_work:
            yield _as_note(finding, _("The imports of the named program were run here, and work."))
        elif finding.id == OVERRIDDEN and computed:
            left = tuple(c for c in finding.consumers if not any(is_part_of(c, its) for its in computed))
            yield (
                replace(finding, consumers=left)
                if left
                else _as_note(
                    finding, _("A convolution ran on the GPU with these files here, and its result is right.")
                )
            )
        elif (finding.id.startswith(ENDED) and _concerns_only(finding, imported)) or (
            finding.id.startswith(SHADOWED) and _concerns_only(finding, whole)
        ):
            yield _as_note(finding, _("The same import was run here, and works."))
        else:
            yield finding


def _as_note(finding: Finding, why: str) -> Finding:
    return replace(finding, severity=Severity.NOTE, why=join_sentences(finding.why, why))


def _concerns_only(finding: Finding, some: set[str]) -> bool:
    """Whether a finding concerns packages that it names, and they are all among these."""
    return bool(finding.consumers) and all(split_id(c)[1] and c in some for c in finding.consumers)


def _used_override(trial: FrameworkTrial) -> bool:
    """Whether the process had mapped a cuDNN that LD_LIBRARY_PATH leads to."""
    return any(m.origin == "LD_LIBRARY_PATH" for m in cudnn_mapped(trial.mapped))


def _worked(trial: FrameworkTrial) -> bool:
    """Whether a framework was imported and used to the end: one in the way lacks something of the other."""
    used = trial.reached in ("devices", "convolution")  # CTranslate2 computes nothing without a model
    return used and trial.right is not False and not (trial.problem or trial.ended)
