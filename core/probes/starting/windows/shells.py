r"""What every prompt runs first on Windows: AutoRun of cmd.exe, and PowerShell's profiles. Files are only read.

Sources: Microsoft, "cmd" (AutoRun: the machine's before the person's), "about_Profiles", "about_Environment_Variables".
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Iterator

from core.common.variable_names import variable_in
from core.host.startup.state import State
from core.host.windows.environment import expand_variables
from core.model.facts import RegisteredStart
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached
from core.probes.starting.windows.command_lines import Place, commands_of_line, value_of

EDITIONS = {"WindowsPowerShell": "Windows PowerShell", "PowerShell": "PowerShell"}
PROFILES = ("profile.ps1", "Microsoft.PowerShell_profile.ps1")
OPAQUE = re.compile(
    r"\b(?:Invoke-Expression|iex|conda|mamba|activate|Set-Location|Import-Module\s+posh-env)\b", re.IGNORECASE
)
"""After this, reading does not show the variables."""
ASSIGNS = re.compile(r"\$env:(\w+)\s*(\+?=)\s*(.+?)\s*;?\s*\Z", re.IGNORECASE)
PART = re.compile(r"""\s*(?:'((?:[^']|'')*)'|"([^"`]*)"|\$(?:env:(\w+)|\{env:(\w+)\}))\s*(?:\+|\Z)""", re.IGNORECASE)
IN_TEXT = re.compile(r"\$(?:env:(\w+)|\{env:(\w+)\})", re.IGNORECASE)
MOST_LINES = 2000


def prompt_ways(ground: Ground, registered: tuple[RegisteredStart, ...]) -> Iterator[Reached]:
    """Yield the prompts whose start-up lines set a variable."""
    state = _begin(ground)
    for one in registered:
        if one.kind == "prompt":
            state.files.append(one.key)
            commands_of_line(expand_variables(one.command, ground.env), Place(one.key), state, ground)
    if state.lines:
        yield Reached(kind="terminal", at="cmd.exe", state=state)
    homes = [v for n in ("USERPROFILE", "OneDrive") if (v := variable_in(ground.env, n))]
    for folder, name in EDITIONS.items():
        state, opaque = _begin(ground), False
        for path in (ntpath.join(home, "Documents", folder, file) for home in homes for file in PROFILES):
            if (text := ground.read(path)) is not None:
                opaque = opaque or bool(OPAQUE.search(text))
                state.files.append(path)
                read_profile(text, path, state)
        if state.lines and not opaque:
            yield Reached(kind="terminal", at=name, state=state)


def _begin(ground: Ground) -> State:
    return State(dict(ground.env), set(ground.env), separator=";")


def read_profile(text: str, path: str, state: State) -> None:
    """Apply the assignments to $env: in a profile; one within braces makes its variable unknown."""
    level, comment = 0, False
    for number, raw in enumerate(text.lstrip("\ufeff").splitlines()[:MOST_LINES], 1):
        line = raw.strip()
        comment = comment or line.startswith("<#")
        if comment or line.startswith("#"):
            comment = comment and "#>" not in line
            continue
        if found := re.search(r"\$env:\w+\s*\+?=.*", line, re.IGNORECASE):
            told = ASSIGNS.match(line)
            name = (told or re.match(r"\$env:(\w+)", found[0], re.IGNORECASE))[1]  # type: ignore[index]  # as just found
            known = next((n for n in state.values if n.upper() == name.upper()), name)
            value = _value(told[3], state) if told and level == 0 else None
            if value is None or told is None:
                state.open.add(known)
            else:
                whole = (state.values.get(known, "") if told[2] == "+=" else "") + value
                state.set_variable(known, whole, path, number, "powershell")
                state.exported.add(known)
        level = max(0, level + line.count("{") - line.count("}"))


def _value(text: str, state: State) -> str | None:
    """Return the text that an expression comes to: strings and variables, added up; None for any other."""
    value, at = "", 0
    while at < len(text):
        part = PART.match(text, at)
        if part is None or part.end() == at:
            return None
        if part[1] is not None:
            value += part[1].replace("''", "'")
        elif part[2] is not None:
            filled = IN_TEXT.sub(lambda m: value_of(state, m[1] or m[2]) or "", part[2])
            if "$" in filled:
                return None
            value += filled
        else:
            value += value_of(state, part[3] or part[4]) or ""
        at = part.end()
    return value
