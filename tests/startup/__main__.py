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
HEAD = """# Ways of starting

A program's variables depend on the way in which it is started. A scan reads the files of each way, and judges each way
with its own variables:

- login shells, terminals, the desktop's session, commands over ssh, shells in tmux and screen (their files, and running
  servers with the variables that they were started with);
- activations of environments, direnv, mise, environment modules that are loaded, the file that uv reads;
- Jupyter's kernels, notebooks that JupyterHub starts, VS Code's terminals, tasks and run configurations of VS Code and
  PyCharm;
- systemd services (with their drop-ins, templates, files and their manager's configuration), supervisord's programs,
  rc.local;
- cron jobs, the folders that cron runs, anacron, jobs of at;
- the recipes of a makefile or justfile, npm's scripts, a Procfile, tasks in pyproject.toml (pixi, PDM, Poe, Hatch,
  taskipy) and pixi.toml;
- scripts (including a batch system's jobs) and launchers.

A question that files alone cannot answer stays open; only then is a shell started, without a terminal, for at most two
seconds, and never with an administrator's rights. Tasks and the files of a project are read in the working directory.

A command is followed to the Python that finally runs: through scripts with their `cd`, `source` and `module load`,
through programs that start others (the command begins with the first word that names a program), through the `run` of
uv, Poetry, PDM, Rye, Pipenv, pixi and conda, and through sudo according to sudoers. A program that starts in another root
(a container of Docker Compose, a dev container, a Dockerfile's ENV) does not use an environment of this machine: scan
inside it, or name its root with `--root`. A `.env` that a program reads by itself (python-dotenv) is not judged, since
nothing outside the program shows whether it does.

`python -m tests.startup` writes this table. In each row one line makes a variable wrong: a folder is put before the
others in LD_LIBRARY_PATH or PATH, CUDA_VISIBLE_DEVICES is -1, or CUDA_HOME names a folder that does not exist. The scan
names file and line in the listed ways, and the cure edits that line. Then every way is read again and, if this machine
has its shell, tmux or direnv, really started; finally the cure is undone, byte for byte.

"""


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
    lines = [HEAD, f"| Place | Account's shell | Ways | {' | '.join(VALUES)} |", f"|---|---|---|{'---|' * len(VALUES)}"]
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
    DOCUMENT.write_text("\n".join(lines) + "\n")
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
