r"""Lines that end a batch file, since a command before them fails or a file is not there: ``call conda activate ml || exit /b 1``.

Source: Microsoft, "if", "exit", "goto" and "Command shell overview" (Windows Commands): ``||`` runs what is behind it where the command before
failed, and ``if errorlevel 1`` asks for the status of the last one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from core.common.late_pattern import late_pattern

EXITS = late_pattern(r"(?i)(?:exit\b|goto\s*:?eof\b)")
"""Ends a batch file, or the part of it that was called."""
JUMP = late_pattern(r"(?i)\bgoto\s*:?(?!eof\b)([\w.-]+)")
ASKS_WHETHER_IT_FAILED = late_pattern(
    r"(?i)if\s+(?:errorlevel\s+1|not\s+[\"%!]{1,2}errorlevel[%!\"]{1,2}\s*(?:==|equ)\s*\"?0\"?|"
    r"[\"%!]{1,2}errorlevel[%!\"]{1,2}\s*(?:neq|gtr)\s*\"?0\"?|[\"%!]{1,2}errorlevel[%!\"]{1,2}\s*(?:==|equ|geq)\s*\"?1\"?)\s+"
)
ASKS_FOR_A_FILE = late_pattern(
    r"(?i)if\s+not\s+exist\s+(\"(?=[^\"]*(?:env|conda|python|activate))[^\"]{1,400}\"|(?=\S*(?:env|conda|python|activate))[^\s(\"]{1,400})\s*"
)
"""Asks whether an environment is not there; other files have to do with other programs."""
MAKES_ONE = late_pattern(
    r"(?im)^(?![ \t]*@?(?:echo|rem|::)\b)[^\r\n]*?(?:-m[ \t]+venv\b|\bvirtualenv\b|\buv(?:\.exe)?[ \t]+(?:venv|sync)\b|(?:conda|mamba)[\w.]*\"?[ \t]+(?:env[ \t]+)?create\b"
    r"|\b(?:install|setup)[\w-]*\.(?:bat|cmd|ps1)\b)"
)
"""A command that makes an environment, or installs everything: what is not there may be, by then."""
_BETWEEN = late_pattern(r"(?:\"[^\"]*(?:\"|\Z)|\^.|[^\"&|^])+")


class Ends:
    """Where a batch file ends before it comes to its program, followed line by line."""

    def __init__(
        self,
        path: str,
        text: str,
        *,
        fails: Callable[[str], bool],
        lacks: Callable[[str], bool],
        leads_nowhere: Callable[[str], bool],
        never_comes_back: Callable[[str], bool],
    ) -> None:
        """``fails``: whether a command is known to fail. ``lacks``: whether the head of a condition holds that asks whether a file is not there.
        ``leads_nowhere``: whether nothing starts behind a label. ``never_comes_back``: whether a line starts another batch file for good.
        """
        self.path, self.fails, self.lacks = path, fails, lacks
        self.leads_nowhere, self.never_comes_back = leads_nowhere, never_comes_back
        self.found: dict[str, str] = {}
        """What a start on this line, or behind it, has of StartedFile."""
        self._later: dict[str, str] = {}
        self._failed = self._opened_by = ""
        self._jumps = 0
        self._is_made = MAKES_ONE.search(text) is not None

    def asks_for_failure(self, line: str) -> bool:
        """Whether a condition asks for the failure of the command before, which is known to fail."""
        return bool(self._failed) and ASKS_WHETHER_IT_FAILED.match(line) is not None

    def begin(self, number: int, line: str, *, sure: bool, in_block: bool, opens: bool) -> None:
        """Read a line. ``sure``: whether it is reached; ``opens``: whether the block is run that it opens."""
        self._later = self.found
        if not self.found and sure and not self._jumps:
            at = f"{self.path}:{number}"
            if not self._is_made and (why := self._why(line, in_block=in_block)):
                self._later = {"ended_at": at, "ended_by": "exits", "first": why}
            elif not in_block and self.never_comes_back(line):
                self._later = {"ended_at": at}
        if not in_block:
            asked = ASKS_FOR_A_FILE.match(line)
            self._opened_by = (self._failed or (asked[1].strip('"') if asked else "")) if opens else ""
        self._failed = self._failing(line) if sure else ""
        self._jumps += JUMP.search(line) is not None

    def give_up(self, number: int, by: str, first: str) -> None:
        """End the file in a line for this (``first``; empty: for nothing), unless it has ended before."""
        if first and not self.found:
            self.found = {"ended_at": f"{self.path}:{number}", "ended_by": by, "first": first}

    def end(self) -> None:
        """Go on behind the line."""
        self.found = self._later

    def _why(self, line: str, *, in_block: bool) -> str:
        """Return for what the file ends in a line: the command that fails, or the file that is not there; empty where it does not."""
        if in_block and self._opened_by and self._leaves(line):
            return self._opened_by
        if self._failed and (asked := ASKS_WHETHER_IT_FAILED.match(line)):
            return self._failed if self._leaves(line[asked.end() :]) else ""
        if (asked := ASKS_FOR_A_FILE.match(line)) and self.lacks(asked[0]):
            return asked[1].strip('"') if self._leaves(line[asked.end() :]) else ""
        now = ""
        for sign, part in _parts(line):
            if now and sign != "&&" and self._exits(part):
                return now
            if sign == "||" and not now:
                return ""
            now = part.strip() if not sign and self.fails(part) else now
        return ""

    def _failing(self, line: str) -> str:
        """Return the command of a line with a single one, if that is known to fail."""
        parts = list(_parts(line))
        return parts[0][1].strip() if len(parts) == 1 and self.fails(parts[0][1]) else ""

    def _leaves(self, line: str) -> bool:
        return any(self._exits(part) for _sign, part in _parts(line))

    def _exits(self, part: str) -> bool:
        part = part.lstrip("( \t@")
        jump = JUMP.match(part)
        return EXITS.match(part) is not None or (jump is not None and self.leads_nowhere(jump[1]))


def _parts(line: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a line, each with the sign before it: ``&``, ``&&``, ``|`` or ``||``."""
    sign, at = "", 0
    while at < len(line):
        between = re.compile(r"[&|]+").match(line, at)
        if between:
            sign, at = between[0], between.end()
            continue
        found = _BETWEEN.match(line, at)
        if found is None:
            return
        if found[0].strip():
            yield sign, found[0]
        at = found.end()
