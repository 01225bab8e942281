"""SARIF 2.1.0, as GitHub's code scanning and Visual Studio read it: one result for each fault and broken expectation.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from core.report.check.outcome import CheckRow, Outcome, State
from core.report.json_form import indented_json

STATUSES: Mapping[State, int] = {"ok": 0, "warning": 0, "critical": 1, "unknown": 1}
LEVELS: Mapping[State, str] = {"ok": "none", "unknown": "note", "warning": "warning", "critical": "error"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(outcome: Outcome, length: int) -> str:  # noqa: ARG001 - there is no line to cut
    """Return one run."""
    rows = [r for r in outcome.rows if r.kind != "step" and r.state != "ok"]
    rules = {_rule(r): {"id": _rule(r), "shortDescription": {"text": r.text}} for r in rows}
    tool = {"driver": {"name": "Convalesce", "version": outcome.version, "rules": [*rules.values()]}}
    done = {"executionSuccessful": outcome.state != "unknown" or bool(outcome.rows)}
    run = {"tool": tool, "invocations": [done], "results": [_result(r) for r in rows]}
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return indented_json(document).decode()


def _rule(row: CheckRow) -> str:
    return row.cause or row.name


def _result(row: CheckRow) -> dict[str, Any]:
    message = "\n".join(t for t in (row.text, row.why) if t)
    result: dict[str, Any] = {"ruleId": _rule(row), "level": LEVELS[row.state], "message": {"text": message}}
    for path in (PurePosixPath(row.subject), PureWindowsPath(row.subject)):
        if path.is_absolute():
            result["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": path.as_uri()}}}]
            break
    return result
