"""Files of variables as systemd reads them: EnvironmentFile= of units, and environment.d.

After systemd.exec(5), environment.d(5), and the state machine of systemd's ``env-file.c``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from core.host.startup.plain import expanded
from core.host.startup.state import State

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANK = " \t\r\n"


class Assignment(msgspec.Struct, frozen=True):
    """What stands before and behind an equals sign, and the line in which it begins."""

    key: str
    value: str
    line: int


def read_systemd_file(text: str, file: str, state: State, *, expands: bool = False) -> None:
    """Apply a file of variables to ``state``; what systemd ignores, because its name is none, is kept as such.

    ``expands``: replace ${NAME} (environment.d).
    """
    state.files.append(file)
    for row in assignments(text):
        if _NAME.fullmatch(row.key):
            value = expanded(row.value, state.values.get) if expands else row.value
            state.export_variable(row.key, value, file, row.line, "assignments")
            continue
        name = re.split(r"[ \t]", row.key)[-1]
        if _NAME.fullmatch(name) and name != row.key:
            state.ignore(name, row.value, file, row.line)


def assignments(text: str) -> Iterator[Assignment]:
    """Yield every assignment; quotes and backslashes are taken away as systemd does."""
    at, line, size = 0, 1, len(text)
    while at < size:
        char = text[at]
        if char in _BLANK:
            line += char == "\n"
            at += 1
        elif char in "#;":
            end = _end_of_comment(text, at)
            line += text.count("\n", at, end)
            at = end
        else:
            end = next((n for n in range(at, size) if text[n] in "=\n"), size)
            if end < size and text[end] == "=":
                value, end_of_value = _value(text, end + 1)
                yield Assignment(text[at:end].rstrip(_BLANK), value, line)
                line += text.count("\n", at, end_of_value)
                at = end_of_value
            else:
                at = end


def _end_of_comment(text: str, at: int) -> int:
    while at < len(text) and text[at] != "\n":
        at += 2 if text[at] == "\\" else 1
    return min(at, len(text))


def _value(text: str, at: int) -> tuple[str, int]:
    """Return the value that begins at a place, and where its line ends."""
    out: list[str] = []
    size = len(text)
    while at < size and text[at] != "\n":
        char = text[at]
        if char == "'":
            end = text.find("'", at + 1)
            end = size if end < 0 else end
            out.append(text[at + 1 : end])
            at = end + 1
        elif char == '"':
            inner, at = _in_double_quotes(text, at + 1)
            out.append(inner)
        elif char in _BLANK:
            at += 1
        else:
            plain, at = _unquoted(text, at)
            out.append(plain)
    return "".join(out), at


def _in_double_quotes(text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and at + 1 < len(text):
            after = text[at + 1]
            out.append(after if after in '"\\`$' else "" if after == "\n" else f"\\{after}")
            at += 2
        else:
            out.append(text[at])
            at += 1
    return "".join(out), at + 1


def _unquoted(text: str, at: int) -> tuple[str, int]:
    """Return the rest of a line without the blanks at its end; quotes in it are letters."""
    out: list[str] = []
    while at < len(text) and text[at] != "\n":
        if text[at] == "\\":
            out.append("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2])
            at += 2
        else:
            out.append(text[at])
            at += 1
    return "".join(out).rstrip(_BLANK), min(at, len(text))
