"""Sweeps of Weights & Biases: a file of YAML tells which command its agent starts for each run.

Source: W&B's documentation, "Define a sweep configuration" (``program``, ``command`` and its macros).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

from core.host.startup.described import described
from core.host.startup.state import State
from core.probes.starting.machine import Ground

FOLDERS = ("", "sweeps", "sweep", "configs", "config")
"""Folders of a project in which people keep them."""
MOST_FILES = 20
"""Maximum number of files read in one folder."""
MACROS = {"${env}": "/usr/bin/env", "${interpreter}": "python"}
"""Words that the agent replaces; ``${program}`` is the file's own, and those of arguments are left out."""
WITHOUT_COMMAND = ("${env}", "${interpreter}", "${program}")


def sweep_files(ground: Ground) -> Iterator[str]:
    """Yield the files of a project that may describe a sweep, relative to its folder."""
    for folder in FOLDERS:
        names = ground.around.names(posixpath.join(ground.folder, folder))
        found = [n for n in names if n.endswith((".yaml", ".yml")) and not n.startswith(".")][:MOST_FILES]
        yield from (posixpath.join(folder, n) for n in found)


def sweep_commands(text: str, path: str, state: State, _ground: Ground) -> Iterator[tuple[str, int, str, State]]:
    """Yield the command that an agent starts, with the variables of the agent; nothing for another kind of file."""
    if not all(re.search(rf"(?m)^{key}:", text) for key in ("program", "method", "parameters")):
        return
    whole = described(text, path)
    program = whole.get("program") if isinstance(whole, dict) else None
    if not isinstance(whole, dict) or not isinstance(program, str):
        return
    given = whole.get("command")
    words = [w for w in given if isinstance(w, str)] if isinstance(given, list) else list(WITHOUT_COMMAND)
    filled = [{**MACROS, "${program}": program}.get(w, w) for w in words]
    line = next((n for n, row in enumerate(text.splitlines(), 1) if row.startswith(("command:", "program:"))), 1)
    its = state.apart()
    yield "sweep", line, shlex.join(w for w in filled if not w.startswith("${")), its
