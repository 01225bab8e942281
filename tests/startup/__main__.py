"""``python -m tests.startup``: runs the whole matrix and writes its table, docs/starting.md."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.startup.matrix import SHELLS, run_row
from tests.startup.places import EVERYBODYS, PLACES, VALUES, Place

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/starting.md"
HEAD = """# Ways of starting

A program gets its variables from the way in which it is started. A scan reads the files of each way, and judges each with its own
variables: login shells, terminals, the desktop's session, commands over ssh, cron jobs, Jupyter's kernels, activations of environments,
systemd services with their drop-ins, templates, files and their manager's conf, supervisord's programs, the recipes of a makefile or justfile,
npm's scripts, a Procfile, tasks in pyproject.toml (pixi, PDM, Poe, Hatch, taskipy) and pixi.toml, tasks and run configurations of VS Code and
PyCharm, VS Code's terminals, shells in tmux and screen (their files, and servers that run, with the variables that they were started with),
direnv, mise, the file that uv reads, scripts (a batch system's jobs among them) and launchers, anacron, the folders that cron runs, jobs of at,
rc.local, notebooks that JupyterHub starts, and environment modules that are loaded. What reading cannot decide is called open; a shell is
asked only then, without a terminal, for at most two seconds, never with an administrator's rights. Tasks and the files of a folder are read in
the working folder.

A command is followed to the Python that runs in the end: through scripts with their `cd`, `source` and `module load`, through whatever starts
programs (the command begins with the first word that names a program), through the `run` of uv, Poetry, PDM, Rye, Pipenv, pixi and conda, and through
sudo as sudoers says it. What starts in another root (a container of Docker Compose, a dev container, a Dockerfile's ENV) is no way of
starting an environment of this machine: scan inside it, or name its root with `--root`. A `.env` that a program reads by itself (python-dotenv)
is not judged: nothing outside the program tells whether it does.

`python -m tests.startup` writes this table. In each row a variable is wrong by one line: LD_LIBRARY_PATH and PATH by a folder in
front, CUDA_VISIBLE_DEVICES is -1, CUDA_HOME names a folder that is gone. The scan names file and line in the ways that are listed; the cure
edits that line; then every way is read anew and, where a shell, tmux or direnv of this machine makes it, really started; then it is undone, byte for byte.

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
