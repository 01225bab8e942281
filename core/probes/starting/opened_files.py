"""Files that the programs of the working folder open in vain: in an encoding in which they cannot be read, past the folder to which OneDrive
has moved them, under a name that only a shell would replace, or under one in which a backslash begins an escape.

Sources: Python's documentation, "open" and "PYTHONUTF8"; PEP 540 and PEP 686 (UTF-8 mode); pandas' documentation, "read_csv".
"""

from __future__ import annotations

import ast
import codecs
import locale
import re
from collections.abc import Iterator
from functools import partial

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import argument, last_name, literal_text, nodes_of, statements_of
from core.common.variable_names import variable_in
from core.common.versions import version_tuple
from core.host.startup.plain import read_dotenv
from core.host.startup.state import State
from core.model.paths import is_inside
from core.probes.python.search.start_code import dotenv_calls
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.machine import Ground
from core.probes.starting.misnamed_settings import SETS_VARIABLES
from core.probes.starting.ways import Reached, ended_program, ended_start
from core.probes.starting.windows.batch_variables import value_of

MOST_PROGRAMS, MOST_BYTES = 40, 1 << 20
UTF_8_MODE = (3, 15)
"""The first release that reads and writes UTF-8 wherever it is not told otherwise (PEP 686)."""
SETS_UTF_8 = late_pattern(r"PYTHONUTF8|utf8")
UTF_8 = "utf-8"
BY_VARIABLE = f"{UTF_8} (PYTHONUTF8)"
OPENS = frozenset(("open", "load", "read_text", "read_bytes", "read_csv", "read_excel", "listdir", "InferenceSession"))
ESCAPES = str.maketrans(dict(zip("\a\b\f\n\r\t\v", (rf"\{c}" for c in "abfnrtv"), strict=True)))
"""What stands for a backslash and a letter in a string (Python's documentation, "String and Bytes literals")."""
MOVED = ("desktop", "documents", "pictures")
"""Folders of a home that OneDrive's backup moves into its own (Microsoft, "Back up your folders with OneDrive")."""


def files_opened_in_vain(ground: Ground) -> Iterator[Reached]:
    """Yield the programs of the working folder that open such a file, each with the first."""
    if not ground.is_in_project or not ground.pythons:
        return
    of_open, where, home = _encoding(ground), ground.where, ground.pythons[0]
    for path in (where.join(ground.folder, n) for n in ground.programs(MOST_PROGRAMS)):
        for node, place in _opened(where.text(path, 1 << 19) or "", path, ground):
            file = where.path_module.normpath(where.join(ground.folder, place))
            its = partial(ended_start, home.prefix, path=home.executable, source=f"{path}:{node.lineno}")
            encoding = of_open if _is_read(node) else UTF_8 if _is_table(node, file) else ""
            if moved := _moved(file, ground):
                one = its(file, fault="moved by OneDrive", program=moved)
            elif meant := _meant(node, place, file, ground):
                one = its(place, fault="place not expanded", program=meant)
            elif encoding and _needs_another(file, encoding, ground):
                one = its(where.name(file), fault="file not in code page", program=file, command=encoding)
            else:
                continue
            yield ended_program(path, home, one, ground)
            break


def _encoding(ground: Ground) -> str:
    """Return the encoding in which Python opens text; empty where that is not known."""
    state = ground.session()
    if (value_of(state, "PYTHONUTF8") or "").strip() == "1":
        return BY_VARIABLE
    if ground.where.system == "linux":
        named = next((v for n in ("LC_ALL", "LC_CTYPE", "LANG") if (v := ground.env.get(n))), "C")
        return UTF_8 if named in ("C", "POSIX") or "utf" in named.lower() else ""
    if any(version_tuple(p.version)[:2] >= UTF_8_MODE for p in ground.pythons):
        return ""
    return "" if any(SETS_UTF_8.search(text) for text in ground.script_texts()) else code_page(state, ground)


def code_page(state: State, ground: Ground) -> str:
    """Return the encoding of Windows' code page; empty where Python runs in UTF-8 mode, or may."""
    if "PYTHONUTF8" in state.open or (value_of(state, "PYTHONUTF8") or "").strip() == "1":
        return ""
    return without_utf(locale.getencoding() if ground.where.is_running_system else "cp1252")


def without_utf(name: str) -> str:
    """Return the name of an encoding that has not every letter; empty for another, and for none."""
    try:
        return "" if codecs.lookup(name).name.startswith("utf") else name
    except LookupError:
        return ""


def unguarded(text: str) -> Iterator[ast.AST]:
    """Yield the nodes of a program outside ``try``."""
    nodes = list(nodes_of(text))
    guarded = {id(n) for t in nodes if isinstance(t, ast.Try) for part in t.body for n in ast.walk(part)}
    return (node for node in nodes if id(node) not in guarded)


def _opened(text: str, path: str, ground: Ground) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls outside ``try`` by which a program opens what it names, with its path."""
    names = PathNames(path, folder=ground.folder, home=ground.person.home, paths=ground.where.path_module)
    spelt = any(f"{name}(" in text for name in OPENS)
    for statement in statements_of(text) if spelt else ():
        names.follow(statement)
    if spelt and "environ" in text and not SETS_VARIABLES.search(text):
        names.set_environment(_variables(text, path, ground))
    for node in unguarded(text) if spelt else ():
        match node:
            case ast.Call(func=ast.Attribute(value=file, attr="read_text" | "read_bytes")):
                pass
            case ast.Call(func=func, args=[file, *_]) if last_name(func) in OPENS:
                pass
            case _:
                continue
        if place := names.value_of(file):
            yield node, place


def _variables(text: str, path: str, ground: Ground) -> dict[str, str]:
    """Return the variables that a program has once it has read its files of them."""
    state = ground.session()
    for call in dotenv_calls(text, path):
        file = ground.file_of_variables(call.file, path)
        read_dotenv((ground.read(file) or "") if file else "", file, state, () if call.overrides else ground.env)
    return state.values


def _meant(call: ast.Call, place: str, file: str, ground: Ground) -> str:
    """Return the place that is there, where the one that a call names is not: with ``~`` and variables replaced as by a shell, and with the
    backslashes of Windows that began an escape; else nothing.
    """
    if ground.where.exists(file):
        return ""
    windows = ground.where.system == "windows"
    meant = place.translate(ESCAPES) if windows else place
    if not last_name(call.func).startswith("read_"):  # pandas replaces the home itself
        meant = re.sub(r"\A~(?=[/\\])", lambda _found: ground.person.home, meant)
    form = r"%(\w+)%" if windows else r"\$\{?(\w+)\}?"
    meant = re.sub(
        form, lambda m: variable_in(ground.env, m[1], m[0]) if windows else ground.env.get(m[1], m[0]), meant
    )
    whole = ground.where.path_module.normpath(ground.where.join(ground.folder, meant))
    return whole if meant != place and ground.where.exists(whole) else ""


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


def _is_table(call: ast.Call, file: str) -> bool:
    """Whether pandas reads a table without an encoding, which is in UTF-8 then."""
    told = {k.arg for k in call.keywords}
    return (
        last_name(call.func) == "read_csv"
        and file.lower().endswith((".csv", ".tsv", ".txt"))
        and not told & {"encoding", "encoding_errors", None}
    )


def _needs_another(file: str, encoding: str, ground: Ground) -> bool:
    """Whether a small file is text, and not in this encoding: in UTF-8, or where that is it, in the code page."""
    data = (ground.where.read(file, MOST_BYTES + 1) or b"") if ground.where.is_file(file) else b""
    if len(data) > MOST_BYTES or b"\0" in data or _decodes(data, encoding.partition(" ")[0]):
        return False
    return encoding.startswith(UTF_8) or _decodes(data, UTF_8)


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _moved(file: str, ground: Ground) -> str:
    """Return where OneDrive keeps a file, or folder, that is not where a program opens it; empty for none."""
    inner = file[len(ground.person.home) :].strip("\\") if is_inside("windows", file, ground.person.home) else ""
    drive = variable_in(ground.env, "OneDrive")
    if not drive or inner.partition("\\")[0].lower() not in MOVED or ground.where.exists(file):
        return ""
    return meant if ground.where.exists(meant := ground.where.join(drive, inner)) else ""
