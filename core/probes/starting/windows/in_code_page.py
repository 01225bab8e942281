r"""Text in the code page of Windows: what a program prints into a file or a pipe, and files that it opens without an encoding.

Source: Python's documentation, "open", "sys.stdout" and "PYTHONIOENCODING"; PEP 528 (the console is UTF-8), PEP 540 and PEP 686 (UTF-8 mode).
"""

from __future__ import annotations

import ast
import codecs
import locale
import ntpath
import re
from collections.abc import Iterator
from functools import partial

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import argument, last_name, literal_text, nodes_of, statements_of
from core.common.variable_names import variable_in
from core.common.versions import version_tuple
from core.host.startup.state import State
from core.model.facts import StartedPython, path_text
from core.model.paths import is_inside
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.lacking_modules import options_of_python, program_file
from core.probes.starting.machine import Ground
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
UTF_8_MODE = (3, 15)
"""The first release that writes UTF-8 wherever it is not told otherwise (PEP 686)."""


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
    own = _code_page(State() if ignores else way.state, ground)
    return _without_utf(name or own) if own and errors in ("", "strict") else ""


def _code_page(state: State, ground: Ground) -> str:
    """Return the encoding of Windows' code page; empty where Python runs in UTF-8 mode, or may."""
    if "PYTHONUTF8" in state.open or (value_of(state, "PYTHONUTF8") or "").strip() == "1":
        return ""
    return _without_utf(locale.getencoding() if ground.where.is_running_system else "cp1252")


def _without_utf(name: str) -> str:
    """Return the name of an encoding that has not every letter; empty for another, and for none."""
    try:
        return "" if codecs.lookup(name).name.startswith("utf") else name
    except LookupError:
        return ""


def _printed(text: str, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the letters that a program prints and that an encoding has not, outside ``try``, with their lines."""
    for node in _unguarded(text):
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


def _unguarded(text: str) -> Iterator[ast.AST]:
    """Yield the nodes of a program outside ``try``."""
    nodes = list(nodes_of(text))
    guarded = {id(n) for t in nodes if isinstance(t, ast.Try) for part in t.body for n in ast.walk(part)}
    return (node for node in nodes if id(node) not in guarded)


MOST_PROGRAMS, MOST_BYTES = 40, 1 << 20
SETS_UTF_8 = late_pattern(r"PYTHONUTF8|utf8")


def unreadable_files(ground: Ground) -> Iterator[Reached]:
    """Yield the programs of the working folder that open a file without an encoding, in UTF-8 where the code page cannot read it, or in the
    code page where a variable says UTF-8; and those that open one past the folder to which OneDrive has moved it.
    """
    state = ground.session()
    if ground.folder in ("", ground.person.home) or not ground.pythons:
        return
    encoding = "utf-8" if (value_of(state, "PYTHONUTF8") or "").strip() == "1" else _code_page(state, ground)
    if encoding != "utf-8" and any(SETS_UTF_8.search(text) for text in ground.script_texts()):
        encoding = ""
    if any(version_tuple(p.version)[:2] >= UTF_8_MODE for p in ground.pythons):
        encoding = ""
    home = ground.pythons[0]
    for path in (ntpath.join(ground.folder, n) for n in ground.programs(MOST_PROGRAMS)):
        text = ground.where.text(path, 1 << 19) or ""
        for node, file in _opened(text, path, ground):
            its = partial(ended_start, home.prefix, path=home.executable, source=f"{path}:{node.lineno}")
            if moved := _moved(file, ground):
                one = its(file, fault="moved by OneDrive", program=moved)
            elif encoding and _is_read(node) and _needs_another(_content(file, ground), encoding):
                name = ground.where.name(file)
                one = its(name, fault="file not in code page", program=file, command=encoding)
            else:
                continue
            yield Reached(
                kind="script", at=path_text(path), state=ground.session(path), prefix=home.prefix, runs=(one,)
            )
            break


def _content(file: str, ground: Ground) -> bytes:
    return (ground.where.read(file, MOST_BYTES + 1) or b"") if ground.where.is_file(file) else b""


MOVED = ("desktop", "documents", "pictures")
"""Folders of a home that OneDrive's backup moves into its own (Microsoft, "Back up your folders with OneDrive")."""


def _moved(file: str, ground: Ground) -> str:
    """Return where OneDrive keeps a file, or folder, that is not where a program opens it; empty for none."""
    inner = file[len(ground.person.home) :].strip("\\") if is_inside("windows", file, ground.person.home) else ""
    drive = variable_in(ground.env, "OneDrive")
    if not drive or inner.partition("\\")[0].lower() not in MOVED or ground.where.exists(file):
        return ""
    return meant if ground.where.exists(meant := ntpath.join(drive, inner)) else ""


def _needs_another(data: bytes, encoding: str) -> bool:
    """Whether a small file is text, and not in this encoding: in UTF-8, or where that is it, in the code page."""
    if len(data) > MOST_BYTES or b"\0" in data or _decodes(data, encoding):
        return False
    return encoding == "utf-8" or _decodes(data, "utf-8")


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


OPENS = frozenset(("open", "load", "read_text", "read_bytes", "read_csv", "read_excel", "listdir", "InferenceSession"))


def _opened(text: str, path: str, ground: Ground) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls outside ``try`` by which a program opens what it names, with its path."""
    names = PathNames(path, folder=ground.folder, home=ground.person.home)
    for statement in statements_of(text) if any(f"{name}(" in text for name in OPENS) else ():
        names.follow(statement)
    for node in _unguarded(text):
        match node:
            case ast.Call(func=ast.Attribute(value=file, attr="read_text" | "read_bytes")):
                pass
            case ast.Call(func=func, args=[file, *_]) if last_name(func) in OPENS:
                pass
            case _:
                continue
        if place := names.value_of(file):
            yield node, ntpath.normpath(ntpath.join(ground.folder, place))


def _is_read(call: ast.Call) -> bool:
    """Whether a call opens a file as text for reading, without an encoding."""
    match call.func:
        case ast.Attribute(attr="read_text"):
            return not call.args and not call.keywords
        case ast.Name(id="open"):
            pass
        case _:
            return False
    mode = literal_text(argument(call, "mode", 1)) if argument(call, "mode", 1) is not None else "r"
    told = {k.arg for k in call.keywords}
    return mode in ("r", "rt") and len(call.args) < 3 and not told & {"encoding", "errors", "opener", None}
