"""Other tools on the same real environments, by hand.

    python -m tests.envlab.others --tools VENV > said.jsonl    what each tool said otherwise than of a sound environment
    python -m tests.envlab.others --table said.jsonl           the table of docs/environments.md

VENV is a throw-away environment outside the checkout that has env-doctor and cuda-doctor, of this Python's minor version. The
rows are those of ``tests.envlab.real``, made first where they are not there. Each tool runs with the row's own interpreter; what it says is compared with what it says of a sound row for the same framework, or of an empty
environment where there is none. A tool that says the same cannot have seen anything.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from tests.envlab import real
from tests.envlab.layouts import venv
from tests.faultlab.others import NAMED as OF_FILES
from tests.faultlab.others import Said, wanted

TIMEOUT = 120

Command = Callable[[Path, Path], list[str]]
TOOLS: Mapping[str, Command] = {
    "pip check": lambda prefix, tools: [str(tools / "bin/python"), "-m", "pip", "--python", str(prefix), "check"],
    "env-doctor": lambda prefix, tools: [str(prefix / "bin/python"), str(tools / "bin/env-doctor"), "check"],
    "cuda-doctor": lambda prefix, tools: [str(prefix / "bin/python"), str(tools / "bin/cuda-doctor"), "diagnose"],
    "collect_env": lambda prefix, _tools: [str(prefix / "bin/python"), "-B", "-m", "torch.utils.collect_env"],
}

NAMED = {
    **OF_FILES,
    "framework_cpu_only_build": r"cpu.?only|cpu build|\+cpu|cuda: none|without cuda|no cuda|not compiled with cuda|could not collect",
    "duplicate_framework_packages": r"duplicate|both|conflict|overwrit",
    "requirement_broken": r"has requirement|requires|incompatib",
    "cudnn_minor_too_old": rf"{OF_FILES['cudnn_minor_too_old']}|has requirement",
    "corrupt_or_truncated_file": rf"{OF_FILES['corrupt_or_truncated_file']}|libcu\w+\S*\.so.*(no such file|not found|cannot open)|sigbus",
    "deleted base": r"nowhere|no such file|not found|does not exist|could not locate python interpreter",
    "driver_too_old": r"too old|not supported|upgrade|update .*driver",
}
"""What a new line has to say, at the least, to be counted as naming the cause: read generously."""


def said(prefix: Path, tools: Path, home: Path) -> dict[str, Said]:
    """Run every tool on one environment."""
    packages = next((tools / "lib").glob("python3.*/site-packages"))
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(home), "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    out = {}
    for name, command in TOOLS.items():
        env = (
            clean
            | ({"PYTHONPATH": str(packages)} if name.endswith("doctor") else {})
            | {"PYTHONDONTWRITEBYTECODE": "1"}
        )
        try:
            done = subprocess.run(command(prefix, tools), env=env, capture_output=True, timeout=TIMEOUT, check=False)
            text, status = (done.stdout + done.stderr).decode("utf-8", "replace"), done.returncode
        except subprocess.TimeoutExpired:
            text, status = "no answer in time", -1
        except OSError as e:
            text, status = str(e), -1
        out[name] = Said(status, text.replace(str(prefix), "ENVIRONMENT"))
    return out


def cannot(tool: str, answer: Said) -> bool:
    """Whether the tool does not work there at all: it needs a torch that can be imported, or an interpreter that starts."""
    if answer.text.startswith("[Errno"):
        return True
    lost = re.search(r"No module named '?torch|cannot import name|ImportError|AttributeError.*torch", answer.text)
    return tool == "collect_env" and bool(lost or answer.status)


# --- asking ------------------------------------------------------------------------------------------------


def fault(row: real.Real) -> str:
    """Return what is wrong with a row; empty for a sound one."""
    return "deleted base" if row.name == "deleted-base" else row.cause


def sound_beside(row: real.Real, everything: Mapping[str, Mapping[str, Said]]) -> Mapping[str, Said]:
    """Return what was said of a sound environment with the same framework; of an empty one where there is none."""
    for other in real.ROWS:
        sound = not fault(other) and set(other.cells.values()) == {"should run"}
        if sound and set(other.cells) & set(row.cells) and other is not row and other.name in everything:
            return everything[other.name]
    return everything["empty"]


def asked(tools: Path, names: Sequence[str]) -> Iterable[dict[str, object]]:
    """Ask the tools about every row, and yield what they said otherwise than of the sound one beside it."""
    everything: dict[str, Mapping[str, Said]] = {}
    mine = [r for r in real.ROWS if not names or any(fnmatch(r.name, n) for n in names)]
    with tempfile.TemporaryDirectory(prefix="envlab-") as work:
        everything["empty"] = said(venv(Path(work) / "empty").prefix, tools, Path(work))
        for row in mine:
            with real.standing(row) as prefix:
                everything[row.name] = said(prefix, tools, Path(work))
    for row in mine:
        before, after = sound_beside(row, everything), everything[row.name]
        changed = {t: _changed(t, before[t], after[t]) for t in TOOLS}
        yield {"row": row.name, "cause": fault(row), "said": changed}


def _changed(tool: str, before: Said, after: Said) -> list[str] | None:
    """Return the lines that are new and those that are gone; None where the tool does not work there."""
    if cannot(tool, after):
        return None
    new = [f"+ {line}" for line in after.lines if line not in before.lines]
    return new + [f"- {line}" for line in before.lines if line not in after.lines]


# --- the table ---------------------------------------------------------------------------------------------


def markdown(kept: Path) -> str:
    """Return the table: per row with a fault and tool "same", "differs", "names it" or "cannot"."""
    found = [row for line in kept.read_text().splitlines() if (row := json.loads(line))["cause"]]
    out = ["| environment | cause | " + " | ".join(TOOLS) + " |", "|---" * (len(TOOLS) + 2) + "|"]
    count = dict.fromkeys(TOOLS, 0)
    for row in found:
        cells = []
        for tool in TOOLS:
            changed = row["said"][tool]
            new = [line for line in changed or () if line.startswith("+ ")]
            names = any(re.search(NAMED[row["cause"]], line[2:], re.IGNORECASE) for line in new)
            count[tool] += names
            cells.append("cannot" if changed is None else "**names it**" if names else "differs" if changed else "same")
        out.append(f"| {row['row']} | {row['cause']} | " + " | ".join(cells) + " |")
    out.append(f"| cause named, of {len(found)} | | " + " | ".join(str(n) for n in count.values()) + " |")
    return "\n".join(out) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Ask the tools and print a line of JSON a row, or print the tables of what was kept."""
    options = wanted("envlab", __doc__, argv)
    if options.table:
        print(markdown(options.table), end="")
        return 0
    for row in asked(options.tools.absolute(), options.names):
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    sys.exit(main())
