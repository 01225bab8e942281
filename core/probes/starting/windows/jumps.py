"""The lines of a batch file in the order in which cmd.exe comes to them: joined where a caret ends one, and over jumps that are decided.

Sources: Microsoft, "cmd" (the caret), "goto" and "if" (Windows Commands).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from core.common.late_pattern import late_pattern
from core.probes.starting.windows.command_words import option_left_behind
from core.probes.starting.windows.giving_up import ASKS_FOR_A_FILE, ASKS_WHETHER_IT_FAILED

MOST_LINES = 2000
_CONTINUED = late_pattern(r"(?:[^\"^\r\n]|\"[^\"\r\n]*\"|\^.)*\^")
"""A line that goes on in the next one: its last letter is a caret outside quotation marks that no other caret escapes."""
_JUMP = late_pattern(r"(?i)(?:(if\s.*?)\s*\(?\s*)?\bgoto\s*:?(?!eof\b)([\w.-]+)\s*\)?\s*\Z")
_SUCCEEDED = late_pattern(r"(?i)if\s+\"?[%!]errorlevel[%!]\"?\s*(?:==|equ)\s*\"?0\"?\s*")


class Rows:
    """The lines of a batch file, one after another."""

    def __init__(self, text: str, label: str = "") -> None:
        """``label``: the lines behind it alone."""
        self._rows = [*_rows(text, label)]
        self._next = 0
        self.passed_over: list[int] = []
        """The lines that a jump leaves out."""
        self.may_be_passed = False
        """Whether a jump of which nobody knows if it is made lies behind: lines after it are reached or not."""

    def __iter__(self) -> Iterator[tuple[int, str]]:
        while self._next < len(self._rows):
            self._next += 1
            yield self._rows[self._next - 1]

    def lost_behind(self) -> tuple[int, str]:
        """Return number and first word of the line behind this one, if it holds options that this one should go on with; no word if it does not."""
        number, row = self._rows[self._next] if self._next < len(self._rows) else (0, "")
        return number, option_left_behind(self._rows[self._next - 1][1], row, "^")

    def jumps(
        self,
        line: str,
        holds: Callable[[str], bool | None],
        succeeds: Callable[[str], bool],
        leads_nowhere: Callable[[str], bool],
    ) -> bool:
        """Follow a line if it is a jump, and return whether it is one that is decided. ``holds``: of the head of a condition. ``succeeds``: whether a
        command is likely to. ``leads_nowhere``: as of ``Ends``, which tells of jumps for want of an environment.
        """
        found = _JUMP.match(line)
        if found is None:
            self.may_be_passed = self.may_be_passed or HAS_JUMP.search(line) is not None
            return False
        told = f"{found[1]} " if found[1] else ""
        behind = (n for n in range(self._next, len(self._rows)) if _label(self._rows[n][1]) == found[2].lower())
        place = next(behind, None)
        if not told:
            made = None if self.may_be_passed else True
        elif (good := _SUCCEEDED.fullmatch(told)) or ASKS_WHETHER_IT_FAILED.fullmatch(told):
            made = good is not None if succeeds(self._rows[self._next - 2][1]) else None
        else:
            made = holds(told)
        if made and ASKS_FOR_A_FILE.match(told) and leads_nowhere(found[2]):
            return False
        self.may_be_passed = self.may_be_passed or made is None or (made and place is None)
        if made and place is not None:
            self.passed_over += [number for number, _row in self._rows[self._next : place]]
            self._next = place + 1
        return made is not None and (not made or place is not None)


def _label(row: str) -> str:
    return next(iter(row.strip().lower().split()), "").removeprefix(":") if row.lstrip().startswith(":") else ""


HAS_JUMP = late_pattern(r"(?i)\bgoto\b(?!\s*:?eof\b)")


def _rows(text: str, label: str) -> Iterator[tuple[int, str]]:
    there = not label
    rows = enumerate(text.splitlines()[:MOST_LINES], 1)
    for number, raw in rows:
        line = raw
        while _CONTINUED.fullmatch(line) and (more := next(rows, None)):
            line = line[:-1] + more[1]
        if there:
            yield number, line
        words = line.strip().split()
        there = there or (bool(words) and words[0].lower() == f":{label.lower()}")
