"""Short names: an environment by its project, a toolkit by its version; equal names get a distinguishing part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.model.facts import split_id
from core.model.findings import Finding, Report
from core.model.paths import form_of

NO_NAMES = {
    *(".venv", "venv", "env", ".env", ".conda", "virtualenv", "site-packages", "dist-packages"),
    *("bin", "lib", "lib64", "x64", "include", "targets", "x86_64-linux"),
}
"""Folders with a generic name; the parent folder's name is used."""
MOST_NAMES = 3
"""Most names in a list; the rest are counted."""
_NUMBER = late_pattern(r"\d+(\.\d+)*")
_REST = r"(?:[/\\][^\s,;:\"'()]*)?"


def environment_names(report: Report) -> dict[str, str]:
    """Return the prefix of each environment -> its short name; no two are the same."""
    rows = report.grid.rows if report.grid else ()
    found = {r.prefix: r for r in rows}
    named = {
        prefix: _("Python {version} of the system", version=".".join(row.python.split(".")[:2]))
        for prefix, row in found.items()
        if row.kind in ("system", "store")
    }
    places = _shortest_unique_ends([p for p in found if p not in named])
    twice = {n for n in named.values() if list(named.values()).count(n) > 1}
    return {**places, **{p: f"{n} ({p})" if n in twice else n for p, n in named.items()}}


def _shortest_unique_ends(paths: Iterable[str]) -> dict[str, str]:
    """Return each path -> its shortest meaningful and unique end."""
    parts = {p: _meaningful_parts(p) for p in dict.fromkeys(paths)}
    length = dict.fromkeys(parts, 1)
    while True:
        names = {p: "/".join(all_[-length[p] :]) or p for p, all_ in parts.items()}
        seen = list(names.values())
        again = [p for p, n in names.items() if seen.count(n) > 1 and length[p] < len(parts[p])]
        if not again:
            return {p: p if seen.count(n) > 1 else n for p, n in names.items()}
        for p in again:
            length[p] += 1


def _meaningful_parts(path: str) -> list[str]:
    parts = [part for part in re.split(r"[/\\]", path) if part]
    while len(parts) > 1 and (parts[-1].lower() in NO_NAMES or _NUMBER.fullmatch(parts[-1])):
        parts.pop()
    return parts


def concerned_environments(finding: Finding, report: Report) -> tuple[str, ...]:
    """Return the short names of the environments that a finding concerns; none for a fault of all programs."""
    names = environment_names(report)
    found = dict.fromkeys(split_id(c)[0].partition(":")[2] for c in finding.consumers)
    return tuple(names.get(prefix, _shortest_unique_ends([prefix])[prefix]) for prefix in found if prefix)


def concerned_text(finding: Finding, report: Report) -> str:
    """Return the environments that a finding concerns, in a few words; empty if there are none."""
    return join_names(concerned_environments(finding, report), MOST_NAMES)


def shorten_paths(text: str, report: Report) -> str:
    """Return a sentence with short names in place of the paths that the report knows, and ~ for the home folder."""
    for path, name in sorted(_known_paths(report), key=lambda pair: -len(pair[0])):
        if path in text:
            text = re.sub(rf"(?<![\w/\\.]){re.escape(path)}{_REST}", lambda _m, name=name: name, text)  # type: ignore[misc]  # bound here
    home = report.snapshot.machine.home
    return re.sub(rf"(?<![\w/\\.]){re.escape(home)}(?=[/\\])", "~", text) if len(home) > 1 else text


def _known_paths(report: Report) -> Iterator[tuple[str, str]]:
    yield from environment_names(report).items()
    seen = report.snapshot
    copies = [c.folder for c in seen.cudnn or () if not c.environment]
    yield from _shortest_unique_ends(copies).items()
    kits = {
        t.root or t.folder: f"CUDA {t.version}"
        for t in seen.toolkits or ()
        if t.version and t.origin in ("installer", "distribution", "folder")
    }
    apart = _shortest_unique_ends(kits)
    for root, name in kits.items():
        yield root, apart[root] if list(kits.values()).count(name) > 1 else name


def environment_place(prefix: str, home: str) -> str:
    """Return the path of an environment, with the home folder as ~."""
    return "~" + prefix[len(home) :] if len(home) > 1 and prefix.startswith(home) and form_of(prefix) else prefix
