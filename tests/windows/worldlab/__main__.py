"""``python -m tests.windows.worldlab [NAME...]``: real frameworks for Windows under wine, one fault each; exit status 1 on any miss."""

from __future__ import annotations

import sys
from typing import Any

from tests.windows.lab import ROOT
from tests.windows.linux_side import as_row, parser_for, rows, write_table
from tests.windows.worldlab.wheels import places

DOCUMENT = ROOT / "docs" / "windows-world.md"
BY_LAB = "installed by the lab from its wheels"
HEAD = "| scene | expected | found | its own DLLs before | cure | its own DLLs after, and undone |\n|---|---|---|---|---|---|"


def main(argv: list[str]) -> int:
    """Run the scenes that were named (patterns such as "ort-*"), or all."""
    options = parser_for("worldlab", __doc__ or "", DOCUMENT).parse_args(argv)
    results = []
    for result in rows("worldlab", places(), options.names, options.keep):
        results.append(result)
        print(line(result), flush=True)
        if options.markdown:
            write_table(DOCUMENT, "worldlab", HEAD, {result["name"]: markdown(result)}, words)
    print(f"\n{totals(results)}")
    return 0 if results and all(r["right"] for r in results) else 1


def line(r: dict[str, Any]) -> str:
    """Return one scene as text; a miss says what was seen instead."""
    text = f"{'right' if r['right'] else 'WRONG'}  {r.get('verdict', ''):12} {r['name']:32} {'|'.join(r['expected']) or '(quiet)':44} {r['found']}  {r.get('seconds', '?')} s"
    text += f"\n       before: {numbers(r.get('oracle', {}))}"
    text += f"\n       cure: {r['cure']} -> {r['proof']}" if r["cure"] else ""
    return text if r["right"] else f"{text}\n       the scan's child: {r.get('told')}\n       {r.get('detail', '')}"


def numbers(said: dict[str, int]) -> str:
    """Return the oracle's answer in words."""
    return ", ".join(f"{name}: {number}" for name, number in said.items() if number) or "loaded"


def totals(results: list[dict[str, Any]]) -> str:
    """Return what the table comes to."""
    faults, healthy = [r for r in results if r["expected"]], [r for r in results if not r["expected"]]
    named = sum(r.get("verdict") == "named first" for r in faults)
    quiet = sum(r.get("verdict") == "quiet" for r in healthy)
    pressed = [r for r in faults if r["proof"].startswith("rehearsed")]
    by_lab = [r for r in faults if r["proof"].startswith(BY_LAB)]
    worked = sum(", loaded, undone" in r["proof"] for r in pressed)
    return (
        f"{named} of {len(faults)} faults named first; {quiet} of {len(healthy)} healthy machines quiet; {worked} of {len(pressed)} "
        "cures that were carried out let the framework's own DLLs load and were undone; so did "
        f"{sum(', loaded' in r['proof'] for r in by_lab)} of {len(by_lab)} that the lab installed."
    )


def words(rows_there: list[str]) -> str:
    """Return what the document's table comes to."""
    faults = [row for row in rows_there if " | - | " not in row]
    first, quiet = sum("| named first" in row for row in faults), sum("| quiet |" in row for row in rows_there)
    undone = sum("loaded, undone" in row for row in rows_there)
    by_lab = sum(f"{BY_LAB}, loaded" in row for row in rows_there)
    return (
        f"{first} of {len(faults)} faults named first, {quiet} of {len(rows_there) - len(faults)} healthy machines quiet; after {undone} "
        f"cures the framework's own DLLs loaded, and the cure was undone; after {by_lab} they loaded that the lab installed from its wheels."
    )


def markdown(r: dict[str, Any]) -> str:
    """Return one row of the document."""
    verdict = r.get("verdict", "")
    found = verdict if verdict in ("quiet", "named first") else f"{verdict}: {r['found']}"
    expected = " or ".join(r["expected"]) or "-"
    return as_row(r["name"], expected, found, numbers(r.get("oracle", {})), r["cure"][:90], r["proof"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
