"""Conclusions: Evidence, Finding, Fix, and the Report that holds them all."""

from __future__ import annotations

from typing import Literal

from core.model.changes import Change
from core.model.facts import Frozen, Snapshot
from core.model.remedies import Remedy
from core.model.steps import Severity, Step


class Evidence(Frozen, frozen=True, kw_only=True):
    """One observation: what it is, its value, and its source."""

    label: str
    value: str
    source: str = ""


Restart = Literal["", "program", "terminal", "session", "computer"]
"""What to restart before a fix takes effect."""


class Fix(Frozen, frozen=True, kw_only=True):
    """A cure: what Convalesce would change by itself, or exact steps for the person (``advice``)."""

    title: str
    changes: tuple[Change, ...] = ()
    advice: str = ""
    restart: Restart = ""


class Finding(Frozen, frozen=True, kw_only=True):
    """One conclusion about one subject. ``(id, subject)`` is its identity between two examinations."""

    id: str
    """"step.words-with-dashes"; never translated."""
    cause: str
    """A word of resources/knowledge/causes.json; empty for a finding that names no fault."""
    step: Step
    severity: Severity
    title: str
    """One plain sentence."""
    why: str = ""
    """Why it matters, or how it follows; two or three plain sentences."""
    subject: str = ""
    """What it is about: a folder, a file, a variable, a GPU."""
    subjects: tuple[str, ...] = ()
    """All that it is about, ``subject`` first, where that is more than one thing."""
    consumers: tuple[str, ...] = ()
    """Whom it concerns: ``Consumer.full_id`` of each; empty for a fault that concerns no one in particular."""
    ways: tuple[str, ...] = ()
    """If the finding does not hold for every way of starting a program: ``Start.id`` of those for which it does, and
    "process" for this session."""
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | None = None
    primary: bool = False
    also: tuple[Step, ...] = ()
    """Further steps to which it belongs: those of its cause."""
    headline: bool = False
    """Whether the report leads with it: the primary, or else the most important fault, whose cause is then not decided."""
    follows_from: str = ""
    """``id`` of the finding that explains this one."""
    remedy: Remedy | None = None
    """What would cure it, if the rule knows. A report has none left: core/fixes/catalogue.py has turned it into a fix."""

    @property
    def all_subjects(self) -> tuple[str, ...]:
        """Everything that it is about."""
        return self.subjects or ((self.subject,) if self.subject else ())


Verdict = Literal["runs", "should run", "cpu only", "cannot run", "not decided"]
"""runs: it convolved on the GPU in a trial. should run: everything examined indicates so. cpu only: it uses no GPU."""


class GridCell(Frozen, frozen=True, kw_only=True):
    """Whether one framework of one environment will use this machine's GPU, and why."""

    framework: str
    """The column: "PyTorch"."""
    distribution: str
    version: str
    verdict: Verdict
    reason: str
    """One sentence."""
    finding: str = ""
    """``id`` of the finding that says more; its subject is the environment."""


class GridRow(Frozen, frozen=True, kw_only=True):
    """One environment."""

    prefix: str
    executable: str
    python: str
    kind: str
    found_by: str
    importance: int = 3
    """0 named, 1 active, 2 on the search path, 3 any other that was examined in full, 4 only listed."""
    problem: str = ""
    cells: tuple[GridCell, ...] = ()


class CompatibilityGrid(Frozen, frozen=True, kw_only=True):
    """All environments, those that were named or are active first, and which one to use for what."""

    columns: tuple[str, ...] = ()
    """Frameworks that at least one environment has."""
    rows: tuple[GridRow, ...] = ()
    best: tuple[tuple[str, str], ...] = ()
    """Framework and the environment to use for it; none where nothing runs it on a GPU."""


class Redaction(Frozen, frozen=True, kw_only=True):
    """A kind of name or identifier that was replaced by placeholders, and in how many places."""

    kind: str
    places: int


class HistoryEntry(Frozen, frozen=True, kw_only=True):
    """One entry of the history: what was changed on the machine, and what became of it."""

    id: str = ""
    made: str = ""
    """ISO 8601 time, UTC."""
    title: str
    state: str
    """done, undone, rolled back, begun, undoing, stuck or unreadable."""
    note: str = ""
    lines: tuple[str, ...] = ()
    """The preview that was confirmed."""


NOT_EXAMINED = ("not-examined", "environment-unread", "rule-failed")
"""Ends of the ids of findings that say so, without the step before the dot."""


class Report(Frozen, frozen=True, kw_only=True):
    """A Snapshot and what was concluded from it, the headline first, then worst first."""

    snapshot: Snapshot
    findings: tuple[Finding, ...] = ()
    grid: CompatibilityGrid | None = None
    """The grid of environments and frameworks; None if the environments were not examined."""
    version: str = ""
    taken_out: tuple[Redaction, ...] | None = None
    """What was redacted; None when the report was not, empty when there was nothing to take out."""
    history: tuple[HistoryEntry, ...] | None = None
    """What Convalesce changed on the machine, oldest first; None when its history was not asked."""

    @property
    def primary(self) -> Finding | None:
        """The root cause, if one was named."""
        return next((f for f in self.findings if f.primary), None)

    @property
    def headline(self) -> Finding | None:
        """The finding that leads the report: the primary one, or the fault whose cause is still undecided."""
        return self.primary or next((f for f in self.findings if f.headline), None)

    @property
    def worst_severity(self) -> Severity:
        """The worst severity of all findings; GOOD when there is none."""
        return max((f.severity for f in self.findings), default=Severity.GOOD)

    @property
    def not_examined(self) -> tuple[Finding, ...]:
        """Findings about environments and files that were named or would be loaded, but could not be examined or judged."""
        return tuple(
            f for f in self.findings if f.severity is Severity.UNKNOWN and f.id.partition(".")[2] in NOT_EXAMINED
        )

    def findings_for(self, step: Step) -> tuple[Finding, ...]:
        """Return the findings that belong to one step, the headline first, then worst first."""
        return tuple(f for f in self.findings if f.step is step or step in f.also)


# --- JSON ------------------------------------------------------------------------------------------------
