"""Programs that put folders on PATH by themselves: what is said of the session's PATH is a note for their environment."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from core.common.i18n import _
from core.model.facts import Snapshot, Start
from core.model.findings import Finding
from core.model.steps import Severity
from core.rules.wording import NOTE, observation

BY_PATH = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "nvrtc_missing_or_mismatch")


def with_own_path(found: Iterable[Finding], seen: Snapshot) -> list[Finding]:
    """Return the findings; one about PATH is a note where every program here that is concerned changes PATH itself."""
    starts = [
        s
        for s in seen.starts or ()
        if seen.machine.system == "windows"
        and s.kind == "script"
        and s.at.lower().endswith((".py", ".pyw"))
        and any(n.upper() == "PATH" for n in s.open)
    ]
    return [_with_rows(f, starts) for f in found] if starts else list(found)


def _with_rows(finding: Finding, starts: list[Start]) -> Finding:
    if finding.severity in (Severity.GOOD, Severity.NOTE) or finding.cause not in BY_PATH:
        return finding
    prefixes = {c.partition(":")[2] for c in finding.consumers}
    its = [s for s in starts if s.prefix in prefixes]
    if not its or prefixes - {s.prefix for s in its}:
        return finding
    rows = [observation(_("Changes PATH by itself"), s.at, s.at) for s in its[:3]]
    return replace(finding, severity=NOTE, evidence=(*finding.evidence, *rows))
