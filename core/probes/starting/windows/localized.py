"""``setlocal`` and ``endlocal`` of a batch file: what is set between them does not last.

Source: Microsoft, "setlocal" and "endlocal" (Windows Commands).
"""

from __future__ import annotations

from core.common.late_pattern import late_pattern
from core.host.startup.state import State
from core.probes.starting.windows.blocks import DELAYS, Place, expanded

_LOCALIZES = late_pattern(r"(?i)(setlocal|endlocal)\b[^&]*&?\s*(.*)")


def localized(line: str, kept: list[State], state: State, at: Place) -> str:
    """Follow ``setlocal`` and ``endlocal``: what is set between them, and the folder, do not last. Return what else the line runs, which is
    expanded before ``endlocal``.
    """
    found = _LOCALIZES.match(line)
    if found is None:
        return line
    if found[1].lower() == "setlocal":
        kept.append(state.copy())
        if "enabledelayedexpansion" in found[0].lower():
            state.values[DELAYS] = "1"
        return found[2]
    rest = expanded(found[2], state, at)
    if kept:
        give_back(kept.pop(), state)
    return rest


def lose_what_is_local(before: State, state: State, called: str) -> None:
    """Give a state back what it had before the first ``setlocal`` of a file that ends; what the file set is noted if it was ``called``."""
    inside = [row for rows in state.lines.values() for row in rows if row.file == called]
    give_back(before, state)
    lasting = {(r.file, r.line) for rows in state.lines.values() for r in rows}
    for row in (r for r in inside if (r.file, r.line) not in lasting):
        state.ignore(row.name, row.value, row.file, row.line, "setlocal")


def give_back(before: State, state: State) -> None:
    """Give a state the variables, with their lines, that it had before."""
    state.values, state.exported, state.lines, state.open = before.values, before.exported, before.lines, before.open
