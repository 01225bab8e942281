"""``python -m tests.windows.worldlab [NAME...]``: real frameworks for Windows under wine, one fault each; exit status 1 on any miss."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faultlab.wheels import cache
from tests.windows.lab import ROOT, session
from tests.windows.worldlab.wheels import places

DOCUMENT = ROOT / "docs" / "windows-world.md"
MARK = "<!-- table: python -m tests.windows.worldlab --markdown -->"
HEAD = "| scene | expected | found | its own DLLs before | cure | its own DLLs after, and undone |\n|---|---|---|---|---|---|"


def main(argv: list[str]) -> int:
    """Run the scenes that were named (patterns such as "ort-*"), or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.windows.worldlab", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help='a scene, or a pattern such as "ort-*"')
    parser.add_argument("--markdown", action="store_true", help=f"write the table into {DOCUMENT.name}")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave every report in FOLDER")
    options = parser.parse_args(argv)
    results = []
    for result in rows(options.names, options.keep):
        results.append(result)
        print(line(result), flush=True)
        if options.markdown:
            write(results)
    print(f"\n{totals(results)}")
    return 0 if results and all(r["right"] for r in results) else 1


def rows(names: list[str], keep: Path | None = None) -> Iterator[dict[str, Any]]:
    """Yield each scene's result as the Windows side tells it; what else it prints goes to stderr."""
    where = {name: f"Z:{path}".replace("/", "\\") for name, path in places().items()}
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        where["reports"] = f"Z:{keep.resolve()}".replace("/", "\\")
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        paper = Path(folder) / "places.json"
        paper.write_text(json.dumps(where))
        told = f"Z:{paper}".replace("/", "\\")
        with session("faultlab") as (lab, display):
            command = [lab.python, "-m", "tests.windows.worldlab.inside", told, *names]
            with lab.start(command, display) as process:
                assert process.stdout is not None
                for raw in process.stdout:
                    text = raw.decode("utf-8", "replace").rstrip()
                    if text.startswith('{"name"'):
                        yield json.loads(text)
                    elif text:
                        print(text, file=sys.stderr)
            if process.returncode:
                raise SystemExit(f"The Windows side ended with status {process.returncode}.")


def line(r: dict[str, Any]) -> str:
    """Return one scene as text; a miss says what was seen instead."""
    text = f"{'right' if r['right'] else 'WRONG'}  {r.get('verdict', ''):12} {r['name']:32} {'|'.join(r['expected']) or '(quiet)':44} {r['found']}  {r['seconds']} s"
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
    pressed = [r for r in faults if r["proof"]]
    worked = sum(", loaded, undone" in r["proof"] for r in pressed)
    return (
        f"{named} of {len(faults)} faults named first; {quiet} of {len(healthy)} healthy machines quiet; {worked} of {len(pressed)} "
        "cures that were carried out let the framework's own DLLs load and were undone."
    )


def write(results: list[dict[str, Any]]) -> None:
    """Put what was run into the document's table; rows of other scenes stay as they are."""
    before, _mark, after = DOCUMENT.read_text(encoding="utf-8").partition(MARK)
    kept = [
        row
        for row in after.splitlines()
        if row.startswith("| ") and "---" not in row and not row.startswith("| scene |")
    ]
    rows = {row.split(" | ")[0].strip("| "): row for row in kept} | {r["name"]: _row(r) for r in results}
    faults = [row for row in rows.values() if " | - | " not in row]
    first, quiet = sum("| named first" in row for row in faults), sum("| quiet |" in row for row in rows.values())
    undone = sum("loaded, undone" in row for row in rows.values())
    words = (
        f"{first} of {len(faults)} faults named first, {quiet} of {len(rows) - len(faults)} healthy machines quiet; after {undone} "
        "cures the framework's own DLLs loaded, and the cure was undone."
    )
    DOCUMENT.write_text("\n".join((before + MARK, "", words, "", HEAD, *rows.values(), "")), encoding="utf-8")


def _row(r: dict[str, Any]) -> str:
    verdict = r.get("verdict", "")
    found = verdict if verdict in ("quiet", "named first") else f"{verdict}: {r['found']}"
    cells = (
        r["name"],
        " or ".join(r["expected"]) or "-",
        found,
        numbers(r.get("oracle", {})),
        r["cure"][:90],
        r["proof"],
    )
    return "| " + " | ".join(str(c).replace("|", "/") for c in cells) + " |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
