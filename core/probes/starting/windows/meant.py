r"""What the first word of a command is meant to be, where it is no program: cmd.exe, PowerShell, shells of Linux and what starts a program without
a shell each have signs of their own.

Sources: Microsoft, "cmd" and "about_Quoting_Rules"; bash(1), "QUOTING" and "Tilde Expansion"; Microsoft, "CreateProcessW" (lpApplicationName).
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Callable, Iterator, Sequence

from core.common.late_pattern import late_pattern
from core.host.startup.state import State
from core.probes.starting.windows.batch_variables import value_of
from core.probes.starting.windows.command_words import words_of_line

_SIGNS = late_pattern(r"(?i)\A~(?=[\\/])|\$HOME\b|\$\{HOME\}|\$env:(\w+)|\$\{env:(\w+)\}|%(\w+)%")
_PYTHON = re.compile(r"(?:pythonw?[\d.]*|pyw?)(?:\.exe)?", re.IGNORECASE)


def meant_words(words: Sequence[str], state: State, is_file: Callable[[str], bool]) -> list[str]:
    """Return the words of the Python that a command whose first word is no program is meant to start; empty where that does not show.

    ``is_file``: whether a word leads to a file, by its path or by PATH.
    """
    if _PYTHON.fullmatch(words[0]) or is_file(words[0]):
        return []
    for meant in _candidates(words, state):
        if meant and _PYTHON.fullmatch(ntpath.basename(meant[0])) and is_file(meant[0]):
            return meant
    return []


def _candidates(words: Sequence[str], state: State) -> Iterator[list[str]]:
    first, rest = words[0], list(words[1:])
    if first.startswith("'"):  # a quotation mark of PowerShell and of Linux
        end = next((n for n, w in enumerate(words) if w.endswith("'")), 0)
        yield [" ".join(words[: end + 1]).strip("'"), *words[end + 1 :]]
    elif " " in first:  # a program with its arguments, where a field takes the program alone
        yield [*words_of_line(first), *rest]
    filled = _SIGNS.sub(lambda m: value_of(state, m[1] or m[2] or m[3] or "USERPROFILE") or "", first)
    yield [filled.replace("/", "\\"), *rest] if filled != first else []
    yield [ntpath.join(first, "python.exe"), *rest] if ntpath.isabs(first) else []  # its folder
