"""The lines of a file of settings that name the Python which a program runs in: what an edit would have to change.

Only where nothing else in the file speaks of that Python: a list of known interpreters, a second program.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator

from core.host.startup.edit import mentions
from core.model.facts import INTERPRETER, LineForm, StartLine

FORMS: tuple[tuple[str, LineForm], ...] = (
    (".json", "json"),
    (".code-workspace", "json"),
    (".service", "systemd"),
    (".desktop", "systemd"),
    (".ini", "supervisor"),
)
"""End of a file's name -> the language of its lines."""
_SETTING = r"[ \t]*[\w.-]+[ \t]*[=:][ \t]*"


def lines_naming(python: str, file: str, text: str) -> tuple[StartLine, ...]:
    """Return the lines that name an interpreter as they write it; none where not every mention of it is such a line."""
    form = next((form for end, form in FORMS if posixpath.basename(file).endswith(end)), None)
    is_path = "/" in python or "\\" in python
    if form is None or not python or (form != "systemd" and not is_path):  # "type": "python" is no interpreter
        return ()
    word = json.dumps(python, ensure_ascii=False) if form == "json" else python
    rows = tuple(_numbered(text, word, form))
    if form == "systemd" and not all(re.match(r"\s*Exec(?:Start)?\s*=", row) for _number, row in rows):
        return ()  # what runs before the program, or after it
    one_value = form == "supervisor" and all(_is_whole_value(row, word) for _number, row in rows)
    if not one_value and (len(rows) != 1 or rows[0][1].count(word) != 1):
        return ()
    return tuple(
        StartLine(name=INTERPRETER, does="set", value=python, file=file, line=number, form=form)
        for number, _row in rows
    )


def _numbered(text: str, word: str, form: LineForm) -> Iterator[tuple[int, str]]:
    """Yield each line that is no comment and has the word, from 1; a list of what is known is none of those."""
    marks = ("//",) if form == "json" else ("#", ";")
    whole = mentions(word)
    for number, row in enumerate(text.split("\n"), 1):
        if whole.search(row) and not row.lstrip().startswith(marks):
            if form == "systemd" and not row.lstrip().startswith("Exec"):
                continue
            if form == "supervisor" and re.fullmatch(rf"{_SETTING}\[.*\]\s*", row):
                continue  # Spyder keeps the interpreters that were ever chosen
            yield number, row


def _is_whole_value(row: str, word: str) -> bool:
    return re.fullmatch(rf"{_SETTING}([\"']?){re.escape(word)}\1\s*", row) is not None
