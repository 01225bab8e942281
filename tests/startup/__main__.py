"""``python -m tests.startup``: runs the whole matrix and writes its table, docs/starting.md."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from installer.by_hand import by_hand
from tests.startup.matrix import SHELLS, run_row
from tests.startup.places import EVERYBODYS, PLACES, VALUES, Place

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/starting.md"
TABLE = "| Place |"
"""How the table begins: it is the last of the document, and what stands before it is kept."""
EVERYBODYS_WORD = "--everybodys"
PRIVATE_ETC = 'cp -a /etc "$1/etc" && mount --bind "$1/etc" /etc && shift && exec "$@"'


def in_private_etc(scratch: Path) -> list[str]:
    """Return the rows of everybody's places, run on a copy of /etc that nobody else sees; none where that is not allowed."""
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", PRIVATE_ETC, "sh", str(scratch)]
    done = subprocess.run(
        [*command, sys.executable, "-m", "tests.startup", EVERYBODYS_WORD], capture_output=True, check=False
    )
    sys.stderr.write(done.stderr.decode()[-2000:])
    return done.stdout.decode().splitlines() if done.returncode in (0, 1) else []


def main() -> int:
    """Run every row, write the table, and return how many rows went wrong."""
    if EVERYBODYS_WORD not in sys.argv:
        by_hand(__doc__)
    lines = [f"{TABLE} Account's shell | Ways | {' | '.join(VALUES)} |", f"|---|---|---|{'---|' * len(VALUES)}"]
    scratch = Path(tempfile.mkdtemp(prefix="convalesce-startup-", dir=Path.home()))
    try:
        if EVERYBODYS_WORD in sys.argv:
            found, wrong, _rows = run_rows(EVERYBODYS, scratch)
            sys.stdout.write("\n".join(found) + "\n")
            return wrong
        own, wrong, rows = run_rows(PLACES, scratch)
        others = in_private_etc(scratch)
    finally:
        shutil.rmtree(scratch)
    bad = sum("cured" not in cell and "no effect" not in cell for row in others for cell in row.split("|")[4:-1])
    total = rows + len(others) * len(VALUES)
    real = ", ".join(SHELLS)
    lines += [
        *own,
        *others,
        f"\n{total} rows, {wrong + bad} with something wrong. Shells that were really started: {real}.",
    ]
    words, _, _ = DOCUMENT.read_text().partition(TABLE)
    DOCUMENT.write_text(words + "\n".join(lines) + "\n")
    return wrong + bad


def run_rows(places: tuple[Place, ...], scratch: Path) -> tuple[list[str], int, int]:
    """Return the table's rows, how many went wrong, and how many there are."""
    lines: list[str] = []
    wrong = rows = 0
    for place in places:
        for shell in place.shells:
            cells, named = [], ""
            for name in VALUES:
                rows += 1
                home = scratch / f"{rows}"
                shutil.rmtree(home, ignore_errors=True)
                home.mkdir(mode=0o700)
                row = run_row(place, name, shell, home, scratch / f"state{rows}")
                cells.append("; ".join(row.problems) or ("no effect (/etc/profile)" if row.idle else "cured, undone"))
                named = ", ".join(row.named) or named
                wrong += bool(row.problems)
                if place.file.startswith("/"):
                    (home / place.file).unlink()
            lines.append(f"| {place.name} | {shell} | {named} | {' | '.join(cells)} |")
            sys.stderr.write(lines[-1] + "\n")
    return lines, wrong, rows


if __name__ == "__main__":
    sys.exit(bool(main()))
