"""Commands in the text of any file, whatever its syntax: a line for a shell, in quotation marks or not, or the arguments of a call.

Nothing is known of the tool that reads it: what counts is a word that may start a Python, where no comment and no message has it.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.probes.starting.commands.command_line import OF_A_SHELL
from core.probes.starting.commands.runners import WRAPPERS

MOST_LETTERS = 2000
"""Maximum length of a line in which a command is looked for, and of a command."""
MOST_WORDS = 30
MARKUP = (".xml", ".html", ".htm", ".svg", ".qml", ".ui", ".plist", ".iml")
LIKE_C = (".js", ".mjs", ".cjs", ".ts", ".mts", ".java", ".go", ".c", ".cc", ".cpp", ".h", ".hpp", ".rs", ".kt", ".cs", ".swift", ".scala", ".php", ".groovy", ".dart",
          ".json", ".jsonc", ".qml", ".nf")  # fmt: skip
STARTS = late_pattern(
    r"(?<![\w.$@%-])(?:python[\d.]*|torchrun|accelerate|deepspeed|streamlit|gradio|uvicorn|gunicorn|(?:uv|poetry|pdm|pipenv|conda|mamba|pixi)(?= run\b))(?![\w./-])"
    r"|\.(?:py|sh|bash)(?![\w.-])"
)
"""A word that may start a Python: its last part, or the ending of a program's name."""
_OF_A_PATH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./~+@${}-")
_BLOCK = late_pattern(r"/\*.*?(?:\*/|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = late_pattern(r"</?[A-Za-z][\w:.-]*>")
_WHOLE_LINE = late_pattern(r"[ \t]*(?:#|//|--(?:\s|\[)|;|\*|%%|REM\b|!)")
_SPOKEN = late_pattern(
    r"(?i)\b(?:print|log|echo|warn|error|puts|fail|abort|die|raise|throw|usage|help|desc|message|msg|hint|comment|tooltip|title|label|summary|example|text)"
    r"[\w.]*+[\"'\]]?[ \t]*+[(:=,>]*+[ \t]*+f?$"
)
"""What stands before words for a person: a call that prints, a key of a description."""
_TOKEN = late_pattern(
    r"[ \t\r]+|\n|\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'|`([^`\n]*)`|([A-Za-z_$@][\w$.]*)|(.)", re.DOTALL
)
_JOINS = late_pattern(r"[ \t\n]*(?:\.\.|[.+])[ \t\n]*")
_HERE = late_pattern(
    r"(?:__DIR__|__dirname|dirname\(__FILE__\)|File\.dirname\(__FILE__\)|__dir__|import\.meta\.dirname)"
)
_HOME = late_pattern(
    r"(?:os\.getenv\([\"']HOME[\"']\)|getenv\([\"']HOME[\"']\)|ENV\[[\"']HOME[\"']\]|process\.env\.HOME|os\.homedir\(\)|\$ENV\{HOME\})"
)
_OTHER = late_pattern(r"[$@]?[A-Za-z_][\w.$>\[\]-]*(?:\([^()\n]{0,200}\))?")
_NAMES = late_pattern(r"\b([A-Z][A-Z0-9_]{2,})\b(?=[\"'\]]?[ \t]*+(?:=|:|,|\]))")
_KEY = late_pattern(r"[ \t]*(?::(?!:)|=>|=(?!=))")
_NEXT_ARGUMENT = late_pattern(r"[;)\s]*+\w*+\.(?:args?|[Aa]rguments)[ \t]*+[(=][ \t]*")
OPENS, CLOSES = "[({", "])}"
_FOLLOWS = ("args", "arguments", "argv", "arg", "params", "parameters")
"""What the arguments of a command are called beside it."""


def named_variables(text: str) -> set[str]:
    """Return the variables that a text may set: their values are not known to what it starts."""
    return {m[1] for m in _NAMES.finditer(text)} - {"HOME"}


def commands_in(text: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each command that a file may have, as a shell would read it."""
    ending = posixpath.splitext(path)[1].lower()
    text = _without_comments(text, ending)
    folder, done = posixpath.dirname(path), -1
    for found in STARTS.finditer(text):
        if found.start() < done:
            continue
        start = found.start()
        while start and text[start - 1] in _OF_A_PATH:
            start -= 1
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", found.end())
        last = len(text) if last < 0 else last
        if last - first > MOST_LETTERS:
            continue
        opened = _opened(text, first, start, ending)
        if opened is None or _SPOKEN.search(text, max(first, opened - 80), opened):
            continue
        told = (
            _quoted(text, opened, found.end(), folder)
            if opened < start
            else _bare(text, first, start, last, found.end())
        )
        if told is None:
            continue
        command, done = told
        if command and len(command) <= MOST_LETTERS:
            yield text.count("\n", 0, start) + 1, command


def _without_comments(text: str, ending: str) -> str:
    """Return the text with blanks in place of its comments: whole lines of every kind, blocks where the language has them."""
    if ending in LIKE_C or ending in MARKUP:
        text = _BLOCK.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    if ending in MARKUP:
        import html  # few files are of this kind

        text = html.unescape(_TAG.sub("  ", text))
    marks = '"' if ending == ".vim" else ""
    return "\n".join(
        "" if _WHOLE_LINE.match(row) or (marks and row.lstrip().startswith(marks)) else row for row in text.split("\n")
    )


def _opened(text: str, first: int, start: int, ending: str) -> int | None:
    """Return the quotation mark that is open at a place of its line, the place itself where none is; None behind a comment's mark."""
    mark, at, number = "", start, first
    while number < start:
        letter = text[number]
        if letter == "\\":
            number += 1
        elif mark:
            mark = "" if letter == mark else mark
        elif letter in "\"'`" and not (letter == "'" and text[number - 1 : number].isalnum()):
            mark, at = letter, number
        elif text[number - 1 : number].isspace() and (
            text.startswith(("//", "--  "), number)
            if ending in LIKE_C
            else letter == "#" or text.startswith("-- ", number)
        ):
            return None
        number += 1
    return at if mark else start


def _quoted(text: str, opened: int, behind: int, folder: str) -> tuple[str, int] | None:
    """Return the command in quotation marks, and where it ends: one line, joined parts, or a list of words."""
    mark = text[opened]
    close = behind
    while close < len(text) and text[close] != mark:
        close += 2 if text[close] == "\\" else 1
        if close - opened > MOST_LETTERS:
            return None
    inside = _plain(text[opened + 1 : close], mark)
    lead = _led_by(text, opened, folder)
    if lead is None:
        return None
    joined, end = _joined(text, close + 1, folder)
    whole = lead + inside + joined
    if not joined and re.fullmatch(r"\s*[^\s;&|]+\s*", whole):
        return _listed(whole.strip(), text, close + 1)
    return whole, end


def _plain(inside: str, mark: str) -> str:
    """Return what quotation marks hold, their escapes replaced; a place in a template that only running it fills is a word of its own."""
    told = re.sub(
        r"\\([\s\S])", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1] if m[1] in "\"'`\\/ $" else m[0]), inside
    )
    return re.sub(r"\$\{(?!HOME\b)[^{}]*\}|#\{[^{}]*\}", "x", told) if mark == "`" or "#{" in told else told


def _led_by(text: str, opened: int, folder: str) -> str | None:
    """Return what stands before an opened quotation mark and is joined to it: a folder; nothing; None for what reading does not show."""
    before = text[max(0, opened - 80) : opened].rstrip()
    if not before.endswith(("+", ".")) or before.endswith("..."):
        return ""
    before = before.rstrip("+.").rstrip()
    for pattern, value in ((_HERE, folder), (_HOME, "$HOME")):
        if [m for m in pattern.finditer(before) if m.end() == len(before)]:
            return value
    return None


def _joined(text: str, at: int, folder: str) -> tuple[str, int]:
    """Return what is joined to a text behind it, and where that ends."""
    parts: list[str] = []
    while len(parts) < MOST_WORDS and (operator := _JOINS.match(text, at)):
        place = operator.end()
        if quoted := re.compile(r"\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'").match(text, place):
            parts.append(_plain(quoted[1] if quoted[1] is not None else quoted[2], quoted[0][0]))
        elif quoted := _HERE.match(text, place):
            parts.append(folder)
        elif quoted := _HOME.match(text, place):
            parts.append("$HOME")
        elif quoted := _OTHER.match(text, place):
            parts.append("x")
        else:
            break
        at = quoted.end()
    return "".join(parts), at


def _listed(first: str, text: str, at: int) -> tuple[str, int]:
    """Return the words of a list, or of a call's arguments, whose first one is known, and where they end."""
    words, depth, last = [first], 0, ","
    while at < len(text) and len(words) < MOST_WORDS and (found := _TOKEN.match(text, at)):
        told = next((g for g in found.groups()[:3] if g is not None), None)
        name, other = found[4], found[5] or ""
        ends = (found[0] == "\n" and not depth and last not in ",[({:=") or (other and other not in ",:=&.><[({])}")
        depth += (other in OPENS) - (other in CLOSES) if other else 0
        if ends or depth < 0:
            if not (following := _NEXT_ARGUMENT.match(text, found.start())):
                break
            at, depth, last = following.end(), 0, ","
            continue
        is_key = _KEY.match(text, found.end()) if told is not None or name else None
        if is_key and (told or name) not in _FOLLOWS:
            break
        if told is not None and not is_key:
            words.append(_plain(told, found[0][0]))
        elif name and not is_key and not text.startswith(("(", "!", "["), found.end()) and last in ",[(":
            words += ["x"] if "dirname" not in name.lower() else []
        last = found[0].strip(" \t\r\n")[-1:] or last
        at = found.end()
    again = len(words) > 1 and re.fullmatch(r"python[\d.]*", words[1])  # execl() is given the name, too
    return shlex.join([first, *words[2:]] if again else words), at


def _bare(text: str, first: int, start: int, last: int, behind: int) -> tuple[str, int]:
    """Return the command without quotation marks in a line, from where it begins, and its end."""
    row = text[start:last]
    if text.startswith(",", behind):  # a list without quotation marks
        words = [w.strip().strip("\"'") for w in re.split(r"[\]})]", row)[0].split(",")]
        return shlex.join(w for w in words if w), last
    before = [(first + m.start(), m[0]) for m in re.compile(r"\S+").finditer(text[first:start])]
    begin, number = start, len(before) if text[start - 1].isspace() else 0
    while number:
        place, word = before[number - 1]
        if word in WRAPPERS or word == "env" or re.fullmatch(r"[A-Za-z_]\w*=\S*", word):
            number, begin = number - 1, place
        elif word in ("&&", ";") or word.endswith(";"):
            led = next((n for n in range(number - 1, -1, -1) if before[n][1].lstrip("\"'([{>") in OF_A_SHELL), -1)
            if led < 0:
                break
            number, begin = led, before[led][0]
        else:
            break
    row = text[begin:last]
    for opens, closes in ("()", "[]", "{}"):
        while row.rstrip(" ,;").endswith(closes) and row.count(closes) > row.count(opens):
            row = row.rstrip(" ,;")[:-1]
    return row.strip(), last
