"""``python -m tests.windows.faultlab [NAME...]``: plant, scan, cure and take back every fault, and print the table."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faultlab.wheels import cache
from tests.windows.faultlab import parts
from tests.windows.lab import session


def main(argv: list[str]) -> int:
    """Run the rows that were named (patterns such as "8-*"), or all; exit status 1 on any miss."""
    parser = argparse.ArgumentParser(prog="python -m tests.windows.faultlab", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help='a row, or a pattern such as "8-*"')
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave every report in FOLDER")
    options = parser.parse_args(argv)
    results = []
    if options.markdown:
        print("| Fault | What is wrong | Cause found | Message of cuDNN | Cure | Proof |\n|---|---|---|---|---|---|")
    for result in rows(options.names, options.keep):
        results.append(result)
        print(markdown(result) if options.markdown else line(result), flush=True)
    right = sum(r["right"] for r in results)
    print(f"\n{right} of {len(results)} right")
    return 0 if results and right == len(results) else 1


def rows(names: list[str], keep: Path | None = None) -> Iterator[dict[str, Any]]:
    """Yield each row's result as the Windows side tells it; what else it prints goes to stderr."""
    places = {name: f"Z:{path}".replace("/", "\\") for name, path in parts.places().items()}
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        places["reports"] = f"Z:{keep.resolve()}".replace("/", "\\")
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        paper = Path(folder) / "places.json"
        paper.write_text(json.dumps(places))
        told = f"Z:{paper}".replace("/", "\\")
        with session("faultlab") as (lab, display):
            command = [lab.python, "-m", "tests.windows.faultlab.inside", told, *names]
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
    cells = (result["name"], result["why"], found, said, result["cure"], result.get("proof", ""))
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
