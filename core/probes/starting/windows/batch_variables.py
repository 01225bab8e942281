r"""Variables as cmd.exe sets and expands them: ``set NAME=VALUE`` keeps every blank and quotation mark that it is given.

Sources: Microsoft, "set" and "Command shell overview" (Windows Commands), "cmd" on %NAME:~START,LENGTH% and %NAME:OLD=NEW%; Microsoft's
KB 26719 says that no blanks may stand around the equals sign. What they do was seen in wine's cmd.exe.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from core.common.late_pattern import late_pattern
from core.host.startup.state import State, fill
from core.model.facts import LineForm


def value_of(state: State, name: str) -> str | None:
    """Return a variable; names are case-insensitive."""
    return next((v for n, v in state.values.items() if n.upper() == name.upper()), None)


SET = late_pattern(r"(?i)set(?:\s+|(?=[\"/]))(?=\S)")
ASKS = late_pattern(r"(?i)/([ap])\b\s*(.*)\Z")
"""``set /p`` asks the person, and ``set /a`` computes."""
_PERCENT = late_pattern(r"%~[A-Za-z$:]*\d|%[\d*]|%%|%([^%:=\r\n]+)(:[^%\r\n]*)?%|%")
"""An argument of the batch file, a percent sign, a variable with what is cut out of it, or exchanged in it; and a sign without another."""
_SLICE = late_pattern(r":~\s*(-?\d+)?\s*(?:,\s*(-?\d+))?\s*\Z")
_NAMED = late_pattern(r"[^\s=](?:[^=]*[^=])?")


_FOREIGN = late_pattern(r"(?i)(?:export\s+|\$env:)([A-Za-z_]\w*)\s*=\s*(.*)\Z")


_LATER = late_pattern(r"(?i)setx\s+(?:/m\s+)?\"?([A-Za-z_]\w*)\"?\s+(\"[^\"]*\"|\S+)")


def foreign_assignment(command: str) -> tuple[str, str, LineForm]:
    """Return name, value and form of an assignment that has no effect on what the file starts: in the language of another shell, which cmd.exe
    does not know, or by setx; empty for any other command.
    """
    form: LineForm = "cmd"
    if (found := _FOREIGN.match(command)) is None:
        found, form = _LATER.match(command), "setx"
    return (found[1], found[2].strip().strip("\"'"), form) if found else ("", "", form)


_PATH = late_pattern(r"(?i)path(?:[ \t]*=[ \t]*|[ \t]+)(?=[^\s;/])(.*)\Z")
"""The command that gives PATH a value."""


class Assignment(msgspec.Struct, frozen=True):
    """What one ``set`` does."""

    name: str
    """With the blanks before the equals sign, which belong to it."""
    value: str
    """As it is written, variables not expanded; empty: the variable is removed."""
    open: bool = False
    """Whether the value is computed, or asked for."""


def assignment(command: str) -> Assignment | None:
    """Return what a command assigns; None for any other command. ``command``: up to ``&`` or ``|``, with its blanks at the end.

    ``set "NAME=VALUE"``: the value ends at the last quotation mark. Without marks around all of it, marks and blanks belong to the value.
    """
    if its := _PATH.match(command):
        return Assignment("PATH", _without_signs(its[1]))
    found = SET.match(command)
    if found is None:
        return None
    rest = command[found.end() :]
    asks = ASKS.match(rest)
    rest = asks[2] if asks else rest
    if rest.startswith('"'):
        body = rest[1:]
        body = body[: body.rindex('"')] if '"' in body else body
    else:
        body = _without_signs(rest)
    name, equals, value = body.partition("=")
    if not equals or not _NAMED.fullmatch(name):
        return None
    return Assignment(name.rstrip(" +-*/") if asks else name, "" if asks else value, open=asks is not None)


def _without_signs(text: str) -> str:
    """Return a text without redirections and carets outside quotation marks."""
    out, quoted, at = "", False, 0
    while at < len(text):
        char = text[at]
        redirects = re.compile(r"(?:(?<=[\s)])\d)?[<>]{1,2}\s*(?:&\d|\"[^\"]*\"|[^\s&|]*)").match(text, at)
        if char == '"':
            quoted = not quoted
        elif not quoted and char == "^":
            at += 1
            char = text[at : at + 1]
        elif not quoted and redirects:
            at = redirects.end()
            continue
        out, at = out + char, at + 1
    return out


def expanded_line(text: str, value_of: Callable[[str], str | None], arguments: tuple[str, ...] | None = None) -> str:
    """Return a line as cmd.exe expands it: unset variables are empty. ``arguments``: the batch file's; None leaves them as they are."""

    def put(found: re.Match[str]) -> str:
        if not found[1]:
            return _argument(found[0], arguments) if len(found[0]) > 1 else ""
        value = value_of(found[1])
        return _changed(value, found[2] or "") if value is not None else ""

    return fill(_PERCENT, put, text)


_ARGUMENT = late_pattern(r"%(~)?([1-9*])")


def _argument(text: str, arguments: tuple[str, ...] | None) -> str:
    """Return what stands for an argument: %1 to %9, without its quotation marks as %~1, or all of them as %*. Other forms stay as they are."""
    found = _ARGUMENT.fullmatch(text)
    if found is None or arguments is None:
        return text
    its = arguments if found[2] == "*" else arguments[int(found[2]) - 1 : int(found[2])]
    return " ".join(a if found[1] or " " not in a else f'"{a}"' for a in its)


def _changed(value: str, how: str) -> str:
    if cut := _SLICE.match(how):
        start = int(cut[1] or 0)
        start = max(0, start + len(value)) if start < 0 else start
        length = int(cut[2]) if cut[2] else len(value)
        end = max(start, len(value) + length) if length < 0 else start + length
        return value[start:end]
    old, equals, new = how[1:].partition("=")
    if not equals or not old:
        return value
    if old.startswith("*"):
        at = value.lower().find(old[1:].lower()) if old[1:] else -1
        return new + value[at + len(old) - 1 :] if at >= 0 else value
    return fill(re.compile(re.escape(old), re.IGNORECASE), lambda _m: new, value)
