"""The page docs/cures.md: 206 resolved threads by the kind of cure that ended them, which have a button, and the lab's rows.

``cases.json`` has the thread, its cause and the kind of cure that one reader saw in its resolution; a few may be off.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.curelab import system
from tests.curelab.rows import KINDS
from tests.curelab.run import Result

CASES = Path(__file__).with_name("cases.json")
Button = Literal["yes", "advice", "other"]


@dataclass(frozen=True)
class Kind:
    """A kind of cure among the threads."""

    name: str
    words: str
    button: Button
    lab: str
    """Rows of this lab by kind, joined by commas; or the lab that has them."""


WINDOWS = "`python -m tests.windows.faultlab`"
CURES: tuple[Kind, ...] = (
    Kind("variable, path or file", "a variable, a search path, a file placed or put aside", "yes", "`python -m tests.faultlab`"),
    Kind("packages", "an environment's packages changed", "yes", ",".join(k for k in KINDS if k not in ("advice", "cuDNN fetched", "memory growth"))),
    Kind("fetched cudnn", "cuDNN's libraries fetched as a wheel, and placed", "yes", "cuDNN fetched"),
    Kind("person", "only a person can", "advice", ""),
    Kind("system step", "a confirmed system step", "other", ""),
    Kind("zlibwapi", "zlibwapi.dll: a cuDNN that needs none in its place", "yes", f"{WINDOWS}: 8.9.3-zlib-missing"),
    Kind("memory growth", "a framework told to take only the GPU memory that it needs", "yes", "memory growth"),
    Kind("activation flags", "other flags in an environment's activation", "other", ""),
    Kind("runtime by package manager", "VC++ runtime or container toolkit by the package manager", "advice", ""),
    Kind("wsl folder", "WSL's library folder in ld.so.conf.d", "yes", system.KIND),
    Kind("short path", "a junction or short path", "other", ""),
    Kind("program search path", "a search path for a program that is not Python", "yes", f"{WINDOWS}: not-on-path"),
    Kind("old cudnn", "a cuDNN older than 7", "advice", ""),
    Kind("driver by package manager", "the driver by the package manager", "advice", ""),
    Kind("toolkit by package manager", "another toolkit by the package manager", "advice", ""),
    Kind("start-up line", "a line in a start-up file", "yes", "`python -m tests.startup`"),
    Kind("dll directory", "os.add_dll_directory in a .pth", "yes", f"{WINDOWS}: extension-module-and-path"),
    Kind("stray file", "a stray file put away", "yes", f"{WINDOWS}: system32-older-set"),
)  # fmt: skip
"""In the order of the page. "other": this lab has no row, and the page claims nothing."""

HEAD = """# Which cures people needed, and which have a button

Written by `python -m tests.curelab --markdown`. {total} resolved threads (`tests/curelab/cases.json`) by the kind of cure
that resolved them, as classified by one reader; a few may be wrong. *Button*: `convalesce fix` (or the window's Fix) makes
a cure of this kind, shows it first, verifies it and can undo it. The rows of a lab show that a kind has a button. They do
not show that it would have cured a given thread, since nobody has those machines.

| kind of cure | threads | button | shown by |
| --- | --- | --- | --- |
"""

ROWS_HEAD = """
## The cure lab

`python -m tests.curelab` creates each environment with the tools that people use (venv, uv, pip), breaks it by real
installations, cures it once (`convalesce fix --yes`), runs a program of the environment, and undoes the cure; every file
must then have its original hash. Packages come from an index on the loopback interface. Rows that are not marked *real*
use small wheels with the names, layout and requirements of the published ones. JAX and TensorFlow in the rows of memory
growth are stand-ins that obey the real variables; [the real JAX on a real
GPU](fault-lab-gpu.md#memory-that-is-taken-at-once) was measured separately. The GPU is simulated, so nothing convolves
here. The last row runs the real ldconfig on a private copy of /etc and /usr, and loads libcuda.so.1 by its name. Times
were measured on two cores that were shared with ten other jobs.

| row | environment | kind | finding | result | seconds from press to verified |
| --- | --- | --- | --- | --- | --- |
"""

LEFT = """
Only an environment with a folder of its own (venv's, uv's, Poetry's, with or without system packages) is exchanged for a
twin. In conda's environments, a user's own site-packages and a system's Python, files of one package are restored in that
package's folder, and everything else is advice. On Windows the exchange consists of renames; `tests/windows/test_packages.py`
tests it under wine, with programs that keep a library open and with kills.

`python -m tests.fixing.test_cures` cures the rows of the fault lab that offer packages on machines with NVIDIA's published wheels,
`python -m tests.curelab.times` measures a large environment (torch 2.8, 18,436 files, 7.5 GB, two quiet cores, 2026-11-22: the copy by hard links
0.16 s, the rehearsal 9.8 s, from the press to the verified cure 15.6 s), and `python -m tests.gpu.cures` convolves on a real GPU ([six of eight rows](fault-lab-gpu.md#cures)).
"""


def page(results: Sequence[Result], of_system: str) -> str:
    """Return the page; ``of_system``: what was wrong with the row of the loader's folder, empty for nothing."""
    counts = Counter(case["kind"] for case in json.loads(CASES.read_text(encoding="utf-8")))
    assert set(counts) == {k.name for k in CURES}
    right = Counter(r.row.kind for r in results if not r.wrong)
    tried = Counter(r.row.kind for r in results)
    right[system.KIND], tried[system.KIND] = int(not of_system), 1
    out = [HEAD.format(total=counts.total())]
    for kind in CURES:
        words = {"yes": "yes", "advice": "advice", "other": "-"}[kind.button]
        out.append(f"| {kind.words} | {counts[kind.name]} | {words} | {_lab(kind, right, tried)} |\n")
    able = sum(counts[k.name] for k in CURES if k.button == "yes")
    out.append(f"| all | {counts.total()} | {able} by button | |\n")
    out.append(ROWS_HEAD)
    for r in results:
        words = "; ".join(r.wrong).replace("|", "/")[:120] or (
            "advice, nothing changed" if r.row.kind == "advice" else "cured, undone"
        )
        made = r.row.made.__name__.replace("_", " ") + (", real packages" if r.row.real else "")
        seconds = f"{r.seconds:.1f}" if r.seconds else ""
        out.append(f"| {r.row.name} | {made} | {r.row.kind} | `{r.finding}` | {words} | {seconds} |\n")
    words = of_system.replace("|", "/")[:120] or "cured, undone"
    out.append(f"| {system.NAME} | a private /etc and /usr | {system.KIND} | `{system.FINDING}` | {words} |  |\n")
    out.append(LEFT)
    return "".join(out)


def _lab(kind: Kind, right: Counter[str], tried: Counter[str]) -> str:
    if not kind.lab or kind.lab.startswith("`"):
        return kind.lab
    its = [k for k in kind.lab.split(",") if tried[k]]
    return ", ".join(f"{k}: {right[k]} of {tried[k]} rows" for k in its)
