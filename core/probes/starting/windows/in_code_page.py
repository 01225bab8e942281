r"""What a program prints into a file or a pipe, and the code page of Windows has not.

Source: Python's documentation, "sys.stdout" and "PYTHONIOENCODING"; PEP 528 (the console is UTF-8), PEP 540 and PEP 686 (UTF-8 mode).
"""

from __future__ import annotations

import ast
import ntpath
import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import last_name
from core.common.versions import version_tuple
from core.host.startup.state import State
from core.model.facts import StartedPython
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.lacking_modules import options_of_python, program_file
from core.probes.starting.machine import Ground
from core.probes.starting.opened_files import UTF_8_MODE, code_page, unguarded, without_utf
from core.probes.starting.ways import Reached, ended_start
from core.probes.starting.windows.batch_variables import value_of

OF_SHELLS = (".bat", ".cmd", ".ps1", ".sh")
_SENT_AWAY = late_pattern(r"(?<![2-9^|>&])>(?!&)|(?<![|^])\|(?!\|)")
"""Behind a program: its output goes elsewhere; that of errors, which writes any letter in some form, does not count."""
_INTO_A_FILE = late_pattern(r"1?>(?!&)")
_CHOOSES = late_pattern(
    r"\breconfigure\(|\bTextIOWrapper\(|\bgetwriter\(|PYTHONIOENCODING|PYTHONUTF8|\bsys\.stdout ?=|\bredirect_stdout\b"
)
"""A program that sees to its output by itself."""


def not_in_code_page(found: StartedFile, way: Reached, ground: Ground) -> Iterator[StartedPython]:
    """Yield the environment's Python if its program prints a letter that the file, or the pipe, which gets the output cannot have."""
    program = program_file(found)
    home = next((p for p in ground.pythons if p.prefix == way.prefix and p.prefix), None)
    source = _sent_away(program, found, way, ground) if home and program.lower().endswith((".py", ".pyw")) else ""
    encoding = _encoding(found, way, ground) if source and home and version_tuple(home.version)[:2] < UTF_8_MODE else ""
    if not encoding or home is None:
        return
    place = ntpath.normpath(ntpath.join(ground.here(way.state), program))
    text = ground.where.text(place, 1 << 19) or ""
    for line, letter in _printed(text, encoding) if not _CHOOSES.search(text) else ():
        yield ended_start(
            home.prefix,
            letter,
            found.path,
            "not in code page",
            source=source,
            program=f"{place}:{line}",
            command=encoding,
        )
        return


def _sent_away(program: str, found: StartedFile, way: Reached, ground: Ground) -> str:
    """Return where the program's output is sent into a file or a pipe: file and line of a script, or the task or shortcut; empty for none."""
    named = re.compile(rf"(?i)(?<![\w.-]){re.escape(ntpath.basename(program))}(?![\w.-])\"?(.*)")
    for file in (f for f in way.state.files if f.lower().endswith(OF_SHELLS)):
        for number, row in enumerate((ground.read(file) or "").splitlines(), 1):
            told = (
                named.search(row) if not row.lstrip("@ \t").lower().startswith(("rem ", "::", "#", "echo ")) else None
            )
            if told and _SENT_AWAY.search(told[1]):
                return f"{file}:{number}"
    return way.at if any(_INTO_A_FILE.match(a) for a in found.arguments) else ""


def _encoding(found: StartedFile, way: Reached, ground: Ground) -> str:
    """Return the encoding of such output; empty where every letter can be written, or where that is not known."""
    letters, _kind, _named = options_of_python(found.arguments)
    if any("utf8" in a for a in found.arguments[:8]) or "PYTHONIOENCODING" in way.state.open:
        return ""
    ignores = set(letters) & set("EI")
    told = "" if ignores else value_of(way.state, "PYTHONIOENCODING") or ""
    name, _colon, errors = told.partition(":")
    own = code_page(State() if ignores else way.state, ground)
    return without_utf(name or own) if own and errors in ("", "strict") else ""


def _printed(text: str, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the letters that a program prints and that an encoding has not, outside ``try``, with their lines."""
    for node in unguarded(text):
        if not (isinstance(node, ast.Call) and last_name(node.func) == "print"):
            continue
        if any(k.arg == "file" for k in node.keywords):
            continue
        for part in (p for a in node.args for p in ast.walk(a)):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                for letter in part.value:
                    try:
                        letter.encode(encoding)
                    except UnicodeEncodeError:
                        yield node.lineno, letter
