r"""Loops of a batch file that set variables: by the lines of a file, and by what ``where`` says.

Source: Microsoft, "for" and "where" (Windows Commands).
"""

from __future__ import annotations

import ntpath
import re

from core.common.late_pattern import late_pattern
from core.host.startup.state import State
from core.probes.starting.machine import Ground
from core.probes.starting.windows.batch_variables import assignment, value_of
from core.probes.starting.windows.blocks import Place, expanded, within
from core.probes.starting.windows.jumps import MOST_LINES

_SETS_EACH = late_pattern(
    r"(?i)for\s+/f\s+(\"[^\"]*\"\s+)?%%(\w)\s+in\s+\(\s*(?:type\s+)?[\"']?([^)\"'%]+|%~dp0[^)\"'%]+)[\"']?\s*\)\s+do\s+\(?\s*@?(set\s.*?)\)?\s*\Z"
)
"""Reads a file of variables, and sets each line of it: ``for /f "tokens=1,* delims==" %%a in (.env) do set %%a=%%b``."""
_SETS_PLACE = late_pattern(
    r"(?i)for\s+/f\s+(?:\"[^\"]*\"\s+)?%%(\w)\s+in\s*\(\s*['`]where\s+([\w.-]+)(?:\s+2\^?>\s*nul)?['`]\s*\)\s*do\s+\(?\s*@?set\s+\"?(\w+)=%%\1\"?\s*\)?\s*\Z"
)
"""Sets a variable to each place of a program, one after another: the last one stays."""


def sets_each(line: str, before: State, at: Place, state: State, ground: Ground) -> bool:
    """Whether a line is such a loop, which ``state`` follows."""
    if places := _SETS_PLACE.match(line):
        folders = [ground.here(state), *(value_of(state, "PATH") or "").split(";")]
        names = (places[2], f"{places[2]}.exe", f"{places[2]}.bat")
        found = [p for f in folders for n in names if f and ground.where.is_file(p := ntpath.join(f.strip('"'), n))]
        if found:
            state.export_variable(places[3], found[-1], at.file, at.line, "cmd")
    elif reads := _SETS_EACH.match(line):
        _set_each(reads, before, at, state, ground)
    else:
        return False
    return True


def _set_each(reads: re.Match[str], before: State, at: Place, state: State, ground: Ground) -> None:
    """Set what the lines of a file say, in the way that the command behind ``do`` says it."""
    letter, told = reads[2], reads[4].strip()
    path = within(expanded(reads[3].strip(), before, at), state, ground)
    comment = re.search(r"(?i)\beol=(.)", reads[1] or "")
    for number, row in enumerate((ground.read(path) or "").splitlines()[:MOST_LINES], 1):
        name, sign, value = row.partition("=")
        if not sign or row.startswith(comment[1] if comment else ";") or not re.fullmatch(r"\s*\w+\s*", name):
            continue
        text = told.replace(f"%%{chr(ord(letter) + 1)}", value).replace(
            f"%%{letter}", name if "%%" in told.partition("=")[2] else row
        )
        if its := assignment(text):
            state.export_variable(its.name, its.value, path, number, "cmd")
