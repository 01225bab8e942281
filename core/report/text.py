"""A Report as text for a terminal and as Markdown for an issue tracker."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import N_, _, format_plain_number, translate_fact
from core.common.text import printable
from core.common.text_width import TEXT_WIDTH, wrap
from core.model.facts import Execution, Snapshot
from core.model.findings import Evidence, Finding, Report, Restart
from core.model.steps import Severity
from core.report.grid import as_lines
from core.report.redact import every_text, redaction_sentence
from core.report.standing import machine_standing

SEVERITY_MARKS = {
    Severity.GOOD: ("✓", N_("ok"), "32"),
    Severity.NOTE: ("·", N_("note"), "36"),
    Severity.UNKNOWN: ("?", N_("not decided"), "35"),
    Severity.WARNING: ("!", N_("warning"), "33"),
    Severity.ERROR: ("✗", N_("error"), "31"),
}
"""Symbol, word and ANSI colour of each severity: never colour alone."""
EXECUTIONS = {
    "roll call": N_("A library loaded and called"),
    "driver": N_("The driver asked"),
    "framework": N_("A framework tested"),
    "interpreter": N_("A Python queried for its search path"),
    "nvcc": N_("nvcc queried for its version"),
    "search path": N_("A search path followed"),
}
MOST_RUN = 40
"""Maximum number of lines about executions; a hostile report may contain any number."""


def report_text(report: Report, *, colour: bool = False, width: int = TEXT_WIDTH) -> str:
    """Return the report for a newcomer at a terminal: what is wrong, how we know, what to do next."""
    # our own colour codes are added only after this
    report = every_text(report, printable)
    lines = [
        _title(report),
        *_not_examined(report, colour, width),
        *_verdict(report, colour, width),
        *_other_findings(report, colour, width),
        *_grid(report, width),
        *_executions(report, width),
    ]
    if report.taken_out:
        lines += ["", *_wrap_lines(redaction_sentence(report), 0, width)]
    return "\n".join(lines) + "\n"


def _title(report: Report) -> str:
    machine = report.snapshot.machine
    took = max((s for _, s in report.snapshot.seconds), default=0.0)
    title = _(
        "Convalesce {version}  {release}, {architecture}",
        version=report.version,
        release=machine.release or machine.system,
        architecture=machine.architecture,
    )
    return title + ("  " + _("(scanned in {took} s)", took=format_plain_number(took, 1)) if took else "")


def _not_examined(report: Report, colour: bool, width: int) -> list[str]:
    if machine_standing(report) <= Severity.UNKNOWN or not report.not_examined:
        return []  # they come first below
    rows = [f"{_mark(f.severity, colour)} {f.title}" for f in report.not_examined]
    return ["", _("Not examined"), *(line for row in rows for line in _wrap_lines(row, 2, width))]


def _verdict(report: Report, colour: bool, width: int) -> list[str]:
    """Return the headline in full, or that nothing is wrong."""
    stands = machine_standing(report)
    if report.headline:
        cause = _("The cause:") if report.primary else _("The cause could not be determined:")
        return ["", *_finding_lines(report.headline, colour, width, cause)]
    if stands <= Severity.UNKNOWN:
        sign = stands if stands is Severity.UNKNOWN else Severity.GOOD
        return ["", f"{_mark(sign, colour)} {healthy_verdict(stands)}"]
    return []


def _other_findings(report: Report, colour: bool, width: int) -> Iterator[str]:
    """Yield all other findings by what they mean for the reader: what is wrong or undecided in full, the rest in a line each."""
    head, primary = report.headline, report.primary
    rest = [f for f in report.findings if f is not head]
    follow = [f for f in rest if primary and f.follows_from == primary.id and f.severity > Severity.NOTE]
    if follow:
        yield from ("", _("Consequences"), *(f"  {_mark(f.severity, colour)} {_title_line(f)}" for f in follow))
    in_full = (
        (_("Also wrong") if head else _("What is wrong"), (Severity.ERROR, Severity.WARNING)),
        (_("Undecided"), (Severity.UNKNOWN,)),
    )
    for title, severities in in_full:
        some = [f for f in rest if f.severity in severities and f not in follow]
        if some:
            yield from ("", title, *(line for f in some for line in _finding_lines(f, colour, width, "")))
    for title, severity in ((_("Good to know"), Severity.NOTE), (_("OK"), Severity.GOOD)):
        rows = [f"{_mark(severity, colour)} {_title_line(f)}" for f in rest if f.severity is severity]
        if rows:
            yield from ("", title, *(line for row in rows for line in _wrap_lines(row, 2, width)))


def _grid(report: Report, width: int) -> Iterator[str]:
    if report.grid and any(row.cells for row in report.grid.rows):
        yield from ("", _("Environments and frameworks"))
        for text in as_lines(report.grid):
            yield from _wrap_lines(text.strip(), (len(text) - len(text.lstrip())), width)


def _executions(report: Report, width: int) -> list[str]:
    # one library is called once for each way of starting that finds it, and one line is enough
    ran = tuple(dict.fromkeys(describe_execution(e) for e in report.snapshot.executions))
    if not ran:
        return []
    more = ["  " + _("and {count} more", count=len(ran) - MOST_RUN)] if len(ran) > MOST_RUN else []
    return [
        "",
        _("What was run"),
        *(line for one in ran[:MOST_RUN] for line in _wrap_lines(one, 2, width)),
        *more,
        *(line for note in filter(None, [guards_of(report.snapshot)]) for line in _wrap_lines(note, 2, width)),
    ]


def guards_of(seen: Snapshot) -> str:
    """Return the guards that were active when libraries were called; empty if none was called, and in older reports."""
    calls = (call for load in seen.loads or () for call in (load.roll_call, load.clean_roll_call))
    made = [call for call in calls if call]
    if any(call.uncaged for call in made):
        words = _(
            "This system has no sandbox (seccomp) for the libraries that were called: they could start programs and reach the network."
        )
        alone = _("They could start programs; a network namespace of their own kept them from the network.")
        return alone if all("network namespace" in call.guards for call in made if call.uncaged) else words
    held = [call.guards for call in made if call.guards]
    if not held:
        return ""
    if all("network namespace" in guards for guards in held):
        return _("Libraries were called in a sandbox (seccomp), in a network namespace of their own.")
    return _(
        "Libraries were called in a sandbox (seccomp), but the kernel did not allow a network namespace of their own."
    )


def describe_execution(one: Execution) -> str:
    """Return what was run and with whose rights, or that it was not, in a line."""
    what = _(EXECUTIONS.get(one.what, one.what))
    if one.account:
        return _("{what}: {path}, with the rights of {account}", what=what, path=one.path, account=one.account)
    if one.changeable is None:
        return _("{what}: {path}, not run", what=what, path=one.path)
    at = one.changeable.path
    return _("{what}: {path}, not run: other users can change {at}", what=what, path=one.path, at=at)


def healthy_verdict(stands: Severity) -> str:
    """Return the verdict on a machine without a fault."""
    if stands is Severity.UNKNOWN:
        return _("Nothing wrong was found, but some questions remain open.")
    return _("Nothing wrong was found in what was examined.")


def _mark(severity: Severity, colour: bool) -> str:
    sign, _word, code = SEVERITY_MARKS[severity]
    return f"\x1b[{code}m{sign}\x1b[0m" if colour else sign


def _title_line(f: Finding) -> str:
    return f.title if not f.cause or f.severity <= Severity.NOTE else f"{f.title}  [{f.cause}]"


def _finding_lines(f: Finding, colour: bool, width: int, before: str) -> list[str]:
    lines = _wrap_lines(" ".join(filter(None, (_mark(f.severity, colour), before, _title_line(f)))), 2, width)
    for subject in f.all_subjects:
        lines += _wrap_lines(subject, 4, width) if subject not in f.title else []
    if f.why:
        lines += _wrap_lines(f.why, 4, width)
    if f.evidence:
        lines += ["    " + _("How we know:"), *(line for e in f.evidence for line in _evidence(e))]
    if f.fix:
        lines += ["    " + _("What to do:"), *_wrap_lines(f.fix.title, 6, width)]
        for paragraph in f.fix.advice.splitlines():
            # commands stay whole, so that they can be copied
            lines += [f"      {paragraph}"] if paragraph.startswith(" ") else _wrap_lines(paragraph, 6, width)
        if f.fix.restart:
            lines.append("      " + restart_after_fix(f.fix.restart))
    return lines


def restart_now(restart: Restart) -> str:
    """Return what to restart, as a sentence; empty if there is nothing."""
    return {
        "": "",
        "program": _("Restart the program."),
        "terminal": _("Open a new terminal."),
        "session": _("Sign out and back in."),
        "computer": _("Restart the computer."),
    }[restart]


def restart_after_fix(restart: Restart) -> str:
    """Return what to restart after a cure, as a sentence; empty if there is nothing."""
    return {
        "": "",
        "program": _("Restart the program afterwards."),
        "terminal": _("Open a new terminal afterwards."),
        "session": _("Sign out and back in afterwards."),
        "computer": _("Restart the computer afterwards."),
    }[restart]


def _evidence(e: Evidence) -> list[str]:
    value = translate_fact(e.value).replace("\n", "\n          ")
    source = f"  ({e.source})" if e.source else ""
    return [f"      {translate_fact(e.label)}: {value}{source}"]


def _wrap_lines(text: str, indent: int, width: int) -> list[str]:
    pad = " " * indent
    return wrap(text, width, pad, pad + "  ", whole_words=True) or [pad]


def as_markdown(report: Report, before: Report | None = None) -> str:
    """Return the report for an issue tracker: the verdict first, evidence folded away.

    ``before``: the same computer before a cure; what has changed since follows.
    """
    machine = report.snapshot.machine
    lines = [
        _(
            "**Convalesce {version}** on {system}, {architecture}",
            version=_md(report.version),
            system=_md(machine.release or machine.system),
            architecture=_md(machine.architecture),
        ),
        "",
    ]
    loud = [f for f in report.findings if f.severity > Severity.NOTE]
    calm = [f for f in report.findings if f.severity <= Severity.NOTE]
    if not loud:
        lines.append(healthy_verdict(machine_standing(report)))
    if report.worst_severity > Severity.UNKNOWN:  # else they come first below
        lines += [f"- **{_('Not examined')}**: {_md(f.title)}" for f in report.not_examined]
    for f in loud:
        lines += _md_finding(f)
    if calm:
        lines += ["", f"<details><summary>{_('OK, and good to know ({n})', n=len(calm))}</summary>", ""]
        lines += [f"- **{_(SEVERITY_MARKS[f.severity][1])}**: {_md(f.title)}" for f in calm]
        lines += ["", "</details>"]
    if before is not None:
        from core.report.before_after import before_after  # it needs this module

        lines += ["", f"**{_('Before and after')}**", "", *(f"- {_md(line)}" for line in before_after(before, report))]
    lines += ["", f"<sub>{_md(redaction_sentence(report))}</sub>"]
    return "\n".join(lines) + "\n"


def _md_finding(f: Finding) -> list[str]:
    word = _(SEVERITY_MARKS[f.severity][1])
    if f.primary:
        word = _("the cause, {word}", word=word)
    elif f.headline:
        word = _("the cause could not be determined, {word}", word=word)
    cause = f" {_code(f.cause)}" if f.cause else ""
    lines = [f"- **{word}**{cause}: {_md(f.title)}"]
    if f.why:
        lines.append(f"  {_md(f.why)}")
    if f.evidence:
        lines += [f"  <details><summary>{_('How we know')}</summary>", ""]
        lines += [
            f"  - {_md(translate_fact(e.label))}: {_code(translate_fact(e.value))} {_md(f'({e.source})') if e.source else ''}".rstrip()
            for e in f.evidence
        ]
        lines += ["", "  </details>", ""]
    if f.fix:
        lines.append(f"  **{_('What to do:')}** {_md(f.fix.title)}")
        if f.fix.advice:
            lines += ["", *(f"      {line}" for line in printable(f.fix.advice).splitlines()), ""]
    return lines


def _md(text: str) -> str:
    """Return text escaped for Markdown, also at the start of a line (CommonMark 0.31, 2.4)."""
    safe = " ".join(printable(text).split()).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    safe = "".join(f"\\{c}" if c in "*_`[]|#~" else c for c in safe.replace(">", "&gt;"))
    return re.sub(r"\A(\d*)(?=[-+=.):])", r"\1\\", safe)


def _code(text: str) -> str:
    clean = printable(text).replace("\n", " ")
    fence = "`" * (1 + max(map(len, re.findall("`+", clean)), default=0))
    return f"{fence} {clean} {fence}" if "`" in clean else f"`{clean}`"
