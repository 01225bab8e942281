"""Two reports side by side: what differs between a machine that works and one that does not, causes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.common.fact_text import fact_text
from core.common.i18n import N_, _, translate_fact
from core.common.text import printable
from core.common.text_width import TEXT_WIDTH, pad, wrap
from core.model.facts import CudnnCopy, Frozen, Load, Snapshot
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.report.redact import redact
from core.report.text import SEVERITY_MARKS

MACHINE_SECTION = "machine"
TRIED_TEXT = N_("what {who} did when it was tried")


class CauseDifference(Frozen, frozen=True, kw_only=True):
    """A finding that one of the machines has, or both."""

    cause: str
    severity: str
    title: str
    step: Step
    primary: bool
    where: str
    """"here", "there" or "both"."""


class FactDifference(Frozen, frozen=True, kw_only=True):
    """One fact that both reports contain, with different values."""

    step: str
    what: str
    here: str
    there: str


class Comparison(Frozen, frozen=True, kw_only=True):
    """What differs, most telling first."""

    causes: tuple[CauseDifference, ...]
    differences: tuple[FactDifference, ...]
    only_one_looked: tuple[str, ...] = ()
    """What was examined on one machine only, so that it cannot be compared."""


def compare_reports(here: Report, there: Report) -> Comparison:
    """Compare two reports. Both are redacted first, so that two users' home folders are no difference."""
    here, there = redact(here), redact(there)
    causes = tuple(sorted(_causes(here, there), key=_cause_order))
    first = [c.step.value for c in causes if c.where == "here"]
    differences, unknown = _differences(here.snapshot, there.snapshot)
    steps = [*first, *(s.value for s in Step), MACHINE_SECTION]
    return Comparison(
        causes=causes,
        differences=tuple(sorted(differences, key=lambda d: steps.index(d.step))),
        only_one_looked=tuple(unknown),
    )


def _differences(here: Snapshot, there: Snapshot) -> tuple[list[FactDifference], list[str]]:
    """Return the facts that differ, and what only one of the machines looked at."""
    mine, theirs = dict(_facts(here)), dict(_facts(there))
    unknown: list[str] = []
    # what differs in the same way for several programs is reported once
    who_of: dict[tuple[str, str, str, str], list[str]] = {}
    for step, what, who in dict.fromkeys((*mine, *theirs)):
        a = mine.get((step, what, who), _absence_text(here, step, what))
        b = theirs.get((step, what, who), _absence_text(there, step, what))
        if a is None or b is None:
            unknown += [_(what, who=translate_fact(who))] if a is not b else []
        elif a != b:
            who_of.setdefault((step, what, a or _("none"), b or _("none")), []).append(who)
    found = [
        FactDifference(step=step, what=_(what, who=", ".join(map(translate_fact, who))), here=a, there=b)
        for (step, what, a, b), who in who_of.items()
    ]
    return found, unknown


def _absence_text(s: Snapshot, step: str, what: str) -> str | None:
    """Return what it means that a report contains nothing about a program, a package or a variable."""
    if what == TRIED_TEXT:
        # only named environments are tried, so a missing trial means nothing
        return None
    sections = {Step.CUDNN: s.loads, Step.FRAMEWORKS: s.pythons, Step.ENVIRONMENT: s.environment}
    return None if step in sections and sections[Step(step)] is None else ""


# --- causes ----------------------------------------------------------------------------------------------


def _causes(here: Report, there: Report) -> Iterator[CauseDifference]:
    mine, theirs = _worst_by_cause(here), _worst_by_cause(there)
    for key in dict.fromkeys((*mine, *theirs)):
        where = "both" if key in mine and key in theirs else "here" if key in mine else "there"
        f = mine.get(key) or theirs[key]
        yield CauseDifference(
            cause=f.cause, severity=f.severity.word, title=f.title, step=f.step, primary=f.primary, where=where
        )


def _worst_by_cause(report: Report) -> dict[str, Finding]:
    """Return the worst finding of each cause; the subject is a folder of one machine, so it is no part of the key."""
    found: dict[str, Finding] = {}
    for f in sorted(report.findings, key=lambda f: (-f.severity, not f.primary)):
        if f.severity > Severity.NOTE:
            found.setdefault(f.cause or f.id, f)
    return found


def _cause_order(c: CauseDifference) -> tuple[int, bool, int]:
    return ["here", "both", "there"].index(c.where), not c.primary, -Severity[c.severity.upper()]


# --- facts that can be compared between machines ------------------------------------------------------------

FactRow = tuple[tuple[str, str, str], str | None]
"""A step, the fact, and its program; its value as text: empty for nothing there, None for not examined."""


def _facts(s: Snapshot) -> Iterator[FactRow]:
    yield from _driver(s)
    yield from _libraries(s)
    yield from _frameworks(s)
    yield from _environment(s)
    m = s.machine
    for what, value in (
        (N_("operating system"), m.release or m.system),
        (N_("processor family"), m.architecture),
        (N_("kernel"), m.kernel),
        (N_("C library"), m.libc),
        (N_("container"), m.container or ""),
        ("WSL", _("yes") if m.wsl else _("no")),
    ):
        yield (MACHINE_SECTION, what, ""), value


def _driver(s: Snapshot) -> Iterator[FactRow]:
    d = s.driver
    step = Step.DRIVER.value
    nvml, cuda = (d.nvml, d.cuda) if d else (None, None)
    yield (step, N_("driver version"), ""), (nvml.driver_version or "" if nvml else (d.module_version if d else None))
    yield (step, N_("newest CUDA that the driver runs"), ""), (cuda.driver_cuda or "" if cuda else None)
    yield (step, N_("answer of cuInit"), ""), (cuda.status_name or str(cuda.status or 0) if cuda else None)
    gpus = d.gpus if d else None
    names = _join(f"{g.name} ({g.compute_capability})" for g in gpus) if gpus is not None else None
    yield (step, "GPUs", ""), names


def _libraries(s: Snapshot) -> Iterator[FactRow]:
    kits = None if s.toolkits is None else _join(f"{t.version or '?'} ({translate_fact(t.origin)})" for t in s.toolkits)
    yield (Step.TOOLKIT.value, N_("CUDA toolkits and sets of libraries"), ""), kits
    named = None if s.toolkits is None else _join(f"{n}: {t.version or '?'}" for t in s.toolkits for n in t.named_by)
    yield (Step.TOOLKIT.value, N_("toolkits that variables name"), ""), named
    step = Step.CUDNN.value
    yield (step, N_("copies of cuDNN"), ""), None if s.cudnn is None else _join(map(_copy, s.cudnn))
    bad = (f"{f.name}: {_(f.state)}" for c in s.cudnn or () for f in c.files if f.state != "good")
    gone = (f"{name}: {_('missing')}" for c in s.cudnn or () for name in c.missing)
    yield (step, N_("files of cuDNN that are not in order"), ""), None if s.cudnn is None else _join((*bad, *gone))
    for load in s.loads or ():
        yield from _load(s, load)


def _copy(c: CudnnCopy) -> str:
    return _(
        "{version} for CUDA {cuda} ({origin})",
        version=c.version or c.major,
        cuda=c.cuda_major or "?",
        origin=translate_fact(c.origin),
    )


def _load(s: Snapshot, load: Load) -> Iterator[FactRow]:
    who = load.consumer.framework.split(" ")[0] or (
        N_("any program")
        if load.consumer.kind == "plain"
        else fact_text("a {kind} environment", kind=load.consumer.kind)
    )
    step = Step.CUDNN.value
    winner = load.resolutions[0].winner if load.resolutions else None
    taken = ""
    if winner:
        owner = next((c for c in s.cudnn or () if any(f.path == winner.path for f in c.files)), None)
        taken = _("{copy}, found by {way}", copy=_copy(owner) if owner else winner.path, way=_(winner.how.value))
    yield (step, _major(N_("cuDNN {major} as {who} would load it"), load), who), taken
    call = load.roll_call
    # what cudnnGet... returns is a version, not a status
    bad = [c for c in call.calls if c.result != 0 and not c.function.startswith("cudnnGet")] if call else []
    failed = _join(f"{c.function}: {c.meaning or c.result}" for c in bad)
    answer = None if call is None else "; ".join(filter(None, (call.version or "", failed, call.ended)))
    yield (step, _major(N_("what cuDNN {major} returned to {who}"), load), who), answer


def _frameworks(s: Snapshot) -> Iterator[FactRow]:
    step = Step.FRAMEWORKS.value
    versions: dict[str, set[str]] = {}
    for p in s.pythons or ():
        for d in p.distributions:
            versions.setdefault(d.name, set()).add(d.version)
    pythons = None if s.pythons is None else _join(".".join(p.version.split(".")[:2]) for p in s.pythons)
    yield (step, N_("Python versions"), ""), pythons
    for name in sorted(versions):
        yield (step, "{who}", name), _join(versions[name])
    for t in s.trials or ():
        passed = {
            True: _("passed: {reached} on the GPU", reached=_(t.reached)),
            False: _("passed: {reached} on the processor", reached=_(t.reached)),
            None: _("passed: {reached}", reached=_(t.reached)),
        }[t.gpu]
        words = (passed, t.cuda and f"CUDA {t.cuda}", t.cudnn and f"cuDNN {t.cudnn}")
        yield (
            (step, TRIED_TEXT, t.framework),
            ", ".join(filter(None, (*words, translate_fact(t.problem).split("\n")[0], translate_fact(t.ended)))),
        )


def _environment(s: Snapshot) -> Iterator[FactRow]:
    step = Step.ENVIRONMENT.value
    for v in s.variables:
        if v.name.upper() != "PATH":
            yield (step, "{who}", f"{v.name} ({v.scope})"), v.value
    telling = ("cuda", "cudnn", "nvidia", "torch")
    for name in dict.fromkeys(p.variable for p in s.path_entries):
        own = [p.expanded or p.text for p in s.path_entries if p.variable == name]
        yield (
            (step, N_("{who}: entries about CUDA, in order"), name),
            "\n".join(t for t in own if any(w in t.lower() for w in telling)),
        )


def _major(what: str, load: Load) -> str:
    """Return a description with its major version; who it is about is filled in later."""
    return _(what, major=load.major, who="{who}")


def _join(items: Iterable[str]) -> str:
    return ", ".join(sorted(set(items)))


# --- forms -----------------------------------------------------------------------------------------------


WHERE_TEXTS = {
    "here": N_("Only on this machine"),
    "both": N_("On both machines"),
    "there": N_("Only on the other machine"),
}


def comparison_text(c: Comparison, width: int = TEXT_WIDTH) -> str:
    """Return the comparison for a terminal: causes, then facts, then what cannot be compared."""
    lines: list[str] = []
    for where, title in WHERE_TEXTS.items():
        some = [x for x in c.causes if x.where == where]
        lines += [_(title), *(line for x in some for line in _cause_lines(x, width)), ""] if some else []
    if not c.causes:
        lines += [_("Neither machine has a fault that Convalesce knows."), ""]
    if c.differences:
        lines.append(_("What differs"))
    for d in c.differences:
        lines.append(f"  {printable(d.what)}  [{d.step}]")
        for word, value in ((_("here"), d.here), (_("there"), d.there)):
            first, *more = printable(value).splitlines() or [""]
            lines += [f"    {pad(word, 5)}  {first}", *(f"           {m}" for m in more)]
    if not c.differences:
        lines.append(_("Nothing else that both reports contain differs."))
    if c.only_one_looked:
        words = _("Examined on one machine only, so not compared: {what}.", what=", ".join(c.only_one_looked))
        lines += ["", *wrap(printable(words), width)]
    return "\n".join(lines) + "\n"


def _cause_lines(c: CauseDifference, width: int) -> list[str]:
    sign = SEVERITY_MARKS[Severity[c.severity.upper()]][0]
    title = _("the cause: {title}", title=c.title) if c.primary else c.title
    text = f"{sign} {printable(title)}  [{c.cause or c.step.value}]"
    return wrap(text, width, "  ", "    ")
