"""Files of variables that a way of starting reads and that are not there: what it would have set is not set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from core.common.i18n import _
from core.common.text import join_names
from core.model.facts import Snapshot, Start
from core.model.findings import Evidence, Finding
from core.model.steps import Severity
from core.rules.frameworks.environment_view import environment_views
from core.rules.ways import CONCRETE, way_words
from core.rules.wording import make_finding, manual_fix, observation

NOT_FOUND = (
    "cuda_not_on_search_path",
    "cudnn_not_on_search_path",
    "cuda_runtime_missing",
    "process_env_not_inherited",
    "libdevice_not_found",
    "build_tools_missing",
)
"""Causes whose cure may be a variable: a file that is gone may have set it."""


def files_that_end_the_start(seen: Snapshot) -> Iterator[Finding]:
    """A service or a script ends before it starts its environment, since a file of variables that it reads is not there."""
    views = {h.python.prefix: h for h in environment_views(seen)}
    for start in seen.starts or ():
        home = views.get(start.prefix)
        gone = next((g for g in start.gone if g.ends), None) if home is not None else None
        if home is None or gone is None or start.kind not in CONCRETE:
            continue
        told = make_finding(
            "environment.file-of-variables-gone",
            home.severity,
            _(
                "Only in {ways}: the file {path} is not there, so nothing starts.",
                ways=way_words(seen, (start.id,)),
                path=gone.path,
            ),
            cause="process_env_not_inherited",
            why=_("This file sets variables, and a program that reads it ends if the file is missing."),
            evidence=[*gone_rows((start,)), home.concerns()],
            subject=start.at,
            fix=manual_fix(
                _("Put the file {path} back, or remove the line that reads it", path=gone.path),
                _("It may have been renamed: {files} is beside it.", files=join_names(gone.beside))
                if gone.beside
                else "",
            ),
        )
        yield replace(told, ways=(start.id,))


def with_gone_files(found: Iterable[Finding], seen: Snapshot) -> list[Finding]:
    """Return the findings; one about what is not found says which files of variables a way of starting lacks."""
    starts = [s for s in seen.starts or () if s.gone and s.kind in CONCRETE and s.prefix]
    return [_with_rows(f, starts) for f in found] if starts else list(found)


def _with_rows(finding: Finding, starts: list[Start]) -> Finding:
    if finding.severity < Severity.WARNING or finding.cause not in NOT_FOUND or finding.id.endswith("variables-gone"):
        return finding
    its = [
        s
        for s in starts
        if (s.id in finding.ways or not finding.ways) and any(c.endswith(f":{s.prefix}") for c in finding.consumers)
    ]
    return replace(finding, evidence=(*finding.evidence, *gone_rows(its))) if its else finding


def gone_rows(starts: Iterable[Start]) -> list[Evidence]:
    """Return the files of variables that are gone, as evidence: where each is named, and what it may be called now."""
    rows = []
    for gone in dict.fromkeys(g for s in starts for g in s.gone):
        rows.append(
            observation(_("Reads variables from a file that is not there"), gone.path, f"{gone.file}:{gone.line}")
        )
        if gone.beside:
            rows.append(observation(_("Beside it"), join_names(gone.beside), gone.path))
    return rows


RULES = (files_that_end_the_start,)
