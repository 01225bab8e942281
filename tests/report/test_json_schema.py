"""The published JSON Schema: made from the types, and every recorded report keeps to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from core.doctor.examine import diagnose_snapshot
from core.model.findings import Report
from core.report.json_form import from_json, to_json
from core.report.json_schema import SCHEMA_FILE_NAME, report_schema, schema_json
from core.report.redact import redact
from tests import machines
from tests.report.test_redact import TEXTS, planted
from tests.test_snapshots import RECORDED

FILE = Path(__file__).parents[2] / "resources" / "schema" / SCHEMA_FILE_NAME
CHECK = jsonschema.Draft202012Validator(json.loads(FILE.read_bytes()))


def problems(report: bytes) -> list[str]:
    return [e.message for e in CHECK.iter_errors(json.loads(report))]


def test_the_published_file_is_what_the_types_say() -> None:
    assert FILE.read_bytes() == schema_json(), "run python -m core.report.json_schema"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(report_schema())
    assert "_ReportForm" not in FILE.read_text()


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda p: p.stem)
def test_every_recorded_report_keeps_to_it(recorded: Path) -> None:
    assert problems(recorded.read_bytes()) == []
    assert problems(to_json(redact(diagnose_snapshot(from_json(recorded.read_bytes()).snapshot)))) == []


@pytest.mark.parametrize("name", machines.HEALTHY)
def test_every_machine_of_the_tests_keeps_to_it(name: str) -> None:
    assert problems(to_json(diagnose_snapshot(machines.HEALTHY[name]()))) == []


def test_a_report_with_every_field_filled_keeps_to_it() -> None:
    assert problems(to_json(redact(planted("\n".join(TEXTS))))) == []


WRONG = {
    "no snapshot": lambda d: d.pop("snapshot"),
    "another schema": lambda d: d.update(schema=2),
    "a severity that is none": lambda d: d["findings"][0].update(severity="fatal"),
    "a step that is none": lambda d: d["findings"][0].update(step="kernel"),
    "a number for a text": lambda d: d["findings"][0].update(title=3),
    "a system that is none": lambda d: d["snapshot"]["machine"].update(system="beos"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name: str) -> None:
    document = json.loads(to_json(diagnose_snapshot(machines.wheel_machine())))
    WRONG[name](document)
    assert list(CHECK.iter_errors(document))


def without_optional(document: Any, required: dict[str, Any], defs: dict[str, Any]) -> Any:
    """Return a report as an older version wrote it: without any field that has a default."""
    return {k: v for k, v in document.items() if k in required["required"]} if "required" in required else document


def test_an_older_report_still_replays() -> None:
    recorded = json.loads(to_json(diagnose_snapshot(machines.wheel_machine())))
    defs = json.loads(FILE.read_bytes())["$defs"]
    for section, form in (("driver", "Driver"), ("environment", "Environment"), ("machine", "Machine")):
        recorded["snapshot"][section] = without_optional(recorded["snapshot"][section], defs[form], defs)
    for field in ("taken_out", "history"):
        recorded.pop(field)
    recorded["snapshot"].pop("seconds")
    old = json.dumps(recorded).encode()
    assert problems(old) == []
    report = from_json(old)
    assert (report.taken_out, report.history) == (None, None)
    assert isinstance(diagnose_snapshot(report.snapshot), Report)


def test_a_field_of_a_later_version_is_allowed_and_passed_over() -> None:
    document = json.loads(to_json(diagnose_snapshot(machines.wheel_machine())))
    document["weather"] = document["snapshot"]["weather"] = "fine"
    later = json.dumps(document).encode()
    assert problems(later) == []
    assert from_json(later).snapshot == diagnose_snapshot(machines.wheel_machine()).snapshot
