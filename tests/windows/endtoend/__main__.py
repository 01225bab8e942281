"""``python -m tests.windows.endtoend [NAME...]``: the commonest failures on Windows by the command line; exit status 1 on any miss."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pip

from tests.faultlab.wheels import cache
from tests.windows.lab import ROOT
from tests.windows.linux_side import as_row, parser_for, rows, write_table
from tests.windows.worldlab.wheels import places

DOCUMENT = ROOT / "docs" / "windows-end-to-end.md"
HEAD = (
    "| failure | its own DLL before | `scan` | `fix --dry-run` | `fix --yes` | its own DLL after | `undo` | its own DLL then |\n"
    "|---|---|---|---|---|---|---|---|"
)


def main(argv: list[str]) -> int:
    """Walk the roads that were named, or all."""
    parser = parser_for("endtoend", __doc__ or "", DOCUMENT)
    parser.add_argument(
        "--setup", type=Path, metavar="SETUP.EXE", help="install this, and let the installed program do it"
    )
    options = parser.parse_args(argv)
    results = []
    there = {**places(), "pip": str(Path(pip.__file__).parent), "wheels": str(cache() / "wheels")}
    if options.setup:
        there["setup"] = str(options.setup.resolve())
    for r in rows("endtoend", there, options.names, options.keep):
        results.append(r)
        print(f"{'right' if r['right'] else 'WRONG'}  {r}", flush=True)
        if options.markdown:
            write_table(DOCUMENT, "endtoend", HEAD, {r["name"]: markdown(r)}, words)
    print(f"\n{sum(r['right'] for r in results)} of {len(results)} right")
    return 0 if results and all(r["right"] for r in results) else 1


def markdown(r: dict[str, Any]) -> str:
    """Return one row of the document."""
    works = {True: "works", False: "does not work", None: "not decided"}[r.get("rehearsal")]
    undone = "as before" if r.get("as_before") else "NOT AS BEFORE"
    return as_row(
        r["name"] if r["right"] else f"{r['name']} (WRONG)",
        r.get("before", ""),
        f"{r.get('cause', '')}; exit {r.get('scan')}",
        f"{r.get('title', '')[:90]}: {works}; exit {r.get('dry')}",
        f"{r.get('outcome', '')}; exit {r.get('fix')}",
        r.get("after", ""),
        f"exit {r.get('undo')}; {undone}",
        r.get("again", ""),
    )


def words(rows_there: list[str]) -> str:
    """Return what the document's table comes to."""
    right = sum("(WRONG)" not in row for row in rows_there)
    return f"{right} of {len(rows_there)} were found, rehearsed, cured, loaded and undone."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
