"""``python -m tests.windows.faultlab [NAME...]``: plant, scan, cure and take back every fault; exit status 1 on any miss."""

from __future__ import annotations

import sys
from typing import Any

from tests.windows.faultlab import parts
from tests.windows.lab import ROOT
from tests.windows.linux_side import as_row, parser_for, rows, write_table

DOCUMENT = ROOT / "docs" / "windows-fault-lab.md"
HEAD = "| Fault | What is wrong | Cause found | Message of cuDNN | Cure | Proof |\n|---|---|---|---|---|---|"


def main(argv: list[str]) -> int:
    """Run the rows that were named (patterns such as "8-*"), or all."""
    options = parser_for("faultlab", __doc__ or "", DOCUMENT).parse_args(argv)
    results = []
    for result in rows("faultlab", parts.places(), options.names, options.keep):
        results.append(result)
        print(line(result), flush=True)
        if options.markdown:
            write_table(DOCUMENT, "faultlab", HEAD, {result["name"]: markdown(result)}, words)
    right = sum(r["right"] for r in results)
    print(f"\n{right} of {len(results)} right")
    return 0 if results and right == len(results) else 1


def line(result: dict[str, Any]) -> str:
    """Return one row as text; a miss says what was seen instead."""
    verdict = "right" if result["right"] else "WRONG"
    misled = "misleads: " if result["misleading"] else ""
    text = f"{verdict}  {result['name']:26} {result['expected']:30} {result['found']:30} {result['seconds']:5.1f} s"
    for label, value in (
        ("said", misled + result["said"]),
        ("cure", result["cure"]),
        ("proof", result.get("proof", "")),
    ):
        text += f"\n       {label}: {value}" if value.strip() else ""
    return text if result["right"] else f"{text}\n       {result['detail']}"


def markdown(result: dict[str, Any]) -> str:
    """Return one row of the document."""
    said = result["said"] + (" **(misleading)**" if result["misleading"] else "")
    found = result["found"] if result["right"] else f"WRONG: {result['found']}"
    return as_row(result["name"], result["why"], found, said, result["cure"], result.get("proof", ""))


def words(rows_there: list[str]) -> str:
    """Return what the document's table comes to."""
    wrong, healthy = sum(" | WRONG: " in row for row in rows_there), sum(" | (healthy) | " in row for row in rows_there)
    cured = sum(row.endswith(" undone |") and " | WRONG: " not in row for row in rows_there)
    return (
        f"{len(rows_there) - wrong} of {len(rows_there)} rows right: {healthy} healthy machines; {cured} faults cured and taken back; the "
        "others are left to a person, who is told how."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
