r"""Lines by which a script means to activate an environment, and that have no effect there."""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.common.late_pattern import late_pattern
from core.probes.programs.follow import find_named
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached

DEAD_CALL = late_pattern(
    r"(?i)[ \t@]{0,40}(?:call[ \t]{1,20}|(?=\"|[^\s\"]{1,400}\\activate\b))\"?([^\"\r\n&|]{1,400}?\\activate(?:\.bat)?)\"?(?:[ \t][^\r\n&|]{0,400})?"
)
"""It may name an environment of conda's behind it."""


def dead_activation(way: Reached, ground: Ground) -> str:
    """Return the batch file that a batch file calls to activate an environment, and that is not there: such a call has no effect."""
    if ground.where.system != "windows" or way.kind != "script":
        return ""
    if way.at.lower().endswith(".ps1"):
        return _dead_in_powershell(way, ground)
    batch = [f for f in way.state.files if f.lower().endswith((".bat", ".cmd"))] or [way.at]
    rows = [row for file in batch for row in (ground.read(file) or "").splitlines()]
    return next((dead for row in rows if (dead := dead_call(row, way, ground))), "")


RUN_SCRIPT = late_pattern(
    r"(?:^|[;&|({])[ \t]{0,40}(?:(?:ba|da|z|k)?sh[ \t]{1,9}(?:-[a-z]{1,8}[ \t]{1,9})?)?[\"']?([^\s;&|\"'()]{1,300}\.(?:sh|bash))\b"
)
"""A script that is run, and not sourced."""
ACTIVATION = late_pattern(
    r"[ \t]{0,40}(?:(?:\.|source)[ \t]{1,9}\S{1,300}/bin/activate\b|(?:conda|mamba|micromamba)[ \t]{1,9}activate\b)"
)
ONLY_SETS = late_pattern(r"[ \t]*(?:$|#|(?:export|echo|printf|unset|set|fi|done|else)\b|[A-Za-z_]\w*=\S*$|[})])")


def activated_apart(rows: Iterable[str], way: Reached, ground: Ground) -> str:
    """Return the script that these lines run, whose last command activates an environment: its shell ends with it.

    One that goes on to use the environment is an installer, which means to do so for itself.
    """
    if ground.where.system == "windows":
        return ""
    for found in (m for row in rows for m in RUN_SCRIPT.finditer(row)):
        name = found[1].rpartition("$")[2].partition("/")[2] if "$" in found[1] else found[1]
        beside = ground.where.parent(way.at.partition(": ")[0])
        for place in dict.fromkeys(ground.where.join(f, name) for f in (ground.here(way.state), beside)):
            its = (ground.read(ground.where.path_module.normpath(place)) or "").splitlines()
            last = next((row for row in reversed(its) if not ONLY_SETS.match(row)), "")
            if ACTIVATION.match(last):
                return str(ground.where.path_module.normpath(place))
    return ""


ACTIVATES_IN_POWERSHELL = late_pattern(
    r"(?im)^[ \t]{0,40}(?:[&.][ \t]{1,9})?[\"']?([^\"'\s;|$]{1,300}\\activate(?:\.ps1|\.bat)?)[\"']?[ \t]{0,9}\r?$"
)


def _dead_in_powershell(way: Reached, ground: Ground) -> str:
    """Return how a script of PowerShell activates an environment without effect: by a file that is not there, or by a batch file, which runs in
    a process of its own.
    """
    paths, here = ground.where.path_module, ground.here(way.state)
    for found in ACTIVATES_IN_POWERSHELL.finditer(ground.read(way.at) or ""):
        place = paths.normpath(paths.join(here, found[1].replace("/", "\\")))
        if place.lower().endswith(".bat") or not any(ground.where.is_file(p) for p in (place, f"{place}.ps1")):
            return str(place)
    return ""


UNKNOWN_COMMAND = late_pattern(
    r"(?i)[ \t@]{0,40}(?:call[ \t]{1,20})?((source|\.)[ \t]{1,20}[^\s&|]{1,400}|(\.{1,2}|[\w-]{1,80})/[^\s&|\"]{0,400}\bactivate\b[^\s&|\"]{0,20})"
)
"""How shells of Linux activate an environment: cmd.exe, which ends a name at a slash, says that it has no such command, and goes on."""


def dead_call(row: str, way: Reached, ground: Ground) -> str:
    """Return the file that one line calls, and that is not there; or such a line of another system's shell, which cmd.exe does not know."""
    by_cmd = ground.where.system == "windows" and not any(f.lower().endswith(".ps1") for f in way.state.files)
    foreign = UNKNOWN_COMMAND.match(row) if by_cmd and way.kind != "notebook" else None  # PowerShell has a dot, too
    if foreign and not find_named(foreign[2] or foreign[3], way.state.values, ground.where, ground.here(way.state)):
        return foreign[1]
    if by_cmd and (dead := _dead_conda(row, way, ground)):
        return dead
    if by_cmd and way.kind == "script" and (apart := IN_A_PROCESS.fullmatch(row.rstrip())):
        return apart[1]
    place = called_activation(row, way, ground)
    is_there = any(ground.where.is_file(p) for p in (place, f"{place}.bat"))
    return "" if not place or "%" in place or is_there else place


IN_A_PROCESS = late_pattern(
    r"(?i)[ \t@]{0,40}((?:cmd(?:\.exe)?[ \t]{1,9}/[ck]|start|(?:powershell|pwsh)(?:\.exe)?)[ \t][^\r\n&|;]{0,400}\\activate(?:\.bat|\.ps1)?[\"']{0,3})"
)
"""Activates an environment in a process of its own, whose variables nothing behind it gets."""


CONDA_CALL = late_pattern(r"(?i)[ \t@]{0,40}(?:call[ \t]{1,20})?([^\r\n&|<>]{0,400}activate[^\r\n&|<>]{1,400})")


def _dead_conda(row: str, way: Reached, ground: Ground) -> str:
    """Return the command by which a line of a batch file asks for an environment of conda's without effect; empty for any other line."""
    from core.probes.starting.windows.conda import activates_nothing  # imported late: it is of Windows alone

    if (found := CONDA_CALL.match(row)) is None or way.kind == "notebook":
        return ""
    return found[1].strip() if activates_nothing(*_in_batch(found[1], way, ground)) else ""


def finds_no_conda(command: str, way: Reached, ground: Ground) -> bool:
    """Whether a batch file's dead activation asks conda, which is no program there."""
    from core.probes.starting.windows.conda import is_not_found  # imported late: it is of Windows alone

    return ground.where.system == "windows" and is_not_found(*_in_batch(command, way, ground))


def _in_batch(command: str, way: Reached, ground: Ground) -> tuple[list[str], dict[str, str], str, Ground]:
    """Return the words of a command with the variables, and the folder, in which a batch file runs it."""
    words = [w.strip('"') for w in re.findall(r'"[^"]*"|\S+', command)]
    return words, way.state.values, ground.here(way.state), ground


def called_activation(row: str, way: Reached, ground: Ground) -> str:
    """Return the batch file by which a line of a batch file activates an environment, as it is named there; empty for any other line."""
    found = DEAD_CALL.fullmatch(row) if ground.where.system == "windows" and way.kind == "script" else None
    if found is None:
        return ""
    paths = ground.where.path_module
    named = re.sub(r"(?i)%~dp0\\?", lambda _m: f"{paths.dirname(way.at)}\\", found[1].strip())
    return str(paths.normpath(paths.join(ground.here(way.state), named)))
