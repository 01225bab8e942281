"""The JSON Schema of a report, made from its types; ``python -m core.report.json_schema`` writes resources/schema/report-1.json."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from core.model.facts import SCHEMA_VERSION
from core.report.json_form import _ReportForm

SCHEMA_FILE_NAME = f"report-{SCHEMA_VERSION}.json"
SCHEMA_NAMES = {"_ReportForm": "Report", "_FindingForm": "Finding"}
"""Readable names of the JSON forms in the schema."""


def report_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12). Fields that it does not name are allowed: a later version may add some."""
    made: dict[str, Any] = msgspec.json.schema(_ReportForm, ref_template="#/$defs/{name}")
    text = msgspec.json.encode(made).decode()
    for private, public in SCHEMA_NAMES.items():
        text = text.replace(private, public)
    made = msgspec.json.decode(text)
    made["$defs"]["Report"]["properties"]["schema"] = {"const": SCHEMA_VERSION}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:convalesce:report:{SCHEMA_VERSION}",
        "title": "A report of Convalesce",
    }
    return head | made


def schema_json() -> bytes:
    """Return the schema as it stands in its file."""
    return msgspec.json.format(msgspec.json.encode(report_schema(), order="sorted"), indent=2) + b"\n"


def main() -> None:
    """Write the schema's file."""
    path = Path(str(files("resources"))) / "schema" / SCHEMA_FILE_NAME
    path.write_bytes(schema_json())


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m core.report.json_schema", description=__doc__).parse_args()
    main()
