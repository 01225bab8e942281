"""What a trial refutes: an import that reading calls impossible, and that really worked in the same environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from core.common.i18n import _, join_sentences
from core.model.facts import FrameworkTrial, Snapshot, full_id, split_id
from core.model.findings import Finding
from core.model.steps import Severity
from core.rules.frameworks.ended_imports import ENDED_ID
from core.rules.ways import THIS_SESSION

ENDED, SHADOWED = f"frameworks.{ENDED_ID}", "frameworks.shadowed-"
"""Ids about imports that end, and about a module that is in the way of a framework."""

STANDARD = "frameworks.shadowed-standard-library"
"""Id about a module in the way of one of Python's own."""


def without_refuted(found: Iterable[Finding], seen: Snapshot) -> Iterator[Finding]:
    """Yield the findings; what a trial of this session refutes for every program that it concerns becomes a note."""
    whole = {full_id(t.prefix, t.framework) for t in seen.trials or () if _worked(t)}
    imported = whole | {
        full_id(t.prefix, p.distribution) for t in seen.trials or () for p in t.packages if p.state == "imported"
    }
    programs = [t.state == "imported" for t in seen.program_trials or ()]
    all_work = bool(programs) and all(programs) and all(_worked(t) for t in seen.trials or ())
    for finding in found:
        here = not finding.ways or THIS_SESSION in finding.ways
        works = imported if finding.id.startswith(ENDED) else whole if finding.id.startswith(SHADOWED) else set()
        named = [c for c in finding.consumers if split_id(c)[1]]
        if here and all_work and finding.id == STANDARD and finding.severity is Severity.WARNING:
            why = join_sentences(
                finding.why, _("The imports of the program that was named were carried out here, and they work.")
            )
            yield replace(finding, severity=Severity.NOTE, why=why)
            continue
        if (
            here
            and finding.severity > Severity.NOTE
            and named
            and len(named) == len(finding.consumers)
            and {*named} <= works
        ):
            why = join_sentences(finding.why, _("The import was carried out here, and it works."))
            yield replace(finding, severity=Severity.NOTE, why=why)
        else:
            yield finding


def _worked(trial: FrameworkTrial) -> bool:
    """Whether a framework was imported and used to the end: one in the way lacks something of the other."""
    used = trial.reached in ("devices", "convolution")  # CTranslate2 computes nothing without a model
    return used and trial.right is not False and not (trial.problem or trial.ended)
