"""``python -m tests.startup``: runs the whole matrix and writes its table, docs/starting.md."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tests.startup.matrix import SHELLS, run_row
from tests.startup.places import PLACES, VALUES

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/starting.md"
HEAD = """# Ways of starting

A program gets its variables from the way in which it is started. A scan reads the files of each way, and judges each with its own
variables: login shells, terminals, the desktop's session, commands over ssh, cron jobs, Jupyter's kernels, activations of environments,
systemd services, VS Code's terminals, direnv, and environment modules that are loaded. What reading cannot decide is called open; a
shell is asked only then, without a terminal, for at most two seconds, never with an administrator's rights.

`python -m tests.startup` writes this table. In each row a variable is wrong by one line: LD_LIBRARY_PATH and PATH by a folder in
front, CUDA_VISIBLE_DEVICES is -1, CUDA_HOME names a folder that is gone. The scan names file and line in the ways that are listed; the cure
edits that line; then every way is read anew and, where a shell of this machine makes it, really started; then it is undone, byte for byte.

"""


def main() -> int:
    """Run every row; return how many went wrong."""
    wrong = 0
    lines = [HEAD, f"| Place | Account's shell | Ways | {' | '.join(VALUES)} |", f"|---|---|---|{'---|' * len(VALUES)}"]
    scratch = Path(tempfile.mkdtemp(prefix="convalesce-startup-", dir=Path.home()))
    rows = 0
    try:
        for place in PLACES:
            for shell in place.shells:
                cells, named = [], ""
                for name in VALUES:
                    rows += 1
                    home = scratch / f"{rows}"
                    home.mkdir(mode=0o700)
                    row = run_row(place, name, shell, home, scratch / f"state{rows}")
                    cells.append(
                        "; ".join(row.problems) or ("no effect (/etc/profile)" if row.idle else "cured, undone")
                    )
                    named = ", ".join(row.named) or named
                    wrong += bool(row.problems)
                lines.append(f"| {place.name} | {shell} | {named} | {' | '.join(cells)} |")
                sys.stderr.write(lines[-1] + "\n")
    finally:
        shutil.rmtree(scratch)
    real = ", ".join(SHELLS)
    lines.append(f"\n{rows} rows, {wrong} with something wrong. Shells that were really started: {real}.")
    DOCUMENT.write_text("\n".join(lines) + "\n")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main()))
