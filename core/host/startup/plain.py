"""Reads files that contain variables as data: pam_env's, environment.d, crontabs, JSON with comments, .env."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Any

from core.common.late_pattern import late_pattern
from core.host.startup.state import State, fill
from core.model.facts import LineForm

_NAME = r"[A-Za-z_]\w*"
_LONG_KEY = late_pattern(r"(?<![\w-])(?:(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.[ \t]*){64}")


def read_assignments(
    text: str,
    file: str,
    state: State,
    *,
    expands: bool = False,
    braced: bool = False,
    form: LineForm = "assignments",
    keeps: Container[str] = (),
) -> None:
    """Apply the assignments of /etc/environment or .env to ``state``.

    ``expands``: replace $NAME and ${NAME}. ``braced``: replace ${NAME} alone, as python-dotenv and VS Code do. ``keeps``: variables that
    keep the values which they have.
    """
    state.files.append(file)
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(rf"\s*(?:export\s+)?({_NAME})=(.*)$", line)
        if found is None or found[1] in keeps or line.lstrip().startswith(("#", ";")):
            continue
        value = _without_quotes(found[2].strip())
        if expands:
            value = expanded(value, state.values.get)
        elif braced:
            value = expanded_in_braces(value, state.values.get)
        state.export_variable(found[1], value, file, number, form)


def read_dotenv(text: str, file: str, state: State, keeps: Container[str] = ()) -> None:
    """Apply a file as python-dotenv does: spaces around "=" and a comment behind a value are left out, ${NAME} alone is replaced.

    ``keeps``: variables that keep the values which they have.
    """
    state.files.append(file)
    row = re.compile(rf"(?:export\s+)?({_NAME})\s*=(.*)")
    quoted = re.compile(r"\"((?:[^\"\\]|\\.)*)\"(?=\s|\Z)|'((?:[^'\\]|\\.)*)'(?=\s|\Z)")
    for number, line in enumerate(text.splitlines(), 1):
        if (found := row.fullmatch(line.strip())) and found[1] not in keeps:
            told = found[2].strip()
            whole = quoted.match(told)
            value = _unescaped(whole) if whole else re.split(r"\s#", told, maxsplit=1)[0].rstrip()
            filled = expanded_in_braces(value, state.values.get)
            state.export_variable(found[1], filled, file, number, "assignments")


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _unescaped(quoted: re.Match[str]) -> str:
    """Return a value of .env without its quotation marks; within double ones there are also escapes of one letter (python-dotenv's parser.py)."""
    if quoted[1] is None:
        return re.sub(r"\\([\\'])", r"\1", quoted[2])
    return re.sub(r"\\([\\'\"abfnrtv])", lambda m: _ESCAPES.get(m[1], m[1]), quoted[1])


def _without_quotes(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0] else value


def expanded(value: str, get: Callable[[str], str | None]) -> str:
    """Return a value with $NAME, ${NAME}, ${NAME:-word} and ${NAME:+word} replaced."""

    def put(found: re.Match[str]) -> str:
        name, kind, word = found[1] or found[4], found[2], found[3] or ""
        its = get(name)
        if kind == ":+":
            return expanded(word, get) if its else ""
        return its if its else expanded(word, get) if kind == ":-" else ""

    return fill(rf"\$\{{({_NAME})(?:(:[-+])((?:[^{{}}]|\$\{{[^{{}}]*\}})*))?\}}|\$({_NAME})", put, value)


def expanded_in_braces(value: str, get: Callable[[str], str | None]) -> str:
    """Return a value with ${NAME} alone replaced; $NAME stays as it is."""
    return fill(r"\$\{[^{}]*\}", lambda m: expanded(m[0], get), value)


def read_pam(text: str, file: str, state: State) -> None:
    """Apply ~/.pam_environment to ``state`` (pam_env.conf(5)); plain NAME=VALUE lines are an older format."""
    state.files.append(file)
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        plain = re.match(rf"\s*({_NAME})=(.*)$", line)
        found = re.match(rf"\s*({_NAME})\s+(\S.*)$", line)
        if plain:
            name, value = plain[1], plain[2].strip().strip("\"'")
        elif found and (rows := re.findall(r"\b(DEFAULT|OVERRIDE)=(\"[^\"]*\"|\S*)", found[2])):
            name, parts = found[1], dict(rows)
            value = parts.get("OVERRIDE", "").strip('"') or parts.get("DEFAULT", "").strip('"')
            value = fill(r"\$\{(\w+)\}", lambda m: state.values.get(m[1], ""), value)
            value = re.sub(r"@\{HOME\}", state.values.get("HOME", ""), value)
        else:
            continue
        state.export_variable(name, value, file, number, "pam")


def read_crontab(text: str, file: str, state: State, *, system: bool, fields: int = 5) -> tuple[tuple[str, str], ...]:
    """Apply a crontab's variables to ``state`` (crontab(5)), and return its jobs as (user, command).

    ``system``: lines contain a user. ``fields``: the number of words before that, three in anacrontab(5).
    """
    state.files.append(file)
    jobs = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        found = re.match(rf"[\"']?({_NAME})[\"']?\s*=\s*(.*)$", bare)
        if found:
            value = _without_quotes(found[2].strip())
            state.export_variable(found[1], value, file, number, "crontab")
            continue
        before = fields if fields != 5 or not bare.startswith("@") else 1
        parts = bare.split(None, before)
        rest = parts[-1] if len(parts) == before + 1 else ""
        user, _space, command = rest.partition(" ") if system else ("", "", rest)
        if rest:
            jobs.append((user, command.strip()))
    return tuple(jobs)


def text_items(found: object, *keys: str) -> list[tuple[str, str]]:
    """Return the names and texts of a table in a document, of which the others are left out; [] where there is none."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    items = found.items() if isinstance(found, dict) else ()
    return [(n, v) for n, v in items if isinstance(n, str) and isinstance(v, str)]


def json_value(text: str) -> object:
    """Return the value of JSON with comments and trailing commas (VS Code's settings); None if it is invalid."""
    import json  # imported late: most machines have no such file

    bare = re.sub(
        r"(\"(?:\\.|[^\"\\])*(?:\"|\\?\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)",
        lambda m: m[1] or re.sub(r"[^\n]", " ", m[0]),
        text,
        flags=re.DOTALL,
    )
    bare = re.sub(r"(\"(?:\\.|[^\"\\])*(?:\"|\\?\Z))|,(?=\s*[}\]])", lambda m: m[1] or " ", bare)
    try:
        found: object = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    return found


def toml_tables(text: str) -> dict[str, Any]:
    """Return what a TOML file holds; nothing if it is invalid or nested too deep.

    A number that is too long for Python to print counts as invalid, and so does a key of very many parts: tomllib's
    time grows with the square of their number.
    """
    import tomllib  # imported late: few machines have such a file

    if _LONG_KEY.search(text):
        return {}
    try:
        whole = tomllib.loads(text)
        repr(whole)
    except (ValueError, RecursionError):
        return {}
    return whole


def python_launches(text: str) -> list[dict[str, Any]]:
    """Return the configurations of a launch.json (VS Code) that start Python."""
    found = json_value(text)
    rows = found.get("configurations") if isinstance(found, dict) else None
    every = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [row for row in every if row.get("type") in ("python", "debugpy")]


def json_line(text: str, name: str, inside: str = "") -> int:
    """Return the line of the member ``name`` within the member ``inside``, counted from 1; 0 if there is none."""
    start = 0
    if inside:
        found = re.search(rf"\"{re.escape(inside)}\"\s*:\s*\{{", text)
        if found is None:
            return 0
        start = found.end()
    member = re.compile(rf"\"{re.escape(name)}\"\s*:").search(text, start)
    return text.count("\n", 0, member.start()) + 1 if member else 0
