"""Tables of the HTML report: what is on the machine, which files would be loaded, what was changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from core.facts import Attempt, FrameworkTrial, LibraryFile, Load, Resolution, Snapshot
from core.findings import Done
from core.report import printable

MOST = 400
"""Rows of one table; a hostile report may hold any number."""

STATES = {
    "done": "Done",
    "undone": "Undone",
    "rolled back": "Rolled back: nothing was changed",
    "begun": "Interrupted",
    "undoing": "Interrupted while undoing",
    "stuck": "Could not be taken back",
    "unreadable": "Not known",
}


def cell(text: object, tag: str = "", css: str = "") -> str:
    """Return any text as safe HTML, in an element where one is named; characters that direct text become visible."""
    safe = escape(printable(str(text)))
    kind = f' class="{css}"' if css else ""
    return f"<{tag}{kind}>{safe}</{tag}>" if tag else safe


def table(caption: str, heads: Sequence[str], rows: str) -> str:
    """Return a table with a caption and column headers; ``rows`` is HTML already."""
    head = "".join(f'<th scope="col">{h}</th>' for h in heads)
    body = rows if rows.startswith("<tbody") else f"<tbody>{rows}</tbody>"
    return f"<table><caption>{cell(caption)}</caption><thead><tr>{head}</tr></thead>{body}</table>\n"


def plain(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of plain cells whose first column names the row; empty for no rows."""
    every = list(rows)
    lines = [
        f'<tr><th scope="row">{cell(first)}</th>{"".join(cell("" if c is None else c, tag="td") for c in rest)}</tr>'
        for first, *rest in every[:MOST]
    ]
    if len(every) > MOST:
        lines.append(f'<tr><th scope="row">and {len(every) - MOST} more</th>{"<td></td>" * (len(heads) - 1)}</tr>')
    return table(caption, heads, "".join(lines)) if lines else ""


def machine_facts(s: Snapshot) -> str:
    """Return the GPUs, toolkits, copies of cuDNN and Python environments that were found."""
    driver = s.driver
    gpus = (driver.gpus or ()) if driver else ()
    nvml = driver.nvml.driver_version if driver and driver.nvml else None
    return "".join(
        (
            plain(
                "GPUs",
                ("GPU", "Compute capability", "Memory", "Driver"),
                [(g.name, g.compute_capability, _memory(g.memory_total), nvml) for g in gpus],
            ),
            plain(
                "CUDA toolkits and sets of CUDA libraries",
                ("Folder", "Version", "From", "Named by"),
                [(t.root, t.version, t.owner or t.origin, ", ".join(t.named_by)) for t in s.toolkits or ()],
            ),
            plain(
                "Copies of cuDNN",
                ("Folder", "Version", "For CUDA", "From", "Files that are not in order"),
                [
                    (c.folder, c.version, c.cuda_major, c.owner or c.origin, _faults(c.files, c.missing))
                    for c in s.cudnn or ()
                ],
            ),
            plain(
                "Python environments",
                ("Environment", "Python", "Kind", "Frameworks and CUDA packages"),
                [
                    (p.prefix, p.version, p.kind, ", ".join(f"{d.name} {d.version}" for d in p.distributions))
                    for p in s.pythons or ()
                ],
            ),
            plain(
                "Frameworks, tried in their own Python",
                ("Framework", "Environment", "Passed", "On a GPU", "CUDA and cuDNN", "Problem"),
                [_trial(t) for t in s.trials or ()],
            ),
        )
    )


def _trial(t: FrameworkTrial) -> tuple[str, ...]:
    gpu = {True: "yes", False: "no", None: ""}[t.gpu]
    versions = ", ".join(filter(None, (t.cuda, t.cudnn)))
    return f"{t.framework} {t.version}".strip(), t.prefix, t.reached, gpu, versions, t.problem or t.ended


def _memory(size: int | None) -> str:
    return "" if size is None else f"{size / (1 << 30):.0f} GiB"


def _faults(files: Sequence[LibraryFile], missing: Sequence[str]) -> str:
    bad = [f"{f.name}: {f.state}" for f in files if f.state != "good"]
    return ", ".join(bad + [f"{name}: missing" for name in missing]) or "none"


def libraries(s: Snapshot) -> str:
    """Return, for every program that was examined, each library that it wants and all candidates in search order."""
    return "".join(_load(load) for load in s.loads or ())


def _load(load: Load) -> str:
    wanted = f", built with cuDNN {load.wanted_version}" if load.wanted_version else ""
    caption = f"cuDNN {load.major} for {load.consumer.label}{wanted}: candidates in the order of the search"
    heads = ("Library", "No.", "File", "How it is found", "Result")
    rows = "".join(_resolution(r) for r in load.resolutions[:MOST])
    return table(caption, heads, rows) if rows else ""


def _resolution(r: Resolution) -> str:
    winner = r.winner
    shown = [(n, a) for n, a in enumerate(r.attempts, 1) if a.outcome != "not there"][:MOST]
    absent = sum(a.outcome == "not there" for a in r.attempts)
    rows = [_attempt(n, a, taken=a is winner) for n, a in shown]
    if not shown:
        rows = [
            f'<td></td><td class="path"></td><td></td>{cell(f"Found at none of {absent} places", tag="td", css="warning")}'
        ]
    by = "\nfor " + re.split(r"[\\/]", r.wanted_by)[-1] if r.wanted_by else ""
    head = f'<th scope="rowgroup" rowspan="{len(rows)}">{cell(r.name + by)}</th>'
    rows[0] = head + rows[0]
    return f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody>"


def _attempt(number: int, a: Attempt, *, taken: bool) -> str:
    how = a.via if a.via.startswith(a.how.value) else f"{a.how.value} ({a.via})" if a.via else a.how.value
    word, css = ("Taken", "good") if taken and a.outcome == "found" else (a.outcome.capitalize(), "")
    if taken and a.outcome != "found":
        word, css = f"Stops here: {a.outcome}", "error"
    elif a.outcome == "found" and not taken:
        word = "Comes later"
    result = f"{word}. {a.detail}" if a.detail else word
    return f"{cell(number, tag='td')}{cell(a.path, tag='td', css='path')}{cell(how, tag='td')}{cell(result, tag='td', css=css)}"


def history(done: Sequence[Done] | None) -> str:
    """Return what Convalesce changed on the machine, newest first, and what was taken back."""
    if done is None:
        return ""
    if not done:
        return "<p>Convalesce has changed nothing on this machine.</p>"
    rows = [
        (d.title, d.made, STATES.get(d.state, d.state) + (f". {d.note}" if d.note else ""), "\n".join(d.lines))
        for d in reversed(done)
    ]
    return plain("Every change, newest first", ("What", "When", "State", "Line by line"), rows)
