"""Tables of the HTML report: what is on the machine, which files would be loaded, what was changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from core.common.i18n import N_, _, format_moment, translate_fact
from core.common.text import capitalise, printable
from core.knowledge.releases import files_lost
from core.model.facts import Attempt, Execution, FrameworkTrial, LibraryFile, Load, Resolution, Snapshot
from core.model.findings import HistoryEntry
from core.model.paths import file_name, form_of
from core.report.text import guards_of

MAX_TABLE_ROWS = 400
"""Most rows of one table; a hostile report may contain any number."""

STATE_WORDS = {
    "done": N_("Done"),
    "undone": N_("Undone"),
    "rolled back": N_("Rolled back: nothing was changed"),
    "begun": N_("Interrupted"),
    "undoing": N_("Interrupted while undoing"),
    "stuck": N_("Could not be undone"),
    "unreadable": N_("Not known"),
}


def html_cell(text: object, tag: str = "", css: str = "") -> str:
    """Return any text as safe HTML, in an element where one is named; characters that direct text become visible."""
    safe = escape(printable(str(text)))
    kind = f' class="{css}"' if css else ""
    return f"<{tag}{kind}>{safe}</{tag}>" if tag else safe


def html_table(caption: str, heads: Sequence[str], rows: str) -> str:
    """Return a table with a caption and column headers; ``rows`` is HTML already."""
    head = "".join(f'<th scope="col">{h}</th>' for h in heads)
    body = rows if rows.startswith("<tbody") else f"<tbody>{rows}</tbody>"
    return f"<table><caption>{html_cell(caption)}</caption><thead><tr>{head}</tr></thead>{body}</table>\n"


def plain_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of plain cells whose first column names the row; empty for no rows."""
    every = list(rows)
    lines = [
        f'<tr><th scope="row">{html_cell(first)}</th>{"".join(html_cell("" if c is None else c, tag="td") for c in rest)}</tr>'
        for first, *rest in every[:MAX_TABLE_ROWS]
    ]
    if len(every) > MAX_TABLE_ROWS:
        lines.append(
            f'<tr><th scope="row">{_("and {count} more", count=len(every) - MAX_TABLE_ROWS)}</th>{"<td></td>" * (len(heads) - 1)}</tr>'
        )
    return html_table(caption, heads, "".join(lines)) if lines else ""


def machine_facts(s: Snapshot) -> str:
    """Return the GPUs, toolkits, copies of cuDNN and Python environments that were found, and what was run."""
    return "".join(
        (_gpu_table(s), _toolkit_table(s), _cudnn_table(s), _python_table(s), _trial_table(s), _execution_table(s))
    )


def _gpu_table(s: Snapshot) -> str:
    gpus = (s.driver.gpus or ()) if s.driver else ()
    nvml = s.driver.nvml.driver_version if s.driver and s.driver.nvml else None
    return plain_table(
        "GPUs",
        ("GPU", _("Compute capability"), _("Memory"), _("Driver")),
        [(g.name, g.compute_capability, _memory(g.memory_total), nvml) for g in gpus],
    )


def _toolkit_table(s: Snapshot) -> str:
    return plain_table(
        _("CUDA toolkits and sets of CUDA libraries"),
        (_("Folder"), _("Version"), _("From"), _("Set by")),
        [(t.root, t.version, t.owner or translate_fact(t.origin), ", ".join(t.named_by)) for t in s.toolkits or ()],
    )


def _cudnn_table(s: Snapshot) -> str:
    return plain_table(
        _("Copies of cuDNN"),
        (_("Folder"), _("Version"), _("For CUDA"), _("From"), _("Files with problems")),
        [
            (c.folder, c.version, c.cuda_major, c.owner or translate_fact(c.origin), _faults(c.files, files_lost(c)))
            for c in s.cudnn or ()
        ],
    )


def _python_table(s: Snapshot) -> str:
    return plain_table(
        _("Python environments"),
        (_("Environment"), "Python", _("Kind"), _("Frameworks and CUDA packages")),
        [
            (p.prefix, p.version, translate_fact(p.kind), ", ".join(f"{d.name} {d.version}" for d in p.distributions))
            for p in s.pythons or ()
        ],
    )


def _trial_table(s: Snapshot) -> str:
    return plain_table(
        _("Frameworks, tested in their own Python"),
        (_("Framework"), _("Environment"), _("Passed"), _("On a GPU"), _("CUDA and cuDNN"), _("Problem")),
        [_trial(t) for t in s.trials or ()],
    )


def _execution_table(s: Snapshot) -> str:
    return plain_table(
        _("What was run"),
        (_("File"), _("For"), _("With the rights of"), _("What other users can change")),
        [(e.path, e.consumer, e.account or _("not run"), _others(e)) for e in s.executions]
        + [(note, "", "", "") for note in filter(None, [guards_of(s)])],
    )


def _others(e: Execution) -> str:
    at = e.changeable
    return f"{at.path} {at.mode} ({', '.join(at.writers)})" if at else ""


def _trial(t: FrameworkTrial) -> tuple[str, ...]:
    gpu = {True: _("yes"), False: _("no"), None: ""}[t.gpu]
    versions = ", ".join(filter(None, (t.cuda, t.cudnn)))
    return (
        f"{t.framework} {t.version}".strip(),
        t.prefix,
        _(t.reached),
        gpu,
        versions,
        translate_fact(t.problem) or translate_fact(t.ended),
    )


def _memory(size: int | None) -> str:
    return "" if size is None else f"{size / (1 << 30):.0f} GiB"


def _faults(files: Sequence[LibraryFile], missing: Sequence[str]) -> str:
    bad = [f"{f.name}: {_(f.state)}" for f in files if f.state != "good"]
    return ", ".join(bad + [f"{name}: {_('missing')}" for name in missing]) or _("none")


def libraries_table(s: Snapshot) -> str:
    """Return, for every examined program, each library that it needs and all candidates in search order."""
    return "".join(_load(load) for load in s.loads or ())


def _load(load: Load) -> str:
    values = {"major": load.major, "label": translate_fact(load.consumer.label), "wanted": load.wanted_version}
    caption = (
        _("cuDNN {major} for {label}, built with cuDNN {wanted}: candidates in the order of the search", **values)
        if load.wanted_version
        else _("cuDNN {major} for {label}: candidates in the order of the search", **values)
    )
    heads = (_("Library"), _("No."), _("File"), _("How it is found"), _("Result"))
    rows = "".join(_resolution(r) for r in load.resolutions[:MAX_TABLE_ROWS])
    return html_table(caption, heads, rows) if rows else ""


def _resolution(r: Resolution) -> str:
    winner = r.winner
    shown = [(n, a) for n, a in enumerate(r.attempts, 1) if a.outcome != "not there"][:MAX_TABLE_ROWS]
    absent = sum(a.outcome == "not there" for a in r.attempts)
    rows = [_attempt(n, a, taken=a is winner) for n, a in shown]
    if not shown:
        rows = [
            f'<td></td><td class="path"></td><td></td>{html_cell(_("Found at none of {count} locations", count=absent), tag="td", css="warning")}'
        ]
    by = "\n" + _("for {name}", name=file_name(form_of(r.wanted_by), r.wanted_by)) if r.wanted_by else ""
    head = f'<th scope="rowgroup" rowspan="{len(rows)}">{html_cell(r.name + by)}</th>'
    rows[0] = head + rows[0]
    return f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody>"


def _attempt(number: int, a: Attempt, *, taken: bool) -> str:
    how = _(a.how.value)
    if a.via:
        how = translate_fact(a.via) if a.via.startswith(a.how.value) else f"{how} ({translate_fact(a.via)})"
    word, css = (_("Taken"), "good") if taken and a.outcome == "found" else (capitalise(_(a.outcome)), "")
    if taken and a.outcome != "found":
        word, css = _("Stops here: {outcome}", outcome=_(a.outcome)), "error"
    elif a.outcome == "found" and not taken:
        word = _("Comes later")
    result = f"{word}. {translate_fact(a.detail)}" if a.detail else word
    return f"{html_cell(number, tag='td')}{html_cell(a.path, tag='td', css='path')}{html_cell(how, tag='td')}{html_cell(result, tag='td', css=css)}"


def history_table(done: Sequence[HistoryEntry] | None) -> str:
    """Return what Convalesce changed on the machine, newest first, and what was undone."""
    if done is None:
        return ""
    if not done:
        return f"<p>{_('Convalesce has changed nothing on this machine.')}</p>"
    rows = [
        (
            d.title,
            format_moment(d.made, zone=True),
            _(STATE_WORDS.get(d.state, d.state)) + (f". {d.note}" if d.note else ""),
            "\n".join(d.lines),
        )
        for d in reversed(done)
    ]
    return plain_table(_("Every change, newest first"), (_("What"), _("When"), _("State"), _("Line by line")), rows)
