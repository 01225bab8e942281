r"""The lines of a batch file as cmd.exe expands them, what they assign, and which of its blocks are run.

Sources: Microsoft, "cmd", "if" and "set" (Windows Commands).
"""

from __future__ import annotations

import ntpath
import re

import msgspec

from core.common.late_pattern import late_pattern
from core.host.startup.state import State, fill
from core.probes.starting.machine import Ground
from core.probes.starting.windows.batch_variables import assignment, expanded_line, foreign_assignment, value_of
from core.probes.starting.windows.command_words import up_to_bracket


class Place(msgspec.Struct, frozen=True):
    """Where a command line stands: a file and its line, and no line for one that no cure edits."""

    file: str
    line: int = 0
    arguments: tuple[str, ...] | None = None
    """What the batch file was called with; None: that is not known."""

    @property
    def shown(self) -> str:
        """The file with its line, if it has one."""
        return f"{self.file}:{self.line}" if self.line else self.file


DELAYED = late_pattern(r"!([A-Za-z_]\w*)!")
_EACH = late_pattern(r"!([A-Za-z_]\w*)!|!")
DELAYS = "=delayed"
"""Kept beside the variables: ``setlocal EnableDelayedExpansion`` is in force, in which every other exclamation mark is taken away."""


def expanded(text: str, state: State, at: Place | None = None, now: State | None = None) -> str:
    """Return a line as cmd.exe expands it: %NAME% (nothing where it is not set), the folder as %CD%, and %~dp0 and %1 within a batch file.
    !NAME! is replaced where such a variable is set; ``now``: the variables as the command runs, where they may differ from those as its line is read.
    """
    file, arguments = (at.file, at.arguments) if at and at.line else ("", None)
    folder = ntpath.dirname(file).rstrip("\\") + "\\" if file else ""
    filled = re.sub(r"%~dp0", lambda _m: folder, text, flags=re.IGNORECASE) if file else text
    filled = expanded_line(filled, lambda name: value_of(state, "PWD" if name.upper() == "CD" else name), arguments)

    def put(found: re.Match[str]) -> str:
        value = value_of(now or state, found[1]) if found[1] else ""
        return found[0] if value is None else value

    return fill(_EACH if DELAYS in state.values else DELAYED, put, filled)


def within(folder: str, state: State, ground: Ground) -> str:
    """Return a path of a command from the folder that is current."""
    here = ground.here(state)
    return ntpath.normpath(folder if ntpath.isabs(folder) else ntpath.join(here, folder))


ASKS_WHETHER = late_pattern(
    r"(?i)if\s+(not\s+)?(?:defined\s+([^\s(]{1,100})|exist\s+(\"[^\"]{1,400}\"|[^\s(\"]{1,400}))\s*\(\s*\Z"
)
"""The head of a block that this machine decides: whether a variable is set, or a file is there."""


COMPARES = late_pattern(
    r"(?i)if\s+(/i\s+)?(not\s+)?((?:\"[^\"]{0,400}\"|[^\s=(\"]){1,100})\s*==\s*((?:\"[^\"]{0,400}\"|[^\s(\"]){1,100})\s*\(\s*\Z"
)
"""The head of a block that two texts decide."""


def are_alike(found: re.Match[str], at: Place, state: State) -> bool | None:
    """Return whether a block that two texts decide is run; None where one of them is not known."""
    texts = (found[3], found[4])
    if any(n.upper() in {o.upper() for o in state.open} for text in texts for n in re.findall(r"%(\w+)%", text)):
        return None
    one, two = (expanded(text, state, at) for text in texts)
    if any(c in one + two for c in "%!"):
        return None
    alike = one.lower() == two.lower() if found[1] else one == two
    return alike != bool(found[2])


def holds(line: str, at: Place, state: State, ground: Ground) -> bool | None:
    """Return whether the block that a line opens is run; None where reading does not show it."""
    if compared := COMPARES.match(line):
        return are_alike(compared, at, state)
    found = ASKS_WHETHER.match(line)
    if found is None:
        return None
    if found[2]:
        name = next((n for n in state.values if n.upper() == found[2].upper()), found[2])
        its = None if name in state.open or "%" in name else bool(state.values.get(name))
    else:
        path = expanded(found[3].strip('"'), state, at)
        asked = any(n in path for n in "%*?!") or any(n in state.open for n in re.findall(r"%(\w+)%", found[3]))
        its = None if asked or not path else ground.where.exists(within(path, state, ground))
    return its if its is None or not found[1] else not its


def open_and_close(line: str, blocks: list[bool | None], holds: bool | None) -> None:
    """Follow the brackets of a line. ``holds``: whether the block that it opens is run."""
    quoted, last = False, None
    for at, char in enumerate(line):
        quoted = quoted != (char == '"')
        if char == "(" and not quoted:
            is_else = re.search(r"(?i)\)\s*else\s*\Z", line[:at])
            blocks.append((None if last is None else not last) if is_else else holds)
        elif char == ")" and not quoted and blocks:
            last = blocks.pop()


_BEGINS_A_BLOCK = late_pattern(r"(?i)(?:(?:if|for|else)\b|\))[^\"(]*(?:\"[^\"]*\"[^\"(]*)*\(")


def bracket_of_a_value(line: str, state: State, *, inside: bool) -> str:
    """Return the variable whose value ends a block by a bracket, so that cmd.exe gives the whole file up; empty for none.

    It puts values in before it looks for the end of the block, and within quotation marks a bracket is none. ``inside``: the line lies in a block.
    """
    head = None if inside else _BEGINS_A_BLOCK.match(line)
    for found in _NAMED.finditer(line, head.end() if head else 0) if inside or head else ():
        value = value_of(state, found[1]) or ""
        _before, ends, behind = value.partition(")")
        behind += line[found.end() :]
        if ends and behind.strip(" )") and '"' not in value and line.count('"', 0, found.start()) % 2 == 0:
            return found[1]
    return ""


_NAMED = late_pattern(r"%(\w+)%")


def opens(line: str) -> bool:
    """Whether a block begins in a line, and goes on behind it."""
    opened: list[bool | None] = []
    open_and_close(line, opened, None)
    return bool(opened)


IS_CONDITION = late_pattern(r"(?i)(?:if|for)\s")
SETS = late_pattern(r"(?i)[\s(@]set(?=[\s\"/])")
"""An assignment behind a condition."""


def assign(part: str, at: Place, state: State, before: State, ground: Ground, *, sure: bool, in_block: bool) -> bool:
    """Apply a command that is ``set``; one that is not sure to be reached makes its variable unknown.

    ``before``: the variables at the start of the line, or of the block around it, which is expanded as a whole.
    """
    found = SETS.search(part) if IS_CONDITION.match(part) else None
    condition, command = (part[: found.start() + 1], part[found.start() + 1 :]) if found else ("", part)
    inside = in_block or command.startswith("(") or condition.endswith("(")
    command, condition = command.lstrip("( \t@"), condition.rstrip("( \t@")
    its = assignment(up_to_bracket(command) if inside else command)
    if its is None:
        name, text, form = foreign_assignment(expanded(command, before, at, state))
        if name:
            state.ignore(name, text, at.file, at.line, form)
        return bool(name)
    name = next((n for n in state.values if n.upper() == its.name.upper()), its.name)
    value = expanded(its.value, before, at, state)
    if its.name != its.name.strip():
        state.ignore(its.name, value, at.file, at.line, "cmd")
    is_run = holds(f"{condition} (", at, state, ground) if condition and sure else None
    if is_run is False:
        return True
    if (condition and not is_run) or not sure or its.open:
        state.open.add(name)
    elif value:
        if name.upper() == "PATH" and '"' in value.replace(value_of(before, name) or "", ""):
            state.ignore(name, value, at.file, at.line, "cmd")
        state.export_variable(name, value, at.file, at.line, "cmd")
    else:
        state.unset_variable(name, at.file, at.line, "cmd")
    return True
