"""Headline: the summary of a whole report, as one of eight kinds, with what the person can do next. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from core.common.i18n import _
from core.common.text import join_names
from core.doctor.no_framework import missing_framework
from core.doctor.offers import takes_cudnn
from core.knowledge.causes import OptionalCause
from core.model.facts import Frozen, full_id, split_id
from core.model.findings import Finding, GridCell, GridRow, Report
from core.model.paths import file_name, form_of
from core.model.steps import Severity, Step
from core.report.plain_causes import plain_cause
from core.report.short_names import concerned_environments, environment_names, shorten_paths
from core.report.standing import in_place, machine_standing

if TYPE_CHECKING:
    from core.explain import Explanation
    from core.transaction.execute import Outcome

Kind = Literal[
    "works", "fixed", "cause", "not decided", "no gpu", "no framework", "not examined", "by hand"
]  # fmt: skip
"""Every headline there is."""
Act = Literal["fix", "place", "try", "steps", "look again", "help", "more", "ask", "finish"]
"""What is offered next: change it, place a cuDNN, try the environment, show steps, look again, read about it, more of an
error message, the one question that decides about it, end."""

NAMED_IMPORTANCE = 0
"""Importance of an environment that the person named."""
MOST_NAMES = 2


class Headline(Frozen, frozen=True, kw_only=True):
    """The message at the top, and its subject."""

    kind: Kind
    act: Act
    who: tuple[str, ...] = ()
    """Short names of the environments that it is about; empty: all programs."""
    prefix: str = ""
    """The environment that would be tried."""
    framework: str = ""
    gpu: str = ""
    proved: bool = False
    """works, fixed: whether the framework was imported and convolved on the GPU. False: only that no fault was found."""
    partly: bool = False
    """fixed: for some ways of starting a program only."""
    seen: str = ""
    """fixed: a sentence on what was proved, or on a way of starting a program that still has the fault.
    stuck: the reason, as it was recorded.
    """
    finding: Finding | None = None
    """The one that it is about."""
    end: Literal["", "stuck", "unseen"] = ""
    """How a change ended that is not called fixed: halfway, or with nothing that shows that it has helped."""
    text: str = ""
    """The sentence about an error message, instead of one about the computer."""

    @property
    def cause(self) -> OptionalCause:
        """The cause that it names; empty for none."""
        return self.finding.cause if self.finding else ""  # type: ignore[return-value]  # a word of the table


def headline_of(report: Report) -> Headline:
    """Return the headline of a report: of the environment that the person named, else of the whole computer."""
    named = [row for row in report.grid.rows if row.importance == NAMED_IMPORTANCE] if report.grid else []
    head = report.headline
    for row in named:
        if row.cells and all(c.verdict == "runs" for c in row.cells):
            return _works_headline(report, row, row.cells[0])
        if (head is None or not is_about(head, row)) and (fit := _working_framework(row)):
            return _works_headline(report, row, fit)
        if row.problem and head is None:
            return _not_examined(report, row)
    if head is not None and head.cause != "no_nvidia_gpu":
        return _of_finding(report, head)
    if (programs := report.snapshot.programs) and not report.not_examined:
        who = tuple(file_name(form_of(p.path), p.path) for p in programs)
        return Headline(kind="works", act="finish", who=who, gpu=gpu_name(report))
    if any(f.cause == "no_nvidia_gpu" for f in report.findings):
        absent = next((f for f in report.findings if f.cause == "no_nvidia_gpu"), None)
        return Headline(kind="no gpu", act="finish", finding=absent)
    return _without_fault(report)


def headline_of_message(e: Explanation, report: Report) -> Headline:
    """Return the headline of an error message: the cause that was proved for it, else what is known."""
    proved = next((r for r in e.causes if r.verdict == "proved" and r.finding), None)
    if proved is not None and proved.finding is not None:
        return _of_finding(report, replace(proved.finding, primary=True))
    return Headline(kind="not decided", act="ask" if e.choices else "more", text=e.sentence)


def _without_fault(report: Report) -> Headline:
    missed = report.not_examined
    if missed or report.snapshot.driver is None or report.grid is None:
        return Headline(kind="not examined", act="look again", finding=missed[0] if missed else None)
    rows = sorted(report.grid.rows, key=lambda r: r.importance)
    if not any(row.cells for row in rows):
        absent = missing_framework(report)
        return Headline(kind="no framework", act="steps" if absent.fix else "help", finding=absent)
    found = next(((row, fit) for row in rows if (fit := _working_framework(row))), None)
    if found is not None:
        return _works_headline(report, *found)
    if in_place(report):
        return Headline(kind="works", act="finish", gpu=gpu_name(report))
    worst = max(report.findings, key=lambda f: f.severity, default=None)
    if machine_standing(report) <= Severity.NOTE or worst is None:
        return Headline(kind="not decided", act="look again", gpu=gpu_name(report))
    return _of_finding(report, worst)


def _of_finding(report: Report, finding: Finding) -> Headline:
    who = concerned_environments(finding, report)
    steps: Act = "steps" if finding.fix and finding.fix.advice else "help" if finding.cause else "look again"
    if (not finding.primary and finding.severity < Severity.WARNING) or not finding.cause:
        row = next((r for r in report.grid.rows if is_about(finding, r)), None) if report.grid else None
        untried = row is not None and finding.consumers and row.cells and not was_tried(report, row.prefix)
        prefix = row.prefix if row is not None and untried else ""
        return Headline(kind="not decided", act="try" if prefix else steps, who=who, prefix=prefix, finding=finding)
    if finding.fix and finding.fix.changes:
        return Headline(kind="cause", act="fix", who=who, finding=finding)
    if takes_cudnn(finding):
        if finding.consumers:
            return Headline(kind="by hand", act=steps, who=who, finding=finding)
        return Headline(kind="cause", act="place", who=who, finding=finding)
    return Headline(kind="by hand", act=steps, who=who, finding=finding)


def headline_fixed(report: Report, finding: Finding, outcome: Outcome | None) -> Headline:
    """Return the headline after a cure: ``report`` was made after it, ``finding`` is what was cured, ``outcome``
    how the change ended, where Convalesce made it.
    """
    if outcome and outcome.kind == "stuck":  # the computer is neither as before nor as planned
        return Headline(kind="not decided", act="look again", finding=finding, end="stuck", seen=outcome.sentence)
    verified = outcome.verified_for if outcome else ()
    if verified and not any(v.holds for v in verified):
        return Headline(kind="not decided", act="look again", finding=finding, end="unseen")
    from core.doctor.verify import way_sentence  # only after a change

    rows = [r for r in report.grid.rows if is_about(finding, r) and r.cells] if report.grid else []
    left = [v for v in verified if v.holds is False]
    proof = next(((r, c) for r in rows for c in r.cells if c.verdict == "runs"), None)
    return Headline(
        kind="fixed",
        act="finish",
        who=concerned_environments(finding, report),
        framework=proof[1].framework if proof else "",
        gpu=gpu_name(report),
        proved=proof is not None,
        partly=bool(left),
        seen=shorten_paths(way_sentence(left[0]), report) if left else outcome.proved if outcome else "",
        finding=finding,
    )


def _works_headline(report: Report, row: GridRow, cell: GridCell) -> Headline:
    proved = cell.verdict == "runs"
    return Headline(
        kind="works",
        act="finish" if proved else "try",
        who=(environment_names(report)[row.prefix],),
        prefix=row.prefix,
        framework=cell.framework,
        gpu=gpu_name(report),
        proved=proved,
    )


def _not_examined(report: Report, row: GridRow) -> Headline:
    who = (environment_names(report)[row.prefix],)
    return Headline(kind="not examined", act="look again", who=who, prefix=row.prefix)


def _working_framework(row: GridRow) -> GridCell | None:
    """Return the framework of an environment that uses the GPU, the proved ones first."""
    order = ("runs", "should run")
    found = sorted((c for c in row.cells if c.verdict in order), key=lambda c: order.index(c.verdict))
    return found[0] if found else None


def is_about(finding: Finding, row: GridRow) -> bool:
    """Whether a finding is about an environment, or about every program."""
    return not finding.consumers or full_id(row.prefix) in {split_id(c)[0] for c in finding.consumers}


def was_tried(report: Report, prefix: str) -> bool:
    """Whether a framework of an environment was started."""
    return any(t.prefix == prefix for t in report.snapshot.trials or ())


def gpu_name(report: Report) -> str:
    """Return the first GPU's name; empty where none answered."""
    driver = report.snapshot.driver
    return driver.gpus[0].name if driver and driver.gpus else ""


# --- in words ------------------------------------------------------------------------------------------------------


def headline_word(kind: Kind) -> str:
    """Return the text at the top of the screen."""
    return {
        "works": _("Works"),
        "fixed": _("Fixed"),
        "cause": _("The cause"),
        "not decided": _("Undecided"),
        "no gpu": _("No NVIDIA GPU"),
        "no framework": _("No framework"),
        "not examined": _("Not everything could be examined"),
        "by hand": _("Only a person can do this"),
    }[kind]


def headline_severity(head: Headline) -> Severity:
    """Return how bad it is."""
    if head.partly:
        return Severity.WARNING
    return {
        "works": Severity.GOOD,
        "fixed": Severity.GOOD,
        "cause": Severity.ERROR,
        "not decided": Severity.UNKNOWN,
        "no gpu": Severity.NOTE,
        "no framework": Severity.NOTE,
        "not examined": Severity.UNKNOWN,
        "by hand": Severity.ERROR,
    }[head.kind]


def who_text(who: tuple[str, ...]) -> str:
    """Return whom it concerns, worded for a sentence."""
    return join_names(who, MOST_NAMES) if who else _("your programs")


def headline_sentence(head: Headline) -> str:
    """Return the one sentence under the headline."""
    who = who_text(head.who)
    if head.text:
        return head.text
    if head.end == "stuck":
        return _("The change stopped halfway.")
    if head.end == "unseen":
        return _("The change was made, but nothing shows that it helped.")
    if head.kind in ("cause", "by hand") and head.cause:
        return plain_cause(head.cause, who)
    if head.kind == "fixed" and head.partly:
        return _("The fault is gone for some ways of starting a program, but not for all.")
    if head.kind == "works" and head.framework:
        if head.proved:
            return _(
                "{framework} in {who} computes on your {gpu}.", framework=head.framework, who=who, gpu=head.gpu or "GPU"
            )
        return _("Every library that {framework} in {who} asks for was found.", framework=head.framework, who=who)
    if head.kind == "works" and head.who:
        return _("Every library that {who} asks for was found.", who=who)
    return {
        "works": _("The driver and cuDNN load on your {gpu}.", gpu=head.gpu or "GPU"),
        "fixed": _("The fault is gone, and nothing got worse."),
        "not decided": _("Something is wrong, and several causes are possible.")
        if head.finding
        else _("Nothing wrong was found, and nothing was proved."),
        "no gpu": _("Programs on this computer compute on the processor; that works, but takes longer."),
        "no framework": _("The GPU is there, but no PyTorch, TensorFlow or other framework was found."),
        "not examined": _("One location did not respond, so the answer is not certain."),
    }[head.kind]


def headline_detail(head: Headline, report: Report) -> str:
    """Return the technical details for the help desk, with short names; empty if there are none."""
    if head.text or head.end:
        return head.seen
    if head.kind == "works":
        proof = _("Nothing has been started yet.") if head.framework else ""
        return _("Tried: imported, and ran a convolution.") if head.proved else proof
    if head.kind == "fixed":
        if head.partly:
            return head.seen
        if head.proved:
            who = who_text(head.who)
            return _(
                "{framework} in {who} ran a convolution on your {gpu}.", framework=head.framework, who=who, gpu=head.gpu
            )
        return head.seen or _("A new scan confirmed it.")
    if head.kind == "no gpu":
        return _("For more speed, use a computer or a cloud service that has one.")
    return shorten_paths(head.finding.title, report) if head.finding else ""


STEP_OF_KIND: dict[Kind, Step] = {
    "works": Step.BENCHMARK,
    "no gpu": Step.DRIVER,
    "no framework": Step.FRAMEWORKS,
    "not examined": Step.ENVIRONMENT,
}
"""The help page for a headline without a cause."""


def help_word(head: Headline) -> str:
    """Return the word of the help page that explains a headline."""
    if head.cause:
        return head.cause
    return (head.finding.step if head.finding else STEP_OF_KIND.get(head.kind, Step.FRAMEWORKS)).value
