"""A Report as one self-contained HTML file: no script, no network, the verdict first."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

from core.common.i18n import N_, _, current_language, format_moment, join_sentences, translate_fact
from core.model.findings import Evidence, Finding, Report
from core.model.steps import SECTIONS_OF_STEP, Severity, Step
from core.report import session_code
from core.report.html_tables import history_table, html_cell, html_table, libraries_table, machine_facts
from core.report.redact import redaction_sentence
from core.report.standing import machine_standing, step_standing
from core.report.text import SEVERITY_MARKS, restart_after_fix

STEP_NAMES = {
    Step.DRIVER: N_("Driver and GPU"),
    Step.TOOLKIT: N_("CUDA toolkit"),
    Step.CUDNN: N_("cuDNN"),
    Step.ENVIRONMENT: N_("Environment"),
    Step.FRAMEWORKS: N_("Frameworks"),
    Step.BENCHMARK: N_("Benchmark"),
}
"""The name of each step on the page."""

SEVERITY_WORDS = {
    Severity.GOOD: N_("OK"),
    Severity.NOTE: N_("Good to know"),
    Severity.UNKNOWN: N_("Undecided"),
    Severity.WARNING: N_("Warning"),
    Severity.ERROR: N_("Error"),
}


def as_html(report: Report, before: Report | None = None) -> str:
    """Return the report as a page that a browser shows without any script or request, in light, dark and print.

    ``before``: the same computer before a cure; what has changed since is a part of the page.
    """
    template = files("resources") / "templates"
    style = (template / "report.css").read_text(encoding="utf-8")
    parts = tuple((name, title, body) for name, title, body in _parts(report, before) if body)
    worst = report.headline.severity if report.headline else machine_standing(report)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return Template((template / "report.html").read_text(encoding="utf-8")).substitute(
        style=style,
        style_hash=f"sha256-{digest}",
        title=f"Convalesce: {html_cell(verdict_sentence(report))}",
        language=current_language().replace("_", "-"),
        skip=_("Go to the verdict"),
        brand=_("Convalesce report"),
        parts=_("Parts of this report"),
        machine=_machine(report),
        worst=worst.word,
        word=f"{SEVERITY_MARKS[worst][0]} {_verdict_word(report)}",
        verdict=html_cell(verdict_sentence(report)),
        summary=_summary(report),
        contents="".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _body in parts),
        sections="\n".join(
            f'<section aria-labelledby="{name}"><h2 id="{name}">{title}</h2>\n{body}</section>'
            for name, title, body in parts
        ),
        told=html_cell(redaction_sentence(report)),
        made=html_cell(_origin_note(report)),
    )


def verdict_sentence(report: Report) -> str:
    """Return the verdict as one sentence."""
    if report.headline:
        return report.headline.title
    return {
        Severity.ERROR: _("Something is wrong, and no single cause explains it."),
        Severity.WARNING: _("Nothing is broken, but some things could become a problem."),
        Severity.UNKNOWN: _("Nothing wrong was found, but not everything could be examined.")
        if report.not_examined
        else _("Nothing wrong was found, but some questions remain open."),
    }.get(machine_standing(report), _("Nothing wrong was found in what was examined."))


def _verdict_word(report: Report) -> str:
    if report.headline and not report.primary:
        return _("The cause could not be determined")
    stands = machine_standing(report)
    return _("The cause") if report.primary else _("OK") if stands <= Severity.NOTE else _(SEVERITY_WORDS[stands])


def _summary(report: Report) -> str:
    left = "".join(f"<p>{SEVERITY_MARKS[f.severity][0]} {html_cell(f.title)}</p>" for f in report.not_examined)
    head = report.headline
    if head is None:
        return left
    fix = f"<p><strong>{_('What to do:')}</strong> {html_cell(head.fix.title)}</p>" if head.fix else ""
    return left + (f"<p>{html_cell(head.why)}</p>" if head.why else "") + fix


def _machine(report: Report) -> str:
    m = report.snapshot.machine
    words = [
        m.release or m.system,
        m.architecture,
        m.container and _("in a container ({container})", container=m.container),
        m.wsl and "WSL",
    ]
    return html_cell(", ".join(str(w) for w in words if w))


def _origin_note(report: Report) -> str:
    when = format_moment(report.snapshot.taken, zone=True)
    taken = _("The machine was scanned on {taken}.", taken=when) if when else ""
    code = session_code.encode_code(session_code.decoded_report(report))
    return join_sentences(
        taken,
        _("Session code: {code}.", code=code),
        _("Made by Convalesce {version}, which sends nothing anywhere.", version=report.version),
    )


def _parts(report: Report, before: Report | None) -> tuple[tuple[str, str, str], ...]:
    """Return every part of the page: anchor, heading, body; one with an empty body is left out."""
    return (
        ("steps", _("The steps"), _steps(report)),
        *(
            (f"step-{s.value}", _(STEP_NAMES[s]), "".join(_finding_in_step(f, s) for f in report.findings_for(s)))
            for s in Step
        ),
        ("machine", _("What is on the machine"), machine_facts(report.snapshot)),
        ("libraries", _("Which files would be loaded"), libraries_table(report.snapshot)),
        ("before", _("Before and after"), _changes_since(report, before) if before else ""),
        ("history", _("What was changed and undone"), history_table(report.history)),
        ("not-looked-at", _("What could not be examined"), _errors(report)),
    )


def _changes_since(report: Report, before: Report) -> str:
    from core.report.before_after import before_after

    return f"<ul>{''.join(html_cell(line, 'li') for line in before_after(before, report))}</ul>"


def _steps(report: Report) -> str:
    rows = []
    for step in Step:
        found = report.findings_for(step)
        seen = any(getattr(report.snapshot, s) is not None for s in SECTIONS_OF_STEP[step])
        if not found:
            result = html_cell(_("Examined; nothing to report") if seen else _("Not examined"), tag="td")
        else:
            worst = step_standing(report, step)[0]
            result = html_cell(f"{SEVERITY_MARKS[worst][0]} {_(SEVERITY_WORDS[worst])}", tag="td", css=worst.word)
        name = f'<a href="#step-{step.value}">{_(STEP_NAMES[step])}</a>' if found else _(STEP_NAMES[step])
        rows.append(
            f'<tr><th scope="row">{name}</th>{result}{html_cell(step_standing(report, step)[1] if found else "", tag="td")}</tr>'
        )
    return html_table(_("Each step and its worst finding"), (_("Step"), _("Result"), _("Main finding")), "".join(rows))


def _finding_in_step(f: Finding, step: Step) -> str:
    """Return a finding in its own step; in other steps to which it belongs, a line that refers to it."""
    if f.step is step:
        return _finding(f)
    says = _("{title} See: {step}.", title=f.title, step=_(STEP_NAMES[f.step]))
    return f'<p class="aside"><a href="#step-{f.step.value}">{SEVERITY_MARKS[f.severity][0]} {html_cell(says)}</a></p>'


def _finding(f: Finding) -> str:
    word = _(SEVERITY_WORDS[f.severity])
    if f.primary:
        word = _("The cause: {word}", word=word)
    elif f.headline:
        word = _("The cause could not be determined: {word}", word=word)
    lines = [
        f'<article class="finding {f.severity.word}"><p class="word">{SEVERITY_MARKS[f.severity][0]} {html_cell(word)}</p>',
        f"<h3>{html_cell(f.title)}</h3>",
    ]
    lines += [f'<p class="subject">{html_cell(subject)}</p>' for subject in f.all_subjects if subject not in f.title]
    if f.why:
        lines.append(f"<p>{html_cell(f.why)}</p>")
    if f.follows_from:
        lines.append(f'<p class="aside">{_("It is a consequence of another finding; fix that one first.")}</p>')
    if f.evidence:
        rows = "".join(_evidence(e) for e in f.evidence)
        lines.append(html_table(_("How we know"), (_("What"), _("Seen"), _("Where")), rows))
    lines += [_fix(f), f'<p class="aside">{html_cell(f.cause or f.id)}</p></article>\n']
    return "".join(lines)


def _evidence(e: Evidence) -> str:
    value, source = html_cell(translate_fact(e.value), tag="td", css="path"), html_cell(e.source, tag="td")
    return f'<tr><th scope="row">{html_cell(translate_fact(e.label))}</th>{value}{source}</tr>'


def _fix(f: Finding) -> str:
    if f.fix is None:
        return ""
    lines = [f"<h4>{_('What to do')}</h4><p>{html_cell(f.fix.title)}</p>"]
    for line in f.fix.advice.splitlines():
        # a command has its own element, so that it can be copied
        lines.append(f"<pre>{html_cell(line.strip())}</pre>" if line.startswith(" ") else f"<p>{html_cell(line)}</p>")
    shown = "\n".join(line for change in f.fix.changes for line in change.lines())
    if shown:
        lines.append(f"<p>{_('Convalesce would change, line by line:')}</p><pre>{html_cell(shown)}</pre>")
    if f.fix.restart:
        lines.append(f"<p>{html_cell(restart_after_fix(f.fix.restart))}</p>")
    return "".join(lines)


def _errors(report: Report) -> str:
    kinds = {
        "crash": _("It failed"),
        "time-out": _("It took too long"),
        "cancelled": _("It was cancelled"),
        "refused": _("Refused"),
    }
    rows = "".join(
        f'<tr><th scope="row">{html_cell(e.probe)}</th>{html_cell(kinds[e.kind], tag="td")}{html_cell(translate_fact(e.message), tag="td")}</tr>'
        for e in report.snapshot.errors
    )
    return (
        html_table(_("Parts of the scan that did not respond"), (_("Part"), _("What happened"), _("Message")), rows)
        if rows
        else ""
    )
