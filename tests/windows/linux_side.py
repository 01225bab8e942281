"""What the command lines of both Windows labs share: arguments, the rows that the Windows side tells, and the document's table."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.faultlab.wheels import cache
from tests.windows.lab import session


def parser_for(lab: str, description: str, document: Path) -> argparse.ArgumentParser:
    """Return the parser of a lab's command line."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.windows.{lab}", description=description)
    parser.add_argument("names", nargs="*", metavar="NAME", help='only these; patterns such as "8-*" do')
    parser.add_argument("--markdown", action="store_true", help=f"write what was run into {document.name}")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave every report in FOLDER")
    return parser


def rows(
    lab: str, places: Mapping[str, str], names: Sequence[str], keep: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Yield each row's result as the Windows side of the lab tells it; what else it prints goes to stderr.

    ``places``: where the lab's files lie, by name. Each lab has a prefix of its own, so that both can run.
    """
    where = {name: in_wine(Path(path)) for name, path in places.items()}
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        where["reports"] = in_wine(keep.resolve())
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        paper = Path(folder) / "places.json"
        paper.write_text(json.dumps(where))
        with session(lab) as (wine, display):
            command: list[str | Path] = [wine.python, "-m", f"tests.windows.{lab}.inside", in_wine(paper), *names]
            with wine.start(command, display) as process:
                assert process.stdout is not None
                for raw in process.stdout:
                    text = raw.decode("utf-8", "replace").rstrip()
                    if text.startswith('{"name"'):
                        yield json.loads(text)
                    elif text:
                        print(text, file=sys.stderr)
            if process.returncode:
                raise SystemExit(f"The Windows side ended with status {process.returncode}.")


def in_wine(path: Path) -> str:
    """Return a path of this machine as programs under wine see it."""
    return f"Z:{path}".replace("/", "\\")


def write_table(document: Path, lab: str, head: str, new: Mapping[str, str], words: Callable[[list[str]], str]) -> None:
    """Put rows, by name, into the document's table, below what ``words`` says of all of them; other rows stay as they are."""
    mark = f"<!-- table: python -m tests.windows.{lab} --markdown -->"
    before, _mark, after = document.read_text(encoding="utf-8").partition(mark)
    old = [row for row in after.splitlines() if row.startswith("| ") and row not in head.splitlines()]
    table = {row.split(" | ")[0].strip("| "): row for row in old} | dict(new)
    lines = list(table.values())
    document.write_text("\n".join((before + mark, "", words(lines), "", head, *lines, "")), encoding="utf-8")


def as_row(*cells: object) -> str:
    """Return one row of a table in Markdown."""
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
