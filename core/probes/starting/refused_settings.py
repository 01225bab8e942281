r"""Files of settings that their reader refuses, and values in them that a program cannot use: JSON, TOML, YAML, INI, and files of variables.

Most were written by hand, and by editors that add what nobody sees. In quotation marks a backslash begins an escape, which a path of Windows
has by accident; PowerShell writes UTF-16, and Notepad can put a mark before UTF-8. JSON, TOML and INI are given to Python's own readers.

Sources: RFC 8259, section 7; TOML's specification, "String"; YAML 1.2.2, section 5.7; configparser's documentation, "Interpolation of values";
python-dotenv's main.py; python-decouple's RepositoryEnv; OmegaConf's "Resolvers".
"""

from __future__ import annotations

import ast
import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import (
    argument,
    chain_of,
    constant,
    is_environ,
    last_name,
    literal_text,
    nodes_of,
    statements_of,
)
from core.common.variable_names import variable_in
from core.host.startup.plain import json_value, read_dotenv
from core.host.startup.state import UNKNOWN
from core.model.facts.starting import RefusedFor
from core.probes.python.following.callees import sure_calls
from core.probes.python.search.start_code import asked_of_decouple, decouple_calls, dotenv_calls
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.commands.lacking_modules import perhaps_none, surely_run, until_it_may_return
from core.probes.starting.machine import Ground
from core.probes.starting.misnamed_settings import MARK, environment_of
from core.probes.starting.ways import Reached, ended_program, ended_start
from core.probes.variables.secrets import LATIN_1
from core.probes.variables.unreadable_files import TAB_REFUSED, tab_that_indents

MOST_PROGRAMS, MOST_BYTES, MOST_TEXT = 40, 1 << 20, 1 << 18
READS = late_pattern(r"\bjson\b|toml|\byaml\b|configparser|dotenv|environs|decouple|ultralytics|OmegaConf")
WRITES = late_pattern(r"\bopen\([^\n)]{0,200}[\"'][wax]b?\+?[\"']|\.write_(?:text|bytes)\(|json\.dump\(|\.dump\(")
"""A program that may make its file first."""
YAMLS = ("safe_load", "load", "full_load", "unsafe_load")
MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_IN_FOLDER = late_pattern(r"(?<![\w.%~\\/-])[\w.-]+[\\/][\w.\\/-]+\.py\b")
BYTES = "bytes"
"""In the place of an encoding: the file is opened as bytes."""
_LINE_OF_YAML = late_pattern(r"[ \t]*(?:- )?(?:[\w.-]+:[ \t]+)?\"((?:[^\"\\]|\\.)*)\"[ \t]*(?:#.*)?")
_ESCAPE_OF_YAML = late_pattern(r"\\(?:[0abt\tnvfre \"/\\N_LP]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})")


class Read(NamedTuple):
    """A file that a program reads as it starts."""

    reader: str
    file: str
    line: int
    encoding: str
    """As the program names it; empty where it names none."""


class Refusal(NamedTuple):
    """Why a file is refused."""

    says: str
    reason: RefusedFor = ""
    line: int = 0
    """Of the program's call, if that is another one than the line that reads the file."""


def refused_settings(ground: Ground) -> Iterator[Reached]:
    """Yield the programs of the working folder, and those below it that its scripts name, that surely read a file which its reader refuses."""
    if not ground.is_in_project:
        return
    named = [n for text in ground.script_texts() for n in _IN_FOLDER.findall(text)]
    for name in dict.fromkeys((*ground.programs(MOST_PROGRAMS), *named[:MOST_PROGRAMS])):
        path = ground.where.path_module.normpath(ground.where.join(ground.folder, name))
        text = ground.where.text(path, MOST_TEXT) or ""
        for its in _reads(text, path, ground) if READS.search(text) and not WRITES.search(text) else ():
            data = ground.where.read(its.file, MOST_BYTES + 1)
            refusal = _refusal(its, data, text) if data and len(data) <= MOST_BYTES else None
            refusal = refusal or (_miscast(text, its.file, ground) if its.reader == "decouple" else None)
            refusal = refusal or (_unset(data or b"", text, ground) if its.reader == "omegaconf" else None)
            refusal = refusal or (_unsendable(text, its.file, ground) if its.reader == "dotenv" else None)
            home = environment_of(text, its.reader, ground) if refusal else None
            if refusal and home:
                one = ended_start(
                    home.prefix, refusal.says, home.executable, "file refused",
                    source=f"{path}:{refusal.line or its.line}", program=its.file, command=its.reader, refused=refusal.reason,
                )  # fmt: skip
                yield ended_program(path, home, one, ground)
                break


# --- what a program reads ------------------------------------------------------------------------------------------------


def _reads(text: str, path: str, ground: Ground) -> Iterator[Read]:
    """Yield the files of settings that a program surely reads, outside ``try``."""
    yield from _read_by(statements_of(text), _names(path, ground), ground, path)
    if "ultralytics" in text and "datasets_dir" not in text:
        yield from _lost_data(text, ground)
    for its in (*dotenv_calls(text, path), *decouple_calls(text)):
        if file := ground.file_of_variables(its.file, path):
            yield Read(its.module, file, its.line, its.encoding)


def _names(path: str, ground: Ground) -> PathNames:
    return PathNames(path, folder=ground.folder, home=ground.person.home, env=ground.env)


def _read_by(body: list[ast.stmt], names: PathNames, ground: Ground, program: str = "") -> Iterator[Read]:
    """Yield what statements surely read, those of a ``program`` also by functions of its own that are given the path."""
    opened: dict[str, ast.expr] = {}
    parsers: set[str] = set()
    join = ground.where.join
    for node in surely_run(body, as_main=bool(program)):
        match node:
            case ast.If(test=ast.Call(func=func, args=[asked])) if last_name(func) in ("isfile", "exists"):
                if (place := names.value_of(asked)) and ground.where.exists(join(ground.folder, place)):
                    yield from _read_by(node.body, names, ground, program)
            case ast.With(items=items):
                opened |= {i.optional_vars.id: i.context_expr for i in items if isinstance(i.optional_vars, ast.Name)}
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value):
                opened |= {name: value} if last_name(value.func) in ("open", "read_text", "read") else {}
                parsers |= {name} if _interpolates(value) else set()
            case _:
                pass
        simple = isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return)
        for call in sure_calls(node, lambda _test: None) if simple else ():
            reader, source = _reader(call, parsers)
            if reader and source is not None and (found := _opened(source, opened, names)):
                file = ground.where.path_module.normpath(join(ground.folder, found[0]))
                yield Read(reader, file, call.lineno, found[1])
            elif program and call.args:
                yield from (its._replace(line=call.lineno) for its in _read_by_own(call, names, ground, program))
        names.follow(node)


def _read_by_own(call: ast.Call, names: PathNames, ground: Ground, program: str) -> Iterator[Read]:
    """Yield what a function of the program, or of a module beside it, surely reads by the paths that a call gives it."""
    *module, name = chain_of(call.func) or ("",)
    given = [names.value_of(a) for a in call.args]
    for node in statements_of(ground.where.text(program, MOST_TEXT) or "") if any(given) and not module else ():
        if isinstance(node, ast.ImportFrom) and node.module and name in {a.name for a in node.names if not a.asname}:
            module = node.module.split(".")
    path = f"{ground.where.join(ground.where.parent(program), *module)}.py" if module else program
    text = (ground.where.text(path, MOST_TEXT) or "") if any(given) and ground.where.is_file(path) else ""
    for node in statements_of(text) if name in text and not WRITES.search(text) else ():
        if isinstance(node, ast.FunctionDef) and node.name == name and not node.decorator_list:
            inner = _names(path, ground)
            for parameter, value in zip(node.args.args, given, strict=False):
                if value:
                    inner.assign(parameter.arg, ast.Constant(value))
            yield from _read_by(until_it_may_return(node.body), inner, ground)


def _lost_data(text: str, ground: Ground) -> Iterator[Read]:
    """Yield Ultralytics' settings where they look for the data of a program in a folder that is gone, and not where they were put at first.

    Source: ultralytics/data/utils.py of 8.3, check_det_dataset().
    """
    join, exists = ground.where.join, ground.where.exists
    usual = ("AppData", "Roaming") if ground.where.system == "windows" else (".config",)
    chosen = ground.env.get("YOLO_CONFIG_DIR") or join(ground.person.home, *usual, "Ultralytics")
    file = join(chosen, "settings.json")
    told = json_value(ground.read(file) or "")
    folder = told.get("datasets_dir") if isinstance(told, dict) else None
    if not isinstance(folder, str) or not ground.where.path_module.isabs(folder) or exists(folder):
        return
    for node in nodes_of(text):
        if isinstance(node, ast.Call) and last_name(node.func) == "train":
            data = ground.read(join(ground.folder, literal_text(argument(node, "data")) or ".")) or ""
            its = re.search(r"(?m)^path:[ \t]*[\"']?([\w.][\w./-]*)[\"']?[ \t]*(?:#.*)?$", data)
            first = join(ground.where.parent(ground.folder), "datasets", its[1]) if its else ""
            if its and "download:" not in data and exists(first) and not exists(join(ground.folder, its[1])):
                yield Read("ultralytics", file, node.lineno, "")


def _reader(call: ast.Call, parsers: set[str]) -> tuple[str, ast.expr | None]:
    """Return the package that reads settings in a call, and what it reads; empty for any other call."""
    source = argument(call, "stream", 0) or argument(call, "filenames") or argument(call, "file_")
    match chain_of(call.func):
        case ("json" | "tomllib" | "tomli" | "toml" as module, "load" | "loads"):
            return module, source
        case ("yaml", name) if name in YAMLS:
            return "yaml", source
        case ("OmegaConf", "load") | ("omegaconf", "OmegaConf", "load"):
            return "omegaconf", source
        case (name, "read") if name in parsers:
            return "configparser", source
    return "", None


def _interpolates(call: ast.Call) -> bool:
    given = argument(call, "interpolation")
    return last_name(call.func) in ("ConfigParser", "SafeConfigParser") and given is None


def _opened(source: ast.expr, opened: dict[str, ast.expr], names: PathNames) -> tuple[str, str] | None:
    """Return the file, and the encoding, of what a reader is given: a path, an open file, or its text; None where the program does not tell."""
    if isinstance(source, ast.Name) and source.id in opened:
        return _opened(opened[source.id], opened, names)
    match source:
        case ast.Call(func=ast.Name(id="open")):
            file, encoding = argument(source, "file", 0), argument(source, "encoding", 3)
            as_bytes = "b" in (literal_text(argument(source, "mode", 1)) or "")
        case ast.Call(func=ast.Attribute(value=inner, attr="read")):
            return _opened(inner, opened, names)
        case ast.Call(func=ast.Attribute(value=file, attr="read_text" | "read_bytes" | "open")):
            name = last_name(source.func)
            encoding = argument(source, "encoding", 2 if name == "open" else 0)
            as_bytes = name == "read_bytes" or "b" in (literal_text(argument(source, "mode", 0)) or "")
        case _:
            file, encoding, as_bytes = source, None, False
    place = names.value_of(file) if file is not None else None
    return (place, BYTES if as_bytes else literal_text(encoding) or "") if place else None


# --- what its reader says ------------------------------------------------------------------------------------------------


def _refusal(its: Read, data: bytes, text: str) -> Refusal | None:
    """Return why a file is refused; None where it is not, or where this cannot be told."""
    if its.encoding == BYTES and its.reader == "json":
        return _by_its_parser(json.loads, data)
    try:
        told = data.decode("utf-8" if its.encoding in ("", BYTES) else its.encoding)
    except (UnicodeDecodeError, LookupError) as e:
        marked = data.startswith(MARKS)
        return Refusal(str(e), "mark" if marked else "") if marked or its.encoding else None
    match its.reader:
        case "dotenv" | "environs" | "decouple" | "omegaconf":
            return None
        case "ultralytics":
            return Refusal("images not found: datasets_dir is not there")
        case "yaml":
            return _of_yaml(told)
        case "configparser":
            return _of_ini(told, text)
        case "json":
            return _by_its_parser(json.loads, told)
        case _:
            import tomllib  # few programs read such a file

            return _by_its_parser(tomllib.loads, told)


def _by_its_parser(loads: Callable[[Any], object], told: str | bytes) -> Refusal | None:
    """Return what a reader says of a text; what cures it tells the reason."""
    try:
        loads(told)
    except RecursionError:
        return None
    except ValueError as e:
        if isinstance(told, bytes):
            return Refusal(str(e))
        cures: tuple[tuple[RefusedFor, str], ...] = (
            ("mark", told.removeprefix(MARK)),
            ("backslash", told.replace("\\", "\\\\")),
        )
        return Refusal(str(e), next((r for r, cured in cures if cured != told and _is_read(loads, cured)), ""))
    return None


def _is_read(loads: Callable[[Any], object], told: str) -> bool:
    try:
        loads(told)
    except (ValueError, RecursionError):
        return False
    return True


RESOLVES = late_pattern(r"\bresolve[ \t]*=[ \t]*True\b|\bOmegaConf\.resolve\(|\binstantiate\(")
FILLS = late_pattern(r"environ\b[^\n]{0,40}\]\s*=(?!=)|environ\.(?:update|setdefault)|putenv|dotenv|clear_resolver")
_OF_ENVIRONMENT = late_pattern(r"(?m)^[ \t]*+(?:- )?(?:([\w.-]+)[ \t]*+:)?[^#\n]*?\$\{oc\.env:(\w+)\}")


def _unset(data: bytes, text: str, ground: Ground) -> Refusal | None:
    """Return the variable without a default that a value of settings asks for, which is not set, where a program takes that value.

    Source: https://omegaconf.readthedocs.io/en/2.3_branch/custom_resolvers.html#oc-env.
    """
    for found in _OF_ENVIRONMENT.finditer(data.decode("utf-8", "replace")) if not FILLS.search(text) else ():
        key, name = re.escape(found[1] or ""), found[2]
        taken = RESOLVES.search(text) or (key and re.search(rf"\.{key}\b|[\"'](?:[\w.]*\.)?{key}[\"']", text))
        if taken and not variable_in(ground.env, name):
            return Refusal(f"Environment variable '{name}' not found")
    return None


CASTS: dict[str, Callable[[str], object]] = {"int": int, "float": float}


def _miscast(text: str, file: str, ground: Ground) -> Refusal | None:
    """Return the value of a file that a program asks python-decouple for as a number, and that is none: a comment behind it is a part of it."""
    rows = [line.partition("=") for line in (ground.read(file) or "").splitlines() if not line.lstrip().startswith("#")]
    values = {name.strip(): value.strip() for name, _equals, value in rows}
    for node in surely_run(statements_of(text), as_main=True):
        for name, call in asked_of_decouple(node):
            cast = CASTS.get(last_name(argument(call, "cast", 2)))
            value = values.get(name)
            if cast is None or value is None or variable_in(ground.env, name):
                continue
            bare = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
            try:
                cast(bare)
            except ValueError as e:
                return Refusal(f"{name}: {e}", line=call.lineno)
    return None


def _unsendable(text: str, file: str, ground: Ground) -> Refusal | None:
    """Return the key of a file that a program sends in the head of a request, which takes no curly quotation marks."""
    nodes = list(nodes_of(text)) if SENDS.search(text) and not CHANGES_LETTERS.search(text) else []
    asked: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Subscript() | ast.Call() as value):
                if name := perhaps_none(value) or (
                    literal_text(value.slice) if isinstance(value, ast.Subscript) and is_environ(value.value) else ""
                ):
                    asked[bound] = name
            case _:
                pass
    state = ground.session()
    read_dotenv(ground.read(file) or "", file, state, [n for n in asked.values() if variable_in(ground.env, n)])
    for node in nodes if asked else ():
        for key, given in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            sent = {n.id for n in ast.walk(given) if isinstance(n, ast.Name)} & asked.keys()
            for name in (asked[n] for n in sent if (literal_text(key) or "").lower() in HEADS):
                odd = dict.fromkeys(c for c in state.values.get(name, "").strip() if ord(c) > LATIN_1 and c != UNKNOWN)
                if odd:
                    return Refusal(f"'latin-1' codec can't encode {' '.join(odd)} in {name}", line=given.lineno)
    return None


SENDS = late_pattern(r"(?m)^[ \t]{0,99}(?:import|from) (?:requests|httpx|urllib|http)\b")
"""Packages that encode the head of a request in Latin-1, or ASCII; aiohttp takes UTF-8."""
CHANGES_LETTERS = late_pattern(r"\.(?:replace|strip|translate|encode)\(|\\u201|[\u2018-\u201f]")
HEADS = ("authorization", "x-api-key", "api-key")


def _of_yaml(told: str) -> Refusal | None:
    """Return the first tab that indents, or escape that YAML does not have, in a value of one line."""
    if line := tab_that_indents(told):
        return Refusal(f"{TAB_REFUSED} in line {line}")
    if re.search(r"(?m)[|>][+-]?[ \t]*$", told):  # a block of text has no escapes
        return None
    if line := _value_with_another(told):
        return Refusal(f"mapping values are not allowed here in line {line}")
    for number, row in enumerate(told.splitlines(), 1):
        found = _LINE_OF_YAML.fullmatch(row)
        rest = _ESCAPE_OF_YAML.sub("", found[1]) if found else ""
        if "\\" in rest:
            letter = rest[rest.index("\\") + 1]
            return Refusal(f"found unknown escape character {letter!r} in line {number}", "backslash")
    return None


_PLAIN = late_pattern(r"((?: *- +)*+ *+)[\w.-]+: +([^\s#\"'\[\]{}|>&*!%@`,?:-][^#]*)")
_KEY = late_pattern(r" *+[\w.-]+:(?: |$)")
_OVER_LINES = late_pattern(r"(?m)[\[{][^\]}\n]*$|[:-] +([\"'])(?:(?!\1)[^\n])*$")
"""Brackets and quotation marks that hold more than one line."""


def _value_with_another(told: str) -> int:
    """Return the line in which a plain value, which goes on where a line is indented further, comes to the colon of a key; 0 for none."""
    column = None
    for number, row in enumerate(told.splitlines() if not _OVER_LINES.search(told) else (), 1):
        found = _PLAIN.fullmatch(row)
        inner = column is not None and len(row) - len(row.lstrip(" ")) > column and _KEY.match(row)
        if inner or (found and re.search(r":(?: |\Z)", found[2])):
            return number
        column = len(found[1]) if found else None
    return 0


def _of_ini(told: str, text: str) -> Refusal | None:
    """Return what configparser says of a file, and of the values that a program spells the names of."""
    from configparser import ConfigParser, Error, InterpolationError  # few programs read such a file

    settings = ConfigParser()
    try:
        settings.read_string(told)
    except Error as e:
        return Refusal(str(e).replace("\n", " "), "mark" if told.startswith(MARK) else "")
    spelt = {its for n in nodes_of(text) if isinstance(its := constant(n), str)}
    for section in settings.sections():
        for key in (k for k in settings.options(section) if k in spelt):
            try:
                settings.get(section, key)
            except InterpolationError as e:
                return Refusal(str(e), "percent")
    return None
