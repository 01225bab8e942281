"""A Report as one self-contained HTML file: no script, no network, the verdict first."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

from core import session_code
from core.findings import SECTIONS, Evidence, Finding, Report, Severity, Step
from core.redact import told
from core.report import MARKS
from core.report_tables import cell, history, libraries, machine_facts, table

STEPS = {
    Step.DRIVER: "Driver and GPU",
    Step.TOOLKIT: "CUDA toolkit",
    Step.CUDNN: "cuDNN",
    Step.ENVIRONMENT: "Environment",
    Step.FRAMEWORKS: "Frameworks",
    Step.BENCHMARK: "Benchmark",
}
"""What each step is called on the page."""

WORDS = {
    Severity.GOOD: "In order",
    Severity.NOTE: "Good to know",
    Severity.UNKNOWN: "Not decided",
    Severity.WARNING: "Warning",
    Severity.ERROR: "Error",
}


def as_html(report: Report) -> str:
    """Return the report as a page that a browser shows without any script or request, in light, dark and print."""
    template = files("resources") / "templates"
    style = (template / "report.css").read_text(encoding="utf-8")
    parts = tuple((name, title, body) for name, title, body in _parts(report) if body)
    worst = _worst(report)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return Template((template / "report.html").read_text(encoding="utf-8")).substitute(
        style=style,
        style_hash=f"sha256-{digest}",
        title=f"Convalesce: {cell(verdict(report))}",
        machine=_machine(report),
        worst=worst.word,
        word=f"{MARKS[worst][0]} {_verdict_word(report)}",
        verdict=cell(verdict(report)),
        summary=_summary(report),
        contents="".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in parts),
        sections="\n".join(
            f'<section aria-labelledby="{name}"><h2 id="{name}">{title}</h2>\n{body}</section>'
            for name, title, body in parts
        ),
        told=cell(told(report)),
        made=cell(_made(report)),
    )


def verdict(report: Report) -> str:
    """Return the verdict as one sentence."""
    if report.primary:
        return report.primary.title
    return {
        Severity.ERROR: "Something is wrong, and no single cause explains it.",
        Severity.WARNING: "Nothing is broken; some things may become a problem.",
        Severity.UNKNOWN: "Nothing wrong was found, but not everything could be decided.",
    }.get(report.worst, "Nothing wrong was found in what was looked at.")


def _worst(report: Report) -> Severity:
    return report.primary.severity if report.primary else report.worst if report.findings else Severity.GOOD


def _verdict_word(report: Report) -> str:
    return "The cause" if report.primary else "In order" if report.worst <= Severity.NOTE else WORDS[report.worst]


def _summary(report: Report) -> str:
    primary = report.primary
    if primary is None:
        return ""
    fix = f"<p><strong>What to do:</strong> {cell(primary.fix.title)}</p>" if primary.fix else ""
    return (f"<p>{cell(primary.why)}</p>" if primary.why else "") + fix


def _machine(report: Report) -> str:
    m = report.snapshot.machine
    words = [m.release or m.system, m.architecture, m.container and f"in a container ({m.container})", m.wsl and "WSL"]
    return cell(", ".join(str(w) for w in words if w))


def _made(report: Report) -> str:
    taken = f"The machine was looked at on {report.snapshot.taken}. " if report.snapshot.taken else ""
    code = session_code.encode(session_code.told(report))
    return f"{taken}Session code: {code}. Made by Convalesce {report.version}, which sends nothing anywhere."


def _parts(report: Report) -> tuple[tuple[str, str, str], ...]:
    """Return every part of the page: anchor, heading, body; one with an empty body is left out."""
    return (
        ("steps", "The steps", _steps(report)),
        *((f"step-{s.value}", STEPS[s], "".join(map(_finding, report.of(s)))) for s in Step),
        ("machine", "What is on the machine", machine_facts(report.snapshot)),
        ("libraries", "Which files would be loaded", libraries(report.snapshot)),
        ("history", "What was changed and undone", history(report.history)),
        ("not-looked-at", "What could not be looked at", _errors(report)),
    )


def _steps(report: Report) -> str:
    rows = []
    for step in Step:
        found = report.of(step)
        seen = any(getattr(report.snapshot, s) is not None for s in SECTIONS[step])
        if not found:
            result = cell("Looked at; nothing to say" if seen else "Not looked at", tag="td")
        else:
            worst = max(f.severity for f in found)
            result = cell(f"{MARKS[worst][0]} {WORDS[worst]}", tag="td", css=worst.word)
        name = f'<a href="#step-{step.value}">{STEPS[step]}</a>' if found else STEPS[step]
        rows.append(f'<tr><th scope="row">{name}</th>{result}{cell(found[0].title if found else "", tag="td")}</tr>')
    return table("Each step and the worst that was found in it", ("Step", "Result", "Foremost"), "".join(rows))


def _finding(f: Finding) -> str:
    word = ("The cause: " if f.primary else "") + WORDS[f.severity]
    lines = [
        f'<article class="finding {f.severity.word}"><p class="word">{MARKS[f.severity][0]} {cell(word)}</p>',
        f"<h3>{cell(f.title)}</h3>",
    ]
    if f.subject and f.subject not in f.title:
        lines.append(f'<p class="subject">{cell(f.subject)}</p>')
    if f.why:
        lines.append(f"<p>{cell(f.why)}</p>")
    if f.follows_from:
        lines.append('<p class="aside">It follows from another finding; cure that one first.</p>')
    if f.evidence:
        rows = "".join(_evidence(e) for e in f.evidence)
        lines.append(table("How we know", ("What", "Seen", "Where"), rows))
    lines += [_fix(f), f'<p class="aside">{cell(f.cause or f.id)}</p></article>\n']
    return "".join(lines)


def _evidence(e: Evidence) -> str:
    value, source = cell(e.value, tag="td", css="path"), cell(e.source, tag="td")
    return f'<tr><th scope="row">{cell(e.label)}</th>{value}{source}</tr>'


def _fix(f: Finding) -> str:
    if f.fix is None:
        return ""
    lines = [f"<h4>What to do</h4><p>{cell(f.fix.title)}</p>"]
    for line in f.fix.advice.splitlines():
        # a command stands alone, so that it can be copied
        lines.append(f"<pre>{cell(line.strip())}</pre>" if line.startswith(" ") else f"<p>{cell(line)}</p>")
    shown = "\n".join(line for change in f.fix.changes for line in change.lines())
    if shown:
        lines.append(f"<p>What Convalesce would change, line by line:</p><pre>{cell(shown)}</pre>")
    if f.fix.restart:
        lines.append(f"<p>Afterwards, start anew: the {cell(f.fix.restart)}.</p>")
    return "".join(lines)


def _errors(report: Report) -> str:
    kinds = {
        "crash": "It failed",
        "time-out": "It took too long",
        "cancelled": "It was cancelled",
        "refused": "Refused",
    }
    rows = "".join(
        f'<tr><th scope="row">{cell(e.probe)}</th>{cell(kinds[e.kind], tag="td")}{cell(e.message, tag="td")}</tr>'
        for e in report.snapshot.errors
    )
    return (
        table("Parts of the examination that gave no answer", ("Part", "What happened", "Message"), rows)
        if rows
        else ""
    )
