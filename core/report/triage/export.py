"""Rows for other tools: one per machine, as JSON lines, or as Parquet by DuckDB (an optional extra).

The schema (docs/for-administrators.md): file, worst, cause, title, system, architecture, kernel, driver, gpus: text; findings: a list of
{id, cause, severity, subject, primary_cause}; settings: a map from a setting's name to its value.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from core.common.given_text import MAX_REPORT_BYTES
from core.common.i18n import _
from core.report.triage.reading import Item, ReadReport, settings_of

COLUMNS = {
    **dict.fromkeys(
        ("file", "worst", "cause", "title", "system", "architecture", "kernel", "driver", "gpus"), "VARCHAR"
    ),
    "findings": "STRUCT(id VARCHAR, cause VARCHAR, severity VARCHAR, subject VARCHAR, primary_cause BOOLEAN)[]",
    "settings": "MAP(VARCHAR, VARCHAR)",
}
"""Columns and their types, in DuckDB's words."""


class ExportError(Exception):
    """The rows cannot be written; the message is one sentence."""


def row_of(name: str, report: ReadReport) -> dict[str, object]:
    """Return a machine's row."""
    first, machine = report.leading, report.snapshot.machine
    return {
        "file": name,
        "worst": report.worst,
        "cause": first.cause if first else "",
        "title": first.title if first else "",
        "system": machine.release,
        "architecture": machine.architecture,
        "kernel": machine.kernel,
        "driver": report.driver_version,
        "gpus": report.gpu_names,
        "findings": [
            {"id": f.id, "cause": f.cause, "severity": f.severity, "subject": f.subject, "primary_cause": f.primary}
            for f in report.findings
        ],
        "settings": settings_of(report),
    }


def export_lines(items: Iterable[Item], out: BinaryIO) -> int:
    """Write one line per machine as the reports are read; return the number of lines."""
    count = 0
    for name, read in items:
        if isinstance(read, ReadReport):
            out.write(msgspec.json.encode(row_of(name, read)) + b"\n")
            count += 1
    return count


def export_file(items: Iterable[Item], path: Path) -> int:
    """Write a file, completely or not at all: Parquet if its name ends so, else JSON lines. Return the number of
    machines.

    Raises:
        ExportError: Parquet is asked for and DuckDB is not installed.
        OSError: the file cannot be written.
    """
    # in a new folder: in one that others can write, they could have created a file of a predictable name
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as place:
        lines, beside = Path(place) / "lines.jsonl", Path(place) / "rows"
        with lines.open("wb") as out:
            count = export_lines(items, out)
        made = lines
        if path.suffix.lower() == ".parquet":
            _to_parquet(lines, beside)
            made = beside
        made.replace(path)
    return count


def _to_parquet(lines: Path, out: Path) -> None:
    try:
        import duckdb
    except ImportError:
        raise ExportError(
            _(
                "Writing Parquet requires DuckDB, which is not installed: {command}",
                command='pip install "convalesce[export]"',
            )
        ) from None
    with duckdb.connect(":memory:") as database:
        rows = database.read_json(
            str(lines), format="newline_delimited", columns=COLUMNS, maximum_object_size=MAX_REPORT_BYTES
        )
        rows.write_parquet(str(out))
