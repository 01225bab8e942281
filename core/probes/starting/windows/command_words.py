r"""The text of a command line of Windows: its words, and the commands in it.

Sources: Microsoft, "CommandLineToArgvW" and "Parsing C command-line arguments".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from core.common.late_pattern import late_pattern

MOST_LINE = 8191
"""Maximum length of a line for cmd.exe, in characters."""


_SPLIT_BY_CMD = late_pattern(r"(?i)((?:call\s+)?)(\.{1,2}|[\w-]{1,80})(/\S*)(.*)\Z")


def as_cmd_reads(command: str) -> str:
    """Return a command as cmd.exe reads it, which ends a name without quotation marks at a slash: ``venv/Scripts/activate`` starts ``venv``."""
    found = _SPLIT_BY_CMD.match(command)
    return f"{found[1]}{found[2]} {found[3]}{found[4]}" if found else command


_OF_CMD = late_pattern(
    r"(?i)((?:(?:call|start)\s(?:[^&|]*\s)?)?(?:\"[^\"]*\\cmd(?:\.exe)?\"|[^\s\"&|]*\bcmd(?:\.exe)?)(?:\s+/[^\sckr]\S*)*)\s+(/[ckr])\s*(.+)\Z"
)


def words_of_line(text: str) -> list[str]:
    """Return the words of a command line as a program gets them; backslashes count before a quotation mark alone. What cmd.exe runs is one word,
    with its quotation marks.
    """
    if by_cmd := _OF_CMD.match(text):
        return [*words_of_line(by_cmd[1]), by_cmd[2], by_cmd[3]]
    words: list[str] = []
    word, quoted, there = "", False, False
    at = 0
    while at < min(len(text), MOST_LINE * 4):
        char = text[at]
        if char == "\\":
            run = len(text[at:]) - len(text[at:].lstrip("\\"))
            at += run
            if text[at : at + 1] == '"':
                word += "\\" * (run // 2)
                if run % 2:
                    word += '"'
                    at += 1
            else:
                word += "\\" * run
            there = True
        elif char == '"':
            quoted, there = not quoted, True
            at += 1
        elif char in " \t" and not quoted:
            if there:
                words.append(word)
            word, there = "", False
            at += 1
        else:
            word, there = word + char, True
            at += 1
    return [*words, word] if there else words


_GOES_ON = {
    "^": late_pattern(r"[ \t](?:[\\`][ \t]*|\^[ \t]+)\r?\Z"),
    "`": late_pattern(r"[ \t](?:[\\^][ \t]*|`[ \t]+)\r?\Z"),
}
"""The sign with which a shell joins lines -> how a line would go on in another shell, or ends with a blank behind that sign."""


def option_left_behind(line: str, following: str, sign: str) -> str:
    """Return the first word of the next line, if it is an option that a line should go on with, and does not; else nothing."""
    return following.split(maxsplit=1)[0] if following.lstrip().startswith("-") and _GOES_ON[sign].search(line) else ""


def without_outer_marks(line: str, is_program: Callable[[str], bool]) -> str:
    """Return what ``cmd /c`` runs of a line: it takes the first and the last quotation mark away, unless there are two alone, and the name of a
    program between them that has a blank and none of cmd.exe's signs (``cmd /?``).
    """
    inner = line[1:].partition('"')[0]
    kept = line.count('"') == 2 and " " in inner and not set("&<>()@^|") & set(inner) and is_program(inner)
    if not line.startswith('"') or kept:
        return line
    body, _mark, tail = line[1:].rpartition('"')
    return body + tail


def commands_between(line: str) -> Iterator[str]:
    """Yield the commands between ``&``, ``&&`` and ``||`` outside quotation marks."""
    start, quoted = 0, False
    for at, char in enumerate(line):
        quoted = quoted != (char == '"')
        if char in "&|" and not quoted and (at == 0 or line[at - 1] != "^"):
            if line[start:at].strip():
                yield line[start:at]
            start = at + 1
    if line[start:].strip():
        yield line[start:]


def up_to_bracket(text: str) -> str:
    """Return a command up to the bracket that ends its block."""
    quoted = False
    for at, char in enumerate(text):
        quoted = quoted != (char == '"')
        if char == ")" and not quoted:
            return text[:at]
    return text


def is_title(rest: list[str]) -> bool:
    """Whether the first word behind ``start`` is a window's title: one with spaces that names no program."""
    return len(rest) > 1 and " " in rest[0] and "\\" not in rest[0]
