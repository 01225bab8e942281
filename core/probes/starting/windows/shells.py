r"""What every prompt runs first on Windows: AutoRun of cmd.exe, and PowerShell's profiles. Files are only read.

Sources: Microsoft, "cmd" (AutoRun: the machine's before the person's), "about_Profiles", "about_Environment_Variables".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.host.windows.environment import expand_variables
from core.model.facts import RegisteredStart
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import commands_of_line
from core.probes.starting.windows.powershell import apply_profiles

SHOWN = {"WindowsPowerShell": "Windows PowerShell", "PowerShell": "PowerShell"}
"""The folder of an edition's profiles -> its name."""
OPAQUE = re.compile(
    r"\b(?:Invoke-Expression|iex|conda|mamba|activate|Set-Location|Import-Module\s+posh-env)\b", re.IGNORECASE
)
"""After this, reading does not show the variables."""


def prompt_ways(ground: Ground, registered: tuple[RegisteredStart, ...]) -> Iterator[Reached]:
    """Yield the prompts whose start-up lines set a variable."""
    state = ground.session()
    for one in registered:
        if one.kind == "prompt":
            state.files.append(one.key)
            commands_of_line(expand_variables(one.command, ground.env), Place(one.key), state, ground)
    if state.lines:
        yield Reached(kind="terminal", at="cmd.exe", state=state)
    for edition, name in SHOWN.items():
        state = ground.session()
        apply_profiles(edition, state, ground)
        opaque = any(OPAQUE.search(ground.read(f) or "") for f in state.files)
        if state.lines and not opaque:
            yield Reached(kind="terminal", at=name, state=state)
